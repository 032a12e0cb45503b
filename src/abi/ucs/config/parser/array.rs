//! Arrays of `ucs/config/parser.h`, behind pointers from C.
//!
//! All functions here take pointers that a program's table of variables describes: what they
//! point to has the type that the kind says, and room for it.

use super::value::{help, parse, print};
use crate::abi::prelude::*;
use crate::abi::ucs::text;
use crate::ucs::config::{self, AllowList, Mode};

/// What the elements of an array are. The array of strings that the library exports has no
/// content (its size differs between versions), so its address says it.
///
/// # Safety
/// `arg` is NULL, the array of strings, or a description.
pub(super) unsafe fn element(arg: *const c_void) -> Option<ucs_config_array_t> {
    let strings: *const c_void = ucs_config_array_string.get().cast_const().cast();
    if arg == strings {
        let parser = ucs_config_parser {
            read: Some(ucs_config_sscanf_string),
            write: Some(ucs_config_sprintf_string),
            clone: Some(ucs_config_clone_string),
            release: Some(ucs_config_release_string),
            help: Some(ucs_config_help_generic),
            doc: Some(ucs_config_doc_nop),
            arg: c"string".as_ptr().cast(),
        };
        return Some(ucs_config_array {
            elem_size: size_of::<*mut c_char>(),
            parser,
        });
    }
    // SAFETY: as the caller promises.
    unsafe { arg.cast::<ucs_config_array_t>().as_ref() }.copied()
}

/// What an element may be, for people.
///
/// # Safety
/// As [`element`].
pub(super) unsafe fn element_help(arg: *const c_void) -> String {
    // SAFETY: as the caller promises.
    unsafe { element(arg) }.map_or_else(String::new, |element| unsafe { help(&element.parser) })
}

/// Fills an array with what tokens say.
///
/// # Safety
/// `dest` has room for an array, `arg` is as in [`element`].
unsafe fn fill_array<'a>(
    dest: *mut c_void,
    arg: *const c_void,
    tokens: impl Iterator<Item = &'a str>,
) -> c_int {
    // SAFETY: as the caller promises.
    let Some(element) = unsafe { element(arg) }.filter(|_| !dest.is_null()) else {
        return 0;
    };
    let tokens: Vec<&str> = tokens.collect();
    let count = tokens.len().min(UCS_CONFIG_ARRAY_MAX as usize);
    // SAFETY: calloc checks the product; at least one element, so that NULL means no memory.
    let data = unsafe { libc::calloc(count.max(1), element.elem_size) };
    if data.is_null() {
        return 0;
    }
    let mut array = ucs_config_names_array_t {
        names: data.cast(),
        count: 0,
        truncated: c_uint::from(tokens.len() > count),
    };
    for token in tokens.iter().take(count) {
        let offset = array.count as usize * element.elem_size;
        // SAFETY: inside the memory just made; the element's own parser.
        if !unsafe { parse(&element.parser, token, data.byte_add(offset)) } {
            // SAFETY: the elements read so far.
            unsafe { release_array((&raw mut array).cast(), arg) };
            return 0;
        }
        array.count += 1;
    }
    // SAFETY: not NULL, so room for an array.
    unsafe {
        dest.cast::<ucs_config_names_array_t>()
            .write_unaligned(array)
    };
    1
}

/// Reads an array.
///
/// # Safety
/// `buf` is NULL or a C string, the rest as in [`fill_array`].
pub(super) unsafe fn read_array(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
    delimiter: char,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe {
        let all = text::read(buf);
        fill_array(dest, arg, config::tokens(&all, delimiter))
    }
}

/// Reads a list with negation.
///
/// # Safety
/// As [`read_array`], with room for a list.
pub(super) unsafe fn read_allow_list(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
    ranges: bool,
) -> c_int {
    if buf.is_null() || dest.is_null() {
        return 0;
    }
    // SAFETY: as the caller promises; the array comes first in a list.
    unsafe {
        let Some(list) = AllowList::parse(&text::read(buf), ranges) else {
            return 0;
        };
        if fill_array(dest, arg, list.names.iter().map(String::as_str)) == 0 {
            return 0;
        }
        let mode = match list.mode {
            Mode::All => UCS_CONFIG_ALLOW_LIST_ALLOW_ALL,
            Mode::Only => UCS_CONFIG_ALLOW_LIST_ALLOW,
            Mode::AllBut => UCS_CONFIG_ALLOW_LIST_NEGATE,
        };
        (&raw mut (*dest.cast::<ucs_config_allow_list_t>()).mode).write_unaligned(mode);
    }
    1
}

