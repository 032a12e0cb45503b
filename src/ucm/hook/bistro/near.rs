//! Pages within reach of a direct jump, from which hooks further away are reached.

use core::ffi::c_void;

use parking_lot::Mutex;

use crate::sys::process::page_size;
use crate::ucm::hook::Call;

/// Holds an indirect jump to every hook.
#[derive(Clone, Copy)]
pub struct Page(usize);

static PAGES: Mutex<Vec<Page>> = Mutex::new(Vec::new());

/// Bytes of an entry.
const ENTRY: usize = 16;
/// A direct jump reaches 2 GiB; the page has to be within a little less.
const REACH: usize = (1 << 31) - (1 << 20);

impl Page {
    pub fn entry(&self, call: Call) -> usize {
        self.0 + call as usize * ENTRY
    }
}

/// A page near `at`.
pub fn page(at: usize) -> Option<Page> {
    let mut pages = PAGES.lock();
    if let Some(page) = pages.iter().find(|page| page.0.abs_diff(at) < REACH) {
        return Some(*page);
    }
    let page = fill(allocate(at)?)?;
    pages.push(page);
    Some(page)
}

/// The hook behind an entry of such a page.
pub fn leads_to(target: usize) -> Option<usize> {
    let pages = PAGES.lock();
    let calls = Call::ALL.into_iter();
    calls
        .flat_map(|call| pages.iter().map(move |page| (page.entry(call), call)))
        .find_map(|(entry, call)| (entry == target).then(|| call.hook()))
}

/// A new page within reach of `at`, not executable yet.
pub fn allocate(at: usize) -> Option<*mut c_void> {
    const STEP: usize = 4 << 20;
    let middle = at & !(page_size() - 1);
    let distances = (1..REACH / STEP).map(|step| step * STEP);
    let mut places =
        distances.flat_map(|distance| [middle.checked_sub(distance), middle.checked_add(distance)]);
    places.find_map(|place| {
        let place: *mut c_void = core::ptr::with_exposed_provenance_mut(place?);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        // SAFETY: a new mapping, made only where there is none.
        let got = unsafe { libc::mmap(place, page_size(), protection, flags, -1, 0) };
        if got != libc::MAP_FAILED && got != place {
            // A kernel that takes the address for a hint.
            // SAFETY: mapped just now.
            unsafe { libc::munmap(got, page_size()) };
            return None;
        }
        (got == place).then_some(got)
    })
}

fn fill(page: *mut c_void) -> Option<Page> {
    for call in Call::ALL {
        // `jmp *0(%rip)`, and the address it takes.
        let mut code = [0xff, 0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xcc, 0xcc];
        code[6..14].copy_from_slice(&call.hook().to_le_bytes());
        let entry = page
            .wrapping_byte_add(call as usize * ENTRY)
            .cast::<[u8; ENTRY]>();
        // SAFETY: eight entries fit in the page, which nobody else knows yet.
        unsafe { entry.write(code) };
    }
    // SAFETY: our own page.
    let status = unsafe { libc::mprotect(page, page_size(), libc::PROT_READ | libc::PROT_EXEC) };
    (status == 0).then(|| Page(page.expose_provenance()))
}
