//! Entry points of `ucm/api/ucm.h`: who hears of events.

use crate::abi::prelude::*;
use crate::ucm::{self, Handler, Mode, Settings};

/// Sets the options of memory events, before the first handler is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_set_global_opts(ucm_opts: *const ucm_global_config_t) {
    if ucm_opts.is_null() {
        return;
    }
    // Only what UCX 1.13 has as well: its struct is shorter.
    // SAFETY: the caller passes the options of one of these versions.
    let (enabled, mode) = unsafe {
        let enabled = (&raw const (*ucm_opts).enable_events).read();
        let mode = (&raw const (*ucm_opts).mmap_hook_mode).read();
        (enabled, mode)
    };
    let mode = match mode {
        UCM_MMAP_HOOK_NONE => Mode::None,
        UCM_MMAP_HOOK_RELOC => Mode::Reloc,
        UCM_MMAP_HOOK_BISTRO => Mode::Bistro,
        _ => {
            crate::ucs_error!("unknown mode {mode} of memory hooks");
            return;
        }
    };
    Settings::choose(enabled != 0, mode);
}

/// The function and argument of C as the layer below calls them.
fn handler(cb: ucm_event_callback_t, arg: *mut c_void) -> Option<Handler> {
    type Given = unsafe extern "C" fn(ucm_event_type_t, *mut ucm_event_t, *mut c_void);
    // SAFETY: the signatures differ only in the type behind a pointer, and these types have the
    // same layout.
    let callback = unsafe { core::mem::transmute::<Given, ucm::Callback>(cb?) };
    Some(Handler { callback, arg })
}

/// Calls `cb` for the given events (mask of `ucm_event_type_t`), in the order of priorities, lowest
/// first: negative ones before the call itself, others after it.
///
/// Returns `UCS_OK`, or `UCS_ERR_UNSUPPORTED` if an event can't be intercepted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_set_event_handler(
    events: c_int,
    priority: c_int,
    cb: ucm_event_callback_t,
    arg: *mut c_void,
) -> ucs_status_t {
    let Some(handler) = handler(cb, arg) else {
        return Error::InvalidParam.into();
    };
    ucm::set_handler(events.cast_unsigned(), priority, handler).into()
}

/// Takes back what `ucm_set_event_handler` did with the same arguments. The handler does not run
/// any more when this returns, so a handler must not call this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_unset_event_handler(
    events: c_int,
    cb: ucm_event_callback_t,
    arg: *mut c_void,
) {
    if let Some(handler) = handler(cb, arg) {
        ucm::unset_handler(events.cast_unsigned(), handler);
    }
}

/// Says that the program itself reports these events, by `ucm_vm_mmap` and `ucm_vm_munmap`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_set_external_event(events: c_int) {
    ucm::handlers::set_external(events.cast_unsigned());
}

/// Takes back `ucm_set_external_event`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_unset_external_event(events: c_int) {
    ucm::handlers::unset_external(events.cast_unsigned());
}

/// Tests whether those of the given events that are intercepted come.
///
/// Returns `UCS_OK`, or `UCS_ERR_UNSUPPORTED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_test_events(events: c_int) -> ucs_status_t {
    ucm::test(events.cast_unsigned()).into()
}

/// Tests whether those of the given events come that the program said it reports.
///
/// Returns `UCS_OK`, or `UCS_ERR_UNSUPPORTED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_test_external_events(events: c_int) -> ucs_status_t {
    ucm::test_external(events.cast_unsigned()).into()
}

/// Reports that memory was mapped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_vm_mmap(addr: *mut c_void, length: usize) {
    ucm::calls::vm_mapped(addr, length);
}

/// Reports that memory is about to be unmapped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_vm_munmap(addr: *mut c_void, length: usize) {
    ucm::calls::vm_unmapped(addr, length);
}
