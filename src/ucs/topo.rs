//! System devices: a number for each PCI device that somebody asks for, their names, and how far
//! they are from each other.

use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};

use parking_lot::RwLock;

use super::config::Config;
use super::status::{Error, Result};
use super::strings;

/// The number of no known device (`UCS_SYS_DEVICE_ID_UNKNOWN`); numbers are below it.
pub const UNKNOWN: u8 = u8::MAX;

/// `user_value` of a device that is the only one at its place on the bus.
pub const NO_USER_VALUE: usize = usize::MAX;

/// A place on the PCI bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BusId {
    pub domain: u16,
    pub bus: u8,
    pub slot: u8,
    pub function: u8,
}

impl BusId {
    /// Reads `0000:3b:00.1`, or `3b:00.1` in domain 0.
    pub fn parse(text: &str) -> Option<BusId> {
        let (rest, function) = text.trim().split_once('.')?;
        let parts: Vec<&str> = rest.split(':').collect();
        let (domain, bus, slot) = match parts.as_slice() {
            [bus, slot] => ("0", *bus, *slot),
            [domain, bus, slot] => (*domain, *bus, *slot),
            _ => return None,
        };
        let byte = |text| u8::from_str_radix(text, 16).ok();
        Some(BusId {
            domain: u16::from_str_radix(domain, 16).ok()?,
            bus: byte(bus)?,
            slot: byte(slot)?,
            function: byte(function)?,
        })
    }

    /// The text of it; without domain 0 when `short`.
    pub fn text(&self, short: bool) -> String {
        let BusId {
            domain,
            bus,
            slot,
            function,
        } = self;
        match short && *domain == 0 {
            true => format!("{bus:02x}:{slot:02x}.{function}"),
            false => format!("{domain:04x}:{bus:02x}:{slot:02x}.{function}"),
        }
    }

    fn sysfs(&self) -> Option<PathBuf> {
        std::fs::canonicalize(format!("/sys/bus/pci/devices/{}", self.text(false))).ok()
    }
}

/// How far two devices are from each other.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Distance {
    /// Seconds.
    pub latency: f64,
    /// Bytes per second.
    pub bandwidth: f64,
}

/// What is assumed where nothing is known: next to each other.
pub const NEAR: Distance = Distance {
    latency: 0.0,
    bandwidth: f64::INFINITY,
};

struct Device {
    bus_id: BusId,
    user_value: usize,
    /// Never freed: C code keeps pointers to names. There are few devices, renamed once.
    name: &'static CStr,
    /// Names that it had: kept to be found by those who look for lost memory.
    earlier: Vec<&'static CStr>,
    name_priority: u32,
    /// -1 where it is not known.
    numa_node: i16,
    role: Role,
    /// The device that it belongs together with, [`UNKNOWN`] if there is none.
    sibling: u8,
}

/// What a device is to another of the same card: a network adapter may reach the memory of a GPU beside it
/// by a second function of its own, on the GPU's side of the bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Alone,
    /// Its memory can be reached by a second path.
    Memory,
    /// Reaches such memory through this other device.
    Reaches(u8),
}

static DEVICES: RwLock<Vec<Device>> = RwLock::new(Vec::new());

fn leak(name: &str) -> &'static CStr {
    CString::new(name).map_or(c"", |name| Box::leak(name.into_boxed_c_str()))
}

/// The number of the device at this place, a new one if it has none yet.
///
/// # Errors
/// `ExceedsLimit` when all numbers are taken.
pub fn find(bus_id: BusId, user_value: usize) -> Result<u8> {
    let mut devices = DEVICES.write();
    let known = |device: &Device| device.bus_id == bus_id && device.user_value == user_value;
    if let Some(at) = devices.iter().position(known) {
        return u8::try_from(at).map_err(|_| Error::ExceedsLimit);
    }
    let number = u8::try_from(devices.len())
        .ok()
        .filter(|number| *number != UNKNOWN);
    let number = number.ok_or(Error::ExceedsLimit)?;
    let node = bus_id
        .sysfs()
        .and_then(|path| std::fs::read_to_string(path.join("numa_node")).ok());
    devices.push(Device {
        bus_id,
        user_value,
        name: leak(&bus_id.text(true)),
        earlier: Vec::new(),
        name_priority: 0,
        numa_node: node.and_then(|text| text.trim().parse().ok()).unwrap_or(-1),
        role: Role::Alone,
        sibling: UNKNOWN,
    });
    Ok(number)
}

