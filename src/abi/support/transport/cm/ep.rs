//! Endpoints of connection managers: a connection over which two processes agree.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;

use super::listener::take;
use super::{Manager, device_name, frame, kind, local_ip, parse};
use crate::abi::prelude::*;
use crate::abi::support::sockaddr;
use crate::field;
use crate::uct::tcp::cm::{CmConn, CmSettings, Polled};

/// How far an endpoint is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// A client whose connection is being made.
    Connecting,
    /// A client that waits for `uct_ep_connect`.
    Resolved,
    /// A client that waits for the answer.
    Asking,
    Connected,
    /// It has disconnected; the peer has not.
    Disconnecting,
    /// The peer has gone, and the user was told.
    Over,
}

/// What a `uct_ep_h` of a connection manager points to.
#[repr(C)]
pub struct CmEndpoint {
    c: uct_ep,
    pub state: Cell<State>,
    pub conn: RefCell<Option<CmConn>>,
    pub is_client: bool,
    pub arg: *mut c_void,
    pub pack: uct_cm_ep_priv_data_pack_callback_t,
    pub resolve: uct_cm_ep_resolve_callback_t,
    pub connected: uct_cm_ep_client_connect_callback_t,
    pub notified: uct_cm_ep_server_conn_notify_callback_t,
    disconnected: uct_ep_disconnect_cb_t,
    peer: SocketAddr,
    /// Its callback of the other side's end was called.
    told_end: Cell<bool>,
}

impl CmEndpoint {
    /// # Safety
    /// `handle` is a live endpoint of a connection manager.
    pub unsafe fn from<'a>(handle: uct_ep_h) -> &'a CmEndpoint {
        // SAFETY: as the caller says.
        unsafe { &*handle.cast::<CmEndpoint>() }
    }

    pub fn handle(&self) -> uct_ep_h {
        core::ptr::from_ref(self).cast_mut().cast()
    }

    pub fn manager(&self) -> &Manager {
        // SAFETY: the manager outlives its endpoints.
        unsafe { &*self.c.iface.cast::<Manager>() }
    }

    /// # Safety
    /// `handle` is a live endpoint of a connection manager, and not used again.
    pub unsafe fn destroy(handle: uct_ep_h) {
        // SAFETY: as the caller says.
        let ep = unsafe { Box::from_raw(handle.cast::<CmEndpoint>()) };
        let at = core::ptr::from_ref(&*ep);
        let manager = ep.manager();
        manager.eps.borrow_mut().retain(|other| *other != at);
        if let Some(conn) = ep.conn.take() {
            // The peer may not have read the last frame yet.
            if !conn.wants_to_write() {
                return;
            }
            manager.linger(conn);
        }
    }

    /// Sends a frame of this kind.
    pub fn send(&self, kind: u8, data: &[u8]) -> Result<(), Error> {
        let conn = self.conn.borrow();
        let conn = conn.as_ref().ok_or(Error::NotConnected)?;
        conn.send(&frame(kind, conn, data))
    }

    /// Private data from the user's function.
    pub fn packed(&self) -> Result<Vec<u8>, Error> {
        let Some(pack) = self.pack else {
            return Ok(Vec::new());
        };
        let ip = self.conn.borrow().as_ref().and_then(local_ip);
        let args = uct_cm_ep_priv_data_pack_args {
            field_mask: UCT_CM_EP_PRIV_DATA_PACK_ARGS_FIELD_DEVICE_NAME,
            dev_name: device_name(ip),
        };
        let mut data = vec![0u8; self.manager().max_private()];
        // SAFETY: the user's function, with its argument and as much room as the limit says.
        let len = unsafe { pack(self.arg, &raw const args, data.as_mut_ptr().cast()) };
        match usize::try_from(len) {
            Ok(len) if len <= data.len() => data.truncate(len),
            Ok(_) => return Err(Error::ExceedsLimit),
            Err(_) => {
                let code = i8::try_from(len).unwrap_or(i8::MIN);
                return Err(Error::from_code(code).unwrap_or(Error::IoError));
            }
        }
        Ok(data)
    }

