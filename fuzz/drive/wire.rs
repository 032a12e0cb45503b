//! Any bytes, as messages, into a live worker with receives, sends, kept data and flushes around:
//! they are dropped or do what they say, and never touch memory that is not theirs.
//!
//! An input is a program: a byte that chooses the transports, then actions. Among what they
//! deliver are messages whose bytes are the input's, with the worker's id and the ids of live
//! operations put in where the input says so: these are what an input can't guess.

use std::cell::RefCell;
use std::ffi::c_void;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use ucx::sys::atomic::{AtomicOp, Operation};
use ucx::sys::usermem::UserMem;
use ucx::ucp::am::{self, Handler, HandlerKind, RecvParam};
use ucx::ucp::context::{Context, ContextParams, Features};
use ucx::ucp::dt::{GenericDt, GenericOps, IovBuf, RecvBuf, SendBuf};
use ucx::ucp::ep::{Endpoint, EpOptions};
use ucx::ucp::proto::amo::Target;
use ucx::ucp::request::ReqRef;
use ucx::ucp::rkey::{self, RemoteKey};
use ucx::ucp::tag;
use ucx::ucp::wire::{Writer, sockaddr, wireup};
use ucx::ucp::worker::{Posted, ReqOptions, Worker, WorkerParams};
use ucx::ucp::{address, amo, mem, rma, stream};
use ucx::ucs::config::Config;
use ucx::ucs::status::{Error, Result, Status};
use ucx::uct::{Events, Place};

/// Bytes before and behind each buffer that nobody may touch.
const GUARD: usize = 64;
const UNTOUCHED: u8 = 0xa5;
/// Most actions of one input, and most of what it may keep.
const MAX_ACTIONS: usize = 200;
const MAX_LIVE: usize = 64;
/// Messages of more bytes go by rendezvous.
const RNDV_FROM: usize = 600;
/// Bytes of the memory that one-sided operations may use.
const REGION: usize = 4096;

/// Reads an input.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    /// A length, short ones more often than not.
    fn len(&mut self) -> usize {
        match self.byte() {
            n @ 0..=223 => usize::from(n),
            n => (usize::from(n) - 223) * 256 + usize::from(self.byte()),
        }
    }

    fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (head, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        head
    }
}

fn context(shared_memory: bool) -> Arc<Context> {
    static CONTEXTS: OnceLock<[Arc<Context>; 2]> = OnceLock::new();
    let made = CONTEXTS.get_or_init(|| {
        ["self", "self,posix,cma"].map(|tls| {
            let mut config = Config::default();
            config.set("TLS", tls);
            config.set("RNDV_THRESH", &RNDV_FROM.to_string());
            config.set("SELF_SEG_SIZE", "512");
            let params = ContextParams {
                features: Features::TAG
                    | Features::AM
                    | Features::STREAM
                    | Features::RMA
                    | Features::AMO32
                    | Features::AMO64,
                ..ContextParams::default()
            };
            Context::new(params, config).expect("transports inside the host")
        })
    });
    made[usize::from(shared_memory)].clone()
}

/// What handlers have kept; a handler's argument.
#[derive(Default)]
struct Kept(RefCell<Vec<*mut c_void>>);

const ATTR_MAY_KEEP: u64 = 3 << 16;

unsafe extern "C" fn keep(
    arg: *mut c_void,
    _: *const c_void,
    _: usize,
    data: *mut c_void,
    _: usize,
    param: *const RecvParam,
) -> Status {
    // SAFETY: the argument is the `Kept` that outlives the worker; the parameters live for the call.
    let (kept, attr) = unsafe { (&*arg.cast::<Kept>(), (*param).recv_attr) };
    let mut kept = kept.0.borrow_mut();
    if attr & ATTR_MAY_KEEP == 0 || kept.len() >= MAX_LIVE {
        return Status::OK;
    }
    kept.push(data);
    Status::INPROGRESS
}

/// Reads all of header and data.
unsafe extern "C" fn look(
    _: *mut c_void,
    header: *const c_void,
    header_len: usize,
    data: *mut c_void,
    len: usize,
    param: *const RecvParam,
) -> Status {
    let sum = |ptr: *const c_void, len: usize| {
        // SAFETY: header and data of an eager message are readable during the call.
        (0..len).fold(0u8, |sum, i| unsafe {
            sum ^ ptr.cast::<u8>().add(i).read_volatile()
        })
    };
    std::hint::black_box(sum(header, header_len));
    // SAFETY: the parameters live for the call.
    if unsafe { (*param).recv_attr } & (1 << 17) == 0 {
        std::hint::black_box(sum(data, len.min(1 << 20)));
        return Status::OK;
    }
    if len.is_multiple_of(2) {
        Status::OK
    } else {
        Error::Rejected.into()
    }
}