/// Number of known devices.
pub fn count() -> usize {
    DEVICES.read().len()
}

fn with<R>(number: u8, f: impl FnOnce(&mut Device) -> R) -> Result<R> {
    DEVICES
        .write()
        .get_mut(usize::from(number))
        .map(f)
        .ok_or(Error::NoElem)
}

/// Where a device is.
///
/// # Errors
/// `NoElem` for a number that is not in use, here and below.
pub fn bus_id(number: u8) -> Result<BusId> {
    with(number, |device| device.bus_id)
}

/// What [`find`] was told to tell devices of one place apart.
pub fn user_value(number: u8) -> Result<usize> {
    with(number, |device| device.user_value)
}

/// A device's name: what it was given, else its place on the bus.
pub fn name(number: u8) -> &'static CStr {
    if number == UNKNOWN {
        return c"<unknown>";
    }
    with(number, |device| device.name).unwrap_or(c"<invalid>")
}

/// Gives a name, unless one of higher priority was given before.
pub fn set_name(number: u8, name: &str, priority: u32) -> Result<()> {
    with(number, |device| {
        if priority > device.name_priority {
            let before = core::mem::replace(&mut device.name, leak(name));
            device.earlier.push(before);
            device.name_priority = priority;
        }
    })
}

/// The memory node of a device, -1 where it is not known.
pub fn numa_node(number: u8) -> i16 {
    with(number, |device| device.numa_node).unwrap_or(-1)
}

/// Sets the memory node of a device.
pub fn set_numa_node(number: u8, node: i16) -> Result<()> {
    with(number, |device| device.numa_node = node)
}

/// From now on a device reaches memory through another one, where that shares a bridge with the memory.
pub fn set_aux(number: u8, aux: u8) -> Result<()> {
    let mut devices = DEVICES.write();
    let device = devices.get_mut(usize::from(number)).ok_or(Error::NoElem)?;
    device.role = Role::Reaches(aux);
    for memory in 0..devices.len() {
        join(&mut devices, usize::from(number), memory, under_one_bridge);
    }
    Ok(())
}

/// The memory of a device may be reached by a second path from now on.
pub fn enable_aux_path(number: u8) -> Result<()> {
    let mut devices = DEVICES.write();
    let memory = devices.get_mut(usize::from(number)).ok_or(Error::NoElem)?;
    memory.role = Role::Memory;
    // The first that fits is the one.
    let _ = (0..devices.len())
        .find(|at| join(&mut devices, *at, usize::from(number), under_one_bridge));
    Ok(())
}

/// Makes siblings of a device and a memory that it reaches by a second path, if they are such.
fn join(
    devices: &mut [Device],
    at: usize,
    memory: usize,
    together: fn(&BusId, &BusId) -> bool,
) -> bool {
    let (Some(Role::Reaches(aux)), Some(Role::Memory)) = (
        devices.get(at).map(|device| device.role),
        devices.get(memory).map(|device| device.role),
    ) else {
        return false;
    };
    let fits = match (devices.get(usize::from(aux)), devices.get(memory)) {
        (Some(aux), Some(memory)) => together(&aux.bus_id, &memory.bus_id),
        _ => false,
    };
    let (Ok(at_number), Ok(memory_number)) = (u8::try_from(at), u8::try_from(memory)) else {
        return false;
    };
    if let (true, Some(device)) = (fits, devices.get_mut(at)) {
        device.sibling = memory_number;
        if let Some(memory) = devices.get_mut(memory) {
            memory.sibling = at_number;
        }
    }
    fits
}

/// Two places below the same bridge that is not the root of a bus.
fn under_one_bridge(a: &BusId, b: &BusId) -> bool {
    match (a == b, a.sysfs(), b.sysfs()) {
        (false, Some(a), Some(b)) => {
            let (a, b) = (a.to_string_lossy(), b.to_string_lossy());
            matches!(meeting(&a, &b), Meeting::Bridge)
        }
        _ => false,
    }
}

