//! UCP tests: setting up, connecting, the threads.
//!
//! Each thread has a worker and an endpoint to the peer's thread of the same number. What the two
//! sides agree on is done by the first thread, while the others wait.

mod functions;
mod run;

use core::ffi::c_void;
use core::mem::zeroed;
use core::ptr::null_mut;
use std::sync::Barrier;

use self::functions as c;
use super::measure::{self, Measure};
use super::params::{Flags, Params, SLEEP};
use super::rte::Rte;
use super::tests::Command;
use super::{Each, Runner, measured};
use crate::abi::prelude::*;
use crate::tools::client::check;
use crate::tools::client::log::{error, warning};
use crate::tools::client::ucp::{self, Context, Ep, Peer, Pending, Purpose, Worker};
use crate::tools::client::ucs::status_text;

/// Bytes at the end of buffers for who watches its memory.
const SIGNAL: usize = 8;

/// Memory that was allocated and registered.
struct Memory<'a> {
    context: &'a Context,
    memh: ucp_mem_h,
    at: *mut u8,
}

impl<'a> Memory<'a> {
    fn new(context: &'a Context, length: usize, nonblock: bool) -> Result<Memory<'a>, Error> {
        let mut memh = null_mut();
        // SAFETY: structures for which zero is a value, valid as their masks say.
        unsafe {
            let mut params: ucp_mem_map_params_t = zeroed();
            params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS
                | UCP_MEM_MAP_PARAM_FIELD_LENGTH
                | UCP_MEM_MAP_PARAM_FIELD_FLAGS
                | UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE;
            params.length = length;
            params.memory_type = UCS_MEMORY_TYPE_HOST;
            params.flags = UCP_MEM_MAP_ALLOCATE as u32;
            if nonblock {
                params.flags |= UCP_MEM_MAP_NONBLOCK as u32;
            }
            check(c::ucp_mem_map(context.0, &params, &mut memh))?;
            let mut attr: ucp_mem_attr_t = zeroed();
            attr.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
            let queried = check(c::ucp_mem_query(memh, &mut attr));
            let memory = Memory {
                context,
                memh,
                at: attr.address.cast(),
            };
            queried?;
            Ok(memory)
        }
    }

    /// The packed key.
    fn key(&self) -> Result<Vec<u8>, Error> {
        let (mut buffer, mut size) = (null_mut(), 0);
        // SAFETY: live handles; the buffer has `size` bytes and is released once.
        unsafe {
            check(c::ucp_rkey_pack(
                self.context.0,
                self.memh,
                &mut buffer,
                &mut size,
            ))?;
            let key = core::slice::from_raw_parts(buffer.cast::<u8>(), size).to_vec();
            c::ucp_rkey_buffer_release(buffer);
            Ok(key)
        }
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        // SAFETY: mapped, and unmapped once.
        let status = unsafe { c::ucp_mem_unmap(self.context.0, self.memh) };
        if status.is_err() {
            warning!("c::ucp_mem_unmap() failed: {}", status_text(status));
        }
    }
}

/// What a thread works with.
struct Thread {
    worker: ucp_worker_h,
    ep: ucp_ep_h,
    rkey: ucp_rkey_h,
    remote: u64,
    send: *mut u8,
    recv: *mut u8,
    send_memh: ucp_mem_h,
    recv_memh: ucp_mem_h,
}

// SAFETY: handles and addresses, each used by the thread that it is given to, and by the first one
// while the others wait.
unsafe impl Send for Thread {}
// SAFETY: as above.
unsafe impl Sync for Thread {}

/// What all threads share.
struct Team<'a> {
    rte: &'a Rte,
    params: &'a Params,
    /// Waits for all threads of this side.
    barrier: Barrier,
    threads: &'a [Thread],
    agreed: std::sync::atomic::AtomicI8,
}

impl Team<'_> {
    /// Waits for all threads of both sides, progressing everybody's worker.
    fn meet(&self, first: bool) {
        self.barrier.wait();
        if first {
            self.rte.barrier(&mut || self.progress());
        }
        self.barrier.wait();
    }

    fn progress(&self) {
        for thread in self.threads {
            // SAFETY: live workers; the threads that they belong to wait, or are this one.
            unsafe { c::ucp_worker_progress(thread.worker) };
        }
    }

    fn agree(&self, first: bool, ours: i8) -> i8 {
        use std::sync::atomic::Ordering::Relaxed;
        self.barrier.wait();
        if first {
            self.agreed.store(self.rte.agree(ours), Relaxed);
        }
        self.barrier.wait();
        self.agreed.load(Relaxed)
    }
}

