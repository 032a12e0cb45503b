//! `ucs/datastruct/string_buffer.h`.

use crate::abi::prelude::*;
use crate::abi::ucs::text;
use crate::ucs::strings;

pub type ucs_string_buffer_translate_cb_t = Option<unsafe extern "C" fn(ch: c_char) -> c_char>;

/// A string under construction. In C the capacity is a bit-field of 63 bits and the top bit of its
/// word says that the storage is fixed (in UCX 1.13 it was the lowest bit).
///
/// cbindgen:ignore
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_string_buffer_t {
    pub buffer: *mut c_char,
    /// Bytes, without a terminating zero.
    pub length: usize,
    /// Bytes, and the flag.
    pub capacity: usize,
}

/// Makes an empty buffer that grows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_init(strb: *mut ucs_string_buffer_t) {
    if !strb.is_null() {
        let empty = ucs_string_buffer_t {
            buffer: core::ptr::null_mut(),
            length: 0,
            capacity: 0,
        };
        // SAFETY: not NULL, so the caller's own.
        unsafe { strb.write(empty) };
    }
}

/// Makes an empty buffer over `capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_init_fixed(
    strb: *mut ucs_string_buffer_t,
    buffer: *mut c_char,
    capacity: usize,
) {
    if strb.is_null() {
        return;
    }
    // SAFETY: the caller's own; its storage has `capacity` bytes.
    unsafe {
        if capacity > 0 && !buffer.is_null() {
            buffer.write(0);
        }
        let fixed = 1 << 63;
        strb.write(ucs_string_buffer_t {
            buffer,
            length: 0,
            capacity: capacity | fixed,
        });
    }
}

/// Frees a buffer that grows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_cleanup(strb: *mut ucs_string_buffer_t) {
    if strb.is_null() {
        return;
    }
    if !Buffer(strb).fixed() {
        // SAFETY: the storage is ours: NULL or from malloc.
        unsafe { libc::free((*strb).buffer.cast()) };
    }
    // SAFETY: not NULL, so the caller's own.
    unsafe { ucs_string_buffer_init(strb) };
}

/// Makes a buffer empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_reset(strb: *mut ucs_string_buffer_t) {
    if !strb.is_null() {
        Buffer(strb).set_length(0);
    }
}

/// Bytes of the string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_length(strb: *mut ucs_string_buffer_t) -> usize {
    if strb.is_null() {
        return 0;
    }
    Buffer(strb).bytes().len()
}

/// Appends formatted text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_vappendf(
    strb: *mut ucs_string_buffer_t,
    fmt: *const c_char,
    ap: va_list,
) {
    // SAFETY: the caller passes format and arguments as for vprintf.
    if let Some(text) = unsafe { text::vformat(fmt, ap) } {
        // SAFETY: the caller passes a string buffer.
        unsafe { ucs_string_buffer_push(strb, &text) };
    }
}

/// Appends bytes in hexadecimal form, `per_line` on a line.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_append_hex(
    strb: *mut ucs_string_buffer_t,
    data: *const c_void,
    size: usize,
    per_line: usize,
) {
    if data.is_null() {
        return;
    }
    // SAFETY: the caller passes this many bytes, and a string buffer.
    unsafe {
        let bytes = core::slice::from_raw_parts(data.cast::<u8>(), size);
        ucs_string_buffer_push(strb, strings::hex(bytes, per_line).as_bytes());
    }
}

/// Appends the names of the bits that are set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_append_flags(
    strb: *mut ucs_string_buffer_t,
    mask: u64,
    flag_names: *mut *const c_char,
) {
    let bits = (0..64usize).filter(|bit| mask & (1 << bit) != 0);
    let (names, separator): (Vec<_>, _) = if flag_names.is_null() {
        (bits.map(|bit| bit.to_string()).collect(), ",")
    } else {
        // SAFETY: the caller's list has a name for each bit that is set.
        let name = |bit| unsafe { text::read(flag_names.add(bit).read()) }.into_owned();
        (bits.map(name).collect(), "|")
    };
    // SAFETY: the caller passes a string buffer.
    unsafe { ucs_string_buffer_push(strb, names.join(separator).as_bytes()) };
}

