//! Listeners: workers that others connect to by a socket address.
//!
//! ```text
//! client                                     server
//! endpoint by socket address -- HELLO -----> connection request: the user's handler
//!    | unwired: what is posted waits            | accepted: an endpoint to the client's address
//! wired <-------------------- ACCEPT --------   |
//!    |  ---------------------- WIRED --------->   |
//! closes <--------------------- END ---------- closes afterwards
//! failed (REJECTED) <-------- REJECT -------- or refused
//! ```
//!
//! The frames carry worker addresses, so that lanes are chosen as for any other endpoint; the
//! connection over which they went is closed when both sides know each other. A connection that
//! ends before `WIRED` was sent fails the endpoint on either side: a client that went before it was
//! answered, and a server whose endpoint was closed before the client knew of it. It is the client
//! that closes first, so that no connection lingers in the kernel at the server's port.

mod request;

use core::ffi::c_void;
use std::net::SocketAddr;
use std::rc::Rc;

pub use request::{ConnRequest, Unanswered};

pub(in crate::ucp) use request::refuse;

use crate::ucp::worker::Worker;
use crate::ucs::status::Result;
use crate::uct::tcp::cm::{CmListener, CmSettings};

/// `ucp_listener_conn_callback_t`: connection request, argument.
pub type ConnCb = unsafe extern "C" fn(*mut c_void, *mut c_void);
/// `ucp_listener_accept_callback_t`: endpoint, argument.
pub type AcceptCb = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// Whom to tell of a client.
#[derive(Clone, Copy)]
pub enum Handler {
    /// The user decides about the request.
    Request(ConnCb, *mut c_void),
    /// Every client is accepted; the user gets its endpoint.
    Accept(AcceptCb, *mut c_void),
}

/// See the module.
pub struct Listener {
    worker: Rc<Worker>,
    key: u64,
    address: SocketAddr,
}

impl Listener {
    /// Listens at `address`, as long as the value lives.
    ///
    /// # Errors
    /// As [`CmListener::open`].
    pub fn open(worker: &Rc<Worker>, address: SocketAddr, handler: Handler) -> Result<Listener> {
        let context = worker.context();
        let backlog = context.config.count("LISTENER_BACKLOG");
        let backlog = backlog.and_then(|n| usize::try_from(n).ok());
        let socket = CmListener::open(address, backlog, CmSettings::read(&context.config))?;
        let address = socket.address();
        let key = worker.cm.listen(worker, socket, handler)?;
        Ok(Listener {
            worker: worker.clone(),
            key,
            address,
        })
    }

    pub fn worker(&self) -> &Rc<Worker> {
        &self.worker
    }

    /// Where it listens, with the port that was chosen.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.worker.cm.remove(self.key);
    }
}
