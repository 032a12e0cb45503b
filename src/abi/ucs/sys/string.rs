//! `ucs/sys/string.h`.

use crate::abi::prelude::*;
use crate::abi::ucs::text;
use crate::ucs::config::{format_size, parse_size};
use crate::ucs::strings;

pub const UCS_NUMERIC_INF_STR: &str = "inf";
pub const UCS_VALUE_AUTO_STR: &str = "auto";
pub const UCS_MEMUNITS_INF: u64 = 0xffffffffffffffff;
pub const UCS_ULUNITS_INF: u64 = 0xffffffffffffffff;
pub const UCS_MEMUNITS_AUTO: u64 = 0xfffffffffffffffe;
pub const UCS_ULUNITS_AUTO: u64 = 0xfffffffffffffffe;
pub const UCS_HEXUNITS_AUTO: u16 = 65534;
pub const UCS_VALUE_UNKNOWN_STR: &str = "unknown";

/// The absolute path, in at most `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_expand_path(path: *const c_char, fullpath: *mut c_char, max: usize) {
    // SAFETY: a C string or NULL.
    let relative = unsafe { text::read(path) };
    let full = match std::env::current_dir() {
        Ok(folder) if !relative.starts_with('/') => format!("{}/{relative}", folder.display()),
        _ => relative.into_owned(),
    };
    // SAFETY: NULL or room for `max` bytes.
    unsafe { text::write(fullpath, max, full.as_bytes()) };
}

/// Fills in process id, host and such in a file name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_fill_filename_template(
    tmpl: *const c_char,
    buf: *mut c_char,
    max: usize,
) {
    // SAFETY: the caller passes a C string and room for `max` bytes.
    unsafe {
        let name = crate::ucs::log::expand_template(&text::read(tmpl));
        text::write(buf, max, name.as_bytes());
    }
}

/// Cuts off the last parts of a path.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_dirname(path: *mut c_char, num_layers: c_int) -> *mut c_char {
    let mut path = path;
    for _ in 0..num_layers {
        if path.is_null() {
            return path;
        }
        // SAFETY: the caller's string, which dirname may cut.
        path = unsafe { libc::dirname(path) };
    }
    path
}

/// Copies a string into `max` bytes, with a terminating zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_strncpy_zero(dest: *mut c_char, src: *const c_char, max: usize) {
    // SAFETY: the caller passes a C string and room for `max` bytes, all of which are written.
    unsafe {
        if let Some(src) = text::bytes(src).filter(|_| !dest.is_null() && max > 0) {
            let length = src.len().min(max - 1);
            core::ptr::copy(src.as_ptr().cast(), dest, length);
            core::ptr::write_bytes(dest.add(length), 0, max - length);
        }
    }
}

/// A number made of the first characters of a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_to_id(str: *const c_char) -> u64 {
    let mut id = [0; 8];
    // SAFETY: a C string or NULL.
    let name = unsafe { text::bytes(str) }.unwrap_or_default();
    for (to, from) in id.iter_mut().take(7).zip(name) {
        *to = *from;
    }
    u64::from_ne_bytes(id)
}

/// A size in bytes as text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_memunits_to_str(
    value: usize,
    buf: *mut c_char,
    max: usize,
) -> *mut c_char {
    // SAFETY: the caller has room for `max` bytes.
    unsafe { text::write(buf, max, format_size(value).as_bytes()) };
    buf
}

/// A range of sizes as text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_memunits_range_str(
    range_start: usize,
    range_end: usize,
    buf: *mut c_char,
    max: usize,
) -> *const c_char {
    let range = match range_start == range_end {
        true => format_size(range_start),
        false => format!("{}..{}", format_size(range_start), format_size(range_end)),
    };
    // SAFETY: the caller has room for `max` bytes.
    unsafe { text::write(buf, max, range.as_bytes()) };
    buf
}

/// Reads a size in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_str_to_memunits(
    buf: *const c_char,
    dest: *mut c_void,
) -> ucs_status_t {
    // SAFETY: the caller passes a C string and room for a size.
    unsafe {
        match parse_size(&text::read(buf)).filter(|_| !dest.is_null()) {
            Some(size) => {
                dest.cast::<usize>().write_unaligned(size);
                Status::OK
            }
            None => Error::InvalidParam.into(),
        }
    }
}

