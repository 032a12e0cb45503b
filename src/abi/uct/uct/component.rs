//! Entry points of `uct/api/uct.h`: component.

use crate::abi::prelude::*;
use crate::abi::support::cstr;
use crate::abi::support::transport::component;
use crate::abi::support::transport::config::Configuration;
use crate::abi::ucs::text;
use crate::set_field;

/// Lists all components; to be released by `uct_release_component_list`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_query_components(
    components_p: *mut *mut uct_component_h,
    num_components_p: *mut c_uint,
) -> ucs_status_t {
    if components_p.is_null() || num_components_p.is_null() {
        return Error::InvalidParam.into();
    }
    let handles = component::handles();
    let count = handles.len();
    // SAFETY: both are writable; the array has room for as many as are written.
    unsafe {
        let list: *mut uct_component_h = libc::calloc(count.max(1), size_of::<usize>()).cast();
        if list.is_null() {
            return Error::NoMemory.into();
        }
        for (at, handle) in handles.enumerate() {
            list.add(at).write(handle);
        }
        components_p.write(list);
        num_components_p.write(count as c_uint);
    }
    Status::OK
}

/// Releases what `uct_query_components` gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_release_component_list(components: *mut uct_component_h) {
    // SAFETY: NULL or from `uct_query_components`.
    unsafe { libc::free(components.cast()) };
}

/// Writes those attributes of a component into `component_attr` that its mask asks for. With memory
/// domain resources asked for, the caller gives room for as many as a query before said.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_component_query(
    component: uct_component_h,
    component_attr: *mut uct_component_attr_t,
) -> ucs_status_t {
    let component = match component::from(component) {
        Ok(component) => component,
        Err(error) => return error.into(),
    };
    // SAFETY: the caller's struct, as its mask describes it.
    let mut attr = match unsafe { Attrs::new(component_attr) } {
        Ok(attr) => attr,
        Err(error) => return error.into(),
    };
    let wanted = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT | UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
    let names = if attr.wants(wanted) {
        component.query_mds()
    } else {
        Vec::new()
    };
    if attr.wants(UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES) {
        // SAFETY: the caller has set this field, to room for all domains.
        unsafe {
            let room = (&raw const (*component_attr).md_resources).read();
            if room.is_null() && !names.is_empty() {
                return Error::InvalidParam.into();
            }
            for (at, name) in names.iter().enumerate() {
                let md_name = cstr::array(name);
                room.add(at).write(uct_md_resource_desc_t { md_name });
            }
        }
    }
    let count = names.len() as c_uint;
    let name = component.name();
    set_field!(attr, UCT_COMPONENT_ATTR_FIELD_NAME, name, cstr::array(name));
    set_field!(
        attr,
        UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT,
        md_resource_count,
        count
    );
    set_field!(
        attr,
        UCT_COMPONENT_ATTR_FIELD_FLAGS,
        flags,
        component::flags(component)
    );
    Status::OK
}

/// Releases what `uct_md_query_tl_resources` gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_release_tl_resource_list(resources: *mut uct_tl_resource_desc_t) {
    // SAFETY: NULL or from `uct_md_query_tl_resources`.
    unsafe { libc::free(resources.cast()) };
}

/// Releases a configuration of any of the `_config_read` calls.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_config_release(config: *mut c_void) {
    if !config.is_null() {
        // SAFETY: from one of those calls, and not used again.
        drop(unsafe { Box::from_raw(config.cast::<Configuration>()) });
    }
}

/// Value of one variable of a configuration, as text of at most `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_config_get(
    config: *mut c_void,
    name: *const c_char,
    value: *mut c_char,
    max: usize,
) -> ucs_status_t {
    // SAFETY: a configuration, a C string, room for `max` bytes.
    unsafe {
        let Some(config) = config.cast::<Configuration>().as_ref() else {
            return Error::InvalidParam.into();
        };
        let Some(name) = cstr::text(name).filter(|_| !value.is_null() || max == 0) else {
            return Error::InvalidParam.into();
        };
        match config.get(&name) {
            Some(found) => text::write(value, max, found.as_bytes()),
            None => return Error::NoElem.into(),
        }
    }
    Status::OK
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
    // SAFETY: a configuration that nobody else uses now, C strings.
    unsafe {
        let config = config.cast::<Configuration>().as_mut();
        match (config, cstr::text(name), cstr::text(value)) {
            (Some(config), Some(name), Some(value)) => config.set(&name, &value).into(),
            _ => Error::InvalidParam.into(),
        }
    }
}
