//! The variables of the transports.

use crate::ucs::config::global::LEVEL;
use crate::ucs::config::{Group, Key, Kind, Table, Variable, var};

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

/// The `tcp` memory domain.
pub static TCP_MD: Table = Table {
    title: "TCP memory domain",
    prefix: "TCP_",
    groups: &[Group {
        parents: &[],
        vars: &[
            var(
                "AF_PRIO",
                "inet,inet6",
                Kind::Array(&Kind::Text),
                "Address families of connections, first choice first.",
            ),
            var("BRIDGE_ENABLE", "n", Kind::Bool, "Use bridge devices too."),
        ],
    }],
    ..Table::DEFAULT
};

/// Connections by socket address.
pub static TCP_CM: Table = Table {
    title: "TCP-SOCKCM connection manager",
    prefix: "TCP_",
    groups: &[
        Group {
            parents: &[""],
            vars: &[
                var(
                    "CM_FAILURE",
                    "diag",
                    LEVEL,
                    "Level of messages about failed connections.",
                ),
                var(
                    "CM_REUSEADDR",
                    "n",
                    Kind::Bool,
                    "Listen on an address that connections of an earlier process still occupy.",
                ),
            ],
        },
        Group {
            parents: &[],
            vars: &[
                var(
                    "CM_PRIV_DATA_LEN",
                    "2k",
                    Kind::MemUnits,
                    "Most data that goes with a request for a connection.",
                ),
                var(
                    "CM_SNDBUF",
                    "auto",
                    Kind::MemUnits,
                    "Send buffer of the socket.",
                ),
                var(
                    "CM_RCVBUF",
                    "auto",
                    Kind::MemUnits,
                    "Receive buffer of the socket.",
                ),
                var(
                    "CM_SYN_CNT",
                    "auto",
                    Kind::UlUnits,
                    "SYN packets sent before connecting fails, 255 at most; auto: the system's.",
                ),
                var(
                    "CM_USER_TIMEOUT",
                    "auto",
                    Kind::TimeUnits,
                    "Time that data may stay unacknowledged before the connection is given up;\n\
                     auto: the system's.",
                ),
            ],
        },
    ],
    ..Table::DEFAULT
};

const TCP_VARS: &[Variable] = &[
    var(
        "TX_SEG_SIZE",
        "8k",
        Kind::MemUnits,
        "Send buffer for messages by copy.",
    ),
    var("RX_SEG_SIZE", "64k", Kind::MemUnits, "Receive buffer."),
    var(
        "MAX_IOV",
        "6",
        Kind::Ulong,
        "Pieces of user data handed to the kernel in one call.",
    ),
    var(
        "SENDV_THRESH",
        "2k",
        Kind::MemUnits,
        "Short messages from this size on are sent from where they are, without a copy.",
    ),
    var(
        "PREFER_DEFAULT",
        "y",
        Kind::Bool,
        "Prefer the interface of the default route.",
    ),
    var(
        "PUT_ENABLE",
        "y",
        Kind::Bool,
        "Offer put of zero-copy data.",
    ),
    var("CONN_NB", "n", Kind::Bool, "Connect without waiting."),
    var(
        "MAX_POLL",
        "16",
        Kind::Uint,
        "Sockets served in one round of progress.",
    ),
    var(
        "MAX_CONN_RETRIES",
        "25",
        Kind::Uint,
        "Attempts at a connection.",
    ),
    var(
        "NODELAY",
        "y",
        Kind::Bool,
        "Send small segments at once (TCP_NODELAY).",
    ),
    var(
        "SNDBUF",
        "auto",
        Kind::MemUnits,
        "Send buffer of the socket.",
    ),
    var(
        "RCVBUF",
        "auto",
        Kind::MemUnits,
        "Receive buffer of the socket.",
    ),
    var(
        "SYN_CNT",
        "auto",
        Kind::UlUnits,
        "SYN packets sent before connecting fails, 255 at most; auto: the system's.",
    ),
    var(
        "USER_TIMEOUT",
        "auto",
        Kind::TimeUnits,
        "Time that data may stay unacknowledged before the connection is given up;\n\
         auto: the system's.",
    ),
];

const TCP_LATE_VARS: &[Variable] = &[
    var(
        "PORT_RANGE",
        "0",
        Kind::Range(65535),
        "Ports to listen on, first to last; 0: any that is free.",
    ),
    var(
        "MAX_BW",
        "2200MBs",
        Kind::Bandwidth,
        "Highest bandwidth that a device is taken to have.",
    ),
    var(
        "KEEPIDLE",
        "10s",
        Kind::TimeUnits,
        "Silence before the first keepalive probe.",
    ),
    var(
        "KEEPCNT",
        "auto",
        Kind::UlUnits,
        "Unanswered probes before the peer counts as dead.",
    ),
    var("KEEPINTVL", "2s", Kind::TimeUnits, "Time between probes."),
    var(
        "EP_BIND_SRC_ADDR",
        "try",
        Kind::Ternary,
        "Bind connections to the address of their device; try: go on without if that fails.",
    ),
];

