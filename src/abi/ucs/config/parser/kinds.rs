//! Entry points of `ucs/config/parser.h`: kinds.

use super::fields;
use super::value::{self, copy_value};
use super::{array, keyed};
use crate::abi::prelude::*;
use crate::abi::ucs::text;

/// Copies a string from `src` to `dest`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_clone_string(
    src: *const c_void,
    dest: *mut c_void,
    arg: *const c_void,
) -> ucs_status_t {
    let _ = arg;
    // SAFETY: the caller passes two pointers to strings.
    unsafe {
        if src.is_null() || dest.is_null() {
            return Error::InvalidParam.into();
        }
        let copy = text::malloc_copy(
            text::bytes(src.cast::<*const c_char>().read_unaligned()).unwrap_or_default(),
        );
        dest.cast::<*mut c_char>().write_unaligned(copy);
        if copy.is_null() {
            Error::NoMemory.into()
        } else {
            Status::OK
        }
    }
}

/// Frees what a string holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_release_string(ptr: *mut c_void, arg: *const c_void) {
    let _ = arg;
    // SAFETY: the caller passes a pointer to a string that was read or copied here.
    unsafe {
        if !ptr.is_null() {
            libc::free(ptr.cast::<*mut c_void>().read_unaligned());
        }
    }
}

/// Copies an integer from `src` to `dest`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_clone_int(
    src: *const c_void,
    dest: *mut c_void,
    arg: *const c_void,
) -> ucs_status_t {
    let _ = arg;
    // SAFETY: the caller passes two values of this type.
    unsafe { copy_value::<c_int>(src, dest) }
}

/// Copies an unsigned integer from `src` to `dest`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_clone_uint(
    src: *const c_void,
    dest: *mut c_void,
    arg: *const c_void,
) -> ucs_status_t {
    let _ = arg;
    // SAFETY: the caller passes two values of this type.
    unsafe { copy_value::<c_uint>(src, dest) }
}

/// Copies an unsigned long from `src` to `dest`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_clone_ulong(
    src: *const c_void,
    dest: *mut c_void,
    arg: *const c_void,
) -> ucs_status_t {
    let _ = arg;
    // SAFETY: the caller passes two values of this type.
    unsafe { copy_value::<c_ulong>(src, dest) }
}

/// Copies a number from `src` to `dest`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_clone_double(
    src: *const c_void,
    dest: *mut c_void,
    arg: *const c_void,
) -> ucs_status_t {
    let _ = arg;
    // SAFETY: the caller passes two values of this type.
    unsafe { copy_value::<f64>(src, dest) }
}

/// Describes for people what is accepted as a name from a list, in at most `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_help_enum(buf: *mut c_char, max: usize, arg: *const c_void) {
    // SAFETY: the caller passes a list that ends with NULL, and room for `max` bytes.
    unsafe {
        let text = format!("[{}]", value::names(arg).join("|"));
        text::write(buf, max, text.as_bytes());
    }
}

/// Describes for people what is accepted as a name from a list, or a number, in at most `max`
/// bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_help_uint_enum(
    buf: *mut c_char,
    max: usize,
    arg: *const c_void,
) {
    // SAFETY: the caller passes a list that ends with NULL, and room for `max` bytes.
    unsafe {
        let text = format!("a numerical value, or:[{}]", value::names(arg).join("|"));
        text::write(buf, max, text.as_bytes());
    }
}

/// Describes for people what is accepted as a list of names as bits, in at most `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_help_bitmap(buf: *mut c_char, max: usize, arg: *const c_void) {
    // SAFETY: the caller passes a list that ends with NULL, and room for `max` bytes.
    unsafe {
        let text = format!("comma-separated list of: [{}]", value::names(arg).join("|"));
        text::write(buf, max, text.as_bytes());
    }
}

