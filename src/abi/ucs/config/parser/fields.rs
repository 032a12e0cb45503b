//! Tables of variables that C programs declare: defaults, environment, copying, listing.
//!
//! A table is an array of fields that ends with one without a name. A field is a value of its
//! own, another name of a value (no default), a deprecated name (an impossible offset), or a table
//! of more fields (nothing to write it with).

use crate::abi::prelude::*;
use crate::abi::ucs::text;
use crate::ucs::config::file::Files;
use crate::ucs::config::{Print, ThisMachine};
use crate::ucs::log::glob_match;

use super::value;

/// cbindgen:ignore
type Result<T> = core::result::Result<T, Error>;

/// cbindgen:ignore
type Fields = *const ucs_config_field_t;

/// The fields of a table.
///
/// # Safety
/// `fields` is NULL or a table that stays for `'a`.
unsafe fn all<'a>(fields: Fields) -> impl Iterator<Item = &'a ucs_config_field_t> {
    let count = if fields.is_null() { 0 } else { usize::MAX };
    (0..count)
        // SAFETY: nothing is read beyond the end.
        .map(move |at| unsafe { &*fields.add(at) })
        .take_while(|field| !field.name.is_null())
}

fn is_deprecated(field: &ucs_config_field_t) -> bool {
    field.offset as u64 == UCS_CONFIG_DEPRECATED_FIELD_OFFSET
}

fn is_alias(field: &ucs_config_field_t) -> bool {
    field.dfl_value.is_null()
}

fn is_table(field: &ucs_config_field_t) -> bool {
    field.parser.write.is_none() && !is_deprecated(field) && !is_alias(field)
}

/// Whether the field has a place in the struct that is its own.
fn has_value(field: &ucs_config_field_t) -> bool {
    !is_deprecated(field) && !is_alias(field)
}

/// Reads a value; a wrong one is reported.
///
/// # Safety
/// `place` is the field's place in a struct of its table.
unsafe fn parse(field: &ucs_config_field_t, value: &str, place: *mut c_void) -> Result<()> {
    // SAFETY: as the caller promises.
    unsafe {
        if value::parse(&field.parser, value, place) {
            return Ok(());
        }
        let (name, help) = (text::read(field.name), value::help(&field.parser));
        crate::ucs_error!("Invalid value for {name}: '{value}'. Expected: {help}");
    }
    Err(Error::InvalidParam)
}

/// # Safety
/// `place` is the field's place in a struct of its table, with a value.
unsafe fn release(field: &ucs_config_field_t, place: *mut c_void) {
    if let Some(release) = field.parser.release {
        // SAFETY: as the caller promises.
        unsafe { release(place, field.parser.arg) };
    }
}

/// Gives all fields their defaults.
///
/// # Safety
/// `opts` has room for a struct as the table describes it; below as well.
pub(super) unsafe fn set_defaults(opts: *mut c_void, fields: Fields) -> Result<()> {
    // SAFETY: as the caller promises.
    for field in unsafe { all(fields) }.filter(|field| has_value(field)) {
        // SAFETY: as the caller promises.
        unsafe {
            let place = opts.byte_add(field.offset);
            if is_table(field) {
                set_defaults(place, field.parser.arg.cast())?;
            }
            parse(field, &text::read(field.dfl_value), place)?;
        }
    }
    Ok(())
}

/// Copies all fields.
///
/// # Safety
/// Both are structs as the table describes them.
pub(super) unsafe fn clone(src: *const c_void, dst: *mut c_void, fields: Fields) -> Result<()> {
    // SAFETY: as the caller promises.
    for field in unsafe { all(fields) }.filter(|field| has_value(field)) {
        let copy = field.parser.clone.ok_or(Error::InvalidParam)?;
        // SAFETY: as the caller promises.
        let (from, to) = unsafe { (src.byte_add(field.offset), dst.byte_add(field.offset)) };
        // SAFETY: as the caller promises.
        let status = unsafe { copy(from, to, field.parser.arg) };
        if status != Status::OK {
            return Err(Error::from_code(status.0).unwrap_or(Error::NoMemory));
        }
    }
    Ok(())
}

/// Frees what the fields hold.
///
/// # Safety
/// `opts` is a struct as the table describes it.
pub(super) unsafe fn release_all(opts: *mut c_void, fields: Fields) {
    // SAFETY: as the caller promises.
    for field in unsafe { all(fields) }.filter(|field| has_value(field)) {
        // SAFETY: as the caller promises.
        unsafe { release(field, opts.byte_add(field.offset)) };
    }
}

