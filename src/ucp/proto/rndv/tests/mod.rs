//! Every scheme over every kind of lane, ends in every stage, and lanes that fail.

mod ends;
mod rails;

use core::ffi::c_void;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::sys::usermem::UserMem;
use crate::ucp::address;
use crate::ucp::context::{Context, ContextParams, Features};
use crate::ucp::dt::{GenericDt, GenericOps, IovBuf, RecvBuf, SendBuf};
use crate::ucp::ep::{Endpoint, EpOptions, ErrorMode};
use crate::ucp::mem::{Memory, Registered};
use crate::ucp::request::ReqRef;
use crate::ucp::rma::tests::pair::{pattern, source, target};
use crate::ucp::tag;
use crate::ucp::worker::{Posted, ReqOptions, Worker, WorkerParams};
use crate::ucs::config::Config;
use crate::ucs::status::{Error, Result, Status};

const SCHEMES: [&str; 7] = [
    "auto",
    "get_zcopy",
    "put_zcopy",
    "get_ppln",
    "put_ppln",
    "am",
    "rkey_ptr",
];
const LANES: [&str; 4] = ["sysv,cma", "posix", "tcp", "self"];

struct Pair {
    a: Rc<Worker>,
    b: Rc<Worker>,
    to_b: Rc<Endpoint>,
}

fn worker(tls: &str, scheme: &str, more: &[(&str, &str)]) -> Rc<Worker> {
    let mut config = Config::default();
    config.set("TLS", tls);
    config.set("RNDV_SCHEME", scheme);
    config.set("RNDV_THRESH", "0");
    config.set("RNDV_FRAG_SIZE", "host:64K");
    for (name, value) in more {
        config.set(name, value);
    }
    let params = ContextParams {
        features: Features::TAG | Features::AM | Features::RMA,
        ..ContextParams::default()
    };
    let context = Context::new(params, config).expect("a context");
    Worker::new(context, WorkerParams::default()).expect("a worker")
}

fn connect(from: &Rc<Worker>, to: &Worker, mode: ErrorMode) -> Rc<Endpoint> {
    let bytes = to.address();
    let address = address::decode(&bytes).expect("an address");
    let options = EpOptions {
        mode,
        ..EpOptions::default()
    };
    from.create_endpoint(&address, options)
        .expect("an endpoint")
}

impl Pair {
    fn new(tls: &str, scheme: &str) -> Pair {
        Pair::with(tls, scheme, ErrorMode::None, &[])
    }

    fn with(tls: &str, scheme: &str, mode: ErrorMode, more: &[(&str, &str)]) -> Pair {
        let a = worker(tls, scheme, more);
        let b = match tls {
            "self" => a.clone(),
            _ => worker(tls, scheme, more),
        };
        let to_b = connect(&a, &b, mode);
        Pair { a, b, to_b }
    }

    fn send(&self, buf: SendBuf, tag: u64) -> Result<Posted> {
        tag::send::post(&self.to_b, buf, tag, false, &ReqOptions::default())
    }

    fn receive(&self, buf: RecvBuf, tag: u64) -> Result<Posted> {
        tag::recv::post(&self.b, buf, tag, u64::MAX, &ReqOptions::default())
    }

    fn progress(&self) {
        self.a.progress();
        self.b.progress();
    }

    fn wait(&self, posted: Result<Posted>) -> Result<()> {
        match posted? {
            Posted::Now(result, _) => result,
            Posted::Later(req) => self.wait_for(req),
        }
    }

    fn wait_for(&self, req: ReqRef) -> Result<()> {
        let end = Instant::now() + Duration::from_secs(30);
        while req.status() == Status::INPROGRESS {
            self.progress();
            assert!(Instant::now() < end, "it hangs");
        }
        Error::from_code(req.status().0).map_or(Ok(()), Err)
    }

    fn transfer(&self, len: usize, seed: usize, early: bool) -> (Result<()>, Result<()>) {
        let data = pattern(len, seed);
        let mut got = vec![0u8; len];
        let (sent, received) = if early {
            let received = self.receive(target(&mut got), seed as u64);
            (self.send(source(&data), seed as u64), received)
        } else {
            let sent = self.send(source(&data), seed as u64);
            for _ in 0..20 {
                self.progress();
            }
            (sent, self.receive(target(&mut got), seed as u64))
        };
        let ends = (self.wait(received), self.wait(sent));
        if ends.0.is_ok() {
            assert!(got == data, "{len} bytes differ");
        }
        ends
    }

