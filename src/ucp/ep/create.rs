//! Making an endpoint: lanes chosen and opened.

use core::cell::{Cell, OnceCell};
use std::rc::Rc;

use smallvec::{SmallVec, smallvec};

use super::rails::lane_token;
use super::shares::{Most, is_set, lane_ratio};
use super::wired::{Lanes as Open, wired};
use super::{Endpoint, EpOptions, ErrorMode, Queue, Wired};
use crate::ucp::address::WorkerAddress;
use crate::ucp::context::{Features, RscIndex};
use crate::ucp::failover::{self, Reliable};
use crate::ucp::select::{self, Candidate, LaneIdx, Lanes, LocalTl, Requirements, cost};
use crate::ucp::wire::Origin;
use crate::ucp::wireup::attempts::{Attempts, Way, Ways};
use crate::ucp::worker::Worker;
use crate::ucs::status::{Error, Result};
use crate::uct::DeviceKind;

/// Whom an endpoint is made for.
#[derive(Clone, Copy, PartialEq)]
enum For {
    User,
    /// To answer a peer; whether that would survive the loss of a lane isn't known.
    Peer,
    /// The same for one that numbers its messages.
    NumberedPeer,
}

impl Endpoint {
    /// An endpoint that has the number `conn` here, to the peer's endpoint `peer`.
    pub fn create_for(
        worker: &Rc<Worker>,
        address: &WorkerAddress<'_>,
        conn: u32,
        peer: Origin,
        options: EpOptions,
    ) -> Result<Rc<Endpoint>> {
        Self::create_with(worker, address, conn, peer, options, For::User)
    }

    /// One to answer a peer, which the user may take over; `numbered`: the peer numbers its messages.
    pub fn create_for_peer(
        worker: &Rc<Worker>,
        address: &WorkerAddress<'_>,
        conn: u32,
        peer: Origin,
        numbered: bool,
    ) -> Result<Rc<Endpoint>> {
        let whom = match numbered {
            true => For::NumberedPeer,
            false => For::Peer,
        };
        Self::create_with(worker, address, conn, peer, EpOptions::default(), whom)
    }

    fn create_with(
        worker: &Rc<Worker>,
        address: &WorkerAddress<'_>,
        conn: u32,
        peer: Origin,
        options: EpOptions,
        whom: For,
    ) -> Result<Rc<Endpoint>> {
        worker.register_endpoint(true, |token| {
            let ep = Endpoint::bare(worker, conn, options, token, address.peer_name());
            let had_link = worker.links.find(peer).is_some();
            let whom = if had_link { For::NumberedPeer } else { whom };
            let wired = ep.connect(address, peer, whom)?;
            // Each lane that numbers messages begins by telling who we are. One that is there already has
            // told of an end that has been closed since.
            let is_own = worker.uid() == address.uuid && conn == peer.conn;
            let known = is_own || wired.config.lanes.numbered && !had_link;
            ep.attach(peer, wired);
            ep.announced.set(known);
            Ok(Rc::new(ep))
        })
    }

    /// One that only says a last word to the peer's endpoint `peer`, for one that is gone.
    pub fn create_to_answer(
        worker: &Rc<Worker>,
        address: &WorkerAddress<'_>,
        conn: u32,
        peer: Origin,
    ) -> Result<Rc<Endpoint>> {
        worker.register_endpoint(false, |token| {
            let options = EpOptions::default();
            let ep = Endpoint::bare(worker, conn, options, token, address.peer_name());
            let wired = ep.connect(address, peer, For::Peer)?;
            ep.attach(peer, wired);
            ep.announced.set(true);
            Ok(Rc::new(ep))
        })
    }

    /// An endpoint whose peer is not known yet, number `conn` here. `name`: for messages.
    pub fn unwired(
        worker: &Rc<Worker>,
        conn: u32,
        options: EpOptions,
        name: &str,
    ) -> Result<Rc<Endpoint>> {
        worker.register_endpoint(false, |token| {
            let ep = Endpoint::bare(worker, conn, options, token, name);
            // The peer learns of it before it tells who it is.
            ep.announced.set(true);
            Ok(Rc::new(ep))
        })
    }

    /// The peer of an [`Endpoint::unwired`] is known: what has waited can go.
    pub fn wire(self: &Rc<Self>, address: &WorkerAddress<'_>, peer: Origin) {
        if self.is_wired() || self.failed.get().is_some() {
            return;
        }
        match self.connect(address, peer, For::User) {
            Ok(wired) => {
                self.attach(peer, wired);
                if self.is_blocked() {
                    self.fast_max.set(-1);
                }
                self.worker.bind_origin(self);
                self.worker.watch_peer(self);
                self.tell_closing();
            }
            Err(error) => self.fail(error),
        }
    }

