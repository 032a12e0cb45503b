//! Interfaces: one transport on one device, inside one worker.

use std::any::Any;
use std::os::fd::RawFd;
use std::ptr::NonNull;
use std::rc::Rc;

use bitflags::bitflags;

use crate::ucs::status::{Error, Result};

use super::ep::{Ep, EpParams};
use super::gate::Gate;

bitflags! {
    /// What the endpoints of an interface implement; a call outside it returns `Unsupported`.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct IfaceCaps: u32 {
        const AM_SHORT = 1 << 0;
        const AM_BCOPY = 1 << 1;
        const AM_ZCOPY = 1 << 2;
        const PUT_SHORT = 1 << 3;
        const PUT_BCOPY = 1 << 4;
        const PUT_ZCOPY = 1 << 5;
        const GET_SHORT = 1 << 6;
        const GET_BCOPY = 1 << 7;
        const GET_ZCOPY = 1 << 8;
        /// The peer's death or a broken link is reported by [`Events::ep_failed`].
        const ERR_PEER = 1 << 9;
        /// [`Iface::event_fd`] becomes readable when something arrives.
        const EVENT_FD = 1 << 10;
        /// Messages between two interfaces arrive in the order they were posted.
        const ORDERED = 1 << 11;
        /// Puts are carried out by the peer's process, which looks their key up
        /// ([`Events::place_put`]): taking the key back is enough to be left alone.
        const PUT_KEYED = 1 << 12;
        /// Zero-copy operations take memory of devices only, and need keys of this transport.
        /// This side's own: addresses don't tell it.
        const DEVICE_ONLY = 1 << 16;
        /// [`Ep::get_list`] and [`Ep::put_list`], of any length. This side's own.
        const LISTS = 1 << 17;
        /// [`Ep::device_ep`]. This side's own.
        const DEVICE_EP = 1 << 18;
    }
}

/// The cost of an interface, in seconds and bytes per second: the inputs of protocol selection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PerfAttr {
    /// One-way time of an empty message.
    pub latency: f64,
    /// CPU time to post one message.
    pub overhead: f64,
    /// Bandwidth that all processes of the host share.
    pub bw_shared: f64,
    /// Bandwidth that each process has for itself.
    pub bw_dedicated: f64,
    /// Among equals the higher wins.
    pub priority: u8,
}

/// Limits and capabilities, fixed when the interface is opened.
#[derive(Clone, Copy, Debug)]
pub struct IfaceAttr {
    pub caps: IfaceCaps,
    /// Longest payload of [`Ep::am_short`] in bytes, its 8-byte header not counted.
    pub max_short: usize,
    /// Longest active message by [`Ep::am_bcopy`] in bytes.
    pub max_bcopy: usize,
    /// Longest payload of [`Ep::am_zcopy`] in bytes, header not counted.
    pub max_zcopy: usize,
    /// Longest header of [`Ep::am_zcopy`] in bytes.
    pub max_zcopy_header: usize,
    /// Entries in the I/O vector of a zcopy operation.
    pub max_iov: usize,
    /// Longest [`Ep::get_zcopy`] / [`Ep::put_zcopy`] in bytes.
    pub max_rma: usize,
    pub device_addr_len: usize,
    pub iface_addr_len: usize,
    pub perf: PerfAttr,
}

/// What the opener says about the use of an interface.
#[derive(Clone, Debug, Default)]
pub struct IfaceParams {
    /// Distinguishes workers: identical for all interfaces of a worker.
    pub worker_uid: u64,
    /// The user wants to sleep on the event descriptor: wake-up machinery must be set up.
    pub wakeup: bool,
    /// With `wakeup`: most users never sleep, so that others are told of it by the first
    /// [`Iface::arm`], which takes some milliseconds then. Messages cost less until then.
    pub seldom_sleeps: bool,
    /// Peers report failures (`UCP_ERR_HANDLING_MODE_PEER` or FAILOVER may be used).
    pub err_handling: bool,
    /// Peers may write to this process's memory by [`Ep::put_zcopy`], and this one to theirs,
    /// where the transport does so by messages: the opener's protocol wants no keys for it.
    pub remote_put: bool,
    /// The same, with keys: [`Events::place_put`] is asked where the bytes may go.
    pub keyed_put: bool,
}

/// The answer of [`Iface::arm`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arm {
    /// The descriptor will become readable at the next event.
    Armed,
    /// Something is already there: progress first, then arm again.
    Busy,
}

/// Where the payload of a large message goes, see [`Events::place`].
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// Write the bytes here (this many at most). Valid until the next call of any kind into UCP.
    Buffer(NonNull<u8>, usize),
    /// Nobody wants them: read and drop them.
    Discard,
    /// Gather the whole message and deliver it by [`Events::am`], header first.
    Copy,
}

