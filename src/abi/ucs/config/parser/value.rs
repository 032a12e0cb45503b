//! Values of the kinds of `ucs/config/parser.h`, behind pointers from C.
//!
//! All functions here take pointers that a program's table of variables describes: what they
//! point to has the type that the kind says, and room for it.

use std::borrow::Cow;

use crate::abi::prelude::*;
use crate::abi::ucs::text;
use crate::ucs::arch;
use crate::ucs::config::{self, AllowList, Mode};

/// Reads a trimmed text into a value; 1 if it is one.
///
/// # Safety
/// `buf` is a C string or NULL, `dest` has room for a `T` or is NULL.
pub(super) unsafe fn read_into<T>(
    buf: *const c_char,
    dest: *mut c_void,
    parse: impl FnOnce(&str) -> Option<T>,
) -> c_int {
    if buf.is_null() || dest.is_null() {
        return 0;
    }
    // SAFETY: as the caller promises.
    unsafe {
        match parse(text::read(buf).trim()) {
            Some(value) => {
                dest.cast::<T>().write_unaligned(value);
                1
            }
            None => 0,
        }
    }
}

/// Writes a value as text; 1 if it has one.
///
/// # Safety
/// `src` holds a `T` or is NULL, `buf` has room for `max` bytes.
pub(super) unsafe fn write_from<T: Copy>(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    print: impl FnOnce(T) -> Option<String>,
) -> c_int {
    if src.is_null() {
        return 0;
    }
    // SAFETY: as the caller promises.
    unsafe {
        match print(src.cast::<T>().read_unaligned()) {
            Some(printed) => {
                text::write(buf, max, printed.as_bytes());
                1
            }
            None => 0,
        }
    }
}

/// Copies a value that owns nothing.
///
/// # Safety
/// Both pointers are NULL or fit a `T`.
pub(super) unsafe fn copy_value<T>(src: *const c_void, dest: *mut c_void) -> ucs_status_t {
    if src.is_null() || dest.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: as the caller promises.
    unsafe {
        dest.cast::<T>()
            .write_unaligned(src.cast::<T>().read_unaligned())
    };
    Status::OK
}

/// A number, or `inf` for the largest.
pub(super) fn uint(text: &str) -> Option<c_uint> {
    match text.eq_ignore_ascii_case("inf") {
        true => Some(c_uint::MAX),
        false => config::parse_ulong(text).and_then(|value| value.try_into().ok()),
    }
}

/// `y`, `n` or `try`.
pub(super) fn ternary(text: &str) -> Option<c_int> {
    match text.to_ascii_lowercase().as_str() {
        "try" | "maybe" => Some(UCS_TRY as c_int),
        other => config::parse_bool(other).map(c_int::from),
    }
}

/// Seconds as ticks of the clock, at most one below the two special values.
pub(super) fn ticks(seconds: f64) -> u64 {
    // A cast of what is too large gives the largest.
    ((seconds * arch::clock().per_second() + 0.5) as u64).min(u64::MAX - 2)
}

/// Ticks of the clock as seconds.
pub(super) fn seconds(ticks: u64) -> f64 {
    ticks as f64 / arch::clock().per_second()
}

/// A bandwidth, or `auto`.
pub(super) fn bandwidth(text: &str) -> Option<f64> {
    match text.trim().eq_ignore_ascii_case("auto") {
        true => Some(UCS_CONFIG_DBL_AUTO),
        false => config::parse_bandwidth(text),
    }
}

/// The text of a bandwidth.
pub(super) fn bandwidth_text(value: f64) -> String {
    match value == UCS_CONFIG_DBL_AUTO {
        true => "auto".to_owned(),
        false => config::format_bandwidth(value),
    }
}

/// The strings of a list that ends with NULL.
///
/// # Safety
/// `list` is NULL or such a list, of strings that stay for `'a`.
pub(super) unsafe fn names<'a>(list: *const c_void) -> Vec<Cow<'a, str>> {
    let list: *const *const c_char = list.cast();
    let mut found = Vec::new();
    if list.is_null() {
        return found;
    }
    loop {
        // SAFETY: nothing is read beyond the NULL.
        unsafe {
            let entry = list.add(found.len()).read_unaligned();
            if entry.is_null() {
                return found;
            }
            found.push(text::read(entry));
        }
    }
}

