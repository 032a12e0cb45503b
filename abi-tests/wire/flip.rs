//! Bits flip in the messages between two workers, in both directions, while another pair, in the
//! same process and over the same transports, exchanges messages that must all be right.

use std::cell::RefCell;
use std::ffi::c_void;
use std::rc::Rc;
use std::sync::Arc;

use ucx::sys::atomic::{AtomicOp, Operation};
use ucx::sys::usermem::UserMem;
use ucx::ucp::am::{self, Handler, HandlerKind, RecvParam};
use ucx::ucp::context::{Context, ContextParams, Features};
use ucx::ucp::dt::{RecvBuf, SendBuf};
use ucx::ucp::ep::{Endpoint, EpOptions};
use ucx::ucp::proto::amo::Target;
use ucx::ucp::request::ReqRef;
use ucx::ucp::rkey::RemoteKey;
use ucx::ucp::tag;
use ucx::ucp::worker::{Posted, ReqOptions, Worker, WorkerParams};
use ucx::ucp::{address, amo, mem, rkey, rma, stream};
use ucx::ucs::config::Config;
use ucx::ucs::status::{Result, Status};

use crate::flipping::{HITS, ONE_IN, components};
use crate::quiet;
use crate::random::Random;

const SIZES: [usize; 9] = [0, 1, 8, 100, 3000, 9000, 40_000, 200_000, 700_000];
const GUARD: usize = 64;
const GUARD_BYTE: u8 = 0xa5;

struct Side {
    worker: Rc<Worker>,
    ep: Option<Rc<Endpoint>>,
}

fn side(tls: &str, flipping: bool) -> Side {
    let mut config = Config::default();
    config.set("TLS", tls);
    config.set("RNDV_THRESH", "30000");
    let params = ContextParams {
        features: Features::TAG
            | Features::AM
            | Features::STREAM
            | Features::RMA
            | Features::AMO32
            | Features::AMO64,
        ..ContextParams::default()
    };
    let context = match flipping {
        true => Context::with_components(params, config, components()),
        false => Context::new(params, config),
    };
    let context = context.expect("transports");
    let worker = Worker::new(context, WorkerParams::default()).expect("a worker");
    Side { worker, ep: None }
}

fn connect(from: &mut Side, to: &Side) {
    let packed = to.worker.address();
    let address = address::decode(&packed).expect("an address of ours");
    let ep = from.worker.create_endpoint(&address, EpOptions::default());
    from.ep = Some(ep.expect("reachable"));
}

fn pair(tls: &str, flipping: bool) -> [Side; 2] {
    let mut pair = [side(tls, flipping), side(tls, flipping)];
    let [a, b] = &mut pair;
    connect(a, b);
    connect(b, a);
    pair
}

/// A buffer with guards, alive until its worker is gone.
struct Memory(Vec<u8>);

impl Memory {
    fn new(len: usize, fill: u8) -> Memory {
        let mut bytes = vec![GUARD_BYTE; len + 2 * GUARD];
        bytes[GUARD..GUARD + len].fill(fill);
        Memory(bytes)
    }

    fn mem(&mut self) -> UserMem {
        let len = self.0.len() - 2 * GUARD;
        // SAFETY: the vector is only read, and after the operation.
        unsafe { UserMem::new(self.0[GUARD..].as_mut_ptr(), len) }
    }

    fn guards_hold(&self) -> bool {
        let (before, rest) = self.0.split_at(GUARD);
        let behind = &rest[rest.len() - GUARD..];
        before.iter().chain(behind).all(|byte| *byte == GUARD_BYTE)
    }

    fn holds(&self, fill: u8) -> bool {
        let inside = &self.0[GUARD..self.0.len() - GUARD];
        inside.iter().all(|byte| *byte == fill)
    }
}

fn request(posted: Result<Posted>) -> Option<ReqRef> {
    match posted {
        Ok(Posted::Later(req)) => Some(req),
        _ => None,
    }
}

/// The pair whose messages are right: one at a time goes to and fro, of all sizes in turn.
struct Healthy {
    sides: [Side; 2],
    rounds: usize,
}