    fn attach(&self, peer: Origin, wired: Wired) {
        self.peer.set(peer);
        self.fast_max.set(wired.config.fast_max);
        self.fetch.set(wired.config.lanes.rndv_get);
        self.device.set(wired.config.lanes.device);
        // What the peer's process writes is no better than a message to it.
        let written = wired.config.put_rails.iter().find(|rail| !rail.keyed);
        self.store.set(written.map(|rail| rail.index));
        // Called once: the endpoint is new, or was checked to be unwired.
        let _ = self.wired.set(wired);
    }

    /// Whether this endpoint, made for a peer, will do for a user who wants these options.
    pub fn serves(&self, options: &EpOptions) -> bool {
        let numbered = || {
            let lanes = &self.config().lanes;
            let am = lanes.all.get(usize::from(lanes.am));
            lanes.numbered || am.is_some_and(|am| self.worker.is_intra_node(am.local))
        };
        match options.mode {
            ErrorMode::None if self.worker.context().config.bool_("FAILOVER_ENABLE") => numbered(),
            ErrorMode::None => true,
            ErrorMode::Peer => self.config().peer_errors,
            ErrorMode::Failover => self.config().peer_errors && numbered(),
        }
    }

    /// Lanes to the peer's endpoint `peer`.
    fn connect(&self, address: &WorkerAddress<'_>, peer: Origin, whom: For) -> Result<Wired> {
        let (worker, options) = (&self.worker, self.options());
        let numbered = whom == For::NumberedPeer;
        let Some(lanes) = numbered_lanes(worker, address, &options, numbered)? else {
            let mut need = requirements(worker, &options);
            need.spread_near &= whom == For::User;
            return connect(worker, address, &need, options.mode, self.token);
        };
        let link = match worker.links.find(peer) {
            Some(link) => {
                link.adopt(self.token);
                link
            }
            None => Reliable::open(
                worker,
                self.origin(),
                peer,
                self.token,
                rails(address, &lanes),
            )?,
        };
        let am = Attempts::settled(link);
        wired(worker, address, &lanes, am, smallvec![None])
    }

    /// The peer numbers its messages, and this endpoint, made before that was known, doesn't.
    pub(in crate::ucp) fn hear_numbers(&self, address: &WorkerAddress<'_>) -> Result<()> {
        let lanes = numbered_lanes(&self.worker, address, &self.options(), true)?;
        let rails = rails(address, &lanes.ok_or(Error::Unreachable)?);
        Reliable::open(
            &self.worker,
            self.origin(),
            self.peer.get(),
            self.token,
            rails,
        )?;
        Ok(())
    }

    fn bare(
        worker: &Rc<Worker>,
        conn: u32,
        options: EpOptions,
        token: u64,
        peer_name: &str,
    ) -> Endpoint {
        Endpoint {
            worker: worker.clone(),
            fast_max: Cell::new(-1),
            wired: OnceCell::new(),
            fetch: Cell::new(None),
            device: Cell::new(None),
            store: Cell::new(None),
            order: OnceCell::new(),
            conn,
            peer: Cell::new(Origin { worker: 0, conn }),
            token,
            next_seq: Cell::new(0),
            pending: Queue::default(),
            announced: Cell::new(false),
            owned: Cell::new(false),
            lent: Cell::new(false),
            failed: Cell::new(None),
            lost: Cell::new(0),
            peer_stopped: Cell::new(false),
            tell_peer: Cell::new(false),
            in_flight: Cell::new(0),
            one_sided: Cell::new(0),
            started: Cell::new(0),
            rare: OnceCell::new(),
            options: Cell::new(Some(worker.ep_options(options))),
            peer_name: worker.ways.name(peer_name),
        }
    }
}

/// Chooses lanes and opens them. A way that can't be opened is left out of the next choice.
fn connect(
    worker: &Rc<Worker>,
    address: &WorkerAddress<'_>,
    need: &Requirements,
    mode: ErrorMode,
    token: u64,
) -> Result<Wired> {
    let mut unusable: SmallVec<[Candidate; 2]> = SmallVec::new();
    let mut first_error = None;
    loop {
        let (lanes, ways) = match choose(worker, address, need, mode, &unusable) {
            Ok(chosen) => chosen,
            Err(error) => return Err(first_error.unwrap_or(error)),
        };
        match open(worker, address, &lanes, &ways, mode, token) {
            Ok(wired) => return Ok(wired),
            // What was left out isn't chosen again.
            Err((Some(way), error)) if !unusable.contains(&way) => {
                crate::ucs_diag!("{}: a lane can't be opened: {error}", address.peer_name());
                first_error.get_or_insert(error);
                unusable.push(way);
            }
            Err((_, error)) => return Err(error),
        }
    }
}

