//! Entry points of `ucs/config/parser.h`: sprintf.

use super::value::{self, write_from};
use super::{array, keyed};
use crate::abi::prelude::*;
use crate::abi::ucs::text;
use crate::ucs::config;

/// Writes a string at `src` as text of at most `max` bytes; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_string(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a value of this type, and room for `max` bytes.
    unsafe {
        write_from::<*const c_char>(buf, max, src, |value| Some(text::read(value).into_owned()))
    }
}

/// Writes an integer at `src` as text of at most `max` bytes; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_int(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a value of this type, and room for `max` bytes.
    unsafe { write_from::<c_int>(buf, max, src, |value| Some(value.to_string())) }
}

/// Writes an unsigned integer at `src` as text of at most `max` bytes; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_uint(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a value of this type, and room for `max` bytes.
    unsafe {
        write_from::<c_uint>(buf, max, src, |value| {
            Some(match value {
                c_uint::MAX => "inf".to_owned(),
                value => value.to_string(),
            })
        })
    }
}

/// Writes an unsigned long at `src` as text of at most `max` bytes; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_ulong(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a value of this type, and room for `max` bytes.
    unsafe { write_from::<c_ulong>(buf, max, src, |value| Some(value.to_string())) }
}

/// Writes a positive number or "auto" at `src` as text of at most `max` bytes; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_pos_double(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a value of this type, and room for `max` bytes.
    unsafe {
        write_from::<f64>(buf, max, src, |value| {
            Some(match value == UCS_CONFIG_DBL_AUTO {
                true => "auto".to_owned(),
                false => format!("{value:.3}"),
            })
        })
    }
}

/// Writes a number at `src` as text of at most `max` bytes; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_double(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a value of this type, and room for `max` bytes.
    unsafe { write_from::<f64>(buf, max, src, |value| Some(format!("{value:.3}"))) }
}

/// Writes a hexadecimal number or "auto" at `src` as text of at most `max` bytes; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_hex(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a value of this type, and room for `max` bytes.
    unsafe {
        write_from::<c_uint>(buf, max, src, |value| {
            Some(match value as u16 == UCS_HEXUNITS_AUTO {
                true => "auto".to_owned(),
                false => format!("{value:#x}"),
            })
        })
    }
}

/// Writes yes or no at `src` as text of at most `max` bytes; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_bool(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a value of this type, and room for `max` bytes.
    unsafe {
        write_from::<c_int>(buf, max, src, |value| {
            Some(if value != 0 { "y" } else { "n" }.to_owned())
        })
    }
}

/// Writes yes, no, try or auto at `src` as text of at most `max` bytes; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_ternary_auto(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a value of this type, and room for `max` bytes.
    unsafe {
        write_from::<c_uint>(buf, max, src, |value| {
            Some(
                match value {
                    UCS_AUTO => "auto",
                    UCS_TRY => "try",
                    UCS_NO => "n",
                    _ => "y",
                }
                .to_owned(),
            )
        })
    }
}

/// Writes on, off or auto at `src` as text of at most `max` bytes; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_on_off_auto(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a value of this type, and room for `max` bytes.
    unsafe {
        write_from::<c_uint>(buf, max, src, |value| {
            Some(match value {
                UCS_CONFIG_AUTO => "auto".to_owned(),
                UCS_CONFIG_ON => "on".to_owned(),
                UCS_CONFIG_OFF => "off".to_owned(),
                other => other.to_string(),
            })
        })
    }
}

/// Writes a name from a list at `src` as text of at most `max` bytes; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_enum(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    // SAFETY: the caller passes a number, room for `max` bytes, and a list that ends with NULL.
    unsafe { write_from::<c_uint>(buf, max, src, |value| value::name_at(arg, value)) }
}

/// Writes a name from a list, or a number at `src` as text of at most `max` bytes; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_uint_enum(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    // SAFETY: the caller passes a number, room for `max` bytes, and a list that ends with NULL.
    unsafe {
        write_from::<c_uint>(buf, max, src, |value| {
            value::name_at(arg, c_uint::MAX - value).or_else(|| Some(value.to_string()))
        })
    }
}

