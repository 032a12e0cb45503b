//! Endpoints: a way from one interface to one peer interface.

use std::any::Any;
use std::rc::Rc;

use super::Vitals;
use crate::sys::hostid::Process;
use crate::ucs::status::{Error, Result};

/// What to connect to.
#[derive(Clone, Copy, Debug)]
pub struct EpParams<'a> {
    /// As the peer's `Iface::device_address` and `Iface::iface_address` gave them.
    pub device_addr: &'a [u8],
    pub iface_addr: &'a [u8],
    /// Returned by `Events::ep_failed`.
    pub token: u64,
}

/// What became of a posted operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Post {
    /// Finished as far as the caller is concerned: its buffer may be used again.
    Done,
    /// Accepted; `Events::completed` will be called with the token. The buffer must stay.
    Pending,
    /// Not accepted for now: post it again after some progress.
    NoResource,
}

/// A piece of local memory to read from. Pointer and length, since the memory is the user's and
/// may change under us.
#[derive(Clone, Copy, Debug)]
pub struct IoVec {
    pub ptr: *const u8,
    pub len: usize,
}

/// A piece of local memory to write to.
#[derive(Clone, Copy, Debug)]
pub struct IoVecMut {
    pub ptr: *mut u8,
    pub len: usize,
}

/// A transfer between a piece of local and a piece of remote memory.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    pub local: *mut u8,
    pub len: usize,
    pub remote: u64,
    pub rkey: u64,
}

/// What [`Ep::let_go`] is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// What was posted with this token.
    One(u64),
    /// All that was posted on the endpoint.
    All,
}

impl Which {
    pub fn includes(self, token: u64) -> bool {
        match self {
            Which::One(one) => one == token,
            Which::All => true,
        }
    }
}

/// Where a way leads. It keeps nothing of the way itself.
pub trait Route {
    /// Opens a new way to the same place; `token` names it.
    fn open(&self, token: u64) -> Result<Rc<dyn Ep>>;
}

/// A way to one peer. Everything not implemented answers `Error::Unsupported`, in agreement with
/// the interface's capabilities. Limits are the interface's; exceeding them is `InvalidParam`.
pub trait Ep: Any {
    /// Sends the 8 bytes of `header` (native order) and `payload` as one active message.
    fn am_short(&self, id: u8, header: u64, payload: &[u8]) -> Result<Post> {
        let _ = (id, header, payload);
        Err(Error::Unsupported)
    }

    /// Sends an active message of at most `max_len` bytes, written by `pack` straight into the
    /// transport's buffer; `pack` returns the bytes used. Not called when there is no room.
    fn am_bcopy(
        &self,
        id: u8,
        max_len: usize,
        pack: &mut dyn FnMut(&mut [u8]) -> usize,
    ) -> Result<Post> {
        let _ = (id, max_len, pack);
        Err(Error::Unsupported)
    }

    /// Sends `header` (copied at once) followed by the bytes of `iov`, which may be read until
    /// the operation completes.
    fn am_zcopy(&self, id: u8, header: &[u8], iov: &[IoVec], token: u64) -> Result<Post> {
        let _ = (id, header, iov, token);
        Err(Error::Unsupported)
    }

    /// Writes the bytes of `from` to the peer's memory at `remote`, at once.
    fn put_short(&self, from: IoVec, remote: u64, rkey: u64) -> Result<Post> {
        let _ = (from, remote, rkey);
        Err(Error::Unsupported)
    }

    /// Reads as many bytes as `to` has from the peer's memory at `remote`, at once.
    fn get_short(&self, to: IoVecMut, remote: u64, rkey: u64) -> Result<Post> {
        let _ = (to, remote, rkey);
        Err(Error::Unsupported)
    }

    /// Reads `iov`'s total length from the peer's memory at `remote`.
    fn get_zcopy(&self, iov: &[IoVecMut], remote: u64, rkey: u64, token: u64) -> Result<Post> {
        let _ = (iov, remote, rkey, token);
        Err(Error::Unsupported)
    }

