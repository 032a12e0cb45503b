//! Profiles: how often marked places of a program were passed, how long it took from one to another,
//! and when; written to a file that `ucx_read_profile` reads.
//!
//! ```text
//! header | variables | places 165 each | threads: header 28, totals of each place 16, records 24 each
//! ```
#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use bitflags::bitflags;
use parking_lot::Mutex;

use super::arch::{clock, now};
use super::log::expand_template;

bitflags! {
    /// What is kept. The bits are those of `UCS_PROFILE_MODE_*`.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Mode: u32 {
        /// Totals of each place.
        const ACCUM = 1 << 0;
        /// Each event.
        const LOG = 1 << 1;
    }
}

/// What happens at a place, as `ucs_profile_type_t`.
pub const SCOPE_BEGIN: u8 = 1;
pub const SCOPE_END: u8 = 2;

const VERSION: u32 = 3;
const HEADER: usize = 2184;
const RECORD: usize = 24;
/// Scopes within each other.
const DEPTH: usize = 64;

/// A place in a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    pub kind: u8,
    pub name: String,
    /// Without its folder.
    pub file: String,
    pub line: i32,
    pub function: String,
}

/// A profile of this process.
pub struct Profile {
    mode: Mode,
    /// Where it is written, with `%p` and the like.
    file: String,
    /// Records that a thread keeps: the last ones.
    most: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    places: Vec<Place>,
    threads: Vec<Thread>,
}

struct Thread {
    id: i32,
    start: u64,
    last: u64,
    totals: Vec<Total>,
    scopes: Vec<u64>,
    records: VecDeque<Record>,
}

#[derive(Clone, Copy, Default)]
struct Total {
    ticks: u64,
    count: u64,
}

struct Record {
    time: u64,
    param64: u64,
    param32: u32,
    place: u32,
}

impl Profile {
    /// `max_size`: bytes of records that a thread keeps.
    pub fn new(mode: Mode, file: &str, max_size: usize) -> Profile {
        if !mode.is_empty() && file.is_empty() {
            crate::ucs_warn!("there is no file for the profile");
        }
        Profile {
            mode,
            file: file.to_owned(),
            most: (max_size / RECORD).max(1),
            state: Mutex::default(),
        }
    }

    /// The number of a place, from 1; `None` if nothing is kept of it.
    pub fn place(&self, place: Place) -> Option<i16> {
        if self.mode.is_empty() {
            return None;
        }
        let places = &mut self.state.lock().places;
        let index = places.iter().position(|known| *known == place);
        let index = index.unwrap_or(places.len());
        let number = i16::try_from(index + 1).ok()?;
        if index == places.len() {
            places.push(place);
        }
        Some(number)
    }

    /// The calling thread passes a place.
    pub fn record(&self, number: i16, kind: u8, param32: u32, param64: u64) {
        let Some(place) = usize::try_from(number).ok().and_then(|n| n.checked_sub(1)) else {
            return;
        };
        let id = crate::sys::process::thread_id();
        let now = now();
        let mut state = self.state.lock();
        if place >= state.places.len() {
            return;
        }
        let threads = &mut state.threads;
        let at = threads.iter().position(|thread| thread.id == id);
        let at = at.unwrap_or_else(|| {
            threads.push(Thread::new(id, now));
            threads.len() - 1
        });
        let Some(thread) = threads.get_mut(at) else {
            return;
        };
        thread.last = now;
        if self.mode.contains(Mode::ACCUM) {
            thread.count(place, kind, now);
        }
        if self.mode.contains(Mode::LOG) {
            if thread.records.len() >= self.most {
                thread.records.pop_front();
            }
            thread.records.push_back(Record {
                time: now,
                param64,
                param32,
                place: place as u32,
            });
        }
    }

    /// Writes what is there, and forgets the threads that have ended; the calling one counts as such.
    pub fn dump(&self) {
        if self.mode.is_empty() {
            return;
        }
        let own = crate::sys::process::thread_id();
        let now = now();
        let mut state = self.state.lock();
        let lives = |id: i32| Path::new(&format!("/proc/self/task/{id}")).exists();
        for thread in &mut state.threads {
            if thread.id == own || lives(thread.id) {
                thread.last = now;
            }
        }
        let path = expand_template(&self.file);
        if let Err(error) = self.write(&path, &state) {
            crate::ucs_error!("the profile can't be written to '{path}': {error}");
        }
        state
            .threads
            .retain(|thread| thread.id != own && lives(thread.id));
    }

    /// Threads that have not ended.
    pub fn threads(&self) -> usize {
        self.state.lock().threads.len()
    }

