//! Memory that processes share: files without a name, and System V segments.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::ptr::NonNull;

/// Mapped shared memory; dropping it unmaps. All bytes may change at any time.
#[derive(Debug)]
pub struct Mapping {
    ptr: NonNull<u8>,
    len: usize,
    sysv: bool,
}

impl Mapping {
    /// Maps the first `len` bytes of a file. The file may be closed afterwards.
    ///
    /// Touching bytes that the file doesn't have (any more) kills the process, so the caller
    /// checks the length; bytes that it has, but that have no memory yet, need [`allocate`].
    pub fn of_file(file: &File, len: usize) -> io::Result<Mapping> {
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no existing one.
        let ptr = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                len,
                prot,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
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
        // SAFETY: as for mmap.
        let ptr = unsafe { libc::shmat(id, core::ptr::null(), 0) };
        if ptr as isize == -1 {
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

    /// A new System V segment that vanishes with the last process that has it attached. Others
    /// can attach it by its id, which is returned too.
    pub fn new_sysv(len: usize) -> io::Result<(Mapping, i32)> {
        let flags = libc::IPC_CREAT | libc::IPC_EXCL | 0o600;
        // SAFETY: no pointers.
        let id = unsafe { libc::shmget(libc::IPC_PRIVATE, len, flags) };
        if id < 0 {
            return Err(io::Error::last_os_error());
        }
        let mapping = Mapping::of_sysv(id);
        // Linux lets others attach a segment that is marked for removal, as long as it is
        // attached at all. So nothing stays behind, however this process ends.
        // SAFETY: IPC_RMID takes no pointer.
        unsafe { libc::shmctl(id, libc::IPC_RMID, core::ptr::null_mut()) };
        Ok((mapping?, id))
    }

    pub fn as_ptr(&self) -> NonNull<u8> {
        self.ptr
    }

    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
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
    // SAFETY: plain data for which zero is a value.
    let mut data: libc::shmid_ds = unsafe { core::mem::zeroed() };
    // SAFETY: `data` lives for the call.
    if unsafe { libc::shmctl(id, libc::IPC_STAT, &mut data) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(data.shm_segsz)
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

/// A file of `len` bytes that is in no folder at all.
pub fn memory_file(len: usize) -> io::Result<File> {
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
