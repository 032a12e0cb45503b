//! Active messages of the user, sent eagerly.

use std::rc::Rc;

use crate::sys::usermem::UserMem;
use crate::ucp::dt::SendBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::proto::eager::{Attempt, piece_len, send_middle, send_piece};
use crate::ucp::proto::{Stage, Step};
use crate::ucp::wire::amsg::{First, Head, Only, only_len};
use crate::ucp::wire::{Identity, Writer, am};
use crate::ucs::status::Result;
use crate::uct::Post;

/// Sends a message that fits into one `AM_ONLY`. False in the result's `Done` place is not
/// possible: the caller has checked the size with [`fits_only`].
pub fn send_only(ep: &Endpoint, head: Head, header: &[u8], buf: &SendBuf) -> Result<Post> {
    if !head.reply && ep.short_fits(header.len() + buf.len()) {
        let lane = ep.am_lane();
        if buf.is_empty() {
            return lane.am_short(am::AM_ONLY, head.to_bits(), header);
        }
        if let Some(mem) = buf.contig().filter(|_| header.is_empty()) {
            return lane.am_short(am::AM_ONLY, head.to_bits(), mem.as_slice());
        }
    }
    let encode = |w: &mut Writer<'_>| {
        Only::encode(head, ep.origin(), w);
        w.bytes(header);
    };
    let before = only_len(head.reply) + header.len();
    let sent = send_piece(ep, am::AM_ONLY, before, encode, buf, 0, buf.len())?;
    Ok(sent.map_or(Post::NoResource, |_| Post::Done))
}

/// The fast path: a message without a wish for replies that fits into one active message and is
/// worth a copy, with nothing queued before it. False: take the long way.
#[inline(always)]
pub fn try_now(ep: &Endpoint, id: u16, header: &[u8], mem: UserMem) -> bool {
    let head = Head {
        id,
        header_len: header.len() as u32,
        reply: false,
    };
    let (lane, bits) = (ep.am_lane(), head.to_bits());
    let post = if header.is_empty() && ep.short_fits(mem.len()) {
        lane.am_short(am::AM_ONLY, bits, mem.as_slice())
    } else {
        copy_only(ep, bits, header, mem)
    };
    matches!(post, Ok(Post::Done))
}

fn copy_only(ep: &Endpoint, head: u64, header: &[u8], mem: UserMem) -> Result<Post> {
    let before = Head::LEN + header.len();
    let total = header.len().saturating_add(mem.len());
    if !ep.copy_fits(total) || header.len() > ep.worker().am.max_header() {
        return Ok(Post::NoResource);
    }
    ep.am_lane()
        .am_bcopy(am::AM_ONLY, Head::LEN + total, &mut |dst| {
            let Some((front, body)) = dst.split_at_mut_checked(before) else {
                return 0;
            };
            Writer::new(front).u64(head).bytes(header);
            before + mem.read_at(0, body)
        })
}

/// Whether header and data go into one message.
pub fn fits_only(ep: &Endpoint, head: Head, header_len: usize, len: usize) -> bool {
    let room = ep.config().bcopy_max;
    len <= room && only_len(head.reply) + header_len <= room - len
}

/// A message that has not gone out, or not completely.
pub struct AmEager {
    head: Head,
    header: Box<[u8]>,
    buf: SendBuf,
    identity: Identity,
}

impl AmEager {
    pub fn new(head: Head, header: &[u8], buf: SendBuf, identity: Identity) -> AmEager {
        AmEager {
            head,
            header: header.into(),
            buf,
            identity,
        }
    }

    fn send_first(&self, ep: &Endpoint) -> Result<Option<usize>> {
        let total = self.buf.len();
        if fits_only(ep, self.head, self.header.len(), total) {
            let post = send_only(ep, self.head, &self.header, &self.buf)?;
            return Ok((post != Post::NoResource).then_some(total));
        }
        let before = First::LEN + self.header.len();
        let len = piece_len(total, ep.config().bcopy_max.saturating_sub(before));
        let first = First {
            head: self.head,
            identity: self.identity,
            total: total as u64,
        };
        let encode = |w: &mut Writer<'_>| {
            first.encode(w);
            w.bytes(&self.header);
        };
        send_piece(ep, am::AM_FIRST, before, encode, &self.buf, 0, len)
    }
}

impl Stage for AmEager {
    type Attempt = Attempt;
    type Next = ();

    fn begin(&self, _ep: &Rc<Endpoint>, _number: u32) -> Result<Attempt> {
        Ok(Attempt::default())
    }

    fn progress(&self, attempt: &mut Attempt, ep: &Rc<Endpoint>) -> Result<Step> {
        let (id, identity) = (am::AM_MIDDLE, self.identity);
        attempt.run(
            &self.buf,
            || self.send_first(ep),
            |at, taken| send_middle(ep, id, identity, &self.buf, at, taken),
        )
    }

    fn done(self) {}
}
