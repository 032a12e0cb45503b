//! Latency and message rate of a transport's active messages between two pinned processes,
//! without any protocol: `uct_am [TL [CORE CORE]]`. Prints the least and the median of many short
//! runs, since on a shared machine only these say something about the code.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Instant;

use ucx::ucs::config::Config;
use ucx::uct::{Ep, EpParams, Events, Iface, IfaceParams, Post, registry};

const BATCH: u32 = 400;
const BATCHES: usize = 200;

#[derive(Default)]
struct Counter {
    count: Cell<u32>,
    bytes: Cell<usize>,
    sum: Cell<u64>,
    copy: Cell<bool>,
}

thread_local! {
    static SINK: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) };
}

impl Events for Counter {
    fn am(&self, _: u8, data: &[u8]) {
        self.count.set(self.count.get() + 1);
        self.bytes.set(self.bytes.get() + data.len());
        if self.copy.get() {
            SINK.with_borrow_mut(|sink| {
                sink.clear();
                sink.extend_from_slice(data);
            });
        }
        self.sum
            .set(self.sum.get() + data.first().map_or(0, |b| u64::from(*b)));
    }
}

fn pin(core: usize) {
    // SAFETY: plain data for which zero is a value; the set lives for the call.
    unsafe {
        let mut set: libc::cpu_set_t = core::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &set);
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let byte = |i| u8::from_str_radix(&text[i..i + 2], 16).expect("hex");
    (0..text.len()).step_by(2).map(byte).collect()
}

struct Worker {
    iface: Rc<dyn Iface>,
    counter: Counter,
}

impl Worker {
    fn open(tl: &str) -> Worker {
        let config = Config::default();
        for component in registry::components() {
            for md in component.query_mds() {
                let md = component.open_md(&md, &config).expect("md");
                for device in md.devices().expect("devices") {
                    if device.tl_name == tl {
                        let iface = md.open_iface(&device, &config, &IfaceParams::default());
                        return Worker {
                            iface: iface.expect("iface"),
                            counter: Counter::default(),
                        };
                    }
                }
            }
        }
        panic!("no transport {tl}");
    }

    fn address(&self) -> String {
        let (mut device, mut iface) = (Vec::new(), Vec::new());
        self.iface.device_address(&mut device);
        self.iface.iface_address(&mut iface);
        format!("{} {}", hex(&device), hex(&iface))
    }

    fn connect(&self, address: &str) -> Rc<dyn Ep> {
        let (device, iface) = address.trim().split_once(' ').expect("address");
        let (device_addr, iface_addr) = (&unhex(device)[..], &unhex(iface)[..]);
        let params = EpParams {
            device_addr,
            iface_addr,
            token: 0,
        };
        self.iface.create_ep(&params).expect("ep")
    }

    #[inline(never)]
    fn wait(&self, count: u32) {
        while self.counter.count.get() != count {
            self.iface.progress(&self.counter);
        }
    }

    #[inline(never)]
    fn send(&self, ep: &dyn Ep, data: &[u8], max_short: usize) {
        loop {
            let post = if data.len() <= max_short {
                ep.am_short(1, 7, data)
            } else {
                ep.am_bcopy(1, data.len(), &mut |to| {
                    to[..data.len()].copy_from_slice(data);
                    data.len()
                })
            };
            match post.expect("send") {
                Post::Done => return,
                _ => {
                    self.iface.progress(&self.counter);
                }
            }
        }
    }
}

const SIZES: [usize; 7] = [0, 8, 56, 100, 1024, 4096, 8192];

/// Nanoseconds of each batch that `run` is.
fn batches(mut run: impl FnMut()) -> Vec<f64> {
    let timed = |_| {
        let start = Instant::now();
        run();
        start.elapsed().as_nanos() as f64
    };
    (0..BATCHES).map(timed).collect()
}

/// One side of the rounds, which both processes run alike.
struct Rounds<'a> {
    worker: &'a Worker,
    ep: &'a dyn Ep,
    max_short: usize,
    /// This side begins, and reports.
    first: bool,
    /// Messages that have arrived, or that the next wait is for.
    got: Cell<u32>,
}