fn wants_failover(worker: &Worker, options: &EpOptions) -> bool {
    options.mode == ErrorMode::Failover || worker.context().config.bool_("FAILOVER_ENABLE")
}

/// The lanes that replace each other, if messages are to be numbered: since the peer does so
/// (`numbered`), or since our user wants it.
fn numbered_lanes(
    worker: &Worker,
    address: &WorkerAddress<'_>,
    options: &EpOptions,
    numbered: bool,
) -> Result<Option<Lanes>> {
    if !numbered && !wants_failover(worker, options) {
        return Ok(None);
    }
    let local = local(worker);
    let plain = Requirements {
        err_handling: true,
        ..requirements(worker, options)
    };
    let choose = |requirements: &Requirements| {
        let mut reachable = |l: usize, r: usize| reachable(worker, address, l, r);
        let name = address.peer_name();
        select::select(name, &local, &address.tls, &mut reachable, requirements).map_err(|reason| {
            crate::ucs_error!("{}", reason.0);
            Error::Unreachable
        })
    };
    let lanes = choose(&plain)?;
    let am = lanes.all.get(usize::from(lanes.am));
    if am.is_some_and(|am| worker.is_intra_node(am.local)) {
        // Memory is no lane that can be lost.
        return Ok(None);
    }
    let failover = Requirements {
        failover: true,
        ..plain
    };
    choose(&failover).map(Some)
}

/// The ways to a peer that numbers its messages, best first.
pub(in crate::ucp) fn ways(worker: &Worker, address: &WorkerAddress<'_>) -> Vec<failover::Way> {
    match numbered_lanes(worker, address, &EpOptions::default(), true) {
        Ok(Some(lanes)) => rails(address, &lanes),
        _ => Vec::new(),
    }
}

fn rails(address: &WorkerAddress<'_>, chosen: &Lanes) -> Vec<failover::Way> {
    let way = |lane: &LaneIdx| {
        let spec = chosen.all.get(usize::from(*lane))?;
        let tl = address.tls.get(usize::from(spec.remote))?;
        Some(failover::Way {
            local: spec.local,
            device_addr: tl.device_addr.into(),
            iface_addr: tl.iface_addr.into(),
            bandwidth: cost::bandwidth(&tl.perf, 1),
        })
    };
    chosen.am_bw.iter().filter_map(way).collect()
}

/// The lanes, and other ways for active messages.
fn choose(
    worker: &Worker,
    address: &WorkerAddress<'_>,
    need: &Requirements,
    mode: ErrorMode,
    unusable: &[Candidate],
) -> Result<(Lanes, SmallVec<[Candidate; 4]>)> {
    let local = local(worker);
    let mut reachable = |l: usize, r: usize| {
        if unusable.contains(&(l as u8, r as u8)) {
            return Err("it can't be opened".to_owned());
        }
        reachable(worker, address, l, r)
    };
    let mut lanes = select::select(
        address.peer_name(),
        &local,
        &address.tls,
        &mut reachable,
        need,
    )
    .map_err(|reason| {
        crate::ucs_error!("{}", reason.0);
        Error::Unreachable
    })?;
    lanes.own = address.uuid == worker.uid();
    let am = lanes.all.get(usize::from(lanes.am));
    let ways = match am.map(|spec| (spec.local, spec.remote)) {
        // Memory of this host is there or it isn't: only a network's ways are found out by trying.
        Some(am) if !worker.is_intra_node(am.0) && mode != ErrorMode::Failover => {
            select::alternatives(&local, &address.tls, &mut reachable, need, am)
        }
        _ => SmallVec::new(),
    };
    Ok((lanes, ways))
}

/// An interface, and an address to connect it to.
fn way(worker: &Worker, address: &WorkerAddress<'_>, (local, remote): Candidate) -> Result<Way> {
    let open = worker.ifaces().get(usize::from(local));
    let tl = address.tls.get(usize::from(remote));
    let tl = tl.ok_or(Error::InvalidAddr)?;
    let iface = open.ok_or(Error::NoDevice)?.iface.clone();
    Ok(Way::new(iface, local, tl.device_addr, tl.iface_addr))
}

