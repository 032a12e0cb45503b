//! One-sided operations that the target carries out.
//!
//! Each message names the region and the place by itself, so that nothing is kept between two
//! of them. What needs an answer has a number: one that is sent again after the peer's endpoint
//! was closed and made anew is told from one that was served.

use super::{Identity, Origin, Reader, Writer};

/// `PUT`: the payload behind this header goes to `address`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Put {
    pub origin: Origin,
    pub region: u64,
    pub address: u64,
}

impl Put {
    pub const LEN: usize = Origin::LEN + 16;

    pub fn encode(&self, w: &mut Writer<'_>) {
        w.u64(self.region).u64(self.address).origin(self.origin);
    }

    pub fn decode(data: &[u8]) -> Option<(Put, &[u8])> {
        let mut r = Reader(data);
        let (region, address) = (r.u64()?, r.u64()?);
        let origin = r.origin()?;
        let put = Put {
            origin,
            region,
            address,
        };
        Some((put, r.0))
    }
}

/// `GET`: asks for `len` bytes at `address`, to be sent as `RNDV_DATA` from `offset` on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Get {
    pub identity: Identity,
    /// The asking operation; data and a refusal name it.
    pub op: u64,
    pub region: u64,
    pub address: u64,
    pub len: u64,
    /// So many bytes are there already.
    pub offset: u64,
}

impl Get {
    pub const LEN: usize = Identity::LEN + 40;

    pub fn encode(&self, w: &mut Writer<'_>) {
        self.identity.encode(w);
        w.u64(self.op)
            .u64(self.region)
            .u64(self.address)
            .u64(self.len)
            .u64(self.offset);
    }

    pub fn decode(data: &[u8]) -> Option<Get> {
        let mut r = Reader(data);
        Some(Get {
            identity: Identity::decode(&mut r)?,
            op: r.u64()?,
            region: r.u64()?,
            address: r.u64()?,
            len: r.u64()?,
            offset: r.u64()?,
        })
    }
}

/// `ATOMIC`: an operation on 4 or 8 bytes at `address`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Atomic {
    pub identity: Identity,
    /// The operation that waits for the value before; 0: none does, and no answer is sent.
    pub op: u64,
    pub region: u64,
    pub address: u64,
    /// `ucp_atomic_op_t`
    pub code: u8,
    /// Bytes.
    pub size: u8,
    pub operand: u64,
    /// The new value of a compare-and-swap.
    pub swap: u64,
}

impl Atomic {
    pub const LEN: usize = Identity::LEN + 42;

    pub fn encode(&self, w: &mut Writer<'_>) {
        self.identity.encode(w);
        w.u64(self.op)
            .u64(self.region)
            .u64(self.address)
            .u64(self.operand)
            .u64(self.swap)
            .u8(self.code)
            .u8(self.size);
    }

    pub fn decode(data: &[u8]) -> Option<Atomic> {
        let mut r = Reader(data);
        let identity = Identity::decode(&mut r)?;
        let (op, region, address) = (r.u64()?, r.u64()?, r.u64()?);
        let (operand, swap) = (r.u64()?, r.u64()?);
        Some(Atomic {
            identity,
            op,
            region,
            address,
            code: r.u8()?,
            size: r.u8()?,
            operand,
            swap,
        })
    }
}

/// `ATOMIC_REPLY`: the value before, or why there is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AtomicReply {
    pub op: u64,
    pub value: u64,
    /// A `ucs_status_t`.
    pub status: i8,
}

impl AtomicReply {
    pub const LEN: usize = 17;

    pub fn encode(&self, w: &mut Writer<'_>) {
        w.u64(self.op).u64(self.value).u8(self.status as u8);
    }

    pub fn decode(data: &[u8]) -> Option<AtomicReply> {
        let mut r = Reader(data);
        Some(AtomicReply {
            op: r.u64()?,
            value: r.u64()?,
            status: r.u8()? as i8,
        })
    }
}

/// `FLUSH`: asks for a `ONE_SIDED_ANSWER` when all that the origin sent before has taken effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flush {
    pub origin: Origin,
    pub op: u64,
}

impl Flush {
    pub const LEN: usize = Origin::LEN + 8;

    pub fn encode(&self, w: &mut Writer<'_>) {
        w.u64(self.op).origin(self.origin);
    }

    pub fn decode(data: &[u8]) -> Option<Flush> {
        let mut r = Reader(data);
        let op = r.u64()?;
        let origin = r.origin()?;
        Some(Flush { origin, op })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(len: usize, encode: impl Fn(&mut Writer<'_>)) -> Vec<u8> {
        let mut bytes = vec![0; len + 1];
        let mut w = Writer::new(&mut bytes);
        encode(&mut w);
        assert_eq!(w.len(), len);
        bytes.truncate(len);
        bytes
    }

    fn identity(worker: u64, conn: u32, seq: u64) -> Identity {
        let origin = Origin { worker, conn };
        Identity { origin, seq }
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(f in any::<[u64; 8]>(), conn: u32, b in any::<[u8; 2]>(), status: i8) {
            let [worker, seq, op, region, address, len, operand, swap] = f;
            let id = identity(worker, conn, seq);
            let put = Put { origin: id.origin, region, address };
            let mut bytes = encoded(Put::LEN, |w| put.encode(w));
            bytes.push(7);
            prop_assert_eq!(Put::decode(&bytes), Some((put, &[7u8][..])));
            let get = Get { identity: id, op, region, address, len, offset: operand };
            prop_assert_eq!(Get::decode(&encoded(Get::LEN, |w| get.encode(w))), Some(get));
            let atomic = Atomic { identity: id, op, region, address, code: b[0], size: b[1], operand, swap };
            prop_assert_eq!(Atomic::decode(&encoded(Atomic::LEN, |w| atomic.encode(w))), Some(atomic));
            let reply = AtomicReply { op, value: swap, status };
            prop_assert_eq!(AtomicReply::decode(&encoded(AtomicReply::LEN, |w| reply.encode(w))), Some(reply));
            let flush = Flush { origin: id.origin, op };
            prop_assert_eq!(Flush::decode(&encoded(Flush::LEN, |w| flush.encode(w))), Some(flush));
        }

        /// Too few bytes are no header; whatever else comes is decoded without a panic.
        #[test]
        fn short_ones_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            prop_assert_eq!(Put::decode(&bytes).is_some(), bytes.len() >= Put::LEN);
            prop_assert_eq!(Get::decode(&bytes).is_some(), bytes.len() >= Get::LEN);
            prop_assert_eq!(Atomic::decode(&bytes).is_some(), bytes.len() >= Atomic::LEN);
            prop_assert_eq!(AtomicReply::decode(&bytes).is_some(), bytes.len() >= AtomicReply::LEN);
            prop_assert_eq!(Flush::decode(&bytes).is_some(), bytes.len() >= Flush::LEN);
        }
    }
}
