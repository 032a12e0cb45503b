//! The workers, and what tests do with them.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::sys::usermem::UserMem;
use crate::ucp::address;
use crate::ucp::context::{Context, ContextParams, Features};
use crate::ucp::dt::{RecvBuf, SendBuf};
use crate::ucp::ep::{Endpoint, EpOptions};
use crate::ucp::mem::{Memory, Registered};
use crate::ucp::rkey::{self, RemoteKey};
use crate::ucp::rma::{get, put};
use crate::ucp::worker::{Posted, ReqOptions, Worker, WorkerParams};
use crate::ucs::config::Config;
use crate::ucs::status::{Error, Result, Status};

/// How two workers reach each other's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// One context: the memory is mapped.
    Mapped,
    /// The worker itself.
    Own,
    /// A lane, for every size.
    Lane,
    /// Messages through shared memory.
    Shm,
    /// Messages through sockets.
    Tcp,
}

pub const ALL: [Kind; 5] = [Kind::Mapped, Kind::Own, Kind::Lane, Kind::Shm, Kind::Tcp];
pub const REMOTE: [Kind; 3] = [Kind::Lane, Kind::Shm, Kind::Tcp];
pub const BY_MESSAGE: [Kind; 2] = [Kind::Shm, Kind::Tcp];

pub struct Pair {
    pub a: Rc<Worker>,
    pub b: Rc<Worker>,
    pub to_b: Rc<Endpoint>,
}

/// A region of `b`, with its key for `a`.
pub struct Region {
    pub bytes: Vec<u64>,
    pub key: Arc<RemoteKey>,
    /// Gone when the region is.
    pub registered: Option<Registered>,
}

fn context(kind: Kind) -> Arc<Context> {
    let mut config = Config::default();
    config.set(
        "TLS",
        match kind {
            Kind::Mapped | Kind::Own => "self,sysv",
            Kind::Lane => "sysv,cma",
            Kind::Shm => "posix",
            Kind::Tcp => "tcp",
        },
    );
    if kind == Kind::Lane {
        config.set("ZCOPY_THRESH", "0");
    }
    let params = ContextParams {
        features: Features::RMA | Features::AMO32 | Features::AMO64 | Features::TAG,
        ..ContextParams::default()
    };
    Context::new(params, config).expect("a context")
}

fn worker(context: &Arc<Context>) -> Rc<Worker> {
    Worker::new(context.clone(), WorkerParams::default()).expect("a worker")
}

pub fn connect(from: &Rc<Worker>, to: &Worker) -> Rc<Endpoint> {
    let bytes = to.address();
    let address = address::decode(&bytes).expect("an address");
    from.create_endpoint(&address, EpOptions::default())
        .expect("an endpoint")
}

impl Pair {
    pub fn new(kind: Kind) -> Pair {
        let first = context(kind);
        let a = worker(&first);
        let b = match kind {
            Kind::Own => a.clone(),
            Kind::Mapped => worker(&first),
            _ => worker(&context(kind)),
        };
        let to_b = connect(&a, &b);
        Pair { a, b, to_b }
    }

    /// Another worker that reaches `b` in the same way.
    pub fn another(&self, kind: Kind) -> Pair {
        let a = match kind {
            Kind::Mapped | Kind::Own => worker(self.b.context()),
            _ => worker(&context(kind)),
        };
        let to_b = connect(&a, &self.b);
        let b = self.b.clone();
        Pair { a, b, to_b }
    }

    /// `len` bytes at `b`.
    pub fn region(&self, len: usize) -> Region {
        let bytes = vec![0u64; len.div_ceil(8) + 1];
        let memory = Memory::register(bytes.as_ptr().addr(), len).expect("valid");
        let registered = Registered::new(self.b.context().clone(), memory);
        let key = self.key(&registered);
        Region {
            bytes,
            key,
            registered: Some(registered),
        }
    }

