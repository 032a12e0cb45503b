//! Protocols: thresholds, schemes and what they cost.

use crate::ucs::config::{Key, Kind, Variable, var};

use super::MEMORY_TYPES;

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

pub(super) const PROTOCOLS: &[Variable] = &[
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
