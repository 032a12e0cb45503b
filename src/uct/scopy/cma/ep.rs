//! Endpoints.

use std::rc::Rc;

use smallvec::SmallVec;

use crate::sys::hostid::is_alive;
use crate::sys::vmcopy::{Direction, Piece};
use crate::ucs::status::{Error, Result};
use crate::uct::ep::{Ep, IoVec, IoVecMut, Post, Which};
use crate::uct::lease::Term;

use super::lessor::Lessor;
use super::queue::{Copy, Queue, Step};
use super::share::{Helper, Job};

pub struct CmaEp {
    pub queue: Rc<Queue>,
    /// Tells its copies from those of others in the queue.
    pub id: u64,
    pub peer: Rc<Peer>,
}

/// A process that endpoints lead to.
pub struct Peer {
    pub pid: u32,
    pub start_time: u64,
    /// It may help with large copies.
    pub helper: Rc<Helper>,
    pub lessor: Lessor,
}

impl CmaEp {
    fn post(
        &self,
        direction: Direction,
        pieces: impl ExactSizeIterator<Item = Piece>,
        (remote, term): (u64, Option<Term>),
        token: u64,
    ) -> Result<Post> {
        if pieces.len() > self.queue.max_iov {
            return Err(Error::InvalidParam);
        }
        let local: SmallVec<[Piece; 4]> = pieces.filter(|piece| piece.len > 0).collect();
        let job = Job::open(&self.peer.helper, direction, &local, remote);
        let mut copy = Copy {
            direction,
            ep: self.id,
            peer: self.peer.clone(),
            local,
            remote,
            term,
            token,
            job,
        };
        // What takes one step only is done at once, unless others are before it.
        if self.queue.is_empty() && self.queue.step(&mut copy)? == Step::Done {
            return Ok(Post::Done);
        }
        self.queue.push(copy);
        Ok(Post::Pending)
    }
}

impl Ep for CmaEp {
    fn get_zcopy(&self, iov: &[IoVecMut], remote: u64, _rkey: u64, token: u64) -> Result<Post> {
        self.get_leased(iov, remote, 0, token)
    }

    fn get_leased(&self, iov: &[IoVecMut], remote: u64, lease: u64, token: u64) -> Result<Post> {
        let piece = |v: &IoVecMut| Piece {
            address: v.ptr as u64,
            len: v.len,
        };
        let from = (remote, Term::of(lease));
        self.post(Direction::Read, iov.iter().map(piece), from, token)
    }

    fn put_zcopy(&self, iov: &[IoVec], remote: u64, _rkey: u64, token: u64) -> Result<Post> {
        let piece = |v: &IoVec| Piece {
            address: v.ptr as u64,
            len: v.len,
        };
        self.post(
            Direction::Write,
            iov.iter().map(piece),
            (remote, None),
            token,
        )
    }

    fn let_go(&self, which: Which) -> bool {
        self.queue.let_go(self.id, which)
    }

    /// Copies are done in order: an empty one at the end tells that those before it are.
    fn flush(&self, token: u64) -> Result<Post> {
        if self.queue.is_empty() {
            return Ok(Post::Done);
        }
        self.post(Direction::Read, core::iter::empty(), (0, None), token)
    }

    /// # Errors
    /// `ConnectionReset` if the process is dead.
    fn check(&self) -> Result<()> {
        if is_alive(self.peer.pid, self.peer.start_time) {
            Ok(())
        } else {
            Err(Error::ConnectionReset)
        }
    }
}
