//! Entry points with a variable number of arguments.
//!
//! Stable Rust can't define them, so their bodies are a small C file, `variadic.c`. A cdylib
//! exports only what Rust defines, so every exported name is a naked jump into C, which passes the
//! arguments on untouched. What C needs of Rust it reaches by hidden names, which are jumps too:
//! `#[no_mangle]` would export them.
//!
//! The declarations with the true signatures stand in the modules of their headers.

pub mod log;

use core::arch::{global_asm, naked_asm};
use core::ffi::{c_char, c_int, c_uint, c_void};

use super::prelude::{Status, ucs_string_buffer_t, ucs_string_set_t, va_list};

/// A jump to `{target}` that leaves all registers as they are.
#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    () => {
        "jmp {target}"
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    () => {
        "b {target}"
    };
}

unsafe extern "C" {
    fn ucx_rs_c_log_dispatch();
    fn ucx_rs_c_log_fatal_error();
    fn ucx_rs_c_fatal_error_format();
    fn ucx_rs_c_log_set_thread_name();
    fn ucx_rs_c_snprintf_zero();
    fn ucx_rs_c_snprintf_safe();
    fn ucx_rs_c_string_split();
    fn ucx_rs_c_string_alloc_formatted_path();
    fn ucx_rs_c_string_buffer_appendf();
    fn ucx_rs_c_string_set_addf();
    fn ucx_rs_c_table_row_add_cell_fmt();
    fn ucx_rs_c_mremap();
    fn ucx_rs_c_vfs_obj_add_dir();
    fn ucx_rs_c_vfs_obj_add_ro_file();
    fn ucx_rs_c_vfs_obj_add_rw_file();
    fn ucx_rs_c_vfs_obj_add_sym_link();
    fn vsnprintf(buf: *mut c_char, size: usize, format: *const c_char, ap: va_list) -> c_int;
}

/// Passes a message to the handlers of the log.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_log_dispatch() {
    naked_asm!(jump!(), target = sym ucx_rs_c_log_dispatch)
}

/// Writes an error that ends the program.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_log_fatal_error() {
    naked_asm!(jump!(), target = sym ucx_rs_c_log_fatal_error)
}

#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_fatal_error_format() {
    naked_asm!(jump!(), target = sym ucx_rs_c_fatal_error_format)
}

/// Name of this thread in the log.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_log_set_thread_name() {
    naked_asm!(jump!(), target = sym ucx_rs_c_log_set_thread_name)
}

/// Formats into `size` bytes, and fills the rest with zeros.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_snprintf_zero() {
    naked_asm!(jump!(), target = sym ucx_rs_c_snprintf_zero)
}

/// Formats into `size` bytes, with a terminating zero.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_snprintf_safe() {
    naked_asm!(jump!(), target = sym ucx_rs_c_snprintf_safe)
}

/// Cuts a string at delimiters into `count` pieces, whose addresses are stored; returns the rest.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_split() {
    naked_asm!(jump!(), target = sym ucx_rs_c_string_split)
}

/// A path of formatted text, to be freed by `free`.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_alloc_formatted_path() {
    naked_asm!(jump!(), target = sym ucx_rs_c_string_alloc_formatted_path)
}

/// Appends formatted text.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_buffer_appendf() {
    naked_asm!(jump!(), target = sym ucx_rs_c_string_buffer_appendf)
}

/// Adds formatted text.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_string_set_addf() {
    naked_asm!(jump!(), target = sym ucx_rs_c_string_set_addf)
}

#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_table_row_add_cell_fmt() {
    naked_asm!(jump!(), target = sym ucx_rs_c_table_row_add_cell_fmt)
}

/// `mremap`, with its event.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucm_mremap() {
    naked_asm!(jump!(), target = sym ucx_rs_c_mremap)
}

/// Adds a folder for an object.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vfs_obj_add_dir() {
    naked_asm!(jump!(), target = sym ucx_rs_c_vfs_obj_add_dir)
}

/// Adds a file that can be read.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vfs_obj_add_ro_file() {
    naked_asm!(jump!(), target = sym ucx_rs_c_vfs_obj_add_ro_file)
}

/// Adds a file that can be read and written.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vfs_obj_add_rw_file() {
    naked_asm!(jump!(), target = sym ucx_rs_c_vfs_obj_add_rw_file)
}

/// Adds a link to another object.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_vfs_obj_add_sym_link() {
    naked_asm!(jump!(), target = sym ucx_rs_c_vfs_obj_add_sym_link)
}

/// Makes Rust functions reachable from `variadic.c`: global for the linker, hidden for the loader.
macro_rules! hidden {
    ($($name:literal => $function:path;)+) => {
        $(global_asm!(
            ".text",
            concat!(".globl ", $name),
            concat!(".hidden ", $name),
            concat!(".type ", $name, ", %function"),
            concat!($name, ":"),
            jump!(),
            target = sym $function,
        );)+
    };
}

hidden! {
    "ucx_rs_log_handler_count" => log::handler_count;
    "ucx_rs_log_handler_call" => log::handler_call;
    "ucx_rs_fatal" => log::fatal;
    "ucx_rs_set_thread_name" => log::set_thread_name;
    "ucx_rs_string_buffer_vappendf" => string_buffer_vappendf;
    "ucx_rs_string_set_add" => string_set_add;
    "ucx_rs_table_add_cell" => table_add_cell;
    "ucx_rs_mremap" => crate::ucm::calls::mremap;
    "ucx_rs_vfs_add_dir" => super::ucs::vfs_obj::add_dir;
    "ucx_rs_vfs_add_file" => super::ucs::vfs_obj::add_file;
    "ucx_rs_vfs_add_link" => super::ucs::vfs_obj::add_link;
}

unsafe extern "C" fn string_buffer_vappendf(
    strb: *mut ucs_string_buffer_t,
    format: *const c_char,
    ap: va_list,
) {
    // SAFETY: the caller's own arguments, passed on.
    unsafe { super::ucs::ucs_string_buffer_vappendf(strb, format, ap) }
}

unsafe extern "C" fn string_set_add(set: *mut ucs_string_set_t, text: *const c_char) -> Status {
    // SAFETY: the caller's own set; the text lives until this returns, and the set copies it.
    unsafe { super::ucs::ucs_string_set_add(set, text) }
}

unsafe extern "C" fn table_add_cell(
    table: *mut c_void,
    row: c_uint,
    span: c_uint,
    align: c_int,
    text: *const c_char,
) {
    // SAFETY: the caller's own table; the text lives until this returns.
    unsafe { super::ucs::table::add_cell(table.cast(), row, span, align, text) }
}

/// Formats into a new string, at most `limit` bytes of it. Bytes that aren't UTF-8 are replaced.
///
/// # Safety
/// `format` is a terminated string and `ap` a list of what it asks for; the list is used up.
pub unsafe fn format(format: *const c_char, ap: va_list, limit: usize) -> String {
    let mut text = vec![0u8; limit.saturating_add(1)];
    // SAFETY: the buffer has the size that is passed; the rest is the caller's promise.
    let length = unsafe { vsnprintf(text.as_mut_ptr().cast(), text.len(), format, ap) };
    text.truncate(usize::try_from(length).unwrap_or(0).min(limit));
    String::from_utf8_lossy(&text).into_owned()
}
