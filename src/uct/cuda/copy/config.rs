//! The variables.

use crate::ucs::config::{Group, Key, Kind, Table, var};
use crate::uct::config_table::IFACE;

const PLACES: &[&str] = &["cpu", "gpu"];
const KINDS: &[&str] = &["cuda", "cuda-managed"];

const WAYS: &[Key] = &[
    Key {
        name: "h2d",
        doc: "from the host to a device",
    },
    Key {
        name: "d2h",
        doc: "from a device to the host",
    },
    Key {
        name: "d2d",
        doc: "from a device to a device",
    },
    Key {
        name: "default",
        doc: "between other types of memory",
    },
];

/// Of the memory domain.
pub static MD: Table = Table {
    title: "Cuda-copy memory domain",
    prefix: "CUDA_COPY_",
    groups: &[Group {
        parents: &[],
        vars: &[
            var(
                "REG_WHOLE_ALLOC",
                "auto",
                Kind::OnOffAuto,
                "Registrations are of whole allocations.",
            ),
            var(
                "MAX_REG_RATIO",
                "0.1",
                Kind::Double,
                "Whole allocations up to this part of the device's memory are registered.",
            ),
            var(
                "DMABUF",
                "try",
                Kind::Ternary,
                "Export memory to other drivers by file descriptors. Has no effect: no transport of this\n\
                 build takes them.",
            ),
            var(
                "PREF_LOC",
                "cpu",
                Kind::Enum(PLACES),
                "Where managed memory is taken to be that has no preferred location. Has no effect: no\n\
                 choice of this build goes by the place of memory.",
            ),
            var(
                "ENABLE_FABRIC",
                "try",
                Kind::Ternary,
                "Allocate memory that devices of other machines reach. Has no effect: they are not\n\
                 reached.",
            ),
            var(
                "ASYNC_MEM_TYPE",
                "cuda-managed",
                Kind::Enum(KINDS),
                "What memory of pools is said to be: cuda or cuda-managed. It is handled as a device's.",
            ),
            var(
                "RETAIN_PRIMARY_CTX",
                "n",
                Kind::Bool,
                "Make an inactive primary context active to allocate in it; otherwise memory is only\n\
                 allocated where a context is active.",
            ),
        ],
    }],
    ..Table::DEFAULT
};

/// Of the transport.
pub static TRANSPORT: Table = Table {
    title: "cuda_copy transport",
    prefix: "CUDA_COPY_",
    groups: &[
        Group {
            parents: &[""],
            vars: IFACE,
        },
        Group {
            parents: &[],
            vars: &[
                var(
                    "MAX_POLL",
                    "16",
                    Kind::Uint,
                    "Most copies found to be done in one round of progress.",
                ),
                var("MAX_EVENTS", "inf", Kind::Uint, "Most copies in flight."),
                var(
                    "BW",
                    "h2d:8300MBs,d2h:11660MBs,d2d:320GBs,default:10000MBs",
                    Kind::KeyValue(WAYS, &Kind::Bandwidth),
                    "Bandwidth of copies.",
                ),
            ],
        },
    ],
    ..Table::DEFAULT
};
