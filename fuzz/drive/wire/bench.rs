//! The worker that is tried, and what a program does with it.

use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use ucx::sys::atomic::{AtomicOp, Operation};
use ucx::sys::usermem::UserMem;
use ucx::ucp::am::{self, Handler, HandlerKind};
use ucx::ucp::context::{Context, ContextParams, Features};
use ucx::ucp::dt::{GenericDt, IovBuf, RecvBuf, SendBuf};
use ucx::ucp::ep::{Endpoint, EpOptions};
use ucx::ucp::proto::amo::Target;
use ucx::ucp::request::ReqRef;
use ucx::ucp::rkey::{self, RemoteKey};
use ucx::ucp::tag;
use ucx::ucp::worker::{Posted, ReqOptions, Worker, WorkerParams};
use ucx::ucp::{address, amo, mem, rma, stream};
use ucx::ucs::config::Config;
use ucx::ucs::status::{Error, Result, Status};
use ucx::uct::Events;

use super::MAX_LIVE;
use super::callbacks::{GENERIC, Kept, keep, look, old};
use super::input::Input;

/// Bytes before and behind each buffer that nobody may touch.
const GUARD: usize = 64;
const UNTOUCHED: u8 = 0xa5;
/// Messages of more bytes go by rendezvous.
const RNDV_FROM: usize = 600;
/// Bytes of the memory that one-sided operations may use.
const REGION: usize = 4096;

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

/// The worker, and what is going on with it.
pub struct Bench {
    pub worker: Rc<Worker>,
    ep: Option<Rc<Endpoint>>,
    kept: Box<Kept>,
    requests: Vec<ReqRef>,
    buffers: Vec<Vec<u8>>,
    generic: Box<GenericDt>,
    conn: u32,
    pub region: Option<Region>,
}

/// Memory that peers may use.
pub struct Region {
    pub address: u64,
    pub registered: mem::Registered,
    key: Arc<RemoteKey>,
}

impl Bench {
    pub fn new(shared_memory: bool) -> Bench {
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
            5 => ep.flush(&options),
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

    pub fn act(&mut self, input: &mut Input<'_>) {
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

    pub fn end(mut self) {
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
