//! The variables of UCP.

mod misc;
mod protocols;
mod rcache;
mod selection;
mod worker;

use crate::ucs::config::{Group, Table};

/// Names of memory types, in the order of `ucs_memory_type_t`.
pub(in crate::ucp) const MEMORY_TYPES: &[&str] = &[
    "host",
    "cuda",
    "cuda-managed",
    "rocm",
    "rocm-managed",
    "rdma",
    "ze-host",
    "ze-device",
    "ze-managed",
    "gaudi",
    "unknown",
];

/// The table.
pub static UCP: Table = Table {
    title: "UCP context",
    groups: &[
        Group {
            parents: &[],
            vars: selection::SELECTION,
        },
        Group {
            parents: &[],
            vars: rcache::RCACHE,
        },
        Group {
            parents: &[],
            vars: protocols::PROTOCOLS,
        },
        Group {
            parents: &[],
            vars: worker::WORKER,
        },
        Group {
            parents: &[],
            vars: misc::MISC,
        },
    ],
    ..Table::DEFAULT
};
