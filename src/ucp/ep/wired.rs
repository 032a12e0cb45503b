//! What an endpoint has once its peer is known: lanes and the configuration that goes with them.
//!
//! An endpoint made from a worker address has them from the start. One made from a socket address
//! has none until the server answers; meanwhile what is posted waits in the endpoint's queue.

use std::rc::Rc;

use smallvec::SmallVec;

use super::config::proto_params;
use super::shares::{Most, share};
use super::{EpConfig, RailInfo};
use crate::ucp::address::WorkerAddress;
use crate::ucp::failover::Overhead;
use crate::ucp::print;
use crate::ucp::select::{self, DevicePolicy, ProtoParams, cost};
use crate::ucp::wireup::attempts::Attempts;
use crate::ucp::worker::Worker;
use crate::ucs::status::{Error, Result};
use crate::uct::{self, Ep, IfaceAttr, Post};

/// See the module.
pub struct Wired {
    /// The lane of active messages, which there may be several ways for.
    attempts: Attempts,
    pub config: Rc<EpConfig>,
    /// All lanes, in the order of `config.lanes`, unless that of active messages is the only one.
    lanes: Option<Box<Lanes>>,
}

/// Lanes of an endpoint, in the order of its configuration; none in the place of that of active
/// messages.
pub type Lanes = SmallVec<[Option<Rc<dyn uct::Ep>>; 1]>;

impl Wired {
    /// `attempts`: the lane of active messages.
    pub fn new(attempts: Attempts, config: Rc<EpConfig>, lanes: Lanes) -> Wired {
        Wired {
            attempts,
            config,
            lanes: (lanes.len() != 1).then(|| Box::new(lanes)),
        }
    }

    /// The lane of active messages, and what else could do instead.
    pub fn attempts(&self) -> &Attempts {
        &self.attempts
    }

    /// The lane of active messages.
    #[inline(always)]
    pub fn am(&self) -> &dyn uct::Ep {
        match self.attempts.proven() {
            Some(lane) => &**lane,
            None => &self.attempts,
        }
    }

    fn place<'a>(&'a self, lane: &'a Option<Rc<dyn uct::Ep>>) -> &'a dyn uct::Ep {
        lane.as_deref().unwrap_or_else(|| self.am())
    }

    /// All lanes, in the order of the configuration.
    pub fn lanes(&self) -> impl Iterator<Item = &dyn uct::Ep> {
        const AM: &[Option<Rc<dyn uct::Ep>>] = &[None];
        let lanes = self.lanes.as_deref().map_or(AM, |lanes| lanes.as_slice());
        lanes.iter().map(|lane| self.place(lane))
    }

    pub fn lane(&self, index: usize) -> Option<&dyn uct::Ep> {
        match &self.lanes {
            Some(lanes) => lanes.get(index).map(|lane| self.place(lane)),
            None => (index == 0).then(|| self.am()),
        }
    }

    /// The same to keep. `later` stands in for the lane of active messages as long as it isn't known
    /// what that will be.
    pub fn shared(
        &self,
        index: usize,
        later: impl FnOnce() -> Option<Rc<dyn uct::Ep>>,
    ) -> Option<Rc<dyn uct::Ep>> {
        let other = match &self.lanes {
            Some(lanes) => lanes.get(index)?.clone(),
            None if index == 0 => None,
            None => return None,
        };
        other
            .or_else(|| self.attempts.proven().cloned())
            .or_else(later)
    }

    /// What stands in for lanes that are not there yet.
    pub fn not_yet() -> Wired {
        Wired {
            attempts: Attempts::settled(Rc::new(NoLane)),
            config: Rc::new(EpConfig::unwired()),
            lanes: Some(Box::default()),
        }
    }
}

/// What follows from the lanes.
pub(super) fn wired(
    worker: &Rc<Worker>,
    address: &WorkerAddress<'_>,
    chosen: &select::Lanes,
    am: Attempts,
    lanes: Lanes,
) -> Result<Wired> {
    let attr = |lane: u8| -> Option<&IfaceAttr> {
        let local = chosen.all.get(usize::from(lane))?.local;
        Some(worker.ifaces().get(usize::from(local))?.iface.attr())
    };
    let am_attr = attr(chosen.am).ok_or(Error::NoDevice)?;
    let limits = if chosen.numbered {
        let all: SmallVec<[IfaceAttr; 4]> = chosen
            .am_bw
            .iter()
            .filter_map(|lane| attr(*lane).copied())
            .collect();
        Overhead::limits(&all)
    } else {
        None
    };
    let am_attr = limits.as_ref().unwrap_or(am_attr);
    let am_local = chosen
        .all
        .get(usize::from(chosen.am))
        .map_or(0, |spec| spec.local);
    let intra = worker.is_intra_node(am_local);
    let fetch_attr = chosen.rndv_get.and_then(attr);
    let put_attr = chosen.rndv_put.and_then(attr);

    let context = worker.context();
    let known = worker.config_count();
    let params = || ProtoParams {
        rndv_get: fetch_attr,
        rndv_put: put_attr,
        ..proto_params(context, am_attr, intra)
    };
    let config = worker.ep_config(chosen, || {
        let params = params();
        let mut config = EpConfig::new(chosen.clone(), am_attr, fetch_attr, put_attr, &params);
        if worker.used.is_some() {
            // All that is posted is counted.
            config.fast_max = -1;
        }
        let device_attr = chosen.device.and_then(attr);
        config.rndv.device = DevicePolicy::new(&context.config, device_attr, &params, intra);
        if chosen.numbered {
            let most = context.config.uint("MAX_RNDV_RAILS") as usize;
            config.rails = chosen.am_bw.len().min(most).max(1);
            config.rma_rails = chosen.am_bw.len().min(Most::of(context).rma).max(1);
            let bandwidth = |lane: &u8| Some((*lane, cost::bandwidth(&attr(*lane)?.perf, 1)));
            config.numbered = chosen.am_bw.iter().filter_map(bandwidth).collect();
            config.numbered_eager = Most::of(context).eager;
            config.put_rails = RailInfo::numbered(chosen.am, am_attr).into_iter().collect();
        } else if chosen.am_bw.len() > 1 {
            share(&mut config, chosen, &Most::of(context), attr);
        }
        config
    });
    if worker.config_count() != known && print::wants_proto_info(context) {
        print::proto_info(&print::EpInfo {
            context,
            peer_name: address.peer_name(),
            lanes: chosen,
            cfg_index: known,
            scope: print::Scope::of(context, chosen),
            protocols: Some(params()),
            config: Some(&config),
        });
    }
    Ok(Wired::new(am, config, lanes))
}

/// A lane that never has room.
struct NoLane;

impl Ep for NoLane {
    fn am_short(&self, _id: u8, _header: u64, _payload: &[u8]) -> Result<Post> {
        Ok(Post::NoResource)
    }

    fn am_bcopy(
        &self,
        _id: u8,
        _max_len: usize,
        _pack: &mut dyn FnMut(&mut [u8]) -> usize,
    ) -> Result<Post> {
        Ok(Post::NoResource)
    }
}
