//! Builds the C bodies of the variadic entry points and links the cdylib as `libucp.so.0`.
//!
//! One shared object holds all four layers. Three empty ones carry the other names; they need
//! `libucp.so.0`, and it needs them in turn, so that whichever is loaded first brings the rest
//! from its own folder. The real empty objects are linked after `libucp.so.0` (see `Makefile`);
//! to record their names here, placeholders of the same SONAME do.

use std::env;
use std::path::PathBuf;

/// The names that `libucp.so.0` must bring along.
const SIBLINGS: [&str; 3] = ["libuct.so.0", "libucs.so.0", "libucm.so.0"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/abi/variadic/variadic.c");
    cc::Build::new()
        .file("src/abi/variadic/variadic.c")
        .flag("-fvisibility=hidden")
        .std("gnu11")
        .warnings_into_errors(true)
        .compile("ucx_variadic");

    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let mut args = vec![
        "-Wl,-soname,libucp.so.0".to_owned(),
        // DT_RPATH, not DT_RUNPATH: only the former also serves what the siblings need, and it
        // comes before LD_LIBRARY_PATH, so that no genuine sibling can slip in.
        "-Wl,--disable-new-dtags,-rpath,$ORIGIN".to_owned(),
        // Threads, hooks and callbacks may outlive a dlclose.
        "-Wl,-z,nodelete".to_owned(),
        // Our own calls reach our own functions, whatever else is loaded.
        "-Wl,-Bsymbolic-functions".to_owned(),
        "-Wl,--no-as-needed".to_owned(),
    ];
    for name in SIBLINGS {
        let path = out.join(name);
        placeholder(name, &path);
        args.push(path.display().to_string());
    }
    args.push("-Wl,--as-needed".to_owned());
    for arg in args {
        println!("cargo:rustc-cdylib-link-arg={arg}");
    }
    // The programs open the libraries at run time: those beside them, unless the user names others.
    println!(
        "cargo:rustc-link-arg-bins=-Wl,--enable-new-dtags,-rpath,$ORIGIN/../lib:$ORIGIN/../lib64"
    );
}

/// Links an object that holds nothing but its SONAME.
fn placeholder(soname: &str, path: &PathBuf) {
    let status = cc::Build::new()
        .get_compiler()
        .to_command()
        .args(["-shared", "-nostdlib", "-x", "c", "/dev/null"])
        .arg(format!("-Wl,-soname,{soname}"))
        .arg("-o")
        .arg(path)
        .status();
    match status {
        Ok(status) if status.success() => {}
        other => panic!("cannot link the placeholder of {soname}: {other:?}"),
    }
}
