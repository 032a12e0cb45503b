//! Eager tagged messages.

use super::{Identity, Reader, Writer};

/// Header of `EAGER_ONLY`: just the tag, so that a short message is header and payload in one
/// cache line.
pub fn split_only(data: &[u8]) -> Option<(u64, &[u8])> {
    let mut r = Reader(data);
    let tag = r.u64()?;
    Some((tag, r.0))
}

/// Header of `EAGER_FIRST`, `SYNC_ONLY` and `SYNC_FIRST`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct First {
    pub tag: u64,
    pub identity: Identity,
    /// Bytes of the whole message.
    pub total: u64,
    /// The sender's operation, for the acknowledgement of a synchronous send; else 0.
    pub op: u64,
}

impl First {
    pub const LEN: usize = 24 + Identity::LEN;

    pub fn encode(&self, w: &mut Writer<'_>) {
        w.u64(self.tag).u64(self.total).u64(self.op);
        self.identity.encode(w);
    }

    /// The header, and the payload behind it.
    pub fn decode(data: &[u8]) -> Option<(First, &[u8])> {
        let mut r = Reader(data);
        let (tag, total, op) = (r.u64()?, r.u64()?, r.u64()?);
        let identity = Identity::decode(&mut r)?;
        Some((
            First {
                tag,
                identity,
                total,
                op,
            },
            r.0,
        ))
    }
}

/// Header of `EAGER_MIDDLE`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Middle {
    pub identity: Identity,
    /// Of this fragment in the message, bytes.
    pub offset: u64,
}

impl Middle {
    pub const LEN: usize = 8 + Identity::LEN;

    pub fn encode(&self, w: &mut Writer<'_>) {
        w.u64(self.offset);
        self.identity.encode(w);
    }

    pub fn decode(data: &[u8]) -> Option<(Middle, &[u8])> {
        let mut r = Reader(data);
        let offset = r.u64()?;
        let identity = Identity::decode(&mut r)?;
        Some((Middle { identity, offset }, r.0))
    }
}