    fn write(&self, path: &str, state: &State) -> io::Result<()> {
        let variables = variables();
        let places: Vec<u8> = state.places.iter().flat_map(Place::bytes).collect();
        let mut threads = Vec::new();
        for thread in &state.threads {
            thread.append(state.places.len(), &mut threads);
        }
        let mut out = Vec::with_capacity(HEADER);
        out.extend(VERSION.to_ne_bytes());
        out.extend(0u32.to_ne_bytes());
        let library = crate::sys::image::own_path().unwrap_or_default();
        text(&mut out, &library.to_string_lossy(), 1024);
        text(&mut out, &command_line(), 1024);
        text(&mut out, &super::log::host_name(), 64);
        out.extend(std::process::id().to_ne_bytes());
        out.extend(self.mode.bits().to_ne_bytes());
        let mut offset = HEADER;
        for block in [variables.len(), places.len(), threads.len()] {
            out.extend((offset as u64).to_ne_bytes());
            out.extend((block as u64).to_ne_bytes());
            offset += block;
        }
        out.extend((clock().per_second() as u64).to_ne_bytes());
        let mut file = fs::OpenOptions::new();
        let mut file = file
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(path)?;
        for part in [out.as_slice(), variables.as_bytes(), &places, &threads] {
            file.write_all(part)?;
        }
        Ok(())
    }
}

impl Place {
    fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        text(&mut out, &self.file, 64);
        text(&mut out, &self.function, 64);
        text(&mut out, &self.name, 32);
        out.extend(self.line.to_ne_bytes());
        out.push(self.kind);
        out
    }
}

impl Thread {
    fn new(id: i32, start: u64) -> Thread {
        Thread {
            id,
            start,
            last: start,
            totals: Vec::new(),
            scopes: Vec::new(),
            records: VecDeque::new(),
        }
    }

    fn count(&mut self, place: usize, kind: u8, now: u64) {
        if self.totals.len() <= place {
            self.totals.resize(place + 1, Total::default());
        }
        let ticks = match kind {
            // What is deeper than that is counted, but takes no time.
            SCOPE_BEGIN if self.scopes.len() < DEPTH => {
                self.scopes.push(now);
                0
            }
            SCOPE_END => self
                .scopes
                .pop()
                .map_or(0, |begin| now.saturating_sub(begin)),
            _ => 0,
        };
        if let Some(total) = self.totals.get_mut(place) {
            total.ticks += ticks;
            total.count += 1;
        }
    }

    fn append(&self, places: usize, out: &mut Vec<u8>) {
        out.extend(self.id.to_ne_bytes());
        for word in [self.start, self.last, self.records.len() as u64] {
            out.extend(word.to_ne_bytes());
        }
        for place in 0..places {
            let total = self.totals.get(place).copied().unwrap_or_default();
            out.extend(total.ticks.to_ne_bytes());
            out.extend(total.count.to_ne_bytes());
        }
        for record in &self.records {
            out.extend(record.time.to_ne_bytes());
            out.extend(record.param64.to_ne_bytes());
            out.extend(record.param32.to_ne_bytes());
            out.extend(record.place.to_ne_bytes());
        }
    }
}

/// Appends a string of `len` bytes, with a zero at its end.
fn text(out: &mut Vec<u8>, text: &str, len: usize) {
    let end = out.len() + len;
    out.extend(text.bytes().take(len - 1));
    out.resize(end, 0);
}

/// UCX's variables that are set.
fn variables() -> String {
    let all = std::env::vars_os().filter_map(|(name, value)| {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        name.starts_with("UCX_").then(|| format!("{name}={value}"))
    });
    all.collect::<Vec<_>>().join(" ")
}

fn command_line() -> String {
    let line = fs::read("/proc/self/cmdline").unwrap_or_default();
    String::from_utf8_lossy(&line)
        .replace('\0', " ")
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_has_the_stated_size() {
        let path = std::env::temp_dir().join(format!("ucx-profile-{}", std::process::id()));
        let profile = Profile::new(
            Mode::ACCUM | Mode::LOG,
            &path.to_string_lossy(),
            10 * RECORD,
        );
        let place = |kind, name: &str| Place {
            kind,
            name: name.to_owned(),
            file: "f.c".to_owned(),
            line: 7,
            function: "main".to_owned(),
        };
        let begin = profile.place(place(SCOPE_BEGIN, "")).expect("a number");
        let end = profile.place(place(SCOPE_END, "work")).expect("a number");
        assert_eq!((begin, end), (1, 2));
        assert_eq!(profile.place(place(SCOPE_BEGIN, "")), Some(1));
        for _ in 0..8 {
            profile.record(begin, SCOPE_BEGIN, 1, 2);
            profile.record(end, SCOPE_END, 3, 4);
        }
        profile.record(3, 0, 0, 0);
        profile.record(0, 0, 0, 0);
        profile.dump();
        let written = fs::read(&path).expect("a file");
        fs::remove_file(&path).expect("removed");
        assert_eq!(
            written.len(),
            HEADER + variables().len() + 2 * 165 + 28 + 2 * 16 + 10 * RECORD
        );
        assert_eq!(profile.threads(), 0);
        assert_eq!(Profile::new(Mode::empty(), "", 0).place(place(0, "")), None);
    }
}
