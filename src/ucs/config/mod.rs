//! Configuration: `UCX_*` variables and `ucx.conf` files.
//!
//! Each part of the library declares its variables in a [`Table`]; [`tables`] lists them all.
//! [`Config::read`] takes values from the environment and from files and checks them, so that the
//! typed getters can't fail: they give what is set, else the declared default.
#![forbid(unsafe_code)]

pub mod file;
pub mod global;
mod kind;
mod list;
mod print;
mod read;
mod suggest;
mod table;
mod units;

use std::collections::BTreeMap;
use std::sync::OnceLock;

pub use kind::{Key, Kind, SIGNALS, parse_bool, parse_range};
pub use list::{AllowList, Mode, tokens};
pub use print::{Print, print_all, print_tables};
pub use read::ThisMachine;
pub use suggest::{distance, nearest};
pub use table::{Entry, Group, OnError, Table, Variable, index, resolve, var};
pub use units::{
    SIZE_AUTO, SIZE_INF, format_bandwidth, format_size, format_time, parse_bandwidth, parse_double,
    parse_int, parse_size, parse_time, parse_ulong,
};

use crate::ucs::status::{Error, Result};

/// All tables, in the order of listings. The one place where this layer names those above it: a
/// static list needs no registration at start.
pub fn tables() -> &'static [&'static Table] {
    use crate::{ucp, uct};
    static TABLES: &[&Table] = &[
        &global::UCS,
        &global::UCS_READ_ONLY,
        &global::UCM,
        &uct::config_table::SELF_MD,
        &uct::config_table::SELF,
        &uct::config_table::TCP_MD,
        &uct::config_table::TCP_CM,
        &uct::config_table::TCP,
        &uct::config_table::SYSV_MD,
        &uct::config_table::SYSV,
        &uct::config_table::POSIX_MD,
        &uct::config_table::POSIX,
        &ucp::config_table::UCP,
        &uct::cuda::copy::config::MD,
        &uct::cuda::copy::config::TRANSPORT,
        &uct::cuda::ipc::config::MD,
        &uct::cuda::ipc::config::TRANSPORT,
        &uct::config_table::CMA_MD,
        &uct::config_table::CMA,
        &ucp::select::device::STAGING,
        &ucp::failover::FAILOVER,
        &uct::fault::FAULT,
    ];
    TABLES
}

/// The prefix of variables in the environment.
pub const PREFIX: &str = "UCX_";

/// The values in force: what the environment, files and `ucp_config_modify` say, by full name
/// without the `UCX_` prefix (`TLS`, `RNDV_THRESH`, `TCP_TX_SEG_SIZE`).
#[derive(Clone, Debug, Default)]
pub struct Config {
    values: BTreeMap<String, String>,
    /// Prefix of the program's own variables in the environment (`MPI_UCX_`), if it has one.
    env_prefix: Option<String>,
}

/// A value of `y`, `n`, `try` or `auto`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ternary {
    No,
    Yes,
    /// `try`: use it if it is there.
    Try,
    /// `auto`: decide yourself.
    Auto,
}

