//! UCP tests: sending and receiving.

mod given;
mod recv;
mod send;

use core::cell::Cell;
use core::ffi::c_void;
use core::mem::zeroed;
use core::ptr::{null, null_mut};

use self::given::{Buffer, Options, contig, no_options};
use super::functions as c;
use super::{Each, Runner, Team, Thread};
use crate::abi::prelude::*;
use crate::tools::client::check;
use crate::tools::client::log::error;
use crate::tools::client::ucp::Pending;
use crate::tools::perf::measure::Measure;
use crate::tools::perf::params::{Flags, SLEEP};
use crate::tools::perf::tests::{Command, Pattern};

const TAG: ucp_tag_t = 0x1337_a880;
const AM_ID: u32 = 1;
/// The last byte of a buffer that is watched: before the test, and after the last message.
const UNKNOWN: u8 = 255;
const LAST: u8 = 1;

/// One thread's part of a test. It must stay where it is: callbacks have its address.
struct State {
    worker: ucp_worker_h,
    sends: Cell<u32>,
    recvs: Cell<i64>,
    /// Where active messages are received, and parameters for that.
    am_buffer: Cell<*mut c_void>,
    am_count: Cell<usize>,
    am_length: Cell<usize>,
    am_params: ucp_request_param_t,
    am_copy: bool,
}

/// See the module.
pub struct Ucp<'a> {
    team: &'a Team<'a>,
    thread: &'a Thread,
    index: usize,
    each: Each<'a>,
    command: Command,
    size: usize,
    window: u32,
    flags: Flags,
    sleep: bool,
    tag_mask: ucp_tag_t,
    state: Box<State>,
    send_params: ucp_request_param_t,
    info_params: ucp_request_param_t,
    recv_params: ucp_request_param_t,
    /// What is passed to operations: buffers, or lists of their pieces.
    send_buffer: *mut c_void,
    send_count: usize,
    recv_buffer: *mut c_void,
    recv_count: usize,
    recv_datatype: ucp_datatype_t,
    header: Vec<u8>,
    _pieces: [Vec<ucp_dt_iov_t>; 2],
}

unsafe extern "C" fn sent(request: *mut c_void, _: ucs_status_t, state: *mut c_void) {
    // SAFETY: the state that the operation was given, which outlives it; its request ends here.
    unsafe {
        sent_noted(request, Status::OK, state);
        c::ucp_request_free(request);
    }
}

/// The request is still asked for.
unsafe extern "C" fn sent_noted(_: *mut c_void, _: ucs_status_t, state: *mut c_void) {
    // SAFETY: the state that the operation was given, which outlives it.
    let state = unsafe { &*state.cast::<State>() };
    state.sends.set(state.sends.get().wrapping_sub(1));
}

impl State {
    fn received(&self) {
        self.recvs.set(self.recvs.get() - 1);
    }
}

unsafe extern "C" fn tag_received(
    request: *mut c_void,
    _: ucs_status_t,
    _: *const ucp_tag_recv_info_t,
    state: *mut c_void,
) {
    // SAFETY: the state that the operation was given, which outlives it; its request ends here.
    unsafe {
        (*state.cast::<State>()).received();
        c::ucp_request_free(request);
    }
}

unsafe extern "C" fn am_fetched(_: *mut c_void, _: ucs_status_t, _: usize, state: *mut c_void) {
    // SAFETY: the state that the operation was given, which outlives it.
    unsafe { (*state.cast::<State>()).received() };
}

unsafe extern "C" fn am_arrived(
    state: *mut c_void,
    _: *const c_void,
    _: usize,
    data: *mut c_void,
    length: usize,
    param: *const ucp_am_recv_param_t,
) -> ucs_status_t {
    // SAFETY: the state that the handler was set with; data and parameters of the library's.
    unsafe {
        let state = &*state.cast::<State>();
        if (*param).recv_attr & u64::from(UCP_AM_RECV_ATTR_FLAG_RNDV) != 0 {
            // The request goes when the callback has been called.
            let count = state.am_count.get();
            let to = state.am_buffer.get();
            let fetch = c::ucp_am_recv_data_nbx(state.worker, data, to, count, &state.am_params);
            if let Some(request) = Pending(fetch).request() {
                c::ucp_request_release(request);
            }
            return Status::INPROGRESS;
        }
        if state.am_copy && length <= state.am_length.get() {
            core::ptr::copy_nonoverlapping(data.cast::<u8>(), state.am_buffer.get().cast(), length);
        }
        state.received();
    }
    Status::OK
}

