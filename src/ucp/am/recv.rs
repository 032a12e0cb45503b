//! Arriving active messages, and data received later.

use core::ffi::c_void;
use std::rc::Rc;

use super::desc::{DataBuf, Kind};
use super::{Assembly, Handler, HandlerFn, HandlerKind, RecvParam};
use crate::ucp::dt::RecvBuf;
use crate::ucp::ep::Endpoint;
use crate::ucp::proto::rndv::{self, ranges::Ranges};
use crate::ucp::request::TagInfo;
use crate::ucp::wire::amsg::{First, Head, Only};
use crate::ucp::wire::rndv::Rts;
use crate::ucp::wire::tag::Middle;
use crate::ucp::wire::{Identity, Origin, am};
use crate::ucp::worker::{Posted, ReqOptions, Worker};
use crate::ucs::status::{Error, Result, Status};

const ATTR_REPLY_EP: u64 = 1 << 0;
const ATTR_DATA: u64 = 1 << 16;
const ATTR_RNDV: u64 = 1 << 17;
/// `UCP_CB_PARAM_FLAG_DATA` of the old handlers.
const OLD_FLAG_DATA: u32 = 1;

/// A message as a handler gets it.
struct Incoming<'a> {
    reply_ep: Option<Rc<Endpoint>>,
    header: &'a [u8],
    data: *mut c_void,
    len: usize,
    attr: u64,
}

/// The handler of `id`; a warning if there is none.
fn handler_of(worker: &Worker, id: u16) -> Option<Handler> {
    let handler = worker.am.handler(id);
    if handler.is_none() {
        crate::ucs_warn!("dropped an active message of id {id}: no handler is set for it");
    }
    handler
}

/// The endpoint for a handler to answer on, if that was promised to the sender.
///
/// # Errors
/// `Canceled` if it was, and the user has closed that endpoint: such a message is dropped, as in UCX.
fn reply_ep(worker: &Worker, promised: Option<Origin>) -> Result<Option<Rc<Endpoint>>> {
    let Some(origin) = promised else {
        return Ok(None);
    };
    let ep = worker.endpoint_of(origin);
    let Some(ep) = ep.filter(|ep| !ep.is_given_back()) else {
        let name = worker.name_of(origin);
        crate::ucs_diag!(
            "{name}: dropped an active message, the endpoint to answer it on is closed"
        );
        return Err(Error::Canceled);
    };
    ep.lend();
    Ok(Some(ep))
}

/// Calls the user.
fn call(handler: Handler, message: &Incoming<'_>) -> Status {
    let (reply_ep, attr) = match &message.reply_ep {
        Some(ep) => (
            Rc::as_ptr(ep).cast_mut().cast(),
            message.attr | ATTR_REPLY_EP,
        ),
        None => (core::ptr::null_mut(), message.attr),
    };
    let param = RecvParam {
        recv_attr: attr,
        reply_ep,
    };
    // SAFETY: the user's function, called as the API describes it; header and data live for the
    // call, or longer where the attributes say so.
    unsafe {
        match handler.kind {
            HandlerKind::New(f) => f(
                handler.arg,
                if message.header.is_empty() {
                    core::ptr::null()
                } else {
                    message.header.as_ptr().cast()
                },
                message.header.len(),
                message.data,
                message.len,
                &param,
            ),
            HandlerKind::Old(_) if !message.header.is_empty() => {
                crate::ucs_warn!(
                    "dropped an active message with a header: its handler was set by \
                     ucp_worker_set_am_handler(), which knows none"
                );
                Status::OK
            }
            HandlerKind::Old(f) => {
                let flags = if attr & ATTR_DATA != 0 {
                    OLD_FLAG_DATA
                } else {
                    0
                };
                f(handler.arg, message.data, message.len, reply_ep, flags)
            }
        }
    }
}

/// Calls the user with data that may be kept.
fn call_with_block(
    worker: &Worker,
    handler: Handler,
    header: &[u8],
    reply_to: Option<Origin>,
    block: DataBuf,
) {
    let len = block.len();
    let Ok(reply_ep) = reply_ep(worker, reply_to) else {
        return;
    };
    let Some((status, block)) = lend(handler, header, reply_ep, block, ATTR_DATA) else {
        return;
    };
    // A receive or a release inside the handler has used it; else it is kept, or not wanted.
    if status == Status::INPROGRESS && !block.is_used() {
        core::mem::forget(block);
    } else if status.is_err() {
        crate::ucs_error!("a handler gave an error, {status:?}, for {len} bytes of eager data");
    }
}

