//! The variables.

use crate::ucs::config::{Group, Kind, Table, Variable, var};

const VARS: &[Variable] = &[
    var(
        "LANES",
        "",
        Kind::Array(&Kind::Text),
        "Lanes that faults are injected into: transports, transport/device, or all.",
    ),
    var(
        "MESSAGES",
        "",
        Kind::Array(&Kind::Text),
        "Kinds of messages that count (rts, rtr, ats, atp, rndv_data, rndv_put, ...); empty for all.",
    ),
    var(
        "REGISTRATION",
        "",
        Kind::Array(&Kind::Ulong),
        "Numbers, from 1, of registrations of a user's buffer for a transfer that are refused.",
    ),
    var(
        "SEND",
        "",
        Kind::Array(&Kind::Ulong),
        "Numbers, from 1, of operations that are refused; the lane is dead from then on.",
    ),
    var(
        "COMPLETION",
        "",
        Kind::Array(&Kind::Ulong),
        "Numbers of operations that are accepted, not carried out, and complete with an error.",
    ),
    var(
        "LATE_COMPLETION",
        "",
        Kind::Array(&Kind::Ulong),
        "Numbers of operations that are carried out and complete with an error all the same. With\n\
         UCX_FAULT_MESSAGES this includes those that end as soon as they are posted.",
    ),
    var(
        "BYTES",
        "inf",
        Kind::MemUnits,
        "Bytes after which a lane is dead.",
    ),
    var(
        "DELAY",
        "0",
        Kind::TimeUnits,
        "How long each operation waits before it is accepted.",
    ),
];

/// Faults on purpose, for tests of one's own failover. Not in UCX.
pub static FAULT: Table = Table {
    title: "Fault injection",
    prefix: "FAULT_",
    groups: &[Group {
        parents: &[],
        vars: VARS,
    }],
    ..Table::DEFAULT
};
