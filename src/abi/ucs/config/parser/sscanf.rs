//! Entry points of `ucs/config/parser.h`: sscanf.

use super::value::{self, read_into};
use super::{array, keyed};
use crate::abi::prelude::*;
use crate::abi::ucs::text;
use crate::ucs::config::{self, Kind};

/// Reads a string from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_string(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a C string, and room for a pointer.
    unsafe {
        let Some(bytes) = text::bytes(buf).filter(|_| !dest.is_null()) else {
            return 0;
        };
        let copy = text::malloc_copy(bytes);
        dest.cast::<*mut c_char>().write_unaligned(copy);
        c_int::from(!copy.is_null())
    }
}

/// Reads an integer from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_int(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a C string, and room for a value of this type.
    unsafe { read_into::<c_int>(buf, dest, config::parse_int) }
}

/// Reads an unsigned integer from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_uint(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a C string, and room for a value of this type.
    unsafe { read_into::<c_uint>(buf, dest, value::uint) }
}

/// Reads an unsigned long from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_ulong(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a C string, and room for a value of this type.
    unsafe { read_into::<c_ulong>(buf, dest, config::parse_ulong) }
}

/// Reads a positive number or "auto" from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_pos_double(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a C string, and room for a value of this type.
    unsafe {
        read_into::<f64>(buf, dest, |text| match text.eq_ignore_ascii_case("auto") {
            true => Some(UCS_CONFIG_DBL_AUTO),
            false => config::parse_double(text).filter(|value| *value > 0.0),
        })
    }
}

/// Reads a number from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_double(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a C string, and room for a value of this type.
    unsafe { read_into::<f64>(buf, dest, config::parse_double) }
}

/// Reads a hexadecimal number or "auto" from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_hex(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a C string, and room for a value of this type.
    unsafe {
        read_into::<c_uint>(buf, dest, |text| match text.eq_ignore_ascii_case("auto") {
            true => Some(c_uint::from(UCS_HEXUNITS_AUTO)),
            false => {
                let digits = text.strip_prefix("0x").or(text.strip_prefix("0X"))?;
                c_uint::from_str_radix(digits, 16).ok()
            }
        })
    }
}

/// Reads yes or no from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_bool(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a C string, and room for a value of this type.
    unsafe { read_into::<c_int>(buf, dest, |text| config::parse_bool(text).map(c_int::from)) }
}

/// Reads yes, no or try from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_ternary(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a C string, and room for a value of this type.
    unsafe { read_into::<c_int>(buf, dest, value::ternary) }
}

/// Reads yes, no, try or auto from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_ternary_auto(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a C string, and room for a value of this type.
    unsafe {
        read_into::<c_int>(buf, dest, |text| match text.eq_ignore_ascii_case("auto") {
            true => Some(UCS_AUTO as c_int),
            false => value::ternary(text),
        })
    }
}

/// Reads on or off from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_on_off(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a C string, and room for a value of this type.
    unsafe { read_into::<c_int>(buf, dest, |text| config::parse_bool(text).map(c_int::from)) }
}

/// Reads on, off or auto from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_on_off_auto(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a C string, and room for a value of this type.
    unsafe {
        read_into::<c_int>(buf, dest, |text| match text.to_ascii_lowercase().as_str() {
            "try" | "maybe" | "auto" => Some(UCS_CONFIG_AUTO as c_int),
            other => config::parse_bool(other).map(c_int::from),
        })
    }
}

/// Reads a name from a list from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_enum(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    // SAFETY: the caller passes a C string, room for a number, and a list that ends with NULL.
    unsafe { read_into::<c_uint>(buf, dest, |text| value::find(arg, text)) }
}

/// Reads a name from a list, or a number from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_uint_enum(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    // SAFETY: the caller passes a C string, room for a number, and a list that ends with NULL.
    unsafe {
        read_into::<c_uint>(buf, dest, |text| {
            value::find(arg, text)
                .map(|at| c_uint::MAX - at)
                .or_else(|| value::uint(text))
        })
    }
}