/// Factor of a suffix such as K.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_quantity_prefix_value(prefix: c_char) -> usize {
    match prefix as u8 {
        b'B' => 1,
        b'K' => 1 << 10,
        b'M' => 1 << 20,
        b'G' => 1 << 30,
        b'T' => 1 << 40,
        _ => 0,
    }
}

/// Formats into `size` bytes, with a terminating zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vsnprintf_safe(
    buf: *mut c_char,
    size: usize,
    fmt: *const c_char,
    ap: va_list,
) {
    if size > 0 {
        // SAFETY: the caller passes room, format and arguments as for vsnprintf.
        unsafe { text::vsnprintf(buf, size, fmt, ap) };
    }
}

/// Copies a string into `len` bytes, with a terminating zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_strncpy_safe(
    dst: *mut c_char,
    src: *const c_char,
    len: usize,
) -> *mut c_char {
    // SAFETY: the caller passes a C string and room for `len` bytes.
    unsafe { text::write(dst, len, text::bytes(src).unwrap_or_default()) };
    dst
}

/// The string without blanks at its ends; it is changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_strtrim(str: *mut c_char) -> *mut c_char {
    // SAFETY: the caller's own C string, shortened in place.
    unsafe {
        let Some(all) = text::bytes(str) else {
            return str;
        };
        let blank = |c: &u8| c.is_ascii_whitespace() || *c == 0x0b;
        let start = all.iter().position(|c| !blank(c)).unwrap_or(all.len());
        let end = all
            .iter()
            .rposition(|c| !blank(c))
            .map_or(start, |last| last + 1);
        if end < all.len() {
            str.add(end).write(0);
        }
        str.add(start)
    }
}

/// Bytes in hexadecimal form.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_str_dump_hex(
    data: *const c_void,
    length: usize,
    buf: *mut c_char,
    max: usize,
    per_line: usize,
) -> *const c_char {
    if data.is_null() {
        // SAFETY: the caller has room for `max` bytes.
        unsafe { text::write(buf, max, b"") };
        return buf;
    }
    // SAFETY: the caller passes this many bytes, and room for `max`.
    unsafe {
        // No more than can be printed is read.
        let bytes = core::slice::from_raw_parts(data.cast::<u8>(), length.min(max));
        let mut dump = strings::hex(bytes, per_line);
        // No half of a byte at the end.
        strings::cut_hex(&mut dump, max.saturating_sub(1));
        text::write(buf, max, dump.as_bytes());
    }
    buf
}

/// Letters of the bits that are set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_flags_str(
    str: *mut c_char,
    max: usize,
    flags: u64,
    str_table: *mut *const c_char,
) -> *const c_char {
    let mut names = Vec::new();
    for bit in 0..64 {
        // SAFETY: the caller's list of C strings ends with NULL, beyond which nothing is read.
        let name = unsafe {
            let entry = str_table.add(bit).read();
            if entry.is_null() {
                break;
            }
            text::read(entry)
        };
        if flags & (1 << bit) != 0 {
            names.push(name);
        }
    }
    // SAFETY: the caller has room for `max` bytes.
    unsafe { text::write(str, max, names.join(",").as_bytes()) };
    str
}

/// How often a character occurs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_count_char(str: *const c_char, c: c_char) -> usize {
    // SAFETY: a C string or NULL.
    let bytes = unsafe { text::bytes(str) }.unwrap_or_default();
    bytes.iter().filter(|byte| **byte == c as u8).count()
}

/// Number of characters that two strings begin with.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_common_prefix_len(
    str1: *const c_char,
    str2: *const c_char,
) -> usize {
    // SAFETY: C strings or NULL.
    let (a, b) = unsafe { (text::bytes(str1), text::bytes(str2)) };
    strings::common_prefix(a.unwrap_or_default(), b.unwrap_or_default())
}

/// Number of characters of the folder that two paths share.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_path_common_parent_length(
    path1: *const c_char,
    path2: *const c_char,
) -> usize {
    // SAFETY: C strings or NULL.
    let (a, b) = unsafe { (text::bytes(path1), text::bytes(path2)) };
    strings::common_parent(a.unwrap_or_default(), b.unwrap_or_default())
}

