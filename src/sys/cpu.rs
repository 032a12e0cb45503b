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

/// The time stamp counter; there is none.
#[cfg(not(target_arch = "x86_64"))]
pub fn rdtsc() -> u64 {
    0
}
