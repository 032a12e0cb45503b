//! The variables.

use crate::ucs::config::{Group, Kind, Table, var};
use crate::uct::config_table::IFACE;

/// Of the memory domain.
pub static MD: Table = Table {
    title: "Cuda-IPC memory domain",
    prefix: "CUDA_IPC_",
    groups: &[Group {
        parents: &[],
        vars: &[
            var(
                "ENABLE_MNNVL",
                "try",
                Kind::Ternary,
                "Reach devices of other machines by NVLink. This build doesn't: y is told to be not\n\
                 supported.",
            ),
            var(
                "CACHE_MAX_REGIONS",
                "inf",
                Kind::UlUnits,
                "Most allocations of each other process that stay mapped when nothing uses them.\n\
                 Those used longest ago are closed first.",
            ),
            var(
                "CACHE_MAX_SIZE",
                "inf",
                Kind::MemUnits,
                "Most bytes of each other process that stay mapped when nothing uses them.\n\
                 Those used longest ago are closed first.",
            ),
        ],
    }],
    ..Table::DEFAULT
};

/// Of the transport.
pub static TRANSPORT: Table = Table {
    title: "cuda_ipc transport",
    prefix: "CUDA_IPC_",
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
                var(
                    "MAX_STREAMS",
                    "128",
                    Kind::Uint,
                    "Most streams per context that copies run in at the same time.",
                ),
                var(
                    "CACHE",
                    "y",
                    Kind::Bool,
                    "Keep memory of other processes mapped when no operation uses it.",
                ),
                var(
                    "ENABLE_GET_ZCOPY",
                    "auto",
                    Kind::OnOffAuto,
                    "Read memory of other processes where it is. auto: where devices are joined by NVLink;\n\
                     elsewhere it is written where it is to go.",
                ),
                var("MAX_EVENTS", "inf", Kind::Uint, "Most copies in flight."),
                var(
                    "BW",
                    "auto",
                    Kind::Bandwidth,
                    "Bandwidth between devices; auto: by the generation of the device.",
                ),
                var("LAT", "1.8us", Kind::Time, "Latency of a copy."),
                var(
                    "OVERHEAD",
                    "4.0us",
                    Kind::Time,
                    "Time of the processor that a copy takes.",
                ),
            ],
        },
    ],
    ..Table::DEFAULT
};