    /// Ends all, and sees whether every key was let go once.
    fn end(self) {
        let Pair { a, b, to_b } = self;
        let keys = [a.keys().clone(), b.keys().clone()];
        drop(to_b);
        a.destroy();
        if !Rc::ptr_eq(&keys[0], &keys[1]) {
            b.destroy();
        }
        for keys in keys {
            assert!(keys.is_balanced(), "{keys}");
        }
    }
}

/// The keys that both sides have packed and unpacked.
fn made(pair: &Pair) -> [(u64, u64); 2] {
    [pair.a.keys().made(), pair.b.keys().made()]
}

#[test]
fn every_scheme_moves_every_length() {
    for tls in LANES {
        for scheme in SCHEMES {
            let pair = Pair::new(tls, scheme);
            for (seed, len) in [0, 1, 999, 8193, 64 << 10, 300_001, 3 << 20]
                .into_iter()
                .enumerate()
            {
                for early in [true, false] {
                    let ends = pair.transfer(len, seed, early);
                    assert_eq!(ends, (Ok(()), Ok(())), "{tls} {scheme} {len}");
                }
            }
            pair.end();
        }
    }
}

/// Which side packs keys and which unpacks them tells what happened.
#[test]
fn the_scheme_is_the_one_that_was_forced() {
    let one = |tls: &str, scheme: &str| {
        let pair = Pair::new(tls, scheme);
        assert_eq!(pair.transfer(200_000, 1, true), (Ok(()), Ok(())));
        let keys = made(&pair);
        pair.end();
        keys
    };
    // The sender packs for its RTS; a receiver that reads unpacks that.
    for (scheme, keys) in [
        ("auto", [(1, 0), (0, 1)]),
        ("get_zcopy", [(1, 0), (0, 1)]),
        ("put_zcopy", [(1, 1), (1, 0)]),
        ("am", [(1, 0), (0, 0)]),
        // Four fragments of 64 KiB.
        ("put_ppln", [(1, 4), (4, 1)]),
        ("get_ppln", [(1, 0), (0, 1)]),
        // That memory can't be mapped.
        ("rkey_ptr", [(1, 0), (0, 0)]),
    ] {
        assert_eq!(one("posix,cma", scheme), keys, "{scheme}");
    }
    for (scheme, keys) in [
        ("auto", [(1, 0), (0, 0)]),
        ("get_zcopy", [(1, 0), (0, 0)]),
        ("put_zcopy", [(1, 1), (1, 0)]),
        ("put_ppln", [(1, 4), (4, 1)]),
    ] {
        assert_eq!(one("tcp", scheme), keys, "{scheme}");
    }
}

fn shared(worker: &Worker, len: usize) -> Registered {
    let place = crate::sys::map::Place::ANY;
    let memory = Memory::allocate(worker.context(), place, len, false).expect("memory");
    assert!(memory.entry().is_some());
    Registered::new(worker.context().clone(), memory)
}

#[test]
fn memory_that_can_be_mapped_is_copied_from() {
    for tls in ["posix", "sysv,cma"] {
        let pair = Pair::new(tls, "rkey_ptr");
        let len = 1_300_000;
        let registered = shared(&pair.a, len + 5000);
        let at = registered.memory().address() as u64 + 4000;
        let mem = registered.memory().slice(at, len).expect("in it");
        let data = pattern(len, 3);
        mem.write_at(0, &data);
        let mut got = vec![0; len];
        let mut pieces = got.chunks_mut(500_000).map(|part| {
            // SAFETY: the buffer outlives the transfer.
            unsafe { UserMem::new(part.as_mut_ptr(), part.len()) }
        });
        let iov = IovBuf::new(&mut pieces).expect("fits");
        let received = pair.receive(RecvBuf::Iov(iov), 1);
        let sent = pair.send(SendBuf::Contig(mem), 1);
        assert_eq!(pair.wait(received), Ok(()));
        assert_eq!(pair.wait(sent), Ok(()));
        assert!(got == data);
        assert_eq!(made(&pair), [(1, 0), (0, 1)]);
        drop(registered);
        // Now it is memory like any other.
        assert_eq!(pair.transfer(100_000, 2, true), (Ok(()), Ok(())));
        assert_eq!(made(&pair), [(2, 0), (0, 1)]);
        pair.end();
    }
}