unsafe extern "C" fn old(
    _: *mut c_void,
    _: *mut c_void,
    _: usize,
    _: *mut c_void,
    _: u32,
) -> Status {
    Status::OK
}

/// A generic datatype whose state is its buffer: (pointer, length), leaked into the state.
struct Flat(*mut u8, usize);

unsafe extern "C" fn start_pack(
    _: *mut c_void,
    buffer: *const c_void,
    count: usize,
) -> *mut c_void {
    Box::into_raw(Box::new(Flat(buffer.cast_mut().cast(), count))).cast()
}
unsafe extern "C" fn start_unpack(
    _: *mut c_void,
    buffer: *mut c_void,
    count: usize,
) -> *mut c_void {
    Box::into_raw(Box::new(Flat(buffer.cast(), count))).cast()
}
unsafe extern "C" fn packed_size(state: *mut c_void) -> usize {
    // SAFETY: made by a start function.
    unsafe { (*state.cast::<Flat>()).1 }
}
unsafe extern "C" fn pack(state: *mut c_void, at: usize, dst: *mut c_void, max: usize) -> usize {
    // SAFETY: as above; the library keeps to offsets inside, which is checked.
    unsafe {
        let flat = &*state.cast::<Flat>();
        assert!(at <= flat.1);
        let n = max.min(flat.1 - at);
        std::ptr::copy_nonoverlapping(flat.0.add(at), dst.cast(), n);
        n
    }
}
unsafe extern "C" fn unpack(
    state: *mut c_void,
    at: usize,
    src: *const c_void,
    len: usize,
) -> Status {
    // SAFETY: as above; what does not fit is refused.
    unsafe {
        let flat = &*state.cast::<Flat>();
        if at.checked_add(len).is_none_or(|end| end > flat.1) {
            return Error::MessageTruncated.into();
        }
        std::ptr::copy_nonoverlapping(src.cast(), flat.0.add(at), len);
        Status::OK
    }
}
unsafe extern "C" fn finish(state: *mut c_void) {
    // SAFETY: made by a start function, finished once.
    drop(unsafe { Box::from_raw(state.cast::<Flat>()) });
}

static GENERIC: GenericOps = GenericOps {
    start_pack: Some(start_pack),
    start_unpack: Some(start_unpack),
    packed_size: Some(packed_size),
    pack: Some(pack),
    unpack: Some(unpack),
    finish: Some(finish),
};

/// The worker, and what is going on with it.
struct Bench {
    worker: Rc<Worker>,
    ep: Option<Rc<Endpoint>>,
    kept: Box<Kept>,
    requests: Vec<ReqRef>,
    buffers: Vec<Vec<u8>>,
    generic: Box<GenericDt>,
    conn: u32,
    region: Option<Region>,
}

/// Memory that peers may use.
struct Region {
    address: u64,
    registered: mem::Registered,
    key: Arc<RemoteKey>,
}

impl Bench {
    fn new(shared_memory: bool) -> Bench {
        let params = WorkerParams {
            name: Some(String::new()),
            ..WorkerParams::default()
        };
        let worker = Worker::new(context(shared_memory), params).expect("a worker");
        let kept = Box::<Kept>::default();
        let arg = std::ptr::from_ref(&*kept).cast_mut().cast();
        let set = |id, kind, persistent| {
            let handler = Handler {
                kind,
                arg,
                persistent,
            };
            worker.am.set_handler(id, Some(handler));
        };
        set(0, HandlerKind::New(keep), true);
        set(1, HandlerKind::New(keep), false);
        set(2, HandlerKind::New(look), false);
        set(3, HandlerKind::Old(old), true);
        let mut bench = Bench {
            worker,
            ep: None,
            kept,
            requests: Vec::new(),
            buffers: Vec::new(),
            generic: Box::new(GenericDt {
                ops: GENERIC,
                context: std::ptr::null_mut(),
            }),
            conn: 0,
            region: None,
        };
        bench.connect();
        bench.register();
        bench
    }

