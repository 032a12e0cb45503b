//! Which protocol serves which message sizes.

use smallvec::SmallVec;

use crate::uct::{IfaceAttr, IfaceCaps};

use super::cost::{Linear, bandwidth};
use super::times::{EAGER_ZCOPY_MAX, crossover, eager_copied, eager_zcopy, rndv_cost};

/// How a message travels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Protocol {
    /// One active message, written by the CPU straight into the transport.
    EagerShort,
    /// One active message through the transport's buffer.
    EagerBcopy,
    /// Several active messages through the transport's buffers.
    EagerBcopyMulti,
    /// One active message sent from the user's memory.
    EagerZcopy,
    /// The receiver reads the sender's memory.
    RndvGet,
    /// The sender writes the receiver's memory.
    RndvPut,
    /// Active messages, after the receiver has asked for them.
    RndvAm,
    /// The receiver reads the sender's memory into staging buffers.
    RndvGetPpln,
    /// The sender writes to the receiver's staging buffers.
    RndvPutPpln,
    /// The receiver maps the sender's memory.
    RndvRkeyPtr,
}

impl Protocol {
    /// What it is called in tables.
    pub fn description(self) -> &'static str {
        match self {
            Protocol::EagerShort => "eager short",
            Protocol::EagerBcopy => "eager copy-in copy-out",
            Protocol::EagerBcopyMulti => "multi-frag eager copy-in copy-out",
            Protocol::EagerZcopy => "eager zero-copy copy-out",
            Protocol::RndvGet => "rendezvous zero-copy read from remote",
            Protocol::RndvPut => "rendezvous zero-copy write to remote",
            Protocol::RndvAm => "rendezvous fragmented copy-in copy-out",
            Protocol::RndvGetPpln => "rendezvous pipeline read from remote",
            Protocol::RndvPutPpln => "rendezvous pipeline write to remote",
            Protocol::RndvRkeyPtr => "rendezvous copy from mapped remote memory",
        }
    }

    /// True when the receiver must ask before data flows.
    pub fn is_rndv(self) -> bool {
        !matches!(
            self,
            Protocol::EagerShort
                | Protocol::EagerBcopy
                | Protocol::EagerBcopyMulti
                | Protocol::EagerZcopy
        )
    }
}

/// How the data of a rendezvous moves; the sender's expectation, since the receiver decides.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RndvScheme {
    Get,
    Put,
    Am,
    /// By fragments through staging buffers of the receiver.
    GetPpln,
    PutPpln,
    RkeyPtr,
}

impl RndvScheme {
    const NAMES: [(&'static str, RndvScheme); 6] = [
        ("get_zcopy", RndvScheme::Get),
        ("put_zcopy", RndvScheme::Put),
        ("get_ppln", RndvScheme::GetPpln),
        ("put_ppln", RndvScheme::PutPpln),
        ("am", RndvScheme::Am),
        ("rkey_ptr", RndvScheme::RkeyPtr),
    ];

    /// By its name in `UCX_RNDV_SCHEME`; none for `auto`.
    pub fn of_name(name: &str) -> Option<RndvScheme> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, scheme)| *scheme)
    }

    pub fn name(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(_, scheme)| *scheme == self);
        found.map_or("auto", |(name, _)| name)
    }
}

impl From<RndvScheme> for Protocol {
    fn from(scheme: RndvScheme) -> Protocol {
        match scheme {
            RndvScheme::Get => Protocol::RndvGet,
            RndvScheme::Put => Protocol::RndvPut,
            RndvScheme::Am => Protocol::RndvAm,
            RndvScheme::GetPpln => Protocol::RndvGetPpln,
            RndvScheme::PutPpln => Protocol::RndvPutPpln,
            RndvScheme::RkeyPtr => Protocol::RndvRkeyPtr,
        }
    }
}

/// What the sender said about the send.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SendClass {
    /// Nothing.
    Normal,
    /// `UCP_OP_ATTR_FLAG_FAST_CMPL`: local completion matters more than the transfer.
    FastCompletion,
    /// `UCP_OP_ATTR_FLAG_MULTI_SEND`: many are in flight, so bandwidth matters more than latency.
    Multi,
}