/// Where a name stands in a list, in any case.
///
/// # Safety
/// As [`names`].
pub(super) unsafe fn find(list: *const c_void, name: &str) -> Option<c_uint> {
    // SAFETY: as the caller promises.
    let names = unsafe { names(list) };
    let at = names
        .iter()
        .position(|known| known.eq_ignore_ascii_case(name.trim()))?;
    c_uint::try_from(at).ok()
}

/// The name at a place in a list.
///
/// # Safety
/// As [`names`].
pub(super) unsafe fn name_at(list: *const c_void, at: c_uint) -> Option<String> {
    // SAFETY: as the caller promises.
    unsafe { names(list) }
        .get(at as usize)
        .map(|name| name.clone().into_owned())
}

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

/// What a parser accepts, for people.
///
/// # Safety
/// The parser is what a program's table holds.
pub(super) unsafe fn help(parser: &ucs_config_parser_t) -> String {
    let mut buffer = [0; 256];
    let Some(help) = parser.help else {
        return String::new();
    };
    // SAFETY: the parser's own argument; the buffer has the length said.
    unsafe {
        help(buffer.as_mut_ptr(), buffer.len() - 1, parser.arg);
        text::read(buffer.as_ptr()).into_owned()
    }
}

/// What a parser adds to the documentation of its variable.
///
/// # Safety
/// The parser is what a program's table holds.
pub(super) unsafe fn doc(parser: &ucs_config_parser_t) -> String {
    let Some(doc) = parser.doc else {
        return String::new();
    };
    let mut buffer = ucs_string_buffer_t {
        buffer: core::ptr::null_mut(),
        length: 0,
        capacity: 0,
    };
    // SAFETY: the parser's own argument; an empty string buffer, which is freed after its use.
    unsafe {
        doc(&mut buffer, parser.arg);
        let more = text::read(ucs_string_buffer_cstr(&buffer)).into_owned();
        ucs_string_buffer_cleanup(&mut buffer);
        more
    }
}

/// A value as its parser prints it.
///
/// # Safety
/// The parser is what a program's table holds for the value behind `src`.
pub(super) unsafe fn print(parser: &ucs_config_parser_t, src: *const c_void) -> Option<String> {
    let mut buffer = [0; 1024];
    // SAFETY: the parser's own argument; the buffer has the length said.
    unsafe {
        let done = (parser.write?)(buffer.as_mut_ptr(), buffer.len() - 1, src, parser.arg);
        (done != 0).then(|| text::read(buffer.as_ptr()).into_owned())
    }
}