/// Why an endpoint to the worker with this address has no lane on some of our interfaces: the
/// resource and the reason.
///
/// # Errors
/// As [`Endpoint::create`] when there are no lanes at all.
pub fn why_unused(
    worker: &Worker,
    address: &WorkerAddress<'_>,
    options: &EpOptions,
) -> Result<Vec<(RscIndex, String)>> {
    let need = requirements(worker, options);
    let (lanes, _) = choose(worker, address, &need, options.mode, &[])?;
    let local = local(worker);
    let reasons = select::why::unused(
        &lanes,
        &local,
        &address.tls,
        &mut |l, r| reachable(worker, address, l, r),
        &need,
    );
    let named = local.iter().zip(reasons);
    Ok(named
        .filter_map(|(tl, reason)| Some((tl.rsc_index, reason?)))
        .collect())
}

/// Our interfaces, as selection sees them.
fn local(worker: &Worker) -> SmallVec<[LocalTl<'_>; 8]> {
    let context = worker.context();
    let ifaces = worker.ifaces().iter();
    let seen = ifaces.filter_map(|open| {
        let rsc = context.resources.get(usize::from(open.rsc_index))?;
        Some(LocalTl {
            rsc_index: open.rsc_index,
            md_index: rsc.md_index,
            tl_name: rsc.tl_name(),
            dev_name: rsc.dev_name(),
            aux: rsc.aux,
            near: rsc.kind() != DeviceKind::Net,
            device_addr: &open.device_addr,
            attr: open.iface.attr(),
        })
    });
    seen.collect()
}

/// Whether interface `l` here reaches interface `r` of the peer, and why not.
fn reachable(
    worker: &Worker,
    address: &WorkerAddress<'_>,
    l: usize,
    r: usize,
) -> core::result::Result<(), String> {
    let (Some(open), Some(tl)) = (worker.ifaces().get(l), address.tls.get(r)) else {
        return Err(String::new());
    };
    open.iface.reachable(tl.device_addr, tl.iface_addr)
}

fn requirements(worker: &Worker, options: &EpOptions) -> Requirements {
    let context = worker.context();
    Requirements {
        err_handling: options.mode != ErrorMode::None,
        wakeup: context.has_feature(Features::WAKEUP),
        ppn: context.params.estimated_num_ppn,
        max_am_rails: Most::of(context).lanes(),
        // Over memory nothing is numbered, so that what a lane beside it has taken is lost with that.
        spread_near: !wants_failover(worker, options)
            && ["MAX_RNDV_RAILS", "MAX_EAGER_RAILS", "MULTI_LANE_MAX_RATIO"]
                .iter()
                .any(|name| is_set(context, name)),
        lane_ratio: lane_ratio(context),
        failover: false,
    }
}

/// `ways`: others for active messages. An error comes with the way that can't be opened.
fn open(
    worker: &Rc<Worker>,
    address: &WorkerAddress<'_>,
    chosen: &Lanes,
    ways: &[Candidate],
    mode: ErrorMode,
    token: u64,
) -> core::result::Result<Wired, (Option<Candidate>, Error)> {
    let mut lanes = Open::new();
    let mut am = None;
    for (index, spec) in chosen.all.iter().enumerate() {
        let first = (spec.local, spec.remote);
        let is_am = index == usize::from(chosen.am);
        let opened = if is_am {
            // Who handles errors is to hear of the peer's death without sending anything.
            let lazy = mode == ErrorMode::None && !worker.is_intra_node(spec.local);
            let all: Result<Ways> = core::iter::once(&first)
                .chain(ways)
                .map(|pair| way(worker, address, *pair))
                .collect();
            all.map(|all| worker.ways.share(address.uuid, all))
                .and_then(|all| Attempts::begin(all, lazy, token))
        } else {
            way(worker, address, first)
                .map(|only| Rc::new(vec![only]))
                .and_then(|only| Attempts::begin(only, false, lane_token(token, index as u8)))
        };
        let (lane, local) = opened.map_err(|error| (Some(first), error))?;
        worker.activate(local);
        if is_am {
            am = Some(lane);
            lanes.push(None);
        } else {
            let lane = lane.into_proven().map_err(|error| (Some(first), error))?;
            lanes.push(Some(lane));
        }
    }
    let am = am.ok_or((None, Error::NoDevice))?;
    wired(worker, address, chosen, am, lanes).map_err(|error| (None, error))
}
