//! Entry points of `ucp/api/ucp.h`: context.

use crate::abi::prelude::*;
use crate::abi::support::{cfile, cstr, handle, origin};
use crate::abi::ucp::convert;
use crate::ucp::context::{Context, ContextParams, Features};
use crate::ucp::print;
use crate::ucp::request::REQUEST_SIZE;
use crate::ucs::config::{Config, Print};
use crate::{field, set_field};

/// Writes what the library can do in general into the fields of `attr` that its mask asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_lib_query(attr: *mut ucp_lib_attr_t) -> ucs_status_t {
    // SAFETY: the caller passes a struct as its mask describes it, or NULL.
    let mut attr = match unsafe { Attrs::new(attr) } {
        Ok(attr) => attr,
        Err(error) => return error.into(),
    };
    set_field!(
        attr,
        UCP_LIB_ATTR_FIELD_MAX_THREAD_LEVEL,
        max_thread_level,
        UCS_THREAD_MODE_MULTI
    );
    Status::OK
}

/// Reads the configuration: defaults, then files, then environment variables. `env_prefix` (may be
/// NULL) names variables that are read as `<prefix>_UCX_...` before plain `UCX_...` ones.
/// `filename` must be NULL. `*config_p` is to be released by `ucp_config_release`.
///
/// Returns `UCS_OK`, or an error if a value can't be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_config_read(
    env_prefix: *const c_char,
    filename: *const c_char,
    config_p: *mut *mut ucp_config_t,
) -> ucs_status_t {
    if config_p.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: NULL or terminated strings, by the API.
    let (prefix, file) = unsafe { (cstr::text(env_prefix), cstr::text(filename)) };
    if let Some(file) = file {
        crate::ucs_error!("ucp_config_read can't read '{file}': files are found by UCX_CONFIG_DIR");
        return Error::Unsupported.into();
    }
    match Config::read(prefix.as_deref()) {
        Ok(config) => {
            // SAFETY: not NULL, and writable by the API.
            unsafe { config_p.write(handle::config_into(config)) };
            Status::OK
        }
        Err(error) => error.into(),
    }
}

/// Releases what `ucp_config_read` gave. Contexts created from it are not affected.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_config_release(config: *mut ucp_config_t) {
    // SAFETY: NULL or from ucp_config_read, and not used again, by the API.
    drop(unsafe { handle::config_take(config) });
}

/// Sets one variable of a configuration; `name` has no prefix (`TLS`, not `UCX_TLS`).
///
/// Returns `UCS_OK`, `UCS_ERR_NO_ELEM` for an unknown name, `UCS_ERR_INVALID_PARAM` for a bad
/// value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_config_modify(
    config: *mut ucp_config_t,
    name: *const c_char,
    value: *const c_char,
) -> ucs_status_t {
    // SAFETY: NULL or terminated strings, by the API.
    let (Some(name), Some(value)) = (unsafe { cstr::text(name) }, unsafe { cstr::text(value) })
    else {
        return Error::InvalidParam.into();
    };
    // SAFETY: NULL or a live configuration that nobody else uses meanwhile, by the API.
    match unsafe { handle::config_mut(config) } {
        Some(config) => config.modify(&name, &value).into(),
        None => Error::InvalidParam.into(),
    }
}

/// Writes a configuration as text to `stream`. `title` heads it; `print_flags` says what is written
/// of each variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_config_print(
    config: *const ucp_config_t,
    stream: *mut FILE,
    title: *const c_char,
    print_flags: ucs_config_print_flags_t,
) {
    // SAFETY: NULL or a terminated string, by the API.
    let title = unsafe { cstr::text(title) }.unwrap_or_default();
    // SAFETY: NULL or a live configuration, by the API.
    if let Some(config) = unsafe { handle::config(config) } {
        let text = config.print(&title, Print(print_flags));
        // SAFETY: NULL or an open stream, by the API.
        unsafe { cfile::print(stream, &text) };
    }
}

/// Version of the library that runs: `*major_version`, `*minor_version`, `*release_number`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_get_version(
    major_version: *mut c_uint,
    minor_version: *mut c_uint,
    release_number: *mut c_uint,
) {
    let outputs = [major_version, minor_version, release_number];
    for (output, value) in outputs.into_iter().zip(version()) {
        if !output.is_null() {
            // SAFETY: not NULL, and writable by the API.
            unsafe { output.write(value) };
        }
    }
}

/// Version of the library that runs, as text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_get_version_string() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Creates a context, the root of all other objects. The API version is that of the headers the
/// caller was compiled with; programs call `ucp_init`. `params` must say which features are wanted.
/// `config` may be NULL: it is read from the environment then. `*context_p` is to be freed by
/// `ucp_cleanup`.
///
/// Returns `UCS_OK`, `UCS_ERR_INVALID_PARAM`, `UCS_ERR_NO_DEVICE` if no transport serves the
/// features, `UCS_ERR_NO_MEMORY`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_init_version(
    api_major_version: c_uint,
    api_minor_version: c_uint,
    params: *const ucp_params_t,
    config: *const ucp_config_t,
    context_p: *mut ucp_context_h,
) -> ucs_status_t {
    if context_p.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: the caller passes a struct as its mask describes it, or NULL.
    let params = match unsafe { Params::new(params) } {
        Ok(params) => context_params(&params),
        Err(error) => {
            crate::ucs_error!("ucp_init: no parameters given");
            return error.into();
        }
    };
    // SAFETY: NULL or a live configuration, by the API.
    let config = unsafe { handle::config(config) }.cloned();
    match init((api_major_version, api_minor_version), params, config) {
        Ok(context) => {
            // SAFETY: not NULL, and writable by the API.
            unsafe { context_p.write(context) };
            Status::OK
        }
        Err(error) => error.into(),
    }
}

