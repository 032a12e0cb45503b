//! What every module under `src/abi` defines, so that one header can name another's types.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use syn::{Fields, Item};

use crate::Result;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `struct NAME`, complete.
    Struct,
    /// `union NAME`.
    Union,
    /// A struct that C only knows by pointer.
    Opaque,
    /// A union that C only knows by pointer.
    OpaqueUnion,
    /// A name for a struct or union.
    Alias,
}

pub struct Registry {
    /// Module path (`ucp/ucp/types`) to its items, in source order; a folder's items are those of
    /// its files, in the order of its `mod` lines.
    modules: BTreeMap<String, Vec<Item>>,
    kinds: BTreeMap<String, Kind>,
    /// Struct or union behind an alias.
    targets: BTreeMap<String, String>,
}

impl Registry {
    pub fn load(abi: &Path) -> Result<Registry> {
        let mut registry = Registry {
            modules: BTreeMap::new(),
            kinds: BTreeMap::new(),
            targets: BTreeMap::new(),
        };
        for top in ["ucp", "uct", "ucs", "ucm"] {
            registry.load_module(&abi.join(top), top)?;
        }
        let items: Vec<Item> = registry.modules.values().flatten().cloned().collect();
        for item in &items {
            registry.note_struct(item);
        }
        for item in &items {
            registry.note_alias(item);
        }
        Ok(registry)
    }

    fn load_module(&mut self, path: &Path, name: &str) -> Result<Vec<Item>> {
        let file = if path.is_dir() {
            path.join("mod.rs")
        } else {
            path.with_extension("rs")
        };
        let text =
            std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let parsed = syn::parse_file(&text).map_err(|e| format!("{}: {e}", file.display()))?;
        let mut items = Vec::new();
        for item in parsed.items {
            match item {
                Item::Mod(child) if child.content.is_none() => {
                    let child = child.ident.to_string().trim_start_matches("r#").to_string();
                    let path: PathBuf = path.join(&child);
                    items.extend(self.load_module(&path, &format!("{name}/{child}"))?);
                }
                other => items.push(other),
            }
        }
        self.modules.insert(name.to_string(), items.clone());
        Ok(items)
    }

    fn note_struct(&mut self, item: &Item) {
        match item {
            Item::Struct(s) => {
                let opaque = matches!(&s.fields, Fields::Named(fields) if is_opaque(fields));
                let kind = if opaque { Kind::Opaque } else { Kind::Struct };
                self.kinds.insert(s.ident.to_string(), kind);
            }
            Item::Union(u) => {
                let opaque = is_opaque(&u.fields);
                let kind = if opaque {
                    Kind::OpaqueUnion
                } else {
                    Kind::Union
                };
                self.kinds.insert(u.ident.to_string(), kind);
            }
            _ => {}
        }
    }

    fn note_alias(&mut self, item: &Item) {
        let Item::Type(alias) = item else { return };
        let Some(target) = path_name(&alias.ty) else {
            return;
        };
        if self.kinds.get(&target).is_some_and(|k| *k != Kind::Alias) {
            self.kinds.insert(alias.ident.to_string(), Kind::Alias);
            self.targets.insert(alias.ident.to_string(), target);
        }
    }

    pub fn items(&self, module: &str) -> Result<&[Item]> {
        self.modules
            .get(module)
            .map(Vec::as_slice)
            .ok_or(format!("no module {module}"))
    }

    pub fn kind(&self, name: &str) -> Option<Kind> {
        self.kinds.get(name).copied()
    }

    pub fn target(&self, alias: &str) -> Option<&str> {
        self.targets.get(alias).map(String::as_str)
    }

    pub fn names(&self) -> impl Iterator<Item = (&str, Kind)> {
        self.kinds.iter().map(|(name, kind)| (name.as_str(), *kind))
    }

    /// How C spells a struct type when the header that spells it doesn't define it.
    pub fn spelling(&self, name: &str) -> String {
        match self.kind(name) {
            Some(Kind::Struct | Kind::Opaque) if !name.ends_with("_t") => format!("struct {name}"),
            Some(Kind::Union | Kind::OpaqueUnion) if !name.ends_with("_t") => {
                format!("union {name}")
            }
            _ => name.to_string(),
        }
    }
}

fn is_opaque(fields: &syn::FieldsNamed) -> bool {
    let first = fields.named.first().and_then(|f| f.ident.as_ref());
    first.is_some_and(|name| name == "_opaque")
}

/// The last segment of a plain path type.
pub fn path_name(ty: &syn::Type) -> Option<String> {
    match ty {
        syn::Type::Path(path) => path.path.segments.last().map(|s| s.ident.to_string()),
        _ => None,
    }
}
