//! Entry points of `uct/api/uct.h`: component.

use crate::abi::prelude::*;

/// Lists all components; to be released by `uct_release_component_list`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_query_components(
    components_p: *mut *mut uct_component_h,
    num_components_p: *mut c_uint,
) -> ucs_status_t {
    let _ = (components_p, num_components_p);
    NOT_IMPLEMENTED
}

/// Releases what `uct_query_components` gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_release_component_list(components: *mut uct_component_h) {
    let _ = components;
}

/// Writes those attributes of a component into `component_attr` that its mask asks for. With memory
/// domain resources asked for, the caller gives room for as many as a query before said.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_component_query(
    component: uct_component_h,
    component_attr: *mut uct_component_attr_t,
) -> ucs_status_t {
    let _ = (component, component_attr);
    NOT_IMPLEMENTED
}

/// Releases what `uct_md_query_tl_resources` gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_release_tl_resource_list(resources: *mut uct_tl_resource_desc_t) {
    let _ = resources;
}

/// Releases a configuration of any of the `_config_read` calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_config_release(config: *mut c_void) {
    let _ = config;
}

/// Value of one variable of a configuration, as text of at most `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_config_get(
    config: *mut c_void,
    name: *const c_char,
    value: *mut c_char,
    max: usize,
) -> ucs_status_t {
    let _ = (config, name, value, max);
    NOT_IMPLEMENTED
}

/// Sets one variable of a configuration.
///
/// Returns `UCS_OK`, `UCS_ERR_NO_ELEM` for an unknown name, `UCS_ERR_INVALID_PARAM` for a bad
/// value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_config_modify(
    config: *mut c_void,
    name: *const c_char,
    value: *const c_char,
) -> ucs_status_t {
    let _ = (config, name, value);
    NOT_IMPLEMENTED
}