/// Receiver of what an interface finds during [`Iface::progress`].
///
/// Any of these may call back into the interface and its endpoints, and drop endpoints.
pub trait Events {
    /// An active message. `data` is the whole message: what `am_short` sent as `header` (8 bytes,
    /// native order) and payload, what `am_bcopy` packed, or `am_zcopy`'s header and payload.
    /// It is valid during the call only. Its content comes from another process: check it.
    fn am(&self, id: u8, data: &[u8]);

    /// Asked after a long message: whether those behind it had better wait for the next progress.
    fn pauses(&self) -> bool {
        false
    }

    /// A stream transport has read `header` of an `am_zcopy` message whose payload is `total`
    /// bytes, and is about to read payload bytes from `offset` on. Called before each read, so
    /// that the owner of the buffer can withdraw it at any time.
    fn place(&self, id: u8, header: &[u8], offset: usize, total: usize) -> Place {
        let _ = (id, header, offset, total);
        Place::Copy
    }

    /// The whole payload of a message that [`Events::place`] took has been written.
    fn placed(&self, id: u8, header: &[u8], total: usize) {
        let _ = (id, header, total);
    }

    /// As [`Events::place`], for a put to `address` of whose `total` bytes those from `offset` on
    /// are about to be written, under the key that the peer's [`Ep::put_zcopy`] was given.
    fn place_put(&self, key: u64, address: u64, offset: usize, total: usize) -> Place {
        let _ = (key, address, offset, total);
        Place::Discard
    }

    /// What [`Events::place_put`] allowed has been written.
    fn put_written(&self) {}

    /// An operation that was posted with this token and answered `Pending` has ended: the local
    /// buffer is the user's again.
    fn completed(&self, token: u64, result: Result<()>) {
        let _ = (token, result);
    }

    /// The endpoint created with this token has failed. Told once; operations pending on it are
    /// completed (with the error) before, and what is posted on it later returns the error.
    fn ep_failed(&self, ep_token: u64, error: Error) {
        let _ = (ep_token, error);
    }

    /// The peer of the endpoint created with this token has closed its interface in good order, and
    /// all that it sent has been delivered. What is posted now fails, unless the peer is back.
    fn peer_left(&self, ep_token: u64) {
        let _ = ep_token;
    }
}

/// One transport on one device, inside one worker.
pub trait Iface: Any {
    fn attr(&self) -> &IfaceAttr;

    /// Appends the address of the device (`device_addr_len` bytes): equal or comparable for
    /// interfaces that can reach each other.
    fn device_address(&self, out: &mut Vec<u8>);

    /// Appends the address of this interface on the device (`iface_addr_len` bytes).
    fn iface_address(&self, out: &mut Vec<u8>);

    /// Bytes of a device address that begins with what `byte` gives for each index, for callers
    /// that aren't told its length. No index past the address is asked for.
    fn device_addr_len(&self, byte: &mut dyn FnMut(usize) -> u8) -> usize {
        let _ = byte;
        self.attr().device_addr_len
    }

    /// Whether endpoints to that address can work; the reason, as a short text, if not. Bytes
    /// are foreign: any content must be survived.
    fn reachable(&self, device_addr: &[u8], iface_addr: &[u8]) -> core::result::Result<(), String>;

    /// Makes an endpoint. Connecting may take place later; its failure is told by
    /// [`Events::ep_failed`]. Dropping the `Rc` closes it, after what was posted has been handed
    /// to the peer or the kernel.
    fn create_ep(&self, params: &EpParams<'_>) -> Result<Rc<dyn Ep>>;

    /// Receives and sends what can be received and sent now, and returns the number of events
    /// (messages in, completions, bytes moved for a pending send). Must be cheap when idle.
    fn progress(&self, events: &dyn Events) -> usize;

    /// If nothing ever arrives here unasked: while the gate is closed, progress has nothing to do
    /// and need not be called.
    fn gate(&self) -> Option<Gate> {
        None
    }

    /// Descriptor for poll/epoll that becomes readable once armed and something happens.
    fn event_fd(&self) -> Option<RawFd> {
        None
    }

    /// Prepares the descriptor before sleeping. `tx_blocked`: a post has answered `NoResource`,
    /// so room to send is an event as well; a transport that can't signal it answers `Busy`.
    fn arm(&self, tx_blocked: bool) -> Result<Arm> {
        let _ = tx_blocked;
        Ok(Arm::Armed)
    }

    /// Called when the worker is going away, after all endpoints were dropped: deliver to the
    /// peers' kernels what was accepted for sending, within a bounded time.
    fn shutdown(&self) {}
}
