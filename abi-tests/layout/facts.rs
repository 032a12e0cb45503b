//! The fact files.

use std::path::PathBuf;

use crate::root;

/// A row of a fact file; columns are those of `abi-tests/facts/README.md`.
pub type Row = Vec<String>;

pub fn path(name: &str) -> PathBuf {
    root().join("abi-tests/facts").join(name)
}

/// The rows of one kind: those of `KIND-1.22.0.csv`, and those of `uct_v2.h`.
pub fn rows(file: &str, record: &str) -> Vec<Row> {
    let mut rows = read(&format!("{file}-1.22.0.csv"), 1);
    for row in read("uct-v2-1.22.0.csv", 1) {
        if row[0] == record {
            rows.push(row[1..].to_vec());
        }
    }
    rows
}

/// All rows of a file but the first `skip`.
pub fn read(name: &str, skip: usize) -> Vec<Row> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_path(path(name))
        .unwrap_or_else(|e| panic!("{name}: {e}"));
    let rows: Vec<Row> = reader
        .records()
        .map(|r| {
            r.unwrap_or_else(|e| panic!("{name}: {e}"))
                .iter()
                .map(str::to_string)
                .collect()
        })
        .collect();
    assert!(rows.len() > skip, "{name} holds nothing");
    rows[skip..].to_vec()
}

/// Names and headers of macros that have no constant value, or take arguments.
pub fn other_macros() -> Vec<(String, String)> {
    let mut macros: Vec<_> = read("macros-other-1.22.0.csv", 1)
        .into_iter()
        .map(|r| (r[0].clone(), r[1].clone()))
        .collect();
    let text = std::fs::read_to_string(path("macros-functionlike-1.22.0.txt")).expect("facts");
    for line in text.lines() {
        if let Some((header, rest)) = line.split_once(',')
            && let Some((name, _)) = rest.split_once('(')
        {
            macros.push((header.to_string(), name.to_string()));
        }
    }
    macros
}

/// Symbols of UCX that real programs import.
pub fn imported() -> Vec<(String, String)> {
    let mut symbols = Vec::new();
    for entry in std::fs::read_dir(path("consumers")).expect("facts") {
        let file = entry.expect("facts").path();
        if file.extension().is_none_or(|e| e != "txt") {
            continue;
        }
        let consumer = file
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        for line in std::fs::read_to_string(&file).expect("facts").lines() {
            let name = line.split_whitespace().next().unwrap_or_default();
            if ["ucp_", "uct_", "ucs_", "ucm_"]
                .iter()
                .any(|p| name.starts_with(p))
            {
                symbols.push((name.to_string(), consumer.clone()));
            }
        }
    }
    assert!(symbols.len() > 100, "the consumers import too little");
    symbols.sort();
    symbols.dedup_by(|a, b| a.0 == b.0);
    symbols
}
