//! Who a process is: host, namespaces, start time; and whether another one still runs.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;

/// A process of our namespace, named for good: ids are used again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Process {
    pub pid: u32,
    /// When it started, see [`start_time`].
    pub start: u64,
}

/// Identity of the host and of the namespaces that decide what processes can share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostIds {
    /// Hash of what is drawn anew at each boot.
    pub boot: u64,
    /// Inodes of the namespaces of process ids, of System V objects and of users; 0 where the
    /// kernel doesn't say.
    pub pid_ns: u64,
    pub ipc_ns: u64,
    pub user_ns: u64,
}

/// The identities of this process, read once.
pub fn host_ids() -> &'static HostIds {
    static IDS: OnceLock<HostIds> = OnceLock::new();
    IDS.get_or_init(|| HostIds {
        boot: boot_id(),
        pid_ns: namespace("pid"),
        ipc_ns: namespace("ipc"),
        user_ns: namespace("user"),
    })
}

fn boot_id() -> u64 {
    let read = |path: &str| fs::read(path).unwrap_or_default();
    let id = read("/proc/sys/kernel/random/boot_id");
    if id.is_empty() {
        return hash(&[&read("/etc/machine-id"), &read("/proc/sys/kernel/hostname")]);
    }
    hash(&[&id])
}

fn namespace(kind: &str) -> u64 {
    fs::metadata(format!("/proc/self/ns/{kind}")).map_or(0, |data| data.ino())
}

/// FNV-1a over all parts: the same in every build of the library, unlike the standard hasher.
pub fn hash(parts: &[&[u8]]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    parts
        .iter()
        .copied()
        .flatten()
        .fold(0xcbf2_9ce4_8422_2325, step)
}

/// When process `pid` started, in clock ticks since boot: together with the id it names a process
/// for good. `None` if there is no such process, or it is dead and not yet waited for.
pub fn start_time(pid: u32) -> Option<u64> {
    start_in(&stat(pid).ok()?)
}

fn stat(pid: u32) -> std::io::Result<String> {
    fs::read_to_string(format!("/proc/{pid}/stat"))
}

fn start_in(stat: &str) -> Option<u64> {
    // The second field is a name in parentheses that may contain anything.
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// True if the process that had `pid` and started at `start` still runs. One that is hidden from
/// us (`hidepid` of /proc, with another user or a process that can't be dumped) is taken to be the
/// same as long as there is one.
pub fn is_alive(pid: u32, start: u64) -> bool {
    match stat(pid) {
        Ok(stat) => start_in(&stat) == Some(start),
        Err(_) => exists(pid),
    }
}

/// True if the process is stopped, by a signal or a debugger.
pub fn is_stopped(pid: u32) -> bool {
    let state = |stat: String| {
        Some(
            stat.get(stat.rfind(')')? + 1..)?
                .trim_start()
                .starts_with(['T', 't']),
        )
    };
    stat(pid).ok().and_then(state).unwrap_or(false)
}

/// Whether there is a process with this id, dead or alive.
pub fn exists(pid: u32) -> bool {
    let Some(pid) = libc::pid_t::try_from(pid).ok().filter(|pid| *pid > 0) else {
        return false;
    };
    // SAFETY: signal 0 is none, the call only asks.
    let sent = unsafe { libc::kill(pid, 0) } == 0;
    sent || std::io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn tells_living_from_dead() {
        let me = std::process::id();
        let start = start_time(me).expect("own start time");
        assert!(is_alive(me, start));
        assert!(!is_alive(me, start + 1));
        let mut child = Command::new("sleep")
            .arg("60")
            .stdin(Stdio::null())
            .spawn()
            .expect("sleep");
        let start = start_time(child.id()).expect("start time of a child");
        assert!(is_alive(child.id(), start));
        child.kill().expect("kill");
        // Dead from the moment that it is a zombie.
        while is_alive(child.id(), start) {
            std::thread::yield_now();
        }
        child.wait().expect("wait");
        assert!(!is_alive(child.id(), start));
    }

    #[test]
    fn ids_are_stable() {
        assert_eq!(host_ids(), host_ids());
        assert_ne!(host_ids().pid_ns, 0);
        assert_eq!(hash(&[b"a", b"b"]), hash(&[b"ab"]));
        assert_ne!(hash(&[b"a"]), hash(&[b"b"]));
    }
}
