//! Tests that change their process or network, each in a process of its own.

use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::process::Command;

use socket2::{Domain, SockAddr, Socket, Type};

use super::*;
use crate::uct::Arm;

/// Runs one of the tests below that the suite leaves out, by `wrap` if that isn't empty.
fn run(inner: &str, wrap: &[&str]) {
    let exe = std::env::current_exe().unwrap();
    let name = format!("uct::tcp::tests::limits::{inner}");
    let mut all: Vec<&str> = wrap.to_vec();
    let own = [
        exe.to_str().unwrap(),
        "--exact",
        &name,
        "--ignored",
        "--nocapture",
    ];
    all.extend(own);
    let output = Command::new(all[0]).args(&all[1..]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn limit_files(soft: u64) {
    let limit = libc::rlimit {
        rlim_cur: soft,
        rlim_max: 4096,
    };
    // SAFETY: a valid limit.
    let rc = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    assert_eq!(rc, 0);
}

#[test]
fn no_descriptors_left() {
    run("lack_of_descriptors", &[]);
}

#[test]
#[ignore = "run by no_descriptors_left, in a process of its own"]
fn lack_of_descriptors() {
    let (a, b, late) = (Node::new(), Node::new(), Node::new());
    let (ab, ba) = (a.connect(&b, 1), b.connect(&a, 2));
    settle(&[&a, &b]);
    let clients: Vec<Socket> = (0..5)
        .map(|_| Socket::new(Domain::IPV4, Type::STREAM, None).unwrap())
        .collect();
    // Descriptors are given out from below.
    let next = std::fs::File::open("/proc/self/fd").unwrap().as_raw_fd();
    limit_files(next as u64);
    let to = SockAddr::from(std::net::SocketAddr::from((
        Ipv4Addr::LOCALHOST,
        port(&a.iface),
    )));
    for client in &clients {
        client.connect(&to).unwrap();
    }
    settle(&[&a]);
    assert_eq!(a.live(), 1, "something was accepted");
    // No spinning: what can't be accepted doesn't wake.
    let start = Instant::now();
    let mut armed = 0;
    for _ in 0..100 {
        a.progress();
        armed += u32::from(a.iface.arm(false) == Ok(Arm::Armed));
    }
    assert!(armed > 50 || start.elapsed() > Duration::from_millis(500));
    // A new connection is one clean error, those there are go on.
    assert!(matches!(
        connect(&late.iface, &a.addr(), 7),
        Err(Error::IoError)
    ));
    for round in 0..1000 {
        assert_eq!(ab.am_short(1, round, b""), Ok(Post::Done));
        assert_eq!(ba.am_short(1, round, b""), Ok(Post::Done));
        let want = round as usize + 1;
        until(&[&a, &b], || {
            a.log.count.get() == want && b.log.count.get() == want
        });
    }
    limit_files(1024);
    until(&[&a], || a.live() == 1 + clients.len());
    let ep = late.connect(&a, 8);
    assert_eq!(ep.am_short(1, 0, b"late"), Ok(Post::Done));
    until(&[&a, &late], || a.log.count.get() == 1001);
    for node in [&a, &b, &late] {
        assert!(node.log.failed.borrow().is_empty());
    }
}

/// The rail dies in the middle of sends in place: each ends once, with an error, and its buffer is
/// not looked at again.
#[test]
fn a_buffer_is_free_after_an_error() {
    use super::peer::RawPeer;
    use std::io::Read;
    const LEN: usize = 4 << 20;
    for read_first in [0, 1, 100_000] {
        let a = Node::new();
        let mut peer = RawPeer::connect(&a, 0);
        let to = Addr {
            device: a.addr().device,
            iface: [&1u16.to_le_bytes()[..], &0xabcdu32.to_le_bytes()].concat(),
        };
        let ep = connect(&a.iface, &to, 5).unwrap();
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping, wherever the kernel likes.
        let memory = unsafe {
            let rw = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), LEN, rw, flags, -1, 0)
        };
        assert_ne!(memory, libc::MAP_FAILED);
        let piece = a.iface.attr().max_zcopy.min(100_001);
        let mut pending = Vec::new();
        for token in 0.. {
            let at = (token as usize * 4099) % (LEN - piece);
            let iov = [IoVec {
                ptr: memory.cast::<u8>().wrapping_add(at).cast_const(),
                len: piece,
            }];
            match ep.am_zcopy(1, b"head", &iov, token).unwrap() {
                Post::Done => {}
                Post::Pending => pending.push(token),
                Post::NoResource => break,
            }
        }
        assert!(!pending.is_empty());
        peer.stream
            .read_exact(&mut vec![0; read_first])
            .expect("the start of it");
        let socket = socket2::SockRef::from(&peer.stream);
        socket.set_linger(Some(Duration::ZERO)).unwrap();
        drop(peer);
        until(&[&a], || !a.log.failed.borrow().is_empty());
        settle(&[&a]);
        // SAFETY: the mapping from above; whoever looks at it from here on dies.
        assert_eq!(unsafe { libc::mprotect(memory, LEN, libc::PROT_NONE) }, 0);
        settle(&[&a]);
        assert!(ep.am_short(1, 0, b"").is_err() && ep.flush(77).is_err());
        drop(ep);
        settle(&[&a]);
        assert_eq!(a.log.failed.borrow().len(), 1);
        let mut ended: Vec<u64> = a.log.completed.borrow().iter().map(|c| c.0).collect();
        ended.sort_unstable();
        assert_eq!(ended, pending);
        // Those that the peer's kernel had taken may have ended well before.
        assert!(
            a.log
                .completed
                .borrow()
                .last()
                .is_some_and(|c| c.1.is_err())
        );
        // SAFETY: nothing uses it any more.
        unsafe { libc::munmap(memory, LEN) };
    }
}

