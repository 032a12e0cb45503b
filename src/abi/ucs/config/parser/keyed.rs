//! Values for keys of `ucs/config/parser.h`, behind pointers from C.
//!
//! All functions here take pointers that a program's table of variables describes: what they
//! point to has the type that the kind says, and room for it.

use super::value::{help, parse, print};
use crate::abi::prelude::*;
use crate::abi::ucs::text;
use crate::ucs::config;

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