/// The elements of an array as text.
///
/// # Safety
/// `src` is NULL or an array that was read or copied here, `arg` as in [`element`].
unsafe fn array_text(src: *const c_void, arg: *const c_void, delimiter: &str) -> Option<String> {
    // SAFETY: as the caller promises.
    let element = unsafe { element(arg) }?;
    if src.is_null() {
        return None;
    }
    // SAFETY: not NULL, so an array.
    let array = unsafe { src.cast::<ucs_config_names_array_t>().read_unaligned() };
    let mut texts = Vec::new();
    for index in 0..array.count as usize {
        // SAFETY: below the count; the element's own parser.
        texts.push(unsafe {
            print(
                &element.parser,
                array.names.byte_add(index * element.elem_size).cast(),
            )?
        });
    }
    Some(texts.join(delimiter))
}

/// Writes an array as text.
///
/// # Safety
/// As [`array_text`]; `buf` has room for `max` bytes.
pub(super) unsafe fn write_array(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
    delimiter: &str,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe {
        match array_text(src, arg, delimiter) {
            Some(printed) => {
                text::write(buf, max, printed.as_bytes());
                1
            }
            None => 0,
        }
    }
}

/// Writes a list with negation as text.
///
/// # Safety
/// As [`write_array`], for a list.
pub(super) unsafe fn write_allow_list(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    if src.is_null() {
        return 0;
    }
    // SAFETY: as the caller promises; the array comes first in a list.
    unsafe {
        let mode = (&raw const (*src.cast::<ucs_config_allow_list_t>()).mode).read_unaligned();
        let printed = match mode {
            UCS_CONFIG_ALLOW_LIST_ALLOW_ALL => Some("all".to_owned()),
            UCS_CONFIG_ALLOW_LIST_NEGATE => {
                array_text(src, arg, ",").map(|text| format!("^{text}"))
            }
            _ => array_text(src, arg, ","),
        };
        let Some(printed) = printed else { return 0 };
        text::write(buf, max, printed.as_bytes());
    }
    1
}

/// Copies an array.
///
/// # Safety
/// `src` is NULL or an array that was read or copied here, `dest` has room for one.
pub(super) unsafe fn clone_array(
    src: *const c_void,
    dest: *mut c_void,
    arg: *const c_void,
) -> ucs_status_t {
    // SAFETY: as the caller promises.
    let element = unsafe { element(arg) }.filter(|_| !src.is_null() && !dest.is_null());
    let Some((element, clone)) = element.and_then(|e| Some((e, e.parser.clone?))) else {
        return Error::InvalidParam.into();
    };
    // SAFETY: not NULL, so an array.
    let array = unsafe { src.cast::<ucs_config_names_array_t>().read_unaligned() };
    // SAFETY: calloc checks the product.
    let data = unsafe { libc::calloc((array.count as usize).max(1), element.elem_size) };
    if data.is_null() {
        return Error::NoMemory.into();
    }
    let mut copy = ucs_config_names_array_t {
        names: data.cast(),
        count: 0,
        ..array
    };
    for index in 0..array.count as usize {
        let offset = index * element.elem_size;
        // SAFETY: below both counts; the element's own parser.
        let status = unsafe {
            clone(
                array.names.byte_add(offset).cast(),
                data.byte_add(offset),
                element.parser.arg,
            )
        };
        if status != Status::OK {
            // SAFETY: the elements copied so far.
            unsafe { release_array((&raw mut copy).cast(), arg) };
            return status;
        }
        copy.count += 1;
    }
    // SAFETY: not NULL, so room for an array.
    unsafe {
        dest.cast::<ucs_config_names_array_t>()
            .write_unaligned(copy)
    };
    Status::OK
}

/// Frees what an array holds.
///
/// # Safety
/// `array` is NULL or an array that was read or copied here.
pub(super) unsafe fn release_array(array: *mut c_void, arg: *const c_void) {
    // SAFETY: as the caller promises.
    let Some(element) = unsafe { element(arg) }.filter(|_| !array.is_null()) else {
        return;
    };
    // SAFETY: not NULL, so an array; its memory is from calloc, and forgotten here.
    unsafe {
        let place = array.cast::<ucs_config_names_array_t>();
        let array = place.read_unaligned();
        if let Some(release) = element.parser.release {
            for index in 0..array.count as usize {
                release(
                    array.names.byte_add(index * element.elem_size).cast(),
                    element.parser.arg,
                );
            }
        }
        libc::free(array.names.cast());
        let empty = ucs_config_names_array_t {
            names: core::ptr::null_mut(),
            count: 0,
            ..array
        };
        place.write_unaligned(empty);
    }
}
