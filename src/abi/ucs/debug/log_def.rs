//! `ucs/debug/log_def.h`.

use crate::abi::prelude::*;
use crate::abi::variadic::log;

pub type ucs_log_func_rc_t = u32;
pub const UCS_LOG_FUNC_RC_STOP: ucs_log_func_rc_t = 0;
pub const UCS_LOG_FUNC_RC_CONTINUE: ucs_log_func_rc_t = 1;

pub type ucs_log_func_t = Option<
    unsafe extern "C" fn(
        file: *const c_char,
        line: c_uint,
        function: *const c_char,
        level: ucs_log_level_t,
        comp_conf: *const ucs_log_component_config_t,
        message: *const c_char,
        ap: va_list,
    ) -> ucs_log_func_rc_t,
>;

/// Writes out what the log holds back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_log_flush() {
    crate::ucs::log::flush();
}

/// The most bytes of a message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_log_get_buffer_size() -> usize {
    crate::ucs::log::settings().buffer_size
}

/// Writes a line to the log, without its source.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_log_print_compact(str: *const c_char) {
    // SAFETY: a C string or NULL.
    crate::ucs::log::print_compact(&unsafe { crate::abi::ucs::text::read(str) });
}

/// The handler that writes messages to the log.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_log_default_handler(
    file: *const c_char,
    line: c_uint,
    function: *const c_char,
    level: ucs_log_level_t,
    comp_conf: *const ucs_log_component_config_t,
    format: *const c_char,
    ap: va_list,
) -> ucs_log_func_rc_t {
    // SAFETY: the caller's own arguments, passed on.
    unsafe { log::default_handler(file, line, function, level, comp_conf, format, ap) }
}

/// Prepares the log before options are read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_log_early_init() {}

/// Prepares the log by its options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_log_init() {
    crate::ucs::log::init();
}

/// Prepares the log of a component.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_component_log_init() {}

/// Closes the log.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_log_cleanup() {
    crate::ucs::log::flush();
}

/// The bits that are set, as text in a buffer of at most `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_log_bitmap_to_str(
    n: c_uint,
    bitmap: *mut u8,
    length: usize,
) -> *const c_char {
    thread_local! {
        static TEXT: core::cell::RefCell<[c_char; 512]> = const { core::cell::RefCell::new([0; 512]) };
    }
    // More than the text can name is never looked at.
    let bits = length.min(4096);
    let set = |bit: usize| {
        // SAFETY: the caller's map has `length` bits.
        !bitmap.is_null() && unsafe { bitmap.add(bit / 8).read() } & (1 << (bit % 8)) != 0
    };
    let text = crate::ucs::strings::ranges(
        (0..bits)
            .filter(|bit| set(*bit))
            .map(|bit| bit as u64 + u64::from(n)),
    );
    TEXT.try_with(|to| {
        let mut to = to.borrow_mut();
        // SAFETY: an array of this length. The result is valid until this thread asks again.
        unsafe { crate::abi::ucs::text::write(to.as_mut_ptr(), to.len(), text.as_bytes()) };
        to.as_ptr()
    })
    .unwrap_or(c"".as_ptr())
}

/// Adds a handler, which is called before those added earlier.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_log_push_handler(handler: ucs_log_func_t) {
    log::push_handler(handler);
}

/// Removes the handler that was added last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_log_pop_handler() {
    log::pop_handler();
}

/// Number of handlers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_log_num_handlers() -> c_uint {
    log::handler_count().unsigned_abs()
}

/// Indents the messages of this thread that follow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_log_indent(delta: c_int) {
    crate::ucs::log::indent(delta);
}

/// Indentation of this thread's messages.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_log_get_current_indent() -> c_int {
    crate::ucs::log::current_indent()
}

/// Writes the call stack to the log.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_log_print_backtrace(level: ucs_log_level_t) {
    if let Some(level) = crate::ucs::log::Level::from_value(level) {
        crate::ucs_log!(level, "{}", std::backtrace::Backtrace::force_capture());
    }
}

// Variadic: the bodies are in C (see `variadic.c`), only declared here.
unsafe extern "C" {
    /// Passes a message to the handlers of the log.
    pub fn ucs_log_dispatch(
        file: *const c_char,
        line: c_uint,
        function: *const c_char,
        level: ucs_log_level_t,
        comp_conf: *mut ucs_log_component_config_t,
        format: *const c_char,
        ...
    );
    /// Writes an error that ends the program.
    pub fn ucs_log_fatal_error(format: *const c_char, ...);
    /// Name of this thread in the log.
    pub fn ucs_log_set_thread_name(format: *const c_char, ...);
}
