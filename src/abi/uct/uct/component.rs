//! Entry points of `uct/api/uct.h`: component.

use crate::abi::prelude::*;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_query_components(
    components_p: *mut *mut uct_component_h,
    num_components_p: *mut c_uint,
) -> ucs_status_t {
    let _ = (components_p, num_components_p);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_release_component_list(components: *mut uct_component_h) {
    let _ = components;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_component_query(
    component: uct_component_h,
    component_attr: *mut uct_component_attr_t,
) -> ucs_status_t {
    let _ = (component, component_attr);
    NOT_IMPLEMENTED
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_release_tl_resource_list(resources: *mut uct_tl_resource_desc_t) {
    let _ = resources;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_config_release(config: *mut c_void) {
    let _ = config;
}

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

#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_config_modify(
    config: *mut c_void,
    name: *const c_char,
    value: *const c_char,
) -> ucs_status_t {
    let _ = (config, name, value);
    NOT_IMPLEMENTED
}
