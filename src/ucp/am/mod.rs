//! Active messages of the user: handlers, arriving messages, data kept for later.

pub mod desc;
pub mod recv;
pub mod send;

use core::cell::RefCell;
use core::ffi::c_void;

use hashbrown::HashMap;

use crate::ucp::proto::rndv::ranges::Ranges;
use crate::ucp::wire::rndv::Rts;
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
    received: Ranges,
}

/// The active message state of a worker.
pub struct ActiveMessages {
    /// Least alignment of the data that handlers get, a power of 2.
    alignment: usize,
    /// Longest header of the user's, bytes.
    max_header: usize,
    handlers: RefCell<Vec<Option<Handler>>>,
    assemblies: RefCell<HashMap<Identity, Assembly>>,
}

impl ActiveMessages {
    /// `alignment`: `am_alignment` of the worker's parameters. `bcopy_max`: longest message that
    /// every interface takes.
    pub fn new(alignment: usize, bcopy_max: usize) -> ActiveMessages {
        ActiveMessages {
            alignment,
            max_header: max_header(bcopy_max),
            handlers: RefCell::default(),
            assemblies: RefCell::default(),
        }
    }

    /// `UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER`
    pub fn max_header(&self) -> usize {
        self.max_header
    }

    fn alignment(&self) -> usize {
        self.alignment
    }

    /// Whether handlers can have the data where they are.
    #[inline(always)]
    fn is_aligned(&self, data: &[u8]) -> bool {
        // It is a power of two: no division for each message.
        data.as_ptr().addr() & (self.alignment - 1) == 0
    }

    /// What has come in of messages from this endpoint of a peer is given up.
    /// True if there was something.
    pub fn forget_origin(&self, origin: Origin) -> bool {
        let mut assemblies = self.assemblies.borrow_mut();
        let before = assemblies.len();
        assemblies.retain(|identity, _| identity.origin != origin);
        assemblies.len() != before
    }

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

/// What a message keeps free for our own headers beside the user's: also the first message of a
/// rendezvous, with keys to the data.
const OUR_ROOM: usize = 256;
const _: () = assert!(OUR_ROOM >= amsg::First::LEN && OUR_ROOM >= Rts::LEN);

/// The longest header of the user's that always fits into messages of at most this many bytes.
pub const fn max_header(bcopy_max: usize) -> usize {
    bcopy_max.saturating_sub(OUR_ROOM)
}
