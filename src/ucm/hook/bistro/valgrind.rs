//! valgrind runs translations of code, and must be told when the code changes.

use core::arch::asm;

const DISCARD_TRANSLATIONS: u64 = 0x1002;

/// Tells valgrind, if it runs this process, that `len` bytes of code have changed.
pub fn changed(at: usize, len: usize) {
    let request = [DISCARD_TRANSLATIONS, at as u64, len as u64, 0, 0, 0];
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
            inout("rdx") 0u64 => _,
        );
    }
}
