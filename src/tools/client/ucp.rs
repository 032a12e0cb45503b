//! Protocols: contexts, workers, endpoints, listeners.

use core::cell::Cell;
use core::ffi::{c_char, c_uint, c_void};
use core::mem::zeroed;
use core::ptr::{null, null_mut};
use std::net::SocketAddr;

use socket2::SockAddr;

use super::ucs::Stream;
use super::{c_text, check};
use crate::abi::prelude::*;
use crate::tools::library::functions;

functions! {
    fn ucp_config_read(
        prefix: *const c_char,
        file: *const c_char,
        config: *mut *mut ucp_config_t,
    ) -> ucs_status_t;
    fn ucp_config_modify(
        config: *mut ucp_config_t,
        name: *const c_char,
        value: *const c_char,
    ) -> ucs_status_t;
    fn ucp_config_release(config: *mut ucp_config_t);
    fn ucp_init_version(
        major: c_uint,
        minor: c_uint,
        params: *const ucp_params_t,
        config: *const ucp_config_t,
        context: *mut ucp_context_h,
    ) -> ucs_status_t;
    fn ucp_cleanup(context: ucp_context_h);
    fn ucp_context_query(context: ucp_context_h, attr: *mut ucp_context_attr_t) -> ucs_status_t;
    fn ucp_context_print_info(context: ucp_context_h, stream: *mut FILE);
    fn ucp_mem_print_info(spec: *const c_char, context: ucp_context_h, stream: *mut FILE);
    fn ucp_worker_create(
        context: ucp_context_h,
        params: *const ucp_worker_params_t,
        worker: *mut ucp_worker_h,
    ) -> ucs_status_t;
    fn ucp_worker_destroy(worker: ucp_worker_h);
    fn ucp_worker_query(worker: ucp_worker_h, attr: *mut ucp_worker_attr_t) -> ucs_status_t;
    fn ucp_worker_print_info(worker: ucp_worker_h, stream: *mut FILE);
    fn ucp_worker_progress(worker: ucp_worker_h) -> c_uint;
    fn ucp_worker_release_address(worker: ucp_worker_h, address: *mut ucp_address_t);
    fn ucp_listener_create(
        worker: ucp_worker_h,
        params: *const ucp_listener_params_t,
        listener: *mut ucp_listener_h,
    ) -> ucs_status_t;
    fn ucp_listener_query(listener: ucp_listener_h, attr: *mut ucp_listener_attr_t) -> ucs_status_t;
    fn ucp_listener_destroy(listener: ucp_listener_h);
    fn ucp_ep_create(
        worker: ucp_worker_h,
        params: *const ucp_ep_params_t,
        ep: *mut ucp_ep_h,
    ) -> ucs_status_t;
    fn ucp_ep_close_nbx(ep: ucp_ep_h, param: *const ucp_request_param_t) -> ucs_status_ptr_t;
    fn ucp_ep_flush_nbx(ep: ucp_ep_h, param: *const ucp_request_param_t) -> ucs_status_ptr_t;
    fn ucp_ep_print_info(ep: ucp_ep_h, stream: *mut FILE);
    fn ucp_request_check_status(request: *mut c_void) -> ucs_status_t;
    fn ucp_request_free(request: *mut c_void);
}

/// The version of the API that this crate's types describe.
const API: (c_uint, c_uint) = (UCP_API_MAJOR as c_uint, UCP_API_MINOR as c_uint);

/// A configuration.
pub struct Config(*mut ucp_config_t);

impl Config {
    /// What the environment and `ucx.conf` say.
    ///
    /// # Errors
    /// The library's.
    pub fn read() -> Result<Config, Error> {
        let mut config = null_mut();
        // SAFETY: a place for the handle.
        check(unsafe { ucp_config_read(null(), null(), &mut config) })?;
        Ok(Config(config))
    }

    /// Sets a variable, named without `UCX_`.
    ///
    /// # Errors
    /// The library's, for unknown names and wrong values.
    pub fn set(&self, name: &str, value: &str) -> Result<(), Error> {
        let (name, value) = (c_text(name), c_text(value));
        // SAFETY: a live handle and strings.
        check(unsafe { ucp_config_modify(self.0, name.as_ptr(), value.as_ptr()) })
    }
}

impl Drop for Config {
    fn drop(&mut self) {
        // SAFETY: read, and released once.
        unsafe { ucp_config_release(self.0) };
    }
}

/// What a context is for.
#[derive(Clone, Copy, Debug)]
pub struct Purpose<'a> {
    pub features: u64,
    /// Endpoints to expect, and processes on this host; `None` leaves it to the library.
    pub counts: Option<(usize, usize)>,
    /// Its name in messages.
    pub name: &'a str,
    /// Its workers are used by several threads.
    pub shared: bool,
}

/// A context.
pub struct Context(pub ucp_context_h);

