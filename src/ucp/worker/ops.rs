//! Requests of this worker: making, naming and finishing them.

use core::ffi::c_void;
use std::rc::Rc;

use super::{Posted, ReqOptions, Worker};
use crate::ucp::ep::Endpoint;
use crate::ucp::request::{ReqRef, TagInfo, flag};
use crate::ucs::status::{Error, Result};

impl Worker {
    /// A request in flight. Its callback is set by [`Worker::settle`], when the post is over.
    pub fn new_request(&self, options: &ReqOptions) -> Result<ReqRef> {
        self.request_in(options.request)
    }

    /// The same: in the user's memory before `area`, or in ours if that is null.
    #[inline(always)]
    // The area is the user's, passed on by `ucp_*_nbx`.
    #[allow(unsafe_code, clippy::not_unsafe_ptr_arg_deref)]
    pub(in crate::ucp) fn request_in(&self, area: *mut c_void) -> Result<ReqRef> {
        if area.is_null() {
            return self.requests.get(self);
        }
        // SAFETY: the user gave this memory for the request, of the size that the context's
        // query told, with UCP_OP_ATTR_FIELD_REQUEST.
        unsafe { ReqRef::in_user_memory(area, self) }.ok_or(Error::InvalidParam)
    }

    /// What the post that made `req` returns. An operation that has ended meanwhile needs no
    /// callback, unless the user wants a request in any case.
    pub fn settle(&self, req: ReqRef, options: &ReqOptions) -> Result<Posted> {
        let status = req.status();
        if !req.has_flags(flag::COMPLETED) {
            req.set_callback(options.callback, options.user_data);
            return Ok(Posted::Later(req));
        }
        let info = req.info();
        if options.must_have_request {
            options
                .callback
                .call(req.area(), status, info, options.user_data);
            return Ok(Posted::Later(req));
        }
        req.free(&self.requests);
        Ok(Posted::Now(
            Error::from_code(status.0).map_or(Ok(()), Err),
            info,
        ))
    }

    /// What a post returns that needed no request to be done. `flags` are for the request that
    /// the user may want all the same.
    pub fn now(
        &self,
        options: &ReqOptions,
        result: Result<()>,
        info: TagInfo,
        flags: u32,
    ) -> Result<Posted> {
        if !options.must_have_request && options.request.is_null() {
            return Ok(Posted::Now(result, info));
        }
        // A request in the user's own memory is filled in even then: callers look at it without
        // asking what the post returned (OpenMPI 5 does).
        let req = self.new_request(options)?;
        req.add_flags(flags);
        req.set_info(info);
        req.complete(&self.requests, result.into());
        self.settle(req, options)
    }

    /// Gives the operation an id.
    pub fn name_op(&self, req: ReqRef) -> u64 {
        let id = self.ops.borrow_mut().insert(req);
        req.set_id(id);
        id
    }

    /// The operation's id is dead from now on.
    pub fn drop_name(&self, req: ReqRef) {
        if req.id() != 0 {
            self.ops.borrow_mut().remove(req.id());
            req.set_id(0);
        }
    }

    /// The operation with this id.
    pub fn op_by_id(&self, id: u64) -> Option<ReqRef> {
        self.ops.borrow().get(id)
    }

    /// The ids of all operations.
    pub fn op_ids(&self) -> Vec<u64> {
        self.ops.borrow().ids()
    }

    /// Ends an operation: its id dies, what it owned is let go, flushes are told, and the user.
    pub fn finish(&self, req: ReqRef, result: Result<()>) {
        req.drop_op();
        self.drop_name(req);
        let ep = req.take_ep();
        if let Some((ep, number)) = ep.filter(|(_, number)| *number != 0) {
            ep.op_ended(number);
        }
        req.complete(&self.requests, result.into());
    }

    /// All named operations of an endpoint.
    pub(in crate::ucp) fn named_of(&self, ep: &Rc<Endpoint>) -> Vec<ReqRef> {
        let ops = self.ops.borrow();
        let all = ops.ids().into_iter().filter_map(|id| ops.get(id));
        let of_it = |req: &ReqRef| req.ep().is_some_and(|other| Rc::ptr_eq(&other, ep));
        all.filter(of_it).collect()
    }

    /// Ends all named operations of an endpoint. Flushes are left: they end when these have.
    pub fn finish_all_of(&self, ep: &Rc<Endpoint>, error: Error) {
        let ids = self.ops.borrow().ids();
        for id in ids {
            // A callback may have ended others meanwhile.
            let Some(req) = self.op_by_id(id) else {
                continue;
            };
            if !req.ep().is_some_and(|other| Rc::ptr_eq(&other, ep)) {
                continue;
            }
            match req.take_op() {
                op @ crate::ucp::proto::Op::Flush(_) => req.set_op(op),
                op @ crate::ucp::proto::Op::Receive(_) if self.must_wait(ep, &op) => {
                    self.give_up(req, ep, op, error);
                }
                op => {
                    drop(op);
                    self.finish(req, Err(error));
                }
            }
        }
    }
}