/// What a context for this test is for.
fn features(params: &Params) -> Result<u64, Error> {
    let command = params.test()?.command;
    let mut features = match command {
        Command::Put | Command::Get => UCP_FEATURE_RMA,
        Command::Tag | Command::TagSync => UCP_FEATURE_TAG,
        Command::Stream => UCP_FEATURE_STREAM,
        Command::Am => UCP_FEATURE_AM,
        Command::Add | Command::Fadd | Command::Swap | Command::Cswap => match params.size() {
            4 => UCP_FEATURE_AMO32,
            8 => UCP_FEATURE_AMO64,
            _ => {
                params.complain("Atomic size should be either 32 or 64 bit");
                return Err(Error::InvalidParam);
            }
        },
    };
    if params.flags.contains(Flags::WAKEUP) || params.wait_mode == SLEEP {
        features |= UCP_FEATURE_WAKEUP;
    }
    params.check_sizes()?;
    Ok(features)
}

/// Runs a test. `each` receives results.
///
/// # Errors
/// Those of setting up, and the first one of the test.
pub fn run(rte: &Rte, params: &Params, each: Each<'_>) -> Result<(), Error> {
    let features = features(params)?;
    let purpose = Purpose {
        features,
        counts: None,
        name: "perftest",
        shared: params.threads > 1,
    };
    let context = Context::new(&purpose, None)?;
    let length = params.extent(true).saturating_mul(params.threads as usize);
    let allocate = |length: usize| {
        let nonblock = params.flags.contains(Flags::MAP_NONBLOCK);
        Memory::new(&context, length.saturating_add(SIGNAL), nonblock).inspect_err(|_| {
            warning!("ucp test failed to allocate memory");
        })
    };
    let (send, recv) = (allocate(length)?, allocate(length)?);
    let make = |_| Worker::new(&context, params.thread_mode);
    let workers: Vec<Worker> = (0..params.threads).map(make).collect::<Result<_, _>>()?;
    check_header(&workers, params)?;

    let mut threads = connect(rte, params, features, &workers, &send, &recv)?;
    let flushed = flush_all(&workers);
    let team = Team {
        rte,
        params,
        barrier: Barrier::new(params.threads as usize),
        threads: &threads,
        agreed: std::sync::atomic::AtomicI8::new(0),
    };
    let watch = rte.watch();
    let done = flushed.and_then(|()| run_threads(&team, each));
    drop(watch);
    let progress = || {
        workers.iter().for_each(|worker| {
            worker.progress();
        })
    };
    rte.barrier(&mut { progress });
    disconnect(&mut threads, progress);
    rte.barrier(&mut { progress });
    done
}

/// The header of an active message must not be longer than the library can send.
fn check_header(workers: &[Worker], params: &Params) -> Result<(), Error> {
    let Some(worker) = workers.first() else {
        return Err(Error::InvalidParam);
    };
    if params.test()?.command != Command::Am {
        return Ok(());
    }
    // SAFETY: a structure for which zero is a value; a live handle.
    let max = unsafe {
        let mut attr: ucp_worker_attr_t = zeroed();
        attr.field_mask = UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER;
        check(c::ucp_worker_query(worker.0, &mut attr))?;
        attr.max_am_header
    };
    let size = params.ucp_am_header;
    if size > max {
        error!("AM header size ({size}) is larger than max supported ({max})");
        return Err(Error::InvalidParam);
    }
    Ok(())
}

/// What is sent of each thread before its address and key: five numbers.
const INFO: usize = 40;

fn info(address: usize, key: usize, recv: *mut u8) -> [u8; INFO] {
    let total = INFO + address + key;
    let numbers = [address as u64, total as u64, 0, key as u64, recv as u64];
    let mut bytes = [0; INFO];
    for (to, number) in bytes.chunks_exact_mut(8).zip(numbers) {
        to.copy_from_slice(&number.to_ne_bytes());
    }
    bytes
}

/// A peer's thread: its address, its key, and where it receives.
struct Remote<'a> {
    address: &'a [u8],
    key: &'a [u8],
    recv: u64,
}

/// Takes the next thread off a message.
fn parse<'a>(message: &mut &'a [u8]) -> Option<Remote<'a>> {
    let number = |index: usize| -> Option<u64> {
        let bytes = message.get(index * 8..index * 8 + 8)?;
        bytes.try_into().ok().map(u64::from_ne_bytes)
    };
    let (address, total) = (number(0)? as usize, number(1)? as usize);
    let (key, recv) = (number(3)? as usize, number(4)?);
    let body = message.get(INFO..total)?;
    let remote = Remote {
        address: body.get(..address)?,
        key: body.get(address..address.checked_add(key)?)?,
        recv,
    };
    *message = message.get(total..)?;
    Some(remote)
}

/// Called when the peer has failed.
unsafe extern "C" fn peer_failed(_: *mut c_void, _: ucp_ep_h, status: ucs_status_t) {
    error!(
        "error handler called with status {} ({})",
        status.0,
        status_text(status)
    );
    std::process::exit(1);
}

