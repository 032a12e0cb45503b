//! The registration cache.

use crate::ucs::config::{Kind, Variable, var};

pub(super) const RCACHE: &[Variable] = &[
    var(
        "RCACHE_ENABLE",
        "try",
        Kind::Ternary,
        "Keep registrations of user memory for later use.",
    ),
    var(
        "RCACHE_MEM_PRIO",
        "500",
        Kind::Uint,
        "Priority of the cache's memory event handler.",
    ),
    var(
        "RCACHE_OVERHEAD",
        "auto",
        Kind::TimeUnits,
        "Time of a lookup.",
    ),
    var(
        "RCACHE_MAX_REGIONS",
        "inf",
        Kind::UlUnits,
        "Most registrations kept.",
    ),
    var(
        "RCACHE_MAX_SIZE",
        "inf",
        Kind::MemUnits,
        "Most memory kept registered.",
    ),
    var(
        "RCACHE_MAX_UNRELEASED",
        "inf",
        Kind::MemUnits,
        "Most memory awaiting deregistration.",
    ),
    var(
        "RCACHE_PURGE_ON_FORK",
        "y",
        Kind::Bool,
        "Drop what is unused before a fork.",
    ),
];
