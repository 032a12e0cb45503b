//! Get: by loads, by a lane, or by asking the target for the bytes.

use core::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use super::{Posted, is_devices, is_refusal};
use crate::ucp::dt::RecvBuf;
use crate::ucp::ep::{Endpoint, Message};
use crate::ucp::proto::rndv::Receive;
use crate::ucp::proto::{Driven, Flight, Op, Stage, Step};
use crate::ucp::request::ReqRef;
use crate::ucp::rkey::RemoteKey;
use crate::ucp::rma::order::{InFlight, Kind};
use crate::ucp::rma::{Way, device_reader};
use crate::ucp::wire::{Identity, Writer, am, rma};
use crate::ucp::worker::Worker;
use crate::ucs::status::{Error, Result};
use crate::uct::Post;

/// Reading.
pub struct Get {
    buf: RecvBuf,
    key: Arc<RemoteKey>,
    remote: u64,
    way: Way,
    /// Our operation: the token of what it posts, and the name for answers.
    op: u64,
    /// Bytes that are certainly there.
    confirmed: Cell<usize>,
    /// What the target was asked under.
    identity: Cell<Option<Identity>>,
}

/// The lane in use.
pub struct Attempt {
    posted: Option<Posted>,
    _count: InFlight,
}

/// The target has been asked: the bytes come as `RNDV_DATA`.
pub struct Asked {
    pub receive: Receive,
    request: rma::Get,
    _key: Arc<RemoteKey>,
    _count: InFlight,
}

impl Asked {
    /// The data are there: what else it held is let go.
    pub fn into_receive(self) -> Receive {
        self.receive
    }

    /// The request once more, for what has not come, with its number.
    pub fn message(&self) -> (u64, Message) {
        let request = rma::Get {
            offset: self.receive.received() as u64,
            ..self.request
        };
        let message = Message::new(am::GET, rma::Get::LEN, |w| request.encode(w));
        (request.identity.seq, message)
    }
}

impl Get {
    pub fn new(buf: RecvBuf, key: Arc<RemoteKey>, remote: u64, way: Way, op: u64) -> Get {
        Get {
            buf,
            key,
            remote,
            way,
            op,
            confirmed: Cell::new(0),
            identity: Cell::new(None),
        }
    }

    fn completed(&self, attempt: &mut Attempt) {
        if let Some(posted) = attempt.posted.as_mut() {
            let len = core::mem::take(&mut posted.len);
            self.confirmed.set(self.confirmed.get() + len);
        }
    }

    fn into_message(self) -> Get {
        Get {
            way: Way::Message,
            ..self
        }
    }

    fn load(&self) -> Result<Step> {
        let src = self.key.mapped(self.remote, self.buf.len());
        self.buf.copy_from(src.ok_or(Error::InvalidAddr)?)?;
        Ok(Step::Done)
    }

    fn by_lane(&self, posted: &mut Posted, ep: &Endpoint) -> Result<Step> {
        if posted.len != 0 {
            return Ok(Step::Waiting);
        }
        let total = self.buf.len();
        while self.confirmed.get() < total {
            let at = self.confirmed.get();
            let pieces = match self.key.device() {
                Some(_) => self.buf.device_pieces(at, total - at),
                None => self.buf.pieces(at, total - at, ep.config().fetch_max_iov),
            };
            let (pieces, n) = pieces.filter(|(_, n)| *n != 0).ok_or(Error::Unsupported)?;
            let remote = self.remote.wrapping_add(at as u64);
            match posted
                .lane
                .get_zcopy(&pieces, remote, posted.rkey, self.op)?
            {
                Post::Done => self.confirmed.set(at + n),
                Post::NoResource => return Ok(Step::Blocked),
                Post::Pending => {
                    posted.len = n;
                    return Ok(Step::Waiting);
                }
            }
        }
        Ok(Step::Done)
    }

    fn request(&self, identity: Identity) -> rma::Get {
        rma::Get {
            identity,
            op: self.op,
            region: self.key.region(),
            address: self.remote,
            len: self.buf.len() as u64,
            offset: self.confirmed.get() as u64,
        }
    }

    fn ask(&self, ep: &Endpoint) -> Result<Step> {
        // Numbered when it leaves: numbers must arrive in order.
        let identity = ep.next_identity();
        let request = self.request(identity);
        let post = ep.am_lane().am_bcopy(am::GET, rma::Get::LEN, &mut |dst| {
            let mut w = Writer::new(dst);
            request.encode(&mut w);
            w.len()
        })?;
        if post == Post::NoResource {
            return Ok(Step::Blocked);
        }
        self.identity.set(Some(identity));
        Ok(Step::Done)
    }

    fn asked(self, ep: &Rc<Endpoint>) -> Option<Asked> {
        let request = self.request(self.identity.get()?);
        let total = self.buf.len();
        Some(Asked {
            receive: Receive::new(self.buf, self.confirmed.get(), total),
            request,
            _key: self.key,
            _count: ep.count_one_sided(Kind::Unordered),
        })
    }
}

impl Stage for Get {
    type Attempt = Attempt;
    /// All is there, unless the target had to be asked.
    type Next = Get;

    fn begin(&self, ep: &Rc<Endpoint>, _number: u32) -> Result<Attempt> {
        let posted = match self.way {
            Way::Lane => {
                let plain = || Some((ep.fetch_lane()?, 0));
                let lane = device_reader(ep, &self.key).or_else(plain);
                let (lane, rkey) = lane.ok_or(Error::Unsupported)?;
                Some(Posted::new(lane, rkey, self.op))
            }
            Way::Mapped | Way::Message | Way::Rails => None,
        };
        Ok(Attempt {
            posted,
            _count: ep.count_one_sided(Kind::Unordered),
        })
    }

    fn progress(&self, attempt: &mut Attempt, ep: &Rc<Endpoint>) -> Result<Step> {
        match (self.way, attempt.posted.as_mut()) {
            (Way::Mapped, _) => self.load(),
            (Way::Lane, Some(posted)) => self.by_lane(posted, ep),
            _ => self.ask(ep),
        }
    }

    fn done(self) -> Get {
        self
    }
}

/// Acts on what became of a get.
pub fn settle(worker: &Worker, req: ReqRef, ep: &Rc<Endpoint>, driven: Driven<Get>) {
    match driven {
        Driven::Blocked(flight) => {
            req.set_op(Op::Get(flight));
            ep.queue(req);
        }
        Driven::Waiting(flight) => req.set_op(Op::Get(flight)),
        Driven::Next(get) => match get.asked(ep) {
            Some(asked) => req.set_op(Op::Asked(asked)),
            None => worker.finish(req, Ok(())),
        },
        Driven::Ended(get, error)
            if get.way == Way::Lane && (is_refusal(error) || is_devices(ep, &get.key)) =>
        {
            // What one device can't reach another may.
            if get.key.device().is_none() {
                ep.forget_fetch_lane();
            }
            req.set_op(Op::Get(Flight::new(get.into_message())));
            ep.announce();
            ep.submit(req);
        }
        Driven::Ended(get, error) => {
            drop(get);
            ep.one_sided_failed(req, error);
        }
    }
}

/// What a get had posted has ended.
pub fn completed(
    worker: &Worker,
    req: ReqRef,
    ep: &Rc<Endpoint>,
    mut flight: Flight<Get>,
    result: Result<()>,
) {
    let driven = match result {
        Ok(()) => {
            flight.account(Get::completed);
            flight.drive(ep)
        }
        Err(error) => flight.lane_failed(error, ep),
    };
    settle(worker, req, ep, driven);
}
