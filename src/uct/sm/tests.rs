//! The conformance suite on several settings, and what takes more than one process.

use std::cell::Cell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::ucs::status::Error;
use crate::uct::conformance::{Side, Subject, pattern, suite};
use crate::uct::{Arm, Component, Ep, EpParams, IfaceParams, Post};

suite!(posix, &crate::uct::sm::POSIX, "memory", &[]);
suite!(sysv, &crate::uct::sm::SYSV, "memory", &[]);
// Few slots, and messages that hardly fit in the data area.
suite!(
    posix_small,
    &crate::uct::sm::POSIX,
    "memory",
    &[
        ("POSIX_FIFO_SIZE", "2"),
        ("POSIX_FIFO_ELEM_SIZE", "17"),
        ("POSIX_SEG_SIZE", "100")
    ]
);
suite!(
    posix_named,
    &crate::uct::sm::POSIX,
    "memory",
    &[("POSIX_USE_PROC_LINK", "n"), ("POSIX_DIR", "/tmp")]
);

const LIMIT: Duration = Duration::from_secs(60);
/// What a sender process is to do, and through which transport.
const ROLE: &str = "UCX_RS_TEST_SM_ROLE";
/// More than there are rings for.
const SENDERS: usize = 12;
const MESSAGES: u64 = 3_000;

fn subject(component: &'static dyn Component) -> Subject {
    Subject {
        component,
        device: "memory",
        config: &[],
    }
}

fn component(name: &str) -> &'static dyn Component {
    if name == "sysv" {
        &super::SYSV
    } else {
        &super::POSIX
    }
}