impl Healthy {
    fn round(&mut self, others: &dyn Fn()) {
        let size = SIZES[self.rounds % SIZES.len()];
        let fill = self.rounds as u8;
        let turn = self.rounds % 2;
        let (from, to) = (&self.sides[turn], &self.sides[1 - turn]);
        let (mut out, mut into) = (Memory::new(size, fill), Memory::new(size, !fill));
        let options = ReqOptions {
            must_have_request: true,
            ..ReqOptions::default()
        };
        let sync = self.rounds.is_multiple_of(3);
        let ep = from.ep.as_ref().expect("connected");
        let buf = RecvBuf::Contig(into.mem());
        let recv = request(tag::recv::post(&to.worker, buf, 5, u64::MAX, &options));
        let buf = SendBuf::Contig(out.mem());
        let send = request(tag::send::post(ep, buf, 5, sync, &options));
        let (recv, send) = (recv.expect("a receive"), send.expect("a send"));
        let mut spins = 0u64;
        while recv.status() == Status::INPROGRESS || send.status() == Status::INPROGRESS {
            from.worker.progress();
            to.worker.progress();
            others();
            spins += 1;
            assert!(spins < 5_000_000, "the healthy pair stands still");
        }
        assert_eq!((recv.status(), send.status()), (Status::OK, Status::OK));
        assert!(into.holds(fill) && into.guards_hold());
        recv.free(&to.worker.requests);
        send.free(&from.worker.requests);
        self.rounds += 1;
    }
}

type Kept = RefCell<Vec<*mut c_void>>;

/// Keeps what it may, most of the time.
unsafe extern "C" fn handler(
    arg: *mut c_void,
    _: *const c_void,
    _: usize,
    data: *mut c_void,
    len: usize,
    param: *const RecvParam,
) -> Status {
    // SAFETY: the argument is the list that outlives the worker; the parameters live for the call.
    let (kept, attr) = unsafe { (&*arg.cast::<Kept>(), (*param).recv_attr) };
    if attr & (3 << 16) == 0 || len.is_multiple_of(3) {
        return Status::OK;
    }
    kept.borrow_mut().push(data);
    Status::INPROGRESS
}

/// Memory of one side that the other puts to and gets from.
struct Remote {
    memory: Memory,
    address: u64,
    /// Keeps it open to the peer.
    _registered: mem::Registered,
    key: Arc<RemoteKey>,
}

/// Bytes of it: more than any operation of these tests has.
const REMOTE: usize = 1 << 20;

impl Remote {
    /// Memory of `owner`, with the key unpacked by `user`.
    fn new(owner: &Side, user: &Side) -> Remote {
        let mut memory = Memory::new(REMOTE, 0);
        let address = memory.mem().ptr() as usize;
        let region = mem::Memory::register(address, REMOTE).expect("memory");
        let registered = mem::Registered::new(owner.worker.context().clone(), region);
        let ep = user.ep.as_ref().expect("connected");
        let key = RemoteKey::unpack(ep, &rkey::pack(&registered)).expect("a key");
        Remote {
            memory,
            address: address as u64,
            _registered: registered,
            key,
        }
    }
}

/// The pair whose messages are hit.
struct Hit {
    sides: [Side; 2],
    /// What the side of the same index uses: its peer's.
    remotes: [Remote; 2],
    memory: Vec<Memory>,
    requests: Vec<ReqRef>,
    kept: Box<[Kept; 2]>,
    random: Random,
    posted: usize,
}

impl Hit {
    fn new(tls: &str, seed: u64) -> Hit {
        let sides = pair(tls, true);
        let kept = Box::<[Kept; 2]>::default();
        for (side, kept) in sides.iter().zip(kept.iter()) {
            let handler = Handler {
                kind: HandlerKind::New(handler),
                arg: std::ptr::from_ref(kept).cast_mut().cast(),
                persistent: true,
            };
            side.worker.am.set_handler(1, Some(handler));
        }
        let [a, b] = &sides;
        let remotes = [Remote::new(b, a), Remote::new(a, b)];
        Hit {
            sides,
            remotes,
            memory: Vec::new(),
            requests: Vec::new(),
            kept,
            random: Random::new(seed),
            posted: 0,
        }
    }

