//! Eager without a copy: a whole message, sent straight from the user's memory.

use std::rc::Rc;

use smallvec::SmallVec;

use crate::ucp::dt::SendBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::proto::{Stage, Step};
use crate::ucp::wire::amsg::{Head, Only, only_len};
use crate::ucp::wire::{Writer, am};
use crate::ucs::status::{Error, Result};
use crate::uct::Post;

/// A message that goes out as one `EAGER_ONLY` or `AM_ONLY`.
pub struct EagerZcopy {
    id: u8,
    /// Ours, and of an active message the user's behind it.
    header: SmallVec<[u8; 32]>,
    buf: SendBuf,
    /// Our operation: the token of its completion.
    op: u64,
}

impl EagerZcopy {
    pub fn tagged(tag: u64, buf: SendBuf, op: u64) -> EagerZcopy {
        EagerZcopy {
            id: am::EAGER_ONLY,
            header: SmallVec::from_slice(&tag.to_ne_bytes()),
            buf,
            op,
        }
    }

    /// An active message with this head and user's header.
    pub fn active(ep: &Endpoint, head: Head, header: &[u8], buf: SendBuf, op: u64) -> EagerZcopy {
        let mut all = SmallVec::from_elem(0, only_len(head.reply) + header.len());
        let mut w = Writer::new(&mut all);
        Only::encode(head, ep.origin(), &mut w);
        w.bytes(header);
        EagerZcopy {
            id: am::AM_ONLY,
            header: all,
            buf,
            op,
        }
    }

    /// Whether the lanes take this buffer in one piece, behind a header of `header_len` bytes.
    pub fn fits(ep: &Endpoint, buf: &SendBuf, header_len: usize) -> bool {
        let len = buf.len();
        let config = ep.config();
        let in_range = config
            .thresholds
            .zcopy
            .is_some_and(|(min, max)| min <= len && len <= max);
        in_range
            && config.zcopy.is_some_and(|limits| {
                if header_len > limits.max_header {
                    return false;
                }
                let pieces = buf.pieces(0, len, limits.max_iov);
                pieces.is_some_and(|(_, n)| n == len)
            })
    }
}

/// Whether it has been posted.
pub struct Attempt {
    posted: bool,
}

impl Stage for EagerZcopy {
    type Attempt = Attempt;
    type Next = ();

    fn begin(&self, _ep: &Rc<Endpoint>, _number: u32) -> Result<Attempt> {
        Ok(Attempt { posted: false })
    }

    fn progress(&self, attempt: &mut Attempt, ep: &Rc<Endpoint>) -> Result<Step> {
        if attempt.posted {
            return Ok(Step::Waiting);
        }
        let max_iov = ep.config().zcopy.map_or(1, |limits| limits.max_iov);
        let pieces = self
            .buf
            .pieces(0, self.buf.len(), max_iov)
            .ok_or(Error::Unsupported)?
            .0;
        Ok(
            match ep
                .am_lane()
                .am_zcopy(self.id, &self.header, &pieces, self.op)?
            {
                Post::Done => Step::Done,
                Post::NoResource => Step::Blocked,
                Post::Pending => {
                    attempt.posted = true;
                    Step::Waiting
                }
            },
        )
    }

    fn done(self) {}
}