/// Writes a list of names as bits at `src` as text of at most `max` bytes; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_bitmap(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    // SAFETY: the caller passes a number, room for `max` bytes, and a list that ends with NULL.
    unsafe {
        write_from::<u64>(buf, max, src, |value| {
            let set = (0..64).filter(|bit| value & (1 << bit) != 0);
            let names: Vec<_> = set.map_while(|bit| value::name_at(arg, bit)).collect();
            Some(names.join(","))
        })
    }
}

/// Writes a number of bits at `src` as text of at most `max` bytes; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_bitmask(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a value of this type, and room for `max` bytes.
    unsafe { write_from::<c_uint>(buf, max, src, |value| Some(value.count_ones().to_string())) }
}

/// Writes a time in seconds at `src` as text of at most `max` bytes; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_time(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a value of this type, and room for `max` bytes.
    unsafe { write_from::<f64>(buf, max, src, |value| Some(config::format_time(value))) }
}

/// Writes a time in nanoseconds at `src` as text of at most `max` bytes; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_time_units(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a value of this type, and room for `max` bytes.
    unsafe {
        write_from::<u64>(buf, max, src, |value| {
            Some(match value {
                u64::MAX => "inf".to_owned(),
                v if v == u64::MAX - 1 => "auto".to_owned(),
                v => config::format_time(value::seconds(v)),
            })
        })
    }
}

/// Writes a bandwidth in bytes per second at `src` as text of at most `max` bytes; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_bw(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a value of this type, and room for `max` bytes.
    unsafe { write_from::<f64>(buf, max, src, |value| Some(value::bandwidth_text(value))) }
}

/// Writes a bandwidth with a name at `src` as text of at most `max` bytes; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_bw_spec(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a value of this type, and room for `max` bytes.
    unsafe {
        write_from::<ucs_config_bw_spec_t>(buf, max, src, |value| {
            Some(format!(
                "{}:{}",
                text::read(value.name),
                value::bandwidth_text(value.bw)
            ))
        })
    }
}

/// Writes a signal at `src` as text of at most `max` bytes; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_signo(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a value of this type, and room for `max` bytes.
    unsafe {
        write_from::<c_int>(buf, max, src, |value| {
            config::SIGNALS
                .get(usize::try_from(value).ok()?)
                .map(|name| (*name).to_owned())
        })
    }
}

/// Writes a size in bytes at `src` as text of at most `max` bytes; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_memunits(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a value of this type, and room for `max` bytes.
    unsafe { write_from::<usize>(buf, max, src, |value| Some(config::format_size(value))) }
}

/// Writes a number with a suffix at `src` as text of at most `max` bytes; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_ulunits(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a value of this type, and room for `max` bytes.
    unsafe {
        write_from::<c_ulong>(buf, max, src, |value| {
            Some(match value {
                c_ulong::MAX => "inf".to_owned(),
                v if v == c_ulong::MAX - 1 => "auto".to_owned(),
                v => v.to_string(),
            })
        })
    }
}

/// Writes a range at `src` as text of at most `max` bytes; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_range_spec(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    let _ = arg;
    // SAFETY: the caller passes a value of this type, and room for `max` bytes.
    unsafe {
        write_from::<ucs_range_spec_t>(buf, max, src, |value| {
            Some(match value.first == value.last {
                true => value.first.to_string(),
                false => format!("{}-{}", value.first, value.last),
            })
        })
    }
}

/// Writes a list at `src` as text of at most `max` bytes; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_array(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    // SAFETY: the caller passes an array, room for `max` bytes, and what its elements are.
    unsafe { array::write_array(buf, max, src, arg, ",") }
}

/// Writes a list of paths at `src` as text of at most `max` bytes; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_path_array(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    // SAFETY: the caller passes an array, room for `max` bytes, and what its elements are.
    unsafe { array::write_array(buf, max, src, arg, ":") }
}

/// Writes a list of what is allowed or forbidden at `src` as text of at most `max` bytes; 1 if it
/// could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_allow_list(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    // SAFETY: the caller passes a list, room for `max` bytes, and what its elements are.
    unsafe { array::write_allow_list(buf, max, src, arg) }
}

/// Writes pairs of keys and values at `src` as text of at most `max` bytes; 1 if it could.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_sprintf_key_value(
    buf: *mut c_char,
    max: usize,
    src: *const c_void,
    arg: *const c_void,
) -> c_int {
    // SAFETY: the caller passes a struct as the parameter describes it, and room for `max` bytes.
    unsafe { keyed::write_key_value(buf, max, src, arg) }
}
