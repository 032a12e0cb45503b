//! Copies between processes.

use super::{IFACE, MM_BW, TX_POOL};
use crate::ucs::config::{Group, Kind, Table, Variable, var};

/// The `cma` memory domain.
pub static CMA_MD: Table = Table {
    title: "CMA memory domain",
    prefix: "CMA_",
    groups: &[Group {
        parents: &[],
        vars: &[var(
            "MEMORY_INVALIDATE",
            "n",
            Kind::Bool,
            "Offer to invalidate remote keys.",
        )],
    }],
    ..Table::DEFAULT
};

const SCOPY_VARS: &[Variable] = &[
    var(
        "MAX_IOV",
        "16",
        Kind::Ulong,
        "Pieces of user data in one copy.",
    ),
    var(
        "SEG_SIZE",
        "512k",
        Kind::MemUnits,
        "Bytes copied in one step of progress.",
    ),
    var(
        "TX_QUOTA",
        "1",
        Kind::Uint,
        "Steps in one round of progress.",
    ),
];

/// The `cma` transport.
pub static CMA: Table = Table {
    title: "cma transport",
    prefix: "CMA_",
    groups: &[
        Group {
            parents: &["SCOPY_", "SM_", ""],
            vars: IFACE,
        },
        Group {
            parents: &["SCOPY_", "SM_"],
            vars: MM_BW,
        },
        Group {
            parents: &["SCOPY_"],
            vars: SCOPY_VARS,
        },
        Group {
            parents: &["SCOPY_"],
            vars: TX_POOL,
        },
    ],
    defaults: &[("ALLOC", "huge,thp,mmap,heap"), ("BW", "11145MBs")],
    ..Table::DEFAULT
};