/// 1 if a device reaches the memory of another. It doesn't where it has a second path, but this memory's
/// second path is that of some other device.
pub fn is_reachable(number: u8, memory: u8) -> bool {
    let devices = DEVICES.read();
    match (
        devices.get(usize::from(number)),
        devices.get(usize::from(memory)),
    ) {
        (Some(device), Some(memory)) => {
            memory.sibling == UNKNOWN
                || !matches!(device.role, Role::Reaches(_))
                || memory.sibling == number
        }
        _ => true,
    }
}

/// Whether a device has a second path to the memory of another.
pub fn is_sibling(number: u8, memory: u8) -> bool {
    number != UNKNOWN && with(memory, |memory| memory.sibling) == Ok(number)
}

/// Whether a device has such a path, or is reached by one.
pub fn has_sibling(number: u8) -> bool {
    with(number, |device| device.sibling).is_ok_and(|sibling| sibling != UNKNOWN)
}

/// The second device of the one that reaches, the memory of the other: the ends of a second path, if these
/// two have one.
fn second_path(a: u8, b: u8) -> Option<(u8, u8)> {
    let role = |number| with(number, |device| device.role);
    match (role(a), role(b)) {
        (Ok(Role::Reaches(aux)), Ok(Role::Memory)) => Some((aux, b)),
        (Ok(Role::Memory), Ok(Role::Reaches(aux))) => Some((a, aux)),
        _ => None,
    }
}

/// The distance of two devices, by their places in the tree of buses and by `UCX_DISTANCE_*`: the shorter
/// one where there are two paths.
pub fn distance(a: u8, b: u8) -> Distance {
    let first = by_bus(a, b);
    match second_path(a, b).map(|(a, b)| by_bus(a, b)) {
        Some(second) if second.bandwidth > first.bandwidth => second,
        _ => first,
    }
}

fn by_bus(a: u8, b: u8) -> Distance {
    let (Ok(id_a), Ok(id_b)) = (bus_id(a), bus_id(b)) else {
        return NEAR;
    };
    let (Some(path_a), Some(path_b)) = (id_a.sysfs(), id_b.sysfs()) else {
        return NEAR;
    };
    if a == b {
        return NEAR;
    }
    let same_node = numa_node(a) == numa_node(b) && numa_node(a) >= 0;
    let (path_a, path_b) = (path_a.to_string_lossy(), path_b.to_string_lossy());
    by_path(&path_a, &path_b, same_node)
}

const MB: f64 = 1024.0 * 1024.0;

/// Where the paths of two devices part.
enum Meeting {
    /// At the root of the tree.
    Root,
    /// At a host bridge, and not a switch below it.
    HostBridge,
    /// Further down.
    Bridge,
}

fn meeting(a: &str, b: &str) -> Meeting {
    let common = a
        .get(..strings::common_parent(a.as_bytes(), b.as_bytes()))
        .unwrap_or("");
    match common.strip_prefix("/sys/devices").unwrap_or("/") {
        "" => Meeting::Root,
        below if below.starts_with("/pci") && !below.trim_start_matches('/').contains('/') => {
            Meeting::HostBridge
        }
        _ => Meeting::Bridge,
    }
}

fn by_path(a: &str, b: &str, same_node: bool) -> Distance {
    let steps = strings::path_distance(a.as_bytes(), b.as_bytes()).max(1) as f64;
    let (key, automatic) = match meeting(a, b) {
        Meeting::Root if same_node => ("node", 17_000.0 * MB),
        Meeting::Root => ("sys", 220.0 * MB),
        Meeting::HostBridge => ("phb", (3_500.0 * MB).min(19_200.0 * MB / steps)),
        Meeting::Bridge => return NEAR,
    };
    let config = Config::global();
    Distance {
        latency: config.keyed_time("DISTANCE_LAT", key),
        bandwidth: config
            .keyed_bandwidth("DISTANCE_BW", key)
            .unwrap_or(automatic),
    }
}

/// Bytes per second that the link of a device carries, encoding taken off.
pub fn pci_bandwidth(sysfs: &Path) -> Option<f64> {
    let read = |file: &str| std::fs::read_to_string(sysfs.join(file)).ok();
    link_bandwidth(&read("current_link_speed")?, &read("current_link_width")?)
}

