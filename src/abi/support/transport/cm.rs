//! Connection managers: listeners and endpoints by socket address, over frames of
//! [`crate::uct::tcp::cm`].
//!
//! Callbacks are called by the progress of the worker.

mod client;
mod ep;
mod listener;
mod ops;

use std::cell::{Cell, RefCell};
use std::net::{IpAddr, SocketAddr};

pub use ep::{CmEndpoint, addresses, create};
pub use listener::{Listener, reject};

use super::component;
use super::iface::Kind;
use super::worker::{Member, Worker};
use crate::abi::prelude::*;
use crate::abi::support::cstr;
use crate::sys::netdev;
use crate::ucs::config::Config;
use crate::uct::config_table;
use crate::uct::tcp::cm::{CmConn, Frame, Polled};

/// Kinds of frames. A body begins with the length of the sender's device address, and this.
mod kind {
    /// From the client: its private data.
    pub const REQUEST: u8 = 16;
    /// From the server: its private data.
    pub const ACCEPT: u8 = 17;
    /// From the server: no.
    pub const REJECT: u8 = 18;
    /// From the client: it has the answer.
    pub const NOTIFY: u8 = 19;
    /// From either side: it has disconnected.
    pub const DISCONNECT: u8 = 20;
}

/// Sockets are looked at once in so many calls of progress: mostly there is nothing.
const PERIOD: u32 = 8;

/// What a `uct_cm_h` points to. It begins like an interface: its endpoints have that.
#[repr(C)]
pub struct Manager {
    c: uct_iface,
    kind: Kind,
    worker: uct_worker_h,
    pub config: Config,
    listeners: RefCell<Vec<*const Listener>>,
    eps: RefCell<Vec<*const CmEndpoint>>,
    /// Connections whose last frame is still to be sent.
    lingering: RefCell<Vec<CmConn>>,
    calls: Cell<u32>,
}

impl Manager {
    /// # Safety
    /// The worker is there as long as the manager.
    pub unsafe fn open(
        component: uct_component_h,
        worker: uct_worker_h,
        config: Config,
    ) -> Result<uct_cm_h, Error> {
        let component = component::from(component)?;
        config_table::connection_manager(component.name()).ok_or(Error::Unsupported)?;
        // SAFETY: as the caller says.
        let of = unsafe { Worker::from(worker) }?;
        let manager = Box::into_raw(Box::new(Manager {
            c: uct_iface { ops: ops::table() },
            kind: Kind::ConnectionManager,
            worker,
            config,
            listeners: RefCell::default(),
            eps: RefCell::default(),
            lingering: RefCell::default(),
            calls: Cell::new(0),
        }));
        // SAFETY: just made.
        of.enable(unsafe { &*manager }.member());
        Ok(manager.cast())
    }

    /// # Safety
    /// `handle` is NULL or from [`Manager::open`].
    pub unsafe fn from<'a>(handle: uct_cm_h) -> Result<&'a Manager, Error> {
        // SAFETY: as the caller says.
        unsafe { handle.cast::<Manager>().as_ref() }.ok_or(Error::InvalidParam)
    }

    /// # Safety
    /// As [`Manager::from`], and not used again.
    pub unsafe fn close(handle: uct_cm_h) {
        if handle.is_null() {
            return;
        }
        // SAFETY: as the caller says.
        let manager = unsafe { Box::from_raw(handle.cast::<Manager>()) };
        // SAFETY: a worker outlives its connection managers.
        if let Ok(worker) = unsafe { Worker::from(manager.worker) } {
            worker.disable(manager.member());
        }
    }

    pub fn handle(&self) -> uct_iface_h {
        core::ptr::from_ref(self).cast_mut().cast()
    }

    /// The most bytes of private data.
    pub fn max_private(&self) -> usize {
        let len = self.config.size("TCP_CM_PRIV_DATA_LEN");
        len.saturating_add(16).min(32 << 10)
    }

    fn member(&self) -> Member {
        unsafe fn call(object: *const c_void) -> c_uint {
            // SAFETY: a manager that is enabled.
            unsafe { &*object.cast::<Manager>() }.progress()
        }
        Member {
            progress: call,
            object: core::ptr::from_ref(self).cast(),
        }
    }

    fn progress(&self) -> c_uint {
        let calls = self.calls.get().wrapping_add(1);
        self.calls.set(calls);
        if !calls.is_multiple_of(PERIOD) {
            return 0;
        }
        let mut count = 0;
        for at in 0.. {
            let listener = self.listeners.borrow().get(at).copied();
            let Some(listener) = listener else { break };
            // SAFETY: in the list, so alive.
            count += unsafe { &*listener }.progress();
        }
        for at in 0.. {
            let ep = self.eps.borrow().get(at).copied();
            let Some(ep) = ep else { break };
            // SAFETY: in the list, so alive.
            count += unsafe { &*ep }.progress();
        }
        if !self.lingering.borrow().is_empty() {
            let mut lingering = self.lingering.borrow_mut();
            lingering.retain(|conn| !matches!(conn.poll(), Polled::Failed(_)));
        }
        count
    }

    /// Keeps a connection until the peer has read the last frame and closes it.
    fn linger(&self, conn: CmConn) {
        self.lingering.borrow_mut().push(conn);
    }
}

/// A frame with this side's device address and private data.
fn frame(kind: u8, conn: &CmConn, data: &[u8]) -> Frame {
    let device = local_ip(conn).map(crate::uct::tcp::cm::device_address);
    let device = device.unwrap_or_default();
    let mut body = vec![device.len() as u8];
    body.extend_from_slice(&device);
    body.extend_from_slice(data);
    Frame { kind, body }
}

fn local_ip(conn: &CmConn) -> Option<IpAddr> {
    conn.local().map(|local| local.ip())
}

/// Device address and private data of a frame.
fn parse(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = body.split_first()?;
    rest.split_at_checked(usize::from(*len))
}

/// The device that has this address.
fn device_name(ip: Option<IpAddr>) -> [c_char; 32] {
    let devices = netdev::addresses().unwrap_or_default();
    let device = devices.iter().find(|device| Some(device.ip) == ip);
    cstr::array(device.map_or("", |device| &device.name))
}

/// What the peer sent, for a callback.
fn remote_data(device: &[u8], data: &[u8]) -> uct_cm_remote_data_t {
    uct_cm_remote_data {
        field_mask: UCT_CM_REMOTE_DATA_FIELD_DEV_ADDR
            | UCT_CM_REMOTE_DATA_FIELD_DEV_ADDR_LENGTH
            | UCT_CM_REMOTE_DATA_FIELD_CONN_PRIV_DATA
            | UCT_CM_REMOTE_DATA_FIELD_CONN_PRIV_DATA_LENGTH,
        dev_addr: device.as_ptr().cast(),
        dev_addr_length: device.len(),
        conn_priv_data: data.as_ptr().cast(),
        conn_priv_data_length: data.len(),
    }
}

/// A C address that lives as long as `storage`.
fn sock_addr(addr: &SocketAddr, storage: &sockaddr_storage) -> ucs_sock_addr_t {
    ucs_sock_addr {
        addr: core::ptr::from_ref(storage).cast(),
        addrlen: match addr {
            SocketAddr::V4(_) => size_of::<libc::sockaddr_in>() as socklen_t,
            SocketAddr::V6(_) => size_of::<libc::sockaddr_in6>() as socklen_t,
        },
    }
}
