//! From the Rust of `src/abi` to the Rust that cbindgen reads.
//!
//! C can put any value in an enumeration, so in Rust it is an integer alias with constants of that
//! alias; for the header such a group becomes an `enum` item. Pointers to structs are detached
//! (`fwd_NAME`), since the header declares all structs ahead: what is left for cbindgen to order
//! is containment by value.

use std::collections::{BTreeMap, BTreeSet};

use quote::{ToTokens, format_ident, quote};
use syn::visit_mut::VisitMut;
use syn::{Expr, Item, parse_quote};

use crate::Result;
use crate::registry::{Kind, Registry, path_name};

/// Enumerations that C knows by a typedef only, though their names don't end like one.
const TYPEDEFS: &[&str] = &["ucp_req_attr_field"];

/// What one header's modules become.
#[derive(Default)]
pub struct Source {
    /// Rust source for cbindgen.
    pub rust: String,
    /// Text constants, which cbindgen can't write.
    pub strings: Vec<String>,
    /// Declarations ahead of everything: `struct X;`, `typedef struct X X_t;`.
    pub forward: Vec<String>,
    /// Names that are structs or unions by typedef only.
    pub typedefs: BTreeSet<String>,
    /// Enumerations known to C by a typedef only, and their storage: 1 for a packed one.
    pub enums: BTreeMap<String, usize>,
    /// Structs and unions that this header defines.
    pub local: BTreeSet<String>,
}

pub fn transform(modules: &[String], registry: &Registry) -> Result<Source> {
    let mut items = Vec::new();
    for module in modules {
        items.extend_from_slice(registry.items(module)?);
    }
    let mut source = Source::default();
    let enums = enumerations(&items);
    for item in items.iter().filter(|item| !ignored(item)) {
        if let Some(mut item) = header_item(item, &enums, registry, &mut source) {
            Detach { registry }.visit_item_mut(&mut item);
            source.rust.push_str(&item.to_token_stream().to_string());
            source.rust.push('\n');
        }
    }
    source.forward.sort();
    source.forward.dedup();
    Ok(source)
}

/// True for an item marked `cbindgen:ignore`: the fragment declares it.
fn ignored(item: &Item) -> bool {
    let attrs = match item {
        Item::Struct(s) => &s.attrs,
        Item::Union(u) => &u.attrs,
        Item::Type(t) => &t.attrs,
        Item::Const(c) => &c.attrs,
        Item::Fn(f) => &f.attrs,
        _ => return false,
    };
    attrs
        .iter()
        .any(|a| a.to_token_stream().to_string().contains("cbindgen:ignore"))
}

/// Aliases of integers (or of the status type) that constants are declared with.
fn enumerations(items: &[Item]) -> BTreeMap<String, Vec<syn::ItemConst>> {
    let mut groups = BTreeMap::new();
    for item in items {
        if let Item::Type(alias) = item
            && path_name(&alias.ty).is_some_and(|t| {
                matches!(t.as_str(), "i8" | "u32" | "i32" | "u64" | "i64" | "Status")
            })
        {
            groups.insert(alias.ident.to_string(), Vec::new());
        }
    }
    for item in items {
        if let Item::Const(constant) = item
            && let Some(group) = path_name(&constant.ty).and_then(|t| groups.get_mut(&t))
        {
            group.push(constant.clone());
        }
    }
    groups.retain(|_, constants| !constants.is_empty());
    groups
}

fn header_item(
    item: &Item,
    enums: &BTreeMap<String, Vec<syn::ItemConst>>,
    registry: &Registry,
    source: &mut Source,
) -> Option<Item> {
    match item {
        Item::Type(alias) => {
            let name = alias.ident.to_string();
            if let Some(constants) = enums.get(&name) {
                return Some(enumeration(alias, constants, source));
            }
            if let Some(target) = registry.target(&name) {
                source
                    .forward
                    .push(format!("typedef {} {name};", registry.spelling(target)));
                source.typedefs.insert(name);
            }
            Some(item.clone())
        }
        Item::Const(constant) => {
            let mut constant = constant.clone();
            if let Expr::Lit(syn::ExprLit {
                lit: syn::Lit::Str(text),
                ..
            }) = &*constant.expr
            {
                source.strings.extend(docs(&constant.attrs));
                let name = &constant.ident;
                source
                    .strings
                    .push(format!("#define {name} {}", text.token()));
                return None;
            }
            let ty = path_name(&constant.ty)?;
            if enums.contains_key(&ty) || ty == "Status" {
                return None;
            }
            if ty == "u64" {
                Suffix { always: true }.visit_expr_mut(&mut constant.expr);
            }
            Some(Item::Const(constant))
        }
        Item::Struct(s) => {
            let name = s.ident.to_string();
            declare(&name, registry, source);
            if registry.kind(&name) == Some(Kind::Opaque) {
                return None;
            }
            source.local.insert(name);
            Some(item.clone())
        }
        Item::Union(u) => {
            declare(&u.ident.to_string(), registry, source);
            if registry.kind(&u.ident.to_string()) == Some(Kind::OpaqueUnion) {
                return None;
            }
            source.local.insert(u.ident.to_string());
            Some(item.clone())
        }
        Item::Fn(function) if function.sig.abi.is_some() => {
            let mut function = function.clone();
            function.block = parse_quote!({});
            Some(Item::Fn(function))
        }
        Item::ForeignMod(_) => Some(item.clone()),
        _ => None,
    }
}

