//! The Rust structs have the layout of their C namesakes: `generated.rs` holds one assertion for each
//! fact, checked when this test is compiled; here it is checked that it holds them all.
//!
//! `UCX_RS_UPDATE=1 cargo test --test layout rust_layout` writes it anew.

use std::fmt::Write as _;

use crate::facts::{Row, rows};
use crate::root;

#[rustfmt::skip]
#[path = "generated.rs"]
mod generated;

/// Words of Rust that C uses as names of members.
const WORDS: [&str; 3] = ["super", "type", "priv"];

fn member(row: &Row, unnamed: Option<(u64, u64)>) -> Option<String> {
    let name = &row[4];
    if name.is_empty() || name.contains("<anon") || !row[8].is_empty() {
        return None;
    }
    let words: Vec<String> = name
        .split('.')
        .map(|w| {
            if WORDS.contains(&w) {
                format!("{w}_")
            } else {
                w.to_string()
            }
        })
        .collect();
    let path = words.join(".");
    let offset: u64 = row[5].parse().expect("a number");
    match unnamed {
        Some((from, to)) if (from..to).contains(&offset) => Some(format!("anon0.{path}")),
        _ => Some(path),
    }
}

fn text() -> String {
    let mut text = String::from(
        "// Written by the test `rust_layout` from the facts.\n\nuse core::mem::{align_of, offset_of, size_of};\n\nuse ucx::abi::prelude::*;\n\n",
    );
    let mut last = String::new();
    let mut unnamed = None;
    for row in rows("layout", "layout") {
        let name = row[1].rsplit(' ').next().unwrap_or_default();
        if row[1].contains("<anon") || name == "uct_rkey_unpack_params" {
            continue;
        }
        if name != last {
            unnamed = None;
            last = name.to_string();
            let _ = writeln!(
                text,
                "const _: () = assert!(size_of::<{name}>() == {});",
                row[2]
            );
            let _ = writeln!(
                text,
                "const _: () = assert!(align_of::<{name}>() == {});",
                row[3]
            );
        }
        if row[4].contains("<anon") {
            let from: u64 = row[5].parse().expect("a number");
            let size: u64 = row[6].parse().expect("a number");
            unnamed = Some((from, from + size));
        }
        if let Some(member) = member(&row, unnamed) {
            let _ = writeln!(
                text,
                "const _: () = assert!(offset_of!({name}, {member}) == {});",
                row[5]
            );
        }
    }
    text
}

#[test]
fn is_current() {
    let path = root().join("abi-tests/layout/generated.rs");
    let text = text();
    assert!(text.lines().count() > 1000, "too few facts");
    if std::env::var_os("UCX_RS_UPDATE").is_some() {
        std::fs::write(&path, &text).expect("write");
    }
    let found = std::fs::read_to_string(&path).expect("generated.rs");
    assert!(
        found == text,
        "generated.rs doesn't hold all facts: see rust_layout.rs"
    );
}
