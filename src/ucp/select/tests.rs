//! Selection on the transports of usual hosts, with the costs that UCX gives them.

use proptest::prelude::*;

use super::*;
use crate::ucp::address::{TlAddress, TlId};
use crate::uct::{IfaceAttr, IfaceCaps, PerfAttr};

fn attr(caps: IfaceCaps, latency: f64, overhead: f64, bandwidth: f64) -> IfaceAttr {
    IfaceAttr {
        caps,
        max_short: 100,
        max_bcopy: 8256,
        max_zcopy: 0,
        max_zcopy_header: 0,
        max_iov: 16,
        max_rma: usize::MAX,
        device_addr_len: 8,
        iface_addr_len: 8,
        perf: PerfAttr {
            latency,
            overhead,
            bw_shared: 0.0,
            bw_dedicated: bandwidth,
            priority: 0,
        },
    }
}

const AM: IfaceCaps = IfaceCaps::AM_SHORT.union(IfaceCaps::AM_BCOPY);
const MB: f64 = 1024.0 * 1024.0;

pub(in crate::ucp) fn shm() -> IfaceAttr {
    attr(AM, 80e-9, 10e-9, 15360.0 * MB)
}

fn cma() -> IfaceAttr {
    attr(
        IfaceCaps::GET_ZCOPY | IfaceCaps::PUT_ZCOPY,
        80e-9,
        2e-6,
        11145.0 * MB,
    )
}

fn tcp() -> IfaceAttr {
    let caps = AM | IfaceCaps::AM_ZCOPY | IfaceCaps::ERR_PEER | IfaceCaps::EVENT_FD;
    let base = attr(caps, 10.96e-6, 50e-6, 1100.0 * MB);
    IfaceAttr {
        max_short: 8192,
        max_bcopy: 8192,
        max_zcopy: 65536,
        max_zcopy_header: 8037,
        ..base
    }
}

/// `(tl, device, attributes)` of every interface of a process.
type Host = Vec<(&'static str, &'static str, IfaceAttr)>;

fn host() -> Host {
    let loopback = attr(AM, 0.0, 10e-9, 19360.0 * MB);
    let lo = IfaceAttr {
        perf: PerfAttr {
            priority: 1,
            ..tcp().perf
        },
        ..tcp()
    };
    vec![
        ("self", "memory", loopback),
        ("tcp", "eth0", tcp()),
        ("tcp", "lo", lo),
        ("sysv", "memory", shm()),
        ("posix", "memory", shm()),
        ("cma", "memory", cma()),
    ]
}

fn local(host: &Host) -> Vec<LocalTl<'_>> {
    let mut all = Vec::new();
    for (tl_name, dev_name, attr) in host {
        let (rsc_index, md_index) = (all.len() as u8, all.len() as u8);
        all.push(LocalTl {
            rsc_index,
            md_index,
            tl_name,
            dev_name,
            aux: false,
            near: *dev_name == "memory",
            device_addr: dev_name.as_bytes(),
            attr,
        });
    }
    all
}

fn remote(host: &Host) -> Vec<TlAddress<'static>> {
    let tl = |(index, (name, _, attr)): (usize, &(&str, &str, IfaceAttr))| TlAddress {
        tl: TlId::of(name),
        rsc_index: index as u8,
        md_index: index as u8 + 10,
        dev_index: index as u8,
        caps: attr.caps,
        perf: attr.perf,
        device_addr: &[],
        iface_addr: &[],
    };
    host.iter().enumerate().map(tl).collect()
}

/// Lanes from this process to one alike, where `ok(l, r)` says what can reach what.
fn lanes_if(
    host: &Host,
    requirements: Requirements,
    ok: impl Fn(usize, usize) -> bool,
) -> Result<Lanes, Unreachable> {
    let mut reach = |l, r| {
        if ok(l, r) {
            Ok(())
        } else {
            Err("other host".to_owned())
        }
    };
    select(
        "<peer>",
        &local(host),
        &remote(host),
        &mut reach,
        &requirements,
    )
}

fn names(host: &Host, lanes: &Lanes) -> Vec<String> {
    let name = |lane: &LaneSpec| {
        let (tl, dev, _) = &host[usize::from(lane.local)];
        format!("{tl}/{dev}")
    };
    lanes.all.iter().map(name).collect()
}

