//! The variables.

use crate::ucs::config::{Group, Kind, Table, Variable, var};

const VARS: &[Variable] = &[
    var(
        "ENABLE",
        "n",
        Kind::Bool,
        "Endpoints survive the loss of a lane though the program doesn't ask for it\n\
         (UCP_ERR_HANDLING_MODE_FAILOVER). All processes must have the same value.",
    ),
    var(
        "DETECT_TIME",
        "1s",
        Kind::TimeUnits,
        "A lane is dead if the peer's host hasn't acknowledged anything for this long of what\n\
         was sent to it again and again, and there is another lane.",
    ),
    var(
        "RECOVERY_INTERVAL",
        "1s",
        Kind::TimeUnits,
        "A dead lane is tried again after this.",
    ),
    var(
        "BUFFER",
        "8m",
        Kind::MemUnits,
        "Bytes per endpoint that may wait for the peer's acknowledgement.",
    ),
    var(
        "STATS",
        "",
        Kind::Text,
        "Where a worker writes at its end what was lost, sent again, dropped and restarted:\n\
         stdout, stderr, or file:PATH (%p: the process). Nowhere if empty.",
    ),
];

/// Not in UCX.
pub static FAILOVER: Table = Table {
    title: "Failover",
    prefix: "FAILOVER_",
    groups: &[Group {
        parents: &[],
        vars: VARS,
    }],
    ..Table::DEFAULT
};
