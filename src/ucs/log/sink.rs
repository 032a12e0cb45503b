//! Where log lines go: a standard stream, or a file that is rotated by size.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::Settings;
use crate::sys::stdio;

pub(super) enum Sink {
    Stream(i32),
    File(Mutex<LogFile>),
}

pub(super) struct LogFile {
    path: PathBuf,
    file: Option<File>,
    written: u64,
    limit: u64,
    keep: u32,
}

impl Sink {
    /// Opens what `UCX_LOG_FILE` names; a file that can't be opened is reported on standard
    /// error and lines go there.
    pub(super) fn open(settings: &Settings) -> Sink {
        let name = settings
            .file
            .strip_prefix("file:")
            .unwrap_or(&settings.file);
        match name {
            "" | "stdout" => return Sink::Stream(1),
            "stderr" => return Sink::Stream(2),
            _ => {}
        }
        let path = PathBuf::from(expand(name));
        match create(&path) {
            Ok(file) => Sink::File(Mutex::new(LogFile {
                path,
                file: Some(file),
                written: 0,
                limit: settings.file_size,
                keep: settings.file_rotate,
            })),
            Err(error) => {
                let text = format!("UCX: can't open log file {}: {error}\n", path.display());
                stdio::write_all(2, text.as_bytes());
                Sink::Stream(2)
            }
        }
    }

    /// Writes whole lines.
    pub(super) fn write(&self, lines: &str) {
        match self {
            Sink::Stream(fd) => stdio::write_all(*fd, lines.as_bytes()),
            Sink::File(file) => file.lock().write(lines),
        }
    }

    pub(super) fn flush(&self) {
        if let Sink::File(file) = self
            && let Some(file) = &file.lock().file
        {
            let _ = file.sync_data();
        }
    }
}

impl LogFile {
    fn write(&mut self, lines: &str) {
        let size = lines.len() as u64;
        if self.written > 0 && self.written.saturating_add(size) >= self.limit {
            self.rotate();
        }
        self.written = self.written.saturating_add(size);
        if let Some(file) = &mut self.file {
            let _ = file.write_all(lines.as_bytes());
        }
    }

    /// Shifts `log` to `log.1`, `log.1` to `log.2` and so on; the oldest is overwritten.
    fn rotate(&mut self) {
        self.file = None;
        if self.keep == 0 {
            let _ = std::fs::remove_file(&self.path);
        }
        for index in (0..self.keep).rev() {
            let _ = std::fs::rename(numbered(&self.path, index), numbered(&self.path, index + 1));
        }
        self.file = create(&self.path).ok();
        self.written = 0;
    }
}

fn create(path: &Path) -> std::io::Result<File> {
    OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(true)
        .open(path)
}

fn numbered(path: &Path, index: u32) -> PathBuf {
    if index == 0 {
        return path.to_owned();
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{index}"));
    PathBuf::from(name)
}

/// Replaces `%p` (process id), `%h` (host), `%c` (first CPU of the affinity), `%t` (time), `%u`
/// (user), `%e` (program) and `%i` (user id); any other `%` stays as it is.
pub fn expand(template: &str) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let replacement = match after.chars().next() {
            Some('p') => Some(std::process::id().to_string()),
            Some('h') => Some(super::host_name()),
            Some('t') => Some(local_time()),
            Some('e') => Some(program_name()),
            Some('u') => Some(user_name()),
            Some('i') => Some(user_id()),
            Some('c') => Some(first_cpu()),
            _ => None,
        };
        rest = after;
        match replacement {
            Some(text) => {
                out.push_str(&text);
                rest = after.get(1..).unwrap_or("");
            }
            None => out.push('%'),
        }
    }
    out + rest
}

fn program_name() -> String {
    std::fs::read_link("/proc/self/exe")
        .ok()
        .and_then(|path| {
            path.file_name()
                .map(|name| name.to_string_lossy().into_owned())
        })
        .unwrap_or_else(|| "unknown".to_owned())
}

fn status_field(field: &str) -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.split(|c: char| c.is_whitespace() || c == '-' || c == ',')
        .find(|word| !word.is_empty())
        .map(str::to_owned)
}

fn user_id() -> String {
    status_field("Uid:").unwrap_or_default()
}

fn user_name() -> String {
    std::env::var("USER")
        .or_else(|_| std::env::var("LOGNAME"))
        .unwrap_or_else(|_| user_id())
}

fn first_cpu() -> String {
    status_field("Cpus_allowed_list:").unwrap_or_else(|| "0".to_owned())
}

/// Date and time as `2026-01-31-23-59-59`, UTC.
fn local_time() -> String {
    let seconds = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |d| d.as_secs());
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil_date(days);
    format!(
        "{year:04}-{month:02}-{day:02}-{:02}-{:02}-{:02}",
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

/// Gregorian date of a day counted from 1970-01-01.
fn civil_date(days: u64) -> (u64, u64, u64) {
    // Count from 0000-03-01, so that leap days come last in their year; eras have 400 years.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(civil_date(0), (1970, 1, 1));
        assert_eq!(civil_date(11_016), (2000, 2, 29));
        assert_eq!(civil_date(20_786), (2026, 11, 29));
    }

    #[test]
    fn templates() {
        let pid = std::process::id().to_string();
        assert_eq!(
            expand("/tmp/a.%p.%%p.%q%"),
            format!("/tmp/a.{pid}.%{pid}.%q%")
        );
        assert!(!expand("%h%e%u%t%c").contains('%'));
    }

    #[test]
    fn files_rotate_by_size() {
        let dir = std::env::temp_dir().join(format!("ucx-log-test-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("temporary folder");
        let path = dir.join("log");
        let mut file = LogFile {
            file: create(&path).ok(),
            path: path.clone(),
            written: 0,
            limit: 10,
            keep: 2,
        };
        for text in ["aaaaaaa\n", "bbbbbbb\n", "ccccccc\n", "ddddddd\n"] {
            file.write(text);
        }
        let read = |n| std::fs::read_to_string(numbered(&path, n)).unwrap_or_default();
        assert_eq!(
            (read(0), read(1), read(2)),
            ("ddddddd\n".into(), "ccccccc\n".into(), "bbbbbbb\n".into())
        );
        assert!(!numbered(&path, 3).exists());
        let _ = std::fs::remove_dir_all(&dir);
    }
}
