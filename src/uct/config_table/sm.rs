//! Shared memory that both sides map.

use super::{IFACE, MM_BW, RX_POOL};
use crate::ucs::config::{Group, Key, Kind, Table, Variable, var};

const HUGETLB: &[Variable] = &[var(
    "HUGETLB_MODE",
    "try",
    Kind::Ternary,
    "Use huge pages for memory allocated by the user through the library.",
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
