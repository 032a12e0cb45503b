//! The calls that map and unmap memory, with their events. Hooks lead here.
//!
//! Nothing here may allocate, lock or log: the heap itself makes these calls.

use core::ffi::{c_int, c_void};

use super::event::{Brk, Event, Madvise, Mmap, Mremap, Munmap, Range, Sbrk, Shmat, Shmdt};
use super::handlers::Pass;
use super::{events, maps, orig};

fn tell(pass: &Pass, event: u32, address: *mut c_void, size: usize) {
    let mut data = Event {
        range: Range { address, size },
    };
    pass.around(event, &mut data, |_| {});
}

/// Tells that a range has been mapped.
fn tell_mapped(pass: &Pass, address: *mut c_void, size: usize) {
    let errno = errno();
    tell(pass, events::VM_MAPPED, address, size);
    set_errno(errno);
}

/// Tells that a range is about to be unmapped.
fn tell_unmapped(pass: &Pass, address: *mut c_void, size: usize) {
    tell(pass, events::VM_UNMAPPED, address, size);
}

/// Calls the handlers of an event around its original, whose `errno` outlives them.
fn around(pass: &Pass, event: u32, data: &mut Event, original: impl FnOnce(&mut Event)) {
    let mut kept = errno();
    pass.around(event, data, |data| {
        original(data);
        kept = errno();
    });
    set_errno(kept);
}

fn errno() -> c_int {
    // SAFETY: this thread's own variable.
    unsafe { *libc::__errno_location() }
}

fn set_errno(value: c_int) {
    // SAFETY: this thread's own variable.
    unsafe { *libc::__errno_location() = value };
}

/// Reports a range that was mapped by other means.
pub fn vm_mapped(address: *mut c_void, size: usize) {
    tell_mapped(&Pass::enter(), address, size);
}

/// Reports a range that is about to be unmapped by other means.
pub fn vm_unmapped(address: *mut c_void, size: usize) {
    tell_unmapped(&Pass::enter(), address, size);
}

/// # Safety
/// As for `mmap`.
pub unsafe extern "C" fn mmap(
    address: *mut c_void,
    size: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    let pass = Pass::enter();
    if flags & libc::MAP_FIXED != 0 && !address.is_null() {
        tell_unmapped(&pass, address, size);
    }
    let call = Mmap {
        result: libc::MAP_FAILED,
        address,
        size,
        prot,
        flags,
        fd,
        offset,
    };
    let mut data = Event { mmap: call };
    // SAFETY: the caller's own arguments; the member written above is the one read.
    around(&pass, events::MMAP, &mut data, |data| unsafe {
        let c = &mut data.mmap;
        if c.result == libc::MAP_FAILED {
            c.result = orig::mmap(c.address, c.size, c.prot, c.flags, c.fd, c.offset);
        }
    });
    // SAFETY: as above.
    let result = unsafe { data.mmap.result };
    if result != libc::MAP_FAILED {
        tell_mapped(&pass, result, size);
    }
    result
}

/// # Safety
/// As for `munmap`.
pub unsafe extern "C" fn munmap(address: *mut c_void, size: usize) -> c_int {
    let pass = Pass::enter();
    tell_unmapped(&pass, address, size);
    let call = Munmap {
        result: -1,
        address,
        size,
    };
    let mut data = Event { munmap: call };
    // SAFETY: the caller's own arguments; the member written above is the one read.
    around(&pass, events::MUNMAP, &mut data, |data| unsafe {
        let c = &mut data.munmap;
        if c.result == -1 {
            c.result = orig::munmap(c.address, c.size);
        }
    });
    // SAFETY: as above.
    unsafe { data.munmap.result }
}

/// `new_address` counts only where the flags ask for it.
///
/// # Safety
/// As for `mremap`.
pub unsafe extern "C" fn mremap(
    address: *mut c_void,
    old_size: usize,
    new_size: usize,
    flags: c_int,
    new_address: *mut c_void,
) -> *mut c_void {
    let pass = Pass::enter();
    tell_unmapped(&pass, address, old_size);
    let placed = flags & (libc::MREMAP_FIXED | libc::MREMAP_DONTUNMAP) != 0;
    let new_address = if placed {
        new_address
    } else {
        core::ptr::null_mut()
    };
    if flags & libc::MREMAP_FIXED != 0 {
        // What was there goes, too.
        tell_unmapped(&pass, new_address, new_size);
    }
    let call = Mremap {
        result: libc::MAP_FAILED,
        address,
        old_size,
        new_size,
        flags,
        new_address,
    };
    let mut data = Event { mremap: call };
    // SAFETY: the caller's own arguments; the member written above is the one read.
    around(&pass, events::MREMAP, &mut data, |data| unsafe {
        let c = &mut data.mremap;
        if c.result == libc::MAP_FAILED {
            c.result = orig::mremap(c.address, c.old_size, c.new_size, c.flags, c.new_address);
        }
    });
    // SAFETY: as above.
    let result = unsafe { data.mremap.result };
    if result != libc::MAP_FAILED {
        tell_mapped(&pass, result, new_size);
    }
    result
}

