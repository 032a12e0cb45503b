//! The variables of the transports.

mod cma;
mod self_;
mod sm;
mod tcp;

pub use cma::{CMA, CMA_MD};
pub use self_::{SELF, SELF_MD};
pub use sm::{POSIX, POSIX_MD, SYSV, SYSV_MD};
pub use tcp::{TCP, TCP_CM, TCP_MD};

use crate::ucs::config::global::LEVEL;
use crate::ucs::config::{Kind, Table, Variable, var};

const ALLOC: &[&str] = &["thp", "md", "heap", "mmap", "huge"];

/// Variables that every interface has.
pub(super) const IFACE: &[Variable] = &[
    var(
        "MAX_SHORT",
        "",
        Kind::Deprecated,
        "No longer used: the longest short message follows from the transport.",
    ),
    var(
        "MAX_BCOPY",
        "",
        Kind::Deprecated,
        "No longer used: SEG_SIZE of the transport limits messages by copy.",
    ),
    var(
        "ALLOC",
        "huge,thp,md,mmap,heap",
        Kind::Array(&Kind::Enum(ALLOC)),
        "Where internal buffers come from, first choice first.",
    ),
    var(
        "FAILURE",
        "diag",
        LEVEL,
        "Level of messages about failures of the network.",
    ),
    var(
        "MAX_NUM_EPS",
        "inf",
        Kind::UlUnits,
        "Most endpoints of one interface.",
    ),
];

/// Variables of a pool of send buffers.
const TX_POOL: &[Variable] = &[
    var(
        "TX_MAX_BUFS",
        "-1",
        Kind::Int,
        "Most send buffers, -1 for no limit.",
    ),
    var(
        "TX_BUFS_GROW",
        "8",
        Kind::Uint,
        "Send buffers allocated at once.",
    ),
    var(
        "TX_MAX_CHUNK_SIZE",
        "128m",
        Kind::MemUnits,
        "Most memory allocated for them at once.",
    ),
    var(
        "TX_GROW_FACTOR",
        "1.0",
        Kind::Double,
        "Growth from one allocation to the next.",
    ),
];

/// Variables of a pool of receive buffers.
const RX_POOL: &[Variable] = &[
    var(
        "RX_MAX_BUFS",
        "-1",
        Kind::Int,
        "Most receive buffers, -1 for no limit.",
    ),
    var(
        "RX_BUFS_GROW",
        "8",
        Kind::Uint,
        "Receive buffers allocated at once.",
    ),
    var(
        "RX_MAX_CHUNK_SIZE",
        "128m",
        Kind::MemUnits,
        "Most memory allocated for them at once.",
    ),
    var(
        "RX_GROW_FACTOR",
        "1.0",
        Kind::Double,
        "Growth from one allocation to the next.",
    ),
];

/// Of transports within a host.
const MM_BW: &[Variable] = &[var(
    "BW",
    "12179MBs",
    Kind::Bandwidth,
    "Bandwidth of memory as the transport sees it.",
)];

/// The variables of a component's memory domains.
pub fn md(component: &str) -> Option<&'static Table> {
    match component {
        "self" => Some(&SELF_MD),
        "tcp" => Some(&TCP_MD),
        "sysv" => Some(&SYSV_MD),
        "posix" => Some(&POSIX_MD),
        "cma" => Some(&CMA_MD),
        "cuda_ipc" => Some(&super::cuda::ipc::config::MD),
        "cuda_cpy" => Some(&super::cuda::copy::config::MD),
        _ => None,
    }
}

/// The variables of a transport's interfaces.
pub fn transport(name: &str) -> Option<&'static Table> {
    match name {
        "self" => Some(&SELF),
        "tcp" => Some(&TCP),
        "sysv" => Some(&SYSV),
        "posix" => Some(&POSIX),
        "cma" => Some(&CMA),
        "cuda_ipc" => Some(&super::cuda::ipc::config::TRANSPORT),
        "cuda_copy" => Some(&super::cuda::copy::config::TRANSPORT),
        _ => None,
    }
}

/// The variables of a component's connection manager, if it has one.
pub fn connection_manager(component: &str) -> Option<&'static Table> {
    (component == "tcp").then_some(&TCP_CM)
}