/// The `tcp` transport.
pub static TCP: Table = Table {
    title: "tcp transport",
    prefix: "TCP_",
    groups: &[
        Group {
            parents: &[""],
            vars: IFACE,
        },
        Group {
            parents: &[],
            vars: TCP_VARS,
        },
        Group {
            parents: &[],
            vars: TX_POOL,
        },
        Group {
            parents: &[],
            vars: RX_POOL,
        },
        Group {
            parents: &[],
            vars: TCP_LATE_VARS,
        },
    ],
    defaults: &[("MAX_NUM_EPS", "256")],
    ..Table::DEFAULT
};

const HUGETLB: &[Variable] = &[var(
    "HUGETLB_MODE",
    "try",
    Kind::Ternary,
    "Use huge pages for memory allocated by the user through the library.",
)];

const MM_BW: &[Variable] = &[var(
    "BW",
    "12179MBs",
    Kind::Bandwidth,
    "Bandwidth of memory as the transport sees it.",
)];

const OVERHEADS: &[Key] = &[
    Key {
        name: "am_short",
        doc: "of a short active message",
    },
    Key {
        name: "am_bcopy",
        doc: "of an active message by copy",
    },
];

const MM_VARS: &[Variable] = &[
    var(
        "FIFO_SIZE",
        "256",
        Kind::Uint,
        "Elements of the receive queue, a power of two.",
    ),
    var(
        "SEG_SIZE",
        "8256",
        Kind::MemUnits,
        "Size of receive segments: longest message by copy.",
    ),
    var(
        "FIFO_RELEASE_FACTOR",
        "0.5",
        Kind::Double,
        "Part of the queue that is read before senders are told that it is free.",
    ),
];

const MM_LATE_VARS: &[Variable] = &[
    var(
        "FIFO_HUGETLB",
        "n",
        Kind::Ternary,
        "Place the receive queue in huge pages.",
    ),
    var(
        "FIFO_ELEM_SIZE",
        "128",
        Kind::Uint,
        "Size of an element of the queue, header included.",
    ),
    var(
        "FIFO_MAX_POLL",
        "16",
        Kind::UlUnits,
        "Most messages taken in one round of progress.",
    ),
    var(
        "ERROR_HANDLING",
        "n",
        Kind::Bool,
        "Offer detection of the peer's death.",
    ),
    var(
        "SEND_OVERHEAD",
        "10ns",
        Kind::KeyValue(OVERHEADS, &Kind::Time),
        "Time that sending takes the CPU.",
    ),
    var(
        "RECV_OVERHEAD",
        "10ns",
        Kind::KeyValue(OVERHEADS, &Kind::Time),
        "Time that receiving takes the CPU.",
    ),
];

const MM_GROUPS: &[Group] = &[
    Group {
        parents: &["MM_", "SM_", ""],
        vars: IFACE,
    },
    Group {
        parents: &["MM_", "SM_"],
        vars: MM_BW,
    },
    Group {
        parents: &["MM_"],
        vars: MM_VARS,
    },
    Group {
        parents: &["MM_"],
        vars: RX_POOL,
    },
    Group {
        parents: &["MM_"],
        vars: MM_LATE_VARS,
    },
];

/// The `sysv` memory domain.
pub static SYSV_MD: Table = Table {
    title: "sysv memory domain",
    prefix: "SYSV_",
    groups: &[Group {
        parents: &["MM_"],
        vars: HUGETLB,
    }],
    ..Table::DEFAULT
};

/// The `sysv` transport.
pub static SYSV: Table = Table {
    title: "sysv transport",
    prefix: "SYSV_",
    groups: MM_GROUPS,
    defaults: &[
        ("ALLOC", "md,mmap,heap"),
        ("BW", "15360MBs"),
        ("RX_BUFS_GROW", "512"),
        ("RX_GROW_FACTOR", "2.0"),
    ],
    ..Table::DEFAULT
};

/// The `posix` memory domain.
pub static POSIX_MD: Table = Table {
    title: "posix memory domain",
    prefix: "POSIX_",
    groups: &[
        Group {
            parents: &["MM_"],
            vars: HUGETLB,
        },
        Group {
            parents: &[],
            vars: &[
                var(
                    "DIR",
                    "/dev/shm",
                    Kind::Text,
                    "Folder of the files that are shared.",
                ),
                var(
                    "SHM_MIN_SIZE",
                    "16m",
                    Kind::MemUnits,
                    "Space that the folder must have for the transport to be used.",
                ),
                var(
                    "USE_PROC_LINK",
                    "y",
                    Kind::Bool,
                    "Reach files through /proc/<pid>/fd, so that they need no name.",
                ),
            ],
        },
    ],
    ..Table::DEFAULT
};

/// The `posix` transport.
pub static POSIX: Table = Table {
    title: "posix transport",
    prefix: "POSIX_",
    groups: MM_GROUPS,
    defaults: &[
        ("ALLOC", "md,mmap,heap"),
        ("BW", "15360MBs"),
        ("RX_BUFS_GROW", "512"),
    ],
    ..Table::DEFAULT
};

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
