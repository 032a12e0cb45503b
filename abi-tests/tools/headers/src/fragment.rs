//! The hand-written part of a header.
//!
//! Lines that begin with `//@` direct the generator:
//! - `//@ guard NAME`: the include guard;
//! - `//@ modules A B`: modules under `src/abi` whose items belong to this header, in order;
//! - `//@ declarations`: from here on the text stands inside `extern "C"`, before the generated part;
//! - `//@ generated`: the place of the generated part; what follows also stands in `extern "C"`.
//!
//! What comes before the first of the last two is for includes and macros. Without either the text
//! is the whole header.

use std::path::Path;

use crate::Result;

#[derive(Default)]
pub struct Fragment {
    pub guard: String,
    pub modules: Vec<String>,
    /// Before `extern "C"`.
    pub head: String,
    /// In `extern "C"`, before the generated declarations.
    pub declarations: String,
    /// In `extern "C"`, after the generated declarations.
    pub tail: String,
    pub generated: bool,
}

impl Fragment {
    pub fn load(path: &Path) -> Result<Fragment> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut fragment = Fragment::default();
        let mut section = 0;
        for line in text.lines() {
            let Some(directive) = line.strip_prefix("//@") else {
                let to = match section {
                    0 => &mut fragment.head,
                    1 => &mut fragment.declarations,
                    _ => &mut fragment.tail,
                };
                to.push_str(line);
                to.push('\n');
                continue;
            };
            let mut words = directive.split_whitespace();
            match words.next() {
                Some("guard") => fragment.guard = words.next().unwrap_or_default().to_string(),
                Some("modules") => fragment.modules = words.map(str::to_string).collect(),
                Some("declarations") => section = 1,
                Some("generated") => {
                    section = 2;
                    fragment.generated = true;
                }
                _ => return Err(format!("{}: unknown directive {line}", path.display())),
            }
        }
        if fragment.guard.is_empty() {
            return Err(format!("{}: no guard", path.display()));
        }
        Ok(fragment)
    }
}
