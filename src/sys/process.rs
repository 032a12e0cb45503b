//! The process and its host: pages, processors, identity.

/// Size of a page in bytes.
pub fn page_size() -> usize {
    // SAFETY: no pointers are passed.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// Number of configured processors, or -1.
pub fn num_cpus() -> i64 {
    // SAFETY: no pointers are passed.
    unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) }
}

/// The kernel's number of the calling thread.
pub fn thread_id() -> i32 {
    thread_local! {
        static ID: core::cell::Cell<(u32, i32)> = const { core::cell::Cell::new((0, 0)) };
    }
    // A forked child's thread has another one.
    let process = std::process::id();
    let (known, id) = ID.get();
    if known == process {
        return id;
    }
    // SAFETY: no pointers are passed.
    let id = unsafe { libc::gettid() };
    ID.set((process, id));
    id
}

/// Runs `f` with all signals blocked in this thread: threads that it starts inherit that.
pub fn without_signals<R>(f: impl FnOnce() -> R) -> R {
    // SAFETY: sets of signals are plain data, filled before they are used; both are local.
    let old = unsafe {
        let mut all: libc::sigset_t = core::mem::zeroed();
        let mut old: libc::sigset_t = core::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old);
        old
    };
    let result = f();
    // SAFETY: the set that was in force before.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &old, core::ptr::null_mut()) };
    result
}
