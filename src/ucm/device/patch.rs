//! Changing functions so that they lead to hooks which call the original on.
//!
//! Near each function lies an entry: a jump to the hook, and the function's first instructions
//! followed by a jump to the rest, by which the original is called. The function begins with a
//! jump to the first of these then.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU16, Ordering};
use core::time::Duration;

use super::decode::decode;
use super::functions::Function;
use crate::sys::process::page_size;
use crate::ucm::hook::{allocate_near, serialize, while_writable};
use crate::ucs::status::{Error, Result};

/// A direct jump.
const JUMP: usize = 5;
/// An indirect jump with the address it takes.
const FAR_JUMP: usize = 14;
/// Bytes of an entry.
const ENTRY: usize = 80;
/// `jmp` to itself.
const LOOP: u16 = u16::from_le_bytes([0xeb, 0xfe]);

/// A function to be changed.
struct Site {
    at: usize,
    bytes: [u8; JUMP],
}

/// Changes all, or none.
///
/// # Errors
/// `Unsupported` for code that can't be changed, `NoMemory` without a page near it.
pub fn install(found: &[(Function, usize)], grace: Duration) -> Result<()> {
    let mut sites: Vec<Site> = Vec::new();
    let mut page: Option<(usize, usize)> = None;
    for (function, at) in found {
        // Several names may lead to one function.
        if sites.iter().any(|site| site.at == *at) {
            continue;
        }
        let (base, used) = match page
            .filter(|(base, used)| base.abs_diff(*at) < 1 << 30 && used + ENTRY <= page_size())
        {
            Some(page) => page,
            None => (
                allocate_near(*at)
                    .ok_or(Error::NoMemory)?
                    .expose_provenance(),
                0,
            ),
        };
        sites.push(prepare(*function, *at, base + used)?);
        page = Some((base, used + ENTRY));
        let code: *mut c_void = core::ptr::with_exposed_provenance_mut(base);
        // The page is to be written for the next entry again.
        let all = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        // SAFETY: our own page.
        if unsafe { libc::mprotect(code, page_size(), all) } != 0 {
            return Err(Error::Unsupported);
        }
    }
    change(&sites, grace)
}

/// Fills a function's entry.
fn prepare(function: Function, at: usize, entry: usize) -> Result<Site> {
    let code: *const [u8; 32] = core::ptr::with_exposed_provenance(at);
    // SAFETY: the beginning of a function of a library; behind its code there is always more.
    let code = unsafe { code.read() };
    let own = entry + FAR_JUMP;
    let moved = relocate(&code, at, own).ok_or_else(|| {
        crate::ucs_diag!("the begin of {:?} can't be moved", function.name);
        Error::Unsupported
    })?;
    let mut bytes = far_jump(function.hook).to_vec();
    bytes.extend(moved);
    if !at.is_multiple_of(2) || bytes.len() > ENTRY {
        return Err(Error::Unsupported);
    }
    let to: *mut u8 = core::ptr::with_exposed_provenance_mut(entry);
    // SAFETY: room for an entry in a page of our own that nobody runs yet.
    unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    function.original.store(own, Ordering::Relaxed);
    let mut bytes = [0xe9, 0, 0, 0, 0];
    bytes[1..].copy_from_slice(&displacement(at + JUMP, entry).ok_or(Error::Unsupported)?);
    Ok(Site { at, bytes })
}

fn far_jump(to: usize) -> [u8; FAR_JUMP] {
    let mut code = [0xff, 0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    code[6..].copy_from_slice(&to.to_le_bytes());
    code
}

fn displacement(from: usize, to: usize) -> Option<[u8; 4]> {
    let distance = i32::try_from(to.wrapping_sub(from) as isize).ok()?;
    Some(distance.to_le_bytes())
}

/// The instructions of `code`, which is at `at`, that a jump would overwrite, for `to`, with a
/// jump to what follows.
fn relocate(code: &[u8], at: usize, to: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let (mut done, mut last) = (0, false);
    while done < JUMP {
        if last {
            return None;
        }
        let instruction = decode(code.get(done..)?)?;
        let end = done + instruction.len;
        let mut bytes = code.get(done..end)?.to_vec();
        if let Some(place) = instruction.relative {
            let field = bytes.get_mut(place..place + 4)?;
            let old = i32::from_le_bytes((&*field).try_into().ok()?);
            let target = (at + end).wrapping_add_signed(old as isize);
            field.copy_from_slice(&displacement(to + end, target)?);
        }
        out.extend(bytes);
        (done, last) = (end, instruction.last);
    }
    if !last {
        out.extend(far_jump(at + done));
    }
    Some(out)
}

fn change(sites: &[Site], grace: Duration) -> Result<()> {
    let ends = sites.iter().flat_map(|site| [site.at, site.at + JUMP - 1]);
    while_writable(ends, |alone| {
        // With other threads around, a loop holds whoever comes while the rest is written.
        if !alone {
            sites.iter().for_each(|site| site.begin(LOOP));
            serialize();
            std::thread::sleep(grace);
        }
        sites.iter().for_each(Site::write_rest);
        serialize();
        sites.iter().for_each(Site::finish);
        serialize();
    })
}

impl Site {
    /// Stores the first two bytes at once.
    fn begin(&self, word: u16) {
        let first: *const AtomicU16 = core::ptr::with_exposed_provenance(self.at);
        // SAFETY: an even address in a page that is writable now.
        unsafe { &*first }.store(word, Ordering::SeqCst);
    }

    fn write_rest(&self) {
        let to: *mut u8 = core::ptr::with_exposed_provenance_mut(self.at + 2);
        // SAFETY: the code that was moved, in a page that is writable now.
        unsafe { core::ptr::copy_nonoverlapping(self.bytes[2..].as_ptr(), to, JUMP - 2) };
    }

    fn finish(&self) {
        self.begin(u16::from_le_bytes([self.bytes[0], self.bytes[1]]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_relative_still_leads_there() {
        let mut code = [0x90; 32];
        code[..7].copy_from_slice(&[0x48, 0x8d, 0x05, 0x10, 0, 0, 0]);
        let moved = relocate(&code, 0x1000, 0x9000).expect("can be moved");
        assert_eq!(moved[..3], code[..3]);
        let now = i32::from_le_bytes([moved[3], moved[4], moved[5], moved[6]]);
        assert_eq!(0x9007 + i64::from(now), 0x1017);
        assert_eq!(moved[7..], far_jump(0x1007));
        code[..5].copy_from_slice(&[0xe9, 0xfb, 0xff, 0xff, 0xff]);
        let moved = relocate(&code, 0x1000, 0x9000).expect("can be moved");
        assert_eq!(moved.len(), 5);
        code[..2].copy_from_slice(&[0x0f, 0x05]);
        assert_eq!(relocate(&code, 0x1000, 0x9000), None);
    }
}
