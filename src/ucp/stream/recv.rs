//! Receiving stream bytes: by request, as they lie, and what arriving ones do.

use core::ffi::c_void;
use std::rc::Rc;

use super::{Stream, StreamRecv};
use crate::ucp::am::desc::DataBuf;
use crate::ucp::dt::RecvBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::request::{ReqRef, TagInfo, flag};
use crate::ucp::wire::stream;
use crate::ucp::worker::{Posted, ReqOptions, Worker};
use crate::ucs::status::{Error, Result};

fn info(length: usize) -> TagInfo {
    TagInfo {
        length,
        ..TagInfo::default()
    }
}

/// Receives bytes into `buf`: as many whole elements (of `element` bytes) as there are, one at
/// least, or with `wait_all` as many as the buffer holds. Bytes that have arrived are received
/// also when the connection has failed since.
pub fn post(
    ep: &Rc<Endpoint>,
    buf: RecvBuf,
    element: usize,
    wait_all: bool,
    options: &ReqOptions,
) -> Result<Posted> {
    let mut recv = StreamRecv::new(buf, element, wait_all);
    let enough = ep.with_stream(|stream| {
        let take = recv.complete_with(stream.available)?;
        Some(stream.fill(&mut recv, take))
    });
    if let Some(result) = enough {
        let got = info(recv.filled);
        drop(recv);
        return ep.worker().now(options, result, got, flag::RECV);
    }
    ep.check_usable()?;
    if options.force_immediate {
        return Err(Error::NoResource);
    }
    let req = ep.worker().new_request(options)?;
    req.add_flags(flag::RECV);
    req.set_callback(options.callback, options.user_data);
    let result = ep.with_stream(|stream| {
        stream.fill(&mut recv, usize::MAX)?;
        stream.posted.push_back((req, recv));
        Ok(())
    });
    if let Err(error) = result {
        req.free(&ep.worker().requests);
        return Err(error);
    }
    ep.worker().awaits_bytes.set(true);
    if let Err(error) = ep.am_lane().connect() {
        ep.fail(error);
    }
    Ok(Posted::Later(req))
}

/// What is left of the next message, for the user to look at and [`release`]; `None` if there is none.
pub fn take_data(ep: &Rc<Endpoint>) -> Result<Option<(*mut c_void, usize)>> {
    let Some(data) = ep.with_stream(Stream::take)? else {
        return Ok(None);
    };
    let len = data.len();
    Ok(Some((data.into_raw(), len)))
}

/// Lets go of bytes from [`take_data`].
///
/// # Safety
/// `data` is NULL, or came from [`take_data`] and is released once.
#[allow(unsafe_code)]
pub unsafe fn release(data: *mut c_void) {
    // SAFETY: forwarded to the caller.
    drop(unsafe { DataBuf::from_raw(data) });
}

/// Stream bytes have arrived.
pub fn on_data(worker: &Worker, message: &[u8]) -> Option<()> {
    let (origin, mut bytes) = stream::decode(message)?;
    let ep = worker.endpoint_of(origin)?;
    if ep.is_lingering() {
        // Nobody will read it.
        return Some(());
    }
    while !bytes.is_empty() {
        let next = ep.with_stream(|stream| match stream.posted.pop_front() {
            Some(next) => Ok(next),
            None => Err((stream.keep(bytes), stream.listed)),
        });
        let (req, mut recv) = match next {
            Ok(next) => next,
            Err((Ok(()), listed)) => {
                if !listed {
                    ep.list_stream();
                }
                return Some(());
            }
            Err((Err(error), _)) => {
                lost(&ep, bytes.len(), error);
                return Some(());
            }
        };
        let (n, result) = recv.take_in(bytes);
        if result.is_ok() && !recv.is_complete() {
            ep.with_stream(|stream| stream.posted.push_front((req, recv)));
            return Some(());
        }
        bytes = bytes.get(n..).unwrap_or_default();
        let filled = recv.filled;
        drop(recv);
        complete(worker, req, filled, result);
        if bytes.is_empty() {
            // Most users post their next receive now, which saves the next bytes a copy.
            let last = ep.with_stream(|stream| stream.posted.is_empty());
            worker.pause.set(last);
        }
    }
    Some(())
}

/// Ends a receive, which has neither a name nor an endpoint to account to.
fn complete(worker: &Worker, req: ReqRef, filled: usize, result: Result<()>) {
    req.set_info(info(filled));
    req.complete_contig(&worker.requests, result.into());
}

/// There was no memory for bytes that have arrived.
#[cold]
fn lost(ep: &Rc<Endpoint>, len: usize, error: Error) {
    crate::ucs_error!("no memory for {len} stream bytes from {}", ep.peer_name());
    ep.fail(error);
}

impl Endpoint {
    /// Works on the receiving side of the stream; `f` must not call the user.
    pub(super) fn with_stream<T>(&self, f: impl FnOnce(&mut Stream) -> T) -> T {
        let mut stream = self.stream().borrow_mut();
        f(stream.get_or_insert_default())
    }

    fn has_no_stream(&self) -> bool {
        let stream = self.stream_so_far();
        stream.is_none_or(|stream| stream.borrow().is_none())
    }

    /// Enters the endpoint into the worker's list if it has data and a user.
    pub fn list_stream(&self) {
        if !self.is_owned() || self.has_no_stream() {
            return;
        }
        let fresh = self.with_stream(|stream| {
            !stream.chunks.is_empty() && !core::mem::replace(&mut stream.listed, true)
        });
        if fresh {
            self.worker()
                .stream_ready
                .borrow_mut()
                .push_back(self.token());
        }
    }

    /// Ends the receives that wait, and drops bytes that nobody will ask for any more.
    pub(in crate::ucp) fn end_stream(&self, error: Error, drop_data: bool) {
        if self.has_no_stream() {
            return;
        }
        while let Some((req, recv)) = self.with_stream(|stream| stream.posted.pop_front()) {
            let filled = recv.filled;
            drop(recv);
            complete(self.worker(), req, filled, Err(error));
        }
        if drop_data {
            self.stream().take();
        }
    }
}

impl Worker {
    /// Endpoints with stream data that has not been told of, `max` at most.
    pub fn poll_streams(&self, max: usize) -> Vec<Rc<Endpoint>> {
        let mut found = Vec::new();
        while found.len() < max {
            let Some(token) = self.stream_ready.borrow_mut().pop_front() else {
                break;
            };
            let Some(ep) = self.endpoint_by_token(token) else {
                continue;
            };
            let has_data = ep.with_stream(|stream| {
                stream.listed = false;
                !stream.chunks.is_empty()
            });
            if has_data && ep.is_owned() {
                found.push(ep);
            }
        }
        found
    }
}
