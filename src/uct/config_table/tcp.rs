//! TCP.

use super::{IFACE, RX_POOL, TX_POOL};
use crate::ucs::config::global::LEVEL;
use crate::ucs::config::{Group, Kind, Table, Variable, var};

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
