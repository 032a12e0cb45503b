//! Reading the environment and the files.

use core::ptr;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::file::{Files, Machine};
use super::{Config, Entry, Kind, OnError, PREFIX, Table, index, nearest, resolve};
use crate::ucs::status::{Error, Result};

/// Variables that belong to us but are no configuration values.
const OTHERS: &[&str] = &["CONFIG_DIR"];

/// The machine that we run on, for sections of `ucx.conf`.
pub struct ThisMachine;

impl Machine for ThisMachine {
    fn property(&self, name: &str) -> Option<String> {
        match name {
            "CPU vendor" => Some(crate::ucs::arch::vendor_name().to_owned()),
            "CPU model" => Some(crate::ucs::arch::model_name().to_owned()),
            "Product name" => Some(crate::ucs::arch::product_name()),
            _ => None,
        }
    }
}

impl Config {
    /// Reads the configuration of this process: files, then `UCX_*`, then, for a program with a
    /// prefix of its own, `<prefix>_UCX_*`. Each later source wins.
    ///
    /// # Errors
    /// `InvalidParam` when a value is wrong; every wrong one has been named in the log.
    pub fn read(env_prefix: Option<&str>) -> Result<Config> {
        let files = Files::load(&ThisMachine);
        for problem in &files.problems {
            crate::ucs_warn!("configuration file: {problem}");
        }
        for path in &files.paths {
            crate::ucs_debug!("read configuration file {}", path.display());
        }
        Config::from_sources(env_prefix, &environment(), &files)
    }

    /// As [`Config::read`], for somebody who asks for the variables of one table: what is wrong with
    /// those of others is theirs to hear. Files are as they were at the first use: a program reads
    /// the configuration of every domain and interface.
    pub fn read_table(env_prefix: Option<&str>, table: &'static Table) -> Result<Config> {
        static FILES: OnceLock<Files> = OnceLock::new();
        let files = FILES.get_or_init(|| Files::load(&ThisMachine));
        Config::gather(env_prefix, &environment(), files, Some(table))
    }

    /// All that is set and right, in silence.
    pub(super) fn lenient() -> Config {
        let files = Files::load(&ThisMachine);
        let mut config = Config::default();
        let environment = environment();
        let in_files = files
            .values
            .iter()
            .filter(|(name, _)| !environment.contains_key(*name));
        for (name, value) in in_files.chain(&environment) {
            let Some((name, entry)) = name.strip_prefix(PREFIX).and_then(resolve) else {
                continue;
            };
            if entry.var.kind.accepts(value) {
                config.values.insert(name, value.to_owned());
            }
        }
        config
    }

    /// Reads the configuration from given sources; what a fuzz target calls. `environment` holds
    /// whole names (`UCX_TLS`).
    ///
    /// # Errors
    /// As [`Config::read`].
    pub fn from_sources(
        env_prefix: Option<&str>,
        environment: &BTreeMap<String, String>,
        files: &Files,
    ) -> Result<Config> {
        Config::gather(env_prefix, environment, files, None)
    }

    fn gather(
        env_prefix: Option<&str>,
        environment: &BTreeMap<String, String>,
        files: &Files,
        table: Option<&'static Table>,
    ) -> Result<Config> {
        let env_prefix = env_prefix
            .filter(|p| !p.is_empty())
            .map(|p| format!("{p}_{PREFIX}"));
        let mut config = Config {
            values: BTreeMap::new(),
            env_prefix,
        };
        let mut result = Ok(());
        let prefixes = [Some(PREFIX.to_owned()), config.env_prefix.clone()];
        for prefix in prefixes.into_iter().flatten() {
            // Names of files first, so that the environment overrides them.
            for (name, value) in files
                .values
                .iter()
                .filter(|(n, _)| !environment.contains_key(*n))
            {
                result = result.and(config.take(&prefix, name, value, table));
            }
            for (name, value) in environment {
                result = result.and(config.take(&prefix, name, value, table));
            }
        }
        result.map(|()| config)
    }

