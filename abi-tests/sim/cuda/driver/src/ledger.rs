//! Who holds which piece of device memory, over all processes, right also after a `kill -9`.
//!
//! Every piece is a file in one folder, named after what it is. Who holds it has a shared
//! `flock` on it, through an open file (or a descriptor that it was exported as); the kernel drops
//! locks of dead processes. A file that nobody has locked is gone: whoever sees it removes it. So
//! the memory in use is what the names of the locked files add up to.

use crate::abi::{Answer, INVALID_HANDLE, OPERATING_SYSTEM, OUT_OF_MEMORY};
use crate::config;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What a file's name tells: `KIND DEVICE . BYTES . HANDLE TYPES . PID . NUMBER`.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// `m` memory, `p` a pool, `e` an event.
    pub kind: char,
    pub device: i32,
    pub size: u64,
    pub handle_types: u32,
}

/// A held file. Mappings of it must be gone before it is dropped.
#[derive(Debug)]
pub struct Lease {
    file: Option<File>,
    name: Mutex<String>,
    pub facts: Facts,
}

/// Descriptors that a forked child must close: they would hold what its parent has let go.
static HELD: Mutex<BTreeSet<RawFd>> = Mutex::new(BTreeSet::new());
/// Memory counts in pieces of this size.
pub const PIECE: usize = 64 << 10;

fn path(name: &str) -> PathBuf {
    config::get().dir.join(name)
}

/// The folder's lock, held while files come, go and are counted.
fn folder() -> Answer<File> {
    let dir = &config::get().dir;
    let open = || {
        OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(path("lock"))
    };
    let file = open()
        .or_else(|_| {
            let _ = fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(dir);
            open()
        })
        .map_err(|_| OPERATING_SYSTEM)?;
    flock(&file, libc::LOCK_EX)
        .then_some(file)
        .ok_or(OPERATING_SYSTEM)
}

fn flock(file: &impl AsRawFd, how: i32) -> bool {
    loop {
        // SAFETY: an open descriptor.
        if unsafe { libc::flock(file.as_raw_fd(), how) } == 0 {
            return true;
        }
        if std::io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            return false;
        }
    }
}

fn open(path: &std::path::Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

impl Facts {
    fn of(name: &str) -> Option<Self> {
        let name = name.strip_prefix('x').unwrap_or(name);
        let mut parts = name.split('.');
        let first = parts.next()?;
        let kind = first.chars().next().filter(|k| "mpe".contains(*k))?;
        Some(Self {
            kind,
            device: first[1..].parse().ok()?,
            size: u64::from_str_radix(parts.next()?, 16).ok()?,
            handle_types: u32::from_str_radix(parts.next()?, 16).ok()?,
        })
    }

    fn cost(&self) -> u64 {
        if self.kind == 'm' {
            (self.size as usize).next_multiple_of(PIECE) as u64
        } else {
            0
        }
    }
}

/// Bytes of a device that somebody holds. The folder is locked.
fn used_now(device: i32) -> Answer<u64> {
    let mut used = 0;
    for entry in fs::read_dir(&config::get().dir)
        .map_err(|_| OPERATING_SYSTEM)?
        .flatten()
    {
        let name = entry.file_name();
        let Some(facts) = name.to_str().and_then(Facts::of) else {
            continue;
        };
        let Ok(file) = open(&entry.path()) else {
            continue;
        };
        if flock(&file, libc::LOCK_EX | libc::LOCK_NB) {
            let _ = fs::remove_file(entry.path());
        } else if facts.device == device {
            used += facts.cost();
        }
    }
    Ok(used)
}

pub fn used(device: i32) -> Answer<u64> {
    let _folder = folder()?;
    used_now(device)
}

/// A new file; memory that doesn't fit on the device is refused.
pub fn create(facts: Facts) -> Answer<Lease> {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    let _folder = folder()?;
    if facts.kind == 'm' {
        let total = config::get()
            .memory
            .get(facts.device as usize)
            .copied()
            .unwrap_or_default();
        if used_now(facts.device)?.saturating_add(facts.cost()) > total {
            return Err(OUT_OF_MEMORY);
        }
    }
    loop {
        let name = format!(
            "{}{}.{:x}.{:x}.{}.{}",
            facts.kind,
            facts.device,
            facts.size,
            facts.handle_types,
            std::process::id(),
            NUMBER.fetch_add(1, Relaxed)
        );
        let mut options = OpenOptions::new();
        match options
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path(&name))
        {
            Ok(file) => {
                if !flock(&file, libc::LOCK_SH) || file.set_len(facts.size).is_err() {
                    let _ = fs::remove_file(path(&name));
                    return Err(OPERATING_SYSTEM);
                }
                return Ok(Lease::new(file, name, facts));
            }
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(_) => return Err(OPERATING_SYSTEM),
        }
    }
}

