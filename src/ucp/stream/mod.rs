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
use crate::ucs::status::Result;

/// Least and most bytes of a block in which short messages are gathered.
const LEAST_ROOM: usize = 1 << 10;
const MOST_ROOM: usize = 16 << 10;

/// The receiving side of an endpoint.
#[derive(Default)]
pub struct Stream {
    chunks: VecDeque<Chunk>,
    /// Bytes in `chunks`.
    available: usize,
    posted: VecDeque<(ReqRef, StreamRecv)>,
    /// In the worker's list of endpoints that have data.
    listed: bool,
    /// A block that was read to its end, for the next bytes.
    spare: Option<DataBuf>,
}

impl Stream {
    /// A receive waits.
    pub fn is_awaited(&self) -> bool {
        !self.posted.is_empty()
    }

    /// Keeps bytes that nobody has asked for, behind those kept before.
    ///
    /// # Errors
    /// `NoMemory`
    fn keep(&mut self, bytes: &[u8]) -> Result<()> {
        let last = self.chunks.back_mut();
        if !last.is_some_and(|last| last.append(bytes)) {
            let spare = self.spare.take();
            let mut data = match spare.filter(|spare| spare.capacity() >= bytes.len()) {
                Some(spare) => spare,
                None => {
                    let room = self.available.clamp(LEAST_ROOM, MOST_ROOM);
                    DataBuf::with_room(room.max(bytes.len()))?
                }
            };
            data.append(bytes);
            let end = data.len();
            self.chunks.push_back(Chunk {
                data,
                taken: 0,
                end,
            });
        }
        self.available += bytes.len();
        Ok(())
    }

    /// Moves up to `max` bytes that have arrived into a receive. The error is a generic datatype's.
    fn fill(&mut self, recv: &mut StreamRecv, max: usize) -> Result<()> {
        let mut left = max;
        while let Some(chunk) = self.chunks.front_mut() {
            let bytes = chunk.rest();
            let bytes = bytes.get(..bytes.len().min(left)).unwrap_or_default();
            let (n, result) = recv.take_in(bytes);
            left -= n;
            self.advance(n);
            result?;
            if n == 0 || left == 0 {
                break;
            }
        }
        Ok(())
    }

    /// The rest of the first message, to be given away; `None` if there is none.
    fn take(&mut self) -> Result<Option<DataBuf>> {
        let Some(chunk) = self.chunks.front() else {
            return Ok(None);
        };
        let bytes = chunk.rest();
        let len = bytes.len();
        if chunk.is_one() {
            self.available = self.available.saturating_sub(len);
            return Ok(self.chunks.pop_front().map(|chunk| chunk.data));
        }
        let copy = DataBuf::copy_of(bytes, 1)?;
        self.advance(len);
        Ok(Some(copy))
    }

    /// `n` bytes of the first message are done with.
    fn advance(&mut self, n: usize) {
        self.available = self.available.saturating_sub(n);
        if self
            .chunks
            .front_mut()
            .is_some_and(|first| first.advance(n))
        {
            self.drop_first();
        }
    }

    /// The first block has been read.
    fn drop_first(&mut self) {
        let Some(Chunk { mut data, .. }) = self.chunks.pop_front() else {
            return;
        };
        if data.capacity() <= MOST_ROOM {
            data.clear();
            self.spare = Some(data);
        }
    }
}

/// Messages one behind the other, of which some may have been received. Their borders are kept, since
/// programs that take the bytes as they lie rely on them: each but the first has its length before it.
struct Chunk {
    data: DataBuf,
    /// Where the message that is next goes on, and where it ends.
    taken: usize,
    end: usize,
}

impl Chunk {
    const PREFIX: usize = size_of::<u32>();

    /// Adds a message; false if there is no room, or it is worth a block of its own.
    #[inline]
    fn append(&mut self, bytes: &[u8]) -> bool {
        let room = self.data.capacity() - self.data.len();
        let fits = bytes.len() < LEAST_ROOM && Self::PREFIX + bytes.len() <= room;
        fits && self.data.append(&(bytes.len() as u32).to_ne_bytes()) && self.data.append(bytes)
    }

    /// What is left of the next message.
    fn rest(&self) -> &[u8] {
        self.data
            .bytes()
            .get(self.taken..self.end)
            .unwrap_or_default()
    }

    /// All of it is one message, of which nothing has been taken.
    fn is_one(&self) -> bool {
        self.taken == 0 && self.end == self.data.len()
    }

    /// `n` bytes of the next message are done with. True if that was the end.
    fn advance(&mut self, n: usize) -> bool {
        self.taken += n;
        if self.taken < self.end {
            return false;
        }
        let behind = self.data.bytes().get(self.end..).unwrap_or_default();
        let Some((len, _)) = behind.split_first_chunk() else {
            return true;
        };
        self.taken = self.end + Self::PREFIX;
        self.end = self.taken + u32::from_ne_bytes(*len) as usize;
        false
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

    /// With how many of `available` bytes a fresh receive would be complete; `None`: they are not
    /// enough.
    fn complete_with(&self, available: usize) -> Option<usize> {
        let len = self.buf.len();
        if available >= len {
            return Some(len);
        }
        if self.wait_all {
            return None;
        }
        let whole = match self.element {
            1 => available,
            element => available / element * element,
        };
        (whole != 0).then_some(whole)
    }

    /// Whether it is complete with what it has.
    fn is_complete(&self) -> bool {
        let filled = self.filled;
        filled == self.buf.len()
            || !self.wait_all
                && filled != 0
                && (self.element == 1 || filled.is_multiple_of(self.element))
    }

    /// Takes bytes in; returns how many, and a generic datatype's own failure.
    fn take_in(&mut self, bytes: &[u8]) -> (usize, Result<()>) {
        let n = bytes.len().min(self.room());
        let bytes = bytes.get(..n).unwrap_or_default();
        let result = self.buf.unpack(self.filled, bytes);
        self.filled += n;
        (n, result)
    }
}
