//! Rendezvous by active messages: the sender streams the payload on request.

use std::rc::Rc;
use std::sync::Arc;

use crate::ucp::dt::{RecvBuf, SendBuf};
use crate::ucp::ep::Endpoint;
use crate::ucp::mem::Memory;
use crate::ucp::proto::pieces::{Payload, Pieces};
use crate::ucp::proto::{Op, Stage, Step};
use crate::ucp::wire::am;
use crate::ucp::wire::rndv::Data;
use crate::ucp::worker::Worker;
use crate::ucs::status::Result;
use crate::uct::Place;

/// Sending the payload.
pub struct Stream {
    buf: SendBuf,
    /// Our operation: the token of what it posts.
    op: u64,
    receiver_op: u64,
    /// Where the receiver wants it to begin.
    start: usize,
    /// The region that the bytes are of, if they are of one.
    memory: Option<Arc<Memory>>,
}

/// How far an attempt has come.
pub struct Attempt {
    number: u32,
    pieces: Pieces,
}

impl Attempt {
    /// A zero-copy piece has left.
    pub fn completed(&mut self) {
        self.pieces.completed();
    }
}

impl Stream {
    pub fn new(buf: SendBuf, op: u64, receiver_op: u64, start: usize) -> Stream {
        Stream {
            buf,
            op,
            receiver_op,
            start,
            memory: None,
        }
    }

    /// Keeps a region as long as its bytes are being sent.
    pub fn holding(self, memory: Arc<Memory>) -> Stream {
        Stream {
            memory: Some(memory),
            ..self
        }
    }
}

impl Stage for Stream {
    type Attempt = Attempt;
    type Next = ();

    fn begin(&self, _ep: &Rc<Endpoint>, number: u32) -> Result<Attempt> {
        Ok(Attempt {
            number,
            pieces: Pieces::from(self.start),
        })
    }

    fn progress(&self, attempt: &mut Attempt, ep: &Rc<Endpoint>) -> Result<Step> {
        let payload = Payload::<{ Data::LEN }> {
            buf: &self.buf,
            id: am::RNDV_DATA,
            op: self.op,
        };
        let number = attempt.number;
        attempt.pieces.run(ep, &payload, |offset, w| {
            let header = Data {
                receiver_op: self.receiver_op,
                offset: offset as u64,
                attempt: number,
            };
            header.encode(w);
        })
    }

    fn done(self) {
        drop(self.memory);
    }
}

/// Receiving the payload.
pub struct Receive {
    buf: RecvBuf,
    received: usize,
    total: usize,
    result: Result<()>,
}

impl Receive {
    /// The first `received` bytes are there already.
    pub fn new(buf: RecvBuf, received: usize, total: usize) -> Receive {
        Receive {
            buf,
            received,
            total,
            result: Ok(()),
        }
    }

    /// Bytes that have come.
    pub fn received(&self) -> usize {
        self.received
    }

    /// Accounts for `len` bytes. False if they are more than were asked for.
    fn count(&mut self, len: usize) -> bool {
        let ok = len <= self.total - self.received;
        if ok {
            self.received += len;
        }
        ok
    }
}

/// `RNDV_DATA` as a whole message.
pub fn on_data(worker: &Worker, data: &[u8]) -> Option<()> {
    let (header, payload) = Data::decode(data)?;
    let offset = usize::try_from(header.offset).ok()?;
    with_receive(worker, header.receiver_op, |receive| {
        offset
            .checked_add(payload.len())
            .filter(|end| *end <= receive.total)?;
        if receive.result.is_ok() {
            receive.result = receive.buf.unpack(offset, payload);
        }
        receive.count(payload.len()).then_some(())
    })
}

/// Runs `f` on the receive with this id, and completes it when all bytes are there.
fn with_receive(
    worker: &Worker,
    op: u64,
    f: impl FnOnce(&mut Receive) -> Option<()>,
) -> Option<()> {
    let req = worker.op_by_id(op)?;
    let mut op = req.take_op();
    let Some(receive) = receive_of(&mut op) else {
        req.set_op(op);
        return None;
    };
    let ok = f(receive);
    if receive.received < receive.total {
        req.set_op(op);
    } else {
        let result = receive.result;
        drop(op);
        worker.finish(req, result);
    }
    ok
}

/// What waits for data: a rendezvous, or a get.
fn receive_of(op: &mut Op) -> Option<&mut Receive> {
    match op {
        Op::Receive(receive) => Some(receive),
        Op::Asked(asked) => Some(&mut asked.receive),
        _ => None,
    }
}

/// Where a transport may write the payload of an `RNDV_DATA` directly.
pub fn place(worker: &Worker, header: &[u8], offset: usize, total: usize) -> Place {
    let found = Data::decode(header).and_then(|(header, _)| {
        let base = usize::try_from(header.offset).ok()?;
        let req = worker.op_by_id(header.receiver_op)?;
        let mut op = req.take_op();
        let place = receive_of(&mut op).and_then(|receive| place_in(receive, base, offset, total));
        req.set_op(op);
        place
    });
    found.unwrap_or(Place::Discard)
}

fn place_in(receive: &Receive, base: usize, offset: usize, total: usize) -> Option<Place> {
    base.checked_add(total)
        .filter(|end| *end <= receive.total)?;
    let Some((pieces, _)) = receive
        .buf
        .pieces(base + offset, total - offset.min(total), 1)
    else {
        return Some(Place::Copy);
    };
    let piece = pieces.first()?;
    Some(Place::Buffer(
        core::ptr::NonNull::new(piece.ptr)?,
        piece.len,
    ))
}

/// The payload of an `RNDV_DATA` has been written where [`place`] said.
pub fn placed(worker: &Worker, header: &[u8], total: usize) -> Option<()> {
    let (header, _) = Data::decode(header)?;
    with_receive(worker, header.receiver_op, |receive| {
        receive.count(total).then_some(())
    })
}