#[test]
fn to_another_process_of_the_host() {
    let host = host();
    let lanes = lanes_if(&host, Requirements::default(), |l, r| l != 0 && l == r).expect("lanes");
    assert_eq!(names(&host, &lanes), ["sysv/memory", "cma/memory"]);
    assert_eq!(
        (lanes.am, lanes.rndv_get, lanes.rndv_put),
        (0, Some(1), Some(1))
    );
    assert_eq!(lanes.am_bw[..], [0]);
    assert_eq!((lanes.all[1].md_index, lanes.all[1].dst_md_index), (5, 15));
    assert_eq!(lanes.all[1].uses, LaneUse::RMA_BW);
    assert_eq!(lanes.keepalive, None);
}

#[test]
fn to_itself() {
    let host = host();
    let lanes = lanes_if(&host, Requirements::default(), |l, r| l == r).expect("lanes");
    assert_eq!(names(&host, &lanes), ["self/memory", "cma/memory"]);
}

#[test]
fn to_another_host() {
    let host = host();
    let net = |l: usize, r: usize| l == r && (l == 1 || l == 2);
    let lanes = lanes_if(&host, Requirements::default(), net).expect("lanes");
    // Equal costs: the higher priority wins.
    assert_eq!(names(&host, &lanes), ["tcp/lo"]);
    assert_eq!(lanes.rndv_get, None);
    let rails = Requirements {
        max_am_rails: 4,
        ..Requirements::default()
    };
    let lanes = lanes_if(&host, rails, net).expect("lanes");
    assert_eq!(names(&host, &lanes), ["tcp/lo", "tcp/eth0"]);
    assert_eq!(lanes.am_bw[..], [0, 1]);
}

#[test]
fn error_handling_and_wakeup_restrict_the_choice() {
    let host = host();
    let shared = |l: usize, r: usize| l == r && l != 0;
    let err = Requirements {
        err_handling: true,
        ..Requirements::default()
    };
    let lanes = lanes_if(&host, err, shared).expect("lanes");
    assert_eq!(names(&host, &lanes), ["tcp/lo"]);
    assert_eq!(lanes.keepalive, Some(0));
    assert!(lanes.all[0].uses.contains(LaneUse::KEEPALIVE | LaneUse::AM));
    let wakeup = Requirements {
        wakeup: true,
        ..Requirements::default()
    };
    let lanes = lanes_if(&host, wakeup, shared).expect("lanes");
    assert_eq!(names(&host, &lanes)[0], "tcp/lo");
}

#[test]
fn the_reason_is_given_for_each_transport() {
    let host: Host = host().into_iter().filter(|(tl, ..)| *tl != "tcp").collect();
    let text = lanes_if(&host, Requirements::default(), |l, _| l == 3)
        .expect_err("no am lane")
        .0;
    assert_eq!(
        text,
        "no active messages transport to <peer>: \
         self/memory - Destination is unreachable (other host), \
         sysv/memory - Destination is unreachable (other host), \
         posix/memory - Destination is unreachable (other host), \
         cma/memory - no active messages"
    );
    let none = select("p", &[], &[], &mut |_, _| Ok(()), &Requirements::default());
    assert!(
        none.expect_err("nothing")
            .0
            .contains("no transports are open")
    );
}

#[test]
fn an_auxiliary_transport_carries_no_messages() {
    let host = host();
    let mut mine = local(&host);
    mine[3].aux = true;
    let mut reach = |l, r| {
        if l == r && l > 0 {
            Ok(())
        } else {
            Err(String::new())
        }
    };
    let lanes = select(
        "p",
        &mine,
        &remote(&host),
        &mut reach,
        &Requirements::default(),
    )
    .expect("lanes");
    assert_eq!(names(&host, &lanes)[0], "posix/memory");
}

#[test]
fn both_sides_costs_count() {
    let host = host();
    let mut theirs = remote(&host);
    theirs[3].perf.overhead = 1e-3;
    let mut reach = |l, r| {
        if l == r && l > 0 {
            Ok(())
        } else {
            Err(String::new())
        }
    };
    let lanes = select(
        "p",
        &local(&host),
        &theirs,
        &mut reach,
        &Requirements::default(),
    )
    .expect("lanes");
    assert_eq!(names(&host, &lanes)[0], "posix/memory");
}

