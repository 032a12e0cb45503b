//! Holds our headers and our library against the facts of UCX 1.22.0 (`abi-tests/facts`).
//!
//! Whatever differs is listed, with its reason, in `differences.csv`; an unlisted difference fails,
//! and so does a listed one that is none.
#![allow(unsafe_code)]

mod compare;
mod differences;
mod exports;
mod facts;
mod headers;
mod rust_layout;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A file of this test's own, in cargo's folder for such.
pub fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Runs a compiler with our headers in front of all others.
pub fn compile(compiler: &str, args: &[&str], source: &Path) -> Output {
    Command::new(compiler)
        .args(args)
        .arg("-I")
        .arg(root().join("include"))
        .arg(source)
        .stdin(Stdio::null())
        .env("LC_ALL", "C")
        .output()
        .unwrap_or_else(|e| panic!("{compiler}: {e}"))
}
