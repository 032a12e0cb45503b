//! Choosing devices, transports and protocols, and where memory is allocated.

use crate::ucs::config::{Kind, Variable, var};

pub(super) const SELECTION: &[Variable] = &[
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