/// Appends a description of a list of buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_append_iovec(
    strb: *mut ucs_string_buffer_t,
    iov: *const iovec,
    iovcnt: usize,
) {
    if iov.is_null() {
        return;
    }
    // SAFETY: the caller passes this many entries.
    let entries = unsafe { core::slice::from_raw_parts(iov, iovcnt) };
    let texts: Vec<_> = entries
        .iter()
        .map(|e| format!("{:p},{}", e.iov_base, e.iov_len))
        .collect();
    // SAFETY: the caller passes a string buffer.
    unsafe { ucs_string_buffer_push(strb, texts.join("|").as_bytes()) };
}

/// Appends a socket address as text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_append_saddr(
    strb: *mut ucs_string_buffer_t,
    sa: *const sockaddr,
) {
    let mut text = [0; UCS_SOCKADDR_STRING_LEN as usize];
    // SAFETY: the caller passes an address and a string buffer; the text has the length said.
    unsafe {
        let text = ucs_sockaddr_str(sa, text.as_mut_ptr(), text.len());
        ucs_string_buffer_push(strb, text::bytes(text).unwrap_or_default());
    }
}

/// Removes characters of a set (blanks, if NULL) from the end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_rtrim(
    strb: *mut ucs_string_buffer_t,
    charset: *const c_char,
) {
    if strb.is_null() {
        return;
    }
    let buffer = Buffer(strb);
    // SAFETY: a C string or NULL.
    let keep = |byte: &u8| !unsafe { in_set(*byte, charset) };
    let length = buffer
        .bytes()
        .iter()
        .rposition(keep)
        .map_or(0, |last| last + 1);
    if length < buffer.bytes().len() {
        buffer.set_length(length);
    }
}

/// Cuts the string at the last character of a set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_rbrk(
    strb: *mut ucs_string_buffer_t,
    delim: *const c_char,
) {
    if strb.is_null() {
        return;
    }
    let buffer = Buffer(strb);
    // SAFETY: a C string or NULL.
    let stops = |byte: &u8| unsafe { in_set(*byte, delim) };
    if let Some(at) = buffer.bytes().iter().rposition(stops) {
        buffer.set_length(at);
    }
}

/// The string, with a terminating zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_cstr(strb: *const ucs_string_buffer_t) -> *const c_char {
    // SAFETY: the caller passes a string buffer, whose storage ends with NUL once it has a length.
    unsafe {
        if strb.is_null() || (*strb).length == 0 || (*strb).buffer.is_null() {
            return c"".as_ptr();
        }
        (*strb).buffer
    }
}

/// Writes the lines of the string to a stream, each with a prefix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_dump(
    strb: *const ucs_string_buffer_t,
    line_prefix: *const c_char,
    stream: *mut FILE,
) {
    if strb.is_null() || stream.is_null() {
        return;
    }
    // SAFETY: a C string or NULL.
    let prefix = unsafe { text::bytes(line_prefix) }.unwrap_or_default();
    let mut out = Vec::new();
    for line in Buffer(strb.cast_mut())
        .bytes()
        .split_inclusive(|byte| *byte == b'\n')
    {
        out.extend(prefix);
        out.extend(line);
    }
    // SAFETY: the caller's open stream.
    unsafe { crate::sys::stdio::write_stream(stream, &out) };
}

/// Takes the string out; to be freed by `free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_extract_mem(
    strb: *mut ucs_string_buffer_t,
) -> *mut c_char {
    if strb.is_null() {
        return core::ptr::null_mut();
    }
    let buffer = Buffer(strb);
    if buffer.fixed() {
        return text::malloc_copy(buffer.bytes());
    }
    // SAFETY: the storage is from malloc; it goes to the caller, and ours is forgotten.
    unsafe {
        let memory = (*strb).buffer;
        ucs_string_buffer_init(strb);
        memory
    }
}

