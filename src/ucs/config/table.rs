//! Declarations of variables, and the index of all of them by name.

use std::sync::OnceLock;

use hashbrown::HashMap;

use super::kind::Kind;

/// A variable: its name without prefix, what it is when nobody sets it, and what it may be.
#[derive(Debug)]
pub struct Variable {
    pub name: &'static str,
    pub default: &'static str,
    pub kind: Kind,
    /// Lines for the documented listing.
    pub doc: &'static str,
}

/// A variable, for tables.
pub const fn var(
    name: &'static str,
    default: &'static str,
    kind: Kind,
    doc: &'static str,
) -> Variable {
    Variable {
        name,
        default,
        kind,
        doc,
    }
}

/// Variables of a table that are shared in the same way with other tables.
#[derive(Debug)]
pub struct Group {
    /// Prefixes under which the same variables can be set for several tables at once, the
    /// nearest first: `["MM_", "SM_", ""]`.
    pub parents: &'static [&'static str],
    pub vars: &'static [Variable],
}

/// When a wrong value is noticed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnError {
    /// Reading the configuration fails.
    Fail,
    /// An error is logged and the default is used: services that are there before anybody
    /// could ask for a status.
    UseDefault,
}

/// The variables of one part of the library.
#[derive(Debug)]
pub struct Table {
    /// Heading in listings, without the word `configuration`.
    pub title: &'static str,
    /// Before the names of all its variables: `TCP_`.
    pub prefix: &'static str,
    pub groups: &'static [Group],
    /// Defaults that differ from those of the shared variables: name without prefix, text.
    pub defaults: &'static [(&'static str, &'static str)],
    pub on_error: OnError,
    /// Values are taken once, when the process starts to use the library.
    pub read_only: bool,
}

impl Table {
    /// For tables with no peculiarity: `Table { title, prefix, groups, ..Table::DEFAULT }`.
    pub const DEFAULT: Table = Table {
        title: "",
        prefix: "",
        groups: &[],
        defaults: &[],
        on_error: OnError::Fail,
        read_only: false,
    };

    /// Group and variable, in the order of listings.
    pub fn variables(&self) -> impl Iterator<Item = (&'static Group, &'static Variable)> {
        self.groups
            .iter()
            .flat_map(|group| group.vars.iter().map(move |var| (group, var)))
    }

    /// The default of a variable in this table.
    pub fn default_of(&self, var: &'static Variable) -> &'static str {
        self.defaults
            .iter()
            .find(|(name, _)| *name == var.name)
            .map_or(var.default, |(_, text)| text)
    }
}

/// What the index knows of a full name (`TCP_TX_SEG_SIZE`, `SM_BW`).
#[derive(Debug)]
pub struct Entry {
    pub table: &'static Table,
    pub var: &'static Variable,
    pub default: &'static str,
    /// The names that give the value, most specific first, ending with the most general.
    pub chain: Vec<String>,
    /// Whether this is a variable of its own, and not only a parent's name for several.
    pub own: bool,
}

/// Every name that can be set.
pub fn index() -> &'static HashMap<String, Entry> {
    static INDEX: OnceLock<HashMap<String, Entry>> = OnceLock::new();
    INDEX.get_or_init(|| {
        let mut index = HashMap::new();
        for table in super::tables() {
            for (group, var) in table.variables() {
                add(&mut index, table, group, var);
            }
        }
        index
    })
}

fn add(
    index: &mut HashMap<String, Entry>,
    table: &'static Table,
    group: &'static Group,
    var: &'static Variable,
) {
    let names: Vec<String> = core::iter::once(&table.prefix)
        .chain(group.parents)
        .map(|prefix| format!("{prefix}{}", var.name))
        .collect();
    for (level, name) in names.iter().enumerate() {
        let own = level == 0;
        let known_as_own = index.get(name).is_some_and(|entry: &Entry| entry.own);
        if known_as_own || (!own && index.contains_key(name)) {
            continue;
        }
        let default = if own {
            table.default_of(var)
        } else {
            var.default
        };
        let chain = names.get(level..).unwrap_or_default().to_vec();
        index.insert(
            name.clone(),
            Entry {
                table,
                var,
                default,
                chain,
                own,
            },
        );
    }
}

/// The entry of `name`; of the variable it stands for if `name` is an alias.
pub fn resolve(name: &str) -> Option<(String, &'static Entry)> {
    let entry = index().get(name)?;
    match entry.var.kind {
        Kind::Alias(target) => {
            let name = format!("{}{target}", entry.table.prefix);
            index().get(&name).map(|entry| (name, entry))
        }
        _ => Some((name.to_owned(), entry)),
    }
}
