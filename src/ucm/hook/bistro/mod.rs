//! Hooks by changed code (x86-64): the first bytes of a function become a jump to ours.
//!
//! This reaches every caller, those inside of libc included, and objects that are loaded later. A
//! direct jump is five bytes, so it always fits in one aligned word, which is stored at once.
//! Where our code is too far away for it, it leads to a page near the function that jumps on.
//!
//! Other threads may be inside the bytes that change. So with several threads, the function first
//! becomes a loop of two bytes, which holds whoever arrives; the rest follows after a pause in
//! which the others leave; then the loop becomes the jump.

mod near;
mod writable;

pub use near::allocate as allocate_near;
pub use writable::while_writable;

use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

use super::{Call, definitions, valgrind};
use crate::ucm::orig;
use crate::ucm::settings::Settings;
use crate::ucs::status::{Error, Result};

const JUMP_LEN: usize = 5;
/// `jmp` to itself.
const LOOP: u64 = u64::from_le_bytes([0xeb, 0xfe, 0, 0, 0, 0, 0, 0]);
const LOOP_MASK: u64 = 0xffff;

/// A function to be changed.
struct Site {
    at: usize,
    /// Its first eight bytes, to be.
    word: u64,
    /// No thread can be inside the bytes that change: they are one instruction.
    whole: bool,
}

/// Makes these calls lead to our hooks.
///
/// # Errors
/// `NoElem` if a function is not there, `Unsupported` if it can't be changed.
pub fn install(calls: &[Call], settings: &Settings) -> Result<()> {
    let mut sites: Vec<Site> = Vec::new();
    for call in calls {
        for name in call.names() {
            let found = definitions(name);
            if found.is_empty() {
                return Err(Error::NoElem);
            }
            for at in found {
                if !sites.iter().any(|site| site.at == at) {
                    sites.extend(site(*call, at, settings.far_jump)?);
                }
            }
        }
    }
    if sites.is_empty() {
        return Ok(());
    }
    let done = while_writable(sites.iter().map(|site| site.at), |alone| match alone {
        true => sites.iter().for_each(|site| site.store(site.word)),
        false => patch_under_threads(&sites, settings.grace),
    });
    sites.iter().for_each(|site| valgrind::changed(site.at, 8));
    done
}

/// What to change at a function, `None` if it leads to us already.
fn site(call: Call, at: usize, far: bool) -> Result<Option<Site>> {
    if !at.is_multiple_of(size_of::<u64>()) {
        return Err(Error::Unsupported);
    }
    let code: *const [u8; 16] = core::ptr::with_exposed_provenance(at);
    // SAFETY: the beginning of a function; no function of libc is the last bytes of its mapping.
    let code = unsafe { code.read() };
    if let Some(target) = jump_target(&code, at) {
        if target == call.hook() || near::leads_to(target) == Some(call.hook()) {
            return Ok(None);
        }
        orig::set_previous(call, target);
    }
    let direct = displacement(at, call.hook()).filter(|_| !far);
    let displacement = match direct {
        Some(displacement) => displacement,
        None => displacement_to_page(call, at)?,
    };
    let mut word = [0; 8];
    word.copy_from_slice(&code[..8]);
    word[0] = 0xe9;
    word[1..JUMP_LEN].copy_from_slice(&displacement.to_le_bytes());
    Ok(Some(Site {
        at,
        word: u64::from_le_bytes(word),
        // `mov $imm32, %reg`, which most calls begin with.
        whole: matches!(code[0], 0xb8..=0xbf),
    }))
}

fn displacement_to_page(call: Call, at: usize) -> Result<i32> {
    let page = near::page(at).ok_or(Error::Unsupported)?;
    displacement(at, page.entry(call)).ok_or(Error::Unsupported)
}

/// The operand of a direct jump at `from`.
fn displacement(from: usize, to: usize) -> Option<i32> {
    i32::try_from(to.wrapping_sub(from + JUMP_LEN) as isize).ok()
}

/// Where code that begins with an unconditional jump of a hook goes on.
fn jump_target(code: &[u8; 16], at: usize) -> Option<usize> {
    let word = |from: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&code[from..from + 8]);
        usize::from_le_bytes(bytes)
    };
    match code {
        [0xe9, a, b, c, d, ..] => {
            let operand = i32::from_le_bytes([*a, *b, *c, *d]);
            Some((at + JUMP_LEN).wrapping_add_signed(operand as isize))
        }
        // movabs to a register, and a jump through it.
        [0x48, 0xb8, .., 0xff, 0xe0, _, _, _, _] => Some(word(2)),
        [0x49, 0xbb, .., 0x41, 0xff, 0xe3, _, _, _] => Some(word(2)),
        _ => None,
    }
}

impl Site {
    fn now(&self) -> &AtomicU64 {
        let word: *const AtomicU64 = core::ptr::with_exposed_provenance(self.at);
        // SAFETY: the aligned beginning of a function, which stays.
        unsafe { &*word }
    }

    /// The pages must be writable.
    fn store(&self, word: u64) {
        self.now().store(word, Ordering::SeqCst);
    }
}

fn patch_under_threads(sites: &[Site], grace: Duration) {
    for site in sites {
        let old = site.now().load(Ordering::SeqCst);
        site.store(old & !LOOP_MASK | LOOP);
    }
    serialize();
    if sites.iter().any(|site| !site.whole) {
        pause(grace);
    }
    for site in sites {
        site.store(site.word & !LOOP_MASK | LOOP);
    }
    serialize();
    for site in sites {
        site.store(site.word);
    }
    serialize();
}

/// Makes all threads forget instructions that they have read ahead.
pub fn serialize() {
    const REGISTER: c_int = 1 << 6;
    const SYNC_CORE: c_int = 1 << 5;
    // SAFETY: takes no pointers. Older kernels don't have it; they interrupt often enough.
    unsafe {
        libc::syscall(libc::SYS_membarrier, REGISTER, 0, 0);
        libc::syscall(libc::SYS_membarrier, SYNC_CORE, 0, 0);
    }
}

fn pause(time: Duration) {
    let time = libc::timespec {
        tv_sec: time.as_secs() as libc::time_t,
        tv_nsec: time.subsec_nanos().into(),
    };
    // SAFETY: a readable time.
    unsafe { libc::nanosleep(&time, core::ptr::null_mut()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_are_recognised() {
        let direct = [
            0xe9, 0xfb, 0xff, 0xff, 0xff, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
        ];
        assert_eq!(jump_target(&direct, 0x1000), Some(0x1000));
        assert_eq!(displacement(0x1000, 0x1000), Some(-5));
        let rax = [0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 0xff, 0xe0, 0, 0, 0, 0];
        let r11 = [
            0x49, 0xbb, 1, 2, 3, 4, 5, 6, 7, 8, 0x41, 0xff, 0xe3, 0, 0, 0,
        ];
        assert_eq!(jump_target(&rax, 0x1000), Some(0x0807_0605_0403_0201));
        assert_eq!(jump_target(&r11, 0x1000), Some(0x0807_0605_0403_0201));
        let munmap = [
            0xb8, 0x0b, 0, 0, 0, 0x0f, 0x05, 0x48, 0x3d, 1, 0xf0, 0xff, 0xff, 0x73, 1, 0xc3,
        ];
        assert_eq!(jump_target(&munmap, 0x1000), None);
        assert_eq!(displacement(0, 1 << 40), None);
    }
}