/// Exchanges addresses and keys, and connects each thread.
fn connect(
    rte: &Rte,
    params: &Params,
    features: u64,
    workers: &[Worker],
    send: &Memory<'_>,
    recv: &Memory<'_>,
) -> Result<Vec<Thread>, Error> {
    let told = tell(rte, params, features, workers, recv);
    let threads = told.and_then(|()| {
        let message = rte.receive();
        let mut rest = message.as_slice();
        let mut threads = Vec::new();
        for (index, worker) in workers.iter().enumerate() {
            let remote = parse(&mut rest).ok_or(Error::InvalidParam)?;
            let offset = index * params.size();
            threads.push(thread(params, worker, &remote, (send, recv), offset)?);
        }
        Ok(threads)
    });
    let ours = threads.as_ref().map_or_else(|error| *error as i8, |_| 0);
    match rte.agree(ours) {
        0 => threads,
        theirs => {
            if let Ok(mut threads) = threads {
                disconnect(&mut threads, || {
                    workers.iter().for_each(|worker| {
                        worker.progress();
                    });
                });
            }
            Err(Error::from_code(theirs).unwrap_or(Error::IoError))
        }
    }
}

fn tell(
    rte: &Rte,
    params: &Params,
    features: u64,
    workers: &[Worker],
    recv: &Memory<'_>,
) -> Result<(), Error> {
    let remote = UCP_FEATURE_RMA | UCP_FEATURE_AMO32 | UCP_FEATURE_AMO64;
    let key = match features & remote {
        0 => Vec::new(),
        _ => recv.key()?,
    };
    let mut message = Vec::new();
    for (index, worker) in workers.iter().enumerate() {
        let address = worker.address(false)?;
        let bytes = address.bytes();
        let at = recv.at.wrapping_add(index * params.size());
        message.extend_from_slice(&info(bytes.len(), key.len(), at));
        message.extend_from_slice(bytes);
        message.extend_from_slice(&key);
    }
    rte.post(&[&message]);
    Ok(())
}

fn thread(
    params: &Params,
    worker: &Worker,
    remote: &Remote<'_>,
    (send, recv): (&Memory<'_>, &Memory<'_>),
    offset: usize,
) -> Result<Thread, Error> {
    let handler: Option<ucp::ErrorHandler> = match params.flags.contains(Flags::ERROR_HANDLING) {
        true => Some(peer_failed),
        false => None,
    };
    let peer = Peer::Address(remote.address.as_ptr().cast());
    let ep = Ep::new(worker, &peer, handler)?.0;
    let mut rkey = null_mut();
    if !remote.key.is_empty() {
        // SAFETY: a live endpoint, and a key as the peer packed it.
        check(unsafe { c::ucp_ep_rkey_unpack(ep, remote.key.as_ptr().cast(), &mut rkey) })?;
    }
    Ok(Thread {
        worker: worker.0,
        ep,
        rkey,
        remote: remote.recv,
        send: send.at.wrapping_add(offset),
        recv: recv.at.wrapping_add(offset),
        send_memh: send.memh,
        recv_memh: recv.memh,
    })
}

/// Closes all endpoints, together so that none waits for another.
fn disconnect(threads: &mut Vec<Thread>, progress: impl Fn()) {
    let close = |thread: Thread| {
        if !thread.rkey.is_null() {
            // SAFETY: unpacked, and destroyed once.
            unsafe { c::ucp_rkey_destroy(thread.rkey) };
        }
        Ep(thread.ep).close(false)
    };
    let closing: Vec<Pending> = threads.drain(..).map(close).collect();
    for pending in closing {
        if let Err(error) = pending.wait(&progress) {
            warning!("failed to close ep: {}", status_text(error.into()));
        }
    }
}

/// Waits until all are connected.
fn flush_all(workers: &[Worker]) -> Result<(), Error> {
    // SAFETY: live workers; parameters for which zero is a value.
    let flush = |worker: &Worker| unsafe {
        let param: ucp_request_param_t = zeroed();
        Pending(c::ucp_worker_flush_nbx(worker.0, &param))
    };
    let flushes: Vec<Pending> = workers.iter().map(flush).collect();
    let wait = |flush: Pending| {
        flush.wait(|| {
            workers.iter().for_each(|worker| {
                worker.progress();
            })
        })
    };
    flushes.into_iter().map(wait).fold(Ok(()), Result::and)
}

/// Runs the test in all threads.
fn run_threads(team: &Team<'_>, each: Each<'_>) -> Result<(), Error> {
    let pattern = team.params.test()?.pattern;
    let one = |index: usize| -> Result<measure::Result, Error> {
        let mut measure = Measure::new(team.params, pattern);
        let mut runner = run::Ucp::new(team, index, each)?;
        measured(&mut runner, team.params, &mut measure)?;
        let result = measure.result();
        if team.threads.len() == 1 {
            each(&result, &measure.extra, true, false);
        }
        Ok(result)
    };
    if team.threads.len() == 1 {
        return one(0).map(|_| ());
    }
    let results = std::thread::scope(|scope| {
        let start = |index| scope.spawn(move || one(index));
        let started: Vec<_> = (0..team.threads.len()).map(start).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or(Err(Error::IoError))
        };
        started.into_iter().map(join).collect::<Vec<_>>()
    });
    let results: Vec<measure::Result> = results.into_iter().collect::<Result<_, _>>()?;
    each(&measure::together(&results), "", true, true);
    Ok(())
}
