//! Devices: how many, what they are, who reaches whom.

use crate::abi::*;
use crate::call::{READY, add_fault};
use crate::config;
use crate::ledger;
use std::ffi::{CStr, c_char};
use std::sync::atomic::Ordering::SeqCst;

/// The version of the interface: CUDA 12.9.
const VERSION: i32 = 12090;

pub fn check(device: i32) -> Answer {
    if usize::try_from(device).is_ok_and(|d| d < config::get().devices.len()) {
        Ok(())
    } else {
        Err(INVALID_DEVICE)
    }
}

/// The device's number on the machine.
pub fn machine(device: i32) -> i32 {
    config::get().devices[device as usize]
}

pub fn peers(a: i32, b: i32) -> bool {
    machine_peers(machine(a), machine(b))
}

/// The same for devices of the machine, of which this process may see only one.
pub fn machine_peers(a: i32, b: i32) -> bool {
    a == b
        || !config::get()
            .no_peer
            .iter()
            .any(|p| *p == (a, b) || *p == (b, a))
}

fn total(device: i32) -> u64 {
    config::get().memory[machine(device) as usize]
}

/// Bytes free and in all.
pub fn info(device: i32) -> Answer<(u64, u64)> {
    let total = total(device);
    Ok((total.saturating_sub(ledger::used(machine(device))?), total))
}

extern "C" fn in_child() {
    READY.store(false, SeqCst);
    ledger::let_go_in_child();
}

api! { early fn cuInit(flags: u32) {
    static FORK: std::sync::Once = std::sync::Once::new();
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    if config::get().devices.is_empty() {
        return Err(100);
    }
    FORK.call_once(|| {
        libc::pthread_atfork(None, None, Some(in_child));
    });
    READY.store(true, SeqCst);
    Ok(())
} }
api! { early fn cuDriverGetVersion(version: *mut i32) { put(version, VERSION) } }
api! { fn cuDeviceGetCount(count: *mut i32) { put(count, config::get().devices.len() as i32) } }
api! { fn cuDeviceGet(device: *mut i32, ordinal: i32) {
    check(ordinal)?;
    put(device, ordinal)
} }
api! { fn cuDeviceGetName(name: *mut c_char, len: i32, device: i32) {
    check(device)?;
    let text = format!("CUDA simulation {}", machine(device));
    text_out(name, len, &text)
} }

/// # Safety
/// `place` has room for `len` characters.
unsafe fn text_out(place: *mut c_char, len: i32, text: &str) -> Answer {
    if place.is_null() || len < 1 {
        return Err(INVALID_VALUE);
    }
    let n = text.len().min(len as usize - 1);
    // SAFETY: fits, with the zero that ends it.
    unsafe {
        place.copy_from_nonoverlapping(text.as_ptr().cast(), n);
        place.add(n).write(0);
    }
    Ok(())
}

fn uuid(device: i32) -> Answer<Uuid> {
    check(device)?;
    let mut bytes = *b"cuda-simulation0";
    bytes[15] = machine(device) as u8;
    Ok(Uuid { bytes })
}

api! { fn cuDeviceGetUuid(id: *mut Uuid, device: i32) { put(id, uuid(device)?) } }
api! { fn cuDeviceGetUuid_v2(id: *mut Uuid, device: i32) { put(id, uuid(device)?) } }
api! { fn cuDeviceTotalMem_v2(bytes: *mut usize, device: i32) {
    check(device)?;
    put(bytes, total(device) as usize)
} }

/// Where the device seems to sit on the PCI bus, in all processes.
pub fn bus(device: i32) -> i32 {
    0x10 + machine(device)
}

api! { fn cuDeviceGetPCIBusId(text: *mut c_char, len: i32, device: i32) {
    check(device)?;
    text_out(text, len, &format!("0000:{:02x}:00.0", bus(device)))
} }
api! { fn cuDeviceGetByPCIBusId(device: *mut i32, text: *const c_char) {
    let text = CStr::from_ptr(text).to_str().map_err(|_| INVALID_VALUE)?;
    let all = 0..config::get().devices.len() as i32;
    let same = |d: &i32| {
        let id = format!("{:02x}:00.0", bus(*d));
        text.eq_ignore_ascii_case(&id) || text.eq_ignore_ascii_case(&format!("0000:{id}"))
    };
    let found = all.into_iter().find(same).ok_or(INVALID_DEVICE)?;
    put(device, found)
} }

fn attribute(number: i32, device: i32) -> i32 {
    let handles = HANDLE_TYPE_POSIX_FD
        | if config::get().fabric {
            HANDLE_TYPE_FABRIC
        } else {
            0
        };
    match number {
        1 => 1024,         // threads per block
        10 => 32,          // warp
        13 => 1_500_000,   // clock, kHz
        16 => 132,         // multiprocessors
        19 | 31 | 41 => 1, // maps host memory, concurrent kernels, one address space
        33 => bus(device),
        34 | 50 => 0,               // PCI device and domain
        40 => 2,                    // copy engines
        75 => 9,                    // compute capability
        83 | 89 | 91 | 99 => 1,     // managed memory, registration of host memory
        102 | 103 | 115 | 125 => 1, // VMM, file descriptors, pools, events between processes
        119 => handles as i32,
        128 => i32::from(config::get().fabric),
        _ => 0,
    }
}

api! { fn cuDeviceGetAttribute(value: *mut i32, number: i32, device: i32) {
    check(device)?;
    if number < 1 {
        return Err(INVALID_VALUE);
    }
    put(value, attribute(number, device))
} }
api! { fn cuDeviceCanAccessPeer(value: *mut i32, device: i32, peer: i32) {
    check(device)?;
    check(peer)?;
    put(value, i32::from(device != peer && peers(device, peer)))
} }
api! { fn cuDeviceGetP2PAttribute(value: *mut i32, number: i32, a: i32, b: i32) {
    check(a)?;
    check(b)?;
    if a == b {
        return Err(INVALID_DEVICE);
    }
    // 2: access, 4: access to arrays; no atomics, no rank.
    put(value, i32::from(matches!(number, 2 | 4) && peers(a, b)))
} }

/// For test programs: the `nth` call from now on of `name` fails with `code`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudasim_fail(name: *const c_char, nth: u64, code: i32) {
    // SAFETY: the caller gives a string.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    add_fault(crate::call::Fault::new(&name, nth, false, code));
}

/// For test programs: nothing fails any more. How many faults had still to come.
#[unsafe(no_mangle)]
pub extern "C" fn cudasim_heal() -> u64 {
    crate::call::take_faults_back()
}
