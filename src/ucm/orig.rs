//! The calls themselves, without events.
//!
//! Functions of libc may lead to our hooks, so these are system calls. Where somebody had patched
//! a function before us, his hook stays in the way: it is what "original" means then.

use core::ffi::{c_int, c_long, c_void};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::hook::Call;

/// Where the hook of somebody else goes on, by call; 0 where there is none.
static PREVIOUS: [AtomicUsize; Call::COUNT] = [const { AtomicUsize::new(0) }; Call::COUNT];
/// Address of libc's note of the end of the heap, 0 until it was looked up.
static CURRENT_BRK: AtomicUsize = AtomicUsize::new(0);

/// From now on, `call` goes through a hook that was there before ours.
pub(super) fn set_previous(call: Call, function: usize) {
    PREVIOUS[call as usize].store(function, Relaxed);
}

fn previous(call: Call) -> Option<usize> {
    let function = PREVIOUS[call as usize].load(Relaxed);
    (function != 0).then_some(function)
}

/// Looks up what system calls can't tell. Before hooks are installed, since it may allocate.
pub(super) fn prepare() -> bool {
    if CURRENT_BRK.load(Relaxed) == 0 {
        // SAFETY: only looks up.
        let at = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__curbrk".as_ptr()) };
        CURRENT_BRK.store(at.expose_provenance(), Relaxed);
    }
    CURRENT_BRK.load(Relaxed) != 0
}

/// The result of a system call as a pointer; -1 is `MAP_FAILED`.
fn pointer(result: c_long) -> *mut c_void {
    core::ptr::with_exposed_provenance_mut(result as usize)
}

/// # Safety
/// As for `mmap`.
pub unsafe fn mmap(
    address: *mut c_void,
    size: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: libc::off_t,
) -> *mut c_void {
    type Function =
        unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, c_int, libc::off_t) -> *mut c_void;
    // SAFETY: the caller's own arguments; a hook of `mmap` has its signature.
    unsafe {
        match previous(Call::Mmap) {
            Some(hook) => core::mem::transmute::<usize, Function>(hook)(
                address, size, prot, flags, fd, offset,
            ),
            None => pointer(libc::syscall(
                libc::SYS_mmap,
                address,
                size,
                prot,
                flags,
                fd,
                offset,
            )),
        }
    }
}

/// # Safety
/// As for `munmap`.
pub unsafe fn munmap(address: *mut c_void, size: usize) -> c_int {
    type Function = unsafe extern "C" fn(*mut c_void, usize) -> c_int;
    // SAFETY: the caller's own arguments; a hook of `munmap` has its signature.
    unsafe {
        match previous(Call::Munmap) {
            Some(hook) => core::mem::transmute::<usize, Function>(hook)(address, size),
            None => libc::syscall(libc::SYS_munmap, address, size) as c_int,
        }
    }
}

/// # Safety
/// As for `mremap`.
pub unsafe fn mremap(
    address: *mut c_void,
    old_size: usize,
    new_size: usize,
    flags: c_int,
    new_address: *mut c_void,
) -> *mut c_void {
    type Function =
        unsafe extern "C" fn(*mut c_void, usize, usize, c_int, *mut c_void) -> *mut c_void;
    // SAFETY: the caller's own arguments; a hook of `mremap` has this signature, since variable
    // arguments of these types are passed as others are.
    unsafe {
        match previous(Call::Mremap) {
            Some(hook) => core::mem::transmute::<usize, Function>(hook)(
                address,
                old_size,
                new_size,
                flags,
                new_address,
            ),
            None => pointer(libc::syscall(
                libc::SYS_mremap,
                address,
                old_size,
                new_size,
                flags,
                new_address,
            )),
        }
    }
}