    fn post(&mut self) {
        let turn = self.random.below(2);
        let size = SIZES[self.random.below(SIZES.len())];
        let tag = self.random.below(4) as u64;
        let options = ReqOptions::default();
        let mut memory = Memory::new(size, 1);
        let mem = memory.mem();
        self.memory.push(memory);
        let what = self.random.below(13);
        let at = self.random.below(REMOTE - size) as u64;
        let side = &self.sides[turn];
        let Some(ep) = side.ep.as_ref() else { return };
        let remote = &self.remotes[turn];
        let (at, key) = (remote.address + at, &remote.key);
        let posted = match what {
            0 | 1 => tag::recv::post(&side.worker, RecvBuf::Contig(mem), tag, 3, &options),
            2 => tag::send::post(ep, SendBuf::Contig(mem), tag, false, &options),
            3 => tag::send::post(ep, SendBuf::Contig(mem), tag, true, &options),
            4 => {
                let flags = am::send::Flags {
                    reply: tag & 1 != 0,
                    force_eager: false,
                    force_rndv: tag & 2 != 0,
                };
                am::send::post(ep, 1, &[1, 2, 3], SendBuf::Contig(mem), flags, &options)
            }
            5 => rma::put::post(ep, SendBuf::Contig(mem), at, key, &options),
            6 => rma::get::post(ep, RecvBuf::Contig(mem), at, key, &options),
            7 | 8 => {
                let bytes = if tag & 1 == 0 { 4 } else { 8 };
                let target = Target {
                    key: key.clone(),
                    remote: at & !7,
                    size: bytes,
                    operation: Operation {
                        op: [AtomicOp::Add, AtomicOp::CompareSwap][what - 7],
                        operand: 1,
                        swap: 2,
                    },
                };
                let reply = (what == 8 || tag & 2 != 0) && size >= bytes;
                let reply = reply.then(|| mem.part(0, bytes));
                amo::post(ep, target, reply, &options)
            }
            9 => stream::send::post(ep, SendBuf::Contig(mem), &options),
            10 => stream::recv::post(ep, RecvBuf::Contig(mem), 1, tag & 1 != 0, &options),
            11 => ep.flush(&options),
            _ => {
                let data = self.kept[turn].borrow_mut().pop();
                let Some(data) = data else { return };
                // SAFETY: kept by the handler, used once.
                unsafe { am::recv::receive(&side.worker, data, RecvBuf::Contig(mem), &options) }
            }
        };
        self.posted += 1;
        self.requests.extend(request(posted));
    }

    fn progress(&self) {
        for side in &self.sides {
            side.worker.progress();
        }
    }

    /// Ends it, whatever state it is in, and looks at every guard. Returns the number of requests
    /// that had ended.
    fn end(mut self) -> usize {
        ONE_IN.set(0);
        let done = |req: &&ReqRef| req.status() != Status::INPROGRESS;
        let done = self.requests.iter().filter(done).count();
        for (side, kept) in self.sides.iter_mut().zip(self.kept.iter()) {
            for data in kept.take() {
                // SAFETY: kept by the handler, used once.
                unsafe { am::recv::release(&side.worker, data) };
            }
            side.ep = None;
        }
        for side in self.sides {
            side.worker.destroy();
        }
        assert!(self.memory.iter().all(Memory::guards_hold));
        assert!(
            self.remotes
                .iter()
                .all(|remote| remote.memory.guards_hold())
        );
        done
    }
}

fn flips(tls: &str, generations: u64, posts: usize) {
    quiet();
    let mut healthy = Healthy {
        sides: pair(tls, false),
        rounds: 0,
    };
    HITS.set(0);
    let (mut done, mut posted) = (0, 0);
    for generation in 0..generations {
        let mut hit = Hit::new(tls, generation * 7919 + 3);
        // Often in one generation, rarely in the next.
        ONE_IN.set([2, 5, 20][generation as usize % 3]);
        for _ in 0..posts {
            hit.post();
            hit.progress();
            healthy.round(&|| hit.progress());
        }
        posted += hit.posted;
        done += hit.end();
    }
    for side in healthy.sides {
        drop(side.ep);
        side.worker.destroy();
    }
    let hits = HITS.get();
    println!("{tls}: {hits} messages hit, {posted} operations, {done} requests came to an end");
    assert!(hits > posted / 10, "hardly anything was hit: {hits}");
    assert!(done > 0, "nothing got through");
}

#[test]
fn over_shared_memory() {
    flips("self,posix,sysv,cma", 40, 60);
}

#[test]
fn over_shared_memory_without_single_copy() {
    flips("self,posix", 40, 60);
}

#[test]
fn over_tcp() {
    flips("self,tcp", 40, 60);
}
