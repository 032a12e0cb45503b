//! Rendezvous by active messages: the sender streams the payload on request.

use std::rc::Rc;
use std::sync::Arc;

use super::announce::{Source, Wanted, sent};
use super::ats::{answer, send_atp};
use super::rtr::{Receive, received};
use crate::ucp::dt::SendBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::mem::Memory;
use crate::ucp::proto::pieces::{Payload, Pieces};
use crate::ucp::proto::{Driven, Flight, Op, Stage, Step};
use crate::ucp::request::ReqRef;
use crate::ucp::wire::am;
use crate::ucp::wire::rndv::{Atp, Data};
use crate::ucp::worker::Worker;
use crate::ucs::status::{Error, Result, Status};
use crate::uct::Place;

/// Sending the payload.
pub struct Stream {
    source: Source,
    /// Our operation: the token of what it posts.
    op: u64,
    receiver_op: u64,
    /// Where it begins and ends in the buffer.
    start: usize,
    end: usize,
    /// The attempt that the receiver has asked for.
    asked: u32,
    /// The region that the bytes are of, if they are of one.
    memory: Option<Arc<Memory>>,
}

/// How far an attempt has come.
pub struct Attempt {
    number: u32,
    pieces: Pieces,
}

impl Stream {
    /// All bytes of `buf` from `start` on.
    pub fn new(buf: SendBuf, op: u64, receiver_op: u64, start: usize) -> Stream {
        Stream {
            end: buf.len(),
            source: Source {
                buf: Rc::new(buf),
                whole: 0,
            },
            op,
            receiver_op,
            start,
            asked: 0,
            memory: None,
        }
    }

    /// What the receiver wants.
    pub fn wanted(source: Source, wanted: &Wanted, op: u64) -> Stream {
        Stream::from(source, wanted, 0, op)
    }

    /// The same, but for the first `skip` bytes.
    pub fn from(source: Source, wanted: &Wanted, skip: usize, op: u64) -> Stream {
        Stream {
            source,
            op,
            receiver_op: wanted.receiver_op,
            start: wanted.offset + skip,
            end: wanted.offset + wanted.len,
            asked: wanted.attempt,
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

    /// Nothing more comes, although the endpoint lives: the receiver must not wait for it.
    fn tell_lost(&self, ep: &Rc<Endpoint>, error: Error) {
        if ep.failure().is_some() {
            return;
        }
        let status = Status::from(error);
        if self.memory.is_some() {
            return answer(ep, am::ONE_SIDED_ANSWER, self.receiver_op, status);
        }
        let atp = Atp {
            receiver_op: self.receiver_op,
            offset: self.start as u64,
            len: 0,
            attempt: self.asked,
            status: status.0,
        };
        send_atp(ep, &atp);
    }

    /// The attempt that the receiver has asked for.
    pub fn asked(&self) -> u32 {
        self.asked
    }

    /// Bytes of the whole message.
    pub fn whole_len(&self) -> usize {
        self.source.buf.len()
    }

    /// What it sends.
    pub fn into_source(self) -> Source {
        self.source
    }
}

impl Stage for Stream {
    type Attempt = Attempt;
    /// The operation that this is a part of.
    type Next = u64;

    fn begin(&self, _ep: &Rc<Endpoint>, number: u32) -> Result<Attempt> {
        Ok(Attempt {
            number: self.asked.wrapping_add(number),
            pieces: Pieces::from(self.start),
        })
    }

    fn progress(&self, attempt: &mut Attempt, ep: &Rc<Endpoint>) -> Result<Step> {
        let payload = Payload::<{ Data::LEN }> {
            buf: &self.source.buf,
            end: self.end,
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

    fn done(self) -> u64 {
        drop(self.memory);
        self.source.whole
    }

    fn outstanding(attempt: &Attempt) -> usize {
        attempt.pieces.outstanding()
    }

    fn ended(&self, attempt: &mut Attempt, _result: Result<()>) {
        attempt.pieces.completed();
    }
}

/// Acts on what became of a stream.
pub fn settle(worker: &Worker, req: ReqRef, ep: &Rc<Endpoint>, driven: Driven<Stream>) {
    match driven {
        Driven::Blocked(flight) => {
            req.set_op(Op::Stream(flight));
            ep.queue(req);
        }
        Driven::Waiting(flight) => req.set_op(Op::Stream(flight)),
        Driven::Next(whole) => sent(worker, req, whole, Ok(())),
        Driven::Ended(stage, error) => {
            let whole = stage.source.whole;
            stage.tell_lost(ep, error);
            drop(stage);
            sent(worker, req, whole, Err(error));
        }
    }
}

/// Something that a stream had posted has ended.
pub fn completed(
    worker: &Worker,
    req: ReqRef,
    ep: &Rc<Endpoint>,
    flight: Flight<Stream>,
    result: Result<()>,
) {
    if let Some(driven) = super::ended(req, ep, flight, result, Op::Stream) {
        settle(worker, req, ep, driven);
    }
}

/// `RNDV_DATA` as a whole message.
pub fn on_data(worker: &Worker, data: &[u8]) -> Option<()> {
    let (header, payload) = Data::decode(data)?;
    with_receive(worker, header.receiver_op, |receive| {
        let at = receive.place(header.attempt, header.offset, payload.len())?;
        receive.store(at, payload);
        Some(())
    })
}

/// Runs `f` on the receive with this id, and completes it when all bytes are there.
fn with_receive(
    worker: &Worker,
    op: u64,
    f: impl FnOnce(&mut Receive) -> Option<()>,
) -> Option<()> {
    let req = worker.op_by_id(op)?;
    let (ok, complete) = req.with_op(|op| {
        let receive = receive_of(op)?;
        Some((f(receive), receive.is_complete()))
    })??;
    if !complete {
        return ok;
    }
    match req.take_op() {
        Op::Receive(receive) => received(worker, req, receive),
        Op::Asked(asked) => received(worker, req, asked.into_receive()),
        op => req.set_op(op),
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
        let req = worker.op_by_id(header.receiver_op)?;
        req.with_op(|op| {
            let receive = receive_of(op)?;
            let at = receive.place(header.attempt, header.offset, total)?;
            place_in(receive, at + offset, total - offset.min(total))
        })?
    });
    found.unwrap_or(Place::Discard)
}

fn place_in(receive: &Receive, at: usize, len: usize) -> Option<Place> {
    let Some((pieces, _)) = receive.buf()?.pieces(at, len, 1) else {
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
        let at = receive.place(header.attempt, header.offset, total)?;
        receive.arrived(at, total);
        Some(())
    })
}