impl Context {
    /// # Errors
    /// The library's.
    pub fn new(purpose: &Purpose<'_>, config: Option<&Config>) -> Result<Context, Error> {
        let name = c_text(purpose.name);
        let mut context = null_mut();
        // SAFETY: a structure for which zero is a value, whose fields are valid as its mask says.
        unsafe {
            let mut params: ucp_params_t = zeroed();
            params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
            params.features = purpose.features;
            params.name = name.as_ptr();
            if let Some((eps, ppn)) = purpose.counts {
                params.field_mask |= UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
                params.field_mask |= UCP_PARAM_FIELD_ESTIMATED_NUM_PPN;
                params.estimated_num_eps = eps;
                params.estimated_num_ppn = ppn;
            }
            if purpose.shared {
                params.field_mask |= UCP_PARAM_FIELD_MT_WORKERS_SHARED;
                params.mt_workers_shared = 1;
            }
            let config = config.map_or(null_mut(), |config| config.0);
            check(ucp_init_version(
                API.0,
                API.1,
                &params,
                config,
                &mut context,
            ))?;
        }
        Ok(Context(context))
    }

    /// The memory types that it can use, as a mask.
    ///
    /// # Errors
    /// The library's.
    pub fn memory_types(&self) -> Result<u64, Error> {
        // SAFETY: a structure for which zero is a value; a live handle.
        unsafe {
            let mut attr: ucp_context_attr_t = zeroed();
            attr.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
            check(ucp_context_query(self.0, &mut attr))?;
            Ok(attr.memory_types)
        }
    }

    pub fn print(&self, to: Stream) {
        // SAFETY: a live handle and an open stream.
        unsafe { ucp_context_print_info(self.0, to.raw()) };
    }

    /// Allocates memory as `spec` says, and prints how that went.
    pub fn print_memory(&self, spec: &str, to: Stream) {
        let spec = c_text(spec);
        // SAFETY: a live handle, a string and an open stream.
        unsafe { ucp_mem_print_info(spec.as_ptr(), self.0, to.raw()) };
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: made, and released once, after its workers.
        unsafe { ucp_cleanup(self.0) };
    }
}

/// A worker. It must go before its context.
pub struct Worker(pub ucp_worker_h);

impl Worker {
    /// # Errors
    /// The library's.
    pub fn new(context: &Context, threads: ucs_thread_mode_t) -> Result<Worker, Error> {
        let mut worker = null_mut();
        // SAFETY: a structure for which zero is a value, valid as its mask says.
        unsafe {
            let mut params: ucp_worker_params_t = zeroed();
            params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
            params.thread_mode = threads;
            check(ucp_worker_create(context.0, &params, &mut worker))?;
        }
        Ok(Worker(worker))
    }

    pub fn print(&self, to: Stream) {
        // SAFETY: a live handle and an open stream.
        unsafe { ucp_worker_print_info(self.0, to.raw()) };
    }

    #[inline]
    pub fn progress(&self) -> u32 {
        // SAFETY: a live handle.
        unsafe { ucp_worker_progress(self.0) }
    }

    /// Its address, or that part of it which leads to other hosts.
    ///
    /// # Errors
    /// The library's.
    pub fn address(&self, net_only: bool) -> Result<Address<'_>, Error> {
        // SAFETY: a structure for which zero is a value; a live handle.
        unsafe {
            let mut attr: ucp_worker_attr_t = zeroed();
            attr.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS | UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS;
            if net_only {
                attr.address_flags = UCP_WORKER_ADDRESS_FLAG_NET_ONLY;
            }
            check(ucp_worker_query(self.0, &mut attr))?;
            Ok(Address {
                worker: self,
                at: attr.address,
                len: attr.address_length,
            })
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // SAFETY: made, and destroyed once.
        unsafe { ucp_worker_destroy(self.0) };
    }
}

/// A worker's address.
pub struct Address<'a> {
    worker: &'a Worker,
    pub at: *mut ucp_address_t,
    len: usize,
}

impl Address<'_> {
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the library gave as many bytes.
        unsafe { core::slice::from_raw_parts(self.at.cast(), self.len) }
    }
}

impl Drop for Address<'_> {
    fn drop(&mut self) {
        // SAFETY: given by this worker, and released once.
        unsafe { ucp_worker_release_address(self.worker.0, self.at) };
    }
}

/// Whom an endpoint leads to.
pub enum Peer {
    /// The worker with this address.
    Address(*const ucp_address_t),
    /// Whoever listens there.
    Listener(SocketAddr),
    /// The client that asked.
    Request(ucp_conn_request_h),
}

/// Called when a peer has failed.
pub type ErrorHandler = unsafe extern "C" fn(*mut c_void, ucp_ep_h, ucs_status_t);

/// An [`ErrorHandler`] for who has nothing to say about it.
///
/// # Safety
/// None is needed.
pub unsafe extern "C" fn ignore_failure(_: *mut c_void, _: ucp_ep_h, _: ucs_status_t) {}

/// An endpoint, until it is closed.
pub struct Ep(pub ucp_ep_h);

