//! Log: levels, the macros, and the way of a message from a macro to its line.
//!
//! A disabled message costs one relaxed load and a compare. The first message that passes this
//! check reads `UCX_LOG_*` from the environment, see [`init`].

mod settings;
mod sink;

use std::cell::{Cell, RefCell};
use std::fmt::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

pub use settings::{Settings, glob_match, parse_level};
use sink::Sink;
pub use sink::expand as expand_template;

/// `ucs_log_level_t`: a message is printed when its level is not above the one in force.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Level {
    /// Prints and ends the process.
    Fatal = 0,
    Error = 1,
    /// The default level.
    Warn = 2,
    /// What helps to find out why something isn't used; no fault.
    Diag = 3,
    Info = 4,
    Debug = 5,
    Trace = 6,
    TraceReq = 7,
    TraceData = 8,
    TraceAsync = 9,
    TraceFunc = 10,
    TracePoll = 11,
    /// Output that the user asked for (`ucs_print`), whatever the level.
    Print = 13,
}

/// The names of the levels as lines and `UCX_LOG_LEVEL` carry them, by value; 12 is `_LAST`.
pub const LEVEL_NAMES: [&str; 12] = [
    "FATAL", "ERROR", "WARN", "DIAG", "INFO", "DEBUG", "TRACE", "REQ", "DATA", "ASYNC", "FUNC",
    "POLL",
];

impl Level {
    /// The level with this value of `ucs_log_level_t`.
    pub fn from_value(value: u32) -> Option<Level> {
        use Level::*;
        [
            Fatal, Error, Warn, Diag, Info, Debug, Trace, TraceReq, TraceData, TraceAsync,
            TraceFunc, TracePoll, Print,
        ]
        .into_iter()
        .find(|level| *level as u32 == value)
    }

    /// The name in log lines.
    pub fn name(self) -> &'static str {
        LEVEL_NAMES.get(self as usize).copied().unwrap_or("PRINT")
    }
}

/// Above every level, so that the first message takes the slow path, which initialises.
const UNINITIALISED: u8 = u8::MAX;

static LEVEL: AtomicU8 = AtomicU8::new(UNINITIALISED);
static LOG: OnceLock<Log> = OnceLock::new();
static THREADS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static THREAD_NAME: RefCell<String> = const { RefCell::new(String::new()) };
    static INDENT: Cell<i32> = const { Cell::new(0) };
}

struct Log {
    host: String,
    settings: Settings,
    sink: Sink,
}

/// True when messages of this level are (or, before initialisation, may be) printed.
#[inline(always)]
pub fn enabled(level: Level) -> bool {
    level as u8 <= LEVEL.load(Ordering::Relaxed)
}

/// The level in force.
pub fn level() -> Level {
    init();
    Level::from_value(u32::from(LEVEL.load(Ordering::Relaxed))).unwrap_or(Level::Warn)
}

/// Changes the level in force, as the C tools do for `-v`.
pub fn set_level(level: Level) {
    init();
    LEVEL.store(level as u8, Ordering::Relaxed);
}

/// Reads `UCX_LOG_*` once; later calls do nothing. Values that can't be understood are left at
/// their default here: reading the configuration reports them.
pub fn init() {
    log();
}

fn log() -> &'static Log {
    LOG.get_or_init(|| {
        let settings = Settings::from_env();
        LEVEL.store(settings.level as u8, Ordering::Relaxed);
        Log {
            host: host_name(),
            sink: Sink::open(&settings),
            settings,
        }
    })
}

/// The settings in force, read on first use.
pub fn settings() -> &'static Settings {
    &log().settings
}

/// Makes log lines of this thread start further to the right (`ucs_log_indent`).
pub fn indent(delta: i32) {
    let _ = INDENT.try_with(|i| i.set(i.get().saturating_add(delta).max(0)));
}

/// The indentation of this thread.
pub fn current_indent() -> i32 {
    INDENT.try_with(Cell::get).unwrap_or(0)
}

/// Names this thread in log lines; by default threads are numbered as they log.
pub fn set_thread_name(name: &str) {
    let _ = THREAD_NAME.try_with(|n| name.clone_into(&mut n.borrow_mut()));
}

/// Writes what a log file still holds to disk.
pub fn flush() {
    if let Some(log) = LOG.get() {
        log.sink.flush();
    }
}

pub(crate) fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "localhost".to_owned(),
        name => name.to_owned(),
    }
}

fn thread_name() -> String {
    THREAD_NAME
        .try_with(|name| {
            let mut name = name.borrow_mut();
            if name.is_empty() {
                *name = THREADS.fetch_add(1, Ordering::Relaxed).to_string();
            }
            name.clone()
        })
        .unwrap_or_else(|_| "-".to_owned())
}