    fn register(&mut self) {
        let memory = self.memory(REGION);
        let address = memory.ptr() as usize;
        let region = mem::Memory::register(address, REGION).expect("memory");
        let registered = mem::Registered::new(self.worker.context().clone(), region);
        let ep = self.ep.as_ref().expect("connected");
        let key = RemoteKey::unpack(ep, &rkey::pack(&registered)).expect("a key of ours");
        self.region = Some(Region {
            address: address as u64,
            registered,
            key,
        });
    }

    fn connect(&mut self) {
        let packed = self.worker.address();
        let address = address::decode(&packed).expect("our own address");
        self.ep = self
            .worker
            .create_endpoint(&address, EpOptions::default())
            .ok();
        self.conn += 1;
    }

    /// `len` bytes between guards, which stay until the end.
    fn memory(&mut self, len: usize) -> UserMem {
        let mut buffer = vec![UNTOUCHED; len + 2 * GUARD];
        let ptr = buffer[GUARD..].as_mut_ptr();
        self.buffers.push(buffer);
        // SAFETY: the vector is not touched again before the worker is gone.
        unsafe { UserMem::new(ptr, len) }
    }

    fn parts(mem: UserMem) -> IovBuf {
        let third = mem.len() / 3;
        let parts = [
            mem.part(0, third),
            mem.part(third, 1),
            mem.part(third + 1, usize::MAX),
        ];
        IovBuf::new(parts.into_iter()).expect("a short vector")
    }

    fn send_buf(&mut self, len: usize, kind: u8) -> SendBuf {
        let mem = self.memory(len);
        match kind % 3 {
            0 => SendBuf::Contig(mem),
            1 => SendBuf::Iov(Self::parts(mem)),
            _ => SendBuf::Generic(
                self.generic
                    .start_pack(mem.ptr().cast(), len)
                    .expect("pack"),
            ),
        }
    }

    fn recv_buf(&mut self, len: usize, kind: u8) -> RecvBuf {
        let mem = self.memory(len);
        match kind % 3 {
            0 => RecvBuf::Contig(mem),
            1 => RecvBuf::Iov(Self::parts(mem)),
            _ => RecvBuf::Generic(
                self.generic
                    .start_unpack(mem.ptr().cast(), len)
                    .expect("unpack"),
            ),
        }
    }

    fn note(&mut self, posted: Result<Posted>) {
        if let Ok(Posted::Later(req)) = posted {
            self.requests.push(req);
        }
    }

    fn post(&mut self, input: &mut Input<'_>) {
        if self.requests.len() >= MAX_LIVE || self.buffers.len() >= 2 * MAX_LIVE {
            return;
        }
        let (what, kind, tag, len) = (input.byte(), input.byte(), input.byte(), input.len());
        let options = ReqOptions::default();
        let tag = u64::from(tag);
        if what % 8 < 3 {
            let buf = self.recv_buf(len, kind);
            let mask = if what & 0x40 != 0 { 3 } else { u64::MAX };
            let posted = tag::recv::post(&self.worker, buf, tag, mask, &options);
            return self.note(posted);
        }
        let Some(ep) = self.ep.clone() else { return };
        let buf = self.send_buf(len, kind);
        let posted = match what % 8 {
            3 => tag::send::post(&ep, buf, tag, false, &options),
            4 => tag::send::post(&ep, buf, tag, true, &options),
            5 => ep.flush(&options, false),
            6 => self.worker.flush(&options),
            _ => {
                let flags = am::send::Flags {
                    reply: what & 0x10 != 0,
                    force_eager: what & 0x20 != 0,
                    force_rndv: what & 0x40 != 0,
                };
                let header = &[1, 2, 3, 4, 5][..usize::from(what >> 5).min(5)];
                am::send::post(&ep, tag as u16 % 6, header, buf, flags, &options)
            }
        };
        self.note(posted);
    }