    /// Takes over one variable if it has this prefix and is known.
    fn take(
        &mut self,
        prefix: &str,
        name: &str,
        value: &str,
        table: Option<&'static Table>,
    ) -> Result<()> {
        let Some(short) = name.strip_prefix(prefix) else {
            return Ok(());
        };
        let Some((short, entry)) = resolve(short) else {
            return Ok(());
        };
        let wanted = table.is_none_or(|table| !entry.own || ptr::eq(table, entry.table));
        if !wanted && !entry.var.kind.accepts(value) {
            return Ok(());
        }
        if matches!(entry.var.kind, Kind::Deprecated) {
            crate::ucs_warn!(
                "{name} is deprecated (set UCX_WARN_UNUSED_ENV_VARS=n to suppress this warning)"
            );
            return Ok(());
        }
        match check(prefix, &short, entry, value) {
            Ok(()) => {
                self.values.insert(short, value.to_owned());
                Ok(())
            }
            Err(_) if entry.table.on_error == OnError::UseDefault => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Warns, once in a process, about variables of the environment that begin with our prefix
    /// and that nobody knows, and names at level info those that are used.
    pub fn warn_unused_once(&self) {
        static DONE: AtomicBool = AtomicBool::new(false);
        if DONE.swap(true, Ordering::Relaxed) {
            return;
        }
        let environment = environment();
        if self.bool_("WARN_UNUSED_ENV_VARS")
            && let Some(text) = unused(self.prefix(), &environment)
        {
            crate::ucs_warn!("{text}");
        }
        let used: Vec<String> = environment
            .iter()
            .filter(|(name, _)| name.strip_prefix(PREFIX).is_some_and(known))
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        if !used.is_empty() {
            let plural = if used.len() > 1 { "s" } else { "" };
            crate::ucs_info!("{PREFIX}* env variable{plural}: {}", used.join(" "));
        }
    }
}

/// Checks a value; a wrong one is reported with its variable and what is allowed.
pub(super) fn check(prefix: &str, name: &str, entry: &Entry, value: &str) -> Result<()> {
    if entry.var.kind.accepts(value) {
        return Ok(());
    }
    crate::ucs_error!(
        "Invalid value for {prefix}{name}: '{value}'. Expected: {}",
        entry.var.kind.syntax()
    );
    Err(Error::InvalidParam)
}

fn known(name: &str) -> bool {
    index().contains_key(name) || OTHERS.contains(&name)
}

/// The warning about unknown variables, if there are any.
fn unused(prefix: &str, environment: &BTreeMap<String, String>) -> Option<String> {
    let mut prefixes = vec![PREFIX];
    if prefix != PREFIX {
        prefixes.push(prefix);
    }
    let mut texts = Vec::new();
    for name in environment.keys() {
        let Some((prefix, short)) = prefixes
            .iter()
            .find_map(|p| name.strip_prefix(p).map(|short| (p, short)))
        else {
            continue;
        };
        if known(short) {
            continue;
        }
        match nearest(short) {
            Some(near) => {
                let near: Vec<String> = near.split(", ").map(|n| format!("{prefix}{n}")).collect();
                texts.push(format!("{name} (maybe: {}?)", near.join(", ")));
            }
            None => texts.push(name.clone()),
        }
    }
    if texts.is_empty() {
        return None;
    }
    let plural = if texts.len() > 1 { "s" } else { "" };
    Some(format!(
        "unused environment variable{plural}: {}\n\
         (set UCX_WARN_UNUSED_ENV_VARS=n to suppress this warning)",
        texts.join("; ")
    ))
}

/// The environment; what isn't UTF-8 is replaced, and will then be refused as a value.
fn environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .map(|(name, value)| {
            (
                name.to_string_lossy().into_owned(),
                value.to_string_lossy().into_owned(),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_get_one_line_with_a_suggestion() {
        let environment = [
            "UCX_TSL",
            "UCX_QQQQQQQQ",
            "UCX_TLS",
            "UCX_CONFIG_DIR",
            "PATH",
        ]
        .into_iter()
        .map(|name| (name.to_owned(), String::new()))
        .collect();
        let text = unused(PREFIX, &environment).expect("a warning");
        assert_eq!(
            text.lines().next(),
            Some("unused environment variables: UCX_QQQQQQQQ; UCX_TSL (maybe: UCX_TLS?)")
        );
        assert_eq!(unused(PREFIX, &BTreeMap::new()), None);
    }
}
