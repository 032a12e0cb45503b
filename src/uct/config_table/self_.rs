//! Within a process.

use super::IFACE;
use crate::ucs::config::{Group, Kind, Table, var};

/// The `self` memory domain.
pub static SELF_MD: Table = Table {
    title: "Self memory domain",
    prefix: "SELF_",
    groups: &[Group {
        parents: &[],
        vars: &[var(
            "NUM_DEVICES",
            "1",
            Kind::Int,
            "Devices of transport self.",
        )],
    }],
    ..Table::DEFAULT
};

/// The `self` transport.
pub static SELF: Table = Table {
    title: "self transport",
    prefix: "SELF_",
    groups: &[
        Group {
            parents: &[""],
            vars: IFACE,
        },
        Group {
            parents: &[],
            vars: &[var(
                "SEG_SIZE",
                "8k",
                Kind::MemUnits,
                "Longest message by copy.",
            )],
        },
    ],
    ..Table::DEFAULT
};