/// Copies a bandwidth with a name from `src` to `dest`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_clone_bw_spec(
    src: *const c_void,
    dest: *mut c_void,
    arg: *const c_void,
) -> ucs_status_t {
    // SAFETY: the caller passes two values of this type; the name comes first in them.
    unsafe {
        let status = copy_value::<ucs_config_bw_spec_t>(src, dest);
        match status {
            Status::OK => ucs_config_clone_string(src, dest, arg),
            _ => status,
        }
    }
}

/// Frees what a bandwidth with a name holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_release_bw_spec(ptr: *mut c_void, arg: *const c_void) {
    // SAFETY: the caller passes a value of this type; the name comes first in it.
    unsafe { ucs_config_release_string(ptr, arg) };
}

/// Copies a range from `src` to `dest`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_clone_range_spec(
    src: *const c_void,
    dest: *mut c_void,
    arg: *const c_void,
) -> ucs_status_t {
    let _ = arg;
    // SAFETY: the caller passes two values of this type.
    unsafe { copy_value::<ucs_range_spec_t>(src, dest) }
}

/// Copies a list from `src` to `dest`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_clone_array(
    src: *const c_void,
    dest: *mut c_void,
    arg: *const c_void,
) -> ucs_status_t {
    // SAFETY: the caller passes two arrays, and what their elements are.
    unsafe { array::clone_array(src, dest, arg) }
}

/// Frees what a list holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_release_array(ptr: *mut c_void, arg: *const c_void) {
    // SAFETY: the caller passes an array that was read or copied here.
    unsafe { array::release_array(ptr, arg) };
}

/// Describes for people what is accepted as a list, in at most `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_help_array(buf: *mut c_char, max: usize, arg: *const c_void) {
    // SAFETY: the caller passes what the elements are, and room for `max` bytes.
    unsafe {
        let text = "comma-separated list of: ".to_owned() + &array::element_help(arg);
        text::write(buf, max, text.as_bytes());
    }
}

/// Describes for people what is accepted as a list of paths, in at most `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_help_path_array(
    buf: *mut c_char,
    max: usize,
    arg: *const c_void,
) {
    // SAFETY: the caller passes what the elements are, and room for `max` bytes.
    unsafe {
        let text = "colon-separated list of: ".to_owned() + &array::element_help(arg);
        text::write(buf, max, text.as_bytes());
    }
}

/// Copies a list of what is allowed or forbidden from `src` to `dest`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_clone_allow_list(
    src: *const c_void,
    dest: *mut c_void,
    arg: *const c_void,
) -> ucs_status_t {
    // SAFETY: the caller passes two lists; the array comes first in them.
    unsafe {
        if src.is_null() || dest.is_null() {
            return Error::InvalidParam.into();
        }
        let mode = (*src.cast::<ucs_config_allow_list_t>()).mode;
        (*dest.cast::<ucs_config_allow_list_t>()).mode = mode;
        array::clone_array(src, dest, arg)
    }
}

/// Frees what a list of what is allowed or forbidden holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_release_allow_list(ptr: *mut c_void, arg: *const c_void) {
    // SAFETY: the caller passes a list that was read or copied here; the array comes first in it.
    unsafe { array::release_array(ptr, arg) };
}

/// Describes for people what is accepted as a list of what is allowed or forbidden, in at most
/// `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_help_allow_list(
    buf: *mut c_char,
    max: usize,
    arg: *const c_void,
) {
    // SAFETY: the caller passes what the elements are, and room for `max` bytes.
    unsafe {
        let text = "comma-separated list (prepend '^' for negation, or set to \"all\" for including all items) of: ".to_owned() + &array::element_help(arg);
        text::write(buf, max, text.as_bytes());
    }
}

