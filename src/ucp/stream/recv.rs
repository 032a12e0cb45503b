//! Receiving stream bytes: by request, as they lie, and what arriving ones do.

use core::ffi::c_void;
use std::rc::Rc;

use super::{Chunk, Stream, StreamRecv};
use crate::ucp::am::desc::DataBuf;
use crate::ucp::dt::RecvBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::proto::Op;
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
    let available = ep.with_stream(|stream| stream.available);
    let complete = recv.is_complete_with(available.min(recv.buf.len()));
    let whole = available.min(recv.room()) / recv.element * recv.element;
    let enough = complete || !wait_all && whole != 0;
    if enough {
        let take = if complete { recv.room() } else { whole };
        let result = ep.with_stream(|stream| fill(stream, &mut recv, take));
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
        stream.posted.push_back(req);
        fill(stream, &mut recv, usize::MAX)
    });
    req.set_op(Op::StreamRecv(recv));
    match result {
        Ok(()) => Ok(Posted::Later(req)),
        Err(error) => {
            ep.with_stream(|stream| stream.posted.retain(|other| *other != req));
            req.drop_op();
            req.free(&ep.worker().requests);
            Err(error)
        }
    }
}

/// Moves up to `max` bytes that have arrived into a receive.
fn fill(stream: &mut Stream, recv: &mut StreamRecv, max: usize) -> Result<()> {
    let mut left = max;
    while let Some(chunk) = stream.chunks.front_mut() {
        let bytes = chunk.rest();
        let bytes = bytes.get(..bytes.len().min(left)).unwrap_or_default();
        let (n, result) = recv.take_in(bytes);
        chunk.taken += n;
        left -= n;
        stream.available = stream.available.saturating_sub(n);
        if chunk.rest().is_empty() {
            stream.chunks.pop_front();
        }
        result?;
        if n == 0 {
            break;
        }
    }
    Ok(())
}

/// The next bytes as they have arrived, for the user to look at and [`release`]; `None` if there
/// are none.
pub fn take_data(ep: &Rc<Endpoint>) -> Result<Option<(*mut c_void, usize)>> {
    let chunk = ep.with_stream(|stream| {
        let chunk = stream.chunks.pop_front()?;
        stream.available = stream.available.saturating_sub(chunk.rest().len());
        Some(chunk)
    });
    let Some(chunk) = chunk else { return Ok(None) };
    let data = match chunk.taken {
        0 => chunk.data,
        _ => DataBuf::copy_of(chunk.rest(), 1)?,
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
    while let Some(req) = ep.with_stream(|stream| stream.posted.front().copied()) {
        let Op::StreamRecv(mut recv) = req.take_op() else {
            ep.with_stream(|stream| stream.posted.pop_front());
            continue;
        };
        let (n, result) = recv.take_in(bytes);
        bytes = bytes.get(n..).unwrap_or_default();
        if result.is_ok() && !recv.is_complete_with(recv.filled) {
            req.set_op(Op::StreamRecv(recv));
            return Some(());
        }
        ep.with_stream(|stream| stream.posted.pop_front());
        complete(&ep, req, recv.filled, result);
        if bytes.is_empty() {
            // Most users post their next receive now, which saves the next bytes a copy.
            let last = ep.with_stream(|stream| stream.posted.is_empty());
            worker.pause.set(last);
            return Some(());
        }
    }
    keep(&ep, bytes);
    Some(())
}

fn complete(ep: &Endpoint, req: ReqRef, filled: usize, result: Result<()>) {
    req.set_info(info(filled));
    ep.worker().finish(req, result);
}

/// Keeps bytes that nobody has asked for.
fn keep(ep: &Rc<Endpoint>, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    match DataBuf::copy_of(bytes, 1) {
        Ok(data) => {
            ep.with_stream(|stream| {
                stream.available += data.len();
                stream.chunks.push_back(Chunk { data, taken: 0 });
            });
            ep.list_stream();
        }
        Err(error) => {
            crate::ucs_error!(
                "no memory for {} stream bytes from {}",
                bytes.len(),
                ep.peer_name()
            );
            ep.fail(error);
        }
    }
}

impl Endpoint {
    /// Works on the receiving side of the stream; `f` must not call the user.
    pub(super) fn with_stream<T>(&self, f: impl FnOnce(&mut Stream) -> T) -> T {
        let mut stream = self.stream.borrow_mut();
        f(stream.get_or_insert_default())
    }

    /// Enters the endpoint into the worker's list if it has data and a user.
    pub fn list_stream(&self) {
        if !self.is_owned() || self.stream.borrow().is_none() {
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
        if self.stream.borrow().is_none() {
            return;
        }
        while let Some(req) = self.with_stream(|stream| stream.posted.pop_front()) {
            let filled = match req.take_op() {
                Op::StreamRecv(recv) => recv.filled,
                _ => 0,
            };
            complete(self, req, filled, Err(error));
        }
        if drop_data {
            *self.stream.borrow_mut() = None;
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
