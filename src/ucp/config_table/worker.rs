//! Workers, endpoints, connecting and failing.

use crate::ucs::config::{Kind, Variable, var};

use super::MEMORY_TYPES;

pub(super) const WORKER: &[Variable] = &[
    var(
        "ATOMIC_MODE",
        "guess",
        Kind::Enum(&["cpu", "device", "guess"]),
        "Who performs atomic operations; guess: the device where transports can.",
    ),
    var(
        "ADDRESS_DEBUG_INFO",
        "n",
        Kind::Bool,
        "Put the worker's name into its address.",
    ),
    var(
        "MAX_WORKER_NAME",
        "",
        Kind::Alias("MAX_WORKER_ADDRESS_NAME"),
        "",
    ),
    var(
        "MAX_WORKER_ADDRESS_NAME",
        "32",
        Kind::Uint,
        "Longest name in an address.",
    ),
    var(
        "USE_MT_MUTEX",
        "n",
        Kind::Bool,
        "Lock multi-threaded workers by mutex instead of spinlock.",
    ),
    var(
        "ADAPTIVE_PROGRESS",
        "y",
        Kind::Bool,
        "Poll only transports that somebody is connected by.",
    ),
    var(
        "SEG_SIZE",
        "8k",
        Kind::MemUnits,
        "Size of the worker's buffers.",
    ),
    var(
        "TM_THRESH",
        "1k",
        Kind::MemUnits,
        "Shortest receive that hardware matching is used for.",
    ),
    var(
        "TM_MAX_BB_SIZE",
        "1k",
        Kind::MemUnits,
        "Longest receive through a bounce buffer in hardware matching.",
    ),
    var(
        "TM_FORCE_THRESH",
        "8k",
        Kind::MemUnits,
        "Size of a receive that moves all others to hardware matching.",
    ),
    var(
        "TM_SW_RNDV",
        "n",
        Kind::Ternary,
        "Rendezvous in software although hardware matching is on.",
    ),
    var(
        "NUM_EPS",
        "auto",
        Kind::UlUnits,
        "Number of endpoints to expect, in place of the program's hint.",
    ),
    var(
        "NUM_PPN",
        "auto",
        Kind::UlUnits,
        "Number of processes to expect on each host.",
    ),
    var(
        "RNDV_FRAG_MEM_TYPE",
        "",
        Kind::Alias("RNDV_FRAG_MEM_TYPES"),
        "",
    ),
    var(
        "RNDV_FRAG_MEM_TYPES",
        "host,cuda",
        Kind::Bitmap(MEMORY_TYPES),
        "Memory types of staging buffers.",
    ),
    var(
        "MEMTYPE_COPY_ENABLE",
        "y",
        Kind::Bool,
        "Allow copies between memory types. Has no effect: they are always allowed.",
    ),
    var(
        "RNDV_PIPELINE_SEND_THRESH",
        "inf",
        Kind::MemUnits,
        "Size from which the sender stages device memory. Has no effect: the receiver decides,\n\
         by cost.",
    ),
    var(
        "RNDV_PIPELINE_SHM_ENABLE",
        "y",
        Kind::Bool,
        "Stage GPU memory through the host within a node.",
    ),
    var(
        "RNDV_PIPELINE_ERROR_HANDLING",
        "n",
        Kind::Bool,
        "Stage also where remote keys can't be invalidated.",
    ),
    var(
        "RMA_PPLN_ENABLE",
        "n",
        Kind::Bool,
        "Always offer put and get through staging buffers.",
    ),
    var(
        "FLUSH_WORKER_EPS",
        "y",
        Kind::Bool,
        "Flush a worker by flushing its endpoints: bounded in time.",
    ),
    var(
        "FENCE_MODE",
        "auto",
        Kind::Enum(&["weak", "strong", "auto", "ep_based"]),
        "How ucp_worker_fence orders operations:\n \
         weak     : by fences of the transports\n \
         strong   : by flushing\n \
         ep_based : by endpoint, when the next operation comes",
    ),
    var(
        "UNIFIED_MODE",
        "n",
        Kind::Bool,
        "All hosts are alike: addresses may be shorter.",
    ),
    var(
        "CM_USE_ALL_DEVICES",
        "y",
        Kind::Bool,
        "Connections by socket address use all devices, not only the connecting one.",
    ),
    var(
        "LISTENER_BACKLOG",
        "auto",
        Kind::UlUnits,
        "Connections waiting to be accepted; auto: the most there can be.",
    ),
    var(
        "PROTO_ENABLE",
        "y",
        Kind::Bool,
        "Accepted for compatibility; protocols are always selected by cost.",
    ),
    var(
        "PROTO_REQUEST_RESET",
        "n",
        Kind::Bool,
        "For tests: restart requests when an endpoint is connected.",
    ),
    var(
        "KEEPALIVE_INTERVAL",
        "20s",
        Kind::TimeUnits,
        "Time between checks of peers.",
    ),
    var(
        "KEEPALIVE_NUM_EPS",
        "128",
        Kind::Uint,
        "Endpoints checked in one round.",
    ),
    var(
        "RECOVERY_RETRIES",
        "inf",
        Kind::Uint,
        "Attempts to bring back lost lanes before an endpoint of failover mode fails.",
    ),
    var(
        "DYNAMIC_TL_SWITCH_INTERVAL",
        "inf",
        Kind::TimeUnits,
        "Time between reconsiderations of the transports in use.",
    ),
    var(
        "DYNAMIC_TL_PROGRESS_FACTOR",
        "10",
        Kind::Uint,
        "Rounds of use tracking per progress.",
    ),
];