/// Sets all fields whose name, with the table's prefix, matches a pattern.
///
/// # Errors
/// `NoElem` when there is none, `InvalidParam` for a wrong value, which is not taken.
///
/// # Safety
/// `opts` is a struct as the table describes it.
pub(super) unsafe fn set(
    opts: *mut c_void,
    fields: Fields,
    prefix: Option<&str>,
    name: &str,
    value: &str,
    recurse: bool,
) -> Result<()> {
    let mut found = false;
    // SAFETY: as the caller promises.
    for field in unsafe { all(fields) } {
        // SAFETY: as the caller promises.
        let own = unsafe { text::read(field.name) };
        if is_table(field) {
            // SAFETY: as the caller promises.
            let (place, inner) = unsafe { (opts.byte_add(field.offset), field.parser.arg.cast()) };
            // By the inner table's prefix, and by ours.
            let prefixes = [
                recurse.then_some((&*own, true)),
                prefix.map(|prefix| (prefix, false)),
            ];
            for (prefix, recurse) in prefixes.into_iter().flatten() {
                // SAFETY: as the caller promises.
                match unsafe { set(place, inner, Some(prefix), name, value, recurse) } {
                    Ok(()) => found = true,
                    Err(Error::NoElem) => {}
                    Err(error) => return Err(error),
                }
            }
            continue;
        }
        let full = format!("{}{own}", prefix.unwrap_or(""));
        if !glob_match(name.as_bytes(), full.as_bytes()) {
            continue;
        }
        if is_deprecated(field) {
            return Err(Error::NoElem);
        }
        // SAFETY: as the caller promises.
        unsafe { replace(field, value, opts.byte_add(field.offset))? };
        found = true;
    }
    if found { Ok(()) } else { Err(Error::NoElem) }
}

/// Replaces a value; when the new one is wrong, the old one stays.
///
/// # Safety
/// `place` is the field's place in a struct of its table, with a value.
unsafe fn replace(field: &ucs_config_field_t, value: &str, place: *mut c_void) -> Result<()> {
    // SAFETY: as the caller promises.
    unsafe {
        let old = value::print(&field.parser, place);
        release(field, place);
        parse(field, value, place).inspect_err(|_| {
            if let Some(old) = old {
                value::parse(&field.parser, &old, place);
            }
        })
    }
}

/// Where values come from.
///
/// cbindgen:ignore
pub(super) struct Sources {
    files: Files,
}

impl Sources {
    pub(super) fn new() -> Sources {
        Sources {
            files: Files::load(&ThisMachine),
        }
    }

    fn get(&self, name: &str) -> Option<String> {
        let value = std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        value.or_else(|| self.files.values.get(name).cloned())
    }

    /// Takes values from environment and files: those of inner tables by their own prefix first,
    /// then by the outer one's, which wins.
    ///
    /// # Safety
    /// `opts` is a struct as the table describes it.
    pub(super) unsafe fn apply(
        &self,
        opts: *mut c_void,
        fields: Fields,
        env_prefix: &str,
        prefix: Option<&str>,
        recurse: bool,
        ignore_errors: bool,
    ) -> Result<()> {
        // SAFETY: as the caller promises.
        for field in unsafe { all(fields) } {
            // SAFETY: as the caller promises.
            let own = unsafe { text::read(field.name) };
            if is_table(field) {
                // SAFETY: as the caller promises.
                let place = unsafe { opts.byte_add(field.offset) };
                let inner = field.parser.arg.cast();
                let levels = [recurse.then_some((&*own, true)), prefix.map(|p| (p, false))];
                for (prefix, recurse) in levels.into_iter().flatten() {
                    let prefix = Some(prefix);
                    // SAFETY: as the caller promises.
                    unsafe {
                        self.apply(place, inner, env_prefix, prefix, recurse, ignore_errors)?;
                    }
                }
                continue;
            }
            let full = format!("{env_prefix}{}{own}", prefix.unwrap_or(""));
            let Some(value) = self.get(&full) else {
                continue;
            };
            if is_deprecated(field) {
                crate::ucs_warn!("{full} is deprecated");
                continue;
            }
            // SAFETY: as the caller promises.
            let result = unsafe { replace(field, &value, opts.byte_add(field.offset)) };
            if !ignore_errors {
                result?;
            }
        }
        Ok(())
    }
}

