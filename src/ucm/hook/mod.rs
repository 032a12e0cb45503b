//! Hooks: how calls of the whole program reach [`super::calls`].
//!
//! Nothing is installed before somebody wants to hear of events, and nothing is taken back.

#[cfg(target_arch = "x86_64")]
mod bistro;
mod dlopen;
mod elf;
mod heap;
mod reloc;
mod valgrind;

#[cfg(target_arch = "x86_64")]
pub(super) use bistro::{allocate_near, serialize, while_writable};

use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use core::time::Duration;

use parking_lot::Mutex;

use super::settings::{Mode, Settings};
use super::{calls, events, handlers, orig, probe};
use crate::ucs::status::{Error, Result};

/// A function of libc that events come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Call {
    Mmap,
    Munmap,
    Mremap,
    Shmat,
    Shmdt,
    Sbrk,
    Brk,
    Madvise,
}

impl Call {
    pub const COUNT: usize = 8;
    pub const ALL: [Call; Call::COUNT] = [
        Call::Mmap,
        Call::Munmap,
        Call::Mremap,
        Call::Shmat,
        Call::Shmdt,
        Call::Sbrk,
        Call::Brk,
        Call::Madvise,
    ];

    pub const fn event(self) -> u32 {
        match self {
            Call::Mmap => events::MMAP,
            Call::Munmap => events::MUNMAP,
            Call::Mremap => events::MREMAP,
            Call::Shmat => events::SHMAT,
            Call::Shmdt => events::SHMDT,
            Call::Sbrk => events::SBRK,
            Call::Brk => events::BRK,
            Call::Madvise => events::MADVISE,
        }
    }

    /// The names that programs call it by.
    const fn names(self) -> &'static [&'static CStr] {
        match self {
            Call::Mmap => &[c"mmap", c"mmap64"],
            Call::Munmap => &[c"munmap"],
            Call::Mremap => &[c"mremap"],
            Call::Shmat => &[c"shmat"],
            Call::Shmdt => &[c"shmdt"],
            Call::Sbrk => &[c"sbrk"],
            Call::Brk => &[c"brk"],
            Call::Madvise => &[c"madvise"],
        }
    }

    /// The address of our function in its place.
    fn hook(self) -> usize {
        let hook = match self {
            Call::Mmap => calls::mmap as *const c_void,
            Call::Munmap => calls::munmap as *const c_void,
            Call::Mremap => calls::mremap as *const c_void,
            Call::Shmat => calls::shmat as *const c_void,
            Call::Shmdt => calls::shmdt as *const c_void,
            Call::Sbrk => calls::sbrk as *const c_void,
            Call::Brk => calls::brk as *const c_void,
            Call::Madvise => calls::madvise as *const c_void,
        };
        hook.expose_provenance()
    }
}

/// What has been installed. Never locked while a call with events is made.
struct Installed {
    /// Events that were seen to work.
    events: u32,
    forks_watched: bool,
}

static INSTALLED: Mutex<Installed> = Mutex::new(Installed {
    events: 0,
    forks_watched: false,
});

/// Installation takes a fraction of this; whoever has it for longer was in another thread when
/// this process was forked.
const PATIENCE: Duration = Duration::from_secs(10);

/// Sees to it that these events are reported.
///
/// # Errors
/// `Unsupported` if some can't be, or by the user's choice.
pub fn require(wanted: u32, settings: &Settings) -> Result<()> {
    if wanted & events::DEVICE != 0
        && device_memory_is_possible()
        && super::device::install().is_err()
    {
        crate::ucs_diag!("memory of GPUs is in use, and its events can't be reported");
        return Err(Error::Unsupported);
    }
    let wanted = events::with_calls(wanted);
    if wanted == 0 {
        return Ok(());
    }
    let mut installed = INSTALLED.try_lock_for(PATIENCE).ok_or(Error::NoResource)?;
    installed.watch_forks();
    if installed.events & wanted == wanted && probe::missing(wanted) == 0 {
        return Ok(());
    }
    if settings.mode == Mode::None {
        crate::ucs_debug!("UCX_MEM_MMAP_HOOK_MODE=none: no memory events");
        return Err(Error::Unsupported);
    }
    orig::prepare();
    let calls: Vec<Call> = Call::ALL
        .into_iter()
        .filter(|call| call.event() & wanted != 0)
        .collect();
    let missing = install(&calls, wanted, settings)?;
    if missing != 0 {
        crate::ucs_diag!("memory events that don't come although hooks are set: {missing:#x}");
        return Err(Error::Unsupported);
    }
    installed.events |= wanted;
    Ok(())
}

