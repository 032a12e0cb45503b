//! What was called and what is still open: at the end of the program, and when it asks.

use crate::block::Kind;
use crate::call;
use crate::config;
use crate::state::{State, look, peek};
use std::ffi::{CStr, c_char, c_int};
use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;

/// Kinds of ranges by the names that reports give them.
const KINDS: [&str; 8] = [
    "device",
    "managed",
    "mapped",
    "pool",
    "opened",
    "imported",
    "host",
    "registered",
];

fn name(kind: Kind) -> &'static str {
    KINDS[match kind {
        Kind::Device => 0,
        Kind::Managed => 1,
        Kind::Mapped => 2,
        Kind::Pool(_) => 3,
        Kind::Opened => 4,
        Kind::PoolImport(_) => 5,
        Kind::Host => 6,
        Kind::Registered => 7,
    }]
}

/// What is open beside ranges.
fn others(s: &State) -> [(&'static str, usize); 6] {
    [
        ("handles", s.allocations.len()),
        ("reservations", s.reservations.len()),
        ("contexts", s.contexts.len()),
        ("retained", s.primaries.iter().map(|p| p.holders).sum()),
        ("streams", s.streams.len()),
        ("events", s.events.len()),
    ]
}

/// One line for every fact: `calls NAME COUNT FAILED`, `open KIND COUNT BYTES`, and others.
fn text() -> String {
    let mut out = String::new();
    let mut sites: Vec<_> = call::sites().collect();
    sites.sort_by_key(|s| s.name);
    for site in sites {
        let _ = writeln!(
            out,
            "calls {} {} {}",
            site.name,
            site.calls.load(Relaxed),
            site.failures.load(Relaxed)
        );
    }
    let Some(s) = peek() else { return out };
    for kind in KINDS {
        let open: Vec<_> = s
            .regions
            .values()
            .filter(|r| name(r.kind) == kind)
            .collect();
        let bytes: usize = open.iter().map(|r| r.len).sum();
        let _ = writeln!(out, "open {kind} {} {bytes}", open.len());
    }
    for (what, number) in others(&s) {
        let _ = writeln!(out, "open {what} {number}");
    }
    let _ = writeln!(out, "opens {}", s.tally.opened);
    let _ = writeln!(out, "closes {}", s.tally.closed);
    let _ = writeln!(out, "closed-in-use {}", s.tally.closed_in_use);
    out
}

fn print(fd: c_int, text: &str) {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        // SAFETY: a live slice.
        let n = unsafe { libc::write(fd, rest.as_ptr().cast(), rest.len()) };
        if n <= 0 {
            return;
        }
        rest = &rest[n as usize..];
    }
}

/// Prints the report to a file descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn cudasim_report(fd: c_int) {
    print(fd, &text());
}

/// How often a function was called; `*!`: all together, but those that ask whether something is done.
///
/// # Safety
/// `name` is a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudasim_calls(name: *const c_char) -> u64 {
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    let wanted = |site: &&call::Site| match name {
        b"*!" => !matches!(site.name, "cuEventQuery" | "cuStreamQuery"),
        _ => site.name.as_bytes() == name,
    };
    let found = call::sites().filter(wanted);
    found.map(|site| site.calls.load(Relaxed)).sum()
}

/// How many ranges of a kind, or others of the things that reports tell of, are open: memory of other
/// processes is `opened`, `imported` or, by handles, `mapped`.
///
/// # Safety
/// `kind` is a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudasim_open(kind: *const c_char) -> u64 {
    // SAFETY: the caller's promise.
    let kind = unsafe { CStr::from_ptr(kind) }.to_bytes();
    look().map_or(0, |s| {
        let other = others(&s);
        let other = other.iter().find(|(what, _)| what.as_bytes() == kind);
        let ranges = s.regions.values();
        let ranges = ranges.filter(|r| name(r.kind).as_bytes() == kind);
        other.map_or_else(|| ranges.count(), |(_, number)| *number) as u64
    })
}

/// Runs after the destructors of the libraries that use this one.
extern "C" fn at_end() {
    let Some(target) = &config::get().report else {
        return;
    };
    // A program that only loaded the library has nothing to tell, nor has a forked child.
    if !call::READY.load(Relaxed) {
        return;
    }
    if target == "stderr" {
        return print(2, &text());
    }
    let path = target.replace("%p", &std::process::id().to_string());
    let _ = std::fs::write(path, text());
}

#[used]
#[unsafe(link_section = ".fini_array")]
static AT_END: extern "C" fn() = at_end;
