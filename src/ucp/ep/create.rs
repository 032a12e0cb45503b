//! Making an endpoint: lanes chosen and opened.

use core::cell::{Cell, RefCell};
use std::rc::Rc;

use smallvec::SmallVec;

use super::config::proto_params;
use super::{Endpoint, EpConfig, EpOptions, ErrorMode};
use crate::ucp::address::WorkerAddress;
use crate::ucp::context::Features;
use crate::ucp::print;
use crate::ucp::select::{self, Lanes, LocalTl, ProtoParams, Requirements};
use crate::ucp::wire::Origin;
use crate::ucp::worker::Worker;
use crate::ucs::status::{Error, Result};
use crate::uct::{EpParams, IfaceAttr};

impl Endpoint {
    /// The `conn`-th endpoint to the worker with this address.
    pub fn create(
        worker: &Rc<Worker>,
        address: &WorkerAddress<'_>,
        conn: u32,
        options: EpOptions,
    ) -> Result<Rc<Endpoint>> {
        let lanes = choose(worker, address, &options)?;
        let origin = Origin {
            worker: address.uuid,
            conn,
        };
        worker.register_endpoint(origin, |token| {
            let ep = open(worker, address, conn, options, lanes, token)?;
            Ok(Rc::new(ep))
        })
    }

    /// Whether this endpoint, made for a peer, will do for a user who wants these options.
    pub fn serves(&self, options: &EpOptions) -> bool {
        options.mode == ErrorMode::None || self.config.peer_errors
    }
}

fn choose(worker: &Worker, address: &WorkerAddress<'_>, options: &EpOptions) -> Result<Lanes> {
    let context = worker.context();
    let local: SmallVec<[LocalTl<'_>; 8]> = worker
        .ifaces()
        .iter()
        .filter_map(|open| {
            let rsc = context.resources.get(usize::from(open.rsc_index))?;
            Some(LocalTl {
                rsc_index: open.rsc_index,
                md_index: rsc.md_index,
                tl_name: rsc.tl_name(),
                dev_name: rsc.dev_name(),
                aux: rsc.aux,
                attr: open.iface.attr(),
            })
        })
        .collect();
    let mut reachable = |l: usize, r: usize| {
        let (Some(open), Some(tl)) = (worker.ifaces().get(l), address.tls.get(r)) else {
            return Err(String::new());
        };
        open.iface.reachable(tl.device_addr, tl.iface_addr)
    };
    let requirements = Requirements {
        err_handling: options.mode != ErrorMode::None,
        wakeup: context.has_feature(Features::WAKEUP),
        ppn: context.params.estimated_num_ppn,
        max_am_rails: 1,
    };
    select::select(
        address.peer_name(),
        &local,
        &address.tls,
        &mut reachable,
        &requirements,
    )
    .map_err(|reason| {
        crate::ucs_error!("{}", reason.0);
        Error::Unreachable
    })
}

fn open(
    worker: &Rc<Worker>,
    address: &WorkerAddress<'_>,
    conn: u32,
    options: EpOptions,
    chosen: Lanes,
    token: u64,
) -> Result<Endpoint> {
    let mut lanes = SmallVec::new();
    for spec in &chosen.all {
        let iface = worker
            .ifaces()
            .get(usize::from(spec.local))
            .ok_or(Error::NoDevice)?;
        let tl = address
            .tls
            .get(usize::from(spec.remote))
            .ok_or(Error::InvalidAddr)?;
        let params = EpParams {
            device_addr: tl.device_addr,
            iface_addr: tl.iface_addr,
            token,
        };
        lanes.push(iface.iface.create_ep(&params)?);
        worker.activate(spec.local);
    }
    let attr = |lane: u8| -> Option<&IfaceAttr> {
        let local = chosen.all.get(usize::from(lane))?.local;
        Some(worker.ifaces().get(usize::from(local))?.iface.attr())
    };
    let am_attr = attr(chosen.am).ok_or(Error::NoDevice)?;
    let am_local = chosen
        .all
        .get(usize::from(chosen.am))
        .map_or(0, |spec| spec.local);
    let intra = worker.is_intra_node(am_local);
    let fetch_attr = chosen.rndv_get.and_then(attr);
    let config = worker.ep_config(&chosen, || {
        let context = worker.context();
        let params = ProtoParams {
            rndv_get: fetch_attr,
            ..proto_params(context, am_attr, intra)
        };
        print::proto_info(&print::EpInfo {
            context,
            peer_name: address.peer_name(),
            lanes: &chosen,
            cfg_index: worker.config_count(),
            scope: print::Scope::of(context, &chosen),
            tag: Some(params).filter(|_| context.has_feature(Features::TAG)),
        });
        EpConfig::new(chosen.clone(), am_attr, fetch_attr, &params)
    });
    let lane = |index: u8| lanes.get(usize::from(index)).cloned();
    Ok(Endpoint {
        worker: worker.clone(),
        fast_max: Cell::new(config.fast_max),
        am: lane(chosen.am).ok_or(Error::NoDevice)?,
        fetch: RefCell::new(chosen.rndv_get.and_then(lane)),
        lanes,
        config,
        origin: Origin {
            worker: worker.uid(),
            conn,
        },
        remote_worker: address.uuid,
        token,
        next_seq: Cell::new(0),
        pending: RefCell::default(),
        announced: Cell::new(worker.uid() == address.uuid),
        owned: Cell::new(false),
        lent: Cell::new(false),
        failed: Cell::new(None),
        in_flight: Cell::new(0),
        started: Cell::new(0),
        flushes: RefCell::default(),
        stream: RefCell::default(),
        options: RefCell::new(options),
        peer_name: address.peer_name().to_owned(),
    })
}
