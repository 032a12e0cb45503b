//! The variables of the services themselves (UCS) and of memory events (UCM).

use super::kind::{Key, Kind};
use super::table::{Group, OnError, Table, Variable, var};
use crate::ucs::log::LEVEL_NAMES;

/// A level of the log.
pub const LEVEL: Kind = Kind::Enum(&LEVEL_NAMES);

const DISTANCES: &[Key] = &[
    Key {
        name: "phb",
        doc: "both devices behind one PCIe host bridge",
    },
    Key {
        name: "node",
        doc: "different host bridges of one NUMA node",
    },
    Key {
        name: "sys",
        doc: "different NUMA nodes",
    },
];

/// What can be changed while the library runs.
pub static UCS: Table = Table {
    title: "UCS global",
    groups: &[Group {
        parents: &[],
        vars: UCS_VARS,
    }],
    on_error: OnError::UseDefault,
    ..Table::DEFAULT
};

/// What is taken once.
pub static UCS_READ_ONLY: Table = Table {
    title: "UCS global (runtime read-only)",
    groups: &[Group {
        parents: &[],
        vars: UCS_READ_ONLY_VARS,
    }],
    on_error: OnError::UseDefault,
    read_only: true,
    ..Table::DEFAULT
};

/// Memory events.
pub static UCM: Table = Table {
    title: "UCM",
    prefix: "MEM_",
    groups: &[Group {
        parents: &[],
        vars: UCM_VARS,
    }],
    on_error: OnError::UseDefault,
    read_only: true,
    ..Table::DEFAULT
};

const UCS_VARS: &[Variable] = &[
    var(
        "LOG_LEVEL",
        "warn",
        LEVEL,
        "Messages up to this level are printed.",
    ),
    var(
        "LOG_FILE_FILTER",
        "*",
        Kind::Text,
        "Shell pattern of the source files whose messages are printed.",
    ),
    var(
        "LOG_BUFFER",
        "1024",
        Kind::MemUnits,
        "Longest message; what is longer gets cut.",
    ),
    var(
        "LOG_DATA_SIZE",
        "0",
        Kind::Ulong,
        "Bytes of payload shown with messages at level DATA.",
    ),
    var(
        "LOG_PRINT_ENABLE",
        "n",
        Kind::Bool,
        "Print what developers' prints say.",
    ),
    var(
        "HANDLE_ERRORS",
        "none",
        Kind::Bitmap(&["bt", "freeze", "debug", "none"]),
        "What to do on a fatal error or signal. Handlers of the program are only replaced when\n\
         something else than 'none' is set.\n \
         'bt'     : print the call stack\n \
         'freeze' : stop and wait for a debugger\n \
         'debug'  : start a debugger",
    ),
    var(
        "ERROR_MAIL_TO",
        "",
        Kind::Text,
        "Accepted for compatibility; no mail is sent.",
    ),
    var(
        "ERROR_MAIL_FOOTER",
        "",
        Kind::Text,
        "Accepted for compatibility; no mail is sent.",
    ),
    var(
        "GDB_COMMAND",
        "gdb -quiet",
        Kind::Text,
        "Command that starts the debugger.",
    ),
    var(
        "DEBUG_SIGNO",
        "HUP",
        Kind::Signal,
        "Signal that enters debug mode, 0 for none.",
    ),
    var(
        "LOG_LEVEL_TRIGGER",
        "fatal",
        LEVEL,
        "A message up to this level ends the process.",
    ),
    var(
        "WARN_UNUSED_ENV_VARS",
        "y",
        Kind::Bool,
        "Warn once about variables of the environment that begin like ours but are not known.",
    ),
    var(
        "MEMTYPE_CACHE",
        "try",
        Kind::Ternary,
        "Remember the memory type of address ranges.",
    ),
    var(
        "ASYNC_MAX_EVENTS",
        "",
        Kind::Deprecated,
        "No longer used: the number of events has no limit.",
    ),
    var(
        "ASYNC_SIGNO",
        "ALRM",
        Kind::Signal,
        "Signal used by asynchronous contexts of mode signal.",
    ),
    var(
        "MEMTRACK_LIMIT",
        "inf",
        Kind::MemUnits,
        "Memory that tracked allocations may take.",
    ),
    var(
        "RCACHE_CHECK_PFN",
        "0",
        Kind::Uint,
        "Pages of a cached registration whose physical address is checked before it is used\n\
         again; 0 for none.",
    ),
    var(
        "MODULE_DIR",
        "",
        Kind::Text,
        "Folder of loadable modules, beside the one next to the library. All transports are built in.",
    ),
    var(
        "MODULE_LOG_LEVEL",
        "debug",
        LEVEL,
        "Level of messages about loadable modules.",
    ),
    var(
        "MODULES",
        "all",
        Kind::AllowList,
        "Patterns of the modules to use, '^' before them for all others.",
    ),
    var(
        "PLUGIN_PATH",
        "",
        Kind::PathArray(&Kind::Text),
        "More folders of loadable modules.",
    ),
    var(
        "TOPO_PRIO",
        "sysfs,default",
        Kind::Array(&Kind::Word(&["sysfs", "default"])),
        "Where the topology of the machine is taken from, first choice first.",
    ),
    var(
        "DISTANCE_LAT",
        "phb:300ns,node:300ns,sys:500ns",
        Kind::KeyValue(DISTANCES, &Kind::Time),
        "Latency between devices, by what lies between them.",
    ),
    var(
        "DISTANCE_BW",
        "auto",
        Kind::KeyValue(DISTANCES, &Kind::Bandwidth),
        "Bandwidth between devices, by what lies between them.",
    ),
];