    /// Posts something that is one-sided, or part of a stream.
    fn post_other(&mut self, input: &mut Input<'_>) {
        if self.requests.len() >= MAX_LIVE || self.buffers.len() >= 2 * MAX_LIVE {
            return;
        }
        let (what, kind, at, len) = (input.byte(), input.byte(), input.byte(), input.len());
        let (Some(ep), Some(region)) = (self.ep.clone(), &self.region) else {
            return;
        };
        let (remote, key) = (region.address + u64::from(at) * 8, region.key.clone());
        let options = ReqOptions::default();
        let posted = match what % 6 {
            0 => rma::put::post(&ep, self.send_buf(len, kind), remote, &key, &options),
            1 => rma::get::post(&ep, self.recv_buf(len, kind), remote, &key, &options),
            2 => stream::send::post(&ep, self.send_buf(len, kind), &options),
            3 => {
                let (buf, all) = (self.recv_buf(len, kind), what & 0x40 != 0);
                stream::recv::post(&ep, buf, usize::from(at % 8) + 1, all, &options)
            }
            4 => {
                if let Ok(Some((data, _))) = stream::recv::take_data(&ep) {
                    // SAFETY: taken just now.
                    unsafe { stream::recv::release(data) };
                }
                return;
            }
            _ => {
                let size = if kind & 1 == 0 { 4 } else { 8 };
                let reply = (kind & 2 != 0).then(|| self.memory(size));
                let operation = Operation {
                    op: AtomicOp::ALL[usize::from(at) % 6],
                    operand: len as u64,
                    swap: 1,
                };
                let target = Target {
                    key,
                    remote,
                    size,
                    operation,
                };
                amo::post(&ep, target, reply, &options)
            }
        };
        self.note(posted);
    }

    /// What clients say to a listener, as it is read there.
    fn hello(&self, input: &mut Input<'_>) {
        let bytes = self.message(input);
        let _ = sockaddr::decode_reject(&bytes);
        if let Some((_, packed)) = sockaddr::Hello::decode(&bytes) {
            let _ = address::decode(packed);
        }
    }

    /// Bytes of the input, with what it can't know put in.
    fn message(&self, input: &mut Input<'_>) -> Vec<u8> {
        let patches: Vec<(usize, u8)> = (0..input.byte() % 5)
            .map(|_| (usize::from(input.byte()), input.byte()))
            .collect();
        let len = input.len();
        let mut bytes = input.bytes(len).to_vec();
        for (at, what) in patches {
            let region = self.region.as_ref();
            let value = match what {
                0..=95 => self.worker.uid(),
                96..=103 => region.map_or(0, |region| region.registered.id()),
                104..=127 => region.map_or(0, |region| region.address + u64::from(what - 104) * 8),
                index => 1 << 32 | u64::from(index - 128),
            };
            if let Some(place) = bytes.get_mut(at..at + 8) {
                place.copy_from_slice(&value.to_ne_bytes());
            }
        }
        bytes
    }

    /// A message that comes in pieces, as a stream transport reads it.
    fn placed(&self, input: &mut Input<'_>) {
        let (id, total) = (input.byte(), input.len() * 4);
        let header = self.message(input);
        let mut at = 0;
        while at < total {
            match self.worker.place(id, &header, at, total) {
                Place::Buffer(ptr, len) => {
                    let n = len.min(total - at).min(1 + usize::from(input.byte()) * 8);
                    if n == 0 {
                        return;
                    }
                    // SAFETY: what the worker says may be written.
                    unsafe { std::ptr::write_bytes(ptr.as_ptr(), 0x11, n) };
                    at += n;
                }
                Place::Discard => return,
                Place::Copy => {
                    let mut whole = header;
                    whole.resize(whole.len() + total, 0x22);
                    return self.worker.am(id, &whole);
                }
            }
        }
        self.worker.placed(id, &header, total);
    }

    fn wireup(&self, input: &mut Input<'_>) {
        let header = wireup::Wireup {
            kind: match input.byte() % 4 {
                0 => wireup::Kind::Closed,
                _ => wireup::Kind::Request,
            },
            origin: ucx::ucp::wire::Origin {
                worker: self.worker.uid(),
                conn: u32::from(input.byte() % 8),
            },
            to: self.worker.uid(),
        };
        let mut bytes = vec![0; wireup::Wireup::LEN];
        header.encode(&mut Writer::new(&mut bytes));
        bytes.extend_from_slice(&self.worker.address());
        let flip = input.len();
        if let Some(byte) = bytes.get_mut(flip) {
            *byte ^= input.byte();
        }
        self.worker.am(ucx::ucp::wire::am::WIREUP, &bytes);
    }