/// The text of the field of this name.
///
/// # Safety
/// `opts` is a struct as the table describes it.
pub(super) unsafe fn get(opts: *const c_void, fields: Fields, name: &str) -> Option<String> {
    // SAFETY: as the caller promises.
    for field in unsafe { all(fields) }.filter(|field| !is_deprecated(field)) {
        // SAFETY: as the caller promises.
        let own = unsafe { text::read(field.name) };
        // SAFETY: as the caller promises.
        let place = unsafe { opts.byte_add(field.offset) };
        if is_table(field) {
            let rest = name.strip_prefix(&*own);
            // SAFETY: as the caller promises.
            let inner = rest.and_then(|rest| unsafe { get(place, field.parser.arg.cast(), rest) });
            if inner.is_some() {
                return inner;
            }
        } else if own == name {
            // SAFETY: as the caller promises.
            return unsafe { value::print(&field.parser, place) };
        }
    }
    None
}

/// Whether a table has a variable of this name.
///
/// # Safety
/// `fields` is NULL or a table.
pub(super) unsafe fn has(fields: Fields, prefix: &str, name: &str, recurse: bool) -> bool {
    // SAFETY: as the caller promises.
    unsafe { all(fields) }.any(|field| {
        // SAFETY: as the caller promises.
        let own = unsafe { text::read(field.name) };
        if is_table(field) {
            let inner = field.parser.arg.cast();
            // SAFETY: as the caller promises.
            return (recurse && unsafe { has(inner, &own, name, true) })
                // SAFETY: as the caller promises.
                || unsafe { has(inner, prefix, name, false) };
        }
        !is_deprecated(field) && glob_match(name.as_bytes(), format!("{prefix}{own}").as_bytes())
    })
}

/// The listing of a table, without heading. `prefixes`: the table's own prefix, then those of
/// tables that hold the same values for others.
///
/// # Safety
/// `opts` is a struct as the table describes it.
pub(super) unsafe fn list(
    out: &mut String,
    opts: *const c_void,
    fields: Fields,
    env_prefix: &str,
    prefixes: &[String],
    flags: Print,
    filter: Option<&str>,
) {
    // SAFETY: as the caller promises.
    for field in unsafe { all(fields) } {
        // SAFETY: as the caller promises.
        let own = unsafe { text::read(field.name) };
        if is_table(field) {
            let mut inner = prefixes.to_vec();
            if inner.last().is_none_or(|last| *last != *own) {
                inner.push(own.into_owned());
            }
            // SAFETY: as the caller promises.
            unsafe {
                let (place, fields) = (opts.byte_add(field.offset), field.parser.arg.cast());
                list(out, place, fields, env_prefix, &inner, flags, filter);
            }
            continue;
        }
        let hidden = is_deprecated(field) || is_alias(field);
        let prefix = prefixes.first().map_or("", String::as_str);
        let name = format!("{env_prefix}{prefix}{own}");
        if (hidden && flags.0 & Print::HIDDEN == 0) || filter.is_some_and(|f| !name.contains(f)) {
            continue;
        }
        if flags.0 & Print::DOC != 0 {
            out.push_str("#\n");
            // SAFETY: as the caller promises.
            let doc = unsafe { text::read(field.doc) };
            // SAFETY: as the caller promises.
            let more = unsafe { value::doc(&field.parser) };
            for line in doc.split('\n').chain(more.split('\n')) {
                *out += &format!("# {line}\n");
            }
            // SAFETY: as the caller promises.
            let syntax = unsafe { value::help(&field.parser) };
            *out += &format!("#\n# {:<10} {syntax}\n", "syntax:");
            let parents: Vec<String> = prefixes
                .iter()
                .skip(1)
                .map(|p| format!("{env_prefix}{p}{own}"))
                .collect();
            if !parents.is_empty() {
                *out += &format!("# {:<10} {}\n", "inherits:", parents.join(", "));
            }
            out.push_str("#\n");
        }
        match is_deprecated(field) {
            true => *out += &format!("{name} (deprecated)\n"),
            false => {
                // SAFETY: as the caller promises.
                let place = unsafe { opts.byte_add(field.offset) };
                // SAFETY: as the caller promises.
                let value = unsafe { value::print(&field.parser, place) }.unwrap_or_default();
                *out += &format!("{name}={value}\n");
            }
        }
        if flags.0 & Print::DOC != 0 {
            out.push('\n');
        }
    }
}