    /// The same for memory that the peer may take back: `lease` is what [`super::Lease::key`] gave
    /// there. If it has been revoked by the time all is read, the operation ends with `Canceled`.
    fn get_leased(&self, iov: &[IoVecMut], remote: u64, lease: u64, token: u64) -> Result<Post> {
        let _ = (iov, remote, lease, token);
        Err(Error::Unsupported)
    }

    /// Writes `iov` to the peer's memory at `remote`. The bytes are there when a [`Ep::flush`]
    /// that was posted later has ended.
    fn put_zcopy(&self, iov: &[IoVec], remote: u64, rkey: u64, token: u64) -> Result<Post> {
        let _ = (iov, remote, rkey, token);
        Err(Error::Unsupported)
    }

    /// As [`Ep::get_zcopy`] for a list of pieces, which end as one operation.
    fn get_list(&self, list: &[Transfer], token: u64) -> Result<Post> {
        let _ = (list, token);
        Err(Error::Unsupported)
    }

    /// As [`Ep::put_zcopy`] for a list of pieces, which end as one operation.
    fn put_list(&self, list: &[Transfer], token: u64) -> Result<Post> {
        let _ = (list, token);
        Err(Error::Unsupported)
    }

    /// What code on a device is given to use this way itself: an address in the device's memory, good
    /// as long as the endpoint.
    fn device_ep(&self) -> Result<u64> {
        Err(Error::Unsupported)
    }

    /// `Done` when all that was posted before has left this process for good (in the peer's
    /// memory, or in the kernel's hands); else `Pending`, and `Events::completed` tells.
    fn flush(&self, token: u64) -> Result<Post> {
        let _ = token;
        Ok(Post::Done)
    }

    /// Pending operations are given up: from here on the buffers they were posted with are their
    /// owners', and are neither read nor written. What has begun and can't be stopped goes on
    /// with a copy of the bytes. No completion comes of what is given up; false if that was nothing.
    fn let_go(&self, which: Which) -> bool {
        let _ = which;
        false
    }

    /// The way is given up, though it may still work: what has come by it is delivered, what is
    /// under way fails with `error`, and then `Events::ep_failed` tells. False where a way can't be
    /// lost while the peer lives.
    fn cut(&self, error: Error) -> bool {
        let _ = error;
        false
    }

    /// The way that still works under one that has been ended by a fault on purpose: the peer, where it
    /// hears nothing of that end, can be told.
    fn below(&self) -> Option<Rc<dyn Ep>> {
        None
    }

    /// Where this leads, for who will have lost it and have a word to say. Only transports whose ways can
    /// be lost while the peer lives know.
    fn route(&self) -> Option<Box<dyn Route>> {
        None
    }

    /// From now on a link that goes down ends the way at once, instead of when it stays down for
    /// long: whoever asks for this has another one.
    fn watch(&self) {}

    /// While the peer's host has not answered, the way is not waited for long: whoever asks for this
    /// has another one. It fails with `EndpointTimeout` then.
    fn hurry(&self) {}

    /// As [`Ep::check`], for who is to be told of a failure. A peer whose host has gone without a word,
    /// though nothing is under way to it, is found within a time that the transport documents.
    fn check_host(&self) -> Result<()> {
        self.check()
    }

    /// What the kernel knows of the way, where it is the kernel that keeps it.
    fn vitals(&self) -> Option<Vitals> {
        None
    }

    /// Connects now where that is otherwise done at the first use.
    fn connect(&self) -> Result<()> {
        Ok(())
    }

    /// The peer has closed the interface behind this, in good order: known without asking.
    fn peer_left(&self) -> bool {
        false
    }

    /// The peer's process, where the kernel can tell of its end and the transport can't.
    fn process(&self) -> Option<Process> {
        None
    }

    /// Whom this leads to, for messages.
    fn peer(&self) -> Option<String> {
        None
    }

    /// Asks whether the peer is alive, cheaply and without its help where possible. An error
    /// found later is told by `Events::ep_failed`.
    fn check(&self) -> Result<()> {
        Ok(())
    }
}