/// Calls the user with a block, which comes back with what the handler returned.
fn lend(
    handler: Handler,
    header: &[u8],
    reply_ep: Option<Rc<Endpoint>>,
    block: DataBuf,
    attr: u64,
) -> Option<(Status, DataBuf)> {
    let len = block.len();
    block.set_in_handler(true);
    let data = block.into_raw();
    let message = Incoming {
        reply_ep,
        header,
        data,
        len,
        attr,
    };
    let status = call(handler, &message);
    // SAFETY: given to the user above; a receive or release inside the handler has left it.
    let block = unsafe { DataBuf::from_raw(data) }?;
    block.set_in_handler(false);
    Some((status, block))
}

/// An `AM_ONLY` has arrived.
pub fn on_only(worker: &Worker, bytes: &[u8]) -> Option<()> {
    let only = Only::decode(bytes)?;
    let Some(handler) = handler_of(worker, only.head.id) else {
        return Some(());
    };
    if handler.persistent || !worker.am.is_aligned(only.data) {
        return deliver_copy(worker, handler, &only);
    }
    if let (None, HandlerKind::New(f)) = (only.origin, handler.kind) {
        return deliver_in_place(f, handler.arg, &only);
    }
    let Ok(reply_ep) = reply_ep(worker, only.origin) else {
        return Some(());
    };
    let message = Incoming {
        reply_ep,
        header: only.header,
        data: only.data.as_ptr().cast_mut().cast(),
        len: only.data.len(),
        attr: 0,
    };
    if call(handler, &message) == Status::INPROGRESS {
        kept_in_vain();
    }
    Some(())
}

/// Calls the user for a message that asks for no reply, with the bytes where the transport has them.
#[inline(always)]
fn deliver_in_place(f: HandlerFn, arg: *mut c_void, only: &Only<'_>) -> Option<()> {
    let header = match only.header {
        [] => core::ptr::null(),
        header => header.as_ptr().cast(),
    };
    let data = only.data.as_ptr().cast_mut().cast();
    let param = RecvParam {
        recv_attr: 0,
        reply_ep: core::ptr::null_mut(),
    };
    // SAFETY: the user's function, called as the API describes it; all lives for the call.
    let status = unsafe {
        f(
            arg,
            header,
            only.header.len(),
            data,
            only.data.len(),
            &param,
        )
    };
    if status == Status::INPROGRESS {
        kept_in_vain();
    }
    Some(())
}

/// Calls the user with a copy, which may be kept and is aligned as the user wants it.
#[inline(never)]
fn deliver_copy(worker: &Worker, handler: Handler, only: &Only<'_>) -> Option<()> {
    let block = DataBuf::copy_of(only.data, worker.am.alignment()).ok()?;
    call_with_block(worker, handler, only.header, only.origin, block);
    Some(())
}

#[cold]
fn kept_in_vain() {
    crate::ucs_error!("a handler keeps data that it was not allowed to keep");
}

/// An `AM_FIRST` has arrived.
pub fn on_first(worker: &Worker, bytes: &[u8]) -> Option<()> {
    let (first, header, data) = First::decode(bytes)?;
    let total = usize::try_from(first.total)
        .ok()
        .filter(|total| data.len() < *total)?;
    let block = DataBuf::new(total, Kind::Data, worker.am.alignment()).ok()?;
    block.write(0, data);
    let assembly = Assembly {
        id: first.head.id,
        origin: first.identity.origin,
        reply: first.head.reply,
        header: header.into(),
        data: block,
        received: Ranges::first(data.len()),
    };
    worker
        .am
        .assemblies
        .borrow_mut()
        .insert(first.identity, assembly);
    for (offset, data) in worker.early.take(&first.identity) {
        fragment(worker, first.identity, offset, &data);
    }
    Some(())
}

/// An `AM_MIDDLE` has arrived.
pub fn on_middle(worker: &Worker, bytes: &[u8]) -> Option<()> {
    let (middle, data) = Middle::decode(bytes)?;
    let offset = usize::try_from(middle.offset).ok()?;
    let is_known = worker.am.assemblies.borrow().contains_key(&middle.identity);
    match is_known {
        true => fragment(worker, middle.identity, offset, data),
        false => worker.keep_early(&middle, data),
    }
}

/// A later fragment of a message whose first has come.
fn fragment(worker: &Worker, identity: Identity, offset: usize, data: &[u8]) -> Option<()> {
    let whole = {
        let mut assemblies = worker.am.assemblies.borrow_mut();
        let assembly = assemblies.get_mut(&identity)?;
        let total = assembly.data.len();
        if !assembly.received.add_new(offset, data.len(), total) {
            return None;
        }
        assembly.data.write(offset, data);
        if assembly.received.len() < total {
            return Some(());
        }
        assemblies.remove(&identity)?
    };
    let Some(handler) = handler_of(worker, whole.id) else {
        return Some(());
    };
    let reply_to = whole.reply.then_some(whole.origin);
    call_with_block(worker, handler, &whole.header, reply_to, whole.data);
    Some(())
}

