//! The endpoint that UCP holds.

use std::rc::Rc;

use crate::ucs::status::{Error, Result};
use crate::uct::{AM_ID_MAX, Ep, IfaceCaps, IoVec, Post, Route, Vitals, Which};

use super::conn::{Conn, State};
use super::iface::Shared;
use super::wire::{FRAME_LEN, Frame, IfaceId, PUT_HEADER};

pub struct TcpEp {
    shared: Rc<Shared>,
    conn: Rc<Conn>,
}

impl TcpEp {
    pub fn new(shared: Rc<Shared>, conn: Rc<Conn>) -> TcpEp {
        TcpEp { shared, conn }
    }

    /// Lets `fill` write a frame into the common buffer, or, when called from inside a `pack`
    /// callback that uses it, into one of its own.
    fn with_buffer<T>(&self, len: usize, fill: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        match self.shared.scratch.try_borrow_mut() {
            Ok(mut buffer) => {
                if buffer.len() < len {
                    buffer.resize(len, 0);
                }
                fill(&mut buffer)
            }
            Err(_) => fill(&mut vec![0; len]),
        }
    }
}

/// To an interface of a peer.
pub struct TcpRoute {
    pub shared: Rc<Shared>,
    pub peer: IfaceId,
}

impl Route for TcpRoute {
    fn open(&self, token: u64) -> Result<Rc<dyn Ep>> {
        let conn = self.shared.claim_or_connect(self.peer, token)?;
        Ok(Rc::new(TcpEp::new(self.shared.clone(), conn)))
    }
}

fn check(ok: bool) -> Result<()> {
    if ok { Ok(()) } else { Err(Error::InvalidParam) }
}

impl Ep for TcpEp {
    fn route(&self) -> Option<Box<dyn Route>> {
        Some(Box::new(TcpRoute {
            shared: self.shared.clone(),
            peer: self.conn.peer,
        }))
    }

    fn am_short(&self, id: u8, header: u64, payload: &[u8]) -> Result<Post> {
        let (shared, conn) = (&*self.shared, &self.conn);
        let len = 8 + payload.len();
        check(payload.len() <= shared.attr.max_short && id < AM_ID_MAX)?;
        if !shared.room(conn)? {
            return Ok(Post::NoResource);
        }
        let mut head = [0; FRAME_LEN + 8];
        let frame = Frame::Message {
            id,
            len: len as u32,
        };
        head[..FRAME_LEN].copy_from_slice(&frame.encode());
        head[FRAME_LEN..].copy_from_slice(&header.to_ne_bytes());
        if payload.len() >= shared.config.sendv_thresh {
            return shared.send_gathered(conn, &head, payload);
        }
        let total = FRAME_LEN + len;
        self.with_buffer(total, |buffer| {
            let frame = buffer.get_mut(..total).unwrap_or_default();
            if let Some((to, rest)) = frame.split_first_chunk_mut::<{ FRAME_LEN + 8 }>() {
                *to = head;
                rest.copy_from_slice(payload);
            }
            shared.send_frame(conn, frame)
        })
    }

    fn am_bcopy(
        &self,
        id: u8,
        max_len: usize,
        pack: &mut dyn FnMut(&mut [u8]) -> usize,
    ) -> Result<Post> {
        let (shared, conn) = (&*self.shared, &self.conn);
        check(max_len <= shared.attr.max_bcopy && id < AM_ID_MAX)?;
        if !shared.room(conn)? {
            return Ok(Post::NoResource);
        }
        self.with_buffer(FRAME_LEN + max_len, |buffer| {
            let frame = buffer.get_mut(..FRAME_LEN + max_len).unwrap_or_default();
            let Some((head, body)) = frame.split_first_chunk_mut::<FRAME_LEN>() else {
                return Err(Error::InvalidParam);
            };
            let len = pack(body).min(max_len);
            *head = Frame::Message {
                id,
                len: len as u32,
            }
            .encode();
            shared.send_frame(conn, frame.get(..FRAME_LEN + len).unwrap_or_default())
        })
    }

