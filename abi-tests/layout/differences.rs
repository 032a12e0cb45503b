//! The list of what may differ, `abi-tests/layout/differences.csv`: kind, name, reason.

use std::collections::{BTreeMap, BTreeSet};

use crate::root;

/// Fails unless what differs is what the list says for these kinds.
pub fn check(kinds: &[&str], differing: &BTreeSet<(String, String)>, checked: usize) {
    let listed = listed(kinds);
    let unlisted: Vec<_> = differing
        .iter()
        .filter(|d| !listed.contains_key(*d))
        .map(|(k, n)| format!("{k} {n}"))
        .collect();
    let stale: Vec<_> = listed
        .keys()
        .filter(|l| !differing.contains(*l))
        .map(|(k, n)| format!("{k} {n}"))
        .collect();
    assert!(
        unlisted.is_empty(),
        "{} of {checked} differ, unlisted:\n{}",
        unlisted.len(),
        unlisted.join("\n")
    );
    assert!(
        stale.is_empty(),
        "listed as differing, but they don't:\n{}",
        stale.join("\n")
    );
}

fn listed(kinds: &[&str]) -> BTreeMap<(String, String), String> {
    let path = root().join("abi-tests/layout/differences.csv");
    let mut reader =
        csv::Reader::from_path(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut listed = BTreeMap::new();
    for row in reader.records() {
        let row = row.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let (kind, name, reason) = (&row[0], &row[1], &row[2]);
        assert!(
            !reason.trim().is_empty(),
            "{kind} {name} is listed without a reason"
        );
        if kinds.contains(&kind) {
            listed.insert((kind.to_string(), name.to_string()), reason.to_string());
        }
    }
    listed
}