/// Link-local addresses with their scope, and a bridge that is left out.
#[test]
fn link_local_and_bridges() {
    let possible = Command::new("unshare").args(["-n", "ip", "link"]).output();
    if !possible.is_ok_and(|output| output.status.success()) {
        eprintln!("network namespaces can't be made here: not tested");
        return;
    }
    let script = "ip link set lo up && ip link add v0 type veth peer name v1 \
                  && ip link set v0 addrgenmode none && ip link set v1 addrgenmode none \
                  && ip link set v0 up && ip link set v1 up \
                  && ip addr add fe80::10/64 dev v0 nodad && ip addr add 10.9.0.1/24 dev v1 \
                  && ip link add br0 type bridge && ip addr add 172.17.0.1/16 dev br0 \
                  && ip link set v1 master br0 && ip link set br0 up && exec \"$@\"";
    run(
        "in_a_namespace",
        &["unshare", "-n", "sh", "-c", script, "sh"],
    );
}

#[test]
#[ignore = "run by link_local_and_bridges, in a network of its own"]
fn in_a_namespace() {
    let md = |config: &Config| TcpMd {
        config: MdConfig::read(config).unwrap(),
    };
    let names = |config: &Config| -> Vec<String> {
        let devices = crate::uct::Md::devices(&md(config)).unwrap();
        devices.into_iter().map(|device| device.dev_name).collect()
    };
    let bridges = config(&[("TCP_BRIDGE_ENABLE", "y")]);
    // The bridge takes a moment to run.
    until(&[], || names(&bridges) == ["br0", "lo", "v1"]);
    assert_eq!(names(&Config::default()), ["lo", "v1"]);
    // A device that has only a link-local address is used when it is asked for.
    let named = config(&[("NET_DEVICES", "v0,v1")]);
    assert_eq!(names(&named), ["lo", "v0", "v1"]);
    let v6 = config(&[("TCP_AF_PRIO", "inet6")]);
    assert_eq!(names(&v6), ["lo", "v0"]);
    let (a, b) = (Node::on("v0", &named), Node::on("v0", &named));
    assert_eq!(
        a.shared.me.ip,
        "fe80::10".parse::<std::net::IpAddr>().unwrap()
    );
    let to = b.addr();
    a.iface.reachable(&to.device, &to.iface).unwrap();
    let (ab, ba) = (a.connect(&b, 1), b.connect(&a, 2));
    assert_eq!(ab.am_short(1, 0, b"x"), Ok(Post::Done));
    assert_eq!(ba.am_short(1, 0, b"x"), Ok(Post::Done));
    until(&[&a, &b], || {
        a.log.count.get() == 1 && b.log.count.get() == 1
    });
    // Nothing is there.
    let mut nobody = to.clone();
    let last = nobody.device.len() - 1;
    nobody.device[last] = 0x77;
    let started = connect(&a.iface, &nobody, 3);
    assert!(started.is_ok(), "the failure comes later, if it does");
    drop(started);
}
