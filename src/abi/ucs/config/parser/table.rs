//! Entry points of `ucs/config/parser.h`: table.

use super::fields::{self, Sources};
use crate::abi::prelude::*;
use crate::abi::ucs::text;
use crate::ucs::config::{self, Config, Kind, Print};

/// Sets all fields of a table to their defaults.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parser_set_default_values(
    opts: *mut c_void,
    fields: *mut ucs_config_field_t,
) -> ucs_status_t {
    // SAFETY: the caller has room for a struct as the table describes it.
    unsafe { fields::set_defaults(opts, fields) }.into()
}

/// Reads the variables of one configuration file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parse_config_file(
    dir_path: *const c_char,
    file_name: *const c_char,
    override_: c_int,
) {
    let _ = (dir_path, file_name, override_);
}

/// Reads the variables of all configuration files, once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parse_config_files() {}

/// Fills a struct by its table: defaults, files, environment.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parser_fill_opts(
    opts: *mut c_void,
    entry: *mut ucs_config_global_list_entry_t,
    env_prefix: *const c_char,
    ignore_errors: c_int,
) -> ucs_status_t {
    // SAFETY: the caller passes an entry, room for a struct as its table describes it, a C string.
    unsafe {
        let Some(entry) = entry.as_mut().filter(|_| !opts.is_null()) else {
            return Error::InvalidParam.into();
        };
        if let Err(error) = fields::set_defaults(opts, entry.table) {
            return error.into();
        }
        let own = text::read(env_prefix);
        // A prefix of its own is `<program>_UCX_`: plain `UCX_` comes first, and loses.
        let plain = own.strip_suffix('_').and_then(|own| own.rsplit_once('_'));
        let plain = plain.map(|(_, last)| format!("{last}_"));
        let sources = Sources::new();
        let prefix = text::read(entry.prefix);
        for env_prefix in plain.iter().map(String::as_str).chain([&*own]) {
            let prefix = Some(&*prefix);
            let result = sources.apply(
                opts,
                entry.table,
                env_prefix,
                prefix,
                true,
                ignore_errors != 0,
            );
            if let Err(error) = result {
                fields::release_all(opts, entry.table);
                return error.into();
            }
        }
        entry.flags |= UCS_CONFIG_TABLE_FLAG_LOADED as u8;
    }
    Status::OK
}

/// Writes a struct as text by its table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parser_print_opts(
    stream: *mut FILE,
    title: *const c_char,
    opts: *const c_void,
    fields: *mut ucs_config_field_t,
    table_prefix: *const c_char,
    prefix: *const c_char,
    flags: ucs_config_print_flags_t,
    filter: *const c_char,
) {
    if stream.is_null() {
        return;
    }
    // SAFETY: the caller passes a struct as the table describes it, C strings, an open stream.
    unsafe {
        let (title, env_prefix) = (text::read(title), text::read(prefix));
        let table_prefix = text::read(table_prefix).into_owned();
        let filter = text::bytes(filter).map(String::from_utf8_lossy);
        let flags = Print(flags);
        let mut listing = String::new();
        if flags.0 & Print::CONFIG != 0 {
            let prefixes = [table_prefix];
            let filter = filter.as_deref();
            fields::list(
                &mut listing,
                opts,
                fields,
                &env_prefix,
                &prefixes,
                flags,
                filter,
            );
        }
        if flags.0 & Print::HEADER != 0 && (!listing.is_empty() || flags.0 & Print::CONFIG == 0) {
            listing.insert_str(0, &format!("#\n# {title}\n#\n\n"));
        }
        crate::sys::stdio::write_stream(stream, listing.as_bytes());
    }
}

/// Writes all registered tables as text. The filter is the fifth argument, which callers built with
/// UCX 1.13 don't pass.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parser_print_all_opts(
    stream: *mut FILE,
    prefix: *const c_char,
    flags: ucs_config_print_flags_t,
    config_list: *mut ucs_list_link_t,
    filter: *const c_char,
) {
    // The tables are ours, whatever the list says; a program's own tables need their parsers.
    let _ = config_list;
    if stream.is_null() {
        return;
    }
    // SAFETY: a C string or NULL. Callers of before 1.22 have no fifth argument, so what is there
    // may only be looked at when the executable says that it is newer.
    unsafe {
        let filter = if built_for_1_22() {
            filter
        } else {
            core::ptr::null()
        };
        ucx_rs_print_config(stream, prefix, flags, filter);
    }
}

/// Value of one field as text of at most `max` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parser_get_value(
    opts: *mut c_void,
    fields: *mut ucs_config_field_t,
    name: *const c_char,
    value: *mut c_char,
    max: usize,
) -> ucs_status_t {
    if opts.is_null() || fields.is_null() || name.is_null() || (value.is_null() && max > 0) {
        return Error::InvalidParam.into();
    }
    // SAFETY: the caller passes a struct as the table describes it, and room for `max` bytes.
    unsafe {
        match fields::get(opts, fields, &text::read(name)) {
            Some(found) => {
                text::write(value, max, found.as_bytes());
                Status::OK
            }
            None => Error::NoElem.into(),
        }
    }
}

