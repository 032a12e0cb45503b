//! Every header compiles alone and twice.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{compile, root, scratch};

/// Standards with warnings as errors, and older ones that need only accept.
const MODES: [(&str, &[&str]); 4] = [
    (
        "gcc",
        &[
            "-std=c11",
            "-xc",
            "-fsyntax-only",
            "-Wall",
            "-Wextra",
            "-Werror",
        ],
    ),
    (
        "g++",
        &[
            "-std=c++17",
            "-xc++",
            "-fsyntax-only",
            "-Wall",
            "-Wextra",
            "-Werror",
        ],
    ),
    ("gcc", &["-std=c99", "-xc", "-fsyntax-only"]),
    ("g++", &["-std=c++11", "-xc++", "-fsyntax-only"]),
];

fn headers() -> Vec<PathBuf> {
    let include = root().join("include");
    let mut headers = Vec::new();
    let mut pending = vec![include.clone()];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(&dir).expect("include/") {
            let path = entry.expect("include/").path();
            match path.is_dir() {
                true => pending.push(path),
                false => headers.push(path.strip_prefix(&include).expect("inside").to_path_buf()),
            }
        }
    }
    headers.sort();
    assert!(headers.len() > 60, "only {} headers", headers.len());
    headers
}

fn failures(header: &Path) -> Vec<String> {
    let name = header.display().to_string();
    let file = scratch(&format!("header-{}.c", name.replace('/', "-")));
    std::fs::write(&file, format!("#include <{name}>\n#include <{name}>\n")).expect("scratch");
    let mut failures = Vec::new();
    for (compiler, args) in MODES {
        let output = compile(compiler, args, &file);
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            failures.push(format!(
                "{name} with {compiler} {}:\n{text}",
                args.join(" ")
            ));
        }
    }
    // It includes our headers only, not those of a UCX that is installed.
    let output = compile("gcc", &["-xc", "-M"], &file);
    for path in String::from_utf8_lossy(&output.stdout).split_whitespace() {
        let ours = path.starts_with(&root().join("include").display().to_string());
        if !ours
            && ["/ucp/", "/uct/", "/ucs/", "/ucm/"]
                .iter()
                .any(|d| path.contains(d))
            && path.ends_with(".h")
        {
            failures.push(format!("{name} includes {path}"));
        }
    }
    failures
}

#[test]
fn compile_alone_and_twice() {
    let failures: Vec<String> = headers().iter().flat_map(|h| failures(h)).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Fields, enumerators and inline functions as programs use them.
#[test]
fn programs_compile() {
    for (compiler, args) in [
        (
            "gcc",
            ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"].as_slice(),
        ),
        (
            "g++",
            [
                "-std=c++17",
                "-xc++",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-fsyntax-only",
            ]
            .as_slice(),
        ),
    ] {
        let output = compile(compiler, args, &root().join("abi-tests/layout/use.c"));
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// What the headers define as inline functions and macros does what it should.
#[test]
fn inline_functions_work() {
    let source = root().join("abi-tests/layout/tables.c");
    for (compiler, language) in [("gcc", "-xc"), ("g++", "-xc++")] {
        let program = scratch(&format!("tables-{compiler}"));
        let args = [language, "-Wall", "-Wextra", "-Werror", "-O1", "-o"];
        let mut args = args.to_vec();
        let path = program.display().to_string();
        args.push(&path);
        let output = compile(compiler, &args, &source);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let status = Command::new("timeout")
            .arg("60")
            .arg(&program)
            .status()
            .expect("timeout");
        assert_eq!(
            status.code(),
            Some(0),
            "a check failed, compiled by {compiler}"
        );
    }
}