impl Config {
    /// The configuration of the services themselves: files and environment as they were at the
    /// first use. Wrong values are defaults here; [`Config::read`] is who reports them.
    pub fn global() -> &'static Config {
        static GLOBAL: OnceLock<Config> = OnceLock::new();
        GLOBAL.get_or_init(Config::lenient)
    }

    /// The text set for `name`, directly or through a name that stands for several variables
    /// (`SM_BW` for `SYSV_BW`); `None` when the default is in force.
    pub fn get(&self, name: &str) -> Option<&str> {
        if let Some((name, entry)) = resolve(name) {
            let set = entry.chain.iter().find_map(|name| self.values.get(name));
            return set.or_else(|| self.values.get(&name)).map(String::as_str);
        }
        self.values.get(name).map(String::as_str)
    }

    /// Sets `name` without a check, as the environment would.
    pub fn set(&mut self, name: &str, value: &str) {
        let name = resolve(name).map_or_else(|| name.to_owned(), |(name, _)| name);
        self.values.insert(name, value.to_owned());
    }

    /// The text in force for `name`: what is set, else the default, else nothing.
    pub fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_else(|| default(name))
    }

    /// Reads what `parse` makes of the value in force. A value that was set unchecked and is
    /// wrong gives way to the default.
    fn value<T>(&self, name: &str, parse: impl Fn(&str) -> Option<T>, otherwise: T) -> T {
        if let Some(value) = self.get(name).and_then(&parse) {
            return value;
        }
        parse(default(name)).unwrap_or(otherwise)
    }

    /// A `y|n` value; false for a name that isn't declared.
    pub fn bool_(&self, name: &str) -> bool {
        self.value(name, parse_bool, false)
    }

    /// A `yes|no|try` or `on|off|auto` value.
    pub fn ternary(&self, name: &str) -> Ternary {
        let parse = |text: &str| match text.trim().to_ascii_lowercase().as_str() {
            "auto" => Some(Ternary::Auto),
            "try" | "maybe" => Some(Ternary::Try),
            other => parse_bool(other).map(|yes| if yes { Ternary::Yes } else { Ternary::No }),
        };
        self.value(name, parse, Ternary::No)
    }

    /// A signed integer.
    pub fn int(&self, name: &str) -> i32 {
        self.value(name, parse_int, 0)
    }

    /// An unsigned integer; `inf` is `u32::MAX`.
    pub fn uint(&self, name: &str) -> u32 {
        let parse = |text: &str| match text.trim() {
            inf if inf.eq_ignore_ascii_case("inf") => Some(u32::MAX),
            number => parse_ulong(number).and_then(|v| u32::try_from(v).ok()),
        };
        self.value(name, parse, 0)
    }

    /// An unsigned number where `inf` is `u64::MAX` and `auto` is `None`.
    pub fn count(&self, name: &str) -> Option<u64> {
        let parse = |text: &str| match text.trim().to_ascii_lowercase().as_str() {
            "inf" => Some(Some(u64::MAX)),
            "auto" => Some(None),
            number => parse_ulong(number).map(Some),
        };
        self.value(name, parse, None)
    }

    /// Bytes; [`SIZE_INF`] (`usize::MAX`) for `inf`, [`SIZE_AUTO`] for `auto`.
    pub fn size(&self, name: &str) -> usize {
        self.value(name, parse_size, 0)
    }

    /// Bytes, `usize::MAX` for `inf`, `None` for `auto`.
    pub fn size_auto(&self, name: &str) -> Option<usize> {
        Some(self.size(name)).filter(|size| *size != SIZE_AUTO)
    }

    /// Bytes set for `key` of a value such as `intra:8k,inter:auto`; `None` for `auto`.
    pub fn keyed_size(&self, name: &str, key: &str) -> Option<usize> {
        let parse = |text: &str| keyed(name, key, text).and_then(|v| parse_size(&v));
        Some(self.value(name, parse, SIZE_AUTO)).filter(|size| *size != SIZE_AUTO)
    }

    /// Seconds set for `key` of a value such as `single:5ns,multi:10ns`.
    pub fn keyed_time(&self, name: &str, key: &str) -> f64 {
        self.value(
            name,
            |text| keyed(name, key, text).and_then(|v| parse_time(&v)),
            0.0,
        )
    }

    /// Bytes per second set for `key`; `None` for `auto`.
    pub fn keyed_bandwidth(&self, name: &str, key: &str) -> Option<f64> {
        let value = |text: &str| keyed(name, key, text).map(|v| parse_bandwidth(&v));
        self.value(name, value, None)
    }

    /// A floating point number.
    pub fn double(&self, name: &str) -> f64 {
        self.value(name, parse_double, 0.0)
    }

    /// A floating point number above zero; `None` for `auto`.
    pub fn double_auto(&self, name: &str) -> Option<f64> {
        self.value(name, |text| auto_or(text, parse_double), None)
    }

    /// Seconds; infinite for `inf`.
    pub fn time(&self, name: &str) -> f64 {
        self.time_auto(name).unwrap_or(0.0)
    }

    /// Seconds, infinite for `inf`, `None` for `auto`.
    pub fn time_auto(&self, name: &str) -> Option<f64> {
        let parse = |text: &str| match text.trim() {
            inf if inf.eq_ignore_ascii_case("inf") => Some(f64::INFINITY),
            other => parse_time(other),
        };
        self.value(name, |text| auto_or(text, parse), None)
    }

    /// Bytes per second; `None` for `auto`.
    pub fn bandwidth(&self, name: &str) -> Option<f64> {
        self.value(name, |text| auto_or(text, parse_bandwidth), None)
    }

    /// The chosen name of an enumeration as it is declared, in its declared case; empty for a
    /// variable of another type.
    pub fn choice(&self, name: &str) -> &'static str {
        let Some((
            _,
            Entry {
                var:
                    Variable {
                        kind: Kind::Enum(names),
                        ..
                    },
                ..
            },
        )) = resolve(name)
        else {
            return "";
        };
        let find = |text: &str| {
            names
                .iter()
                .copied()
                .find(|known| known.eq_ignore_ascii_case(text.trim()))
        };
        self.value(name, find, "")
    }

    /// The entries of a comma-separated list.
    pub fn list(&self, name: &str) -> Vec<String> {
        tokens(self.text(name), ',').map(str::to_owned).collect()
    }

    /// A list that may be negated (`^a,b`) or `all`.
    pub fn allow_list(&self, name: &str) -> AllowList {
        let ranges =
            resolve(name).is_some_and(|(_, e)| matches!(e.var.kind, Kind::AllowListRanges));
        let all = AllowList {
            mode: Mode::All,
            names: Vec::new(),
        };
        self.value(name, |text| AllowList::parse(text, ranges), all)
    }

    /// First and last of a range of numbers.
    pub fn range(&self, name: &str) -> (u32, u32) {
        self.value(name, |text| parse_range(text, u32::MAX), (0, 0))
    }

    /// Sets a variable as `ucp_config_modify` does: the name without `UCX_`, patterns (`*_BW`)
    /// allowed.
    ///
    /// # Errors
    /// `InvalidParam` for an unknown name, a variable that is taken only once, and a wrong value.
    pub fn modify(&mut self, name: &str, value: &str) -> Result<()> {
        let names = matching(name);
        if names.is_empty() {
            let near = nearest(name)
                .map(|near| format!(" (maybe: {near}?)"))
                .unwrap_or_default();
            crate::ucs_diag!("'{name}' is no configuration variable{near}");
            return Err(Error::InvalidParam);
        }
        for (name, entry) in &names {
            if entry.table.read_only {
                crate::ucs_diag!("'{name}' can't be changed any more");
                return Err(Error::InvalidParam);
            }
            read::check(PREFIX, name, entry, value)?;
        }
        for (name, _) in &names {
            self.values.insert(name.clone(), value.to_owned());
            if name == "LOG_LEVEL"
                && let Some(level) = crate::ucs::log::parse_level(value)
            {
                crate::ucs::log::set_level(level);
            }
        }
        Ok(())
    }

    /// The prefix that variables of this configuration have in the environment.
    pub fn prefix(&self) -> &str {
        self.env_prefix.as_deref().unwrap_or(PREFIX)
    }
}

