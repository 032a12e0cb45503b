//! Sizes of System V segments, found out without an allocation.

use core::ffi::{c_int, c_void};

/// Bytes of a segment, `None` where it can't be asked.
pub fn segment_size(shmid: c_int) -> Option<usize> {
    // SAFETY: zero is a value of this plain struct, and it is writable.
    unsafe {
        let mut info: libc::shmid_ds = core::mem::zeroed();
        (libc::shmctl(shmid, libc::IPC_STAT, &mut info) == 0).then_some(info.shm_segsz)
    }
}

/// Bytes of the segment attached at an address, 0 if there is none.
pub fn attached_size(address: *const c_void) -> usize {
    let Some(found) = find(address as usize) else {
        return 0;
    };
    // For a segment, the number of the file is its identifier.
    let asked = c_int::try_from(found.inode).ok().and_then(segment_size);
    let fits = |size: &usize| size.div_ceil(4096) * 4096 == found.size;
    asked.filter(fits).unwrap_or(found.size)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Found {
    /// Bytes.
    size: usize,
    inode: u64,
}

/// The mapping that begins at `start`.
fn find(start: usize) -> Option<Found> {
    // SAFETY: a terminated string; the descriptor is closed below.
    let fd = unsafe {
        libc::open(
            c"/proc/self/maps".as_ptr(),
            libc::O_RDONLY | libc::O_CLOEXEC,
        )
    };
    if fd < 0 {
        return None;
    }
    let mut lines = Lines::new(start);
    let mut buffer = [0u8; 2048];
    let found = loop {
        // SAFETY: the buffer has the size that is passed.
        let n = unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) };
        let Some(bytes) = usize::try_from(n).ok().and_then(|n| buffer.get(..n)) else {
            break None;
        };
        if bytes.is_empty() {
            break None;
        }
        if let Some(found) = bytes.iter().find_map(|byte| lines.push(*byte)) {
            break Some(found);
        }
    };
    // SAFETY: opened above.
    unsafe { libc::close(fd) };
    found
}

/// Reads `start-end perms offset device inode path` byte by byte.
struct Lines {
    wanted: usize,
    /// Which field of the line comes: 0 start, 1 end, 2 perms, 3 offset, 4 device, 5 inode, 6 path.
    field: u8,
    start: usize,
    end: usize,
    inode: u64,
}

impl Lines {
    const fn new(wanted: usize) -> Lines {
        Lines {
            wanted,
            field: 0,
            start: 0,
            end: 0,
            inode: 0,
        }
    }

    fn push(&mut self, byte: u8) -> Option<Found> {
        let digit = char::from(byte).to_digit(16).map_or(0, |d| d as usize);
        match (byte, self.field) {
            (b'\n', _) => {
                let line = core::mem::replace(self, Lines::new(self.wanted));
                return (line.start == line.wanted && line.field >= 5).then(|| Found {
                    size: line.end.saturating_sub(line.start),
                    inode: line.inode,
                });
            }
            (b'-', 0) => self.field = 1,
            (b' ', 1..=5) => self.field += 1,
            (_, 0) => self.start = self.start.wrapping_mul(16) + digit,
            (_, 1) => self.end = self.end.wrapping_mul(16) + digit,
            (_, 5) => self.inode = self.inode.wrapping_mul(10) + digit as u64,
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let text = b"00400000-0040b000 r-xp 00001a00 0a:0b 12345   /dev/mydev\n\
            7f0000000000-7f0000003000 rw-s 00000000 00:01 98310     /SYSV00000000 (deleted)\n\
            7f0000003000-7f0000004000 rw-p 00000000 00:00 0 \n";
        let find = |wanted| {
            let mut lines = Lines::new(wanted);
            text.iter().find_map(|byte| lines.push(*byte))
        };
        let found = |size, inode| Some(Found { size, inode });
        assert_eq!(find(0x40_0000), found(0xb000, 12345));
        assert_eq!(find(0x7f00_0000_0000), found(0x3000, 98310));
        assert_eq!(find(0x7f00_0000_3000), found(0x1000, 0));
        assert_eq!(find(0x7f00_0000_1000), None);
    }

    #[test]
    fn own_segments_are_found() {
        // SAFETY: a segment of our own, removed again.
        unsafe {
            let id = libc::shmget(libc::IPC_PRIVATE, 5000, libc::IPC_CREAT | 0o600);
            assert!(id >= 0);
            let at = libc::shmat(id, core::ptr::null(), 0);
            libc::shmctl(id, libc::IPC_RMID, core::ptr::null_mut());
            assert_ne!(at, libc::MAP_FAILED);
            assert_eq!(attached_size(at), 5000);
            assert_eq!(attached_size(at.byte_add(4096)), 0);
            libc::shmdt(at);
            assert_eq!(attached_size(at), 0);
        }
    }
}