impl Ep {
    /// Makes an endpoint; with a handler, one that notices failures of its peer.
    ///
    /// # Errors
    /// The library's.
    pub fn new(worker: &Worker, peer: &Peer, handler: Option<ErrorHandler>) -> Result<Ep, Error> {
        let mut ep = null_mut();
        let address;
        // SAFETY: a structure for which zero is a value, whose fields are valid as its mask says; the
        // address outlives the call.
        unsafe {
            let mut params: ucp_ep_params_t = zeroed();
            match peer {
                Peer::Address(at) => {
                    params.field_mask |= UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
                    params.address = *at;
                }
                Peer::Listener(to) => {
                    address = SockAddr::from(*to);
                    params.field_mask |= UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR;
                    params.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER as c_uint;
                    params.sockaddr.addr = address.as_ptr().cast();
                    params.sockaddr.addrlen = address.len();
                }
                Peer::Request(request) => {
                    params.field_mask |= UCP_EP_PARAM_FIELD_CONN_REQUEST;
                    params.conn_request = *request;
                }
            }
            if handler.is_some() {
                params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
                params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLER;
                params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
                params.err_handler.cb = handler;
            }
            check(ucp_ep_create(worker.0, &params, &mut ep))?;
        }
        Ok(Ep(ep))
    }

    /// Waits for what was sent to have arrived.
    pub fn flush(&self) -> Pending {
        // SAFETY: a live endpoint; parameters for which zero is a value.
        unsafe {
            let param: ucp_request_param_t = zeroed();
            Pending(ucp_ep_flush_nbx(self.0, &param))
        }
    }

    /// Begins to close it.
    pub fn close(self, force: bool) -> Pending {
        // SAFETY: a live endpoint, closed once; parameters for which zero is a value.
        unsafe {
            let mut param: ucp_request_param_t = zeroed();
            param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
            if force {
                param.flags = UCP_EP_CLOSE_FLAG_FORCE;
            }
            Pending(ucp_ep_close_nbx(self.0, &param))
        }
    }

    /// Prints its lanes and protocols.
    pub fn print(&self, to: Stream) {
        // SAFETY: a live endpoint, and an open stream.
        unsafe { ucp_ep_print_info(self.0, to.raw()) };
    }
}

/// An operation's end: a request, or a status at once.
#[derive(Clone, Copy)]
pub struct Pending(pub ucs_status_ptr_t);

impl Pending {
    /// The request, if there is one.
    pub fn request(self) -> Option<*mut c_void> {
        let value = self.0 as isize;
        // Small negative numbers are errors, 0 is success.
        (!(-128..=0).contains(&value)).then_some(self.0)
    }

    /// Progresses until it has ended.
    ///
    /// # Errors
    /// Its own.
    pub fn wait(self, mut progress: impl FnMut()) -> Result<(), Error> {
        let Some(request) = self.request() else {
            return check(Status(self.0 as isize as i8));
        };
        // SAFETY: a live request of the library's, freed once.
        unsafe {
            let status = loop {
                progress();
                let status = ucp_request_check_status(request);
                if status != Status::INPROGRESS {
                    break status;
                }
            };
            ucp_request_free(request);
            check(status)
        }
    }
}

/// Listens on all addresses of this host.
pub struct Listener {
    handle: ucp_listener_h,
    /// The last client that asked.
    request: Box<Cell<ucp_conn_request_h>>,
}

unsafe extern "C" fn asked(request: ucp_conn_request_h, arg: *mut c_void) {
    // SAFETY: the cell that the listener was made with, which outlives it.
    unsafe { &*arg.cast::<Cell<ucp_conn_request_h>>() }.set(request);
}

impl Listener {
    /// # Errors
    /// The library's.
    pub fn new(worker: &Worker, at: SocketAddr) -> Result<Listener, Error> {
        let address = SockAddr::from(at);
        let request = Box::new(Cell::new(null_mut()));
        let mut handle = null_mut();
        // SAFETY: a structure for which zero is a value, valid as its mask says.
        unsafe {
            let mut params: ucp_listener_params_t = zeroed();
            params.field_mask =
                UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
            params.sockaddr.addr = address.as_ptr().cast();
            params.sockaddr.addrlen = address.len();
            params.conn_handler.cb = Some(asked);
            params.conn_handler.arg = (&raw const *request).cast_mut().cast();
            check(ucp_listener_create(worker.0, &params, &mut handle))?;
        }
        Ok(Listener { handle, request })
    }

    /// The port that it listens on.
    ///
    /// # Errors
    /// The library's.
    pub fn port(&self) -> Result<u16, Error> {
        // SAFETY: a structure for which zero is a value; a live handle; the address is as long as
        // its family says.
        let address = unsafe {
            let mut attr: ucp_listener_attr_t = zeroed();
            attr.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR;
            check(ucp_listener_query(self.handle, &mut attr))?;
            SockAddr::new(attr.sockaddr, size_of::<sockaddr_storage>() as socklen_t)
        };
        Ok(address.as_socket().ok_or(Error::InvalidAddr)?.port())
    }

    /// The client that asked, once.
    pub fn take_request(&self) -> Option<ucp_conn_request_h> {
        let request = self.request.replace(null_mut());
        (!request.is_null()).then_some(request)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // SAFETY: made, and destroyed once.
        unsafe { ucp_listener_destroy(self.handle) };
    }
}
