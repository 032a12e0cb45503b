//! Segments in files.
//!
//! By default the file has no name: peers open it through `/proc/<pid>/fd/<fd>`, so that nothing
//! can stay behind. With `UCX_POSIX_USE_PROC_LINK=n` (for peers in other pid namespaces) it has
//! one in `UCX_POSIX_DIR`; what killed processes left there is removed by the next ones, which
//! know it by the lock that is missing.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::sys::event::random_u64;
use crate::sys::shm::{self, Mapping};
use crate::ucs::config::Config;
use crate::ucs::status::{Error, Result};

use super::{Created, Opened, field};

/// Process id, descriptor, nonce.
pub const ADDR_LEN: usize = 12;
/// In place of a descriptor: the file has a name.
const NAMED: u32 = u32::MAX;
const PREFIX: &str = "ucx_shm_posix_";

#[derive(Clone, Debug)]
pub struct Settings {
    dir: PathBuf,
    proc_link: bool,
}

/// The open file, and its name if it has one, which goes when this is dropped.
pub struct Keep {
    pub(super) file: File,
    name: Option<PathBuf>,
}

impl Keep {
    /// What the address says in place of a descriptor if the file has a name.
    pub(super) fn fd(&self) -> u32 {
        match self.name {
            Some(_) => NAMED,
            None => self.file.as_raw_fd() as u32,
        }
    }
}

impl Drop for Keep {
    fn drop(&mut self) {
        if let Some(path) = &self.name {
            let _ = fs::remove_file(path);
        }
    }
}

impl Settings {
    /// Bytes that are free for memory.
    pub fn free_space(&self) -> usize {
        let free = shm::free_space(&self.dir).unwrap_or(0);
        usize::try_from(free).unwrap_or(usize::MAX)
    }

    pub fn read(config: &Config) -> Settings {
        Settings {
            dir: PathBuf::from(config.text("POSIX_DIR")),
            proc_link: config.bool_("POSIX_USE_PROC_LINK"),
        }
    }

    /// What a peer must share to find our files.
    pub fn scope(&self, pid_ns: u64) -> (&'static str, Vec<u8>) {
        if self.proc_link {
            return ("posix-proc", pid_ns.to_ne_bytes().to_vec());
        }
        // The same file system, whatever it is called on the other side.
        let (dev, ino) = fs::metadata(&self.dir).map_or((0, 0), |data| (data.dev(), data.ino()));
        let scope = [dev.to_ne_bytes(), ino.to_ne_bytes()].concat();
        ("posix-dir", scope)
    }

    /// Files are found through their process, and have no name.
    #[cfg(test)]
    pub(super) fn by_process(&self) -> bool {
        self.proc_link
    }

    fn path(&self, pid: u32, nonce: u32) -> PathBuf {
        self.dir.join(format!("{PREFIX}{pid}_{nonce:08x}"))
    }
}

/// A new file of `len` bytes, of which the first `needed` have memory.
///
/// # Errors
/// `NoMemory`, after a message.
pub(super) fn keep(settings: &Settings, len: usize, needed: usize, nonce: u32) -> Result<Keep> {
    let (file, name) = if settings.proc_link {
        (unnamed(settings, len, needed)?, None)
    } else {
        let path = settings.path(std::process::id(), nonce);
        remove_stale(&settings.dir);
        let file = named(&path, len, needed);
        (file.map_err(|e| refuse(settings, needed, &e))?, Some(path))
    };
    Ok(Keep { file, name })
}

pub fn create(settings: &Settings, len: usize, needed: usize) -> Result<Created> {
    let nonce = random_u64() as u32;
    let pid = std::process::id();
    let keep = keep(settings, len, needed, nonce)?;
    let fd = keep.fd();
    let map = Mapping::of_file(&keep.file, len).map_err(|error| {
        crate::ucs_warn!("posix: failed to map {len} bytes of shared memory: {error}");
        Error::NoMemory
    })?;
    let address = [pid, fd, nonce].map(u32::to_ne_bytes).concat();
    Ok(Created {
        map,
        address,
        nonce,
        keep: Some(keep),
    })
}

/// A new file of `len` bytes for the user's memory. In the folder it has all its memory at once,
/// since touching it could end the process otherwise; outside of it, where the user wants it
/// `lazy` or the folder is full, it gets memory as any other of the process does.
///
/// # Errors
/// `NoMemory`, after a message.
pub(super) fn keep_memory(settings: &Settings, len: usize, lazy: bool, nonce: u32) -> Result<Keep> {
    if !settings.proc_link {
        return keep(settings, len, len, nonce);
    }
    let outside = || shm::memory_file(len).map(|file| Keep { file, name: None });
    if lazy && let Ok(keep) = outside() {
        return Ok(keep);
    }
    let file = shm::unnamed_file(&settings.dir, len);
    let error = match file.and_then(|file| shm::allocate(&file, 0, len).map(|()| file)) {
        Ok(file) => return Ok(Keep { file, name: None }),
        Err(error) => error,
    };
    let problem = problem(settings, len, &error);
    match outside() {
        Ok(keep) => {
            warn_once(&format!("{problem}; {INSTEAD}"));
            Ok(keep)
        }
        Err(_) => {
            warn_once(&format!("{problem}; {REMEDY}"));
            Err(Error::NoMemory)
        }
    }
}