    fn am_zcopy(&self, id: u8, header: &[u8], iov: &[IoVec], token: u64) -> Result<Post> {
        let (shared, conn) = (&*self.shared, &self.conn);
        let attr = &shared.attr;
        let payload = iov
            .iter()
            .try_fold(0usize, |sum, part| sum.checked_add(part.len))
            .unwrap_or(usize::MAX);
        check(
            header.len() <= attr.max_zcopy_header
                && payload <= attr.max_zcopy
                && iov.len() <= attr.max_iov
                && id < AM_ID_MAX,
        )?;
        if !shared.room(conn)? {
            return Ok(Post::NoResource);
        }
        let frame = Frame::Large {
            id,
            header: header.len() as u16,
            payload: payload as u32,
        };
        let total = FRAME_LEN + header.len();
        self.with_buffer(total, |buffer| {
            let head = buffer.get_mut(..total).unwrap_or_default();
            if let Some((to, rest)) = head.split_first_chunk_mut::<FRAME_LEN>() {
                *to = frame.encode();
                rest.copy_from_slice(header);
            }
            shared.send_in_place(conn, head, iov, token)
        })
    }

    fn put_zcopy(&self, iov: &[IoVec], remote: u64, rkey: u64, token: u64) -> Result<Post> {
        let (shared, conn) = (&*self.shared, &self.conn);
        let attr = &shared.attr;
        if !attr.caps.contains(IfaceCaps::PUT_ZCOPY) {
            return Err(Error::Unsupported);
        }
        let payload = iov
            .iter()
            .try_fold(0usize, |sum, part| sum.checked_add(part.len))
            .unwrap_or(usize::MAX);
        check(payload <= attr.max_rma && iov.len() <= attr.max_iov)?;
        if payload == 0 {
            return Ok(Post::Done);
        }
        if !shared.room(conn)? {
            return Ok(Post::NoResource);
        }
        let mut head = [0; FRAME_LEN + PUT_HEADER];
        let frame = Frame::Put {
            payload: payload as u32,
        };
        head[..FRAME_LEN].copy_from_slice(&frame.encode());
        head[FRAME_LEN..FRAME_LEN + 8].copy_from_slice(&remote.to_le_bytes());
        head[FRAME_LEN + 8..].copy_from_slice(&rkey.to_le_bytes());
        conn.puts().posted();
        shared.send_in_place(conn, &head, iov, token)
    }

    fn flush(&self, token: u64) -> Result<Post> {
        self.shared.flush_conn(&self.conn, token)
    }

    fn cut(&self, error: Error) -> bool {
        self.shared.cut(&self.conn, error);
        true
    }

    fn watch(&self) {
        self.shared.watch_link(&self.conn);
    }

    fn hurry(&self) {
        self.shared.hurry(&self.conn);
    }

    fn vitals(&self) -> Option<Vitals> {
        Shared::vitals(&self.conn)
    }

    fn let_go(&self, which: Which) -> bool {
        self.shared.let_go(&self.conn, which)
    }

    fn check_host(&self) -> Result<()> {
        self.shared.check_host(&self.conn)?;
        self.check()
    }

    fn peer_left(&self) -> bool {
        self.conn.state.get() == State::Idle
    }

    fn peer(&self) -> Option<String> {
        let (ip, port) = (self.conn.peer.ip, self.conn.peer.port);
        Some(std::net::SocketAddr::new(ip, port).to_string())
    }

    /// A peer that has closed is tried again.
    fn check(&self) -> Result<()> {
        match self.conn.state.get() {
            State::Failed(error) => Err(error),
            State::Idle => self.shared.dial(&self.conn),
            _ => Ok(()),
        }
    }
}

impl Drop for TcpEp {
    fn drop(&mut self) {
        self.shared.release(&self.conn);
    }
}