fn shared_memory<'a>(am: &'a IfaceAttr, cma: &'a IfaceAttr) -> ProtoParams<'a> {
    ProtoParams {
        rndv_get: Some(cma),
        ..ProtoParams::new(am)
    }
}

#[test]
fn shared_memory_ranges() {
    let (am, cma) = (shm(), cma());
    let params = shared_memory(&am, &cma);
    let t = tag_thresholds(&params, SendClass::Normal);
    assert_eq!(
        (t.short_max, t.bcopy_single_max, t.zcopy),
        (Some(100), 8248, None)
    );
    assert_eq!(t.rndv_scheme, RndvScheme::Get);
    // The copies that it saves must pay for the system call, soon but not at once.
    assert!((2048..65536).contains(&t.rndv_thresh), "{}", t.rndv_thresh);
    let fast = tag_thresholds(&params, SendClass::FastCompletion);
    assert_eq!(fast.rndv_thresh, 256 * 1024);
    let table = tag_ranges(&params, SendClass::FastCompletion);
    let protos: Vec<_> = table.iter().map(|range| (range.max, range.proto)).collect();
    assert_eq!(
        protos,
        [
            (100, Protocol::EagerShort),
            (8248, Protocol::EagerBcopy),
            (262_143, Protocol::EagerBcopyMulti),
            (usize::MAX, Protocol::RndvGet),
        ]
    );
    assert_eq!(
        table[3].reason,
        Reason::Configured("UCX_RNDV_SEND_NBR_THRESH")
    );
}

#[test]
fn thresholds_at_the_edges() {
    let (am, cma) = (shm(), cma());
    let with = |thresh| ProtoParams {
        rndv_thresh: thresh,
        ..shared_memory(&am, &cma)
    };
    let zero = tag_thresholds(&with(Threshold::Bytes(0)), SendClass::Normal);
    for size in [0, 1, 8, 1 << 20] {
        assert_eq!(zero.protocol(size), Protocol::RndvGet);
    }
    let one = tag_thresholds(&with(Threshold::Bytes(1)), SendClass::FastCompletion);
    assert_eq!(one.protocol(0), Protocol::EagerShort);
    assert_eq!(one.protocol(1), Protocol::RndvGet);
    let inf = tag_thresholds(&with(Threshold::Inf), SendClass::Normal);
    assert_eq!(inf.protocol(8), Protocol::EagerShort);
    assert_eq!(inf.protocol(usize::MAX - 1), Protocol::EagerBcopyMulti);
    let table = tag_ranges(&with(Threshold::Inf), SendClass::Normal);
    assert_eq!(table.last().map(|range| range.max), Some(usize::MAX));
}

#[test]
fn schemes() {
    let (am, cma) = (shm(), cma());
    let scheme = |params: ProtoParams<'_>| tag_thresholds(&params, SendClass::Normal).rndv_scheme;
    assert_eq!(scheme(ProtoParams::new(&am)), RndvScheme::Am);
    let forced = |scheme| ProtoParams {
        rndv_scheme: Some(scheme),
        ..shared_memory(&am, &cma)
    };
    assert_eq!(scheme(forced(RndvScheme::Am)), RndvScheme::Am);
    // Not possible here: messages always are.
    assert_eq!(scheme(forced(RndvScheme::Put)), RndvScheme::Am);
    let put = ProtoParams {
        rndv_put: Some(&cma),
        ..forced(RndvScheme::Put)
    };
    assert_eq!(scheme(put), RndvScheme::Put);
}

#[test]
fn zcopy_on_a_stream() {
    let am = tcp();
    let params = ProtoParams {
        rndv_thresh: Threshold::Inf,
        ..ProtoParams::new(&am)
    };
    let t = tag_thresholds(&params, SendClass::Normal);
    let (min, max) = t.zcopy.expect("zcopy");
    assert!(min > 0 && max == 65536);
    assert_eq!(t.protocol(min), Protocol::EagerZcopy);
    assert_eq!(t.protocol(min - 1), Protocol::EagerShort);
    assert_eq!(t.protocol(65537), Protocol::EagerBcopyMulti);
    let set = ProtoParams {
        zcopy_thresh: Threshold::Bytes(4096),
        ..params
    };
    assert_eq!(
        tag_thresholds(&set, SendClass::Normal).zcopy,
        Some((4096, 65536))
    );
    let never = ProtoParams {
        zcopy_thresh: Threshold::Inf,
        ..params
    };
    assert_eq!(tag_thresholds(&never, SendClass::Normal).zcopy, None);
}