/// Installs by the wanted kind of hook, else by the other; returns the events that don't come.
fn install(calls: &[Call], wanted: u32, settings: &Settings) -> Result<u32> {
    #[cfg(target_arch = "x86_64")]
    if settings.mode == Mode::Bistro {
        let patched = bistro::install(calls, settings);
        let missing = patched.map(|()| probe::missing(wanted));
        if missing == Ok(0) {
            return Ok(0);
        }
        crate::ucs_diag!(
            "functions of libc can't be patched to report memory events ({missing:?}); \
             relocations are changed instead"
        );
    }
    reloc::install(calls, settings)?;
    Ok(probe::missing(wanted))
}

/// Of `wanted`, the events whose hooks are installed and don't work.
pub fn broken(wanted: u32) -> Result<u32> {
    let installed = INSTALLED.try_lock_for(PATIENCE).ok_or(Error::NoResource)?;
    Ok(probe::missing(wanted & installed.events))
}

/// Of `wanted`, the events that others promised to report and don't.
pub fn broken_external(wanted: u32) -> Result<u32> {
    let _serial = INSTALLED.try_lock_for(PATIENCE).ok_or(Error::NoResource)?;
    Ok(probe::missing(wanted & handlers::external()))
}

impl Installed {
    fn watch_forks(&mut self) {
        if !self.forks_watched {
            // SAFETY: functions of this library, which is never unloaded.
            unsafe { libc::pthread_atfork(None, Some(forked), Some(born)) };
            self.forks_watched = true;
        }
    }
}

/// From now on [`forks`] counts.
pub fn watch_forks() -> Result<()> {
    let mut installed = INSTALLED.try_lock_for(PATIENCE).ok_or(Error::NoResource)?;
    installed.watch_forks();
    Ok(())
}

static FORKS: AtomicU32 = AtomicU32::new(0);

/// How often this process was forked, or came out of a fork, since that is counted.
#[inline]
pub fn forks() -> u32 {
    FORKS.load(Relaxed)
}

extern "C" fn forked() {
    FORKS.fetch_add(1, Relaxed);
}

extern "C" fn born() {
    forked();
    handlers::forked();
}

/// Whether some GPU's driver is in the process.
fn device_memory_is_possible() -> bool {
    [c"libcuda.so.1", c"libamdhip64.so", c"libze_loader.so.1"]
        .iter()
        // SAFETY: a terminated string; nothing is loaded by this.
        .any(|name| unsafe { is_loaded(name) })
}

/// # Safety
/// As for `dlopen` with `RTLD_NOLOAD`, which any name is fine for.
unsafe fn is_loaded(name: &CStr) -> bool {
    // SAFETY: the handle is given back at once.
    unsafe {
        let handle = libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        !handle.is_null() && libc::dlclose(handle) == 0
    }
}

/// Where a function is: as programs find it, and in libc, should these differ.
fn definitions(name: &CStr) -> Vec<usize> {
    let mut found = Vec::new();
    if let Some(at) = crate::sys::symbols::definition(name) {
        found.push(at);
    }
    if let Some(at) = in_libc(name).filter(|at| !found.contains(at)) {
        found.push(at);
    }
    found
}

fn in_libc(name: &CStr) -> Option<usize> {
    // SAFETY: terminated strings; libc is there already, and stays.
    let at = unsafe {
        let libc = libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if libc.is_null() {
            return None;
        }
        let at = libc::dlsym(libc, name.as_ptr());
        libc::dlclose(libc);
        at
    };
    (!at.is_null()).then(|| at.expose_provenance())
}
