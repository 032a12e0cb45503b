//! Listings of variables: `ucp_config_print`, `ucx_info -c` and `-cf`.

use std::fmt::Write;

use super::{Config, Entry, Group, Kind, PREFIX, Table, Variable, index, tables};

/// `ucs_config_print_flags_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Print(pub u32);

impl Print {
    /// The values.
    pub const CONFIG: u32 = 1;
    /// A heading before each table.
    pub const HEADER: u32 = 2;
    /// What each variable is for.
    pub const DOC: u32 = 4;
    /// Deprecated names and aliases too.
    pub const HIDDEN: u32 = 8;
    /// Put a comment sign before values that nobody has set.
    pub const COMMENT_DEFAULT: u32 = 16;

    fn has(self, flag: u32) -> bool {
        self.0 & flag != 0
    }
}

/// Width of the titles in documentation lines.
const TITLE_WIDTH: usize = 10;

/// The listing of all tables. `prefix` stands before each name (`UCX_`); with a `filter` only
/// names that contain it are listed.
pub fn print_all(config: &Config, prefix: &str, flags: Print, filter: Option<&str>) -> String {
    let mut out = String::new();
    if flags.has(Print::DOC) {
        out.push_str("# UCX library configuration file\n# Uncomment to modify values\n\n");
    }
    // Variables of what is not on this machine are known, but not listed.
    let here = |table: &&&'static Table| {
        !table.prefix.contains("CUDA_") || crate::uct::cuda::driver::get().is_ok()
    };
    let tables: Vec<_> = tables().iter().filter(here).copied().collect();
    out += &print_tables(&tables, config, prefix, flags, filter);
    out
}

/// The listing of some tables.
pub fn print_tables(
    tables: &[&'static Table],
    config: &Config,
    prefix: &str,
    flags: Print,
    filter: Option<&str>,
) -> String {
    let mut out = String::new();
    for table in tables {
        let title = format!("{} configuration", table.title);
        print_table(&mut out, config, table, prefix, &title, flags, filter);
    }
    out
}

impl Config {
    /// The text of `ucp_config_print`: the variables of UCP, and those of transports that were
    /// set by [`Config::modify`] or otherwise.
    pub fn print(&self, title: &str, flags: Print) -> String {
        let mut out = String::new();
        let ucp = &crate::ucp::config_table::UCP;
        print_table(&mut out, self, ucp, PREFIX, title, flags, None);
        if flags.has(Print::HEADER) {
            let _ = write!(out, "\n#\n# Cached UCT {title}\n#\n\n");
        }
        if flags.has(Print::CONFIG) {
            for (name, value) in &self.values {
                let other = |entry: &Entry| !core::ptr::eq(entry.table, ucp);
                if index().get(name).is_some_and(other) {
                    let _ = writeln!(out, "{name}={value}");
                }
            }
        }
        if flags.has(Print::HEADER) {
            out.push('\n');
        }
        out
    }
}

fn print_table(
    out: &mut String,
    config: &Config,
    table: &'static Table,
    prefix: &str,
    title: &str,
    flags: Print,
    filter: Option<&str>,
) {
    let mut heading = flags.has(Print::HEADER);
    if !flags.has(Print::CONFIG) {
        if heading {
            let _ = write!(out, "#\n# {title}\n#\n\n");
        }
        return;
    }
    for (group, var) in table.variables() {
        let hidden = matches!(var.kind, Kind::Deprecated | Kind::Alias(_));
        let name = format!("{prefix}{}{}", table.prefix, var.name);
        if (hidden && !flags.has(Print::HIDDEN)) || filter.is_some_and(|f| !name.contains(f)) {
            continue;
        }
        if core::mem::take(&mut heading) {
            let _ = write!(out, "#\n# {title}\n#\n\n");
        }
        print_variable(out, config, table, group, var, prefix, flags);
    }
}

fn print_variable(
    out: &mut String,
    config: &Config,
    table: &'static Table,
    group: &'static Group,
    var: &'static Variable,
    prefix: &str,
    flags: Print,
) {
    let target = match var.kind {
        Kind::Alias(target) => table
            .variables()
            .map(|(_, v)| v)
            .find(|v| v.name == target)
            .unwrap_or(var),
        _ => var,
    };
    let full = format!("{}{}", table.prefix, var.name);
    if flags.has(Print::DOC) {
        print_doc(out, table, group, var, target, prefix);
    }
    let comment = flags.has(Print::COMMENT_DEFAULT) && config.get(&full).is_none();
    let comment = if comment { "# " } else { "" };
    if matches!(var.kind, Kind::Deprecated) {
        let _ = writeln!(out, "{comment}{prefix}{full} (deprecated)");
    } else {
        let text = config
            .get(&full)
            .unwrap_or_else(|| table.default_of(target));
        let value = target
            .kind
            .canonical(text)
            .unwrap_or_else(|| text.to_owned());
        let _ = writeln!(out, "{comment}{prefix}{full}={value}");
    }
    if flags.has(Print::DOC) {
        out.push('\n');
    }
}

fn print_doc(
    out: &mut String,
    table: &Table,
    group: &Group,
    var: &Variable,
    target: &Variable,
    prefix: &str,
) {
    out.push_str("#\n");
    for line in target.doc.lines() {
        let _ = writeln!(out, "# {line}");
    }
    if let Kind::KeyValue(keys, _) = target.kind {
        for key in keys {
            let _ = writeln!(out, "#  {:<TITLE_WIDTH$}- {}", key.name, key.doc);
        }
    } else {
        // What a kind has to add comes on lines of its own, also when it is nothing.
        out.push_str("# \n");
    }
    let _ = writeln!(
        out,
        "#\n# {:<TITLE_WIDTH$} {}",
        "syntax:",
        target.kind.syntax()
    );
    if let Kind::Alias(target) = var.kind {
        let _ = writeln!(
            out,
            "# {:<TITLE_WIDTH$} {prefix}{}{target}",
            "alias of:", table.prefix
        );
    }
    if !group.parents.is_empty() {
        let names: Vec<_> = group
            .parents
            .iter()
            .map(|parent| format!("{prefix}{parent}{}", var.name))
            .collect();
        let _ = writeln!(out, "# {:<TITLE_WIDTH$} {}", "inherits:", names.join(", "));
    }
    out.push_str("#\n");
}
