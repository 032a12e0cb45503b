//! Active messages of the user: handlers, arriving messages, data kept for later.

pub mod desc;
pub mod recv;
pub mod send;

use core::cell::RefCell;
use core::ffi::c_void;

use hashbrown::HashMap;

use crate::ucp::wire::{Identity, Origin, amsg};
use crate::ucs::status::Status;
use desc::DataBuf;

/// `ucp_am_recv_param_t`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RecvParam {
    pub recv_attr: u64,
    pub reply_ep: *mut c_void,
}

/// `ucp_am_recv_callback_t`: argument, header and its length, data and its length, more.
pub type HandlerFn = unsafe extern "C" fn(
    *mut c_void,
    *const c_void,
    usize,
    *mut c_void,
    usize,
    *const RecvParam,
) -> Status;

/// `ucp_am_callback_t`: argument, data and its length, reply endpoint, flags.
pub type OldHandlerFn =
    unsafe extern "C" fn(*mut c_void, *mut c_void, usize, *mut c_void, u32) -> Status;

/// Which kind of function a handler is.
#[derive(Clone, Copy)]
pub enum HandlerKind {
    New(HandlerFn),
    Old(OldHandlerFn),
}

/// What the user has set for an id.
#[derive(Clone, Copy)]
pub struct Handler {
    pub kind: HandlerKind,
    pub arg: *mut c_void,
    /// `UCP_AM_FLAG_PERSISTENT_DATA`: data can always be kept.
    pub persistent: bool,
}

/// A message of several fragments that is coming in.
pub struct Assembly {
    id: u16,
    origin: Origin,
    reply: bool,
    header: Box<[u8]>,
    data: DataBuf,
    received: usize,
}

/// The active message state of a worker.
#[derive(Default)]
pub struct ActiveMessages {
    handlers: RefCell<Vec<Option<Handler>>>,
    assemblies: RefCell<HashMap<Identity, Assembly>>,
}

impl ActiveMessages {
    /// Sets the handler of `id`, or removes it.
    pub fn set_handler(&self, id: u16, handler: Option<Handler>) {
        let mut handlers = self.handlers.borrow_mut();
        let index = usize::from(id);
        if handlers.len() <= index {
            handlers.resize(index + 1, None);
        }
        if let Some(slot) = handlers.get_mut(index) {
            *slot = handler;
        }
    }

    fn handler(&self, id: u16) -> Option<Handler> {
        self.handlers
            .borrow()
            .get(usize::from(id))
            .copied()
            .flatten()
    }
}

/// The longest header that always fits, also into the first message of a rendezvous.
pub fn max_header(bcopy_max: usize) -> usize {
    let before = amsg::First::LEN.max(crate::ucp::wire::rndv::Rts::LEN);
    bcopy_max.saturating_sub(before)
}
