//! The target's side of operations that arrive as messages. Nothing that a message says is
//! believed: the region must be registered now, and the place inside of it.

use core::ptr::NonNull;
use std::sync::Arc;

use crate::sys::usermem::UserMem;
use crate::ucp::mem::Memory;
use crate::ucp::proto::eager::send_piece;
use crate::ucp::proto::rndv::{Stream, answer};
use crate::ucp::proto::{Flight, Op};
use crate::ucp::request::flag;
use crate::ucp::wire::rma::{Flush, Get, Put};
use crate::ucp::wire::rndv::Data;
use crate::ucp::wire::{Origin, Writer, am};
use crate::ucp::worker::{ReqOptions, Worker};
use crate::ucs::status::{Error, Result, Status};
use crate::uct::Place;

/// The bytes that a message names, with the region that holds them.
pub fn find(
    worker: &Worker,
    region: u64,
    address: u64,
    len: u64,
) -> Result<(Arc<Memory>, UserMem)> {
    let memory = worker.context().regions.find(region);
    let memory = memory.ok_or(Error::InvalidAddr)?;
    let len = usize::try_from(len).map_err(|_| Error::InvalidAddr)?;
    let mem = memory.slice(address, len).ok_or(Error::InvalidAddr)?;
    Ok((memory, mem))
}

/// An operation could not be carried out; the origin learns it from its next flush.
pub fn refuse(worker: &Worker, origin: Origin, what: &str, address: u64, error: Error) {
    let ep = worker.endpoint_of(origin);
    let first = ep.is_none_or(|ep| {
        let refused = &ep.order().refused;
        let first = refused.get().is_none();
        if first {
            refused.set(Some(error));
        }
        first
    });
    if first {
        let peer = worker.name_of(origin);
        crate::ucs_error!("refused a {what} at {address:#x} from {peer}: {error}");
    }
}

/// `PUT` as a whole message.
pub fn on_put(worker: &Worker, data: &[u8]) -> Option<()> {
    let (put, payload) = Put::decode(data)?;
    match find(worker, put.region, put.address, payload.len() as u64) {
        Ok((memory, mem)) => {
            if let Err(error) = memory.store(mem, payload) {
                refuse(worker, put.origin, "put", put.address, error);
            }
        }
        Err(error) => refuse(worker, put.origin, "put", put.address, error),
    }
    Some(())
}

/// Where a transport may write the payload of a `PUT` directly.
pub fn place(worker: &Worker, header: &[u8], offset: usize, total: usize) -> Place {
    let Some((put, _)) = Put::decode(header) else {
        return Place::Discard;
    };
    match find(worker, put.region, put.address, total as u64) {
        Ok((memory, _)) if memory.owner().is_some() => Place::Copy,
        Ok((memory, mem)) => {
            let rest = mem.part(offset, total);
            // The transport writes until it calls again; so long the region must stay.
            worker.hold_placed(Some(memory));
            match NonNull::new(rest.ptr()) {
                Some(at) => Place::Buffer(at, rest.len()),
                None => Place::Discard,
            }
        }
        Err(error) => {
            refuse(worker, put.origin, "put", put.address, error);
            Place::Discard
        }
    }
}

/// Where a transport may write a put of a rendezvous: to memory that was exposed under this key,
/// and still is.
pub fn place_put(worker: &Worker, key: u64, address: u64, offset: usize, total: usize) -> Place {
    match find(worker, key, address, total as u64) {
        Ok((memory, _)) if memory.owner().is_some() => Place::Discard,
        Ok((memory, mem)) => {
            let rest = mem.part(offset, total);
            worker.hold_placed(Some(memory));
            match NonNull::new(rest.ptr()) {
                Some(at) => Place::Buffer(at, rest.len()),
                None => Place::Discard,
            }
        }
        Err(error) => {
            crate::ucs_debug!("dropped {total} bytes for {address:#x}, key {key:#x}: {error}");
            Place::Discard
        }
    }
}

/// `GET`: sends the bytes, or says why not.
pub fn on_get(worker: &Worker, data: &[u8]) -> Option<()> {
    let get = Get::decode(data)?;
    // Without a way back it is left alone. The origin asks again when it learns that our
    // endpoint is gone.
    let ep = worker.endpoint_to_answer(get.identity.origin)?;
    if !ep.order().serve(get.identity.seq) {
        return None;
    }
    let found = find(worker, get.region, get.address, get.len);
    let start = usize::try_from(get.offset).unwrap_or(usize::MAX);
    let found = found.and_then(|(memory, mem)| match start < mem.len() {
        true => Ok((memory.source(mem)?, memory, mem)),
        false => Err(Error::InvalidParam),
    });
    let (buf, memory, mem) = match found {
        Ok(found) => found,
        Err(error) => {
            let at = get.address;
            crate::ucs_error!("refused a get at {at:#x} from {}: {error}", ep.peer_name());
            answer(&ep, am::ONE_SIDED_ANSWER, get.op, error.into());
            return Some(());
        }
    };
    let left = mem.len() - start;
    if !ep.is_blocked() && left + Data::LEN <= ep.config().bcopy_max {
        let header = Data {
            receiver_op: get.op,
            offset: get.offset,
            attempt: 0,
        };
        let encode = |w: &mut Writer<'_>| header.encode(w);
        let sent = send_piece(&ep, am::RNDV_DATA, Data::LEN, encode, &buf, start, left);
        match sent {
            Ok(Some(_)) => return Some(()),
            Ok(None) => {}
            Err(error) => {
                ep.fail(error);
                return Some(());
            }
        }
    }
    let Ok(req) = worker.new_request(&ReqOptions::default()) else {
        answer(&ep, am::ONE_SIDED_ANSWER, get.op, Error::NoMemory.into());
        return Some(());
    };
    req.add_flags(flag::RELEASED);
    ep.service_started(req);
    let id = worker.name_op(req);
    let stream = Stream::new(buf, id, get.op, start).holding(memory);
    req.set_op(Op::Stream(Flight::new(stream)));
    ep.submit(req);
    Some(())
}

/// `FLUSH`: what came before has been carried out as it arrived.
pub fn on_flush(worker: &Worker, data: &[u8]) -> Option<()> {
    let flush = Flush::decode(data)?;
    // As for a get.
    let ep = worker.endpoint_to_answer(flush.origin)?;
    let status = ep.order().refused.take().map_or(Status::OK, Status::from);
    answer(&ep, am::ONE_SIDED_ANSWER, flush.op, status);
    Some(())
}