const INSTEAD: &str = "memory outside of it is used instead (UCX_POSIX_DIR chooses another folder)";
const REMEDY: &str =
    "free some, choose another folder by UCX_POSIX_DIR, or do without by UCX_TLS=^posix";

/// A nameless file in the folder, or outside of any if the folder is full or can't be used.
fn unnamed(settings: &Settings, len: usize, needed: usize) -> Result<File> {
    let with_memory = |file: File| shm::allocate(&file, 0, needed).map(|()| file);
    let error = match shm::unnamed_file(&settings.dir, len).and_then(with_memory) {
        Ok(file) => return Ok(file),
        Err(error) => error,
    };
    match shm::memory_file(len).and_then(with_memory) {
        Ok(file) => {
            let problem = problem(settings, needed, &error);
            warn_once(&format!("{problem}; {INSTEAD}"));
            Ok(file)
        }
        Err(_) => Err(refuse(settings, needed, &error)),
    }
}

/// One line per process is enough: each worker meets the same folder.
fn warn_once(problem: &str) {
    static WARNED: AtomicBool = AtomicBool::new(false);
    if !WARNED.swap(true, Ordering::Relaxed) {
        crate::ucs_warn!("{problem}");
    }
}

fn named(path: &Path, len: usize, needed: usize) -> io::Result<File> {
    let file = shm::named_file(path, len)?;
    match shm::lock(&file).and_then(|()| shm::allocate(&file, 0, needed)) {
        Ok(()) => Ok(file),
        Err(error) => {
            let _ = fs::remove_file(path);
            Err(error)
        }
    }
}

fn problem(settings: &Settings, needed: usize, error: &io::Error) -> String {
    let dir = settings.dir.display();
    let free = match shm::free_space(&settings.dir) {
        Ok(free) => format!(", {free} bytes are free"),
        Err(_) => String::new(),
    };
    format!("posix: no shared memory of {needed} bytes in {dir}: {error}{free}")
}

fn refuse(settings: &Settings, needed: usize, error: &io::Error) -> Error {
    let problem = problem(settings, needed, error);
    crate::ucs_warn!("{problem}; {REMEDY}");
    Error::NoMemory
}

/// Removes named segments whose maker is gone. One that is just being made is unlocked for a
/// moment too, so only files that are at least a few seconds old are looked at.
fn remove_stale(dir: &Path) {
    let Ok(entries) = fs::read_dir(dir) else {
        return;
    };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let age = entry.metadata().and_then(|data| data.modified());
        let old = age.is_ok_and(|t| t.elapsed().is_ok_and(|age| age.as_secs() >= 5));
        if !is_ours || !old {
            continue;
        }
        let file = File::options().read(true).write(true).open(entry.path());
        if file.is_ok_and(|file| shm::lock(&file).is_ok()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn parse(settings: &Settings, address: &[u8]) -> Option<(u32, u32, u32)> {
    let (pid, fd) = (field(address, 0)?, field(address, 1)?);
    let named = fd == NAMED;
    let valid = address.len() == ADDR_LEN
        && named != settings.proc_link
        && (named || fd <= i32::MAX as u32)
        && (1..=i32::MAX as u32).contains(&pid);
    valid.then_some((pid, fd, field(address, 2)?))
}

pub(super) fn open_file(
    settings: &Settings,
    address: &[u8],
) -> core::result::Result<(File, u32), String> {
    let (pid, fd, nonce) = parse(settings, address).ok_or("that is no address")?;
    let file = if fd == NAMED {
        File::options()
            .read(true)
            .write(true)
            .open(settings.path(pid, nonce))
    } else {
        shm::file_of_process(pid, fd as i32)
    };
    let file =
        file.map_err(|error| format!("the memory of process {pid} can't be opened: {error}"))?;
    match file.metadata() {
        Ok(data) if data.is_file() => Ok((file, nonce)),
        _ => Err(format!(
            "descriptor {fd} of process {pid} is no shared memory"
        )),
    }
}

pub fn probe(settings: &Settings, address: &[u8]) -> core::result::Result<(), String> {
    open_file(settings, address).map(|_| ())
}

pub fn open(settings: &Settings, address: &[u8]) -> Result<Opened> {
    if parse(settings, address).is_none() {
        return Err(Error::InvalidAddr);
    }
    let (file, nonce) = open_file(settings, address).map_err(|reason| {
        crate::ucs_diag!("posix: {reason}");
        Error::Unreachable
    })?;
    let len = file.metadata().map_or(0, |data| data.len());
    let len = usize::try_from(len).map_err(|_| Error::InvalidAddr)?;
    let map = Mapping::of_file(&file, len).map_err(|error| {
        crate::ucs_diag!("posix: failed to map {len} bytes of shared memory: {error}");
        Error::Unreachable
    })?;
    Ok(Opened {
        map,
        nonce,
        file: Some(file),
    })
}