const UCS_READ_ONLY_VARS: &[Variable] = &[
    var(
        "LOG_FILE",
        "",
        Kind::Text,
        "File for messages in place of standard output. In its name are replaced:\n \
         %p process id, %h host, %c first CPU, %t time, %u user, %e program, %i user id",
    ),
    var(
        "LOG_FILE_SIZE",
        "inf",
        Kind::MemUnits,
        "Size beyond which a new log file is begun.",
    ),
    var(
        "LOG_FILE_ROTATE",
        "0",
        Kind::Uint,
        "Number of full log files that are kept.",
    ),
    var(
        "ERROR_SIGNALS",
        "ILL,SEGV,BUS,FPE",
        Kind::Array(&Kind::Signal),
        "Signals that HANDLE_ERRORS applies to.",
    ),
    var(
        "VFS_ENABLE",
        "y",
        Kind::Bool,
        "Accepted for compatibility; there is no monitoring daemon.",
    ),
    var(
        "VFS_SOCK_PATH",
        "/run/user/%i/ucx/vfs.sock",
        Kind::Text,
        "Accepted for compatibility.",
    ),
    var(
        "VFS_THREAD_AFFINITY",
        "n",
        Kind::Bool,
        "Accepted for compatibility.",
    ),
    var(
        "MEMTRACK_DEST",
        "",
        Kind::Text,
        "Where a report of memory use goes: file:<name>, stdout, stderr, or nowhere.",
    ),
    var(
        "PROFILE_MODE",
        "",
        Kind::Bitmap(&["accum", "log"]),
        "Profiling: 'accum' adds up times by place, 'log' keeps all records.",
    ),
    var(
        "PROFILE_FILE",
        "ucx_%h_%p.prof",
        Kind::Text,
        "File for profiling records.",
    ),
    var(
        "PROFILE_LOG_SIZE",
        "4m",
        Kind::MemUnits,
        "Size of the profiling log; old records go.",
    ),
    var(
        "RCACHE_STAT_MIN",
        "4k",
        Kind::MemUnits,
        "Smallest size class in registration statistics.",
    ),
    var(
        "RCACHE_STAT_MAX",
        "1m",
        Kind::MemUnits,
        "Largest size class in registration statistics.",
    ),
    var(
        "BUILTIN_MEMCPY_MIN",
        "auto",
        Kind::MemUnits,
        "Shortest copy done by string instructions.",
    ),
    var(
        "BUILTIN_MEMCPY_MAX",
        "auto",
        Kind::MemUnits,
        "Longest copy done by string instructions.",
    ),
    var(
        "NT_BUFFER_TRANSFER_MIN",
        "auto",
        Kind::MemUnits,
        "Shortest copy that goes around the cache.",
    ),
];

const HOOKS: &[&str] = &["none", "reloc", "bistro"];

const UCM_VARS: &[Variable] = &[
    var(
        "LOG_LEVEL",
        "warn",
        Kind::Enum(&["FATAL", "ERROR", "WARN", "DIAG", "INFO", "DEBUG", "TRACE"]),
        "Level of messages about memory events.",
    ),
    var(
        "ALLOC_ALIGN",
        "16",
        Kind::MemUnits,
        "Alignment of allocated blocks.",
    ),
    var(
        "EVENTS",
        "y",
        Kind::Bool,
        "Watch for memory that is unmapped, to drop registrations.",
    ),
    var(
        "MMAP_HOOK_MODE",
        "bistro",
        Kind::Enum(HOOKS),
        "How calls that unmap memory are watched.",
    ),
    var("MALLOC_HOOKS", "y", Kind::Bool, "Watch the heap as well."),
    var(
        "MALLOC_RELOC",
        "y",
        Kind::Bool,
        "Watch the heap by relocation.",
    ),
    var(
        "CUDA_HOOK_MODE",
        "bistro",
        Kind::Bitmap(HOOKS),
        "How calls that free GPU memory are watched.",
    ),
    var(
        "CUDA_RELOC",
        "",
        Kind::Deprecated,
        "No longer used: CUDA_HOOK_MODE chooses the kind of hooks.",
    ),
    var(
        "DYNAMIC_MMAP_THRESH",
        "y",
        Kind::Bool,
        "Without effect: the heap is the C library's own, whose threshold grows.",
    ),
    var(
        "DLOPEN_PROCESS_RPATH",
        "y",
        Kind::Bool,
        "Honour the caller's RPATH in dlopen.",
    ),
    var(
        "MODULE_UNLOAD_PREVENT_MODE",
        "lazy",
        Kind::Enum(&["lazy", "now", "none"]),
        "Without effect: the library stays in memory after dlclose.",
    ),
    var(
        "BISTRO_FORCE_FAR_JUMP",
        "n",
        Kind::Bool,
        "Always patch with the long form of a jump.",
    ),
    var(
        "BISTRO_GRACE_DURATION",
        "50ms",
        Kind::Time,
        "Time given to threads inside a function that is about to be patched.",
    ),
];
