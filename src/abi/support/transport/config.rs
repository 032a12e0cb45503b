//! Configurations of memory domains, interfaces and connection managers.

use crate::abi::prelude::*;
use crate::abi::support::cstr::text;
use crate::ucs::config::{Config, Table, resolve};

/// All variables, of which a table's can be read and changed by their names without its prefix.
pub struct Configuration {
    pub config: Config,
    table: &'static Table,
}

/// Reads the configuration, in the form that C holds.
///
/// # Safety
/// `env_prefix` is NULL or a C string.
pub unsafe fn read(
    table: Option<&'static Table>,
    env_prefix: *const c_char,
) -> Result<*mut c_void, Error> {
    let table = table.ok_or(Error::InvalidParam)?;
    // SAFETY: forwarded to the caller.
    let prefix = unsafe { text(env_prefix) };
    let config = Config::read_table(prefix.as_deref(), table)?;
    let handle = Box::new(Configuration { config, table });
    Ok(Box::into_raw(handle).cast())
}

/// What a handle says, or the environment for NULL.
///
/// # Safety
/// `handle` is NULL or from [`read`].
pub unsafe fn values(handle: *const c_void) -> Result<Config, Error> {
    // SAFETY: as the caller says.
    match unsafe { handle.cast::<Configuration>().as_ref() } {
        Some(handle) => Ok(handle.config.clone()),
        None => Config::read(None),
    }
}

impl Configuration {
    /// The full name of one of the table's variables, which may be given with its prefix, too.
    fn full_name(&self, name: &str) -> Option<String> {
        let prefixed = format!("{}{name}", self.table.prefix);
        let known = |name: &String| {
            name.starts_with(self.table.prefix)
                && resolve(name).is_some_and(|(_, entry)| core::ptr::eq(entry.table, self.table))
        };
        [prefixed, name.to_owned()].into_iter().find(known)
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        Some(self.config.text(&self.full_name(name)?))
    }

    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let name = self.full_name(name).ok_or(Error::NoElem)?;
        self.config.modify(&name, value)
    }
}
