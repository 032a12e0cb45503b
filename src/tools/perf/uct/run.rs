//! UCT tests: sending and receiving.
//!
//! Messages carry a number of one byte: the first byte of an active message, the last byte of a
//! buffer that is put to, the first byte of other memory.

mod flow;
mod post;

use core::cell::Cell;
use core::ptr::null_mut;

use super::functions as c;
use super::{AM_ID, Arg, Each, Setup, progress};
use crate::abi::prelude::*;
use crate::tools::client::check;
use crate::tools::client::log::error;
use crate::tools::client::ucs::status_text;
use crate::tools::perf::Runner;
use crate::tools::perf::measure::{Measure, ticks};
use crate::tools::perf::params::{BCOPY, Flags, SHORT, SHORT_IOV, ZCOPY};
use crate::tools::perf::tests::{Command, Pattern};

/// Sends between two rounds of progress.
const SENDS_PER_PROGRESS: u32 = 16;
/// The number that ends a flow without flow control.
const END: u8 = 2;

/// What callbacks see. It stays where it is.
struct State {
    /// Number of the last active message.
    last: Cell<u8>,
    /// One more than the operations in flight.
    completion: uct_completion_t,
    send: *mut u8,
    size: usize,
}

/// See the module.
pub struct Uct<'a> {
    setup: &'a Setup<'a>,
    each: Each<'a>,
    command: Command,
    layout: u32,
    size: usize,
    extent: usize,
    window: u32,
    one_sided: bool,
    handles_messages: bool,
    state: Box<State>,
    pieces: Vec<uct_iov_t>,
    sends: u32,
}

/// The number that the peer's last message has is where it is watched.
#[derive(Clone, Copy)]
enum Watched {
    Message,
    At(*mut u8),
}

unsafe extern "C" fn arrived(state: Arg, data: Arg, _: usize, _: u32) -> ucs_status_t {
    // SAFETY: the state that the handler was set with, and a message that is never empty.
    unsafe { (*state.cast::<State>()).last.set(data.cast::<u8>().read()) };
    Status::OK
}

unsafe extern "C" fn pack(to: Arg, state: Arg) -> usize {
    // SAFETY: the state that the operation was given; room for what the transport can send.
    unsafe {
        let state = &*state.cast::<State>();
        core::ptr::copy_nonoverlapping(state.send, to.cast(), state.size);
        state.size
    }
}

unsafe extern "C" fn unpack(state: Arg, data: *const core::ffi::c_void, length: usize) {
    // SAFETY: the state that the operation was given; as many bytes as were asked for.
    unsafe {
        let state = &*state.cast::<State>();
        core::ptr::copy_nonoverlapping(data.cast(), state.send, length.min(state.size));
    }
}

/// Waits until nothing is in flight.
pub fn flush(setup: &Setup<'_>) {
    let iface = setup.iface.0;
    // SAFETY: live handles; operations begin the structure.
    unsafe {
        let Some(flush) = (*iface).ops.iface_flush else {
            return;
        };
        loop {
            let status = flush(iface, 0, null_mut());
            progress(setup.worker);
            if status.is_err() {
                error!("uct_iface_flush() failed: {}", status_text(status));
            }
            if status != Status::INPROGRESS {
                return;
            }
        }
    }
}

/// Whether one number comes after another, in a circle.
const fn after(a: u8, b: u8) -> bool {
    a.wrapping_sub(b) as i8 > 0
}

