//! `ucs/type/class.h`.

use crate::abi::prelude::*;

pub type ucs_class_t = ucs_class;
pub type ucs_class_init_func_t =
    Option<unsafe extern "C" fn(self_: *mut c_void, ...) -> ucs_status_t>;
pub type ucs_class_cleanup_func_t = Option<unsafe extern "C" fn(self_: *mut c_void)>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_class {
    pub name: *const c_char,
    pub size: usize,
    pub superclass: *mut ucs_class_t,
    pub init: ucs_class_init_func_t,
    pub cleanup: ucs_class_cleanup_func_t,
}

/// Destructs an object, from its class up; at most `limit` classes, if not negative.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_class_call_cleanup_chain(
    cls: *mut ucs_class_t,
    obj: *mut c_void,
    limit: c_int,
) {
    // SAFETY: the caller passes a class and an object of it; a chain of classes ends with one
    // that is its own parent or has none.
    unsafe {
        // Counts what has been initialised, from the root down; below 0: all of it.
        let mut chain = Vec::new();
        let mut class = cls.as_ref();
        while let Some(current) = class {
            chain.push(current);
            class = current
                .superclass
                .as_ref()
                .filter(|parent| !core::ptr::eq(*parent, current));
        }
        let skip = match usize::try_from(limit) {
            Ok(limit) => chain.len().saturating_sub(limit),
            Err(_) => 0,
        };
        for cleanup in chain.iter().skip(skip).filter_map(|class| class.cleanup) {
            cleanup(obj);
        }
    }
}

/// Memory for an object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_class_malloc(cls: *mut ucs_class_t) -> *mut c_void {
    // SAFETY: NULL or a class; malloc accepts any size.
    unsafe {
        cls.as_ref()
            .map_or(core::ptr::null_mut(), |class| libc::malloc(class.size))
    }
}

/// Frees what `ucs_class_malloc` gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_class_free(obj: *mut c_void) {
    // SAFETY: NULL or from `ucs_class_malloc`.
    unsafe { libc::free(obj) };
}

/// Checks what a constructor returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_class_check_new_func_result(status: ucs_status_t, obj: *mut c_void) {
    // Genuine UCX checks here, in builds with assertions only, that a constructor succeeds
    // exactly when it gives an object.
    if (status == Status::OK) == obj.is_null() {
        crate::ucs_error!("constructor returned {} with object {obj:p}", status.0);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn void_init(
    self_: *mut c_void,
    _myclass: *mut ucs_class_t,
    _init_count: *mut c_int,
) -> ucs_status_t {
    let _ = (self_, _myclass, _init_count);
    Status::OK
}
