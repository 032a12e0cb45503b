//! The processor: identification and time stamp counter.

/// The four registers that the instruction `cpuid` answers in.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuId {
    pub eax: u32,
    pub ebx: u32,
    pub ecx: u32,
    pub edx: u32,
}

/// What `cpuid` says for a leaf and sub-leaf; zeros where there is no such instruction.
#[cfg(target_arch = "x86_64")]
pub fn cpuid(leaf: u32, sub: u32) -> CpuId {
    // Safe to call since Rust 1.94, `unsafe` before.
    #[allow(unused_unsafe)]
    // SAFETY: every x86_64 processor has the instruction.
    let r = unsafe { core::arch::x86_64::__cpuid_count(leaf, sub) };
    CpuId {
        eax: r.eax,
        ebx: r.ebx,
        ecx: r.ecx,
        edx: r.edx,
    }
}

/// What `cpuid` says for a leaf and sub-leaf; zeros where there is no such instruction.
#[cfg(not(target_arch = "x86_64"))]
pub fn cpuid(_leaf: u32, _sub: u32) -> CpuId {
    CpuId::default()
}

/// The time stamp counter, not reordered with loads before it.
#[cfg(target_arch = "x86_64")]
pub fn rdtsc() -> u64 {
    // SAFETY: both instructions exist on every x86_64 processor and touch no memory.
    unsafe {
        core::arch::x86_64::_mm_lfence();
        core::arch::x86_64::_rdtsc()
    }
}

/// The time stamp counter, as cheaply as can be: loads around it may come earlier or later.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn rdtsc_relaxed() -> u64 {
    // SAFETY: the instruction exists on every x86_64 processor and touches no memory.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The time stamp counter; there is none.
#[cfg(not(target_arch = "x86_64"))]
pub fn rdtsc_relaxed() -> u64 {
    0
}

/// The processors that this thread may run on.
pub fn affinity() -> Vec<usize> {
    // SAFETY: a set for which zero is a value, with room for the answer.
    let set = unsafe {
        let mut set: libc::cpu_set_t = core::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set);
        set
    };
    let all = 0..libc::CPU_SETSIZE as usize;
    // SAFETY: below the number of processors that a set holds.
    all.filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) })
        .collect()
}

/// Binds this thread, and those that it will start, to processors.
///
/// # Errors
/// The system's.
pub fn set_affinity(cpus: &[usize]) -> std::io::Result<()> {
    let known = cpus.iter().filter(|cpu| **cpu < libc::CPU_SETSIZE as usize);
    // SAFETY: a set for which zero is a value, and numbers below its size.
    let rc = unsafe {
        let mut set: libc::cpu_set_t = core::mem::zeroed();
        known.for_each(|cpu| libc::CPU_SET(*cpu, &mut set));
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    match rc {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// The time stamp counter; there is none.
#[cfg(not(target_arch = "x86_64"))]
pub fn rdtsc() -> u64 {
    0
}
