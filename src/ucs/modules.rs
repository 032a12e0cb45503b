//! Loadable modules: files `lib<framework>_<name>.so` that programs have asked for, as
//! `ucx_perftest` does for memory of accelerators.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::config::{AllowList, Config, Mode, global};
use super::log::glob_match;
use crate::sys::dl::{self, Object};

/// Where they lie beside the library.
const SUBFOLDER: &str = "ucx";
/// Called once in a module that was loaded; another status than 0 unloads it.
const CONSTRUCTOR: &core::ffi::CStr = c"ucs_module_global_init";

/// UCX's own parts are built in here: a module of another build would bring their state along.
fn is_built_in(framework: &str) -> bool {
    ["uct", "ucm", "ucs", "ucp"]
        .iter()
        .any(|own| framework.starts_with(own))
}

/// Loads the modules of a framework that are found, the first of each name. `expected`: names, each
/// after a colon, whose absence is worth a line for who debugs.
pub fn load(framework: &str, expected: &str, mode: dl::Mode) {
    if framework.is_empty() || framework.contains('/') || is_built_in(framework) {
        return;
    }
    let Ok(config) = Config::read_table(None, &global::UCS) else {
        return;
    };
    let allowed = config.allow_list("MODULES");
    let mut loaded = BTreeSet::new();
    for folder in folders(&config) {
        for (name, path) in candidates(&folder, framework) {
            if !loaded.contains(&name) && is_allowed(&allowed, &name) && open(&path, mode) {
                loaded.insert(name);
            }
        }
    }
    for name in expected.split(':').filter(|name| !name.is_empty()) {
        if !loaded.contains(name) && is_allowed(&allowed, name) {
            crate::ucs_debug!("module '{name}' of '{framework}' was not loaded");
        }
    }
}

/// Those of the user, the one beside the library, the one that was configured.
fn folders(config: &Config) -> Vec<PathBuf> {
    let beside = crate::sys::image::own_path()
        .and_then(|path| path.parent().map(|folder| folder.join(SUBFOLDER)));
    let configured = Some(config.text("MODULE_DIR")).filter(|text| !text.is_empty());
    let named = config.list("PLUGIN_PATH").into_iter().map(PathBuf::from);
    named
        .chain(beside)
        .chain(configured.map(PathBuf::from))
        .collect()
}

/// Names and paths of what may be modules of the framework in a folder, in order.
fn candidates(folder: &Path, framework: &str) -> Vec<(String, PathBuf)> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found: Vec<(String, PathBuf)> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = module_name(path.file_name()?.to_str()?, framework)?;
            Some((name.to_owned(), path))
        })
        .collect();
    found.sort();
    found
}

/// `cuda` of `libucx_perftest_cuda.so` or `libucx_perftest_cuda.so.0`.
fn module_name<'a>(file: &'a str, framework: &str) -> Option<&'a str> {
    let rest = file.strip_prefix("lib")?.strip_prefix(framework)?;
    let rest = rest.strip_prefix('_')?;
    let name = rest
        .strip_suffix(".so.0")
        .or_else(|| rest.strip_suffix(".so"))?;
    // With an underline it is a module of a framework that is called after another.
    (!name.is_empty() && !name.contains('_')).then_some(name)
}

fn is_allowed(list: &AllowList, name: &str) -> bool {
    let matches = |pattern: &String| glob_match(pattern.as_bytes(), name.as_bytes());
    let named = list.names.iter().any(matches);
    match list.mode {
        Mode::All => true,
        Mode::Only => named,
        Mode::AllBut => !named,
    }
}

/// False if it can't be loaded, so that another file of its name may be tried.
fn open(path: &Path, mode: dl::Mode) -> bool {
    let object = match Object::open(path, mode) {
        Ok(object) => object,
        Err(reason) => {
            crate::ucs_debug!("module {}: {reason}", path.display());
            return false;
        }
    };
    match object.call_own(CONSTRUCTOR) {
        None | Some(0) => {
            crate::ucs_debug!("loaded module {}", path.display());
            object.keep();
        }
        Some(status) => {
            crate::ucs_debug!("module {} refuses: status {status}", path.display());
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files() {
        let name = |file| module_name(file, "ucx_perftest");
        assert_eq!(name("libucx_perftest_cuda.so"), Some("cuda"));
        assert_eq!(name("libucx_perftest_cuda.so.0"), Some("cuda"));
        assert_eq!(name("libucx_perftest_cuda.so.0.0.0"), None);
        assert_eq!(name("libucx_perftest_cuda_x.so"), None);
        assert_eq!(name("libucx_perftest_.so"), None);
        assert_eq!(name("libuct_cuda.so"), None);
    }

    #[test]
    fn own_parts_are_never_loaded() {
        assert!(is_built_in("uct") && is_built_in("uct_cuda") && is_built_in("ucm"));
        assert!(!is_built_in("ucx_perftest"));
    }

    #[test]
    fn patterns() {
        let list = |mode, name: &str| AllowList {
            mode,
            names: vec![name.to_owned()],
        };
        assert!(is_allowed(&list(Mode::Only, "cu*"), "cuda"));
        assert!(!is_allowed(&list(Mode::Only, "cu*"), "ze"));
        assert!(!is_allowed(&list(Mode::AllBut, "cu*"), "cuda"));
    }
}
