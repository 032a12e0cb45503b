//! Log messages that C code sends (`ucs_log_dispatch`): the stack of handlers and the default one.

use core::ffi::{CStr, c_char, c_int, c_uint};

use parking_lot::RwLock;
use smallvec::{SmallVec, smallvec};

use super::super::prelude::{
    UCS_LOG_FUNC_RC_CONTINUE, ucs_log_component_config_t, ucs_log_func_rc_t, ucs_log_func_t,
    ucs_log_level_t, va_list,
};
use crate::ucs::log::{self, Level};

/// Handlers, the newest last; the default one lies at the bottom and can be popped as well.
static HANDLERS: RwLock<Option<SmallVec<[ucs_log_func_t; 4]>>> = RwLock::new(None);

/// As many handlers as UCX allows.
const MAX_HANDLERS: usize = 32;

fn with_handlers<R>(f: impl FnOnce(&mut SmallVec<[ucs_log_func_t; 4]>) -> R) -> R {
    f(HANDLERS
        .write()
        .get_or_insert_with(|| smallvec![Some(default_handler as _)]))
}

/// Adds a handler, which is then called before all others; dropped when there are too many.
pub fn push_handler(handler: ucs_log_func_t) {
    with_handlers(|handlers| {
        if handler.is_some() && handlers.len() < MAX_HANDLERS {
            handlers.push(handler);
        }
    });
}

/// Removes the newest handler.
pub fn pop_handler() {
    with_handlers(|handlers| handlers.pop());
}

/// The number of handlers, the default one included.
pub extern "C" fn handler_count() -> c_int {
    c_int::try_from(with_handlers(|handlers| handlers.len())).unwrap_or(0)
}

/// Calls the handler of this index; "go on" when it has gone meanwhile.
#[allow(clippy::too_many_arguments)]
pub(super) unsafe extern "C" fn handler_call(
    index: c_int,
    file: *const c_char,
    line: c_uint,
    function: *const c_char,
    level: ucs_log_level_t,
    component: *const ucs_log_component_config_t,
    format: *const c_char,
    ap: va_list,
) -> ucs_log_func_rc_t {
    let handler = with_handlers(|handlers| {
        usize::try_from(index)
            .ok()
            .and_then(|index| handlers.get(index).copied().flatten())
    });
    match handler {
        // SAFETY: whoever pushed it promised this signature; the arguments are the dispatcher's.
        Some(handler) => unsafe { handler(file, line, function, level, component, format, ap) },
        None => UCS_LOG_FUNC_RC_CONTINUE,
    }
}

/// Prints a message as the configuration says (`ucs_log_default_handler`).
///
/// # Safety
/// The pointers are NULL or valid, `format` fits `ap`.
pub unsafe extern "C" fn default_handler(
    file: *const c_char,
    line: c_uint,
    function: *const c_char,
    level: ucs_log_level_t,
    component: *const ucs_log_component_config_t,
    format: *const c_char,
    ap: va_list,
) -> ucs_log_func_rc_t {
    let _ = function;
    let Some(level) = Level::from_value(level) else {
        return UCS_LOG_FUNC_RC_CONTINUE;
    };
    if format.is_null() || (level != Level::Print && !log::enabled(level)) {
        return UCS_LOG_FUNC_RC_CONTINUE;
    }
    // SAFETY: checked for NULL; a list of what the format asks for, by the caller's promise.
    let text = unsafe { super::format(format, ap, log::settings().buffer_size) };
    // SAFETY: NULL or terminated, by the caller's promise.
    let file = unsafe { text_or(file, "?") };
    let component = match component.is_null() {
        true => "UCX".to_owned(),
        // SAFETY: not NULL; the name is an array inside the structure.
        false => component_name(unsafe { &(*component).name }),
    };
    log::dispatch(&file, line, level, &component, format_args!("{text}"));
    UCS_LOG_FUNC_RC_CONTINUE
}

/// Prints a message that comes before the end of the process.
pub(super) unsafe extern "C" fn fatal(
    file: *const c_char,
    line: c_uint,
    function: *const c_char,
    message: *const c_char,
) {
    let _ = function;
    // SAFETY: NULL or terminated, by the caller's promise.
    let (place, message) = unsafe { (text_or(file, ""), text_or(message, "")) };
    if place.is_empty() {
        log::print_compact(&message);
    } else {
        log::print_compact(&format!("{place}:{line} {message}"));
    }
    log::flush();
}

/// Names the calling thread in log lines.
pub(super) unsafe extern "C" fn set_thread_name(name: *const c_char) {
    // SAFETY: NULL or terminated, by the caller's promise.
    log::set_thread_name(&unsafe { text_or(name, "") });
}

/// The text behind a pointer, or `default` for NULL.
///
/// # Safety
/// NULL or a terminated string.
unsafe fn text_or(text: *const c_char, default: &str) -> String {
    if text.is_null() {
        return default.to_owned();
    }
    // SAFETY: not NULL; terminated, by the caller's promise.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

fn component_name(name: &[c_char]) -> String {
    let bytes: Vec<u8> = name
        .iter()
        .map(|&c| c.cast_unsigned())
        .take_while(|&c| c != 0)
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