unsafe extern "C" fn start(_: *mut c_void, buffer: *mut c_void, count: usize) -> *mut c_void {
    Box::into_raw(Box::new((buffer, count))).cast()
}
unsafe extern "C" fn start_pack(
    context: *mut c_void,
    buffer: *const c_void,
    count: usize,
) -> *mut c_void {
    // SAFETY: forwarded.
    unsafe { start(context, buffer.cast_mut(), count) }
}
unsafe extern "C" fn size(state: *mut c_void) -> usize {
    // SAFETY: made by `start`.
    unsafe { (*state.cast::<(*mut u8, usize)>()).1 }
}
unsafe extern "C" fn pack(state: *mut c_void, at: usize, dst: *mut c_void, max: usize) -> usize {
    // SAFETY: made by `start`; the range lies in the buffer.
    unsafe {
        let (buffer, _) = *state.cast::<(*mut u8, usize)>();
        core::ptr::copy_nonoverlapping(buffer.add(at), dst.cast(), max);
    }
    max
}
unsafe extern "C" fn unpack(
    state: *mut c_void,
    at: usize,
    src: *const c_void,
    len: usize,
) -> Status {
    // SAFETY: made by `start`; the range lies in the buffer.
    unsafe {
        let (buffer, _) = *state.cast::<(*mut u8, usize)>();
        core::ptr::copy_nonoverlapping(src.cast(), buffer.add(at), len);
    }
    Status::OK
}
unsafe extern "C" fn finish(state: *mut c_void) {
    // SAFETY: made by `start`, finished once.
    drop(unsafe { Box::from_raw(state.cast::<(*mut u8, usize)>()) });
}

fn generic() -> GenericDt {
    GenericDt {
        ops: GenericOps {
            start_pack: Some(start_pack),
            start_unpack: Some(start),
            packed_size: Some(size),
            pack: Some(pack),
            unpack: Some(unpack),
            finish: Some(finish),
        },
        context: core::ptr::null_mut(),
    }
}

/// Memory in pieces and datatypes of the user's, on either side.
#[test]
fn other_datatypes() {
    let dt = generic();
    for tls in LANES {
        for scheme in SCHEMES {
            let pair = Pair::new(tls, scheme);
            for kinds in [
                (0, 1),
                (1, 0),
                (1, 1),
                (0, 2),
                (2, 0),
                (2, 2),
                (1, 2),
                (2, 1),
            ] {
                let len = 400_000;
                let data = pattern(len, 9);
                let mut got = vec![0u8; len];
                let sending = match kinds.0 {
                    0 => source(&data),
                    1 => {
                        let parts = data.chunks(70_001).map(crate::ucp::rma::tests::pair::user);
                        SendBuf::Iov(IovBuf::new(parts).expect("fits"))
                    }
                    _ => {
                        SendBuf::Generic(dt.start_pack(data.as_ptr().cast(), len).expect("starts"))
                    }
                };
                let receiving = match kinds.1 {
                    0 => target(&mut got),
                    1 => {
                        let parts = got.chunks_mut(33_333).map(|part| {
                            // SAFETY: the buffer outlives the transfer.
                            unsafe { UserMem::new(part.as_mut_ptr(), part.len()) }
                        });
                        RecvBuf::Iov(IovBuf::new(parts).expect("fits"))
                    }
                    _ => {
                        let state = dt.start_unpack(got.as_mut_ptr().cast(), len);
                        RecvBuf::Generic(state.expect("starts"))
                    }
                };
                let received = pair.receive(receiving, 5);
                let sent = pair.send(sending, 5);
                assert_eq!(pair.wait(received), Ok(()), "{tls} {scheme} {kinds:?}");
                assert_eq!(pair.wait(sent), Ok(()), "{tls} {scheme} {kinds:?}");
                assert!(got == data, "{tls} {scheme} {kinds:?}");
            }
            pair.end();
        }
    }
}

/// A receive that is too short, and one that has more room than needed.
#[test]
fn other_lengths_of_buffers() {
    for tls in LANES {
        for scheme in SCHEMES {
            let pair = Pair::new(tls, scheme);
            let data = pattern(100_000, 4);
            let mut got = vec![7u8; 150_000];
            let received = pair.receive(target(&mut got), 1);
            let sent = pair.send(source(&data), 1);
            assert_eq!(pair.wait(received), Ok(()), "{tls} {scheme}");
            assert_eq!(pair.wait(sent), Ok(()));
            assert!(got[..100_000] == data[..] && got[100_000..].iter().all(|byte| *byte == 7));
            let received = pair.receive(target(&mut got[..50]), 2);
            let sent = pair.send(source(&data), 2);
            assert_eq!(pair.wait(received), Err(Error::MessageTruncated));
            assert_eq!(pair.wait(sent), Ok(()), "{tls} {scheme}");
            pair.end();
        }
    }
}