impl Rounds<'_> {
    fn run(&self) {
        SIZES.iter().for_each(|size| self.ping_pong(*size));
        SIZES.iter().for_each(|size| self.stream(*size));
        [512, 1024, 2048, 4096, 8192]
            .iter()
            .for_each(|size| self.fragments(*size));
        let idle = batches(|| {
            for _ in 0..BATCH {
                self.worker.iface.progress(&self.worker.counter);
            }
        });
        self.report("idle", 0, idle, 1.0 / f64::from(BATCH));
    }

    fn ping_pong(&self, size: usize) {
        let data = self.data(size);
        let times = self.there_and_back(1, || self.send(&data));
        self.report("ping-pong", size, times, 0.5 / f64::from(BATCH / 4));
    }

    /// 8 KiB in pieces of `size` bytes there, and as many back.
    fn fragments(&self, size: usize) {
        self.worker.counter.copy.set(true);
        let data = vec![1u8; 8192];
        let times = self.there_and_back((data.len() / size) as u32, || {
            data.chunks(size).for_each(|piece| self.send(piece));
        });
        self.report("fragments", size, times, 0.5 / f64::from(BATCH / 4));
    }

    /// A batch in one direction, and one message back.
    fn stream(&self, size: usize) {
        let data = self.data(size);
        let times = batches(|| {
            if self.first {
                (0..BATCH).for_each(|_| self.send(&data));
                self.receive(1);
            } else {
                self.receive(BATCH);
                self.send(&[]);
            }
        });
        self.report("stream", size, times, 1.0 / f64::from(BATCH));
    }

    /// Batches of rounds in which each side sends `n` messages by `send`.
    fn there_and_back(&self, n: u32, send: impl Fn()) -> Vec<f64> {
        batches(|| {
            for _ in 0..BATCH / 4 {
                if self.first {
                    send();
                    self.receive(n);
                } else {
                    self.receive(n);
                    send();
                }
            }
        })
    }

    /// The bytes of a message; the receiver copies those that are too many for a short one.
    fn data(&self, size: usize) -> Vec<u8> {
        let copy = size > self.max_short && std::env::var_os("UCT_AM_NO_COPY").is_none();
        self.worker.counter.copy.set(copy);
        vec![1u8; size]
    }

    fn send(&self, data: &[u8]) {
        self.worker.send(self.ep, data, self.max_short);
    }

    fn receive(&self, n: u32) {
        self.got.set(self.got.get() + n);
        self.worker.wait(self.got.get());
    }

    fn report(&self, what: &str, size: usize, mut times: Vec<f64>, unit: f64) {
        if self.first {
            times.sort_by(f64::total_cmp);
            let (least, median) = (times[0] * unit, times[times.len() / 2] * unit);
            println!("{what:10} {size:5} B  least {least:8.1}  median {median:8.1} ns");
        }
    }
}

fn rounds(worker: &Worker, ep: &dyn Ep, first: bool) {
    let side = Rounds {
        worker,
        ep,
        max_short: worker.iface.attr().max_short,
        first,
        got: Cell::new(0),
    };
    side.run();
}

/// What the machine itself needs to hand one cache line over, one way.
fn raw_line(cores: [usize; 2]) {
    #[repr(align(128))]
    struct Word(AtomicU32);
    static LINES: [Word; 2] = [Word(AtomicU32::new(0)), Word(AtomicU32::new(0))];
    let rounds = BATCHES as u32 * BATCH / 4;
    let wait = |line: usize, value: u32| {
        while LINES[line].0.load(Ordering::Acquire) != value {
            core::hint::spin_loop();
        }
    };
    let ready = Arc::new(Barrier::new(2));
    let theirs = ready.clone();
    let echo = std::thread::spawn(move || {
        pin(cores[1]);
        theirs.wait();
        for i in 1..=rounds {
            wait(0, i);
            LINES[1].0.store(i, Ordering::Release);
        }
    });
    ready.wait();
    let (mut times, mut i) = (Vec::new(), 0);
    for _ in 0..BATCHES {
        let start = Instant::now();
        for _ in 0..BATCH / 4 {
            i += 1;
            LINES[0].0.store(i, Ordering::Release);
            wait(1, i);
        }
        times.push(start.elapsed().as_nanos() as f64 * 0.5 / f64::from(BATCH / 4));
    }
    echo.join().expect("join");
    times.sort_by(f64::total_cmp);
    let (least, median) = (times[0], times[times.len() / 2]);
    println!("raw line            least {least:8.1}  median {median:8.1} ns");
}

fn line(from: &mut impl BufRead) -> String {
    let mut line = String::new();
    from.read_line(&mut line).expect("a line");
    line
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let arg = |i: usize, default: &str| args.get(i).map_or(default, |s| s.as_str()).to_owned();
    let tl = arg(1, "posix");
    let cores = [arg(2, "0"), arg(3, "1")].map(|core| core.parse::<usize>().expect("core"));
    let child = std::env::var_os("UCT_AM_CHILD").is_some();
    pin(cores[usize::from(child)]);
    let worker = Worker::open(&tl);
    if !child {
        raw_line(cores);
    }
    if child {
        println!("{}", worker.address());
        let ep = worker.connect(&line(&mut std::io::stdin().lock()));
        rounds(&worker, &*ep, false);
        return;
    }
    let mut peer: Child = Command::new(&args[0])
        .args([tl, cores[0].to_string(), cores[1].to_string()])
        .env("UCT_AM_CHILD", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("child");
    let address = line(&mut BufReader::new(peer.stdout.take().expect("stdout")));
    let ep = worker.connect(&address);
    let mut stdin = peer.stdin.take().expect("stdin");
    writeln!(stdin, "{}", worker.address()).expect("write");
    rounds(&worker, &*ep, true);
    peer.wait().expect("wait");
}