    pub fn key(&self, registered: &Registered) -> Arc<RemoteKey> {
        let packed = rkey::pack(registered);
        RemoteKey::unpack(&self.to_b, &packed).expect("a key")
    }

    pub fn progress(&self) -> usize {
        self.a.progress() + self.b.progress()
    }

    /// Progresses both until `done`.
    pub fn until(&self, mut done: impl FnMut() -> bool) {
        let end = Instant::now() + Duration::from_secs(60);
        while !done() {
            self.progress();
            assert!(Instant::now() < end, "it hangs");
        }
    }

    /// The end of an operation, with progress on both sides.
    pub fn wait(&self, posted: Result<Posted>) -> Result<()> {
        self.wait_with(posted, || {
            self.progress();
        })
    }

    pub fn wait_with(&self, posted: Result<Posted>, progress: impl Fn()) -> Result<()> {
        let req = match posted? {
            Posted::Now(result, _) => return result,
            Posted::Later(req) => req,
        };
        let end = Instant::now() + Duration::from_secs(60);
        while req.status() == Status::INPROGRESS {
            progress();
            assert!(Instant::now() < end, "it hangs");
        }
        let result = Error::from_code(req.status().0).map_or(Ok(()), Err);
        req.free(&self.a.requests);
        result
    }

    pub fn flush(&self) -> Result<()> {
        self.wait(self.to_b.flush(&ReqOptions::default()))
    }

    pub fn put(&self, data: &[u8], region: &Region, at: usize) -> Result<Posted> {
        let remote = region.address(at);
        let options = ReqOptions::default();
        put::post(&self.to_b, source(data), remote, &region.key, &options)
    }

    pub fn get(&self, data: &mut [u8], region: &Region, at: usize) -> Result<Posted> {
        let remote = region.address(at);
        let options = ReqOptions::default();
        get::post(&self.to_b, target(data), remote, &region.key, &options)
    }

    pub fn close(&self) {
        if self.to_b.is_owned() {
            let closed = self.to_b.close(&ReqOptions::default(), false);
            // One that has failed says so.
            assert_eq!(self.wait(closed), self.to_b.check_usable());
        }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.a.clone().destroy();
            self.b.clone().destroy();
        }
    }
}

impl Region {
    pub fn address(&self, at: usize) -> u64 {
        self.bytes.as_ptr().addr() as u64 + at as u64
    }

    /// What is there now.
    pub fn read(&self, at: usize, len: usize) -> Vec<u8> {
        let mut out = vec![0; len];
        // SAFETY: inside of the region's memory, which other code writes through pointers.
        let mem =
            unsafe { UserMem::new(self.bytes.as_ptr().cast_mut().cast(), self.bytes.len() * 8) };
        mem.read_at(at, &mut out);
        out
    }

    pub fn write(&self, at: usize, data: &[u8]) {
        // SAFETY: as above.
        let mem =
            unsafe { UserMem::new(self.bytes.as_ptr().cast_mut().cast(), self.bytes.len() * 8) };
        mem.write_at(at, data);
    }

    pub fn word(&self, index: usize) -> u64 {
        let bytes = self.read(index * 8, 8);
        u64::from_ne_bytes(bytes.try_into().expect("8 bytes"))
    }
}

pub fn user(data: &[u8]) -> UserMem {
    // SAFETY: the tests keep their buffers until operations on them have ended.
    unsafe { UserMem::new(data.as_ptr().cast_mut(), data.len()) }
}

pub fn source(data: &[u8]) -> SendBuf {
    SendBuf::Contig(user(data))
}

pub fn target(data: &mut [u8]) -> RecvBuf {
    // SAFETY: as above.
    RecvBuf::Contig(unsafe { UserMem::new(data.as_mut_ptr(), data.len()) })
}

pub fn pattern(len: usize, seed: usize) -> Vec<u8> {
    (0..len)
        .map(|i| (i * 7 + seed * 13 + (i >> 8)) as u8)
        .collect()
}