fn params(wakeup: bool) -> IfaceParams {
    IfaceParams {
        worker_uid: 1,
        wakeup,
        seldom_sleeps: false,
        err_handling: true,
        remote_put: false,
        keyed_put: false,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let byte = |i| u8::from_str_radix(&text[i..i + 2], 16).expect("hex");
    (0..text.len()).step_by(2).map(byte).collect()
}

/// Starts this program again as a sender to `side`.
fn sender(component: &str, role: &str, side: &Side) -> Child {
    let (device, iface) = side.addresses();
    let mut child = Command::new(std::env::current_exe().expect("own path"))
        .args(["--exact", "uct::sm::tests::sender_process", "--nocapture"])
        .env(ROLE, format!("{component} {role}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("start a sender");
    let mut stdin = child.stdin.take().expect("stdin");
    writeln!(stdin, "{} {}", hex(&device), hex(&iface)).expect("write");
    child
}

fn send(ep: &dyn Ep, number: u64, sender: u64) {
    let len = number as usize * 61 % 9_000;
    let start = Instant::now();
    loop {
        let post = if number.is_multiple_of(2) {
            ep.am_short(sender as u8, number, &pattern(number as usize, len % 100))
        } else {
            let len = 8 + len % 8_000;
            ep.am_bcopy(sender as u8, len, &mut |to| {
                to[..8].copy_from_slice(&number.to_ne_bytes());
                to[8..].copy_from_slice(&pattern(number as usize, len - 8));
                len
            })
        };
        match post {
            Ok(Post::Done) => return,
            Ok(_) => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
        assert!(start.elapsed() < LIMIT, "no room for too long");
    }
}

/// Not a test by itself: what [`sender`] runs.
#[test]
fn sender_process() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let (component_name, role) = role.split_once(' ').expect("role");
    let (role, index) = role.split_once('=').unwrap_or((role, "0"));
    let index: u64 = index.parse().expect("index");
    let side = subject(component(component_name)).open(&params(false));
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).expect("read");
    let (device, iface) = line.trim().split_once(' ').expect("address");
    let (device_addr, iface_addr) = (&unhex(device)[..], &unhex(iface)[..]);
    side.iface
        .reachable(device_addr, iface_addr)
        .expect("reachable");
    let params = EpParams {
        device_addr,
        iface_addr,
        token: 0,
    };
    let ep = side.iface.create_ep(&params).expect("ep");
    match role {
        "all" => (0..MESSAGES).for_each(|number| send(&*ep, number, index)),
        "pause" => {
            for number in 0..MESSAGES {
                if number % 3 == 0 {
                    std::thread::sleep(Duration::from_micros(number % 200));
                }
                send(&*ep, number, index);
            }
        }
        // Leaves nothing behind by its own doing.
        "killed" => {
            (0..10).for_each(|number| send(&*ep, number, index));
            println!("sent");
            std::thread::sleep(LIMIT);
        }
        // Dies with a place taken and nothing in it.
        "half" => {
            let stop = &mut |_: &mut [u8]| {
                println!("sent");
                std::thread::sleep(LIMIT);
                0
            };
            let _ = ep.am_bcopy(index as u8, 5_000, stop);
        }
        other => panic!("no role {other}"),
    }
}

/// Counts the messages of each sender, which come in order and unharmed.
fn count_senders(side: &Side) -> Rc<[Cell<u64>; SENDERS]> {
    let counts: Rc<[Cell<u64>; SENDERS]> = Rc::default();
    let theirs = counts.clone();
    *side.seen.handler.borrow_mut() = Some(Box::new(move |id, data| {
        let count = &theirs[usize::from(id)];
        let (number, payload) = data.split_at(8);
        assert_eq!(number, count.get().to_ne_bytes(), "sender {id}");
        assert_eq!(payload, pattern(count.get() as usize, payload.len()));
        count.set(count.get() + 1);
    }));
    counts
}

fn many_senders(name: &str) {
    let side = subject(component(name)).open(&params(false));
    let counts = count_senders(&side);
    for _ in 0..2 {
        counts.iter().for_each(|count| count.set(0));
        let role = |i| format!("all={i}");
        let children: Vec<_> = (0..SENDERS)
            .map(|i| sender(name, &role(i), &side))
            .collect();
        let start = Instant::now();
        while counts.iter().any(|count| count.get() != MESSAGES) {
            if side.progress() == 0 {
                std::thread::yield_now();
            }
            let got: Vec<_> = counts.iter().map(Cell::get).collect();
            assert!(start.elapsed() < LIMIT, "it takes too long: {got:?}");
        }
        for mut child in children {
            assert!(child.wait().expect("wait").success());
        }
    }
}

#[test]
fn many_senders_posix() {
    many_senders("posix");
}

#[test]
fn many_senders_sysv() {
    many_senders("sysv");
}

/// A receiver that sleeps whenever it may misses nothing.
#[test]
fn no_wakeup_is_lost() {
    for seldom_sleeps in [false, true] {
        nothing_is_missed(&IfaceParams {
            seldom_sleeps,
            ..params(true)
        });
    }
}

fn nothing_is_missed(params: &IfaceParams) {
    let side = subject(&super::POSIX).open(params);
    let counts = count_senders(&side);
    let children: Vec<_> = (0..2)
        .map(|i| sender("posix", &format!("pause={i}"), &side))
        .collect();
    let fd = side.iface.event_fd().expect("event fd");
    let mut slept = 0;
    while counts.iter().take(2).any(|count| count.get() != MESSAGES) {
        while side.progress() != 0 {}
        if side.iface.arm(false) == Ok(Arm::Armed)
            && counts.iter().take(2).any(|count| count.get() != MESSAGES)
        {
            slept += 1;
            assert!(
                crate::sys::poll::wait_readable(fd, LIMIT),
                "asleep for good"
            );
        }
    }
    assert!(slept > 0);
    for mut child in children {
        assert!(child.wait().expect("wait").success());
    }
}

/// Killed senders lose their rings to others, what they had sent arrives, and their death shows.
#[test]
fn killed_senders() {
    let side = subject(&super::POSIX).open(&params(false));
    let counts = count_senders(&side);
    for round in 0..3 {
        counts.iter().for_each(|count| count.set(0));
        let mut children: Vec<_> = (0..9)
            .map(|i| sender("posix", &format!("killed={i}"), &side))
            .collect();
        for child in &mut children {
            let mut lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
            let sent = lines.any(|line| line.is_ok_and(|line| line.contains("sent")));
            assert!(sent, "in round {round}");
            child.kill().expect("kill");
        }
        for child in &mut children {
            child.wait().expect("wait");
        }
        let start = Instant::now();
        while counts.iter().take(9).any(|count| count.get() != 10) {
            side.progress();
            assert!(start.elapsed() < LIMIT, "messages are missing");
        }
    }
}

/// A sender that dies with a place taken in the shared ring isn't in the way of the others.
#[test]
fn killed_in_the_shared_ring() {
    for wakeup in [false, true] {
        let side = subject(&super::POSIX).open(&params(wakeup));
        let counts = count_senders(&side);
        let told = |child: &mut Child| {
            let mut lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
            assert!(lines.any(|line| line.is_ok_and(|line| line.contains("sent"))));
        };
        // One for each private ring, three that take a place and die, and one behind them.
        let roles = (0..8).map(|i| format!("killed={i}"));
        let roles = roles.chain((8..11).map(|i| format!("half={i}")));
        let mut children: Vec<_> = roles
            .chain(["killed=11".to_owned()])
            .map(|role| {
                let mut child = sender("posix", &role, &side);
                told(&mut child);
                child
            })
            .collect();
        for child in &mut children {
            child.kill().expect("kill");
            child.wait().expect("wait");
        }
        let start = Instant::now();
        while counts[11].get() != 10 {
            side.progress();
            if wakeup && side.iface.arm(false) == Ok(Arm::Armed) {
                assert_eq!(counts[11].get(), 10, "it would sleep");
            }
            assert!(start.elapsed() < LIMIT, "messages are missing");
        }
        assert_eq!(counts[..8].iter().map(Cell::get).sum::<u64>(), 80);
        assert_eq!(counts[8..11].iter().map(Cell::get).sum::<u64>(), 0);
    }
}

/// Death of the receiver: told by a check, and not mistaken for a full queue for ever.
#[test]
fn dead_receiver() {
    let (a, b) = (
        subject(&super::POSIX).open(&params(false)),
        subject(&super::POSIX),
    );
    let b = b.open(&params(false));
    let ep = a.connect(&b, 1);
    assert_eq!(ep.check(), Ok(()));
    drop(b);
    assert_eq!(ep.check(), Err(Error::ConnectionReset));
    let mut last = Ok(Post::Done);
    for _ in 0..1_000 {
        last = ep.am_short(1, 0, &[]);
    }
    assert_eq!(last, Err(Error::ConnectionReset));
}

/// Elements that no sender of ours writes are dropped, whatever they say.
#[test]
fn foreign_bytes() {
    use super::fifo::area::{Area, Facts};
    use super::fifo::layout::{Geometry, SHARED_RING};
    use super::fifo::rx::Rx;
    use crate::sys::shm::{Mapping, memory_file};

    let geometry = Geometry::new(256, 128, 8256).expect("geometry");
    let file = memory_file(geometry.segment_len()).expect("file");
    let map = |file| Mapping::of_file(file, geometry.segment_len()).expect("map");
    let area = Area::create(map(&file), Facts::new(geometry, 1, 1, 1, 1)).expect("area");
    let rx = Rx::new(&area, SHARED_RING, 128);
    let seen = crate::uct::conformance::Seen::default();
    let mut seed = 88_172_645_463_325_252u64;
    for slot in 0..1_024usize {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        // With the parity that makes it a message.
        let word = seed & !1 | u64::from(slot / 256 % 2 == 0);
        let at = geometry.ring(SHARED_RING) + slot % 256 * 128;
        std::os::unix::fs::FileExt::write_all_at(&file, &word.to_ne_bytes(), at as u64)
            .expect("write");
        assert_eq!(rx.poll(&seen, 16), 1);
    }
    assert!(rx.is_empty());
    for (id, data) in seen.messages.borrow().iter() {
        assert!(*id < 32 && data.len() <= 8256);
    }
    // A segment that lies about its sizes isn't attached.
    for word in 0..64u64 {
        std::os::unix::fs::FileExt::write_all_at(&file, &seed.to_ne_bytes(), word * 8)
            .expect("write");
        assert!(Area::attach(map(&file)).is_err());
        seed = seed.rotate_left(7);
    }
}

/// A folder that can't be used is no obstacle, since memory is there outside of it.
#[test]
fn folder_without_room() {
    let subject = Subject {
        component: &super::POSIX,
        device: "memory",
        config: &[("POSIX_DIR", "/proc")],
    };
    let pair = subject.pair();
    assert_eq!(pair.to_b.am_short(1, 5, b"x"), Ok(Post::Done));
    assert_eq!(pair.next().0, 1);
}

/// With a name it can't do without the folder: an error, and nothing left behind.
#[test]
fn named_folder_without_room() {
    let mut config = crate::ucs::config::Config::default();
    config.set("POSIX_DIR", "/proc");
    config.set("POSIX_USE_PROC_LINK", "n");
    let md = super::POSIX.open_md("posix", &config).expect("md");
    let device = md.devices().expect("devices").remove(0);
    let opened = md.open_iface(&device, &config, &params(false));
    assert_eq!(opened.err(), Some(Error::NoMemory));
}

/// Named files go with their interface, and those of killed processes with the next one.
#[test]
fn names_do_not_stay() {
    let dir = std::env::temp_dir().join(format!("ucx_rs_names_{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("folder");
    let mut config = crate::ucs::config::Config::default();
    config.set("POSIX_DIR", dir.to_str().expect("text"));
    config.set("POSIX_USE_PROC_LINK", "n");
    let md = super::POSIX.open_md("posix", &config).expect("md");
    let device = md.devices().expect("devices").remove(0);
    let stale = dir.join("ucx_shm_posix_1_00000000");
    let file = std::fs::File::create(&stale).expect("file");
    let old = std::time::SystemTime::now() - Duration::from_secs(100);
    file.set_modified(old).expect("time");
    drop(file);
    let count = || std::fs::read_dir(&dir).expect("folder").count();
    let first = md
        .open_iface(&device, &config, &params(false))
        .expect("iface");
    assert!(!stale.exists());
    assert_eq!(count(), 1);
    let second = md
        .open_iface(&device, &config, &params(false))
        .expect("iface");
    assert_eq!(count(), 2);
    drop((first, second));
    assert_eq!(count(), 0);
    std::fs::remove_dir(&dir).expect("empty folder");
}
