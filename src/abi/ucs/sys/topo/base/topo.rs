//! `ucs/sys/topo/base/topo.h`.

use crate::abi::prelude::*;
use crate::abi::support::topo_source;
use crate::abi::ucs::text;
use crate::ucs::topo::{self, BusId, Distance};

pub const UCS_SYS_DEVICE_ID_MAX: i32 = 255;
pub const UCS_SYS_DEVICE_ID_UNKNOWN: i32 = 255;
pub const UCS_SYS_DEVICE_USER_VALUE_EMPTY: u64 = 0xffffffffffffffff;
pub const UCS_SYS_BDF_NAME_MAX: i32 = 16;

pub struct ucs_global_state {
    _opaque: [u8; 0],
}

pub type ucs_sys_bus_id_t = ucs_sys_bus_id;
pub type ucs_bus_id_bit_rep_t = i64;
pub type ucs_sys_device_t = u8;
pub type ucs_global_state_t = ucs_global_state;
pub type ucs_sys_dev_distance_t = ucs_sys_dev_distance;
pub type ucs_topo_get_distance_func_t = Option<
    unsafe extern "C" fn(
        device1: ucs_sys_device_t,
        device2: ucs_sys_device_t,
        distance: *mut ucs_sys_dev_distance_t,
    ) -> ucs_status_t,
>;
pub type ucs_topo_get_memory_distance_func_t =
    Option<unsafe extern "C" fn(device: ucs_sys_device_t, distance: *mut ucs_sys_dev_distance_t)>;
pub type ucs_topo_get_memory_distance_for_cpuset_func_t = Option<
    unsafe extern "C" fn(
        device: ucs_sys_device_t,
        cpuset: *const ucs_cpu_set_t,
        distance: *mut ucs_sys_dev_distance_t,
    ),
>;
pub type ucs_sys_topo_ops_t = ucs_sys_topo_ops;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_sys_bus_id {
    pub domain: u16,
    pub bus: u8,
    pub slot: u8,
    pub function: u8,
}

/// Distance of devices.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_sys_dev_distance {
    /// Seconds.
    pub latency: f64,
    /// Bytes per second.
    pub bandwidth: f64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_sys_topo_ops {
    pub get_distance: ucs_topo_get_distance_func_t,
    pub get_memory_distance: ucs_topo_get_memory_distance_func_t,
    pub get_memory_distance_for_cpuset: ucs_topo_get_memory_distance_for_cpuset_func_t,
}

/// Forgets which source of the topology is used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sys_topo_reset_provider() {}

/// Adds a source of the topology, which is asked for distances before others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sys_topo_provider_push(
    ops: *const ucs_sys_topo_ops_t,
) -> ucs_status_t {
    // SAFETY: NULL or the caller's functions.
    match unsafe { ops.as_ref() } {
        Some(ops) => topo_source::push(*ops),
        None => return Error::InvalidParam.into(),
    }
    Status::OK
}

/// Removes the source of the topology that was added last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_sys_topo_provider_pop() {
    topo_source::pop();
}

/// Index of the device at a bus address; added if it is new.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_find_device_by_bus_id(
    bus_id: *const ucs_sys_bus_id_t,
    sys_dev: *mut ucs_sys_device_t,
) -> ucs_status_t {
    // SAFETY: the caller passes a bus id, and room for a number.
    unsafe {
        put(
            sys_dev,
            bus(bus_id).and_then(|id| topo::find(id, topo::NO_USER_VALUE)),
        )
    }
}

/// The same, for a device and a value of the user.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_find_device_by_bus_id_and_user_value(
    bus_id: *const ucs_sys_bus_id_t,
    user_value: usize,
    sys_dev_p: *mut ucs_sys_device_t,
) -> ucs_status_t {
    if user_value == topo::NO_USER_VALUE {
        crate::ucs_error!("the empty user value is reserved");
        return Error::InvalidParam.into();
    }
    // SAFETY: the caller passes a bus id, and room for a number.
    unsafe {
        put(
            sys_dev_p,
            bus(bus_id).and_then(|id| topo::find(id, user_value)),
        )
    }
}

/// Bus address of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_get_device_bus_id(
    sys_dev: ucs_sys_device_t,
    bus_id: *mut ucs_sys_bus_id_t,
) -> ucs_status_t {
    let id = topo::bus_id(sys_dev).map(|id| ucs_sys_bus_id_t {
        domain: id.domain,
        bus: id.bus,
        slot: id.slot,
        function: id.function,
    });
    // SAFETY: the caller passes room for a bus id.
    unsafe { put(bus_id, id) }
}

/// A bus address as a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_get_bus_id_bit_repr(
    bus_id: *const ucs_sys_bus_id_t,
) -> ucs_bus_id_bit_rep_t {
    // SAFETY: the caller passes a bus id.
    unsafe { bus(bus_id) }.map_or(0, |id| {
        i64::from(id.domain) << 24
            | i64::from(id.bus) << 16
            | i64::from(id.slot) << 8
            | i64::from(id.function)
    })
}

