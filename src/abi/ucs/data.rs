//! Data objects of the `ucs/` headers, with the sizes that they have at run time: the smallest
//! among the versions served (see [`Mirror`]). Nothing inside this library reads them.

use core::ptr::null;

use crate::abi::prelude::*;

/// `ucs_async_mode_t` to its name in configuration variables.
#[unsafe(no_mangle)]
pub static ucs_async_mode_names: Mirror<[*const c_char; 5]> = Mirror::new([
    c"signal".as_ptr(),
    c"thread_spinlock".as_ptr(),
    c"thread_mutex".as_ptr(),
    c"poll".as_ptr(),
    null(),
]);

/// `ucs_memory_type_t` to its name. Seven entries: what executables of the oldest version copy.
#[unsafe(no_mangle)]
pub static ucs_memory_type_names: Mirror<[*const c_char; 7]> = Mirror::new([
    c"host".as_ptr(),
    c"cuda".as_ptr(),
    c"cuda-managed".as_ptr(),
    c"rocm".as_ptr(),
    c"rocm-managed".as_ptr(),
    c"unknown".as_ptr(),
    null(),
]);

/// `ucs_memory_type_t` to a phrase for people.
#[unsafe(no_mangle)]
pub static ucs_memory_type_descs: Mirror<[*const c_char; 6]> = Mirror::new([
    c"System memory".as_ptr(),
    c"NVIDIA GPU memory".as_ptr(),
    c"NVIDIA GPU managed/unified memory".as_ptr(),
    c"AMD/ROCm GPU memory".as_ptr(),
    c"AMD/ROCm GPU managed memory".as_ptr(),
    c"unknown".as_ptr(),
]);

/// Names of memory placement policies. No longer exported by UCX 1.22, still by 1.13.
#[unsafe(no_mangle)]
pub static ucs_numa_policy_names: Mirror<[*const c_char; 4]> = Mirror::new([
    c"default".as_ptr(),
    c"bind".as_ptr(),
    c"preferred".as_ptr(),
    null(),
]);

/// The distance assumed where nothing is known: no latency, unlimited bandwidth.
#[unsafe(no_mangle)]
pub static ucs_topo_default_distance: Mirror<ucs_sys_dev_distance_t> =
    Mirror::new(ucs_sys_dev_distance_t {
        latency: 0.0,
        bandwidth: f64::INFINITY,
    });

/// The distance of devices that can't reach each other.
#[unsafe(no_mangle)]
pub static ucs_topo_max_distance: Mirror<ucs_sys_dev_distance_t> =
    Mirror::new(ucs_sys_dev_distance_t {
        latency: f64::INFINITY,
        bandwidth: 0.0,
    });

/// The largest number of events that one `ucs_event_set_wait` reports.
#[unsafe(no_mangle)]
pub static ucs_sys_event_set_max_wait_events: Mirror<c_uint> = Mirror::new(16);

/// `ucs_stats_formats_t` to its name.
#[unsafe(no_mangle)]
pub static ucs_stats_formats_names: Mirror<[*const c_char; 4]> = Mirror::new([
    c"full".as_ptr(),
    c"agg".as_ptr(),
    c"summary".as_ptr(),
    null(),
]);

/// `ucs_thread_mode_t` to its name.
#[unsafe(no_mangle)]
pub static ucs_thread_mode_names: Mirror<[*const c_char; 3]> = Mirror::new([
    c"single".as_ptr(),
    c"serialized".as_ptr(),
    c"multi".as_ptr(),
]);

/// `ucs_log_level_t` to the name that log lines carry.
#[unsafe(no_mangle)]
pub static ucs_log_level_names: Mirror<[*const c_char; 14]> = Mirror::new([
    c"FATAL".as_ptr(),
    c"ERROR".as_ptr(),
    c"WARN".as_ptr(),
    c"DIAG".as_ptr(),
    c"INFO".as_ptr(),
    c"DEBUG".as_ptr(),
    c"TRACE".as_ptr(),
    c"REQ".as_ptr(),
    c"DATA".as_ptr(),
    c"ASYNC".as_ptr(),
    c"FUNC".as_ptr(),
    c"POLL".as_ptr(),
    null(),
    c"PRINT".as_ptr(),
]);

/// Head of the list of configuration tables, empty until tables are registered.
#[unsafe(no_mangle)]
pub static ucs_config_global_list: Mirror<ucs_list_link_t> = Mirror::new(ucs_list_link {
    prev: ucs_config_global_list.get(),
    next: ucs_config_global_list.get(),
});

/// Parser description of an array of strings. Its head alone is of the size that both versions
/// share; nothing in it is filled.
#[unsafe(no_mangle)]
pub static ucs_config_array_string: Mirror<[usize; 7]> = Mirror::new([0; 7]);

/// Table of architecture options: empty, it ends at its first (all zero) field.
#[unsafe(no_mangle)]
pub static ucs_arch_global_opts_table: Mirror<[usize; 30]> = Mirror::new([0; 30]);

/// Table of registration cache options: empty, it ends at its first (all zero) field.
#[unsafe(no_mangle)]
pub static ucs_config_rcache_table: Mirror<[usize; 77]> = Mirror::new([0; 77]);

/// What tools read of the global options, and the rest up to the 360 bytes that
/// `ucs_global_opts_t` has in UCX 1.13.
#[repr(C)]
pub struct ucs_global_opts_mirror {
    /// The level that log macros in C code compare with.
    pub log_level: ucs_log_level_t,
    pub log_name: [u8; 16],
    pub log_file_filter: *const c_char,
    pub rest: [u64; 41],
}