impl SendClass {
    /// Suffix of the operation's name in tables.
    pub fn suffix(self) -> &'static str {
        match self {
            SendClass::Normal => "",
            SendClass::FastCompletion => "(fast-completion)",
            SendClass::Multi => "(multi)",
        }
    }
}

/// A threshold as configured.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Threshold {
    /// The cost model decides.
    #[default]
    Auto,
    /// From this size on.
    Bytes(usize),
    /// Never.
    Inf,
}

/// Inputs of the choice.
#[derive(Clone, Copy, Debug)]
pub struct ProtoParams<'a> {
    /// The active message lane.
    pub am: &'a IfaceAttr,
    /// The lane that reads the peer's memory, if there is one.
    pub rndv_get: Option<&'a IfaceAttr>,
    /// The lane that writes the peer's memory, if that is implemented and there is one.
    pub rndv_put: Option<&'a IfaceAttr>,
    /// Bytes of header before the payload of a single-fragment message by bcopy or zcopy.
    pub header_single: usize,
    /// The same for the fragments of a message.
    pub header_frag: usize,
    /// A message by short may be used: its header is the 8 bytes that the transport takes anyway.
    pub allow_short: bool,
    /// `UCX_RNDV_THRESH`.
    pub rndv_thresh: Threshold,
    /// `UCX_RNDV_SEND_NBR_THRESH`: the same for [`SendClass::FastCompletion`].
    pub rndv_send_nbr_thresh: Threshold,
    /// `UCX_ZCOPY_THRESH`.
    pub zcopy_thresh: Threshold,
    /// `UCX_BCOPY_THRESH`: below it, short is used although bcopy may be faster.
    pub bcopy_thresh: Threshold,
    /// `UCX_RNDV_SCHEME`, if the user forces one.
    pub rndv_scheme: Option<RndvScheme>,
    /// Bytes of a staging buffer.
    pub rndv_frag: usize,
    /// Bytes copied at a time out of mapped memory.
    pub rkey_ptr_step: usize,
    /// Copies between two places of host memory, bytes per second (`UCX_BCOPY_BW`).
    pub memcpy_bw: f64,
    /// Processes of the host that share its devices.
    pub ppn: usize,
}

impl<'a> ProtoParams<'a> {
    /// The defaults, for this active message lane.
    pub fn new(am: &'a IfaceAttr) -> ProtoParams<'a> {
        ProtoParams {
            am,
            rndv_get: None,
            rndv_put: None,
            header_single: 8,
            header_frag: 16,
            allow_short: true,
            rndv_thresh: Threshold::Auto,
            rndv_send_nbr_thresh: Threshold::Bytes(256 * 1024),
            zcopy_thresh: Threshold::Auto,
            bcopy_thresh: Threshold::Auto,
            rndv_scheme: None,
            rndv_frag: 512 << 10,
            rkey_ptr_step: 512 << 10,
            memcpy_bw: 7000.0 * 1024.0 * 1024.0,
            ppn: 1,
        }
    }
}

/// Why a range ends up with its protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// Fastest by the cost model.
    Fastest,
    /// Nothing else can carry these sizes.
    OnlyChoice,
    /// The user said so, by this variable.
    Configured(&'static str),
}

impl Reason {
    /// In words.
    pub fn text(self) -> String {
        match self {
            Reason::Fastest => "fastest by the cost model".to_owned(),
            Reason::OnlyChoice => "nothing else carries these sizes".to_owned(),
            Reason::Configured(variable) => format!("set by {variable}"),
        }
    }
}

/// A range of sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProtoRange {
    /// Largest size, inclusive; `usize::MAX` is no limit.
    pub max: usize,
    pub proto: Protocol,
    pub reason: Reason,
}

/// The same in the form that a send checks, in this order: short, rendezvous, zcopy, bcopy in one
/// fragment, bcopy in several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TagThresholds {
    /// Largest size by short, `None`: never.
    pub short_max: Option<usize>,
    /// From this size on by rendezvous; `usize::MAX`: never.
    pub rndv_thresh: usize,
    /// How the data of a rendezvous will move if the receiver agrees.
    pub rndv_scheme: RndvScheme,
    /// Zcopy in one fragment for these sizes (inclusive), `None`: never.
    pub zcopy: Option<(usize, usize)>,
    /// Largest size by bcopy in one fragment.
    pub bcopy_single_max: usize,
}

