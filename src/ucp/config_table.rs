//! The variables of UCP.

use crate::ucs::config::{Group, Key, Kind, Table, Variable, var};

/// Names of memory types, in the order of `ucs_memory_type_t`.
const MEMORY_TYPES: &[&str] = &[
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

const VERSIONS: &[&str] = &["v1", "v2"];

const WHERE: &[Key] = &[
    Key {
        name: "intra",
        doc: "peers on the same host",
    },
    Key {
        name: "inter",
        doc: "peers on other hosts",
    },
];

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

/// The table.
pub static UCP: Table = Table {
    title: "UCP context",
    groups: &[
        Group {
            parents: &[],
            vars: SELECTION,
        },
        Group {
            parents: &[],
            vars: RCACHE,
        },
        Group {
            parents: &[],
            vars: PROTOCOLS,
        },
        Group {
            parents: &[],
            vars: WORKER,
        },
        Group {
            parents: &[],
            vars: MISC,
        },
    ],
    ..Table::DEFAULT
};

const SELECTION: &[Variable] = &[
    var(
        "NET_DEVICES",
        "all",
        Kind::AllowListRanges,
        "Network devices to use: names of interfaces, or <device>:<port>.",
    ),
    var(
        "SHM_DEVICES",
        "all",
        Kind::AllowListRanges,
        "Shared memory devices to use.",
    ),
    var(
        "ACC_DEVICES",
        "all",
        Kind::AllowListRanges,
        "Accelerators to use.",
    ),
    var(
        "SELF_DEVICES",
        "all",
        Kind::AllowListRanges,
        "Devices within a process to use.",
    ),
    var(
        "TLS",
        "all",
        Kind::AllowList,
        "Transports to use, by name or by one of these groups:\n \
         all        : everything that there is\n \
         sm, shm    : shared memory, with direct copy between processes\n \
         mm         : shared memory that is mapped by both sides\n \
         ib         : RC and UD over InfiniBand or RoCE\n \
         ud, rc, dc : one kind of InfiniBand transport\n \
         cuda       : NVIDIA GPUs\n \
         rocm       : AMD GPUs\n \
         ze         : Intel GPUs\n\
         A name with a backslash before it is a transport's name and no group. Transports with\n\
         ':aux' after their name only serve to connect others.",
    ),
    var(
        "PROTOS",
        "all",
        Kind::AllowList,
        "Patterns of the protocols to use, '^' before them for all others.",
    ),
    var(
        "ALLOC_PRIO",
        "md:sysv,md:posix,thp,md:*,mmap,heap",
        Kind::Array(&Kind::Text),
        "Where ucp_mem_map allocates, first choice first: a memory domain (md:<name>), or one of\n\
         thp, mmap, heap, huge.",
    ),
    var(
        "RNDV_FRAG_SIZE",
        "host:512K,cuda:4M",
        Kind::Array(&Kind::Text),
        "Sizes of staging buffers of rendezvous, by memory type.",
    ),
    var(
        "RNDV_FRAG_ALLOC_COUNT",
        "host:128,cuda:128",
        Kind::Array(&Kind::Text),
        "Numbers of staging buffers allocated at once, by memory type.",
    ),
    var(
        "SOCKADDR_TLS_PRIORITY",
        "rdmacm,tcp,sockcm",
        Kind::Array(&Kind::Text),
        "Who connects by socket address, first choice first; the next one when that fails.",
    ),
    var(
        "SOCKADDR_AUX_TLS",
        "",
        Kind::Deprecated,
        "No longer used: TLS chooses those transports as well.",
    ),
    var(
        "WARN_INVALID_CONFIG",
        "y",
        Kind::Bool,
        "Warn about names of transports and devices that do not exist.",
    ),
    var(
        "RX_MPOOL_SIZES",
        "64,1kb",
        Kind::Array(&Kind::MemUnits),
        "Size classes of buffers for received messages.",
    ),
];

const RCACHE: &[Variable] = &[
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

const PROTOCOLS: &[Variable] = &[
    var(
        "SELECT_DISTANCE_MD",
        "cuda_cpy",
        Kind::Text,
        "Memory domain whose device distances are measured from.",
    ),
    var(
        "MEMTYPE_REG_WHOLE_ALLOC_TYPES",
        "cuda",
        Kind::Bitmap(MEMORY_TYPES),
        "Memory types whose whole allocation is registered at once.",
    ),
    var(
        "RNDV_MEMTYPE_DIRECT_SIZE",
        "inf",
        Kind::MemUnits,
        "Longest rendezvous straight from device memory.",
    ),
    var(
        "BCOPY_THRESH",
        "auto",
        Kind::MemUnits,
        "Size from which messages are buffered instead of sent short.",
    ),
    var(
        "RNDV_THRESH",
        "auto",
        Kind::KeyValue(WHERE, &Kind::MemUnits),
        "Size from which rendezvous is used; auto: where it is estimated to be faster.",
    ),
    var(
        "RNDV_SEND_NBR_THRESH",
        "256k",
        Kind::MemUnits,
        "Size from which rendezvous is used by ucp_tag_send_nbr, if it is above RNDV_THRESH.",
    ),
    var(
        "RNDV_THRESH_FALLBACK",
        "inf",
        Kind::MemUnits,
        "Size from which rendezvous is used where costs can't be estimated.",
    ),
    var(
        "RNDV_PERF_DIFF",
        "1",
        Kind::Double,
        "Percent by which rendezvous may be slower and is still taken, to save memory.",
    ),
    var(
        "MULTI_LANE_MAX_RATIO",
        "4",
        Kind::Double,
        "Lanes this many times slower than the fastest do not carry parts of a message.",
    ),
    var(
        "MULTI_PATH_RATIO",
        "auto",
        Kind::PosDouble,
        "Bandwidth of the second path through one device, relative to the first.",
    ),
    var("MAX_EAGER_LANES", "", Kind::Alias("MAX_EAGER_RAILS"), ""),
    var(
        "MAX_EAGER_RAILS",
        "1",
        Kind::Uint,
        "Most devices that carry parts of an eager message.",
    ),
    var("MAX_RNDV_LANES", "", Kind::Alias("MAX_RNDV_RAILS"), ""),
    var(
        "MAX_RNDV_RAILS",
        "2",
        Kind::Uint,
        "Most devices that carry parts of a rendezvous.",
    ),
    var("MAX_RMA_LANES", "", Kind::Alias("MAX_RMA_RAILS"), ""),
    var(
        "MAX_RMA_RAILS",
        "1",
        Kind::Uint,
        "Most devices that carry parts of a put or get.",
    ),
    var(
        "MIN_RNDV_CHUNK_SIZE",
        "16k",
        Kind::MemUnits,
        "Smallest part of a rendezvous for one device.",
    ),
    var(
        "MIN_RMA_CHUNK_SIZE",
        "8k",
        Kind::MemUnits,
        "Smallest part of a put or get for one device.",
    ),
    var(
        "RMA_ZCOPY_MAX_SEG_SIZE",
        "auto",
        Kind::MemUnits,
        "Longest single put or get of a larger one.",
    ),
    var(
        "RNDV_SCHEME",
        "auto",
        Kind::Enum(&[
            "auto",
            "get_zcopy",
            "put_zcopy",
            "get_ppln",
            "put_ppln",
            "am",
            "rkey_ptr",
        ]),
        "How rendezvous moves the data:\n \
         get_zcopy : the receiver reads\n \
         put_zcopy : the sender writes\n \
         get_ppln  : the receiver reads through staging buffers\n \
         put_ppln  : the sender writes through staging buffers\n \
         am        : in active messages\n \
         rkey_ptr  : copied from the sender's mapped memory",
    ),
    var(
        "RKEY_PTR_SEG_SIZE",
        "512k",
        Kind::MemUnits,
        "Bytes copied from mapped memory in one step of progress.",
    ),
    var(
        "ZCOPY_THRESH",
        "auto",
        Kind::MemUnits,
        "Size from which data is sent without a copy.",
    ),
    var(
        "BCOPY_BW",
        "auto",
        Kind::Bandwidth,
        "Speed of copies in memory; auto: by type of CPU.",
    ),
];

const WORKER: &[Variable] = &[
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
        "Allow copies between memory types.",
    ),
    var(
        "RNDV_PIPELINE_SEND_THRESH",
        "inf",
        Kind::MemUnits,
        "Size from which the sender stages device memory.",
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

const MISC: &[Variable] = &[
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