/// # Safety
/// As for `shmat`.
pub unsafe extern "C" fn shmat(shmid: c_int, shmaddr: *const c_void, shmflg: c_int) -> *mut c_void {
    let pass = Pass::enter();
    let size = maps::segment_size(shmid).unwrap_or(0);
    if shmflg & libc::SHM_REMAP != 0 && !shmaddr.is_null() {
        let boundary = crate::sys::process::page_size();
        let below = match shmflg & libc::SHM_RND {
            0 => 0,
            _ => shmaddr as usize % boundary,
        };
        tell_unmapped(&pass, shmaddr.wrapping_byte_sub(below).cast_mut(), size);
    }
    let call = Shmat {
        result: libc::MAP_FAILED,
        shmid,
        shmaddr,
        shmflg,
    };
    let mut data = Event { shmat: call };
    // SAFETY: the caller's own arguments; the member written above is the one read.
    around(&pass, events::SHMAT, &mut data, |data| unsafe {
        let c = &mut data.shmat;
        if c.result == libc::MAP_FAILED {
            c.result = orig::shmat(c.shmid, c.shmaddr, c.shmflg);
        }
    });
    // SAFETY: as above.
    let result = unsafe { data.shmat.result };
    if result != libc::MAP_FAILED {
        tell_mapped(&pass, result, size);
    }
    result
}

/// # Safety
/// As for `shmdt`.
pub unsafe extern "C" fn shmdt(shmaddr: *const c_void) -> c_int {
    let pass = Pass::enter();
    tell_unmapped(&pass, shmaddr.cast_mut(), maps::attached_size(shmaddr));
    let call = Shmdt {
        result: -1,
        shmaddr,
    };
    let mut data = Event { shmdt: call };
    // SAFETY: the caller's own arguments; the member written above is the one read.
    around(&pass, events::SHMDT, &mut data, |data| unsafe {
        let c = &mut data.shmdt;
        if c.result == -1 {
            c.result = orig::shmdt(c.shmaddr);
        }
    });
    // SAFETY: as above.
    unsafe { data.shmdt.result }
}

/// # Safety
/// As for `sbrk`.
pub unsafe extern "C" fn sbrk(increment: isize) -> *mut c_void {
    let pass = Pass::enter();
    let end = orig::current_brk();
    let size = increment.unsigned_abs();
    if increment < 0 {
        tell_unmapped(&pass, end.wrapping_byte_offset(increment), size);
    }
    let call = Sbrk {
        result: libc::MAP_FAILED,
        increment,
    };
    let mut data = Event { sbrk: call };
    // SAFETY: the caller's own arguments; the member written above is the one read.
    around(&pass, events::SBRK, &mut data, |data| unsafe {
        let c = &mut data.sbrk;
        if c.result == libc::MAP_FAILED {
            c.result = orig::sbrk(c.increment);
        }
    });
    // SAFETY: as above.
    let result = unsafe { data.sbrk.result };
    if increment > 0 && result != libc::MAP_FAILED {
        tell_mapped(&pass, result, size);
    }
    result
}

/// # Safety
/// As for `brk`.
pub unsafe extern "C" fn brk(addr: *mut c_void) -> c_int {
    let pass = Pass::enter();
    let end = orig::current_brk();
    let (old, new) = (end as usize, addr as usize);
    if new < old && new != 0 {
        tell_unmapped(&pass, addr, old - new);
    }
    let call = Brk { result: -1, addr };
    let mut data = Event { brk: call };
    // SAFETY: the caller's own arguments; the member written above is the one read.
    around(&pass, events::BRK, &mut data, |data| unsafe {
        let c = &mut data.brk;
        if c.result == -1 {
            c.result = orig::brk(c.addr);
        }
    });
    // SAFETY: as above.
    let result = unsafe { data.brk.result };
    if new > old && result != -1 {
        tell_mapped(&pass, end, new - old);
    }
    result
}

/// # Safety
/// As for `madvise`.
pub unsafe extern "C" fn madvise(addr: *mut c_void, length: usize, advice: c_int) -> c_int {
    let pass = Pass::enter();
    // These let the pages go.
    if advice == libc::MADV_DONTNEED || advice == libc::MADV_REMOVE || advice == libc::MADV_FREE {
        tell_unmapped(&pass, addr, length);
    }
    let call = Madvise {
        result: -1,
        addr,
        length,
        advice,
    };
    let mut data = Event { madvise: call };
    // SAFETY: the caller's own arguments; the member written above is the one read.
    around(&pass, events::MADVISE, &mut data, |data| unsafe {
        let c = &mut data.madvise;
        if c.result == -1 {
            c.result = orig::madvise(c.addr, c.length, c.advice);
        }
    });
    // SAFETY: as above.
    unsafe { data.madvise.result }
}