/// The folder that two paths share.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_path_get_common_parent(
    path1: *const c_char,
    path2: *const c_char,
    common_path: *mut c_char,
) {
    // SAFETY: C strings or NULL; the caller has room for the longer of the paths.
    unsafe {
        let length = ucs_path_common_parent_length(path1, path2);
        let parent = text::bytes(path1)
            .and_then(|path| path.get(..length))
            .unwrap_or_default();
        text::write(common_path, parent.len() + 1, parent);
    }
}

/// Number of steps from one path to another.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_path_calc_distance(
    path1: *const c_char,
    path2: *const c_char,
) -> usize {
    // SAFETY: C strings or NULL.
    let (a, b) = unsafe { (text::bytes(path1), text::bytes(path2)) };
    strings::path_distance(a.unwrap_or_default(), b.unwrap_or_default())
}

/// Bits as text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_mask_str(mask: u64, strb: *mut ucs_string_buffer_t) -> *const c_char {
    let bits = match mask {
        0 => "<none>".to_owned(),
        _ => (0..64)
            .filter(|bit| mask & (1 << bit) != 0)
            .map(|bit| bit.to_string())
            .collect::<Vec<_>>()
            .join(", "),
    };
    // SAFETY: the caller passes a string buffer.
    unsafe {
        ucs_string_buffer_push(strb, bits.as_bytes());
        ucs_string_buffer_cstr(strb)
    }
}

/// Index of a string in a list that ends with NULL, or -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_find_in_list(
    str: *const c_char,
    string_list: *mut *const c_char,
    case_sensitive: c_int,
) -> ssize_t {
    // SAFETY: the caller passes a C string, and a list of them that ends with NULL.
    unsafe {
        let Some(wanted) = text::bytes(str).filter(|_| !string_list.is_null()) else {
            return -1;
        };
        let mut index = 0;
        while let Some(entry) = text::bytes(string_list.offset(index).read()) {
            if entry == wanted || case_sensitive == 0 && entry.eq_ignore_ascii_case(wanted) {
                return index;
            }
            index += 1;
        }
    }
    -1
}

/// A buffer for a path, to be freed by `free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_alloc_path_buffer(
    buffer_p: *mut *mut c_char,
    name: *const c_char,
) -> ucs_status_t {
    let _ = name;
    // SAFETY: the caller has room for a pointer; malloc accepts any size.
    unsafe {
        let buffer: *mut c_char = libc::malloc(libc::PATH_MAX as usize).cast();
        if buffer.is_null() {
            return Error::NoMemory.into();
        }
        buffer.write(0);
        buffer_p.write(buffer);
    }
    Status::OK
}

/// The folder of a path, to be freed by `free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_alloc_path_buffer_and_get_dirname(
    buffer_p: *mut *mut c_char,
    name: *const c_char,
    path: *const c_char,
    dir_p: *mut *const c_char,
) -> ucs_status_t {
    // SAFETY: the caller passes a C string, and room for two pointers.
    unsafe {
        let status = ucs_string_alloc_path_buffer(buffer_p, name);
        if status == Status::OK {
            let buffer = buffer_p.read();
            text::write(
                buffer,
                libc::PATH_MAX as usize,
                text::bytes(path).unwrap_or_default(),
            );
            dir_p.write(libc::dirname(buffer));
        }
        status
    }
}

// Variadic: the bodies are in C (see `variadic.c`), only declared here.
unsafe extern "C" {
    /// Formats into `size` bytes, and fills the rest with zeros.
    pub fn ucs_snprintf_zero(buf: *mut c_char, size: usize, fmt: *const c_char, ...);
    /// Formats into `size` bytes, with a terminating zero.
    pub fn ucs_snprintf_safe(buf: *mut c_char, size: usize, fmt: *const c_char, ...);
    /// Cuts a string at delimiters into `count` pieces, whose addresses are stored; returns the
    /// rest.
    pub fn ucs_string_split(
        str: *mut c_char,
        delim: *const c_char,
        count: c_int,
        ...
    ) -> *mut c_char;
    /// A path of formatted text, to be freed by `free`.
    pub fn ucs_string_alloc_formatted_path(
        buffer_p: *mut *mut c_char,
        name: *const c_char,
        fmt: *const c_char,
        ...
    ) -> ucs_status_t;
}
