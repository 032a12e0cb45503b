//! System V segments that killed processes left behind.
//!
//! A segment is marked for removal as soon as its maker has attached it, after which nothing can
//! stay behind. In the moment before that it has one of our keys, by which the next process of the
//! same user finds it should its maker be killed just then.

use std::fs;

use super::event::random_u64;

/// The upper half of our keys.
const OURS: i32 = 0x5558_0000;

/// A key for a new segment; somebody may have the same.
pub fn key() -> libc::key_t {
    OURS | (random_u64() & 0xffff) as i32
}

/// A line of `/proc/sysvipc/shm`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Segment {
    key: i32,
    id: i32,
    maker: i32,
    users: u64,
}

fn parse(line: &str) -> Option<Segment> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    Some(Segment {
        key: fields.first()?.parse().ok()?,
        id: fields.get(1)?.parse().ok()?,
        maker: fields.get(4)?.parse().ok()?,
        users: fields.get(6)?.parse().ok()?,
    })
}

fn is_stale(segment: &Segment) -> bool {
    let ours = segment.key as u32 >> 16 == OURS as u32 >> 16;
    // A maker of another namespace has the number 0 here: nothing is known of it.
    ours && segment.users == 0 && segment.maker > 0 && is_dead(segment.maker)
}

fn is_dead(pid: i32) -> bool {
    // SAFETY: no pointers; signal 0 only asks.
    let asked = unsafe { libc::kill(pid, 0) };
    asked < 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}

/// Removes what killed processes of this user left. Others' segments are refused by the kernel.
pub fn remove_stale() {
    let list = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    for segment in list.lines().filter_map(parse).filter(is_stale) {
        // SAFETY: IPC_RMID takes no pointer.
        unsafe { libc::shmctl(segment.id, libc::IPC_RMID, core::ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exists(id: i32) -> bool {
        let list = fs::read_to_string("/proc/sysvipc/shm").expect("the list");
        list.lines()
            .filter_map(parse)
            .any(|segment| segment.id == id)
    }

    #[test]
    fn what_a_killed_process_left_is_removed() {
        // Other tests clean up too, once: not between what follows.
        drop(crate::sys::shm::Mapping::new_sysv(4096).expect("a segment"));
        // SAFETY: no pointers. The child only makes two segments and ends.
        let made = |key: i32| unsafe { libc::shmget(key, 4096, libc::IPC_CREAT | 0o600) };
        let ours = key();
        let theirs = 0x1357_0000 | (ours & 0xffff);
        // SAFETY: the child calls nothing but the system.
        let child = unsafe { libc::fork() };
        if child == 0 {
            made(ours);
            made(theirs);
            // SAFETY: ends without running anything of the parent's.
            unsafe { libc::_exit(0) };
        }
        assert!(child > 0);
        // SAFETY: no result is asked for.
        unsafe { libc::waitpid(child, core::ptr::null_mut(), 0) };
        let (left, other) = (made(ours), made(theirs));
        let living = made(key());
        remove_stale();
        assert!(!exists(left));
        assert!(exists(other) && exists(living));
        for id in [other, living] {
            // SAFETY: IPC_RMID takes no pointer.
            unsafe { libc::shmctl(id, libc::IPC_RMID, core::ptr::null_mut()) };
        }
    }

    #[test]
    fn lines_of_the_list() {
        let line = " 1431830784 32770   600  4096 77  78  0  1000  1000  1000  1000 0 0 0 0 0";
        let segment = parse(line).expect("a segment");
        assert_eq!((segment.id, segment.maker, segment.users), (32770, 77, 0));
        let head = "       key      shmid perms                  size  cpid  lpid nattch   uid";
        assert_eq!(parse(head), None);
        assert_eq!(parse(""), None);
    }
}