impl<'a> Ucp<'a> {
    pub fn new(team: &'a Team<'a>, index: usize, each: Each<'a>) -> Result<Ucp<'a>, Error> {
        let (params, thread) = (team.params, &team.threads[index]);
        let test = params.test()?;
        let size = params.size();
        let atomic = test.command.is_atomic();
        let send = Buffer::new(params, params.send_iov && !atomic, atomic, thread.send);
        let recv = Buffer::new(params, params.recv_iov && !atomic, atomic, thread.recv);
        let mut state = Box::new(State {
            worker: thread.worker,
            sends: Cell::new(0),
            recvs: Cell::new(0),
            am_buffer: Cell::new(recv.at),
            am_count: Cell::new(recv.count),
            am_length: Cell::new(if params.recv_iov { 0 } else { size }),
            am_params: no_options(),
            am_copy: params.flags.contains(Flags::AM_COPY),
        });
        let options = Options {
            params,
            stream: test.pattern == Pattern::Stream,
            user_data: (&raw mut *state).cast(),
        };
        let replies = matches!(test.command, Command::Fadd | Command::Swap | Command::Cswap);
        let send_params = options.send(&send, thread, sent, replies);
        let mut info_params = options.send(&send, thread, sent_noted, replies);
        info_params.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
        let mut recv_params = options.common(recv.datatype, thread.recv_memh);
        recv_params.cb.recv = Some(tag_received);
        state.am_params = options.common(recv.datatype, thread.recv_memh);
        state.am_params.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
        state.am_params.cb.recv_am = Some(am_fetched);
        if test.command == Command::Am {
            set_handler(thread.worker, Some(am_arrived), options.user_data)?;
        }
        let any_tag = params.flags.contains(Flags::TAG_WILDCARD);
        Ok(Ucp {
            team,
            thread,
            index,
            each,
            command: test.command,
            size,
            window: params.max_outstanding,
            flags: params.flags,
            sleep: params.wait_mode == SLEEP,
            tag_mask: if any_tag { 0 } else { u64::MAX },
            state,
            send_params,
            info_params,
            recv_params,
            send_buffer: send.at,
            send_count: send.count,
            recv_buffer: recv.at,
            recv_count: recv.count,
            recv_datatype: recv.datatype,
            header: vec![0; params.ucp_am_header],
            _pieces: [send._pieces, recv._pieces],
        })
    }

    #[inline]
    fn progress(&self) {
        // SAFETY: a live worker of this thread.
        unsafe {
            if c::ucp_worker_progress(self.thread.worker) == 0 && self.sleep {
                c::ucp_worker_wait(self.thread.worker);
            }
        }
    }

    /// Progress of the side that is written to.
    #[inline]
    fn respond(&self) {
        if !self.flags.contains(Flags::ONE_SIDED) {
            self.progress();
        }
    }

    /// Waits until at most `left` sends are in flight.
    #[inline]
    fn wait_sends(&self, left: u32) {
        while self.state.sends.get() > left {
            self.progress();
        }
    }

    #[inline]
    fn wait_recvs(&self, left: i64) {
        while self.state.recvs.get() > left {
            self.respond();
        }
    }

    /// The byte by which the end of a message in memory is known.
    fn last_byte(buffer: *mut u8, size: usize) -> *mut u8 {
        buffer.wrapping_add(size.max(1) - 1)
    }

    fn write_mark(&self, buffer: *mut u8, mark: u8) {
        // SAFETY: inside the buffer, which the peer may write at the same time.
        unsafe { Self::last_byte(buffer, self.size).write_volatile(mark) };
    }

    fn read_mark(&self) -> u8 {
        // SAFETY: inside the buffer, which the peer may write at the same time.
        unsafe { Self::last_byte(self.thread.recv, self.size).read_volatile() }
    }

    fn flush(&self) -> Result<(), Error> {
        // SAFETY: a live worker, and parameters for which zero is a value.
        let flush = unsafe {
            let param: ucp_request_param_t = zeroed();
            Pending(c::ucp_worker_flush_nbx(self.thread.worker, &param))
        };
        flush.wait(|| {
            // Sleeping would wait for events that a flush doesn't need.
            // SAFETY: a live worker.
            unsafe { c::ucp_worker_progress(self.thread.worker) };
        })
    }

    fn account(&self, measure: &mut Measure) {
        if measure.done(self.size) {
            (self.each)(&measure.report(), "", false, false);
        }
    }

    fn ping_pong(&mut self, measure: &mut Measure) {
        let mut turn = 0u8;
        let (send, recv) = (self.send_count, self.recv_count);
        let mark = |turn| (self.command == Command::Put).then_some(turn);
        let first = self.team.rte.is_server();
        while !measure.is_done() {
            if first {
                self.send(send, mark(turn), None);
            }
            self.recv(recv, mark(turn));
            self.wait_recvs(0);
            if !first {
                let mut extra = String::new();
                let wanted = measure.iterations() == 0;
                self.send(send, mark(turn), wanted.then_some(&mut extra));
                if wanted {
                    measure.extra = extra;
                }
            }
            self.account(measure);
            turn = turn.wrapping_add(1);
        }
        self.wait_recvs(0);
        self.wait_sends(0);
    }

    fn stream(&mut self, measure: &mut Measure) {
        if self.flags.contains(Flags::LOOPBACK) {
            while !measure.is_done() {
                self.send(self.send_count, None, None);
                self.recv(self.recv_count, None);
                self.account(measure);
            }
            self.wait_sends(0);
            self.wait_recvs(0);
        } else if self.team.rte.is_server() {
            while !measure.is_done() {
                self.recv(self.recv_count, None);
                self.account(measure);
            }
            while self.command.is_one_sided() && self.read_mark() != LAST {
                self.respond();
            }
            self.wait_recvs(0);
            self.send(1, None, None);
            self.wait_sends(0);
        } else {
            // All that comes back is one element.
            self.state.am_count.set(1);
            self.state.am_length.set(1);
            while !measure.is_done() {
                let mut extra = String::new();
                let wanted = measure.iterations() == 0;
                self.send(self.send_count, None, wanted.then_some(&mut extra));
                if wanted {
                    measure.extra = extra;
                }
                self.account(measure);
            }
            self.send_last();
            self.recv(1, None);
            self.wait_recvs(0);
        }
    }
}

impl Runner for Ucp<'_> {
    fn run(&mut self, measure: &mut Measure) -> Result<(), Error> {
        let pattern = self.team.params.test()?.pattern;
        if self.command.is_one_sided() {
            let mark = if pattern == Pattern::PingPong {
                UNKNOWN
            } else {
                0
            };
            self.write_mark(self.thread.send, mark);
            self.write_mark(self.thread.recv, mark);
        }
        self.barrier();
        measure.start();
        self.team.barrier.wait();
        match pattern {
            Pattern::PingPong => self.ping_pong(measure),
            Pattern::Stream => self.stream(measure),
        }
        self.flush()?;
        self.team.barrier.wait();
        measure.stop();
        self.barrier();
        Ok(())
    }

