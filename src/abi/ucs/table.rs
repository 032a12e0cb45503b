//! `ucs/debug/table.h`, which UCX does not install but `ucx_info` uses.

use crate::abi::prelude::*;
use crate::abi::ucs::text;
use crate::ucs::table::{Align, Table};

/// A text table under construction: 48 bytes, owned by the caller, private to this library but
/// for `config`.
#[repr(C)]
pub struct ucs_table_t {
    pub config: ucs_table_config_t,
    /// The table itself, a `Box<Table>`; NULL after cleanup.
    pub entries_buffer: *mut c_void,
    pub entries_length: c_uint,
    pub entries_capacity: c_uint,
    /// The first error; after one, nothing is done any more.
    pub status: ucs_status_t,
}

/// How a table looks.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_table_config_t {
    pub n_cols: c_uint,
    pub row_prefix: *const c_char,
    pub equal_widths: c_int,
}

/// A row of a table, as returned by `ucs_table_add_row`.
pub type ucs_table_row_h = c_uint;

/// Runs `f` on the table, and remembers its first error.
///
/// # Safety
/// `table` is NULL or was initialised by `ucs_table_init`.
unsafe fn with(table: *mut ucs_table_t, f: impl FnOnce(&mut Table) -> Result<(), Error>) {
    // SAFETY: not NULL, so an initialised table of the caller's, used by one thread.
    let Some(table) = (unsafe { table.as_mut() }) else {
        return;
    };
    if table.status != Status::OK {
        return;
    }
    // SAFETY: NULL or the box made by `ucs_table_init`.
    if let Some(inner) = unsafe { table.entries_buffer.cast::<Table>().as_mut() } {
        table.status = f(inner).into();
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_table_init(
    table: *mut ucs_table_t,
    config: *const ucs_table_config_t,
) {
    if table.is_null() || config.is_null() {
        return;
    }
    // SAFETY: both are not NULL; the prefix is a C string or NULL.
    unsafe {
        let config = config.read();
        let prefix = text::read(config.row_prefix);
        let inner = Table::new(config.n_cols as usize, &prefix, config.equal_widths != 0);
        let status = match config.n_cols {
            0 => Error::InvalidParam.into(),
            _ => Status::OK,
        };
        table.write(ucs_table_t {
            config,
            entries_buffer: Box::into_raw(Box::new(inner)).cast(),
            entries_length: 0,
            entries_capacity: 0,
            status,
        });
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_table_cleanup(table: *mut ucs_table_t) {
    // SAFETY: not NULL, so an initialised table; its box is dropped once.
    unsafe {
        if let Some(table) = table.as_mut() {
            let inner = core::mem::replace(&mut table.entries_buffer, core::ptr::null_mut());
            if !inner.is_null() {
                drop(Box::from_raw(inner.cast::<Table>()));
            }
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_table_get_status(table: *const ucs_table_t) -> ucs_status_t {
    // SAFETY: NULL or an initialised table.
    unsafe { table.as_ref() }.map_or(Error::InvalidParam.into(), |table| table.status)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_table_add_separator_with_merged_cols(
    table: *mut ucs_table_t,
    merged_cols: c_uint,
) {
    // SAFETY: NULL or an initialised table.
    unsafe { with(table, |table| table.add_separator(merged_cols as usize)) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_table_add_separator(table: *mut ucs_table_t) {
    // SAFETY: NULL or an initialised table.
    unsafe { with(table, |table| table.add_separator(0)) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_table_add_row(table: *mut ucs_table_t, row: *mut ucs_table_row_h) {
    if row.is_null() {
        return;
    }
    // SAFETY: `row` is writable; the table is NULL or initialised.
    unsafe {
        row.write(0);
        with(table, |table| {
            row.write(c_uint::try_from(table.add_row()).map_err(|_| Error::ExceedsLimit)?);
            Ok(())
        });
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_table_row_add_cell_empty(
    table: *mut ucs_table_t,
    row: ucs_table_row_h,
    col_span: c_uint,
) {
    // SAFETY: NULL or an initialised table.
    unsafe {
        with(table, |table| {
            table.add_cell(row as usize, col_span as usize, Align::Left, "")
        });
    }
}

/// The body of `ucs_table_row_add_cell_fmt`, whose arguments have been formatted.
///
/// # Safety
/// `table` is NULL or initialised, `text` a C string or NULL.
pub unsafe fn add_cell(
    table: *mut ucs_table_t,
    row: ucs_table_row_h,
    col_span: c_uint,
    align: c_int,
    text: *const c_char,
) {
    let align = match align {
        1 => Align::Right,
        2 => Align::Center,
        _ => Align::Left,
    };
    // SAFETY: as the caller promises.
    unsafe {
        let text = text::read(text);
        with(table, |table| {
            table.add_cell(row as usize, col_span as usize, align, &text)
        });
    }
}

/// Appends the table's text to a string buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_table_render(table: *mut ucs_table_t, strb: *mut ucs_string_buffer_t) {
    // SAFETY: NULL or an initialised table; NULL or a string buffer.
    unsafe {
        with(table, |table| {
            let text = table.render()?;
            ucs_string_buffer_push(strb, text.as_bytes());
            Ok(())
        });
    }
}

/// Prints the table on standard output.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_table_print(table: *mut ucs_table_t) {
    // SAFETY: NULL or an initialised table.
    unsafe {
        with(table, |table| {
            crate::sys::stdio::print(&table.render()?);
            Ok(())
        });
    }
}
