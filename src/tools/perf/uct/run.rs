//! UCT tests: sending and receiving.
//!
//! Messages carry a number of one byte: the first byte of an active message, the last byte of a
//! buffer that is put to, the first byte of other memory.

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

    /// Posts one operation with a number; `before` is the one before it.
    #[inline]
    fn post(&mut self, number: u8, before: u8, completion: bool) -> ucs_status_t {
        match self.command {
            Command::Am => self.post_message(number, completion),
            Command::Put | Command::Get => self.post_access(number, completion),
            _ => self.post_atomic(number, before, completion),
        }
    }

    fn completion(&mut self, wanted: bool) -> *mut uct_completion_t {
        if wanted {
            &raw mut self.state.completion
        } else {
            null_mut()
        }
    }

    #[inline]
    fn post_message(&mut self, number: u8, completion: bool) -> ucs_status_t {
        let comp = self.completion(completion);
        let state: Arg = (&raw mut *self.state).cast();
        let (ep, buffer, size) = (self.setup.ep, self.state.send, self.size);
        let (pieces, count) = (self.pieces.as_ptr(), self.pieces.len());
        let header = self.setup.params.am_header;
        // SAFETY: a live endpoint whose interface has the operation, as was checked; buffers and
        // lists outlive it.
        unsafe {
            let ops = &(*(*ep).iface).ops;
            if self.layout != SHORT {
                buffer.write_volatile(number);
            }
            match self.layout {
                SHORT => ops.ep_am_short.map(|post| {
                    let payload = buffer.wrapping_add(8).cast();
                    post(ep, AM_ID, u64::from(number), payload, (size - 8) as u32)
                }),
                SHORT_IOV => ops
                    .ep_am_short_iov
                    .map(|post| post(ep, AM_ID, pieces, count)),
                BCOPY => ops
                    .ep_am_bcopy
                    .map(|post| packed(post(ep, AM_ID, Some(pack), state, 0))),
                _ => ops.ep_am_zcopy.map(|post| {
                    post(
                        ep,
                        AM_ID,
                        buffer.cast(),
                        header as u32,
                        pieces,
                        count,
                        0,
                        comp,
                    )
                }),
            }
            .unwrap_or(Error::Unsupported.into())
        }
    }

    #[inline]
    fn post_access(&mut self, number: u8, completion: bool) -> ucs_status_t {
        let ping = self.command == Command::Put && self.pattern() == Pattern::PingPong;
        let comp = self.completion(completion);
        let state: Arg = (&raw mut *self.state).cast();
        let (ep, buffer, size) = (self.setup.ep, self.state.send, self.size);
        let (pieces, count) = (self.pieces.as_ptr(), self.pieces.len());
        let (remote, rkey) = (self.setup.remote, self.setup.rkey);
        // SAFETY: as in `post_message`.
        unsafe {
            let ops = &(*(*ep).iface).ops;
            if ping {
                buffer.wrapping_add(self.extent - 1).write_volatile(number);
            }
            match (self.command, self.layout) {
                (Command::Put, SHORT) => ops
                    .ep_put_short
                    .map(|post| post(ep, buffer.cast(), size as u32, remote, rkey)),
                (Command::Put, BCOPY) => ops
                    .ep_put_bcopy
                    .map(|post| packed(post(ep, Some(pack), state, remote, rkey))),
                (Command::Put, ZCOPY) => ops
                    .ep_put_zcopy
                    .map(|post| post(ep, pieces, count, remote, rkey, comp)),
                (Command::Get, SHORT) => ops
                    .ep_get_short
                    .map(|post| post(ep, buffer.cast(), size as u32, remote, rkey)),
                (Command::Get, BCOPY) => ops
                    .ep_get_bcopy
                    .map(|post| post(ep, Some(unpack), state, size, remote, rkey, comp)),
                (Command::Get, ZCOPY) => ops
                    .ep_get_zcopy
                    .map(|post| post(ep, pieces, count, remote, rkey, comp)),
                _ => None,
            }
            .unwrap_or(Error::InvalidParam.into())
        }
    }

    #[inline]
    fn post_atomic(&mut self, number: u8, before: u8, completion: bool) -> ucs_status_t {
        let comp = self.completion(completion);
        let (ep, result) = (self.setup.ep, self.state.send);
        let (at, key) = (self.setup.remote, self.setup.rkey);
        let step = i64::from(number) - i64::from(before);
        let op = if self.command == Command::Swap {
            UCT_ATOMIC_OP_SWAP
        } else {
            UCT_ATOMIC_OP_ADD
        };
        let operand = if self.command == Command::Swap {
            i64::from(number)
        } else {
            step
        };
        // SAFETY: as in `post_message`.
        unsafe {
            let ops = &(*(*ep).iface).ops;
            match (self.command, self.size) {
                (Command::Add, 4) => ops
                    .ep_atomic32_post
                    .map(|post| post(ep, op, operand as u32, at, key)),
                (Command::Add, _) => ops
                    .ep_atomic64_post
                    .map(|post| post(ep, op, operand as u64, at, key)),
                (Command::Cswap, 4) => ops.ep_atomic_cswap32.map(|post| {
                    let (compare, swap) = (u32::from(before), u32::from(number));
                    post(ep, compare, swap, at, key, result.cast(), comp)
                }),
                (Command::Cswap, _) => ops.ep_atomic_cswap64.map(|post| {
                    let (compare, swap) = (u64::from(before), u64::from(number));
                    post(ep, compare, swap, at, key, result.cast(), comp)
                }),
                (_, 4) => ops
                    .ep_atomic32_fetch
                    .map(|post| post(ep, op, operand as u32, result.cast(), at, key, comp)),
                _ => ops
                    .ep_atomic64_fetch
                    .map(|post| post(ep, op, operand as u64, result.cast(), at, key, comp)),
            }
            .unwrap_or(Error::Unsupported.into())
        }
    }

    /// Posts one operation, however often it takes.
    #[inline]
    fn send(&mut self, number: u8, before: u8, completion: bool) {
        loop {
            match self.post(number, before, completion) {
                Status::OK => {
                    if self.sends.is_multiple_of(SENDS_PER_PROGRESS) {
                        self.progress();
                    }
                    self.sends = self.sends.wrapping_add(1);
                    return;
                }
                Status::INPROGRESS => {
                    self.state.completion.count += 1;
                    return self.progress();
                }
                status if status == Status::from(Error::NoResource) => self.progress(),
                status => {
                    error!("Failed to send: {}", status_text(status));
                    std::process::exit(1);
                }
            }
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

    fn stream(&mut self, measure: &mut Measure) {
        let (send, recv) = (self.state.send, self.recv_buffer());
        // SAFETY: both have as many bytes.
        unsafe {
            send.write_bytes(0, self.size);
            recv.write_bytes(0, self.size);
        }
        self.state.last.set(0);
        // Data of gets comes here, all other to the peer.
        let watched = match self.command {
            Command::Am => Watched::Message,
            Command::Get => Watched::At(send),
            _ => Watched::At(recv),
        };
        self.meet();
        measure.start();
        let loopback = self.setup.params.flags.contains(Flags::LOOPBACK);
        match (
            self.command == Command::Am,
            loopback || !self.setup.rte.is_server(),
        ) {
            (true, true) => self.send_messages(measure),
            (true, false) => self.receive_messages(measure),
            (false, true) => self.send_flow(measure),
            (false, false) => self.receive_flow(watched),
        }
    }

    /// Without completions that must be waited for there is no window.
    fn has_window(&self) -> bool {
        match self.command {
            Command::Add => false,
            Command::Am | Command::Put => self.layout == ZCOPY,
            _ => true,
        }
    }

    /// Active messages are taken by the peer's program: no more than a window are on their way.
    fn send_messages(&mut self, measure: &mut Measure) {
        let (windowed, room) = (self.has_window(), self.setup.params.fc_window as u8);
        let mut number = 1u8;
        while !measure.is_done() {
            while after(number, self.state.last.get().wrapping_add(room)) {
                self.respond();
            }
            self.wait_window(windowed);
            self.send(number, number.wrapping_sub(1), true);
            number = number.wrapping_add(1);
            self.account(measure);
        }
        while after(number.wrapping_sub(1), self.state.last.get()) {
            self.respond();
        }
    }

    fn receive_messages(&mut self, measure: &mut Measure) {
        let (windowed, room) = (self.has_window(), self.setup.params.fc_window as u8);
        let mut told = u8::MAX;
        while !measure.is_done() {
            self.respond();
            let number = self.state.last.get();
            if after(number, told.wrapping_add(room / 2)) {
                self.wait_window(windowed);
                self.send(number, told, true);
                told = number;
            }
            let seen = measure.iterations() as u8;
            measure.add_iterations(u64::from(number.wrapping_sub(seen)));
        }
        if after(self.state.last.get(), told) {
            self.wait_window(windowed);
            self.send(self.state.last.get(), told, true);
        }
    }

    /// Operations on the peer's memory; the last one ends what it waits for.
    fn send_flow(&mut self, measure: &mut Measure) {
        let windowed = self.has_window();
        self.write(Watched::At(self.state.send), 0);
        while !measure.is_done() {
            self.wait_window(windowed);
            self.send(0, 0, true);
            self.account(measure);
        }
        if self.command == Command::Get {
            // The peer reads it here.
            return self.write(Watched::At(self.recv_buffer()), END);
        }
        // SAFETY: a live endpoint.
        unsafe {
            if let Some(fence) = (*(*self.setup.ep).iface).ops.ep_fence {
                let status = fence(self.setup.ep, 0);
                if status.is_err() {
                    error!("uct_ep_fence() failed: {}", status_text(status));
                }
            }
        }
        self.wait_window(windowed);
        self.write(Watched::At(self.state.send), END);
        self.send(END, 0, true);
    }

    fn receive_flow(&mut self, watched: Watched) {
        let mut asked = ticks();
        let pause = Measure::ticks_of(1e-3);
        loop {
            self.respond();
            if self.read(watched) == END {
                return;
            }
            // Reads until the peer says that it is done.
            if self.command == Command::Get && ticks().wrapping_sub(asked) > pause {
                self.wait_window(true);
                self.send(0, 0, true);
                asked = ticks();
            }
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

/// The status of an operation that returns the bytes that it packed.
fn packed(bytes: ssize_t) -> ucs_status_t {
    if bytes < 0 {
        Status(bytes as i8)
    } else {
        Status::OK
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