/// Reads a value by its parser.
///
/// # Safety
/// The parser is what a program's table holds for the value behind `dest`.
pub(super) unsafe fn parse(parser: &ucs_config_parser_t, value: &str, dest: *mut c_void) -> bool {
    let (Some(read), Ok(value)) = (parser.read, std::ffi::CString::new(value)) else {
        return false;
    };
    // SAFETY: the parser's own argument; a C string.
    unsafe { read(value.as_ptr(), dest, parser.arg) == 1 }
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

/// The keys of a parameter, up to the one without a name.
///
/// # Safety
/// `arg` is NULL or a parameter.
unsafe fn keys<'a>(arg: *const c_void) -> Vec<&'a ucs_config_key_field_t> {
    // SAFETY: as the caller promises; nothing is read beyond the end.
    unsafe {
        let Some(param) = arg.cast::<ucs_config_key_value_param_t>().as_ref() else {
            return Vec::new();
        };
        let keys = (0..).map(|at| &*param.keys.add(at));
        keys.take_while(|key| !key.name.is_null()).collect()
    }
}

/// Reads values for keys.
///
/// # Safety
/// `buf` is NULL or a C string, `dest` a struct as the parameter describes it.
pub(super) unsafe fn read_key_value(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe {
        let Some(param) = arg.cast::<ucs_config_key_value_param_t>().as_ref() else {
            return 0;
        };
        let keys = keys(arg);
        let all = text::read(buf);
        let mut default = None;
        let mut values = vec![None; keys.len()];
        for token in config::tokens(&all, ',') {
            match token.split_once(':') {
                None => default = Some(token),
                Some((name, value)) => {
                    let at = keys.iter().position(|key| text::read(key.name) == name);
                    let Some(slot) = at.and_then(|at| values.get_mut(at)) else {
                        crate::ucs_error!("key '{name}' is not supported");
                        return 0;
                    };
                    *slot = Some(value);
                }
            }
        }
        for (done, (key, value)) in keys.iter().zip(values).enumerate() {
            let place = dest.byte_add(key.offset);
            if value
                .or(default)
                .is_some_and(|value| parse(&param.parser, value, place))
            {
                continue;
            }
            for key in keys.iter().take(done) {
                if let Some(release) = param.parser.release {
                    release(dest.byte_add(key.offset), param.parser.arg);
                }
            }
            return 0;
        }
    }
    1
}

/// Writes values with their keys.
///
/// # Safety
/// `src` is a struct as the parameter describes it, `buf` has room for `max` bytes.
pub(super) unsafe fn write_key_value(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe {
        let Some(param) = arg.cast::<ucs_config_key_value_param_t>().as_ref() else {
            return 0;
        };
        let pairs: Option<Vec<String>> = keys(arg)
            .iter()
            .map(|key| {
                let value = print(&param.parser, src.byte_add(key.offset))?;
                Some(format!("{}:{value}", text::read(key.name)))
            })
            .collect();
        let Some(pairs) = pairs else { return 0 };
        text::write(buf, max, pairs.join(",").as_bytes());
    }
    1
}

/// Copies values of keys.
///
/// # Safety
/// Both are structs as the parameter describes them.
pub(super) unsafe fn clone_key_value(
    src: *const c_void,
    dest: *mut c_void,
    arg: *const c_void,
) -> ucs_status_t {
    // SAFETY: as the caller promises.
    unsafe {
        let param = arg.cast::<ucs_config_key_value_param_t>().as_ref();
        let Some((param, clone)) = param.and_then(|p| Some((p, p.parser.clone?))) else {
            return Error::InvalidParam.into();
        };
        for key in keys(arg) {
            let (from, to) = (src.byte_add(key.offset), dest.byte_add(key.offset));
            let status = clone(from, to, param.parser.arg);
            if status != Status::OK {
                return status;
            }
        }
    }
    Status::OK
}

/// Frees what values of keys hold.
///
/// # Safety
/// `ptr` is a struct as the parameter describes it.
pub(super) unsafe fn release_key_value(ptr: *mut c_void, arg: *const c_void) {
    // SAFETY: as the caller promises.
    unsafe {
        let param = arg.cast::<ucs_config_key_value_param_t>().as_ref();
        let Some((param, release)) = param.and_then(|p| Some((p, p.parser.release?))) else {
            return;
        };
        for key in keys(arg) {
            release(ptr.byte_add(key.offset), param.parser.arg);
        }
    }
}

/// What values with keys may be, for people.
///
/// # Safety
/// `arg` is NULL or a parameter.
pub(super) unsafe fn key_value_help(arg: *const c_void) -> String {
    // SAFETY: as the caller promises.
    unsafe {
        let Some(param) = arg.cast::<ucs_config_key_value_param_t>().as_ref() else {
            return String::new();
        };
        let names: Vec<_> = keys(arg).iter().map(|key| text::read(key.name)).collect();
        format!(
            "comma-separated list of value or key:value pairs, where key is one of [{}] and \
             value is: {}. A value without a key is the default.",
            names.join(","),
            help(&param.parser)
        )
    }
}

/// One line for each key.
///
/// # Safety
/// `arg` is NULL or a parameter.
pub(super) unsafe fn key_value_doc(arg: *const c_void) -> String {
    // SAFETY: as the caller promises.
    let lines: Vec<String> = unsafe {
        let line = |key: &&ucs_config_key_field_t| {
            format!(" {:<10}- {}", text::read(key.name), text::read(key.doc))
        };
        keys(arg).iter().map(line).collect()
    };
    lines.join("\n")
}

/// Reads `name=value;name=value` into the fields of a table.
///
/// # Safety
/// `buf` is NULL or a C string, `dest` a struct as the table describes it.
pub(super) unsafe fn read_table(
    buf: *const c_char,
    dest: *mut c_void,
    fields: *const c_void,
) -> c_int {
    // SAFETY: as the caller promises.
    let all = unsafe { text::read(buf) };
    for token in config::tokens(&all, ';') {
        let Some((name, value)) = token.split_once('=') else {
            crate::ucs_error!("no '=' in '{token}'");
            return 0;
        };
        // SAFETY: as the caller promises.
        let status = unsafe { super::fields::set(dest, fields.cast(), None, name, value, true) };
        if let Err(error) = status {
            crate::ucs_error!("can't set '{name}' to '{value}': {error}");
            return 0;
        }
    }
    1
}
