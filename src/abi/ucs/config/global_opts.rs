//! `ucs/config/global_opts.h`.

use crate::abi::prelude::*;
use crate::abi::ucs::text;
use crate::ucs::config::{self, Config, Print};
use crate::ucs::log;

pub const UCS_GLOBAL_OPTS_WARN_UNUSED_CONFIG: &str = "WARN_UNUSED_ENV_VARS";

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_global_opts_error_signals {
    pub signals: *mut c_int,
    pub count: c_uint,
    pub truncated: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_global_opts_dist {
    pub phb: ucs_sys_dev_distance_t,
    pub node: ucs_sys_dev_distance_t,
    pub sys: ucs_sys_dev_distance_t,
}

#[repr(C)]
pub struct ucs_global_opts_t {
    pub log_component: ucs_log_component_config_t,
    pub log_file: *mut c_char,
    pub log_file_size: usize,
    pub log_file_rotate: c_uint,
    pub log_buffer_size: usize,
    pub log_data_size: usize,
    pub log_print_enable: c_int,
    pub mpool_fifo: c_int,
    pub handle_errors: u64,
    pub error_signals: ucs_global_opts_error_signals,
    pub error_mail_to: *mut c_char,
    pub error_mail_footer: *mut c_char,
    pub gdb_command: *mut c_char,
    pub debug_signo: c_uint,
    pub log_level_trigger: ucs_log_level_t,
    pub warn_unused_env_vars: c_int,
    pub enable_memtype_cache: ucs_ternary_auto_value_t,
    pub stats_dest: *mut c_char,
    pub stats_trigger: *mut c_char,
    pub tuning_path: *mut c_char,
    pub perf_stall_loops: usize,
    pub async_signo: c_uint,
    pub memtrack_dest: *mut c_char,
    pub memtrack_limit: usize,
    pub profile_mode: u64,
    pub profile_file: *mut c_char,
    pub profile_log_size: usize,
    pub stats_filter: ucs_config_names_array_t,
    pub stats_format: ucs_stats_formats_t,
    pub topo_prio: ucs_config_names_array_t,
    pub vfs_enable: c_int,
    pub vfs_sock_path: *mut c_char,
    pub rcache_check_pfn: c_uint,
    pub module_dir: *mut c_char,
    pub module_log_level: ucs_log_level_t,
    pub modules: ucs_config_allow_list_t,
    pub plugin_path: ucs_config_names_array_t,
    pub arch: ucs_arch_global_opts_t,
    pub vfs_thread_affinity: c_int,
    pub rcache_stat_min: usize,
    pub rcache_stat_max: usize,
    pub dist: ucs_global_opts_dist,
}

/// Reads the global options from the environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_global_opts_init() {
    log::init();
}

/// Frees the global options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_global_opts_cleanup() {}

/// Sets one global option.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_global_opts_set_value(
    name: *const c_char,
    value: *const c_char,
) -> ucs_status_t {
    // SAFETY: C strings or NULL.
    let (name, value) = unsafe { (text::read(name), text::read(value)) };
    let entry =
        config::resolve(&name).filter(|(_, e)| core::ptr::eq(e.table, &config::global::UCS));
    let Some((name, entry)) = entry else {
        return Error::NoElem.into();
    };
    if !entry.var.kind.accepts(&value) {
        crate::ucs_error!(
            "Invalid value for {name}: '{value}'. Expected: {}",
            entry.var.kind.syntax()
        );
        return Error::InvalidParam.into();
    }
    // The log's level is what can take effect at once; the others were taken before.
    match log::parse_level(&value).filter(|_| name == "LOG_LEVEL") {
        Some(level) => {
            log::set_level(level);
            // SAFETY: four aligned bytes of ours, or of the executable's copy.
            unsafe {
                (&raw mut (*ucs_global_opts.get()).log_level).write(level as ucs_log_level_t)
            };
            Status::OK
        }
        None => Error::Unsupported.into(),
    }
}

/// Value of one global option as text of at most `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_global_opts_get_value(
    name: *const c_char,
    value: *mut c_char,
    max: usize,
) -> ucs_status_t {
    // SAFETY: a C string or NULL; room for `max` bytes.
    unsafe {
        let name = text::read(name);
        let Some((name, entry)) = config::resolve(&name) else {
            return Error::NoElem.into();
        };
        let set = Config::global().text(&name);
        let printed = match name == "LOG_LEVEL" {
            // It may have been changed since.
            true => log::level().name().to_owned(),
            false => entry
                .var
                .kind
                .canonical(set)
                .unwrap_or_else(|| set.to_owned()),
        };
        text::write(value, max, printed.as_bytes());
    }
    Status::OK
}

/// Copies the global options: as much of `ucs_global_opts` as there is in the caller's version.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_global_opts_clone(dst: *mut c_void) -> ucs_status_t {
    if dst.is_null() {
        return Error::InvalidParam.into();
    }
    let size = match super::parser::built_for_1_22() {
        true => size_of::<ucs_global_opts_t>(),
        false => size_of::<ucs_global_opts_mirror>(),
    };
    // SAFETY: an executable that carries the object has it in the size of its headers, and the caller
    // gives a struct of these; else both have at least the smallest size, which is that of ours.
    unsafe {
        dst.cast::<u8>()
            .copy_from(ucs_global_opts.get().cast::<u8>(), size)
    };
    Status::OK
}

/// Frees the global options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_global_opts_release() {}

/// Writes the global options to a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_global_opts_print(
    stream: *mut FILE,
    print_flags: ucs_config_print_flags_t,
) {
    if stream.is_null() {
        return;
    }
    let listing = config::print_tables(
        &[&config::global::UCS, &config::global::UCS_READ_ONLY],
        Config::global(),
        config::PREFIX,
        Print(print_flags),
        None,
    );
    // SAFETY: the caller's open stream.
    unsafe { crate::sys::stdio::write_stream(stream, listing.as_bytes()) };
}

/// 1 if an option can't be changed any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_global_opts_is_read_only(name: *const c_char) -> c_int {
    // SAFETY: a C string or NULL.
    let name = unsafe { text::read(name) };
    c_int::from(config::resolve(&name).is_some_and(|(_, entry)| entry.table.read_only))
}