/// The doc comment of an item, as a comment in C.
fn docs(attrs: &[syn::Attribute]) -> Option<String> {
    let lines: Vec<String> = attrs
        .iter()
        .filter_map(|a| match &a.meta {
            syn::Meta::NameValue(m) if m.path.is_ident("doc") => match &m.value {
                Expr::Lit(syn::ExprLit {
                    lit: syn::Lit::Str(s),
                    ..
                }) => Some(s.value()),
                _ => None,
            },
            _ => None,
        })
        .collect();
    (!lines.is_empty()).then(|| format!("/**{} */", lines.join("\n *")))
}

/// Declares a struct or union ahead of its definition.
fn declare(name: &str, registry: &Registry, source: &mut Source) {
    let word = match registry.kind(name) {
        Some(Kind::Union | Kind::OpaqueUnion) => "union",
        _ => "struct",
    };
    if name.ends_with("_t") {
        source
            .forward
            .push(format!("typedef {word} {name} {name};"));
    } else {
        source.forward.push(format!("{word} {name};"));
    }
}

fn enumeration(alias: &syn::ItemType, constants: &[syn::ItemConst], source: &mut Source) -> Item {
    let name = &alias.ident;
    let attrs = &alias.attrs;
    let variants = constants.iter().map(|c| {
        let (attrs, ident) = (&c.attrs, &c.ident);
        let mut value = match &*c.expr {
            Expr::Call(call) if call.args.len() == 1 => call.args[0].clone(),
            other => other.clone(),
        };
        Suffix { always: false }.visit_expr_mut(&mut value);
        quote!(#(#attrs)* #ident = #value)
    });
    if name.to_string().ends_with("_t") || TYPEDEFS.contains(&name.to_string().as_str()) {
        let bytes = if path_name(&alias.ty).is_some_and(|t| t == "Status" || t == "i8") {
            1
        } else {
            4
        };
        source.enums.insert(name.to_string(), bytes);
    }
    parse_quote!(#(#attrs)* #[repr(C)] pub enum #name { #(#variants),* })
}

/// Writes `1 << n` with a suffix where `int` is too small (or always).
struct Suffix {
    always: bool,
}

impl VisitMut for Suffix {
    fn visit_expr_binary_mut(&mut self, node: &mut syn::ExprBinary) {
        if let (syn::BinOp::Shl(_), Expr::Lit(right)) = (&node.op, &*node.right) {
            let wide = match &right.lit {
                syn::Lit::Int(n) => n.base10_parse::<u32>().is_ok_and(|n| n >= 31),
                _ => false,
            };
            if self.always || wide {
                self.suffix(&mut node.left);
            }
            return;
        }
        syn::visit_mut::visit_expr_binary_mut(self, node);
    }

    fn visit_expr_lit_mut(&mut self, node: &mut syn::ExprLit) {
        if self.always
            && let syn::Lit::Int(n) = &node.lit
        {
            let text = format!("{}u64", n.base10_digits());
            node.lit = syn::Lit::Int(syn::LitInt::new(&text, n.span()));
        }
    }
}

impl Suffix {
    fn suffix(&self, expr: &mut Expr) {
        if let Expr::Lit(lit) = expr {
            Suffix { always: true }.visit_expr_lit_mut(lit);
        }
    }
}

/// Renames what a pointer points at, if it is a struct, so that cbindgen sees no dependency.
struct Detach<'a> {
    registry: &'a Registry,
}

impl VisitMut for Detach<'_> {
    fn visit_type_ptr_mut(&mut self, node: &mut syn::TypePtr) {
        if let syn::Type::Path(path) = &mut *node.elem
            && let Some(last) = path.path.segments.last_mut()
            && self.registry.kind(&last.ident.to_string()).is_some()
        {
            last.ident = format_ident!("fwd_{}", last.ident);
        }
        syn::visit_mut::visit_type_ptr_mut(self, node);
    }
}
