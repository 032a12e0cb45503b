//! Memory of other processes that a program opens. It is no allocation, so it causes no events, but
//! it is no memory of the host either.

use core::cell::Cell;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::collections::BTreeMap;

use parking_lot::Mutex;

use crate::ucs::memory::{MemoryType, cache};

/// `CUipcMemHandle`, which is not passed in a register.
#[repr(C)]
pub struct Token([u8; 64]);

type Open = unsafe extern "C" fn(*mut usize, Token, u32) -> i32;
type Range = unsafe extern "C" fn(*mut usize, *mut usize, usize) -> i32;

/// `cuIpcOpenMemHandle`
pub static ORIGINAL: AtomicUsize = AtomicUsize::new(0);
/// `cuMemGetAddressRange`, for memory whose size nobody says.
pub static RANGE: AtomicUsize = AtomicUsize::new(0);
/// Times that each address is open: the driver counts too.
static OPEN: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// Bytes of what this thread is about to open, if it knows.
    static EXPECTED: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Takes the place of `cuIpcOpenMemHandle`.
pub unsafe extern "C" fn hook(at: *mut usize, handle: Token, flags: u32) -> i32 {
    // SAFETY: set before the hook could be reached; the caller's own arguments, of which the first
    // is written then.
    unsafe {
        let original = core::mem::transmute::<usize, Open>(ORIGINAL.load(Relaxed));
        let code = original(at, handle, flags);
        if code == 0 {
            *OPEN.lock().entry(at.read()).or_default() += 1;
            note(at.read());
        }
        code
    }
}

/// Opens memory of which the size is known, so that the driver needn't be asked.
pub fn of_size<T>(len: usize, open: impl FnOnce() -> T) -> T {
    EXPECTED.set(Some(len));
    let out = open();
    EXPECTED.set(None);
    out
}

/// Memory was opened at `at`. What it is the driver is asked when it is used.
pub fn note(at: usize) {
    let (base, len) = match EXPECTED.take() {
        Some(len) => (at, len),
        None => range(at).unwrap_or((at, 1)),
    };
    cache::note(base, len, cache::Info::of(MemoryType::UNKNOWN));
}

fn range(at: usize) -> Option<(usize, usize)> {
    let range = RANGE.load(Relaxed);
    if range == 0 {
        return None;
    }
    let (mut base, mut len) = (0, 0);
    // SAFETY: the driver's function of this type, with room for both numbers.
    let code = unsafe {
        let range = core::mem::transmute::<usize, Range>(range);
        range(&mut base, &mut len, at)
    };
    (code == 0).then_some((base, len))
}

/// `call` closes what is open at `at`, which may be open more than once.
pub fn closing(at: usize, call: impl FnOnce() -> i32) -> i32 {
    let was_last = {
        let mut open = OPEN.lock();
        let left = open.get(&at).map_or(0, |count| count.saturating_sub(1));
        match left {
            0 => open.remove(&at),
            _ => open.insert(at, left),
        };
        left == 0
    };
    let region = cache::region(at).filter(|region| was_last && region.base == at);
    // Before the call: the address may be somebody else's right after it.
    if let Some(region) = region {
        cache::forget(region.base, region.len);
    }
    let code = call();
    if code != 0 {
        *OPEN.lock().entry(at).or_default() += 1;
        if let Some(region) = region {
            cache::note(region.base, region.len, region.info);
        }
    }
    code
}