impl TagThresholds {
    /// The protocol of a contiguous host message of this size.
    pub fn protocol(&self, size: usize) -> Protocol {
        if self.short_max.is_some_and(|max| size <= max) {
            Protocol::EagerShort
        } else if size >= self.rndv_thresh {
            self.rndv_scheme.into()
        } else if self
            .zcopy
            .is_some_and(|(min, max)| (min..=max).contains(&size))
        {
            Protocol::EagerZcopy
        } else if size <= self.bcopy_single_max {
            Protocol::EagerBcopy
        } else {
            Protocol::EagerBcopyMulti
        }
    }
}

/// The thresholds of tagged sends over these lanes.
pub fn tag_thresholds(params: &ProtoParams<'_>, class: SendClass) -> TagThresholds {
    let scheme = rndv_scheme(params);
    let (rndv_thresh, _) = rndv_threshold(params, class, scheme);
    let below_rndv = rndv_thresh.checked_sub(1);
    TagThresholds {
        short_max: below_rndv.and_then(|limit| Some(short_limit(params)?.min(limit))),
        rndv_thresh,
        rndv_scheme: scheme,
        zcopy: below_rndv.and_then(|limit| zcopy_range(params, limit)),
        bcopy_single_max: bcopy_limit(params),
    }
    .without_overlap()
}

impl TagThresholds {
    /// Short ends where zcopy begins.
    fn without_overlap(mut self) -> Self {
        if let (Some(short), Some((min, _))) = (self.short_max, self.zcopy) {
            self.short_max = if short < min {
                Some(short)
            } else {
                min.checked_sub(1)
            };
        }
        self
    }
}

/// The table of size ranges for tagged sends, ascending and without gaps; the last range has no
/// limit.
pub fn tag_ranges(params: &ProtoParams<'_>, class: SendClass) -> SmallVec<[ProtoRange; 6]> {
    let t = tag_thresholds(params, class);
    let mut ends: SmallVec<[usize; 8]> = SmallVec::new();
    ends.extend(t.short_max);
    ends.extend(t.rndv_thresh.checked_sub(1));
    if let Some((min, max)) = t.zcopy {
        ends.extend(min.checked_sub(1));
        ends.push(max);
    }
    ends.push(t.bcopy_single_max);
    ends.push(usize::MAX);
    ends.sort_unstable();
    ends.dedup();

    let mut ranges: SmallVec<[ProtoRange; 6]> = SmallVec::new();
    for max in ends {
        let proto = t.protocol(max);
        match ranges.last_mut() {
            Some(last) if last.proto == proto => last.max = max,
            _ => ranges.push(ProtoRange {
                max,
                proto,
                reason: reason(params, class, proto),
            }),
        }
    }
    ranges
}

fn reason(params: &ProtoParams<'_>, class: SendClass, proto: Protocol) -> Reason {
    match proto {
        p if p.is_rndv() => rndv_threshold(params, class, rndv_scheme(params)).1,
        Protocol::EagerZcopy if params.zcopy_thresh != Threshold::Auto => {
            Reason::Configured("UCX_ZCOPY_THRESH")
        }
        Protocol::EagerBcopyMulti => Reason::OnlyChoice,
        _ => Reason::Fastest,
    }
}

/// Largest message in one bcopy active message.
pub(super) fn bcopy_limit(params: &ProtoParams<'_>) -> usize {
    params.am.max_bcopy.saturating_sub(params.header_single)
}

pub(super) fn short_limit(params: &ProtoParams<'_>) -> Option<usize> {
    if !params.allow_short || !params.am.caps.contains(IfaceCaps::AM_SHORT) {
        return None;
    }
    let limit = params.am.max_short;
    match params.bcopy_thresh {
        Threshold::Auto | Threshold::Inf => Some(limit),
        Threshold::Bytes(from) => Some(limit.min(from.checked_sub(1)?)),
    }
}

