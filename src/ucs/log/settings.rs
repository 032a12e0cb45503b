//! The `UCX_LOG_*` variables, read directly from environment and files: the log must work before,
//! and while, the configuration is read.

use super::{LEVEL_NAMES, Level};
use crate::ucs::config::ThisMachine;
use crate::ucs::config::file::Files;

/// What the log needs to know.
#[derive(Clone, Debug)]
pub struct Settings {
    pub level: Level,
    /// Messages up to this level end the process after they were printed.
    pub trigger: Level,
    /// Where lines go: empty (standard output), `stdout`, `stderr`, or a path with `%h`, `%p`,
    /// `%t`, `%e`, ... in it, an optional `file:` before it.
    pub file: String,
    /// Bytes of one message beyond which it is cut.
    pub buffer_size: usize,
    /// Bytes of a log file beyond which it is rotated.
    pub file_size: u64,
    /// Number of older log files kept.
    pub file_rotate: u32,
    /// Shell pattern of source files whose messages are printed.
    pub file_filter: String,
    /// Bytes of packet payload shown at the data level.
    pub data_size: usize,
    /// Whether `ucs_print` output is printed.
    pub print_enable: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            level: Level::Warn,
            trigger: Level::Fatal,
            file: String::new(),
            buffer_size: 1024,
            file_size: u64::MAX,
            file_rotate: 0,
            file_filter: "*".to_owned(),
            data_size: 0,
            print_enable: false,
        }
    }
}

impl Settings {
    /// The settings that `UCX_LOG_*` ask for; what can't be understood stays at the default.
    pub fn from_env() -> Settings {
        let files = Files::load(&ThisMachine);
        Settings::from_lookup(|name| {
            let name = format!("UCX_{name}");
            std::env::var(&name)
                .ok()
                .or_else(|| files.values.get(&name).cloned())
        })
    }

    /// The settings that `lookup` (by name without `UCX_`) asks for.
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Settings {
        let mut s = Settings::default();
        if let Some(level) = lookup("LOG_LEVEL").and_then(|v| parse_level(&v)) {
            s.level = level;
        }
        if let Some(level) = lookup("LOG_LEVEL_TRIGGER").and_then(|v| parse_level(&v)) {
            s.trigger = level;
        }
        if let Some(file) = lookup("LOG_FILE") {
            s.file = file;
        }
        if let Some(size) = lookup("LOG_BUFFER").and_then(|v| parse_size(&v)) {
            s.buffer_size = (size as usize).clamp(256, 1 << 16);
        }
        if let Some(size) = lookup("LOG_FILE_SIZE").and_then(|v| parse_size(&v)) {
            s.file_size = size.max(s.buffer_size as u64);
        }
        if let Some(n) = lookup("LOG_FILE_ROTATE").and_then(|v| v.trim().parse().ok()) {
            s.file_rotate = n;
        }
        if let Some(filter) = lookup("LOG_FILE_FILTER") {
            s.file_filter = filter;
        }
        if let Some(size) = lookup("LOG_DATA_SIZE").and_then(|v| parse_size(&v)) {
            s.data_size = size as usize;
        }
        if let Some(value) = lookup("LOG_PRINT_ENABLE") {
            s.print_enable = matches!(
                value.to_ascii_lowercase().as_str(),
                "y" | "yes" | "1" | "on"
            );
        }
        s
    }

    /// Whether messages of this source file (path, base name) are wanted.
    pub fn file_matches(&self, path: &str, base: &str) -> bool {
        let pattern = self.file_filter.as_bytes();
        self.file_filter == "*"
            || glob_match(pattern, path.as_bytes())
            || glob_match(pattern, base.as_bytes())
    }
}

/// The level of this name, in any case. `info`, `REQ` and so on.
pub fn parse_level(text: &str) -> Option<Level> {
    let text = text.trim();
    LEVEL_NAMES
        .iter()
        .position(|name| name.eq_ignore_ascii_case(text))
        .and_then(|value| Level::from_value(value as u32))
}

fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("inf") {
        return Some(u64::MAX);
    }
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" => 10,
        "m" | "mb" => 20,
        "g" | "gb" => 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Shell pattern match with `*` and `?`.
pub fn glob_match(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p + 1, t));
                p += 1;
            }
            Some(&c) if c == b'?' || Some(&c) == text.get(t) => {
                p += 1;
                t += 1;
            }
            _ => {
                // Let the last star take one more character.
                let Some((after, from)) = star else {
                    return false;
                };
                star = Some((after, from + 1));
                p = after;
                t = from + 1;
            }
        }
    }
    pattern.iter().skip(p).all(|&c| c == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_and_nonsense_is_left_alone() {
        let s = Settings::from_lookup(|name| match name {
            "LOG_LEVEL" => Some("Info".into()),
            "LOG_BUFFER" => Some("2k".into()),
            "LOG_FILE_SIZE" => Some("many".into()),
            _ => None,
        });
        assert_eq!(s.level, Level::Info);
        assert_eq!(s.buffer_size, 2048);
        assert_eq!(s.file_size, u64::MAX);
    }

    #[test]
    fn glob_patterns() {
        assert!(glob_match(b"*/tcp/*.rs", b"src/uct/tcp/ep.rs"));
        assert!(glob_match(b"a?c*", b"abc"));
        assert!(!glob_match(b"a?c", b"abd"));
        assert!(glob_match(b"", b""));
        assert!(!glob_match(b"", b"x"));
    }
}