/// Latency in seconds and bandwidth in bytes per second between two devices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_get_distance(
    device1: ucs_sys_device_t,
    device2: ucs_sys_device_t,
    distance: *mut ucs_sys_dev_distance_t,
) -> ucs_status_t {
    if let Some(get) = topo_source::current().and_then(|source| source.get_distance) {
        // SAFETY: the program's own function, with the caller's room for a distance.
        return unsafe { get(device1, device2, distance) };
    }
    // SAFETY: the caller passes room for a distance.
    unsafe { put(distance, Ok(c_distance(topo::distance(device1, device2)))) }
}

/// The same between a device and the memory of this process's processors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_get_memory_distance(
    device: ucs_sys_device_t,
    distance: *mut ucs_sys_dev_distance_t,
) {
    if let Some(get) = topo_source::current().and_then(|source| source.get_memory_distance) {
        // SAFETY: the program's own function, with the caller's room for a distance.
        return unsafe { get(device, distance) };
    }
    // Memory is taken to be near: which node a thread will allocate from is not known.
    // SAFETY: the caller passes room for a distance.
    unsafe { put(distance, Ok(c_distance(topo::NEAR))) };
}

/// The same for given processors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_get_memory_distance_for_cpuset(
    device: ucs_sys_device_t,
    cpuset: *const ucs_cpu_set_t,
    distance: *mut ucs_sys_dev_distance_t,
) {
    let source = topo_source::current();
    if let Some(get) = source.and_then(|source| source.get_memory_distance_for_cpuset) {
        // SAFETY: the program's own function, with what the caller passes.
        return unsafe { get(device, cpuset, distance) };
    }
    // SAFETY: the caller passes room for a distance.
    unsafe { ucs_topo_get_memory_distance(device, distance) };
}

/// A distance as text of at most `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_distance_str(
    distance: *const ucs_sys_dev_distance_t,
    buffer: *mut c_char,
    max: usize,
) -> *const c_char {
    // SAFETY: the caller passes a distance, and room for `max` bytes.
    unsafe {
        let Some(distance) = distance.as_ref() else {
            return c"".as_ptr();
        };
        let latency = distance.latency * 1e9;
        let bandwidth = match distance.bandwidth <= (1u64 << 50) as f64 {
            true => format!("{:.2}MB/s", distance.bandwidth / f64::from(1 << 20)),
            false => ">1PB/s".to_owned(),
        };
        text::write(
            buffer,
            max,
            format!("{latency:.0}ns {bandwidth}").as_bytes(),
        );
    }
    buffer
}

/// Compares distances: negative if the first is better.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_distance_cmp(
    distance1: *const ucs_sys_dev_distance_t,
    distance2: *const ucs_sys_dev_distance_t,
) -> c_int {
    // SAFETY: the caller passes two distances.
    let (a, b) = unsafe { (distance1.as_ref(), distance2.as_ref()) };
    a.zip(b).map_or(0, |(a, b)| {
        let order = a
            .latency
            .total_cmp(&b.latency)
            .then(b.bandwidth.total_cmp(&a.bandwidth));
        order as c_int
    })
}

/// Device of a folder in sysfs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_get_sysfs_dev(
    dev_name: *const c_char,
    sysfs_path: *const c_char,
    name_priority: c_uint,
) -> ucs_sys_device_t {
    // SAFETY: C strings or NULL.
    let (name, path) = unsafe { (text::read(dev_name), text::read(sysfs_path)) };
    let id = path.rsplit('/').next().and_then(BusId::parse);
    let Some(number) = id.and_then(|id| topo::find(id, topo::NO_USER_VALUE).ok()) else {
        return topo::UNKNOWN;
    };
    let _ = topo::set_name(number, &name, name_priority);
    number
}

/// Bus address of a device as text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_sys_device_bdf_name(
    sys_dev: ucs_sys_device_t,
    buffer: *mut c_char,
    max: usize,
) -> *const c_char {
    let name = match topo::bus_id(sys_dev) {
        Ok(id) => id.text(false),
        Err(_) if sys_dev == topo::UNKNOWN => "<unknown>".to_owned(),
        Err(_) => "<invalid>".to_owned(),
    };
    // SAFETY: the caller has room for `max` bytes.
    unsafe { text::write(buffer, max, name.as_bytes()) };
    buffer
}

/// Device of a bus address as text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_find_device_by_bdf_name(
    name: *const c_char,
    sys_dev: *mut ucs_sys_device_t,
) -> ucs_status_t {
    // SAFETY: a C string or NULL; room for a number.
    unsafe {
        let id = BusId::parse(&text::read(name)).ok_or(Error::InvalidParam);
        put(
            sys_dev,
            id.and_then(|id| topo::find(id, topo::NO_USER_VALUE)),
        )
    }
}

/// Names a device; a name of higher priority wins.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_sys_device_set_name(
    sys_dev: ucs_sys_device_t,
    name: *const c_char,
    priority: c_uint,
) -> ucs_status_t {
    // SAFETY: a C string or NULL.
    let name = unsafe { text::read(name) };
    topo::set_name(sys_dev, &name, priority)
        .map_err(|_| Error::InvalidParam)
        .into()
}

