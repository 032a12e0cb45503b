//! `ucs/datastruct/string_set.h`.

use crate::abi::prelude::*;
use std::collections::BTreeSet;

use crate::abi::ucs::text;

pub type kh_ucs_string_set_t = kh_ucs_string_set_s;
pub type ucs_string_set_t = kh_ucs_string_set_t;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct kh_ucs_string_set_s {
    pub n_buckets: khint_t,
    pub size: khint_t,
    pub n_occupied: khint_t,
    pub upper_bound: khint_t,
    pub flags: *mut khint32_t,
    pub keys: *mut *mut c_char,
    pub vals: *mut c_char,
}

/// Makes an empty set of strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_set_init(sset: *mut ucs_string_set_t) {
    if !sset.is_null() {
        // SAFETY: not NULL, so the caller's own; all zero is the empty set.
        unsafe { core::ptr::write_bytes(sset, 0, 1) };
    }
}

/// Frees a set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_set_cleanup(sset: *mut ucs_string_set_t) {
    // SAFETY: NULL or initialised; the box is dropped once.
    unsafe {
        if let Some(strings) = strings(sset) {
            drop(Box::from_raw(strings as *mut Strings));
        }
        ucs_string_set_init(sset);
    }
}

/// Adds a copy of a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_set_add(
    sset: *mut ucs_string_set_t,
    str: *const c_char,
) -> ucs_status_t {
    // SAFETY: a C string or NULL.
    let Some(new) = (unsafe { text::bytes(str) }).filter(|_| !sset.is_null()) else {
        return Error::InvalidParam.into();
    };
    // SAFETY: not NULL, so initialised.
    unsafe {
        if (*sset).keys.is_null() {
            (*sset).keys = Box::into_raw(Box::<Strings>::default()).cast();
        }
        if let Some(strings) = strings(sset) {
            strings.insert(new.to_vec());
            (*sset).size = strings.len() as khint_t;
        }
    }
    Status::OK
}

/// 1 if a string is in the set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_set_contains(
    sset: *const ucs_string_set_t,
    str: *const c_char,
) -> c_int {
    // SAFETY: NULL or initialised; a C string or NULL.
    let (strings, wanted) = unsafe { (strings(sset), text::bytes(str)) };
    c_int::from(
        strings
            .zip(wanted)
            .is_some_and(|(strings, wanted)| strings.contains(wanted)),
    )
}

/// Appends all strings in order, with a separator between them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_set_print_sorted(
    sset: *const ucs_string_set_t,
    strb: *mut ucs_string_buffer_t,
    sep: *const c_char,
) -> ucs_status_t {
    // SAFETY: NULL or initialised; a C string or NULL; NULL or a string buffer.
    unsafe {
        let separator = text::bytes(sep).unwrap_or_default();
        let all: Vec<&[u8]> = strings(sset)
            .map(|set| set.iter().map(Vec::as_slice).collect())
            .unwrap_or_default();
        if !all.is_empty() {
            ucs_string_buffer_push(strb, &all.join(separator));
        }
    }
    Status::OK
}

/// The strings of a set, behind its `keys` pointer. NULL there means none.
///
/// cbindgen:ignore
type Strings = BTreeSet<Vec<u8>>;

/// # Safety
/// `sset` is NULL or initialised, and used by one thread.
unsafe fn strings<'a>(sset: *const ucs_string_set_t) -> Option<&'a mut Strings> {
    // SAFETY: as the caller promises; `keys` is NULL or a box of ours.
    unsafe { sset.as_ref()?.keys.cast::<Strings>().as_mut() }
}

// Variadic: the bodies are in C (see `variadic.c`), only declared here.
unsafe extern "C" {
    /// Adds formatted text.
    pub fn ucs_string_set_addf(
        sset: *mut ucs_string_set_t,
        fmt: *const c_char,
        ...
    ) -> ucs_status_t;
}