    pub(super) fn progress(&self) -> c_uint {
        if self.state.get() == State::Over {
            return 0;
        }
        let polled = match &*self.conn.borrow() {
            Some(conn) => conn.poll(),
            None => return 0,
        };
        match polled {
            Polled::Nothing => {
                let still = self
                    .conn
                    .borrow()
                    .as_ref()
                    .is_none_or(CmConn::is_connecting);
                if self.state.get() == State::Connecting && !still {
                    self.reached();
                    return 1;
                }
                0
            }
            Polled::Frame(frame) => {
                self.received(&frame);
                1
            }
            Polled::Failed(error) => {
                self.failed(error);
                1
            }
        }
    }

    fn received(&self, frame: &crate::uct::tcp::cm::Frame) {
        let Some((device, data)) = parse(&frame.body) else {
            return self.failed(Error::Rejected);
        };
        match (frame.kind, self.state.get()) {
            (kind::ACCEPT, State::Asking) => {
                self.state.set(State::Connected);
                self.answered(device, data, Status::OK);
            }
            (kind::REJECT, State::Asking) => self.failed(Error::Rejected),
            (kind::NOTIFY, State::Connected) if !self.is_client => self.notify(Status::OK),
            (kind::DISCONNECT, State::Connected | State::Disconnecting) => self.peer_gone(),
            _ => self.failed(Error::ConnectionReset),
        }
    }

    fn failed(&self, error: Error) {
        match self.state.replace(State::Over) {
            State::Connecting if self.resolve.is_some() => self.resolved(error.into()),
            State::Connecting | State::Resolved | State::Asking => {
                self.answered(&[], &[], error.into());
            }
            State::Connected | State::Disconnecting => {
                self.state.set(State::Connected);
                self.peer_gone();
            }
            State::Over => {}
        }
    }

    /// The peer has disconnected, or is gone.
    fn peer_gone(&self) {
        if self.state.get() == State::Disconnecting {
            self.state.set(State::Over);
        }
        if self.told_end.replace(true) {
            self.state.set(State::Over);
            return;
        }
        if let Some(disconnected) = self.disconnected {
            // SAFETY: the user's function, with its endpoint and argument. The endpoint may be
            // gone afterwards.
            unsafe { disconnected(self.handle(), self.arg) };
        }
    }

    fn notify(&self, status: ucs_status_t) {
        let args = uct_cm_ep_server_conn_notify_args {
            field_mask: UCT_CM_EP_SERVER_CONN_NOTIFY_ARGS_FIELD_STATUS,
            status,
        };
        if let Some(notified) = self.notified {
            // SAFETY: the user's function, with its endpoint and argument.
            unsafe { notified(self.handle(), self.arg, &raw const args) };
        }
    }

    /// As `uct_ep_disconnect`.
    pub fn disconnect(&self) -> ucs_status_t {
        match self.state.get() {
            State::Connected => {
                let over = self.told_end.get();
                let next = if over {
                    State::Over
                } else {
                    State::Disconnecting
                };
                self.state.set(next);
                match self.send(kind::DISCONNECT, &[]) {
                    Ok(()) => Status::OK,
                    Err(error) => error.into(),
                }
            }
            State::Disconnecting => Status::INPROGRESS,
            State::Over => Error::NotConnected.into(),
            State::Connecting | State::Resolved | State::Asking => Error::Busy.into(),
        }
    }
}