fn link_bandwidth(speed: &str, width: &str) -> Option<f64> {
    // "8.0 GT/s PCIe"
    let giga: f64 = speed.split_whitespace().next()?.parse().ok()?;
    let width: u32 = width.trim().parse().ok().filter(|width| *width > 0)?;
    // The two first generations spend two bits of ten, later ones two of 130.
    let encoding = if giga <= 5.0 { 0.8 } else { 128.0 / 130.0 };
    let bandwidth = giga * 1e9 / 8.0 * encoding * f64::from(width);
    (bandwidth.is_finite() && bandwidth > 0.0).then_some(bandwidth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bus_ids() {
        let id = BusId::parse("0000:3b:00.1").expect("a bus id");
        assert_eq!(
            (id.text(true), id.text(false)),
            ("3b:00.1".into(), "0000:3b:00.1".into())
        );
        assert_eq!(BusId::parse("3b:00.1"), Some(id));
        for bad in ["", "3b", "3b:00", "x:00.1", "0:0:0:0.0", "100:00.0"] {
            assert_eq!(BusId::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn devices_keep_their_numbers() {
        let id = BusId {
            domain: 0xfffe,
            bus: 1,
            slot: 2,
            function: 3,
        };
        let first = find(id, NO_USER_VALUE).expect("room");
        let second = find(id, 7).expect("room");
        assert_ne!(first, second);
        assert_eq!(find(id, NO_USER_VALUE), Ok(first));
        assert_eq!(set_name(first, "dev", 5), Ok(()));
        assert_eq!(set_name(first, "worse", 1), Ok(()));
        assert_eq!(name(first), c"dev");
        assert_eq!(name(second), c"fffe:01:02.3");
        assert_eq!(bus_id(200), Err(Error::NoElem));
        assert_eq!((name(200), name(UNKNOWN)), (c"<invalid>", c"<unknown>"));
        assert_eq!(distance(first, UNKNOWN), NEAR);
    }

    fn device(role: Role) -> Device {
        Device {
            bus_id: BusId::parse("3b:00.1").expect("a bus id"),
            user_value: NO_USER_VALUE,
            name: c"",
            earlier: Vec::new(),
            name_priority: 0,
            numa_node: -1,
            role,
            sibling: UNKNOWN,
        }
    }

    #[test]
    fn second_paths() {
        let mut devices = [
            device(Role::Reaches(1)),
            device(Role::Alone),
            device(Role::Memory),
        ];
        assert!(!join(&mut devices, 0, 2, |_, _| false));
        assert!(!join(&mut devices, 1, 2, |_, _| true), "no second device");
        assert!(!join(&mut devices, 0, 1, |_, _| true), "no memory");
        assert_eq!((devices[0].sibling, devices[2].sibling), (UNKNOWN, UNKNOWN));
        assert!(join(&mut devices, 0, 2, |_, _| true));
        assert_eq!((devices[0].sibling, devices[2].sibling), (2, 0));
        let meets = |a, b| matches!(meeting(a, b), Meeting::Bridge);
        assert!(meets(
            "/sys/devices/pci0000:00/s/a",
            "/sys/devices/pci0000:00/s/b"
        ));
        assert!(!meets(
            "/sys/devices/pci0000:00/a",
            "/sys/devices/pci0000:00/b"
        ));
        assert!(!meets(
            "/sys/devices/pci0000:00/a",
            "/sys/devices/pci0000:80/b"
        ));
    }

    #[test]
    fn links() {
        assert_eq!(link_bandwidth("5.0 GT/s PCIe\n", "8\n"), Some(4e9));
        assert_eq!(link_bandwidth("Unknown", "0"), None);
    }

    #[test]
    fn distances_by_path() {
        let phb = by_path(
            "/sys/devices/pci0000:00/a/b",
            "/sys/devices/pci0000:00/c",
            false,
        );
        assert!((phb.latency - 3e-7).abs() < 1e-12 && phb.bandwidth == 3_500.0 * MB);
        let sys = by_path(
            "/sys/devices/pci0000:00/a",
            "/sys/devices/pci0000:80/c",
            false,
        );
        assert_eq!(sys.bandwidth, 220.0 * MB);
        let near = by_path(
            "/sys/devices/pci0000:00/s/a",
            "/sys/devices/pci0000:00/s/c",
            true,
        );
        assert_eq!(near, NEAR);
    }
}
