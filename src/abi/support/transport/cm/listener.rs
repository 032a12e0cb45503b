//! Listeners and connection requests.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::{Manager, device_name, frame, kind, local_ip, parse, remote_data, sock_addr};
use crate::abi::prelude::*;
use crate::abi::support::sockaddr;
use crate::field;
use crate::uct::tcp::cm::{Accepted, CmConn, CmListener, CmSettings, Frame, Polled};

/// Clients that have not said what they want; more are turned away.
const MAX_SILENT: usize = 256;
/// How long they may be silent.
const SILENCE: Duration = Duration::from_secs(10);

/// What a `uct_listener_h` points to.
#[repr(C)]
pub struct Listener {
    c: uct_listener,
    socket: CmListener,
    silent: RefCell<Vec<(CmConn, Instant)>>,
    callback: uct_cm_listener_conn_request_callback_t,
    arg: *mut c_void,
}

/// What a `uct_conn_request_h` points to: a client that waits for an answer.
pub struct Request {
    pub conn: CmConn,
}

impl Listener {
    /// # Safety
    /// `cm` is open, as long as the listener.
    pub unsafe fn open(
        cm: uct_cm_h,
        address: SocketAddr,
        params: &Params<'_, uct_listener_params_t>,
    ) -> Result<uct_listener_h, Error> {
        // SAFETY: as the caller says.
        let manager = unsafe { Manager::from(cm) }?;
        let callback = field!(
            params,
            UCT_LISTENER_PARAM_FIELD_CONN_REQUEST_CB,
            conn_request_cb
        );
        let callback = callback.flatten().ok_or(Error::InvalidParam)?;
        let arg = field!(params, UCT_LISTENER_PARAM_FIELD_USER_DATA, user_data);
        let backlog = match field!(params, UCT_LISTENER_PARAM_FIELD_BACKLOG, backlog) {
            Some(backlog) if backlog <= 0 => {
                crate::ucs_error!("a backlog of {backlog} is not above 0");
                return Err(Error::InvalidParam);
            }
            Some(backlog) => Some(backlog as usize),
            None => None,
        };
        let listener = Box::into_raw(Box::new(Listener {
            c: uct_listener { cm },
            socket: CmListener::open(address, backlog, CmSettings::read(&manager.config))?,
            silent: RefCell::default(),
            callback: Some(callback),
            arg: arg.unwrap_or(core::ptr::null_mut()),
        }));
        manager.listeners.borrow_mut().push(listener);
        Ok(listener.cast())
    }

    /// # Safety
    /// `handle` is NULL or from [`Listener::open`].
    pub unsafe fn from<'a>(handle: uct_listener_h) -> Result<&'a Listener, Error> {
        // SAFETY: as the caller says.
        unsafe { handle.cast::<Listener>().as_ref() }.ok_or(Error::InvalidParam)
    }

    /// # Safety
    /// As [`Listener::from`], and not used again.
    pub unsafe fn destroy(handle: uct_listener_h) {
        // SAFETY: as the caller says; the manager outlives it.
        unsafe {
            let Ok(listener) = Listener::from(handle) else {
                return;
            };
            if let Ok(manager) = Manager::from(listener.c.cm) {
                let at = core::ptr::from_ref(listener);
                manager.listeners.borrow_mut().retain(|other| *other != at);
            }
            drop(Box::from_raw(handle.cast::<Listener>()));
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.socket.address()
    }

    pub fn manager(&self) -> Result<&Manager, Error> {
        // SAFETY: the manager outlives its listeners.
        unsafe { Manager::from(self.c.cm) }
    }

    pub(super) fn progress(&self) -> c_uint {
        while self.silent.borrow().len() < MAX_SILENT
            && let Accepted::Conn(conn) = self.socket.accept()
        {
            let until = Instant::now() + SILENCE;
            self.silent.borrow_mut().push((conn, until));
        }
        if self.silent.borrow().is_empty() {
            return 0;
        }
        let now = Instant::now();
        let (mut still, mut asking) = (Vec::new(), Vec::new());
        for (conn, until) in self.silent.take() {
            match conn.poll() {
                Polled::Nothing if until > now => still.push((conn, until)),
                Polled::Nothing | Polled::Failed(_) => {}
                Polled::Frame(frame) => asking.push((conn, frame)),
            }
        }
        self.silent.replace(still);
        let count = asking.len() as c_uint;
        for (conn, frame) in asking {
            self.request(conn, &frame);
        }
        count
    }

    /// Hands a client to the user, who accepts or refuses it now or later.
    fn request(&self, conn: CmConn, frame: &Frame) {
        let (Some((device, data)), kind::REQUEST) = (parse(&frame.body), frame.kind) else {
            crate::ucs_diag!(
                "tcp: {} sent what is no request for a connection",
                conn.peer()
            );
            return;
        };
        let Some(callback) = self.callback else {
            return;
        };
        let remote = remote_data(device, data);
        let peer = conn.peer();
        let storage = sockaddr::storage(&peer);
        let dev_name = device_name(local_ip(&conn));
        let args = uct_cm_listener_conn_request_args {
            field_mask: UCT_CM_LISTENER_CONN_REQUEST_ARGS_FIELD_DEV_NAME
                | UCT_CM_LISTENER_CONN_REQUEST_ARGS_FIELD_CONN_REQUEST
                | UCT_CM_LISTENER_CONN_REQUEST_ARGS_FIELD_REMOTE_DATA
                | UCT_CM_LISTENER_CONN_REQUEST_ARGS_FIELD_CLIENT_ADDR,
            dev_name,
            conn_request: Box::into_raw(Box::new(Request { conn })).cast(),
            remote_data: &raw const remote,
            client_address: sock_addr(&peer, &storage),
        };
        let handle = core::ptr::from_ref(self).cast_mut().cast();
        // SAFETY: the user's function, with its argument; what it gets lives for the call.
        unsafe { callback(handle, self.arg, &raw const args) };
    }
}

/// Takes a request, for an answer.
///
/// # Safety
/// `request` is NULL or from a listener's callback, and not used again.
pub unsafe fn take(request: uct_conn_request_h) -> Result<CmConn, Error> {
    if request.is_null() {
        return Err(Error::InvalidParam);
    }
    // SAFETY: as the caller says.
    Ok(unsafe { Box::from_raw(request.cast::<Request>()) }.conn)
}

/// Refuses a client.
///
/// # Safety
/// As [`take`]; the listener is open.
pub unsafe fn reject(listener: uct_listener_h, request: uct_conn_request_h) -> Result<(), Error> {
    // SAFETY: as the caller says.
    unsafe {
        let listener = Listener::from(listener)?;
        let conn = take(request)?;
        conn.send(&frame(kind::REJECT, &conn, &[]))?;
        listener.manager()?.linger(conn);
    }
    Ok(())
}
