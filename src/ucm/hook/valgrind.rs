//! valgrind: it runs translations of code, and must be told when the code changes; and it puts a heap
//! of its own in the place of libc's without anybody seeing that.

#[cfg(target_arch = "x86_64")]
mod request {
    use core::arch::asm;

    const RUNNING: u64 = 0x1001;
    const DISCARD_TRANSLATIONS: u64 = 0x1002;

    fn request(request: [u64; 6]) -> u64 {
        let answer;
        // SAFETY: valgrind recognises this sequence, which does nothing otherwise: the rotations of
        // rdi add up to 128 bits, and rbx is exchanged with itself.
        unsafe {
            asm!(
                "rol rdi, 3",
                "rol rdi, 13",
                "rol rdi, 61",
                "rol rdi, 51",
                "xchg rbx, rbx",
                in("rax") request.as_ptr(),
                inout("rdx") 0u64 => answer,
            );
        }
        answer
    }

    /// Whether this process runs on valgrind.
    pub fn is_running() -> bool {
        request([RUNNING, 0, 0, 0, 0, 0]) != 0
    }

    /// Tells valgrind, if it runs this process, that `len` bytes of code have changed.
    pub fn changed(at: usize, len: usize) {
        request([DISCARD_TRANSLATIONS, at as u64, len as u64, 0, 0, 0]);
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod request {
    /// Not known here.
    pub fn is_running() -> bool {
        false
    }
}

pub use request::*;
