//! `-v` and `-b`: versions, and how this package was built.

use crate::tools::client::ucs;
use crate::tools::out;

/// Name and value of what `-v` prints.
pub fn version() -> [(&'static str, String); 5] {
    let unknown = "<unknown>".to_owned();
    [
        ("Library version", ucs::version()),
        ("Library path", ucs::library_path().unwrap_or(unknown)),
        ("API headers version", env!("CARGO_PKG_VERSION").to_owned()),
        // Releases are told apart by their version: a build doesn't look at the repository.
        (
            "Git branch",
            "'<not recorded>', revision <not recorded>".to_owned(),
        ),
        ("Configured with", configuration()),
    ]
}

/// What a build of this package may differ in.
fn configuration() -> String {
    let profile = if cfg!(debug_assertions) {
        "dev"
    } else {
        "release"
    };
    format!("cargo build --profile {profile}")
}

pub fn print_version() {
    for (name, value) in version() {
        // No colon: so UCX writes it.
        let colon = if name == "Git branch" { "" } else { ":" };
        out!("# {name}{colon} {value}\n");
    }
}

const fn flag(set: bool) -> &'static str {
    if set { "1" } else { "0" }
}

/// What is built in, as names and values of macros.
pub const BUILD: &[(&str, &str)] = &[
    ("ENABLE_ASSERT", flag(cfg!(debug_assertions))),
    ("ENABLE_DEBUG_DATA", "0"),
    ("ENABLE_MT", "1"),
    ("ENABLE_PARAMS_CHECK", "1"),
    ("ENABLE_STATS", "0"),
    ("HAVE_CUDA", "0"),
    ("HAVE_IB", "0"),
    ("HAVE_PROFILING", "0"),
    ("HAVE_ROCM", "0"),
    ("HAVE_TL_CMA", "1"),
    ("HAVE_TL_POSIX", "1"),
    ("HAVE_TL_SELF", "1"),
    ("HAVE_TL_SYSV", "1"),
    ("HAVE_TL_TCP", "1"),
    ("PACKAGE_NAME", "\"ucx-rs\""),
    (
        "PACKAGE_VERSION",
        concat!("\"", env!("CARGO_PKG_VERSION"), "\""),
    ),
    ("UCM_BISTRO_HOOKS", "1"),
];

pub fn print_build() {
    for (name, value) in BUILD {
        out!("#define {name:<25} {value}\n");
    }
}