/// The token after another one (the first, if NULL), or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_next_token(
    strb: *mut ucs_string_buffer_t,
    token: *mut c_char,
    delimiters: *const c_char,
) -> *mut c_char {
    if strb.is_null() {
        return core::ptr::null_mut();
    }
    // SAFETY: `token` is NULL or what an earlier call returned, so inside the storage.
    unsafe {
        let begin = (*strb).buffer;
        let end = begin.wrapping_add((*strb).length);
        let next = match text::bytes(token) {
            None => begin,
            Some(token_bytes) => token.add(token_bytes.len() + 1),
        };
        if begin.is_null() || next >= end {
            return core::ptr::null_mut();
        }
        let rest = text::bytes(next).unwrap_or_default();
        if let Some(at) = rest.iter().position(|byte| in_set(*byte, delimiters)) {
            next.add(at).write(0);
        }
        next
    }
}

/// Appends a character `count` times.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_appendc(
    strb: *mut ucs_string_buffer_t,
    c: c_int,
    count: usize,
) {
    if strb.is_null() {
        return;
    }
    let buffer = Buffer(strb);
    let room = buffer.reserve(count);
    let length = buffer.bytes().len();
    if room > 0 {
        // SAFETY: there is room for this many bytes after the present ones.
        unsafe { core::ptr::write_bytes((*strb).buffer.add(length), c as u8, room) };
        buffer.set_length(length + room);
    }
}

/// Replaces each character by what a function makes of it; zero removes it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_translate(
    strb: *mut ucs_string_buffer_t,
    cb: ucs_string_buffer_translate_cb_t,
) {
    let Some(cb) = cb.filter(|_| !strb.is_null()) else {
        return;
    };
    let buffer = Buffer(strb);
    let length = buffer.bytes().len();
    let mut kept = 0;
    for index in 0..length {
        // SAFETY: both indices are below the length; the callback is the caller's.
        unsafe {
            let byte = cb((*strb).buffer.add(index).read());
            if byte != 0 {
                (*strb).buffer.add(kept).write(byte);
                kept += 1;
            }
        }
    }
    if length > 0 {
        buffer.set_length(kept);
    }
}

/// Either of these in `capacity` means that the storage is not ours: bit 63 is how UCX 1.22 marks
/// it, bit 0 how 1.13 does. Capacities of our own storage are even and below bit 63.
///
/// cbindgen:ignore
const FIXED_BITS: usize = 1 << 63 | 1;

/// Room that is added at least.
///
/// cbindgen:ignore
const GROW: usize = 32;

/// A string buffer behind a pointer from C.
///
/// cbindgen:ignore
struct Buffer(*mut ucs_string_buffer_t);

impl Buffer {
    fn fixed(&self) -> bool {
        // SAFETY: whoever made this has checked the pointer.
        unsafe { (*self.0).capacity & FIXED_BITS != 0 }
    }

    /// Bytes of storage, the final NUL included. An odd fixed capacity loses a byte.
    fn capacity(&self) -> usize {
        // SAFETY: as above.
        unsafe { (*self.0).capacity & !FIXED_BITS }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the storage holds `length` bytes once there is any.
        unsafe {
            match (*self.0).buffer.is_null() {
                true => &[],
                false => core::slice::from_raw_parts((*self.0).buffer.cast(), (*self.0).length),
            }
        }
    }

    /// Makes room for `more` bytes and a NUL; returns for how many bytes there is room.
    fn reserve(&self, more: usize) -> usize {
        let length = self.bytes().len();
        let wanted = length.saturating_add(more).saturating_add(1);
        if wanted > self.capacity() && !self.fixed() && wanted <= isize::MAX as usize / 2 {
            let capacity = wanted
                .max(self.capacity() * 2)
                .max(GROW)
                .next_multiple_of(2);
            // SAFETY: the storage is ours: NULL or from malloc.
            unsafe {
                let new = libc::realloc((*self.0).buffer.cast(), capacity);
                if !new.is_null() {
                    (*self.0).buffer = new.cast();
                    (*self.0).capacity = capacity;
                }
            }
        }
        self.capacity().saturating_sub(length + 1).min(more)
    }