/// A mirror of the global options. Level, component name and pattern are filled, nothing else.
#[unsafe(no_mangle)]
pub static ucs_global_opts: Mirror<ucs_global_opts_mirror> = Mirror::new(ucs_global_opts_mirror {
    log_level: UCS_LOG_LEVEL_WARN,
    log_name: *b"UCX\0\0\0\0\0\0\0\0\0\0\0\0\0",
    log_file_filter: c"*".as_ptr(),
    rest: [0; 41],
});

const _: () = assert!(size_of::<ucs_global_opts_mirror>() == 360);

/// Tells log macros in C code which level is in force. The loader calls it once the library is in
/// place, since such macros look at the level before they call anything of ours.
extern "C" fn mirror_log_level() {
    let level = crate::ucs::log::level();
    // SAFETY: four bytes of ours, or of the executable's copy; no other thread exists that early,
    // or the level is an aligned word that others only read.
    unsafe { (&raw mut (*ucs_global_opts.get()).log_level).write(level as ucs_log_level_t) };
}

/// The names of 1.22 and later.
///
/// cbindgen:ignore
static NEW_NAMES: Mirror<[*const c_char; 12]> = Mirror::new([
    c"host".as_ptr(),
    c"cuda".as_ptr(),
    c"cuda-managed".as_ptr(),
    c"rocm".as_ptr(),
    c"rocm-managed".as_ptr(),
    c"rdma".as_ptr(),
    c"ze-host".as_ptr(),
    c"ze-device".as_ptr(),
    c"ze-managed".as_ptr(),
    c"gaudi".as_ptr(),
    c"unknown".as_ptr(),
    null(),
]);

/// cbindgen:ignore
static NEW_DESCS: Mirror<[*const c_char; 11]> = Mirror::new([
    c"System memory".as_ptr(),
    c"NVIDIA GPU memory".as_ptr(),
    c"NVIDIA GPU managed/unified memory".as_ptr(),
    c"AMD/ROCm GPU memory".as_ptr(),
    c"AMD/ROCm GPU managed memory".as_ptr(),
    c"RDMA device memory".as_ptr(),
    c"Intel/Ze USM host memory".as_ptr(),
    c"Intel/Ze GPU memory".as_ptr(),
    c"Intel/Ze GPU managed memory".as_ptr(),
    c"HabanaLabs Gaudi memory".as_ptr(),
    c"unknown".as_ptr(),
]);

/// Executables that were built with newer headers carry copies with room for more than the loader
/// finds here: they get the rest. Called by the loader, too, before they look at them.
extern "C" fn complete_names() {
    let near = (&raw const NEW_NAMES).addr();
    let copied = |at: usize| at.abs_diff(near) > 1 << 26;
    let room = |at: usize| crate::sys::symbols::size_at(at).unwrap_or(0) as usize;
    let (names, descs) = (ucs_memory_type_names.get(), ucs_memory_type_descs.get());
    // SAFETY: objects of the executable of the size that its own table of symbols says; no other
    // thread exists that early.
    unsafe {
        if copied(names.addr()) && room(names.addr()) >= size_of_val(&NEW_NAMES) {
            NEW_NAMES.get().copy_to(names.cast(), 1);
        }
        if copied(descs.addr()) && room(descs.addr()) >= size_of_val(&NEW_DESCS) {
            NEW_DESCS.get().copy_to(descs.cast(), 1);
        }
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static COMPLETE_NAMES: extern "C" fn() = complete_names;

#[used]
#[unsafe(link_section = ".init_array")]
static MIRROR_LOG_LEVEL: extern "C" fn() = mirror_log_level;

/// The memory type cache: none.
#[unsafe(no_mangle)]
pub static ucs_memtype_cache_global_instance: Mirror<*mut ucs_memtype_cache_t> =
    Mirror::new(core::ptr::null_mut());

/// `ucs_profile_mode` to its name.
#[unsafe(no_mangle)]
pub static ucs_profile_mode_names: Mirror<[*const c_char; 3]> =
    Mirror::new([c"accum".as_ptr(), c"log".as_ptr(), null()]);

/// The profiling context that macros in C code use: none.
#[unsafe(no_mangle)]
pub static ucs_profile_default_ctx: Mirror<*mut ucs_profile_context_t> =
    Mirror::new(core::ptr::null_mut());

/// Suffixes of multiples of 1024, from none to exa.
#[unsafe(no_mangle)]
pub static ucs_memunits_suffixes: Mirror<[*const c_char; 8]> = Mirror::new([
    c"".as_ptr(),
    c"K".as_ptr(),
    c"M".as_ptr(),
    c"G".as_ptr(),
    c"T".as_ptr(),
    c"P".as_ptr(),
    c"E".as_ptr(),
    null(),
]);

/// The class that has no parent and holds nothing.
#[unsafe(no_mangle)]
pub static void_class: Mirror<ucs_class_t> = Mirror::new(ucs_class {
    name: c"void".as_ptr(),
    size: 0,
    superclass: core::ptr::null_mut(),
    init: None,
    cleanup: None,
});

/// Whether timestamps come from the time stamp counter: 2 (`UCS_TRY`), as by default.
#[unsafe(no_mangle)]
pub static ucs_arch_x86_enable_rdtsc: Mirror<ucs_ternary_auto_value_t> = Mirror::new(UCS_TRY);
