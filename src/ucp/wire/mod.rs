//! Every message header: encode and decode on plain structs, no I/O.
//!
//! Headers are fixed sequences of native-endian integers: a worker address carries the byte
//! order, and a peer with another one is refused before any message. Decoding never trusts a
//! length; a header that is too short decodes to `None`.
#![forbid(unsafe_code)]

pub mod amsg;
pub mod name;
pub mod numbered;
pub mod rma;
pub mod rndv;
pub mod sockaddr;
pub mod stream;
pub mod tag;
pub mod wireup;

/// Active message ids. The numbers are part of the wire format.
pub mod am {
    /// Connecting endpoints.
    pub const WIREUP: u8 = 0;
    /// A whole tagged message: tag, payload.
    pub const EAGER_ONLY: u8 = 1;
    /// First fragment of a tagged message.
    pub const EAGER_FIRST: u8 = 2;
    /// A later fragment.
    pub const EAGER_MIDDLE: u8 = 3;
    /// A whole tagged message whose matching is to be acknowledged.
    pub const SYNC_ONLY: u8 = 4;
    /// First fragment of one.
    pub const SYNC_FIRST: u8 = 5;
    /// The acknowledgement.
    pub const SYNC_ACK: u8 = 6;
    /// Rendezvous: ready to send.
    pub const RTS: u8 = 7;
    /// Rendezvous: ready to receive, send these bytes in this way.
    pub const RTR: u8 = 8;
    /// Rendezvous: acknowledged, the sender is done.
    pub const ATS: u8 = 9;
    /// Rendezvous: a piece of the payload.
    pub const RNDV_DATA: u8 = 10;
    /// Rendezvous: the receiver gives up, and has memory that the sender may be writing.
    pub const RNDV_ABORT: u8 = 11;
    /// A whole active message of the user.
    pub const AM_ONLY: u8 = 12;
    /// First fragment of one.
    pub const AM_FIRST: u8 = 13;
    /// A later fragment.
    pub const AM_MIDDLE: u8 = 14;
    /// Rendezvous of one: ready to send; the user's header follows.
    pub const AM_RTS: u8 = 15;
    /// Bytes of an endpoint's stream.
    pub const STREAM: u8 = 28;
    /// One-sided: bytes for the target's memory.
    pub const PUT: u8 = 16;
    /// One-sided: asks for bytes of the target's memory, as `RNDV_DATA`.
    pub const GET: u8 = 17;
    /// One-sided: an atomic operation.
    pub const ATOMIC: u8 = 18;
    /// Its result.
    pub const ATOMIC_REPLY: u8 = 19;
    /// One-sided: asks whether all before has taken effect.
    pub const FLUSH: u8 = 20;
    /// The answer to a `FLUSH`, or a refused `GET`.
    pub const ONE_SIDED_ANSWER: u8 = 21;
    /// Any of the others with a number, between endpoints that survive the loss of a lane.
    pub const NUMBERED: u8 = 26;
    /// About numbers and lanes.
    pub const LINK: u8 = 27;
    /// Rendezvous: a put is done.
    pub const ATP: u8 = 29;
    /// Rendezvous: bytes of a put for exposed memory, over lanes that replace each other.
    pub const RNDV_PUT: u8 = 30;
}

/// Reads integers off the front of a header.
#[derive(Clone, Copy)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    #[inline]
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        self.take().map(u8::from_ne_bytes)
    }

    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_ne_bytes)
    }

    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_ne_bytes)
    }

    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_ne_bytes)
    }

    #[inline]
    pub fn origin(&mut self) -> Option<Origin> {
        Some(Origin {
            worker: self.u64()?,
            conn: self.u32()?,
        })
    }
}

/// Writes integers to the front of a buffer. What does not fit is dropped; `len` tells.
pub struct Writer<'a> {
    buf: &'a mut [u8],
    len: usize,
}

impl<'a> Writer<'a> {
    #[inline]
    pub fn new(buf: &'a mut [u8]) -> Writer<'a> {
        Writer { buf, len: 0 }
    }

    /// Bytes written.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        if let Some(dst) = self.buf.get_mut(self.len..self.len + bytes.len()) {
            dst.copy_from_slice(bytes);
            self.len += bytes.len();
        }
        self
    }

    #[inline]
    pub fn u8(&mut self, v: u8) -> &mut Self {
        self.bytes(&v.to_ne_bytes())
    }

    #[inline]
    pub fn u32(&mut self, v: u32) -> &mut Self {
        self.bytes(&v.to_ne_bytes())
    }

    #[inline]
    pub fn u64(&mut self, v: u64) -> &mut Self {
        self.bytes(&v.to_ne_bytes())
    }

    #[inline]
    pub fn origin(&mut self, origin: Origin) -> &mut Self {
        self.u64(origin.worker).u32(origin.conn)
    }
}

/// Names a sender's endpoint: an endpoint incarnation. The receiver finds its way back by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Origin {
    /// The sending worker.
    pub worker: u64,
    /// Which of the endpoints between the two workers, counted on the sender's side.
    pub conn: u32,
}

impl Origin {
    /// Bytes on the wire.
    pub const LEN: usize = 12;

    /// An end of a connection by socket address.
    pub fn is_by_sockaddr(self) -> bool {
        self.conn & sockaddr::BY_SOCKADDR != 0
    }
}

/// Names an operation for life: where it came from and its number there. Independent of lanes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Identity {
    pub origin: Origin,
    pub seq: u64,
}

impl Identity {
    /// Bytes on the wire.
    pub const LEN: usize = 20;

    pub fn encode(&self, w: &mut Writer<'_>) {
        w.origin(self.origin).u64(self.seq);
    }

    pub fn decode(r: &mut Reader<'_>) -> Option<Identity> {
        Some(Identity {
            origin: r.origin()?,
            seq: r.u64()?,
        })
    }
}