/// Describes for people what is accepted as such a list, with ranges, in at most `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_help_allow_list_with_ranges(
    buf: *mut c_char,
    max: usize,
    arg: *const c_void,
) {
    // SAFETY: the caller passes what the elements are, and room for `max` bytes.
    unsafe {
        let text = "comma-separated list (prepend '^' for negation, use format \"prefix[start-end]suffix\" for ranges, or set to \"all\" for including all items) of: ".to_owned() + &array::element_help(arg);
        text::write(buf, max, text.as_bytes());
    }
}

/// Copies a table from `src` to `dest`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_clone_table(
    src: *const c_void,
    dest: *mut c_void,
    arg: *const c_void,
) -> ucs_status_t {
    // SAFETY: the caller passes two structs as the table describes them.
    unsafe { fields::clone(src, dest, arg.cast()).into() }
}

/// Frees what a table holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_release_table(ptr: *mut c_void, arg: *const c_void) {
    // SAFETY: the caller passes a struct as the table describes it.
    unsafe { fields::release_all(ptr, arg.cast()) };
}

/// Describes for people what is accepted as a table, in at most `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_help_table(buf: *mut c_char, max: usize, arg: *const c_void) {
    // SAFETY: the caller has room for `max` bytes.
    unsafe { text::write(buf, max, b"Table") };
    let _ = arg;
}

/// Copies pairs of keys and values from `src` to `dest`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_clone_key_value(
    src: *const c_void,
    dest: *mut c_void,
    arg: *const c_void,
) -> ucs_status_t {
    // SAFETY: the caller passes two structs as the parameter describes them.
    unsafe { keyed::clone_key_value(src, dest, arg) }
}

/// Frees what pairs of keys and values holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_release_key_value(ptr: *mut c_void, arg: *const c_void) {
    // SAFETY: the caller passes a struct as the parameter describes it.
    unsafe { keyed::release_key_value(ptr, arg) };
}

/// Describes for people what is accepted as pairs of keys and values, in at most `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_help_key_value(
    buf: *mut c_char,
    max: usize,
    arg: *const c_void,
) {
    // SAFETY: the caller passes a parameter, and room for `max` bytes.
    unsafe { text::write(buf, max, keyed::key_value_help(arg).as_bytes()) };
}

/// Describes the parts of pairs of keys and values for people.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_doc_key_value(
    strb: *mut ucs_string_buffer_t,
    arg: *const c_void,
) {
    // SAFETY: the caller passes a parameter and a string buffer.
    unsafe { ucs_string_buffer_push(strb, keyed::key_value_doc(arg).as_bytes()) };
}

/// Copies a log level of a component from `src` to `dest`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_clone_log_comp(
    src: *const c_void,
    dst: *mut c_void,
    arg: *const c_void,
) -> ucs_status_t {
    let _ = arg;
    // SAFETY: the caller passes two values of this type.
    unsafe { copy_value::<ucs_log_component_config_t>(src, dst) }
}

/// Frees what nothing holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_release_nop(ptr: *mut c_void, arg: *const c_void) {
    let _ = (ptr, arg);
}

/// Describes the parts of nothing for people.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_doc_nop(strb: *mut ucs_string_buffer_t, arg: *const c_void) {
    let _ = (strb, arg);
}

/// Describes for people what is accepted as a plain value, in at most `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_help_generic(buf: *mut c_char, max: usize, arg: *const c_void) {
    // SAFETY: the argument is a C string here; the caller has room for `max` bytes.
    unsafe { text::write(buf, max, text::bytes(arg.cast()).unwrap_or_default()) };
}

/// Copies all fields of a table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parser_clone_opts(
    src: *const c_void,
    dst: *mut c_void,
    fields: *mut ucs_config_field_t,
) -> ucs_status_t {
    // SAFETY: the caller passes two structs as the table describes them.
    unsafe { fields::clone(src, dst, fields).into() }
}

/// Frees all fields of a table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parser_release_opts(
    opts: *mut c_void,
    fields: *mut ucs_config_field_t,
) {
    // SAFETY: the caller passes a struct as the table describes it.
    unsafe { fields::release_all(opts, fields) };
}