/// Reads a list of names as bits from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_bitmap(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    // SAFETY: the caller passes a C string, room for a number, and a list that ends with NULL.
    unsafe {
        read_into::<u64>(buf, dest, |text| {
            let mut bits = 0u64;
            for token in config::tokens(text, ',') {
                bits |= 1u64.checked_shl(value::find(arg, token)?)?;
            }
            Some(bits)
        })
    }
}

/// Reads a number of bits from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_bitmask(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a C string, and room for a value of this type.
    unsafe {
        read_into::<c_uint>(buf, dest, |text| {
            let bits = config::parse_ulong(text).filter(|bits| *bits <= 32)?;
            Some(((1u64 << bits) - 1) as c_uint)
        })
    }
}

/// Reads a time in seconds from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_time(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a C string, and room for a value of this type.
    unsafe { read_into::<f64>(buf, dest, config::parse_time) }
}

/// Reads a time in nanoseconds from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_time_units(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a C string, and room for a value of this type.
    unsafe {
        read_into::<u64>(buf, dest, |text| match text {
            "inf" => Some(u64::MAX),
            "auto" => Some(u64::MAX - 1),
            other => config::parse_time(other).map(value::ticks),
        })
    }
}

/// Reads a bandwidth in bytes per second from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_bw(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a C string, and room for a value of this type.
    unsafe { read_into::<f64>(buf, dest, value::bandwidth) }
}

/// Reads a bandwidth with a name from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_bw_spec(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a C string, and room for a value of this type.
    unsafe {
        read_into::<ucs_config_bw_spec_t>(buf, dest, |text| {
            let (name, bandwidth) = text.split_once(':')?;
            let bw = value::bandwidth(bandwidth)?;
            Some(ucs_config_bw_spec_t {
                name: text::malloc_copy(name.as_bytes()),
                bw,
            })
        })
    }
}

/// Reads a signal from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_signo(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a C string, and room for a value of this type.
    unsafe {
        read_into::<c_int>(buf, dest, |text| {
            let name = Kind::Signal.canonical(text)?;
            config::SIGNALS
                .iter()
                .position(|known| *known == name)
                .map(|at| at as c_int)
        })
    }
}

/// Reads a size in bytes from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_memunits(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a C string, and room for a value of this type.
    unsafe { read_into::<usize>(buf, dest, config::parse_size) }
}

/// Reads a number with a suffix from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_ulunits(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a C string, and room for a value of this type.
    unsafe {
        read_into::<c_ulong>(buf, dest, |text| match text.to_ascii_lowercase().as_str() {
            "auto" => Some(c_ulong::MAX - 1),
            "inf" => Some(c_ulong::MAX),
            other => config::parse_ulong(other),
        })
    }
}

/// Reads a range from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_range_spec(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a C string, and room for a value of this type.
    unsafe {
        read_into::<ucs_range_spec_t>(buf, dest, |text| {
            let (first, last) = config::parse_range(text, u32::MAX)?;
            Some(ucs_range_spec_t { first, last })
        })
    }
}

/// Reads a list from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_array(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    // SAFETY: the caller passes a C string, room for an array, and what its elements are.
    unsafe { array::read_array(buf, dest, arg, ',') }
}

/// Reads a list of paths from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_path_array(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    // SAFETY: the caller passes a C string, room for an array, and what its elements are.
    unsafe { array::read_array(buf, dest, arg, ':') }
}

/// Reads a list of what is allowed or forbidden from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_allow_list(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    // SAFETY: the caller passes a C string, room for a list, and what its elements are.
    unsafe { array::read_allow_list(buf, dest, arg, false) }
}

/// Reads such a list, with ranges from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_allow_list_with_ranges(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    // SAFETY: the caller passes a C string, room for a list, and what its elements are.
    unsafe { array::read_allow_list(buf, dest, arg, true) }
}

/// Reads a table from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_table(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    // SAFETY: the caller passes a C string, and a struct as the table describes it.
    unsafe { keyed::read_table(buf, dest, arg) }
}

/// Reads pairs of keys and values from `buf` to `dest`; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sscanf_key_value(
    buf: *const c_char,
    dest: *mut c_void,
    arg: *const c_void,
) -> c_int {
    // SAFETY: the caller passes a C string, and a struct as the parameter describes it.
    unsafe { keyed::read_key_value(buf, dest, arg) }
}