impl<'a> Uct<'a> {
    pub fn new(setup: &'a Setup<'a>, each: Each<'a>) -> Result<Uct<'a>, Error> {
        let params = setup.params;
        let test = params.test()?;
        let attr = setup.iface.query()?;
        let messages = UCT_IFACE_FLAG_AM_SHORT | UCT_IFACE_FLAG_AM_BCOPY | UCT_IFACE_FLAG_AM_ZCOPY;
        let mut uct = Uct {
            setup,
            each,
            command: test.command,
            layout: params.layout,
            size: params.size(),
            extent: extent(params.layout, params.iov_stride, &params.sizes),
            window: params.max_outstanding,
            one_sided: params.flags.contains(Flags::ONE_SIDED),
            handles_messages: attr.cap.flags & messages != 0,
            state: Box::new(State {
                last: Cell::new(0),
                completion: uct_completion_t {
                    func: None,
                    count: 1,
                    status: Status::OK,
                },
                send: setup.send.0.address.cast(),
                size: params.size(),
            }),
            pieces: Vec::new(),
            sends: 0,
        };
        if matches!(params.layout, ZCOPY | SHORT_IOV) {
            let header = match (test.command, params.layout) {
                (Command::Am, ZCOPY) => params.am_header,
                _ => 0,
            };
            uct.pieces = uct.list(header);
        }
        if uct.handles_messages {
            uct.handle(Some(arrived))?;
        }
        Ok(uct)
    }

    fn handle(&mut self, callback: uct_am_callback_t) -> Result<(), Error> {
        let state: Arg = (&raw mut *self.state).cast();
        // SAFETY: a live interface, and a state that outlives the handler.
        check(unsafe { c::uct_iface_set_am_handler(self.setup.iface.0, AM_ID, callback, state, 0) })
    }

    /// The pieces of a message, without the header that the first one begins with.
    fn list(&self, header: usize) -> Vec<uct_iov_t> {
        let params = self.setup.params;
        let (mut offset, mut skip) = (0, header);
        let piece = |length: &usize| {
            let piece = uct_iov_t {
                buffer: self.state.send.wrapping_add(offset + skip).cast(),
                length: length - skip,
                memh: self.setup.send.0.memh,
                stride: 0,
                count: 1,
            };
            offset += if params.iov_stride > 0 {
                params.iov_stride
            } else {
                *length
            };
            skip = 0;
            piece
        };
        params.sizes.iter().map(piece).collect()
    }

    fn in_flight(&self) -> u32 {
        // SAFETY: completions are counted by this thread's calls.
        let count = unsafe { (&raw const self.state.completion.count).read_volatile() };
        (count - 1).max(0) as u32
    }

    #[inline]
    fn progress(&self) {
        // SAFETY: a live worker.
        unsafe { progress(self.setup.worker) };
    }

    #[inline]
    fn respond(&self) {
        if !self.one_sided {
            self.progress();
        }
    }

    #[inline]
    fn read(&self, watched: Watched) -> u8 {
        match watched {
            Watched::Message => self.state.last.get(),
            // SAFETY: inside a buffer, which the peer may write at the same time.
            Watched::At(at) => unsafe { at.read_volatile() },
        }
    }

    fn write(&self, watched: Watched, number: u8) {
        match watched {
            Watched::Message => self.state.last.set(number),
            // SAFETY: inside a buffer, which the peer may write at the same time.
            Watched::At(at) => unsafe { at.write_volatile(number) },
        }
    }

    fn wait_window(&self, limited: bool) {
        while limited && self.in_flight() >= self.window {
            self.progress();
        }
    }

    fn pattern(&self) -> Pattern {
        self.setup
            .params
            .test()
            .map_or(Pattern::Stream, |test| test.pattern)
    }

    fn account(&self, measure: &mut Measure) {
        if measure.done(self.size) {
            (self.each)(&measure.report(), "", false, false);
        }
    }

    fn recv_buffer(&self) -> *mut u8 {
        self.setup.recv.0.address.cast()
    }

    fn meet(&self) {
        self.setup.rte.barrier(&mut || self.progress());
    }

    fn ping_pong(&mut self, measure: &mut Measure) {
        let watched = match self.command {
            Command::Am => Watched::Message,
            Command::Put => Watched::At(self.recv_buffer().wrapping_add(self.size - 1)),
            _ => Watched::At(self.recv_buffer()),
        };
        self.write(watched, u8::MAX);
        self.meet();
        let first = self.setup.rte.is_server();
        let mut number = 0u8;
        measure.start();
        while !measure.is_done() {
            if first {
                self.send(number, number.wrapping_sub(1), false);
                self.account(measure);
            }
            loop {
                self.respond();
                if self.read(watched) == number {
                    break;
                }
            }
            if !first {
                self.send(number, number.wrapping_sub(1), false);
                self.account(measure);
            }
            number = number.wrapping_add(1);
        }
    }
}

impl Runner for Uct<'_> {
    fn run(&mut self, measure: &mut Measure) -> Result<(), Error> {
        match self.pattern() {
            Pattern::PingPong => self.ping_pong(measure),
            Pattern::Stream => self.stream(measure),
        }
        flush(self.setup);
        measure.stop();
        if self.pattern() == Pattern::Stream && !self.setup.rte.is_server() {
            measure.add_message();
        }
        Ok(())
    }

    fn barrier(&mut self) {
        self.meet();
    }

    fn agree(&mut self, ours: i8) -> i8 {
        self.setup.rte.agree(ours)
    }
}

impl Drop for Uct<'_> {
    fn drop(&mut self) {
        if self.handles_messages {
            // Late messages are not for a state that is gone.
            let _ = self.handle(None);
        }
    }
}

/// From the first byte of a message to its last.
fn extent(layout: u32, stride: usize, sizes: &[usize]) -> usize {
    match sizes {
        [before @ .., last] if layout == ZCOPY && stride > 0 => before.len() * stride + last,
        _ => sizes.iter().sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_a_circle() {
        assert!(after(1, 0) && after(0, 255) && after(100, 0));
        assert!(!after(0, 0) && !after(0, 1) && !after(255, 0));
    }

    #[test]
    fn extents() {
        assert_eq!(extent(ZCOPY, 100, &[1, 2, 3]), 203);
        assert_eq!(extent(BCOPY, 100, &[1, 2, 3]), 6);
    }
}
