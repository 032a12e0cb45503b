//! Sending stream bytes, in as many messages as they need.

use std::rc::Rc;

use crate::ucp::dt::SendBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::proto::eager::send_piece;
use crate::ucp::proto::{Stage, Step};
use crate::ucp::wire::{Writer, am, stream};
use crate::ucs::status::Result;
use crate::uct::Post;

/// Longest message by short that is put together on the stack.
const SHORT_MAX: usize = 256;

/// Sends bytes that fit into one message.
pub fn send_only(ep: &Endpoint, buf: &SendBuf) -> Result<Post> {
    let (len, origin) = (buf.len(), ep.origin());
    let short = ep.config().short_max.min(SHORT_MAX);
    if len + 4 <= short {
        // The transport's header takes the first half of ours.
        let mut payload = [0; SHORT_MAX];
        let (conn, rest) = payload.split_at_mut(4);
        conn.copy_from_slice(&origin.conn.to_ne_bytes());
        let n = 4 + buf.pack(0, rest.get_mut(..len).unwrap_or_default());
        let payload = payload.get(..n).unwrap_or_default();
        return ep.am_lane().am_short(am::STREAM, origin.worker, payload);
    }
    let encode = |w: &mut Writer<'_>| stream::encode(origin, w);
    let sent = send_piece(ep, am::STREAM, stream::LEN, encode, buf, 0, len)?;
    Ok(match sent {
        Some(n) if n == len => Post::Done,
        // A datatype that packs less than there is room for is refused before.
        _ => Post::NoResource,
    })
}

/// Bytes that have not gone out, or not completely.
pub struct StreamSend {
    buf: SendBuf,
    /// Our operation: the token of what it posts.
    op: u64,
}

impl StreamSend {
    pub fn new(buf: SendBuf, op: u64) -> StreamSend {
        StreamSend { buf, op }
    }

    /// Posts one message, and returns the bytes in it.
    fn send(&self, attempt: &mut Attempt, ep: &Endpoint) -> Result<Option<usize>> {
        let (at, left) = (attempt.offset, self.buf.len() - attempt.offset);
        let encode = |w: &mut Writer<'_>| stream::encode(ep.origin(), w);
        if let Some(limits) = ep.config().zcopy.filter(|limits| left >= limits.min)
            && let Some((pieces, n)) = self.buf.pieces(at, limits.max, limits.max_iov)
        {
            let mut header = [0; stream::LEN];
            encode(&mut Writer::new(&mut header));
            let lane = ep.am_lane();
            return Ok(
                match lane.am_zcopy(am::STREAM, &header, &pieces, self.op)? {
                    Post::NoResource => None,
                    Post::Done => Some(n),
                    Post::Pending => {
                        attempt.outstanding += 1;
                        Some(n)
                    }
                },
            );
        }
        let n = left.min(ep.config().bcopy_max.saturating_sub(stream::LEN));
        send_piece(ep, am::STREAM, stream::LEN, encode, &self.buf, at, n)
    }
}

/// How far an attempt has come.
#[derive(Default)]
pub struct Attempt {
    offset: usize,
    /// Zero-copy messages whose completion is to come.
    outstanding: usize,
}

impl Attempt {
    /// A zero-copy message has left.
    pub fn completed(&mut self) {
        self.outstanding = self.outstanding.saturating_sub(1);
    }
}

impl Stage for StreamSend {
    type Attempt = Attempt;
    type Next = ();

    fn begin(&self, _ep: &Rc<Endpoint>, _number: u32) -> Result<Attempt> {
        Ok(Attempt::default())
    }

    fn progress(&self, attempt: &mut Attempt, ep: &Rc<Endpoint>) -> Result<Step> {
        while attempt.offset < self.buf.len() {
            match self.send(attempt, ep)? {
                Some(n) => attempt.offset += n,
                None => return Ok(Step::Blocked),
            }
        }
        Ok(if attempt.outstanding == 0 {
            Step::Done
        } else {
            Step::Waiting
        })
    }

    fn done(self) {}
}