/// # Safety
/// As for `shmat`.
pub unsafe fn shmat(shmid: c_int, address: *const c_void, flags: c_int) -> *mut c_void {
    type Function = unsafe extern "C" fn(c_int, *const c_void, c_int) -> *mut c_void;
    // SAFETY: the caller's own arguments; a hook of `shmat` has its signature.
    unsafe {
        match previous(Call::Shmat) {
            Some(hook) => core::mem::transmute::<usize, Function>(hook)(shmid, address, flags),
            None => pointer(libc::syscall(libc::SYS_shmat, shmid, address, flags)),
        }
    }
}

/// # Safety
/// As for `shmdt`.
pub unsafe fn shmdt(address: *const c_void) -> c_int {
    type Function = unsafe extern "C" fn(*const c_void) -> c_int;
    // SAFETY: the caller's own arguments; a hook of `shmdt` has its signature.
    unsafe {
        match previous(Call::Shmdt) {
            Some(hook) => core::mem::transmute::<usize, Function>(hook)(address),
            None => libc::syscall(libc::SYS_shmdt, address) as c_int,
        }
    }
}

/// # Safety
/// As for `madvise`.
pub unsafe fn madvise(address: *mut c_void, size: usize, advice: c_int) -> c_int {
    type Function = unsafe extern "C" fn(*mut c_void, usize, c_int) -> c_int;
    // SAFETY: the caller's own arguments; a hook of `madvise` has its signature.
    unsafe {
        match previous(Call::Madvise) {
            Some(hook) => core::mem::transmute::<usize, Function>(hook)(address, size, advice),
            None => libc::syscall(libc::SYS_madvise, address, size, advice) as c_int,
        }
    }
}

/// The end of the heap as libc knows it; NULL if it has none yet.
pub fn current_brk() -> *mut c_void {
    let known: *const *mut c_void = core::ptr::with_exposed_provenance(CURRENT_BRK.load(Relaxed));
    // SAFETY: NULL or libc's variable.
    let noted = unsafe { known.as_ref() }.copied();
    noted
        .filter(|end| !end.is_null())
        // SAFETY: asks for the present end.
        .unwrap_or_else(|| pointer(unsafe { libc::syscall(libc::SYS_brk, 0) }))
}

/// # Safety
/// As for `brk`.
pub unsafe fn brk(address: *mut c_void) -> c_int {
    type Function = unsafe extern "C" fn(*mut c_void) -> c_int;
    // SAFETY: the caller's own argument; a hook of `brk` has its signature.
    unsafe {
        if let Some(hook) = previous(Call::Brk) {
            return core::mem::transmute::<usize, Function>(hook)(address);
        }
        if !prepare() {
            return libc::brk(address);
        }
        let end = pointer(libc::syscall(libc::SYS_brk, address));
        let noted: *mut *mut c_void =
            core::ptr::with_exposed_provenance_mut(CURRENT_BRK.load(Relaxed));
        // libc's own `brk` notes the new end here, and `sbrk` relies on it.
        noted.write(end);
        if (end as usize) < address as usize {
            *libc::__errno_location() = libc::ENOMEM;
            return -1;
        }
        0
    }
}

/// # Safety
/// As for `sbrk`.
pub unsafe fn sbrk(increment: isize) -> *mut c_void {
    type Function = unsafe extern "C" fn(isize) -> *mut c_void;
    // SAFETY: the caller's own argument; a hook of `sbrk` has its signature.
    unsafe {
        if let Some(hook) = previous(Call::Sbrk) {
            return core::mem::transmute::<usize, Function>(hook)(increment);
        }
        if !prepare() {
            return libc::sbrk(increment);
        }
        let old = current_brk();
        if increment == 0 {
            return old;
        }
        let Some(new) = (old as usize).checked_add_signed(increment) else {
            *libc::__errno_location() = libc::ENOMEM;
            return libc::MAP_FAILED;
        };
        match brk(core::ptr::with_exposed_provenance_mut(new)) {
            0 => old,
            _ => libc::MAP_FAILED,
        }
    }
}
