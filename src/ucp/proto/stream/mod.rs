//! Sending stream bytes, in as many messages as they need.

use std::rc::Rc;

use crate::ucp::dt::SendBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::proto::eager::send_piece;
use crate::ucp::proto::pieces::{Payload, Pieces};
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