/// Bandwidth of a device's PCI link in bytes per second.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_get_pci_bw(
    dev_name: *const c_char,
    sysfs_path: *const c_char,
) -> f64 {
    let _ = dev_name;
    // SAFETY: a C string or NULL.
    let path = unsafe { text::read(sysfs_path) };
    // What is not known doesn't limit.
    topo::pci_bandwidth(std::path::Path::new(&*path)).unwrap_or(f64::MAX)
}

/// The real folder in sysfs of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_resolve_sysfs_path(
    dev_path: *const c_char,
    path_buffer: *mut c_char,
) -> *const c_char {
    let _ = (dev_path, path_buffer);
    core::ptr::null()
}

/// Name of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_sys_device_get_name(sys_dev: ucs_sys_device_t) -> *const c_char {
    topo::name(sys_dev).as_ptr()
}

/// Memory node of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_sys_device_get_numa_node(
    sys_dev: ucs_sys_device_t,
) -> ucs_numa_node_t {
    topo::numa_node(sys_dev)
}

/// Sets the memory node of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_sys_device_set_numa_node(
    sys_dev: ucs_sys_device_t,
    numa_node: ucs_numa_node_t,
) -> ucs_status_t {
    topo::set_numa_node(sys_dev, numa_node)
        .map_err(|_| Error::InvalidParam)
        .into()
}

/// The user's value of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_sys_device_get_user_value(sys_dev: ucs_sys_device_t) -> usize {
    topo::user_value(sys_dev).unwrap_or(topo::NO_USER_VALUE)
}

/// Sets the second device of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_sys_device_set_sys_dev_aux(
    sys_dev: ucs_sys_device_t,
    sys_dev_aux: ucs_sys_device_t,
) -> ucs_status_t {
    topo::set_aux(sys_dev, sys_dev_aux)
        .map_err(|_| Error::InvalidParam)
        .into()
}

/// Lets the path through the second device be used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_sys_device_enable_aux_path(
    sys_dev: ucs_sys_device_t,
) -> ucs_status_t {
    topo::enable_aux_path(sys_dev)
        .map_err(|_| Error::InvalidParam)
        .into()
}

/// 1 if devices can reach each other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_is_reachable(
    sys_dev: ucs_sys_device_t,
    sys_dev_mem: ucs_sys_device_t,
) -> c_int {
    topo::is_reachable(sys_dev, sys_dev_mem).into()
}

/// 1 if devices are parts of one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_is_sibling(
    sys_dev: ucs_sys_device_t,
    sys_dev_mem: ucs_sys_device_t,
) -> c_int {
    topo::is_sibling(sys_dev, sys_dev_mem).into()
}

/// 1 if a device is a part of one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_device_has_sibling(sys_dev: ucs_sys_device_t) -> c_int {
    topo::has_sibling(sys_dev).into()
}

/// Number of devices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_num_devices() -> c_uint {
    topo::count() as c_uint
}

/// Writes all devices to a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_print_info(stream: *mut FILE) {
    if stream.is_null() {
        return;
    }
    let mut text = String::new();
    for number in 0..topo::count().min(255) as u8 {
        let id = topo::bus_id(number)
            .map(|id| id.text(false))
            .unwrap_or_default();
        text += &format!(" {number}  {id} {}\n", topo::name(number).to_string_lossy());
    }
    // SAFETY: the caller's open stream.
    unsafe { crate::sys::stdio::write_stream(stream, text.as_bytes()) };
}

/// Takes the known devices away, for tests.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_extract_state() -> *mut ucs_global_state_t {
    core::ptr::null_mut()
}

/// Brings back what `ucs_topo_extract_state` took.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_restore_state(state: *mut ucs_global_state_t) {
    let _ = state;
}

/// Prepares the list of devices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_init() {}

/// Frees the list of devices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_topo_cleanup() {}

/// # Safety
/// `bus_id` is NULL or readable.
unsafe fn bus(bus_id: *const ucs_sys_bus_id_t) -> Result<BusId, Error> {
    // SAFETY: as the caller promises.
    let id = unsafe { bus_id.as_ref() }.ok_or(Error::InvalidParam)?;
    Ok(BusId {
        domain: id.domain,
        bus: id.bus,
        slot: id.slot,
        function: id.function,
    })
}

/// # Safety
/// `to` is NULL or writable.
unsafe fn put<T>(to: *mut T, value: Result<T, Error>) -> ucs_status_t {
    match value {
        Ok(_) if to.is_null() => Error::InvalidParam.into(),
        Ok(value) => {
            // SAFETY: not NULL.
            unsafe { to.write(value) };
            Status::OK
        }
        Err(error) => error.into(),
    }
}

fn c_distance(distance: Distance) -> ucs_sys_dev_distance_t {
    ucs_sys_dev_distance_t {
        latency: distance.latency,
        bandwidth: distance.bandwidth,
    }
}