    fn claim(&mut self, input: &mut Input<'_>) {
        let (tag, len, kind) = (u64::from(input.byte()), input.len(), input.byte());
        let Some((message, info)) = tag::recv::probe(&self.worker, tag, 3, true) else {
            return;
        };
        let len = if kind & 0x80 != 0 {
            len
        } else {
            info.length.min(1 << 16)
        };
        let buf = self.recv_buf(len, kind);
        let posted = tag::recv::post_claimed(&self.worker, buf, message, &ReqOptions::default());
        self.note(posted);
    }

    fn let_go(&mut self, input: &mut Input<'_>) {
        let (which, how, len) = (input.byte(), input.byte(), input.len());
        let data = {
            let mut kept = self.kept.0.borrow_mut();
            if kept.is_empty() {
                return;
            }
            let index = usize::from(which) % kept.len();
            kept.swap_remove(index)
        };
        if how % 4 == 0 {
            // SAFETY: kept by a handler, and used once.
            unsafe { am::recv::release(&self.worker, data) };
            return;
        }
        let buf = self.recv_buf(len, how);
        // SAFETY: as above.
        let posted = unsafe { am::recv::receive(&self.worker, data, buf, &ReqOptions::default()) };
        self.note(posted);
    }

    fn request(&mut self, input: &mut Input<'_>) {
        let (which, how) = (input.byte(), input.byte());
        if self.requests.is_empty() {
            return;
        }
        let index = usize::from(which) % self.requests.len();
        let req = self.requests[index];
        if how % 2 == 0 && req.status() == Status::INPROGRESS {
            return tag::recv::cancel(&self.worker, req);
        }
        self.requests.swap_remove(index);
        req.free(&self.worker.requests);
    }

    fn act(&mut self, input: &mut Input<'_>) {
        match input.byte() {
            0..=47 => self.post(input),
            48..=71 => {
                self.worker.progress();
            }
            72..=79 => self.claim(input),
            80..=95 => self.let_go(input),
            96..=111 => self.request(input),
            112..=119 => self.wireup(input),
            120..=123 => {
                if let Some(ep) = self.ep.take() {
                    let force = input.byte().is_multiple_of(2);
                    let posted = ep.close(&ReqOptions::default(), force);
                    self.note(posted);
                }
            }
            124..=126 => {
                if self.conn < 8 {
                    self.connect();
                }
            }
            127 => {
                let token = u64::from(input.byte() % 4);
                self.worker.ep_failed(token, Error::ConnectionReset);
            }
            128..=147 => self.placed(input),
            148..=157 => self.post_other(input),
            158..=159 => self.hello(input),
            _ => {
                let id = input.byte();
                let bytes = self.message(input);
                self.worker.am(id, &bytes);
            }
        }
    }

    fn end(mut self) {
        for _ in 0..8 {
            self.worker.progress();
        }
        for data in self.kept.0.take() {
            // SAFETY: kept by a handler, and used once.
            unsafe { am::recv::release(&self.worker, data) };
        }
        self.ep = None;
        self.region = None;
        self.worker.destroy();
        for buffer in &self.buffers {
            let (before, rest) = buffer.split_at(GUARD);
            let behind = &rest[rest.len() - GUARD..];
            let untouched = |guard: &[u8]| guard.iter().all(|byte| *byte == UNTOUCHED);
            assert!(
                untouched(before) && untouched(behind),
                "wrote outside of a buffer"
            );
        }
    }
}

/// Runs one input.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let mut bench = Bench::new(input.byte() % 16 == 15);
    for _ in 0..MAX_ACTIONS {
        if input.0.is_empty() {
            break;
        }
        bench.act(&mut input);
    }
    bench.end();
}