/// Frees a context. Its workers must have been destroyed before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_cleanup(context_p: ucp_context_h) {
    // SAFETY: NULL or from ucp_init, and not used again, by the API.
    drop(unsafe { handle::context_take(context_p) });
}

/// Writes those attributes of a context into `attr` that its mask asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_context_query(
    context_p: ucp_context_h,
    attr: *mut ucp_context_attr_t,
) -> ucs_status_t {
    // SAFETY: NULL or a live context, by the API.
    let Ok(context) = (unsafe { convert::context(context_p) }) else {
        return Error::InvalidParam.into();
    };
    // SAFETY: the caller passes a struct as its mask describes it, or NULL.
    match unsafe { Attrs::new(attr) } {
        Ok(mut attr) => {
            query(&context, &mut attr);
            Status::OK
        }
        Err(error) => error.into(),
    }
}

/// Writes the memory domains, devices and transports of a context as text to `stream`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_context_print_info(context: ucp_context_h, stream: *mut FILE) {
    // SAFETY: NULL or a live context, by the API.
    if let Ok(context) = unsafe { convert::context(context) } {
        // SAFETY: NULL or an open stream, by the API.
        unsafe { cfile::print(stream, &print::context_info(&context)) };
    }
}

/// Major, minor and release number of the library.
fn version() -> [c_uint; 3] {
    let mut numbers = env!("CARGO_PKG_VERSION")
        .split(['.', '-'])
        .map(|part| part.parse());
    core::array::from_fn(|_| numbers.next().and_then(Result::ok).unwrap_or(0))
}

fn init(
    api: (c_uint, c_uint),
    params: ContextParams,
    config: Option<Config>,
) -> crate::ucs::status::Result<ucp_context_h> {
    let [major, minor, _] = version();
    let text = env!("CARGO_PKG_VERSION");
    if api.0 == major && api.1 <= minor {
        crate::ucs_info!("Version {text} (loaded from {})", origin::path());
    } else {
        let (path, (major, minor)) = (origin::path(), api);
        crate::ucs_warn!(
            "UCP API version is incompatible: required >= {major}.{minor}, actual {text} (loaded \
             from {path})"
        );
    }
    if let Some(text) = origin::mixed() {
        crate::ucs_error!("{text}");
        return Err(Error::Unsupported);
    }
    let config = config.map_or_else(|| Config::read(None), Ok)?;
    config.warn_unused_once();
    Ok(handle::context_into(Context::new(params, config)?))
}

fn context_params(params: &Params<'_, ucp_params_t>) -> ContextParams {
    let features = field!(params, UCP_PARAM_FIELD_FEATURES, features).unwrap_or(0);
    if features == 0 {
        crate::ucs_warn!("ucp_init: no features are asked for");
    }
    let name = field!(params, UCP_PARAM_FIELD_NAME, name).unwrap_or(core::ptr::null());
    // SAFETY: NULL or a terminated string, by the API.
    let name = unsafe { cstr::text(name) };
    let count = |asked: Option<usize>| asked.unwrap_or(1).max(1);
    ContextParams {
        features: Features::from_bits_retain(features),
        request_size: field!(params, UCP_PARAM_FIELD_REQUEST_SIZE, request_size).unwrap_or(0),
        request_init: field!(params, UCP_PARAM_FIELD_REQUEST_INIT, request_init).flatten(),
        request_cleanup: field!(params, UCP_PARAM_FIELD_REQUEST_CLEANUP, request_cleanup).flatten(),
        tag_sender_mask: field!(params, UCP_PARAM_FIELD_TAG_SENDER_MASK, tag_sender_mask)
            .unwrap_or(0),
        mt_workers_shared: field!(params, UCP_PARAM_FIELD_MT_WORKERS_SHARED, mt_workers_shared)
            .is_some_and(|shared| shared != 0),
        estimated_num_eps: count(field!(
            params,
            UCP_PARAM_FIELD_ESTIMATED_NUM_EPS,
            estimated_num_eps
        )),
        estimated_num_ppn: count(field!(
            params,
            UCP_PARAM_FIELD_ESTIMATED_NUM_PPN,
            estimated_num_ppn
        )),
        name: name.map(|name| {
            name.chars()
                .take(UCP_ENTITY_NAME_MAX as usize - 1)
                .collect()
        }),
        node_local_id: field!(params, UCP_PARAM_FIELD_NODE_LOCAL_ID, node_local_id),
    }
}

fn query(context: &Context, attr: &mut Attrs<'_, ucp_context_attr_t>) {
    let shared = context.params.mt_workers_shared;
    let mode = if shared {
        UCS_THREAD_MODE_MULTI
    } else {
        UCS_THREAD_MODE_SINGLE
    };
    set_field!(
        attr,
        UCP_ATTR_FIELD_REQUEST_SIZE,
        request_size,
        REQUEST_SIZE
    );
    set_field!(attr, UCP_ATTR_FIELD_THREAD_MODE, thread_mode, mode);
    set_field!(
        attr,
        UCP_ATTR_FIELD_MEMORY_TYPES,
        memory_types,
        context.memory_types()
    );
    set_field!(attr, UCP_ATTR_FIELD_NAME, name, cstr::array(&context.name));
    let counter = size_of::<u64>();
    set_field!(
        attr,
        UCP_ATTR_FIELD_DEVICE_COUNTER_SIZE,
        device_counter_size,
        counter
    );
}
