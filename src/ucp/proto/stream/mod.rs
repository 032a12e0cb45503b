//! Sending stream bytes, in as many messages as they need.

use std::rc::Rc;

use crate::sys::usermem::UserMem;
use crate::ucp::dt::SendBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::proto::eager::send_piece;
use crate::ucp::proto::pieces::{Payload, Pieces};
use crate::ucp::proto::{Stage, Step};
use crate::ucp::wire::{Writer, am, stream};
use crate::ucs::status::Result;
use crate::uct::Post;

/// Bytes of our header that don't fit into a transport's.
pub const CONN: usize = stream::LEN - 8;

/// Longest payload of a message by short, those of our header included.
pub const SHORT_MAX: usize = 256;
/// The same for most.
const SHORTER_MAX: usize = 32;

/// Sends [`SHORT_MAX`] - [`CONN`] bytes at most by short.
#[inline]
pub fn send_short(ep: &Endpoint, mem: UserMem) -> Result<Post> {
    if mem.len() <= SHORTER_MAX - CONN {
        send_built::<SHORTER_MAX>(ep, mem)
    } else {
        send_built::<SHORT_MAX>(ep, mem)
    }
}

/// The transport's header takes the first half of ours; the message is put together on the stack.
#[inline(always)]
fn send_built<const N: usize>(ep: &Endpoint, mem: UserMem) -> Result<Post> {
    let origin = ep.origin();
    let mut payload = [0; N];
    let Some((conn, rest)) = payload.split_first_chunk_mut::<CONN>() else {
        return Ok(Post::NoResource);
    };
    *conn = origin.conn.to_ne_bytes();
    let n = CONN + mem.read_at(0, rest);
    let payload = payload.get(..n).unwrap_or_default();
    ep.am_lane().am_short(am::STREAM, origin.worker, payload)
}

/// Sends bytes that fit into one message.
pub fn send_only(ep: &Endpoint, buf: &SendBuf) -> Result<Post> {
    let (len, origin) = (buf.len(), ep.origin());
    if let Some(mem) = buf.contig()
        && len + CONN <= ep.config().short_max.min(SHORT_MAX)
    {
        return send_short(ep, mem);
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
}

impl Stage for StreamSend {
    type Attempt = Pieces;
    type Next = ();

    fn begin(&self, _ep: &Rc<Endpoint>, _number: u32) -> Result<Pieces> {
        Ok(Pieces::default())
    }

    fn progress(&self, pieces: &mut Pieces, ep: &Rc<Endpoint>) -> Result<Step> {
        let payload = Payload::<{ stream::LEN }> {
            buf: &self.buf,
            end: self.buf.len(),
            id: am::STREAM,
            op: self.op,
        };
        pieces.run(ep, &payload, |_, w| stream::encode(ep.origin(), w))
    }

    fn done(self) {}
}