/// Sets one field by its name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parser_set_value(
    opts: *mut c_void,
    fields: *mut ucs_config_field_t,
    prefix: *const c_char,
    name: *const c_char,
    value: *const c_char,
) -> ucs_status_t {
    // SAFETY: the caller passes a struct as the table describes it, and C strings.
    unsafe {
        let prefix = text::bytes(prefix).map(String::from_utf8_lossy);
        let (name, value) = (text::read(name), text::read(value));
        fields::set(opts, fields, prefix.as_deref(), &name, &value, true).into()
    }
}

/// Writes, once, which variables are set, and warns of those that nothing reads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parser_print_env_vars_once(env_prefix: *const c_char) {
    // SAFETY: a C string or NULL.
    let prefix = unsafe { text::read(env_prefix) };
    let own = prefix
        .strip_suffix(config::PREFIX)
        .and_then(|own| own.strip_suffix('_'));
    match Config::read(own) {
        Ok(settings) => settings.warn_unused_once(),
        Err(_) => Config::global().warn_unused_once(),
    }
}

/// Size in bytes; `auto_size` for "auto", at most `max_size`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_memunits_get(
    config_size: usize,
    auto_size: usize,
    max_size: usize,
) -> usize {
    match config_size {
        config::SIZE_AUTO => auto_size,
        size => size.min(max_size),
    }
}

/// Index of a name in a list that may hold patterns, or -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_names_search(
    config_names: *const ucs_config_names_array_t,
    str: *const c_char,
) -> c_int {
    // SAFETY: the caller passes an array of C strings, and a C string.
    unsafe {
        let (Some(names), Some(wanted)) = (config_names.as_ref(), text::bytes(str)) else {
            return -1;
        };
        for index in 0..names.count {
            let pattern = text::bytes(names.names.add(index as usize).read()).unwrap_or_default();
            if crate::ucs::log::glob_match(pattern, wanted) {
                return index as c_int;
            }
        }
    }
    -1
}

/// Appends the variables that are set, as text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parser_get_env_vars(
    env_strb: *mut ucs_string_buffer_t,
    delimiter: *const c_char,
) {
    // SAFETY: a C string or NULL; NULL or a string buffer.
    unsafe {
        let delimiter = text::read(delimiter);
        let known = |name: &str| {
            name.strip_prefix(config::PREFIX)
                .and_then(config::resolve)
                .is_some()
        };
        for (name, value) in std::env::vars_os() {
            let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
            if known(&name) {
                ucs_string_buffer_push(env_strb, format!("{name}={value}{delimiter}").as_bytes());
            }
        }
    }
}

/// Frees what the parser keeps.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parser_cleanup() {}

/// 1 if a table has a field of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_parser_has_field(
    fields: *const ucs_config_field_t,
    prefix: *const c_char,
    name: *const c_char,
) -> c_int {
    // SAFETY: the caller passes a table, and C strings.
    c_int::from(unsafe { fields::has(fields, &text::read(prefix), &text::read(name), true) })
}

/// 1 if a registered table has a field of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_global_list_has_field(name: *const c_char) -> c_int {
    // SAFETY: a C string or NULL.
    let name = unsafe { text::read(name) };
    let known =
        config::resolve(&name).is_some_and(|(_, e)| !matches!(e.var.kind, Kind::Deprecated));
    c_int::from(known)
}

/// 1 if a list allows nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_is_allow_list_empty(
    allow_list: *const ucs_config_allow_list_t,
) -> c_int {
    // SAFETY: the caller passes a list.
    let list = unsafe { allow_list.as_ref() };
    let empty = |list: &ucs_config_allow_list_t| {
        list.array.count == 0 && list.mode != UCS_CONFIG_ALLOW_LIST_ALLOW_ALL
    };
    c_int::from(list.is_none_or(empty))
}

/// 1 if all lists allow nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_config_are_all_allow_lists_empty(
    allow_lists: *const ucs_config_allow_list_t,
    count: usize,
) -> c_int {
    // SAFETY: the caller passes this many lists.
    let empty = |index| unsafe { ucs_config_is_allow_list_empty(allow_lists.add(index)) } != 0;
    c_int::from((0..count).all(empty))
}

/// Whether the executable carries a copy of `ucs_global_opts` in the size that it has in 1.22.
pub(crate) fn built_for_1_22() -> bool {
    crate::sys::symbols::size_at(ucs_global_opts.get() as usize).is_some_and(|size| size >= 448)
}
