//! Active messages of the user.

use super::{Identity, Origin, Reader, Writer};

/// What all active messages begin with, packed into 8 bytes so that a short one can carry it as
/// the transport's own header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    pub id: u16,
    /// Bytes of the user's header, which follows ours.
    pub header_len: u32,
    /// The sender's endpoint follows, for replies.
    pub reply: bool,
}

impl Head {
    pub const LEN: usize = 8;
    const REPLY: u64 = 1 << 16;

    pub const fn to_bits(self) -> u64 {
        let reply = if self.reply { Self::REPLY } else { 0 };
        self.id as u64 | reply | (self.header_len as u64) << 32
    }

    pub const fn from_bits(bits: u64) -> Head {
        Head {
            id: bits as u16,
            header_len: (bits >> 32) as u32,
            reply: bits & Self::REPLY != 0,
        }
    }
}

/// Where replies go, if the sender said so.
fn origin(head: Head, r: &mut Reader<'_>) -> Option<Option<Origin>> {
    if !head.reply {
        return Some(None);
    }
    Some(Some(r.origin()?))
}

/// Bytes that [`Only::encode`] writes before the user's header.
pub const fn only_len(reply: bool) -> usize {
    Head::LEN + if reply { Origin::LEN } else { 0 }
}

/// A whole message, taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Only<'a> {
    pub head: Head,
    pub origin: Option<Origin>,
    pub header: &'a [u8],
    pub data: &'a [u8],
}

impl<'a> Only<'a> {
    pub fn encode(head: Head, origin: Origin, w: &mut Writer<'_>) {
        w.u64(head.to_bits());
        if head.reply {
            w.origin(origin);
        }
    }

    pub fn decode(bytes: &'a [u8]) -> Option<Only<'a>> {
        let mut r = Reader(bytes);
        let head = Head::from_bits(r.u64()?);
        let origin = origin(head, &mut r)?;
        let (header, data) = r.0.split_at_checked(head.header_len as usize)?;
        Some(Only {
            head,
            origin,
            header,
            data,
        })
    }
}

/// Header of the first fragment; the user's header follows, then data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct First {
    pub head: Head,
    pub identity: Identity,
    /// Bytes of data in the whole message.
    pub total: u64,
}

impl First {
    pub const LEN: usize = Head::LEN + 8 + Identity::LEN;

    pub fn encode(&self, w: &mut Writer<'_>) {
        w.u64(self.head.to_bits()).u64(self.total);
        self.identity.encode(w);
    }

    /// Header, the user's header, and the data behind it.
    pub fn decode(bytes: &[u8]) -> Option<(First, &[u8], &[u8])> {
        let mut r = Reader(bytes);
        let head = Head::from_bits(r.u64()?);
        let total = r.u64()?;
        let identity = Identity::decode(&mut r)?;
        let (header, data) = r.0.split_at_checked(head.header_len as usize)?;
        Some((
            First {
                head,
                identity,
                total,
            },
            header,
            data,
        ))
    }
}
