//! Services: the machine, its topology, the configuration, the log.

use core::ffi::{c_char, c_uint, c_void};

use super::{c_text, check, text};
use crate::abi::prelude::*;
use crate::tools::library::{self, functions};

functions! {
    fn ucp_get_version_string() -> *const c_char;
    fn ucs_sys_get_lib_path() -> *const c_char;
    fn ucs_cpu_vendor_name() -> *const c_char;
    fn ucs_cpu_model_name() -> *const c_char;
    fn ucs_sys_dmi_product_name() -> *const c_char;
    fn ucs_get_cpu_clocks_per_sec() -> f64;
    fn ucs_topo_num_devices() -> c_uint;
    fn ucs_topo_sys_device_get_name(device: ucs_sys_device_t) -> *const c_char;
    fn ucs_topo_get_distance(
        first: ucs_sys_device_t,
        second: ucs_sys_device_t,
        distance: *mut ucs_sys_dev_distance_t,
    ) -> ucs_status_t;
    fn ucs_topo_get_memory_distance(device: ucs_sys_device_t, distance: *mut ucs_sys_dev_distance_t);
    fn ucs_config_parser_print_all_opts(
        stream: *mut FILE,
        prefix: *const c_char,
        flags: ucs_config_print_flags_t,
        list: *mut ucs_list_link_t,
        filter: *const c_char,
    );
    fn ucx_rs_print_config(
        stream: *mut FILE,
        prefix: *const c_char,
        flags: ucs_config_print_flags_t,
        filter: *const c_char,
    );
    fn ucs_status_string(status: ucs_status_t) -> *const c_char;
    fn ucs_arch_print_memcpy_limits(config: *mut ucs_arch_global_opts_t);
}

unsafe extern "C" {
    static stdout: *mut FILE;
}

/// An open stream of the C library.
#[derive(Clone, Copy)]
pub struct Stream(*mut FILE);

impl Stream {
    /// Standard output.
    pub fn stdout() -> Stream {
        // SAFETY: set as the program starts.
        Stream(unsafe { stdout })
    }

    /// For the library.
    pub fn raw(self) -> *mut FILE {
        self.0
    }

    /// Lines are seen as they come, also where nobody sits at a terminal.
    pub fn flush(self) {
        // SAFETY: open, as all of these are.
        unsafe { libc::fflush(self.0) };
    }

    pub fn write(self, text: &str) {
        // SAFETY: open, as all of these are.
        unsafe { crate::sys::stdio::write_stream(self.0, text.as_bytes()) };
    }
}

/// `ucs_memory_type_t` to its name, and what it is. (The library's own list may be a shorter one.)
pub const MEMORY_TYPES: [(&str, &str); 10] = [
    ("host", "System memory"),
    ("cuda", "NVIDIA GPU memory"),
    ("cuda-managed", "NVIDIA GPU managed/unified memory"),
    ("rocm", "AMD/ROCm GPU memory"),
    ("rocm-managed", "AMD/ROCm GPU managed memory"),
    ("rdma", "RDMA device memory"),
    ("ze-host", "Intel/Ze USM host memory"),
    ("ze-device", "Intel/Ze GPU memory"),
    ("ze-managed", "Intel/Ze GPU managed memory"),
    ("gaudi", "HabanaLabs Gaudi memory"),
];

/// Where `ucs_global_opts.arch` stands in the layout of 1.22.
const ARCH_OFFSET: usize = 344;

/// The library's version.
pub fn version() -> String {
    // SAFETY: a string of the library's.
    unsafe { text(ucp_get_version_string()) }
}

/// The file that the library was loaded from.
pub fn library_path() -> Option<String> {
    // SAFETY: NULL or a string of the library's.
    let path = unsafe { text(ucs_sys_get_lib_path()) };
    (!path.is_empty()).then_some(path)
}

/// Vendor and model of the processor, and the machine's name.
pub fn machine() -> [String; 3] {
    // SAFETY: strings of the library's.
    unsafe {
        [
            text(ucs_cpu_vendor_name()),
            text(ucs_cpu_model_name()),
            text(ucs_sys_dmi_product_name()),
        ]
    }
}

/// Ticks of the library's clock per second.
pub fn clock_rate() -> f64 {
    // SAFETY: no arguments.
    unsafe { ucs_get_cpu_clocks_per_sec() }
}

/// What a status means.
pub fn status_text(status: Status) -> String {
    // SAFETY: any value is allowed.
    unsafe { text(ucs_status_string(status)) }
}

/// Number of devices that the topology knows.
pub fn devices() -> u8 {
    // SAFETY: no arguments.
    unsafe { ucs_topo_num_devices() }.min(254) as u8
}

/// Name of a device of the topology.
pub fn device_name(device: ucs_sys_device_t) -> String {
    // SAFETY: any number is allowed.
    unsafe { text(ucs_topo_sys_device_get_name(device)) }
}

const NO_DISTANCE: ucs_sys_dev_distance_t = ucs_sys_dev_distance_t {
    latency: 0.0,
    bandwidth: 0.0,
};

/// What lies between two devices.
///
/// # Errors
/// The library's.
pub fn distance(
    first: ucs_sys_device_t,
    second: ucs_sys_device_t,
) -> Result<ucs_sys_dev_distance_t, Error> {
    let mut distance = NO_DISTANCE;
    // SAFETY: room for the answer.
    check(unsafe { ucs_topo_get_distance(first, second, &mut distance) })?;
    Ok(distance)
}

/// What lies between a device and the memory near this process.
pub fn memory_distance(device: ucs_sys_device_t) -> ucs_sys_dev_distance_t {
    let mut distance = NO_DISTANCE;
    // SAFETY: room for the answer.
    unsafe { ucs_topo_get_memory_distance(device, &mut distance) };
    distance
}

/// Prints all variables, or those with `filter` in their names.
pub fn print_configuration(to: Stream, flags: ucs_config_print_flags_t, filter: Option<&str>) {
    let Some(list) = library::find(c"ucs_config_global_list") else {
        return;
    };
    let filter = filter.map(c_text);
    let filter = filter.as_ref().map_or(core::ptr::null(), |f| f.as_ptr());
    // Ours looks at a filter only if it knows that the caller was made for 1.22.
    if library::find(c"ucx_rs_print_config").is_some() {
        // SAFETY: an open stream and strings.
        unsafe { ucx_rs_print_config(to.raw(), c"UCX_".as_ptr(), flags, filter) };
        return;
    }
    // SAFETY: an open stream, and the library's own list.
    unsafe {
        ucs_config_parser_print_all_opts(to.raw(), c"UCX_".as_ptr(), flags, list.cast(), filter);
    }
}

/// What `print` writes to the stream that it is given.
pub fn printed(print: impl FnOnce(Stream)) -> String {
    let (mut at, mut len): (*mut c_char, usize) = (core::ptr::null_mut(), 0);
    // SAFETY: the places outlive the stream; what it leaves there is from malloc, and freed once.
    unsafe {
        let stream = libc::open_memstream(&mut at, &mut len);
        if stream.is_null() {
            return String::new();
        }
        print(Stream(stream));
        libc::fclose(stream);
        let written = text(at);
        libc::free(at.cast());
        written
    }
}

/// Prints from which sizes on copies are made in another way.
pub fn print_copy_limits() {
    let Some(options) = library::find(c"ucs_global_opts") else {
        return;
    };
    // SAFETY: the part of the library's object that belongs to the processor.
    unsafe { ucs_arch_print_memcpy_limits(options.byte_add(ARCH_OFFSET).cast()) };
}