/// Sizes that go by zcopy in one fragment; `limit` is the largest eager size.
fn zcopy_range(params: &ProtoParams<'_>, limit: usize) -> Option<(usize, usize)> {
    let am = params.am;
    if !am.caps.contains(IfaceCaps::AM_ZCOPY) || am.max_zcopy_header < params.header_single {
        return None;
    }
    let max = am.max_zcopy.min(EAGER_ZCOPY_MAX).min(limit);
    let min = match params.zcopy_thresh {
        Threshold::Inf => return None,
        Threshold::Bytes(min) => min,
        Threshold::Auto => crossover(&|n| eager_copied(params, n), &|n| eager_zcopy(params, n))?,
    };
    (min <= max).then_some((min, max))
}

/// The scheme that moves large data of plain memory fastest.
pub fn rndv_best(params: &ProtoParams<'_>) -> RndvScheme {
    let mut best = (RndvScheme::Am, rndv_cost(params, RndvScheme::Am));
    for scheme in [RndvScheme::Put, RndvScheme::Get] {
        let cost = rndv_cost(params, scheme);
        // Among equals a read is best: it takes the fewest messages. A put takes one more than
        // messages that the receiver has asked for.
        let better = match scheme {
            RndvScheme::Get => cost.per_byte <= best.1.per_byte,
            _ => cost.per_byte < best.1.per_byte,
        };
        // What the peer's process writes is no faster than messages to it.
        let keyed = scheme == RndvScheme::Put
            && params
                .rndv_put
                .is_some_and(|lane| lane.caps.contains(IfaceCaps::PUT_KEYED));
        if is_possible(params, scheme) && better && !keyed {
            best = (scheme, cost);
        }
    }
    best.0
}

/// Whether there is a lane for it.
fn is_possible(params: &ProtoParams<'_>, scheme: RndvScheme) -> bool {
    match scheme {
        RndvScheme::Get | RndvScheme::GetPpln => params.rndv_get.is_some(),
        RndvScheme::Put | RndvScheme::PutPpln => params.rndv_put.is_some(),
        // That depends on the memory, which only the receiver of a message can tell.
        RndvScheme::RkeyPtr | RndvScheme::Am => true,
    }
}

/// The scheme that the user wants, or active messages where that is impossible; else the fastest.
pub(super) fn rndv_scheme(params: &ProtoParams<'_>) -> RndvScheme {
    match params.rndv_scheme {
        None => rndv_best(params),
        Some(wanted) if is_possible(params, wanted) => wanted,
        Some(_) => RndvScheme::Am,
    }
}

fn rndv_threshold(
    params: &ProtoParams<'_>,
    class: SendClass,
    scheme: RndvScheme,
) -> (usize, Reason) {
    let (configured, variable) = match (class, params.rndv_thresh) {
        (SendClass::FastCompletion, Threshold::Auto) => {
            (params.rndv_send_nbr_thresh, "UCX_RNDV_SEND_NBR_THRESH")
        }
        (_, set) => (set, "UCX_RNDV_THRESH"),
    };
    match configured {
        Threshold::Bytes(size) => (size, Reason::Configured(variable)),
        Threshold::Inf => (usize::MAX, Reason::Configured(variable)),
        Threshold::Auto => {
            let rndv = rndv_cost(params, scheme);
            let eager = |n| eager_copied(params, n).min(eager_zcopy(params, n));
            let size = crossover(&eager, &|n| rndv.at(n)).unwrap_or(usize::MAX);
            // What fits into one short message is never worth a handshake.
            let floor = short_limit(params).map_or(1, |max| max.saturating_add(1));
            (size.max(floor), Reason::Fastest)
        }
    }
}

/// The length from which on a put over `lane` is there sooner than one that is sent. A put that
/// is sent needs the target's attention, so equal times are the lane's.
pub fn put_threshold(params: &ProtoParams<'_>, lane: &IfaceAttr) -> usize {
    let direct = Linear::new(lane.perf.latency + lane.perf.overhead, 0.0)
        .then(Linear::of_bandwidth(bandwidth(&lane.perf, params.ppn)));
    match params.zcopy_thresh {
        Threshold::Bytes(size) => size,
        Threshold::Inf => usize::MAX,
        Threshold::Auto => {
            crossover(&|n| eager_copied(params, n), &|n| direct.at(n)).unwrap_or(usize::MAX)
        }
    }
}