/// What a fuzz target calls: any bytes as a file, as values in the environment and as changes. It
/// must return, whatever they are.
pub fn fuzz(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut files = file::Files::default();
    files.add(&text, "fuzz", &ThisMachine);
    let environment = text
        .split('\0')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (format!("{PREFIX}{name}"), value.to_owned()))
        .collect();
    let mut config = Config::from_sources(Some("P"), &environment, &files).unwrap_or_default();
    for (name, value) in text.lines().filter_map(|line| line.split_once('=')) {
        let _ = config.modify(name, value);
        let _ = nearest(name);
    }
    let _ = print_all(&config, PREFIX, Print(u32::MAX), None);
}

/// Names (those that can have a value) that `pattern` matches.
fn matching(pattern: &str) -> Vec<(String, &'static Entry)> {
    if !pattern.contains(['*', '?', '[']) {
        return resolve(pattern)
            .filter(|(_, entry)| !matches!(entry.var.kind, Kind::Deprecated))
            .into_iter()
            .collect();
    }
    let mut names: Vec<_> = index()
        .iter()
        .filter(|(name, entry)| {
            !matches!(entry.var.kind, Kind::Deprecated | Kind::Alias(_))
                && !entry.table.read_only
                && crate::ucs::log::glob_match(pattern.as_bytes(), name.as_bytes())
        })
        .map(|(name, entry)| (name.clone(), entry))
        .collect();
    names.sort_by(|a, b| a.0.cmp(&b.0));
    names
}

fn default(name: &str) -> &'static str {
    match resolve(name) {
        Some((_, entry)) => entry.default,
        None => {
            crate::ucs_debug!("variable {name} is not declared");
            ""
        }
    }
}

fn auto_or<T>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    if text.trim().eq_ignore_ascii_case("auto") {
        return Some(None);
    }
    parse(text).map(Some)
}

/// The value for `key` in `text`, in printed form; the syntax of `name` must be keyed.
fn keyed(name: &str, key: &str, text: &str) -> Option<String> {
    let (_, entry) = resolve(name)?;
    let Kind::KeyValue(keys, kind) = entry.var.kind else {
        return None;
    };
    let at = keys.iter().position(|known| known.name == key)?;
    kind::keyed_raw(keys, kind, text)?.into_iter().nth(at)
}

#[cfg(test)]
mod tests;