    fn barrier(&mut self) {
        self.team.meet(self.index == 0);
    }

    fn agree(&mut self, ours: i8) -> i8 {
        self.team.agree(self.index == 0, ours)
    }
}

impl Drop for Ucp<'_> {
    fn drop(&mut self) {
        if self.command == Command::Am {
            // Late messages are not for a state that is gone.
            let _ = set_handler(self.thread.worker, None, null_mut());
        }
    }
}

fn set_handler(
    worker: ucp_worker_h,
    cb: ucp_am_recv_callback_t,
    arg: *mut c_void,
) -> Result<(), Error> {
    // SAFETY: a live worker; parameters valid as their mask says.
    unsafe {
        let mut param: ucp_am_handler_param_t = zeroed();
        param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID
            | UCP_AM_HANDLER_PARAM_FIELD_CB
            | UCP_AM_HANDLER_PARAM_FIELD_ARG
            | UCP_AM_HANDLER_PARAM_FIELD_FLAGS;
        param.id = AM_ID;
        param.cb = cb;
        param.arg = arg;
        param.flags = UCP_AM_FLAG_WHOLE_MSG as u32;
        check(c::ucp_worker_set_am_recv_handler(worker, &param))
    }
}

/// Nothing can be measured any more.
#[cold]
fn failed(what: &str, pending: Pending) {
    let reason = pending.wait(|| {}).err().unwrap_or(Error::IoError);
    error!("failed to {what}: {reason}");
    std::process::exit(1);
}