/// One message from a macro. `file` may have folders; `component` is `UCX` but for messages that
/// C code sends through `ucs_log_dispatch`.
#[cold]
#[inline(never)]
pub fn dispatch(file: &str, line: u32, level: Level, component: &str, text: fmt::Arguments<'_>) {
    let log = log();
    // The level may have been unknown when the macro looked.
    if level != Level::Print && !enabled(level) {
        return;
    }
    let path = file;
    let file = file.rsplit('/').next().unwrap_or(file);
    if !log.settings.file_matches(path, file) {
        return;
    }
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let mut text = text.to_string();
    truncate(&mut text, log.settings.buffer_size);
    let thread = thread_name();
    let mut lines = String::with_capacity(text.len() + 96);
    for part in text.split('\n').filter(|part| !part.is_empty()) {
        let _ = writeln!(
            lines,
            "[{}.{:06}] [{}:{:<5}:{}] {:>17}:{:<4} {:<4} {:<5} {:indent$}{}",
            now.as_secs(),
            now.subsec_micros(),
            log.host,
            std::process::id(),
            thread,
            file,
            line,
            component,
            level.name(),
            "",
            part,
            indent = current_indent() as usize * 2
        );
    }
    log.sink.write(&lines);
    if level <= Level::Error {
        log.sink.flush();
    }
    if level <= log.settings.trigger && level != Level::Print {
        std::process::abort();
    }
}

/// Prints output that was asked for (tables of `UCX_PROTO_INFO`): each line with time and process
/// before it, but without file and level.
pub fn print_compact(text: &str) {
    let log = log();
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let thread = thread_name();
    let mut lines = String::new();
    for part in text.split('\n') {
        let _ = writeln!(
            lines,
            "[{}.{:06}] [{}:{:<5}:{}]   {part}",
            now.as_secs(),
            now.subsec_micros(),
            log.host,
            std::process::id(),
            thread,
        );
    }
    log.sink.write(&lines);
}

fn truncate(text: &mut String, limit: usize) {
    if text.len() >= limit {
        let mut end = limit.saturating_sub(1);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
}

/// Logs at a level that is an expression of type [`Level`].
#[macro_export]
macro_rules! ucs_log {
    ($level:expr, $($arg:tt)+) => {
        if $crate::ucs::log::enabled($level) {
            $crate::ucs::log::dispatch(file!(), line!(), $level, "UCX", format_args!($($arg)+));
        }
    };
}

/// Logs an error: something the user asked for fails.
#[macro_export]
macro_rules! ucs_error {
    ($($arg:tt)+) => { $crate::ucs_log!($crate::ucs::log::Level::Error, $($arg)+) };
}

/// Logs a warning: it works, but not as the user would expect.
#[macro_export]
macro_rules! ucs_warn {
    ($($arg:tt)+) => { $crate::ucs_log!($crate::ucs::log::Level::Warn, $($arg)+) };
}

/// Logs why something isn't used; silent by default.
#[macro_export]
macro_rules! ucs_diag {
    ($($arg:tt)+) => { $crate::ucs_log!($crate::ucs::log::Level::Diag, $($arg)+) };
}

/// Logs what a user may want to know about a working run.
#[macro_export]
macro_rules! ucs_info {
    ($($arg:tt)+) => { $crate::ucs_log!($crate::ucs::log::Level::Info, $($arg)+) };
}

/// Logs what happens once per object.
#[macro_export]
macro_rules! ucs_debug {
    ($($arg:tt)+) => { $crate::ucs_log!($crate::ucs::log::Level::Debug, $($arg)+) };
}

/// Logs what happens often.
#[macro_export]
macro_rules! ucs_trace {
    ($($arg:tt)+) => { $crate::ucs_log!($crate::ucs::log::Level::Trace, $($arg)+) };
}

/// Logs steps of requests.
#[macro_export]
macro_rules! ucs_trace_req {
    ($($arg:tt)+) => { $crate::ucs_log!($crate::ucs::log::Level::TraceReq, $($arg)+) };
}

/// Logs messages on the wire.
#[macro_export]
macro_rules! ucs_trace_data {
    ($($arg:tt)+) => { $crate::ucs_log!($crate::ucs::log::Level::TraceData, $($arg)+) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_the_values_of_c() {
        assert_eq!(Level::from_value(2), Some(Level::Warn));
        assert_eq!(Level::from_value(12), None);
        assert_eq!(Level::Print.name(), "PRINT");
        assert_eq!(Level::TracePoll.name(), "POLL");
    }

    #[test]
    fn truncation_keeps_characters_whole() {
        let mut text = "ab\u{e9}d".to_owned();
        truncate(&mut text, 4);
        assert_eq!(text, "ab");
    }

    #[test]
    fn macros_compile_at_every_level() {
        ucs_trace!("x {}", 1);
        ucs_trace_data!("x");
        ucs_trace_req!("x");
        let name = "n";
        ucs_debug!("{name}");
        assert!(!enabled(Level::Trace) || level() >= Level::Trace);
    }
}
