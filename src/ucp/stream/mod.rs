//! Streams: bytes that arrive in the order in which the other end of the connection sent them,
//! without borders between messages.
//!
//! Each endpoint has two queues, of which one at most is in use: bytes that nobody has asked for
//! yet, and receives that wait for bytes.

pub mod recv;
pub mod send;

use std::collections::VecDeque;

use crate::ucp::am::desc::DataBuf;
use crate::ucp::dt::RecvBuf;
use crate::ucp::request::ReqRef;

/// The receiving side of an endpoint.
#[derive(Default)]
pub struct Stream {
    chunks: VecDeque<Chunk>,
    /// Bytes in `chunks`.
    available: usize,
    posted: VecDeque<ReqRef>,
    /// In the worker's list of endpoints that have data.
    listed: bool,
}

/// Bytes of one message, of which some may have been received.
struct Chunk {
    data: DataBuf,
    taken: usize,
}

impl Chunk {
    fn rest(&self) -> &[u8] {
        self.data.bytes().get(self.taken..).unwrap_or_default()
    }
}

/// A receive that waits for bytes.
pub struct StreamRecv {
    buf: RecvBuf,
    filled: usize,
    /// Bytes of an element: only whole ones are received.
    element: usize,
    /// `UCP_STREAM_RECV_FLAG_WAITALL`
    wait_all: bool,
}

impl StreamRecv {
    pub fn new(buf: RecvBuf, element: usize, wait_all: bool) -> StreamRecv {
        StreamRecv {
            buf,
            filled: 0,
            element: element.max(1),
            wait_all,
        }
    }

    fn room(&self) -> usize {
        self.buf.len() - self.filled
    }

    /// Whether it is complete with `filled` bytes.
    fn is_complete_with(&self, filled: usize) -> bool {
        filled == self.buf.len()
            || !self.wait_all && filled != 0 && filled.is_multiple_of(self.element)
    }

    /// Takes bytes in; returns how many, and a generic datatype's own failure.
    fn take_in(&mut self, bytes: &[u8]) -> (usize, crate::ucs::status::Result<()>) {
        let n = bytes.len().min(self.room());
        let bytes = bytes.get(..n).unwrap_or_default();
        let result = self.buf.unpack(self.filled, bytes);
        self.filled += n;
        (n, result)
    }
}
