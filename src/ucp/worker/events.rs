//! What the transports tell.

use super::Worker;
use crate::sys::cache;
use crate::ucp::ep::ErrorMode;
use crate::ucp::ep::rails::split_token;
use crate::ucp::proto::{self, Op, rndv};
use crate::ucp::tag::recv;
use crate::ucp::wire::am;
use crate::ucp::{amo, rma};
use crate::ucs::status::{Error, Result};
use crate::uct::{Events, Place};

impl Events for Worker {
    fn am(&self, id: u8, data: &[u8]) {
        if id != am::AM_ONLY {
            cache::expect_read(data);
        }
        let ok = match id {
            am::EAGER_ONLY => recv::on_eager_only(self, data),
            am::AM_ONLY => crate::ucp::am::recv::on_only(self, data),
            _ => self.other_message(id, data),
        };
        if ok.is_none() {
            self.bad_message(id, data.len());
        }
    }

    fn place(&self, id: u8, header: &[u8], offset: usize, total: usize) -> Place {
        match id {
            am::RNDV_DATA => rndv::stream::place(self, header, offset, total),
            am::PUT => rma::target::place(self, header, offset, total),
            am::RNDV_PUT => rndv::put::place(self, header, offset, total),
            am::NUMBERED => self.place_numbered(header, offset, total),
            _ => Place::Copy,
        }
    }

    fn placed(&self, id: u8, header: &[u8], total: usize) {
        if id == am::NUMBERED && self.placed_numbered(header, total).is_none() {
            return self.bad_message(id, total);
        }
        if matches!(id, am::PUT | am::RNDV_PUT) {
            self.hold_placed(None);
        }
        if id == am::RNDV_DATA && rndv::stream::placed(self, header, total).is_none() {
            self.bad_message(id, total);
        }
    }

    fn place_put(&self, key: u64, address: u64, offset: usize, total: usize) -> Place {
        rma::target::place_put(self, key, address, offset, total)
    }

    fn put_written(&self) {
        self.hold_placed(None);
    }

    fn completed(&self, token: u64, result: Result<()>) {
        let Some(req) = self.op_by_id(token) else {
            return;
        };
        let Some(ep) = req.ep() else { return };
        match req.take_op() {
            Op::Stream(flight) => rndv::stream::completed(self, req, &ep, flight, result),
            Op::RndvPut(flight) => rndv::put::completed(self, req, &ep, flight, result),
            Op::Drain(drain) => drain.completed(req, &ep, result),
            Op::StreamSend(mut flight) => {
                flight.account(|_, attempt| attempt.completed());
                if let Err(error) = result {
                    drop(flight.end());
                    return self.finish(req, Err(error));
                }
                req.set_op(Op::StreamSend(flight));
                if !ep.is_queued(req) {
                    ep.resume(req);
                }
            }
            Op::Fetch(flight) => rndv::fetch_completed(self, req, flight, result),
            Op::Put(flight) => proto::rma::put::completed(self, req, &ep, flight, result),
            Op::Get(flight) => proto::rma::get::completed(self, req, &ep, flight, result),
            Op::EagerZcopy(flight) => {
                drop(flight.end());
                self.finish(req, result);
            }
            op @ Op::Flush(_) => {
                req.set_op(op);
                ep.lane_flushed(req, result);
            }
            other => req.set_op(other),
        }
    }

    fn pauses(&self) -> bool {
        self.pause.replace(false)
    }

    /// Who handles errors is told. Otherwise only what is awaited of the peer fails, and the endpoint
    /// may be of use again where that is nothing.
    fn peer_left(&self, ep_token: u64) {
        if Self::is_link_lane(ep_token) {
            return;
        }
        let (token, _) = split_token(ep_token);
        let ep = self.endpoints.borrow().get(token).cloned();
        let Some(ep) = ep.filter(|ep| ep.failure().is_none()) else {
            return;
        };
        let handles = ep.is_owned() && ep.error_mode() != ErrorMode::None;
        if handles || ep.is_lingering() || ep.awaits_peer() || ep.awaits_bytes() {
            ep.fail(Error::ConnectionReset);
        }
    }

    fn ep_failed(&self, ep_token: u64, error: Error) {
        if self.link_lane_failed(ep_token, error) {
            return;
        }
        let (token, lane) = split_token(ep_token);
        let ep = self.endpoints.borrow().get(token).cloned();
        match (ep, lane) {
            (Some(ep), Some(lane)) => ep.lane_failed(lane, error),
            (Some(ep), None) if ep.try_another_way(error) => {}
            (Some(ep), None) => ep.fail(error),
            (None, _) => {}
        }
    }
}

impl Worker {
    fn other_message(&self, id: u8, data: &[u8]) -> Option<()> {
        match id {
            am::EAGER_FIRST => recv::on_first(self, data, false),
            am::EAGER_MIDDLE => recv::on_middle(self, data),
            am::SYNC_ONLY => recv::on_sync_only(self, data),
            am::SYNC_FIRST => recv::on_first(self, data, true),
            am::RTS => recv::on_rts(self, data),
            am::RTR => rndv::on_rtr(self, data),
            am::ATS | am::SYNC_ACK => rndv::on_answer(self, data),
            am::RNDV_DATA => rndv::stream::on_data(self, data),
            am::ATP => rndv::on_atp(self, data),
            am::RNDV_PUT => rndv::put::on_put(self, data),
            am::RNDV_ABORT => rndv::on_abort(self, data),
            am::AM_FIRST => crate::ucp::am::recv::on_first(self, data),
            am::AM_MIDDLE => crate::ucp::am::recv::on_middle(self, data),
            am::AM_RTS => crate::ucp::am::recv::on_rts(self, data),
            am::STREAM => crate::ucp::stream::recv::on_data(self, data),
            am::PUT => rma::target::on_put(self, data),
            am::GET => rma::target::on_get(self, data),
            am::ATOMIC => amo::target::on_atomic(self, data),
            am::ATOMIC_REPLY => amo::target::on_reply(self, data),
            am::FLUSH => rma::target::on_flush(self, data),
            am::ONE_SIDED_ANSWER => rma::answer::on_answer(self, data),
            am::NUMBERED => self.on_numbered(data),
            am::LINK => self.on_link(data),
            am::WIREUP => crate::ucp::wireup::on_message(self, data),
            _ => None,
        }
    }

    #[cold]
    fn bad_message(&self, id: u8, len: usize) {
        crate::ucs_diag!(
            "{}: dropped a message of type {id}, {len} bytes: stale or malformed",
            self.name
        );
    }
}