fn threshold() -> impl Strategy<Value = Threshold> {
    prop_oneof![
        Just(Threshold::Auto),
        Just(Threshold::Inf),
        (0usize..1 << 20).prop_map(Threshold::Bytes),
        any::<usize>().prop_map(Threshold::Bytes),
    ]
}

proptest! {
    /// Whatever an interface claims: the table is ascending, complete, agrees with the
    /// thresholds, and no protocol gets a size that it can't carry.
    #[test]
    fn tables_agree_with_thresholds(
        caps in any::<u32>(),
        costs in (0.0..1e-3f64, 0.0..1e-3f64, 0.0..1e12f64),
        limits in (0usize..20_000, 0usize..70_000, 0usize..200_000, 0usize..9000),
        thresholds in (threshold(), threshold(), threshold(), threshold()),
        get in any::<bool>(),
        sizes in proptest::collection::vec(any::<usize>(), 20),
        class in prop_oneof![Just(SendClass::Normal), Just(SendClass::FastCompletion)],
    ) {
        let mut am = attr(IfaceCaps::from_bits_truncate(caps) | AM, costs.0, costs.1, costs.2);
        (am.max_short, am.max_bcopy, am.max_zcopy, am.max_zcopy_header) = limits;
        let cma = cma();
        let params = ProtoParams {
            rndv_get: get.then_some(&cma),
            rndv_thresh: thresholds.0,
            rndv_send_nbr_thresh: thresholds.1,
            zcopy_thresh: thresholds.2,
            bcopy_thresh: thresholds.3,
            ..ProtoParams::new(&am)
        };
        let t = tag_thresholds(&params, class);
        let table = tag_ranges(&params, class);
        prop_assert!(table.windows(2).all(|w| w[0].max < w[1].max && w[0].proto != w[1].proto));
        prop_assert_eq!(table.last().map(|range| range.max), Some(usize::MAX));
        let small = sizes.iter().map(|size| size % 300_000);
        for size in sizes.iter().copied().chain(small) {
            let row = table.iter().find(|range| size <= range.max).expect("complete");
            prop_assert_eq!(row.proto, t.protocol(size), "size {}", size);
            match row.proto {
                Protocol::EagerShort => prop_assert!(size <= am.max_short),
                Protocol::EagerBcopy => prop_assert!(size + 8 <= am.max_bcopy.max(8)),
                Protocol::EagerZcopy => prop_assert!(size <= am.max_zcopy),
                Protocol::RndvGet => prop_assert!(get),
                Protocol::RndvPut => prop_assert!(false),
                Protocol::RndvGetPpln | Protocol::RndvPutPpln | Protocol::RndvRkeyPtr => {
                    prop_assert!(false)
                }
                Protocol::EagerBcopyMulti | Protocol::RndvAm => (),
            }
        }
    }

    /// Random reachability: lanes are only where both sides reach, and indices are in range.
    #[test]
    fn lanes_are_reachable(
        reachable in proptest::collection::vec(any::<bool>(), 36),
        err_handling in any::<bool>(),
        wakeup in any::<bool>(),
        max_am_rails in 0usize..20,
    ) {
        let host = host();
        let requirements = Requirements { err_handling, wakeup, max_am_rails, ppn: 0, spread_near: false, lane_ratio: None, failover: false };
        let ok = |l: usize, r: usize| reachable[l * 6 + r];
        let Ok(lanes) = lanes_if(&host, requirements, ok) else { return Ok(()) };
        for lane in &lanes.all {
            let (l, r) = (usize::from(lane.local), usize::from(lane.remote));
            prop_assert!(ok(l, r) && host[l].0 == host[r].0);
        }
        let n = lanes.all.len();
        let all = lanes.am_bw.iter().copied().chain([lanes.am]);
        let all = all.chain(lanes.rndv_get).chain(lanes.rndv_put).chain(lanes.keepalive);
        for lane in all {
            prop_assert!(usize::from(lane) < n);
        }
        prop_assert!(lanes.all[usize::from(lanes.am)].uses.contains(LaneUse::AM));
    }
}
