//! Lane selection: which interfaces an endpoint uses, and for which message sizes. Pure functions
//! of attributes; no I/O, no clock, no state.
//!
//! [`lanes::select`] matches this worker's interfaces against the entries of a peer's address and
//! gives [`Lanes`]. `times` tells how long a message takes; by that [`proto::tag_ranges`] weighs the
//! protocols that those lanes offer and gives a table of size ranges, [`proto::tag_thresholds`] the
//! same as the few numbers that a send checks.

#![forbid(unsafe_code)]

mod candidates;
pub mod cost;
pub mod device;
pub mod lanes;
pub mod proto;
#[cfg(test)]
pub(super) mod tests;
mod times;
pub mod why;

pub use candidates::{Candidate, alternatives};
pub use device::DevicePolicy;
pub use lanes::{LaneIdx, LaneSpec, LaneUse, Lanes, LocalTl, Requirements, Unreachable, select};
pub use proto::{
    ProtoParams, ProtoRange, Protocol, Reason, RndvScheme, SendClass, TagThresholds, Threshold,
    put_threshold, rndv_best, tag_ranges, tag_thresholds,
};
pub use times::message_time;
