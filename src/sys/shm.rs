//! Memory that processes share: files without a name, and System V segments.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use super::map::Place;
use super::sysv;
use super::usermem::UserMem;

/// Mapped shared memory; dropping it unmaps. All bytes may change at any time.
#[derive(Debug)]
pub struct Mapping {
    ptr: NonNull<u8>,
    len: usize,
    sysv: bool,
}

// SAFETY: memory belongs to the process, not to a thread; access is the user's business.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `len` bytes of a file. The file may be closed afterwards.
    ///
    /// Touching bytes that the file doesn't have (any more) kills the process, so the caller
    /// checks the length; bytes that it has, but that have no memory yet, need [`allocate`].
    pub fn of_file(file: &File, len: usize) -> io::Result<Mapping> {
        Self::of_file_at(file, len, Place::ANY)
    }

    /// The same at a place.
    pub fn of_file_at(file: &File, len: usize, place: Place) -> io::Result<Mapping> {
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let (flags, fd) = (libc::MAP_SHARED | place.map_flag(), file.as_raw_fd());
        // SAFETY: a new mapping; one that replaces another is the caller's promise, see `Place`.
        let ptr = unsafe { libc::mmap(place.address(), len, prot, flags, fd, 0) };
        if ptr == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let ptr = NonNull::new(ptr.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping {
            ptr,
            len,
            sysv: false,
        })
    }

    /// Attaches the System V segment `id`.
    pub fn of_sysv(id: i32) -> io::Result<Mapping> {
        Self::of_sysv_at(id, Place::ANY)
    }

    fn of_sysv_at(id: i32, place: Place) -> io::Result<Mapping> {
        let flags = if place.is_fixed() { libc::SHM_REMAP } else { 0 };
        // SAFETY: as for mmap.
        let ptr = unsafe { libc::shmat(id, place.address(), flags) };
        if ptr as isize == -1 {
            if !place.is_fixed() && place != Place::ANY {
                return Self::of_sysv_at(id, Place::ANY);
            }
            return Err(io::Error::last_os_error());
        }
        let ptr = NonNull::new(ptr.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let mut mapping = Mapping {
            ptr,
            len: 0,
            sysv: true,
        };
        // Asked after attaching: an id can be used anew before, not any more now.
        mapping.len = sysv_len(id)?;
        Ok(mapping)
    }

    /// [`Mapping::new_sysv_at`] anywhere.
    pub fn new_sysv(len: usize) -> io::Result<(Mapping, i32)> {
        Self::new_sysv_at(len, Place::ANY)
    }

    /// A new System V segment that vanishes with the last process that has it attached. Others
    /// can attach it by its id, which is returned too.
    pub fn new_sysv_at(len: usize, place: Place) -> io::Result<(Mapping, i32)> {
        static CLEANED: Once = Once::new();
        CLEANED.call_once(sysv::remove_stale);
        let id = new_segment(len)?;
        let mapping = Mapping::of_sysv_at(id, place);
        // Linux lets others attach a segment that is marked for removal, as long as it is
        // attached at all. So nothing stays behind, however this process ends.
        // SAFETY: IPC_RMID takes no pointer.
        unsafe { libc::shmctl(id, libc::IPC_RMID, core::ptr::null_mut()) };
        Ok((mapping?, id))
    }

    pub fn as_ptr(&self) -> NonNull<u8> {
        self.ptr
    }

    /// All of it, for as long as this lives.
    pub fn memory(&self) -> UserMem {
        // SAFETY: mapped for reading and writing until this is dropped.
        unsafe { UserMem::new(self.ptr.as_ptr(), self.len) }
    }

    /// The word at a multiple of 8 bytes; one past the end is the last one.
    #[inline(always)]
    pub fn word64(&self, offset: usize) -> &AtomicU64 {
        let offset = (offset & !7).min(self.len.saturating_sub(8) & !7);
        // SAFETY: mappings are pages, so the word is aligned and inside; it is only used as an atomic.
        unsafe { AtomicU64::from_ptr(self.ptr.as_ptr().add(offset).cast()) }
    }

    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
    }
}

/// A word of a mapping, which stays mapped for it.
#[derive(Clone)]
pub struct SharedWord {
    map: Rc<Mapping>,
    offset: usize,
}

impl SharedWord {
    pub fn new(map: Rc<Mapping>, offset: usize) -> SharedWord {
        SharedWord { map, offset }
    }

    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.map.word64(self.offset).load(Ordering::Relaxed)
    }
}

