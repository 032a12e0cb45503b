//! `ucx.conf` files.
//!
//! Lines are `NAME=value` (or `NAME: value`), comments begin with `#` or `;`, sections with
//! `[name]`. In a section, the pseudo variables `CPU vendor`, `CPU model` and `Product name` hold
//! patterns: the rest of the section counts only on machines that match.
//!
//! Nothing here logs, since the log reads these files too; problems come back as text.

use std::io::ErrorKind::PermissionDenied;
use std::path::{Path, PathBuf};

use hashbrown::HashMap;

use crate::ucs::log::glob_match;

/// The name of the file in each of the folders.
pub const FILE_NAME: &str = "ucx.conf";

/// What files say, and what was wrong with them.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Values by full name, prefix included.
    pub values: HashMap<String, String>,
    /// One line for each problem.
    pub problems: Vec<String>,
    /// The files that were read.
    pub paths: Vec<PathBuf>,
}

/// What sections are compared with.
pub trait Machine {
    /// The machine's value for a pseudo variable, `None` for other names.
    fn property(&self, name: &str) -> Option<String>;
}

impl Files {
    /// Reads all files in their order; later ones win: system, beside the library, home,
    /// `UCX_CONFIG_DIR`, working folder.
    pub fn load(machine: &dyn Machine) -> Files {
        let mut files = Files::default();
        for dir in folders() {
            let path = dir.join(FILE_NAME);
            // A file that isn't there is no problem; one that can't be read as text is.
            match std::fs::read(&path) {
                Ok(bytes) => {
                    let name = path.display().to_string();
                    files.add(&String::from_utf8_lossy(&bytes), &name, machine);
                    files.paths.push(path);
                }
                // In a folder that is closed to us there may be none.
                Err(error) if error.kind() == PermissionDenied && path.metadata().is_ok() => {
                    files
                        .problems
                        .push(format!("can't read {}: {error}", path.display()));
                }
                Err(_) => {}
            }
        }
        files
    }

    /// Adds the content of one file. `name` is for messages.
    pub fn add(&mut self, text: &str, name: &str, machine: &dyn Machine) {
        let mut skip = false;
        for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(rest) = line.strip_prefix('[') {
                skip = false;
                if !rest.contains(']') {
                    self.problems
                        .push(format!("{name}:{}: no ']' in '{line}'", number + 1));
                }
                continue;
            }
            let Some((variable, value)) = line.split_once(['=', ':']) else {
                self.problems
                    .push(format!("{name}:{}: no '=' in '{line}'", number + 1));
                continue;
            };
            let (variable, value) = (variable.trim(), strip_comment(value).trim());
            if skip {
                continue;
            }
            if let Some(actual) = machine.property(variable) {
                let wanted = value.to_ascii_lowercase();
                skip = !glob_match(wanted.as_bytes(), actual.to_ascii_lowercase().as_bytes());
                continue;
            }
            self.values.insert(variable.to_owned(), value.to_owned());
        }
    }
}

/// Cuts a comment that begins after a blank with `;`.
fn strip_comment(value: &str) -> &str {
    let mut blank = false;
    for (at, c) in value.char_indices() {
        if blank && c == ';' {
            return value.get(..at).unwrap_or(value);
        }
        blank = c.is_whitespace();
    }
    value
}

fn folders() -> Vec<PathBuf> {
    let mut dirs = vec![PathBuf::from("/etc/ucx")];
    if let Some(dir) = crate::sys::image::own_path()
        .as_deref()
        .and_then(Path::parent)
    {
        let beside = dir.join("../etc/ucx");
        dirs.push(beside);
    }
    dirs.extend(std::env::var_os("HOME").map(PathBuf::from));
    dirs.extend(std::env::var_os("UCX_CONFIG_DIR").map(PathBuf::from));
    dirs.push(PathBuf::from("."));
    dirs
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Zen;

    impl Machine for Zen {
        fn property(&self, name: &str) -> Option<String> {
            match name {
                "CPU vendor" => Some("AMD".to_owned()),
                "CPU model" => Some("Milan".to_owned()),
                _ => None,
            }
        }
    }

    #[test]
    fn sections_apply_where_they_match() {
        let mut files = Files::default();
        let text = "UCX_A=1\n[x]\nCPU model=Grace*\nUCX_A=2\n\
                    [AMD]\nCPU vendor = amd\nUCX_B : 3 ; note\n# no\nCPU model=G\nUCX_C=4\nwhat\n";
        files.add(text, "f", &Zen);
        let value = |name: &str| files.values.get(name).map(String::as_str);
        assert_eq!(
            (value("UCX_A"), value("UCX_B"), value("UCX_C")),
            (Some("1"), Some("3"), None)
        );
        assert_eq!(files.problems, ["f:11: no '=' in 'what'"]);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "(?s).{0,200}") {
            Files::default().add(&text, "f", &Zen);
        }
    }
}
