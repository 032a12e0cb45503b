//! Handles: opaque pointers that C holds, and what they own.

use std::sync::Arc;

use crate::abi::prelude::{ucp_config_t, ucp_context_h};
use crate::ucp::context::Context;
use crate::ucs::config::Config;

/// A context handle owns one count of the context; workers hold their own.
pub fn context_into(context: Arc<Context>) -> ucp_context_h {
    Arc::into_raw(context).cast_mut().cast()
}

/// Takes back what [`context_into`] gave.
///
/// # Safety
/// `handle` is NULL or from [`context_into`], and not used again.
pub unsafe fn context_take(handle: ucp_context_h) -> Option<Arc<Context>> {
    if handle.is_null() {
        return None;
    }
    // SAFETY: from `Arc::into_raw`, as the caller says.
    Some(unsafe { Arc::from_raw(handle.cast::<Context>()) })
}

/// A configuration handle owns the configuration.
pub fn config_into(config: Config) -> *mut ucp_config_t {
    Box::into_raw(Box::new(config)).cast()
}

/// Takes back what [`config_into`] gave.
///
/// # Safety
/// `handle` is NULL or from [`config_into`], and not used again.
pub unsafe fn config_take(handle: *mut ucp_config_t) -> Option<Box<Config>> {
    if handle.is_null() {
        return None;
    }
    // SAFETY: from `Box::into_raw`, as the caller says.
    Some(unsafe { Box::from_raw(handle.cast::<Config>()) })
}

/// The configuration behind a handle, to read.
///
/// # Safety
/// `handle` is NULL or a live handle from [`config_into`] that nothing changes during `'a`.
pub unsafe fn config<'a>(handle: *const ucp_config_t) -> Option<&'a Config> {
    // SAFETY: as the caller says.
    unsafe { handle.cast::<Config>().as_ref() }
}

/// The configuration behind a handle, to change.
///
/// # Safety
/// `handle` is NULL or a live handle from [`config_into`] that nothing else uses during `'a`.
pub unsafe fn config_mut<'a>(handle: *mut ucp_config_t) -> Option<&'a mut Config> {
    // SAFETY: as the caller says.
    unsafe { handle.cast::<Config>().as_mut() }
}