/// Messages by hand, from which mutations start: one of each type, around what they are for.
pub fn seeds() -> Vec<Vec<u8>> {
    use ucx::ucp::wire::am as id;
    // Posts: what, kind, tag, length.
    let recv = |kind: u8, tag: u8, len: u8| vec![0, 0, kind, tag, len];
    let send = |what: u8, kind: u8, tag: u8, len: &[u8]| {
        let mut bytes = vec![0, what, kind, tag];
        bytes.extend_from_slice(len);
        bytes
    };
    let message = |id: u8, patches: &[(u8, u8)], body: &[u8]| {
        let mut bytes = vec![200, id, patches.len() as u8];
        for (at, what) in patches {
            bytes.extend_from_slice(&[*at, *what]);
        }
        bytes.push(body.len() as u8);
        bytes.extend_from_slice(body);
        bytes
    };
    let long = [230, 0];
    let progress = vec![50];
    let u64s =
        |values: &[u64]| -> Vec<u8> { values.iter().flat_map(|v| v.to_ne_bytes()).collect() };
    // An identity at the end of a header: worker (patched), connection, sequence.
    let identity = |mut body: Vec<u8>, seq: u64| {
        body.extend_from_slice(&u64s(&[0]));
        body.extend_from_slice(&0u32.to_ne_bytes());
        body.extend_from_slice(&u64s(&[seq]));
        body
    };
    let with = |mut body: Vec<u8>, payload: &[u8]| {
        body.extend_from_slice(payload);
        body
    };
    let rts = |tag: u64, total: u64, op: u64| {
        let mut body = u64s(&[tag, total, op, 0]);
        body.extend_from_slice(&0u32.to_ne_bytes());
        identity(body, 9)
    };
    let first = |tag: u64, total: u64| identity(u64s(&[tag, total, 0]), 5);
    let middle = |offset: u64| identity(u64s(&[offset]), 5);
    let data = |op: u64, offset: u64| with(u64s(&[op, offset]), &0u32.to_ne_bytes());
    let rtr = |op: u64, to: u64, offset: u64| with(u64s(&[op, to, offset]), &0u32.to_ne_bytes());
    let am_head = |id: u64, header: u64, reply: u64| id | reply << 16 | header << 32;
    let other = |what: u8, kind: u8, at: u8, len: &[u8]| with(vec![148, what, kind, at], len);
    // An identity at the beginning.
    let identity_first = |rest: Vec<u8>| with(identity(Vec::new(), 0), &rest);
    let get = |len: u64| identity_first(u64s(&[0, 0, 0, len, 0]));
    let hello = |conn: u32| with(conn.to_ne_bytes().to_vec(), &[0; 8]);
    let mut programs: Vec<Vec<Vec<u8>>> = vec![
        vec![
            recv(0, 7, 40),
            message(id::EAGER_ONLY, &[], &with(u64s(&[7]), b"hello")),
        ],
        vec![
            message(id::EAGER_ONLY, &[], &with(u64s(&[7]), b"early")),
            recv(1, 7, 3),
        ],
        vec![
            recv(2, 7, 100),
            message(id::EAGER_FIRST, &[(24, 0)], &with(first(7, 30), &[1; 10])),
            message(id::EAGER_MIDDLE, &[(8, 0)], &with(middle(10), &[2; 10])),
            message(id::EAGER_MIDDLE, &[(8, 0)], &with(middle(20), &[3; 10])),
        ],
        vec![
            message(id::EAGER_FIRST, &[(24, 0)], &with(first(7, 30), &[1; 10])),
            vec![72, 7, 100, 0],
            message(id::EAGER_MIDDLE, &[(8, 0)], &with(middle(10), &[2; 20])),
        ],
        vec![
            message(
                id::SYNC_ONLY,
                &[(24, 0), (16, 128)],
                &with(first(7, 4), b"sync"),
            ),
            recv(0, 7, 9),
            progress.clone(),
        ],
        vec![
            send(4, 0, 9, &[20]),
            message(id::SYNC_ACK, &[(0, 128)], &with(u64s(&[0]), &[0])),
        ],
        vec![
            recv(0, 7, 200),
            message(id::RTS, &[(36, 0), (16, 128)], &rts(7, 100, 0)),
            message(id::RNDV_DATA, &[(0, 128)], &with(data(0, 0), &[4; 60])),
            message(id::RNDV_DATA, &[(0, 128)], &with(data(0, 60), &[5; 40])),
        ],
        vec![
            recv(0, 7, 200),
            message(id::RTS, &[(36, 0), (16, 128)], &rts(7, 100, 0)),
            with(vec![130, id::RNDV_DATA, 25, 1, 0, 128, 20], &data(0, 0)),
        ],
        vec![
            send(3, 0, 9, &long),
            progress.clone(),
            message(id::RTR, &[(0, 128), (8, 129)], &rtr(0, 0, 5)),
            progress.clone(),
            message(id::ATS, &[(0, 128)], &with(u64s(&[0]), &[0])),
        ],
        vec![
            send(3, 1, 9, &long),
            recv(2, 9, 250),
            progress.clone(),
            progress.clone(),
            progress.clone(),
        ],
        vec![
            message(
                id::AM_ONLY,
                &[],
                &with(u64s(&[am_head(0, 3, 0)]), b"heddata"),
            ),
            vec![80, 0, 1, 50],
        ],
        vec![
            message(
                id::AM_ONLY,
                &[(8, 0)],
                &with(with(u64s(&[am_head(2, 3, 1), 0]), &[0; 4]), b"heddata"),
            ),
            message(id::AM_ONLY, &[], &with(u64s(&[am_head(3, 0, 0)]), b"old")),
        ],
        vec![
            message(
                id::AM_FIRST,
                &[(16, 0)],
                &with(identity(u64s(&[am_head(1, 2, 1), 30]), 5), &[1; 12]),
            ),
            message(id::AM_MIDDLE, &[(8, 0)], &with(middle(10), &[2; 20])),
            vec![80, 0, 0, 0],
        ],
        vec![
            message(
                id::AM_RTS,
                &[(36, 0), (16, 128)],
                &with(rts(am_head(1, 2, 0), 50, 0), b"hd"),
            ),
            vec![80, 0, 1, 60],
            message(id::RNDV_DATA, &[(0, 128)], &with(data(0, 0), &[4; 50])),
        ],
        vec![
            send(0x47, 0, 1, &[60]),
            progress.clone(),
            progress.clone(),
            vec![80, 0, 1, 60],
            progress.clone(),
            progress.clone(),
        ],
        vec![
            vec![112, 1, 3, 255, 0, 0],
            send(3, 0, 1, &[9]),
            vec![112, 0, 3, 255, 0, 0],
            vec![120, 1],
            vec![124],
        ],
        vec![message(
            id::STREAM,
            &[(0, 0)],
            &with(with(u64s(&[0]), &[0; 4]), b"bytes"),
        )],
        vec![
            message(
                id::PUT,
                &[(0, 96), (8, 105), (16, 0)],
                &with(with(u64s(&[0, 0, 0]), &[0; 4]), b"put"),
            ),
            other(0, 0, 1, &[40]),
            other(1, 2, 1, &long),
            progress.clone(),
        ],
        vec![
            other(1, 0, 0, &[90]),
            message(id::GET, &[(0, 0), (20, 128), (28, 96), (36, 104)], &get(60)),
            message(id::RNDV_DATA, &[(0, 128)], &with(data(0, 0), &[4; 60])),
            message(
                id::ONE_SIDED_ANSWER,
                &[(0, 128)],
                &with(u64s(&[0]), &[0xff]),
            ),
        ],
        vec![
            other(5, 3, 1, &[1]),
            message(
                id::ATOMIC,
                &[(0, 0), (20, 128), (28, 96), (36, 106)],
                &with(identity_first(u64s(&[0, 0, 0, 5, 6])), &[2, 8]),
            ),
            message(id::ATOMIC_REPLY, &[(0, 128)], &with(u64s(&[0, 7]), &[0])),
            progress.clone(),
        ],
        vec![
            other(0, 1, 2, &long),
            send(5, 0, 0, &[0]),
            message(
                id::FLUSH,
                &[(0, 128), (8, 0)],
                &with(u64s(&[0, 0]), &[0; 4]),
            ),
            message(id::ONE_SIDED_ANSWER, &[(0, 128)], &with(u64s(&[0]), &[0])),
            progress.clone(),
        ],
        vec![
            other(2, 0, 0, &long),
            other(3, 1, 0, &[200]),
            message(
                id::STREAM,
                &[(0, 0)],
                &with(with(u64s(&[0]), &[0; 4]), b"more bytes"),
            ),
            other(4, 0, 0, &[0]),
            progress.clone(),
        ],
        vec![
            with(
                vec![158],
                &message(0, &[(4, 0)], &with(hello(1 << 31), &[1; 40]))[2..],
            ),
            with(vec![158], &message(0, &[], &[0xf0])[2..]),
        ],
        vec![
            send(5, 0, 0, &[0]),
            send(6, 0, 0, &[0]),
            send(3, 0, 0, &long),
            vec![127, 1],
            progress.clone(),
        ],
    ];
    // Each, over both sets of transports.
    programs.extend(programs.clone());
    let half = programs.len() / 2;
    programs
        .into_iter()
        .enumerate()
        .map(|(i, actions)| {
            let mut bytes = vec![if i < half { 0 } else { 15 }];
            bytes.extend(actions.concat());
            bytes
        })
        .collect()
}