/// An `AM_RTS` has arrived.
pub fn on_rts(worker: &Worker, bytes: &[u8]) -> Option<()> {
    let (rts, rest) = Rts::decode(bytes)?;
    let head = Head::from_bits(rts.tag);
    let header = rest.get(..head.header_len as usize)?;
    let len = usize::try_from(rts.total).ok()?;
    if rndv::again::is_known(worker, &rts) {
        return Some(());
    }
    let Some(handler) = handler_of(worker, head.id) else {
        refuse(worker, &rts, Error::InvalidParam.into());
        return Some(());
    };
    if let HandlerKind::Old(_) = handler.kind {
        crate::ucs_error!(
            "refused an active message by rendezvous: its handler was set by \
             ucp_worker_set_am_handler(), which has none"
        );
        refuse(worker, &rts, Error::InvalidParam.into());
        return Some(());
    }
    let reply_ep = match reply_ep(worker, head.reply.then_some(rts.identity.origin)) {
        Ok(reply_ep) => reply_ep,
        Err(error) => {
            refuse(worker, &rts, error.into());
            return Some(());
        }
    };
    let block = DataBuf::new(len, Kind::Rndv(Box::new(rts.clone())), 1).ok()?;
    let (status, block) = lend(handler, header, reply_ep, block, ATTR_RNDV)?;
    if block.is_used() {
        // The receive has all it needs.
        return Some(());
    }
    if status == Status::INPROGRESS {
        core::mem::forget(block);
        return Some(());
    }
    let answer = if status.is_err() { status } else { Status::OK };
    refuse(worker, &rts, answer);
    Some(())
}

/// The message is not wanted: the sender may let go of it.
fn refuse(worker: &Worker, rts: &Rts, status: Status) {
    match worker.endpoint_of(rts.identity.origin) {
        Some(ep) => rndv::answer(&ep, am::ATS, rts.op, status),
        None => crate::ucs_diag!("no endpoint to answer a rendezvous on"),
    }
}

/// The block behind a pointer that the user hands back, unless it has been used already.
///
/// # Safety
/// `data` was given to a handler as data that it may keep, and has not been released.
unsafe fn take_back(data: *mut c_void) -> Result<DataBuf> {
    // SAFETY: forwarded to the caller.
    let Some(block) = (unsafe { DataBuf::from_raw(data) }) else {
        crate::ucs_error!("{data:p} is no data of an active message that may be kept");
        return Err(Error::InvalidParam);
    };
    if block.mark_used() {
        crate::ucs_error!("the data of this active message have been received or released already");
        core::mem::forget(block);
        return Err(Error::InvalidParam);
    }
    Ok(block)
}

/// `ucp_am_recv_data_nbx`: receives data that a handler was given. The block is ours again.
///
/// # Safety
/// `data` was given to a handler as data that it may keep, and has not been released.
pub unsafe fn receive(
    worker: &Worker,
    data: *mut c_void,
    buf: RecvBuf,
    options: &ReqOptions,
) -> Result<Posted> {
    // SAFETY: forwarded to the caller.
    let block = unsafe { take_back(data) }?;
    let mut info = TagInfo {
        sender_tag: 0,
        length: block.len(),
    };
    match block.kind() {
        Kind::Data => {
            let result = if block.len() <= buf.len() {
                buf.unpack(0, block.bytes())
            } else {
                Err(Error::MessageTruncated)
            };
            drop(buf);
            block.free_after_use();
            worker.now(options, result, info, 0)
        }
        Kind::Rndv(rts) if buf.is_empty() => {
            // No room at all says that the data are not wanted.
            drop(buf);
            block.free_after_use();
            refuse(worker, &rts, Status::OK);
            info.length = 0;
            worker.now(options, Ok(()), info, 0)
        }
        Kind::Rndv(rts) => {
            block.free_after_use();
            let req = worker.new_request(options)?;
            req.set_info(info);
            // Later, since callers rely on a request: MPICH 5 stores its own in it after the call,
            // and when there is none calls its callback with one that it made up and we would free.
            rndv::receive_later(worker, req, buf, &rts);
            worker.settle(req, options)
        }
    }
}

/// `ucp_am_data_release`
///
/// # Safety
/// `data` was kept by a handler and has not been released.
pub unsafe fn release(worker: &Worker, data: *mut c_void) {
    // SAFETY: forwarded to the caller.
    let Ok(block) = (unsafe { take_back(data) }) else {
        return;
    };
    let kind = block.kind();
    block.free_after_use();
    if let Kind::Rndv(rts) = kind {
        refuse(worker, &rts, Status::OK);
    }
}