    /// Sets the length to one for which there is room, and ends the string there.
    fn set_length(&self, length: usize) {
        // SAFETY: callers pass a length below the capacity, or there is no storage.
        unsafe {
            (*self.0).length = length;
            if length < self.capacity() && !(*self.0).buffer.is_null() {
                (*self.0).buffer.add(length).write(0);
            }
        }
    }

    /// Appends what there is room for.
    fn push(&self, bytes: &[u8]) {
        let room = self.reserve(bytes.len());
        let length = self.bytes().len();
        if room > 0 {
            // SAFETY: there is room for this many bytes after the present ones.
            unsafe {
                core::ptr::copy(bytes.as_ptr(), (*self.0).buffer.add(length).cast(), room);
            }
        }
        if !self.bytes().is_empty() || room > 0 || self.capacity() > 0 {
            self.set_length(length + room);
        }
    }
}

/// Appends bytes to a string buffer, for the other modules of the boundary.
///
/// # Safety
/// `strb` is NULL or a string buffer.
pub(crate) unsafe fn ucs_string_buffer_push(strb: *mut ucs_string_buffer_t, bytes: &[u8]) {
    if !strb.is_null() {
        Buffer(strb).push(bytes);
    }
}

/// Whether a byte is in `charset`, or white space where that is NULL.
///
/// # Safety
/// `charset` is NULL or a C string.
unsafe fn in_set(byte: u8, charset: *const c_char) -> bool {
    // SAFETY: as the caller promises.
    match unsafe { text::bytes(charset) } {
        Some(set) => set.contains(&byte),
        None => byte.is_ascii_whitespace() || byte == 0x0b,
    }
}

// Variadic: the bodies are in C (see `variadic.c`), only declared here.
unsafe extern "C" {
    /// Appends formatted text.
    pub fn ucs_string_buffer_appendf(strb: *mut ucs_string_buffer_t, fmt: *const c_char, ...);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(strb: &ucs_string_buffer_t) -> String {
        // SAFETY: a live string buffer.
        unsafe { text::read(ucs_string_buffer_cstr(strb)) }.into_owned()
    }

    #[test]
    fn fixed_storage_of_either_version_is_never_left() {
        // How macros of UCX 1.22 and of 1.13 mark storage that belongs to the program.
        for mark in [1 << 63, 1] {
            let mut storage = [b'#' as c_char; 12];
            let mut strb = ucs_string_buffer_t {
                buffer: storage.as_mut_ptr(),
                length: 0,
                capacity: 8 | mark,
            };
            // SAFETY: the storage has more than the eight bytes that are offered.
            unsafe {
                ucs_string_buffer_push(&mut strb, b"0123456789");
                ucs_string_buffer_appendc(&mut strb, c_int::from(b'x'), 5);
            }
            assert_eq!(text_of(&strb), "0123456");
            assert!(storage[8..].iter().all(|byte| *byte == b'#' as c_char));
            assert_eq!(strb.capacity & mark, mark);
        }
    }

    #[test]
    fn own_storage_grows_and_its_capacity_marks_nothing() {
        let mut strb = ucs_string_buffer_t {
            buffer: core::ptr::null_mut(),
            length: 0,
            capacity: 0,
        };
        // SAFETY: an empty string buffer, freed at the end.
        unsafe {
            for _ in 0..100 {
                ucs_string_buffer_push(&mut strb, b"abc");
                assert_eq!(strb.capacity & FIXED_BITS, 0);
            }
            assert_eq!(text_of(&strb).len(), 300);
            ucs_string_buffer_rtrim(&mut strb, c"bc".as_ptr());
            assert_eq!(ucs_string_buffer_length(&mut strb), 298);
            ucs_string_buffer_cleanup(&mut strb);
        }
        assert!(strb.buffer.is_null());
    }
}