fn new_segment(len: usize) -> io::Result<i32> {
    let flags = libc::IPC_CREAT | libc::IPC_EXCL | 0o600;
    let mut taken = 0;
    loop {
        // Without a key, if so many are taken.
        let key = if taken < 8 {
            sysv::key()
        } else {
            libc::IPC_PRIVATE
        };
        // SAFETY: no pointers.
        let id = unsafe { libc::shmget(key, len, flags) };
        if id >= 0 {
            return Ok(id);
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EEXIST) {
            return Err(error);
        }
        taken += 1;
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let ptr = self.ptr.as_ptr().cast();
        // SAFETY: made by shmat or mmap with this length, and not unmapped since.
        unsafe {
            if self.sysv {
                libc::shmdt(ptr);
            } else {
                libc::munmap(ptr, self.len);
            }
        }
    }
}

/// Bytes of the System V segment `id`; fails as attaching it would for lack of permission.
pub fn sysv_len(id: i32) -> io::Result<usize> {
    Ok(sysv_stat(id)?.shm_segsz)
}

/// When the System V segment `id` was made, in seconds since 1970. The kernel numbers segments
/// so that with the id this names one for good.
pub fn sysv_birth(id: i32) -> io::Result<i64> {
    Ok(sysv_stat(id)?.shm_ctime)
}

fn sysv_stat(id: i32) -> io::Result<libc::shmid_ds> {
    // SAFETY: plain data for which zero is a value.
    let mut data: libc::shmid_ds = unsafe { core::mem::zeroed() };
    // SAFETY: `data` lives for the call.
    if unsafe { libc::shmctl(id, libc::IPC_STAT, &mut data) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(data)
}

/// A file of `len` bytes in `dir` without a name: it vanishes with its last user.
pub fn unnamed_file(dir: &Path, len: usize) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .mode(0o600)
        .custom_flags(libc::O_TMPFILE)
        .open(dir);
    let file = match file {
        Err(e) if matches!(e.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR)) => {
            removed_file(dir)?
        }
        other => other?,
    };
    file.set_len(len as u64)?;
    Ok(file)
}

/// The same for file systems that know files with a name only.
fn removed_file(dir: &Path) -> io::Result<File> {
    let unique = crate::sys::event::random_u64();
    let path = dir.join(format!("ucx_shm_{unique:x}"));
    let file = named_file(&path, 0)?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// A new file of `len` bytes with a name.
pub fn named_file(path: &Path, len: usize) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.set_len(len as u64)?;
    Ok(file)
}

/// A file of `len` bytes that is in no folder at all. Nothing limits its size but all of the
/// machine's memory, so more than half of that is refused, as folders of shared memory do.
pub fn memory_file(len: usize) -> io::Result<File> {
    if len > physical_memory() / 2 {
        return Err(io::Error::from_raw_os_error(libc::ENOSPC));
    }
    // SAFETY: a constant string that ends in zero.
    let fd = unsafe { libc::memfd_create(c"ucx_shm".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a fresh descriptor that nobody else knows.
    let file = unsafe { File::from_raw_fd(fd) };
    file.set_len(len as u64)?;
    Ok(file)
}

/// The file that process `pid` has as its descriptor `fd`, for reading and writing.
pub fn file_of_process(pid: u32, fd: RawFd) -> io::Result<File> {
    // A descriptor that is no file, but a terminal or pipe, must not block or become ours.
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK)
        .open(format!("/proc/{pid}/fd/{fd}"))
}

/// Locks a file for this open file alone, until it is closed; fails when another has it.
pub fn lock(file: &File) -> io::Result<()> {
    // SAFETY: no pointers.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Gives `len` bytes of a file memory of their own, so that touching them can't fail.
pub fn allocate(file: &File, offset: usize, len: usize) -> io::Result<()> {
    // A folder without a limit would take what other processes need, and then end them.
    if len > physical_memory() {
        return Err(io::Error::from_raw_os_error(libc::ENOSPC));
    }
    loop {
        // SAFETY: no pointers.
        let error = unsafe { libc::posix_fallocate(file.as_raw_fd(), offset as i64, len as i64) };
        match error {
            0 => return Ok(()),
            libc::EINTR => {}
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// Bytes of memory that the machine has.
fn physical_memory() -> usize {
    // SAFETY: no pointers.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    usize::try_from(pages)
        .unwrap_or(0)
        .saturating_mul(super::map::PAGE)
}

/// Bytes that are free in the file system of `dir`.
pub fn free_space(dir: &Path) -> io::Result<u64> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(dir.as_os_str().as_bytes())?;
    // SAFETY: plain data for which zero is a value.
    let mut data: libc::statvfs = unsafe { core::mem::zeroed() };
    // SAFETY: both pointers live for the call.
    if unsafe { libc::statvfs(path.as_ptr(), &mut data) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(data.f_bavail.saturating_mul(data.f_frsize))
}
