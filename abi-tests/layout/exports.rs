//! Every function and variable of the public headers is exported, and all that programs import.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use crate::facts::{imported, read, rows};
use crate::{differences, root};

/// The shared object that cargo built beside this test, or the one that `UCX_RS_LIBRARY` names.
fn library() -> PathBuf {
    if let Some(path) = std::env::var_os("UCX_RS_LIBRARY") {
        return root().join(path);
    }
    let me = std::env::current_exe().expect("a path");
    let deps = me.parent().expect("a folder");
    for dir in [deps.parent().expect("a folder"), deps] {
        let path = dir.join("libucx.so");
        if path.exists() {
            return path;
        }
    }
    panic!("no libucx.so beside {}", me.display());
}

/// Type and size of each exported symbol.
fn exports() -> BTreeMap<String, (String, u64)> {
    let library = library();
    let output = Command::new("readelf")
        .args(["--dyn-syms", "--wide"])
        .arg(&library)
        .env("LC_ALL", "C")
        .output()
        .expect("readelf");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let mut symbols = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, _, size, ty, bind, visibility, section, name] = words[..] else {
            continue;
        };
        let size = match size.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => size.parse().ok(),
        };
        let Some(size) = size else { continue };
        if section == "UND" || bind == "LOCAL" || visibility == "HIDDEN" {
            continue;
        }
        symbols.insert(
            name.split('@').next().unwrap_or(name).to_string(),
            (ty.to_string(), size),
        );
    }
    assert!(
        symbols.len() > 600,
        "{} exports {} symbols",
        library.display(),
        symbols.len()
    );
    symbols
}

#[test]
fn functions() {
    let exports = exports();
    let mut wanted = BTreeSet::new();
    for row in rows("functions", "function") {
        if row[7] == "extern" {
            wanted.insert(row[1].clone());
        }
    }
    assert!(wanted.len() > 640, "only {} functions", wanted.len());
    let missing = wanted
        .iter()
        .filter(|name| exports.get(*name).is_none_or(|(ty, _)| ty != "FUNC"))
        .map(|name| ("export".to_string(), name.clone()))
        .collect();
    differences::check(&["export"], &missing, wanted.len());
}

#[test]
fn what_programs_import() {
    let exports = exports();
    let imported = imported();
    let missing = imported
        .iter()
        .filter(|(name, _)| !exports.contains_key(name))
        .map(|(name, consumer)| ("import".to_string(), format!("{name} ({consumer})")))
        .collect();
    differences::check(&["import"], &missing, imported.len());
}

/// Exported data has the smallest size among the versions served: executables of either version may
/// hold a copy of it.
#[test]
fn sizes_of_data() {
    let exports = exports();
    let mut wrong = BTreeSet::new();
    let mut checked = 0;
    let public: BTreeSet<String> = rows("data", "data")
        .into_iter()
        .map(|r| r[1].clone())
        .chain(
            read("consumers/data-symbols.csv", 1)
                .into_iter()
                .map(|r| r[1].clone()),
        )
        .collect();
    for row in read("data-symbols.csv", 1) {
        if !public.contains(&row[0]) {
            continue;
        }
        let sizes = row[4..6].iter().filter_map(|s| s.parse::<u64>().ok());
        let smallest = sizes.min().expect("a size");
        checked += 1;
        match exports.get(&row[0]) {
            Some((ty, size)) if ty == "OBJECT" && *size == smallest => {}
            found => {
                eprintln!("{} is {found:?}, wanted {smallest} bytes", row[0]);
                wrong.insert(("data-size".to_string(), row[0].clone()));
            }
        }
    }
    assert!(checked > 20, "only {checked} data symbols");
    differences::check(&["data-size"], &wrong, checked);
}
