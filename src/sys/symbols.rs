//! Which object a symbol binds to.

use core::ffi::{CStr, c_int, c_void};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// An object in this process: where it is mapped, and its file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Object {
    base: usize,
    pub path: PathBuf,
}

/// What a symbol is bound to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Binding {
    /// No object that programs see has it.
    Nowhere,
    /// The executable's own entry for a function of some other object, which stands for it.
    Stub,
    In(Object),
}

/// glibc's request of `dladdr1` for the symbol's entry in the table.
const RTLD_DL_SYMENT: c_int = 1;

unsafe extern "C" {
    fn dladdr1(
        address: *const c_void,
        info: *mut libc::Dl_info,
        extra: *mut *const libc::Elf64_Sym,
        flags: c_int,
    ) -> c_int;
}

/// The object that contains this code.
pub fn own() -> Option<Object> {
    let here = own as fn() -> Option<Object>;
    locate(here as *const c_void).map(|(object, _)| object)
}

/// What programs get when they refer to `name`.
pub fn binding(name: &CStr) -> Binding {
    // SAFETY: a terminated string; the call only looks up.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if address.is_null() {
        return Binding::Nowhere;
    }
    match locate(address) {
        Some((_, true)) => Binding::Stub,
        Some((object, false)) => Binding::In(object),
        None => Binding::Nowhere,
    }
}

/// Where the function is that programs get when they refer to `name`; `None` also where that is only
/// the executable's own entry for it.
pub fn definition(name: &CStr) -> Option<usize> {
    // SAFETY: a terminated string; the call only looks up.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    match locate(address)? {
        (_, true) => None,
        (_, false) => Some(address.expose_provenance()),
    }
}

/// The object at an address, and whether the symbol there is only a reference.
fn locate(address: *const c_void) -> Option<(Object, bool)> {
    // SAFETY: Dl_info is plain data for which zero is a value.
    let mut info: libc::Dl_info = unsafe { core::mem::zeroed() };
    let mut symbol: *const libc::Elf64_Sym = core::ptr::null();
    // SAFETY: any address may be asked for; both results are writable.
    let found = unsafe { dladdr1(address, &mut info, &mut symbol, RTLD_DL_SYMENT) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: NULL or an entry of a table that lives as long as its object.
    let undefined = unsafe { symbol.as_ref() }.is_some_and(|entry| entry.st_shndx == 0);
    // SAFETY: a terminated string that lives as long as the object.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    let path = PathBuf::from(OsStr::from_bytes(name.to_bytes()));
    Some((
        Object {
            base: info.dli_fbase as usize,
            path,
        },
        undefined,
    ))
}

/// Size of the object at an address, as the table of the file it lies in says: for data that an
/// executable carries a copy of, the size in the headers that it was built with.
pub fn size_at(address: usize) -> Option<u64> {
    let address = address as *const c_void;
    // SAFETY: Dl_info is plain data for which zero is a value.
    let mut info: libc::Dl_info = unsafe { core::mem::zeroed() };
    let mut symbol: *const libc::Elf64_Sym = core::ptr::null();
    // SAFETY: any address may be asked for; both results are writable.
    let found = unsafe { dladdr1(address, &mut info, &mut symbol, RTLD_DL_SYMENT) };
    // SAFETY: NULL or an entry of a table that lives as long as its object.
    unsafe { symbol.as_ref() }
        .filter(|_| found != 0)
        .map(|entry| entry.st_size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_told_apart() {
        let own = own().expect("loaded from a file");
        assert!(own.path.exists(), "{own:?}");
        let Binding::In(libc) = binding(c"qsort") else {
            panic!("libc has it")
        };
        assert_ne!(libc, own);
        assert_eq!(binding(c"ucx_rs_no_such_symbol"), Binding::Nowhere);
    }
}
