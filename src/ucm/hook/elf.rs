//! Loaded objects and their relocations.

use core::ffi::{CStr, c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::sys::process::page_size;

/// A symbol whose references are to lead somewhere else.
pub struct Redirect {
    pub name: &'static CStr,
    /// Where to.
    pub target: usize,
    /// Where the function itself is; pointers to it that data holds are changed as well.
    pub original: usize,
}

#[cfg(target_arch = "x86_64")]
mod kinds {
    pub const ABSOLUTE: u32 = 1;
    pub const GLOB_DAT: u32 = 6;
    pub const JUMP_SLOT: u32 = 7;
}
#[cfg(target_arch = "aarch64")]
mod kinds {
    pub const ABSOLUTE: u32 = 257;
    pub const GLOB_DAT: u32 = 1025;
    pub const JUMP_SLOT: u32 = 1026;
}

const DT_PLTRELSZ: u64 = 2;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_RELA: u64 = 7;
const DT_RELASZ: u64 = 8;
const DT_STRSZ: u64 = 10;
const DT_JMPREL: u64 = 23;

#[repr(C)]
struct Dyn {
    tag: u64,
    value: u64,
}

#[repr(C)]
struct Rela {
    offset: u64,
    info: u64,
    addend: i64,
}

/// Changes all loaded objects. Returns how many references now lead to the targets.
pub fn redirect(redirects: &[Redirect]) -> usize {
    struct Walk<'a> {
        redirects: &'a [Redirect],
        found: usize,
    }
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _: usize,
        walk: *mut c_void,
    ) -> c_int {
        // SAFETY: the walk below, and what the loader tells about an object that stays loaded
        // during this call.
        unsafe {
            let walk = &mut *walk.cast::<Walk>();
            if let Some(object) = Object::of(&*info) {
                walk.found += object.redirect(walk.redirects);
            }
        }
        0
    }
    let mut walk = Walk {
        redirects,
        found: 0,
    };
    // SAFETY: the function above, with its argument.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut walk).cast()) };
    walk.found
}

/// The parts of a loaded object that matter here.
#[derive(Default)]
struct Object {
    base: usize,
    symbols: usize,
    strings: usize,
    /// Bytes.
    strings_size: usize,
    /// Address and bytes of the tables of relocations.
    tables: [(usize, usize); 2],
    /// What is read-only after it was relocated: start and end.
    relro: (usize, usize),
}

impl Object {
    /// # Safety
    /// `info` describes an object that stays loaded meanwhile.
    unsafe fn of(info: &libc::dl_phdr_info) -> Option<Object> {
        // SAFETY: the loader's own description.
        unsafe {
            if !info.dlpi_name.is_null()
                && CStr::from_ptr(info.dlpi_name)
                    .to_bytes()
                    .starts_with(b"linux-")
            {
                // The kernel's own object: nothing in it is relocated.
                return None;
            }
            let headers = core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
            let base = info.dlpi_addr as usize;
            let mut object = Object {
                base,
                ..Object::default()
            };
            let mut dynamic = core::ptr::null::<Dyn>();
            for header in headers {
                let start = base.wrapping_add(header.p_vaddr as usize);
                match header.p_type {
                    libc::PT_DYNAMIC => dynamic = core::ptr::with_exposed_provenance(start),
                    libc::PT_GNU_RELRO => {
                        object.relro = (start, start.wrapping_add(header.p_memsz as usize));
                    }
                    _ => {}
                }
            }
            while let Some(entry) = dynamic.as_ref().filter(|entry| entry.tag != 0) {
                object.note(entry);
                dynamic = dynamic.add(1);
            }
            (object.symbols != 0 && object.strings != 0).then_some(object)
        }
    }

    fn note(&mut self, entry: &Dyn) {
        let value = entry.value as usize;
        // Most loaders store addresses here, some leave them relative.
        let address = match value < self.base {
            true => self.base.wrapping_add(value),
            false => value,
        };
        match entry.tag {
            DT_STRTAB => self.strings = address,
            DT_STRSZ => self.strings_size = value,
            DT_SYMTAB => self.symbols = address,
            DT_JMPREL => self.tables[0].0 = address,
            DT_PLTRELSZ => self.tables[0].1 = value,
            DT_RELA => self.tables[1].0 = address,
            DT_RELASZ => self.tables[1].1 = value,
            _ => {}
        }
    }

    /// # Safety
    /// The object stays loaded meanwhile.
    unsafe fn redirect(&self, redirects: &[Redirect]) -> usize {
        let mut found = 0;
        for (at, bytes) in self.tables.iter().filter(|table| table.0 != 0) {
            let first: *const Rela = core::ptr::with_exposed_provenance(*at);
            // SAFETY: the table that the object's own description names.
            let table = unsafe { core::slice::from_raw_parts(first, bytes / size_of::<Rela>()) };
            for entry in table {
                // SAFETY: an entry of that table.
                if let Some(redirect) = unsafe { self.wanted(entry, redirects) } {
                    let slot = self.base.wrapping_add(entry.offset as usize);
                    // SAFETY: the slot that this relocation has filled.
                    unsafe { self.store(slot, redirect.target) };
                    found += 1;
                }
            }
        }
        found
    }

    /// # Safety
    /// `entry` is from a table of this object.
    unsafe fn wanted<'a>(&self, entry: &Rela, redirects: &'a [Redirect]) -> Option<&'a Redirect> {
        let (symbol, kind) = ((entry.info >> 32) as usize, entry.info as u32);
        let direct = kind == kinds::GLOB_DAT || kind == kinds::JUMP_SLOT;
        if symbol == 0 || !(direct || kind == kinds::ABSOLUTE && entry.addend == 0) {
            return None;
        }
        let symbols: *const libc::Elf64_Sym = core::ptr::with_exposed_provenance(self.symbols);
        // SAFETY: a relocation names a symbol of its object's table, and that a string.
        let name = unsafe {
            let name = (*symbols.add(symbol)).st_name as usize;
            if name >= self.strings_size {
                return None;
            }
            CStr::from_ptr(core::ptr::with_exposed_provenance(self.strings + name))
        };
        let redirect = redirects.iter().find(|redirect| redirect.name == name)?;
        let slot = self.base.wrapping_add(entry.offset as usize);
        let now = slot_value(slot);
        // Data may have been changed since; a reference is what it was made for.
        let ours = now != redirect.target && (direct || now == redirect.original);
        ours.then_some(redirect)
    }

    /// # Safety
    /// `slot` is a word of this object that a relocation fills.
    unsafe fn store(&self, slot: usize, value: usize) {
        let page = slot & !(page_size() - 1);
        let protected = slot >= self.relro.0 && slot < self.relro.1;
        let page: *mut c_void = core::ptr::with_exposed_provenance_mut(page);
        let writable = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a page of this object's data; the word is aligned and read by the whole program.
        unsafe {
            if protected && libc::mprotect(page, page_size(), writable) != 0 {
                return;
            }
            let word: *const AtomicUsize = core::ptr::with_exposed_provenance(slot);
            (*word).store(value, Ordering::Release);
            if protected {
                libc::mprotect(page, page_size(), libc::PROT_READ);
            }
        }
    }
}

fn slot_value(slot: usize) -> usize {
    let word: *const AtomicUsize = core::ptr::with_exposed_provenance(slot);
    // SAFETY: a word that a relocation of a loaded object fills.
    unsafe { (*word).load(Ordering::Acquire) }
}
