//! Rendezvous messages.

use super::{Identity, Reader, Writer};

/// Ready to send: announces a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rts {
    pub tag: u64,
    pub total: u64,
    pub identity: Identity,
    pub attempt: u32,
    /// The sender's operation; ATS and RTR name it.
    pub op: u64,
    /// Where the payload lies in the sender's memory, if in one piece; else 0.
    pub address: u64,
    /// Key of the lease under which it may be read there, see [`crate::uct::lease`]; 0 if none.
    pub lease: u64,
}

impl Rts {
    pub const LEN: usize = 44 + Identity::LEN;

    pub fn encode(&self, w: &mut Writer<'_>) {
        w.u64(self.tag)
            .u64(self.total)
            .u64(self.op)
            .u64(self.address)
            .u64(self.lease)
            .u32(self.attempt);
        self.identity.encode(w);
    }

    /// The header, and what follows it: the user's header of an active message.
    pub fn decode(data: &[u8]) -> Option<(Rts, &[u8])> {
        let mut r = Reader(data);
        let (tag, total, op, address) = (r.u64()?, r.u64()?, r.u64()?, r.u64()?);
        let lease = r.u64()?;
        let attempt = r.u32()?;
        let identity = Identity::decode(&mut r)?;
        let rts = Rts {
            tag,
            total,
            identity,
            attempt,
            op,
            address,
            lease,
        };
        Some((rts, r.0))
    }
}

/// Ready to receive: asks for the payload from `offset` on, as `RNDV_DATA`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rtr {
    /// The sender's operation.
    pub sender_op: u64,
    /// The receiver's; data name it.
    pub receiver_op: u64,
    pub offset: u64,
    pub attempt: u32,
}

impl Rtr {
    pub const LEN: usize = 28;

    pub fn encode(&self, w: &mut Writer<'_>) {
        w.u64(self.sender_op)
            .u64(self.receiver_op)
            .u64(self.offset)
            .u32(self.attempt);
    }

    pub fn decode(data: &[u8]) -> Option<Rtr> {
        let mut r = Reader(data);
        let (sender_op, receiver_op, offset) = (r.u64()?, r.u64()?, r.u64()?);
        Some(Rtr {
            sender_op,
            receiver_op,
            offset,
            attempt: r.u32()?,
        })
    }
}

/// A piece of payload, behind this header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Data {
    pub receiver_op: u64,
    pub offset: u64,
    pub attempt: u32,
}

impl Data {
    pub const LEN: usize = 20;

    pub fn encode(&self, w: &mut Writer<'_>) {
        w.u64(self.receiver_op).u64(self.offset).u32(self.attempt);
    }

    pub fn decode(data: &[u8]) -> Option<(Data, &[u8])> {
        let mut r = Reader(data);
        let (receiver_op, offset, attempt) = (r.u64()?, r.u64()?, r.u32()?);
        Some((
            Data {
                receiver_op,
                offset,
                attempt,
            },
            r.0,
        ))
    }
}

/// An answer that names an operation of the addressee: `SYNC_ACK`, `ATS` (the sender's), or
/// `RNDV_ABORT` (the receiver's).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    pub op: u64,
    /// A `ucs_status_t`.
    pub status: i8,
}

impl Answer {
    pub const LEN: usize = 9;

    pub fn encode(&self, w: &mut Writer<'_>) {
        w.u64(self.op).u8(self.status as u8);
    }

    pub fn decode(data: &[u8]) -> Option<Answer> {
        let mut r = Reader(data);
        Some(Answer {
            op: r.u64()?,
            status: r.u8()? as i8,
        })
    }
}