/// As `uct_ep_create` with a connection manager or a connection request.
///
/// # Safety
/// As `uct_ep_create`.
pub unsafe fn create(params: &Params<'_, uct_ep_params_t>) -> Result<uct_ep_h, Error> {
    let cm = field!(params, UCT_EP_PARAM_FIELD_CM, cm).ok_or(Error::InvalidParam)?;
    // SAFETY: as the caller says.
    let manager = unsafe { Manager::from(cm) }?;
    let flags = field!(
        params,
        UCT_EP_PARAM_FIELD_SOCKADDR_CB_FLAGS,
        sockaddr_cb_flags
    );
    if u64::from(flags.unwrap_or(0)) & UCT_CB_FLAG_ASYNC == 0 {
        crate::ucs_error!("endpoints of connection managers need UCT_CB_FLAG_ASYNC");
        return Err(Error::Unsupported);
    }
    let request = field!(params, UCT_EP_PARAM_FIELD_CONN_REQUEST, conn_request);
    // SAFETY: as the caller says.
    let (conn, state) = unsafe {
        match request {
            Some(request) => (take(request)?, State::Connected),
            None => (connect(manager, params)?, State::Connecting),
        }
    };
    let ep = Box::into_raw(Box::new(CmEndpoint {
        c: uct_ep {
            iface: manager.handle(),
        },
        state: Cell::new(state),
        peer: conn.peer(),
        conn: RefCell::new(Some(conn)),
        is_client: request.is_none(),
        arg: field!(params, UCT_EP_PARAM_FIELD_USER_DATA, user_data)
            .unwrap_or(core::ptr::null_mut()),
        pack: field!(
            params,
            UCT_EP_PARAM_FIELD_SOCKADDR_PACK_CB,
            sockaddr_pack_cb
        )
        .flatten(),
        resolve: field!(params, UCT_EP_PARAM_FIELD_CM_RESOLVE_CB, cm_resolve_cb).flatten(),
        connected: field!(
            params,
            UCT_EP_PARAM_FIELD_SOCKADDR_CONNECT_CB_CLIENT,
            sockaddr_cb_client
        )
        .flatten(),
        notified: field!(
            params,
            UCT_EP_PARAM_FIELD_SOCKADDR_NOTIFY_CB_SERVER,
            sockaddr_cb_server
        )
        .flatten(),
        disconnected: field!(
            params,
            UCT_EP_PARAM_FIELD_SOCKADDR_DISCONNECT_CB,
            disconnect_cb
        )
        .flatten(),
        told_end: Cell::new(false),
    }));
    manager.eps.borrow_mut().push(ep);
    if request.is_some() {
        // SAFETY: just made.
        if let Err(error) = unsafe { accept(&*ep, params) } {
            // SAFETY: just made, and known to nobody.
            unsafe { CmEndpoint::destroy(ep.cast()) };
            return Err(error);
        }
    }
    Ok(ep.cast())
}

/// # Safety
/// As `uct_ep_create`.
unsafe fn connect(
    manager: &Manager,
    params: &Params<'_, uct_ep_params_t>,
) -> Result<CmConn, Error> {
    let peer = field!(params, UCT_EP_PARAM_FIELD_SOCKADDR, sockaddr);
    let local = field!(params, UCT_EP_PARAM_FIELD_LOCAL_SOCKADDR, local_sockaddr);
    let peer = peer.filter(|peer| !peer.is_null());
    let peer = peer.ok_or(Error::InvalidParam)?;
    // SAFETY: the caller's addresses.
    unsafe {
        let peer = sockaddr::read((*peer).addr)?;
        let local = match local.filter(|local| !local.is_null()) {
            Some(local) => Some(sockaddr::read((*local).addr)?),
            None => None,
        };
        CmConn::connect(peer, local, &CmSettings::read(&manager.config))
    }
}

/// Answers the client.
///
/// # Safety
/// As `uct_ep_create`.
unsafe fn accept(ep: &CmEndpoint, params: &Params<'_, uct_ep_params_t>) -> Result<(), Error> {
    let given = field!(params, UCT_EP_PARAM_FIELD_PRIV_DATA, private_data);
    let len = field!(
        params,
        UCT_EP_PARAM_FIELD_PRIV_DATA_LENGTH,
        private_data_length
    );
    let data = match (given, len) {
        (Some(given), Some(len)) if !given.is_null() => {
            if len > ep.manager().max_private() {
                return Err(Error::ExceedsLimit);
            }
            // SAFETY: the caller's bytes.
            unsafe { core::slice::from_raw_parts(given.cast::<u8>(), len) }.to_vec()
        }
        _ => ep.packed()?,
    };
    ep.send(kind::ACCEPT, &data)
}

/// Local and remote address, as `uct_ep_query` wants them.
pub fn addresses(ep: &CmEndpoint) -> (Option<SocketAddr>, SocketAddr) {
    let local = ep.conn.borrow().as_ref().and_then(CmConn::local);
    (local, ep.peer)
}