/// A file that somebody else holds, by its name. One that its owner has freed is not found.
pub fn join(name: &str, kind: char) -> Answer<Lease> {
    let facts = Facts::of(name)
        .filter(|f| f.kind == kind)
        .ok_or(INVALID_HANDLE)?;
    if name.starts_with('x') {
        return Err(INVALID_HANDLE);
    }
    let _folder = folder()?;
    let file = open(&path(name)).map_err(|_| INVALID_HANDLE)?;
    if flock(&file, libc::LOCK_EX | libc::LOCK_NB) {
        let _ = fs::remove_file(path(name));
        return Err(INVALID_HANDLE);
    }
    if !flock(&file, libc::LOCK_SH) {
        return Err(OPERATING_SYSTEM);
    }
    Ok(Lease::new(file, name.to_owned(), facts))
}

/// What an exported descriptor stands for: it holds the memory itself, so this finds it always.
pub fn join_descriptor(fd: RawFd, kind: char) -> Answer<Lease> {
    let _folder = folder()?;
    let link = format!("/proc/self/fd/{fd}");
    let target = fs::read_link(&link).map_err(|_| INVALID_HANDLE)?;
    let name = target
        .file_name()
        .and_then(|n| n.to_str())
        .ok_or(INVALID_HANDLE)?;
    let facts = Facts::of(name)
        .filter(|f| f.kind == kind)
        .ok_or(INVALID_HANDLE)?;
    let file = open(link.as_ref()).map_err(|_| INVALID_HANDLE)?;
    if !flock(&file, libc::LOCK_SH) {
        return Err(OPERATING_SYSTEM);
    }
    Ok(Lease::new(file, name.to_owned(), facts))
}

impl Lease {
    fn new(file: File, name: String, facts: Facts) -> Self {
        HELD.lock().unwrap().insert(file.as_raw_fd());
        Self {
            file: Some(file),
            name: Mutex::new(name),
            facts,
        }
    }

    pub fn fd(&self) -> RawFd {
        self.file.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    pub fn name(&self) -> String {
        self.name.lock().unwrap().clone()
    }

    /// A descriptor that holds it too, for whoever gets it.
    pub fn descriptor(&self) -> Answer<RawFd> {
        let file =
            open(format!("/proc/self/fd/{}", self.fd()).as_ref()).map_err(|_| OPERATING_SYSTEM)?;
        if !flock(&file, libc::LOCK_SH) {
            return Err(OPERATING_SYSTEM);
        }
        Ok(OwnedFd::from(file).into_raw_fd())
    }

    /// Its owner has freed it: nobody can join any more.
    pub fn retire(&self) {
        let Ok(_folder) = folder() else { return };
        let mut name = self.name.lock().unwrap();
        if !name.starts_with('x') {
            let retired = format!("x{name}");
            if fs::rename(path(&name), path(&retired)).is_ok() {
                *name = retired;
            }
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(file) = self.file.take() else { return };
        let folder = folder();
        if folder.is_ok() && flock(&file, libc::LOCK_EX | libc::LOCK_NB) {
            let name = self.name.lock().unwrap();
            // The owner may have renamed it meanwhile.
            if fs::remove_file(path(&name)).is_err() {
                let _ = fs::remove_file(path(&format!("x{name}")));
            }
        }
        HELD.lock().unwrap().remove(&file.as_raw_fd());
        drop(file);
    }
}

/// Closes everything, in a forked child. The memory itself was not inherited.
pub fn let_go_in_child() {
    // The only thread of this process is this one; another may have held the lock at the fork.
    if let Ok(held) = HELD.try_lock() {
        for fd in held.iter() {
            // SAFETY: ours, and never used again in this process.
            unsafe { libc::close(*fd) };
        }
    }
}
