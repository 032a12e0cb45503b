//! Making a worker, its address, and its end.

use core::cell::{Cell, RefCell};
use core::ffi::c_void;
use std::ffi::CString;
use std::rc::Rc;
use std::sync::Arc;

use super::ahead::Ahead;
use super::early::Early;
use super::lock::WorkerLock;
use super::origins::Origins;
use super::{IdTable, Keepalive, Worker};
use crate::sys::event::{EventSet, random_u64};
use crate::ucp::am::ActiveMessages;
use crate::ucp::context::{Context, Features, OpenIface};
use crate::ucp::ep::{LastWords, Wired};
use crate::ucp::failover::Links;
use crate::ucp::print::used::Used;
use crate::ucp::request::RequestPool;
use crate::ucp::tag::TagMatching;
use crate::ucp::wire::wireup;
use crate::ucp::wireup::attempts::KnownWays;
use crate::ucp::wireup::sockaddr::SockaddrWireup;
use crate::ucs::status::{Error, Result};
use crate::uct::{IfaceParams, fault};

/// `ucs_thread_mode_t`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ThreadMode {
    #[default]
    Single,
    Serialized,
    Multi,
}

/// `ucp_worker_params_t`, decoded.
#[derive(Clone, Debug)]
pub struct WorkerParams {
    pub thread_mode: ThreadMode,
    pub user_data: *mut c_void,
    pub name: Option<String>,
    pub client_id: u64,
    /// Least alignment of the data that active message handlers get, a power of 2.
    pub am_alignment: usize,
}

impl Default for WorkerParams {
    fn default() -> Self {
        WorkerParams {
            thread_mode: ThreadMode::Single,
            user_data: core::ptr::null_mut(),
            name: None,
            client_id: 0,
            am_alignment: 1,
        }
    }
}

fn c_names(context: &Context) -> Vec<(CString, CString)> {
    let resources = context.resources.iter();
    let c = |name: &str| CString::new(name).unwrap_or_default();
    resources
        .map(|rsc| (c(rsc.tl_name()), c(rsc.dev_name())))
        .collect()
}

impl Worker {
    /// Opens the context's transports for one thread of control.
    pub fn new(context: Arc<Context>, params: WorkerParams) -> Result<Rc<Worker>> {
        let uid = random_u64();
        let wakeup = context.has_feature(Features::WAKEUP);
        let iface_params = IfaceParams {
            remote_put: false,
            keyed_put: true,
            worker_uid: uid,
            wakeup,
            seldom_sleeps: false,
            err_handling: false,
        };
        let open = context.open_ifaces(&iface_params)?;
        let user = &context.params;
        let requests =
            RequestPool::new(user.request_size, user.request_init, user.request_cleanup)?;
        let events = match wakeup {
            true => Some(EventSet::new().map_err(|e| {
                crate::ucs_error!("failed to create an event descriptor: {e}");
                Error::IoError
            })?),
            false => None,
        };
        let name = params
            .name
            .unwrap_or_else(|| format!("{}:{}", crate::ucs::log::host_name(), std::process::id()));
        let limits = open.ifaces.iter().map(|open| open.iface.attr().max_bcopy);
        let bcopy_max = limits.filter(|max| *max != 0).min().unwrap_or(0);
        let gate = |(i, open): (usize, &OpenIface)| open.iface.gate().map(|gate| (i, gate));
        let gated = open.ifaces.iter().enumerate().filter_map(gate).collect();
        let worker = Rc::new_cyclic(|this| Worker {
            this: this.clone(),
            uid,
            thread_mode: params.thread_mode,
            lock: WorkerLock::new(params.thread_mode == ThreadMode::Multi),
            name,
            user_data: Cell::new(params.user_data),
            active: Cell::new(0),
            far_active: Cell::new(false),
            gated,
            ifaces: open.ifaces,
            _mds: open.mds,
            rounds: Cell::new(0),
            last_look: Cell::new(None),
            in_progress: Cell::new(false),
            events,
            armed: Cell::new(false),
            reports: Cell::new(false),
            tag: TagMatching::default(),
            shown_keys: RefCell::default(),
            used: Used::of(&context),
            early: Early::default(),
            am: ActiveMessages::new(params.am_alignment, bcopy_max),
            requests,
            ops: RefCell::new(IdTable::default()),
            endpoints: RefCell::default(),
            ahead: Ahead::default(),
            next_token: Cell::new(0),
            by_origin: Origins::default(),
            last_words: LastWords::default(),
            no_options: Rc::default(),
            ways: KnownWays::default(),
            connections: RefCell::default(),
            apart: Cell::default(),
            configs: RefCell::default(),
            blocked: RefCell::default(),
            idle_queue: Cell::default(),
            failed: RefCell::default(),
            one_sided: RefCell::default(),
            placed: RefCell::default(),
            at_mercy: RefCell::default(),
            staging: RefCell::default(),
            keys: Rc::default(),
            has_work: Cell::new(false),
            address: RefCell::new(None),
            names: c_names(&context),
            cm: SockaddrWireup::default(),
            sockaddr_rounds: Cell::new(0),
            pause: Cell::new(false),
            client_id: params.client_id,
            keepalive: Keepalive::new(&context.config),
            alarm: Default::default(),
            deaths: Default::default(),
            near_with_errors: Cell::new(false),
            lingering: Cell::new(0),
            awaits_bytes: Cell::new(false),
            not_yet_wired: Wired::not_yet(),
            links: Links::default(),
            tally: Default::default(),
            refused: fault::Registrations::read(&context.config),
            stream_ready: RefCell::default(),
            context,
        });
        fault::name_messages_by(crate::ucp::wire::name::of);
        worker.collect_event_fds();
        Ok(worker)
    }

    /// `ucp_worker_destroy`: closes what is left and lets go of everything.
    pub fn destroy(self: Rc<Self>) {
        if let Some(used) = &self.used {
            used.tell();
        }
        let endpoints: Vec<_> = self.endpoints.borrow().values().cloned().collect();
        for ep in endpoints {
            // A client or server learns that its peer has gone.
            if ep.is_by_sockaddr() {
                // A client may be connected already without our having heard of it.
                if ep.failure().is_none() {
                    ep.set_announced(true);
                }
                ep.say_closed(wireup::Kind::Aborted);
            }
            ep.abandon(Error::Canceled);
            ep.close_now();
        }
        self.wait_for_mercy();
        let posted = self.tag.expected.borrow_mut().drain();
        if !posted.is_empty() {
            crate::ucs_diag!("{}: {} receives are still posted", self.name, posted.len());
        }
        for req in posted {
            drop(req.take_op());
        }
        self.acknowledge_all();
        self.links.clear();
        self.cm.end();
        self.blocked.borrow_mut().clear();
        self.failed.borrow_mut().clear();
        self.one_sided.borrow_mut().clear();
        for open in &self.ifaces {
            open.iface.shutdown();
        }
        self.tell_tally();
        match self.keys.is_balanced() {
            true => crate::ucs_debug!("{}: {}", self.name, self.keys),
            false => crate::ucs_diag!("{}: at its end, {}", self.name, self.keys),
        }
    }
}
