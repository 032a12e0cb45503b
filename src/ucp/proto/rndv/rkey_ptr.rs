//! Rendezvous by rkey_ptr: the receiver maps the sender's memory and copies from it. For memory
//! that we allocated so that others of the host can map it.

use core::cell::Cell;
use std::rc::Rc;

use super::get::{Ack, remote_of};
use crate::sys::usermem::UserMem;
use crate::ucp::dt::RecvBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::proto::key::{Key, OwnedKey};
use crate::ucp::proto::{Driven, Op, Stage, Step};
use crate::ucp::request::ReqRef;
use crate::ucp::wire::rndv::Rts;
use crate::ucp::worker::Worker;
use crate::ucs::status::{Error, Result};

/// Copying.
pub struct Load {
    buf: RecvBuf,
    key: Key,
    sender_op: u64,
    address: u64,
    total: usize,
    /// Bytes that are copied at a time (`UCX_RKEY_PTR_SEG_SIZE`).
    step: usize,
    copied: Cell<usize>,
}

impl Load {
    pub fn new(worker: &Worker, buf: RecvBuf, rts: &Rts, total: usize, step: usize) -> Load {
        Load {
            buf,
            key: Key::Owned(OwnedKey::unpack(remote_of(rts, total), worker.keys())),
            sender_op: rts.op,
            address: rts.address,
            total,
            step: step.max(1),
            copied: Cell::new(0),
        }
    }
}

impl Stage for Load {
    /// The memory as it is mapped here, for as long as the key lives.
    type Attempt = UserMem;
    type Next = Ack;

    fn begin(&self, ep: &Rc<Endpoint>, _number: u32) -> Result<UserMem> {
        let context = ep.worker().context();
        let mapped = self.key.mapped(context, self.address, self.total);
        mapped.ok_or(Error::Unsupported)
    }

    fn progress(&self, mapped: &mut UserMem, _ep: &Rc<Endpoint>) -> Result<Step> {
        let at = self.copied.get();
        let part = mapped.part(at, self.step);
        self.buf.copy_part(at, part)?;
        self.copied.set(at + part.len());
        Ok(match self.copied.get() < self.total {
            true => Step::Blocked,
            false => Step::Done,
        })
    }

    fn done(self) -> Ack {
        drop(self.key);
        Ack {
            sender_op: self.sender_op,
            part: None,
        }
    }
}

/// Acts on what became of it.
pub fn settle(worker: &Worker, req: ReqRef, ep: &Rc<Endpoint>, driven: Driven<Load>) {
    match driven {
        Driven::Blocked(flight) | Driven::Waiting(flight) => {
            req.set_op(Op::Load(flight));
            ep.queue(req);
        }
        Driven::Next(ack) => super::fetched(worker, req, ep, ack, Ok(())),
        Driven::Ended(load, Error::Unsupported) => {
            let ask = super::rtr::Ask {
                sender_op: load.sender_op,
                offset: 0,
                len: load.total,
                attempt: 0,
                got: 0,
                part: None,
            };
            super::rtr::ask(worker, req, load.buf, ask);
        }
        // A generic datatype refuses its bytes.
        Driven::Ended(load, error) => super::fetched(worker, req, ep, load.done(), Err(error)),
    }
}
