//! Eager without a copy: a whole message, sent straight from the user's memory.

use std::rc::Rc;

use crate::ucp::dt::SendBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::proto::{Stage, Step};
use crate::ucp::wire::am;
use crate::ucs::status::{Error, Result};
use crate::uct::Post;

/// A message that goes out as one `EAGER_ONLY`.
pub struct EagerZcopy {
    tag: u64,
    buf: SendBuf,
    /// Our operation: the token of its completion.
    op: u64,
}

impl EagerZcopy {
    pub fn new(tag: u64, buf: SendBuf, op: u64) -> EagerZcopy {
        EagerZcopy { tag, buf, op }
    }

    /// Whether the lanes take this buffer in one piece.
    pub fn fits(ep: &Endpoint, buf: &SendBuf) -> bool {
        let len = buf.len();
        let config = ep.config();
        let in_range = config
            .thresholds
            .zcopy
            .is_some_and(|(min, max)| min <= len && len <= max);
        in_range
            && config.zcopy.is_some_and(|limits| {
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
        let header = self.tag.to_ne_bytes();
        Ok(
            match ep
                .am_lane()
                .am_zcopy(am::EAGER_ONLY, &header, &pieces, self.op)?
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
