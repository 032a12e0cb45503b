//! Everything else.

use crate::ucs::config::{Key, Kind, Variable, var};

use super::MEMORY_TYPES;

const VERSIONS: &[&str] = &["v1", "v2"];

const OVERHEADS: &[Key] = &[
    Key {
        name: "single",
        doc: "of a protocol on one lane",
    },
    Key {
        name: "multi",
        doc: "of distributing over several lanes",
    },
    Key {
        name: "rndv_offload",
        doc: "of rendezvous done by the transport",
    },
    Key {
        name: "rndv_rtr",
        doc: "of a ready-to-receive message",
    },
    Key {
        name: "rndv_rts",
        doc: "of a ready-to-send message",
    },
    Key {
        name: "sw",
        doc: "of emulation in software",
    },
    Key {
        name: "rkey_ptr",
        doc: "of copying from the peer's mapped memory",
    },
];

pub(super) const MISC: &[Variable] = &[
    var(
        "RESOLVE_REMOTE_EP_ID",
        "n",
        Kind::OnOffAuto,
        "Learn the peer's id of an endpoint when it is created.",
    ),
    var(
        "PROTO_INDIRECT_ID",
        "auto",
        Kind::OnOffAuto,
        "Accepted for compatibility; no pointers are ever sent.",
    ),
    var(
        "RNDV_PUT_FORCE_FLUSH",
        "n",
        Kind::Bool,
        "Flush before telling the receiver that its data is written.",
    ),
    var(
        "PROTO_EMULATION_ENABLE",
        "y",
        Kind::Bool,
        "Emulate put and get where no transport has them.",
    ),
    var(
        "SA_DATA_VERSION",
        "v2",
        Kind::Enum(VERSIONS),
        "Header of connection requests by socket address.",
    ),
    var(
        "RKEY_MPOOL_MAX_MD",
        "2",
        Kind::Int,
        "Memory domains that a remote key from the pool has room for.",
    ),
    var(
        "ADDRESS_VERSION",
        "v1",
        Kind::Enum(VERSIONS),
        "Format of worker addresses.",
    ),
    var(
        "PROTO_INFO",
        "auto",
        Kind::Text,
        "Print which protocols are chosen:\n \
         y    : for all operations\n \
         n    : for none\n \
         auto : when LOG_LEVEL is debug or higher\n \
         used : for operations that take place\n \
         else : for operations that match this pattern",
    ),
    var(
        "RNDV_ALIGN_THRESH",
        "64k",
        Kind::MemUnits,
        "Size from which a rendezvous may be split to be aligned.",
    ),
    var(
        "PROTO_INFO_DIR",
        "",
        Kind::Text,
        "Folder for files that explain the choice of protocols.",
    ),
    var(
        "REG_NONBLOCK_MEM_TYPES",
        "",
        Kind::Bitmap(MEMORY_TYPES),
        "Memory types whose pages are pinned only when touched.",
    ),
    var(
        "REG_NONBLOCK_FALLBACK",
        "y",
        Kind::Bool,
        "Pin at once where that is not possible.",
    ),
    var(
        "PREFER_OFFLOAD",
        "y",
        Kind::Bool,
        "Prefer transports with put, get and atomics of their own.",
    ),
    var(
        "PROTO_OVERHEAD",
        "single:5ns,multi:10ns,rndv_offload:40ns,rndv_rtr:40ns,rndv_rts:275ns,sw:40ns,rkey_ptr:0",
        Kind::KeyValue(OVERHEADS, &Kind::Time),
        "Time that parts of protocols are estimated to take.",
    ),
    var(
        "GVA_ENABLE",
        "off",
        Kind::OnOffAuto,
        "One registration for the whole address space.",
    ),
    var(
        "GVA_MLOCK",
        "y",
        Kind::Bool,
        "Lock memory under such a registration.",
    ),
    var(
        "GVA_PREFETCH",
        "y",
        Kind::Bool,
        "Prefetch memory under such a registration.",
    ),
    var(
        "EXTRA_OP_ATTR_FLAGS",
        "",
        Kind::Bitmap(&["no_imm_cmpl", "fast_cmpl", "force_imm_cmpl", "multi_send"]),
        "Flags added to every operation.",
    ),
    var(
        "MAX_PRIORITY_EPS",
        "20",
        Kind::Uint,
        "Most endpoints that are served first.",
    ),
    var(
        "WIREUP_VIA_AM_LANE",
        "n",
        Kind::Bool,
        "Send connection messages by the lane of active messages.",
    ),
    var(
        "CONNECT_ALL_TO_ALL",
        "n",
        Kind::Bool,
        "Connect each local device with each remote one.",
    ),
    var(
        "SINGLE_NET_DEVICE",
        "n",
        Kind::Bool,
        "Use one network device for everything.",
    ),
    var(
        "MAX_HCA_PER_GPU",
        "inf",
        Kind::UlUnits,
        "Network devices that GPU memory is registered with; auto: the nearest.",
    ),
    var(
        "NODE_LOCAL_ID",
        "auto",
        Kind::UlUnits,
        "Number of the process on its host, a hint for choosing devices.",
    ),
    var(
        "PRINT_TRANSPORT_TABLES",
        "auto",
        Kind::OnOffAuto,
        "Print the devices found and the lanes of each endpoint; auto: at LOG_LEVEL debug.",
    ),
    var(
        "MAX_COMPONENT_MDS",
        "16",
        Kind::UlUnits,
        "Most memory domains of one kind of transport.",
    ),
];
