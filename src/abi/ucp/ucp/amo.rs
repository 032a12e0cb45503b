//! Entry points of `ucp/api/ucp.h`: amo.

use std::rc::Rc;

use crate::abi::prelude::*;
use crate::abi::ucp::convert::{self, DT_BYTE, Kind};
use crate::sys::atomic::{AtomicOp, Operation};
use crate::sys::usermem::UserMem;
use crate::ucp::amo;
use crate::ucp::ep::Endpoint;
use crate::ucp::proto::amo::{Target, store};
use crate::ucp::request::TagInfo;
use crate::ucp::worker::{Posted, ReqOptions};

/// What is asked for, before any check.
#[derive(Clone, Copy)]
pub(in crate::abi::ucp) struct Asked {
    pub opcode: ucp_atomic_op_t,
    pub operand: u64,
    /// Bytes.
    pub size: usize,
    pub remote_addr: u64,
    pub rkey: ucp_rkey_h,
    /// Where the value before goes, or NULL. Of a compare-and-swap it holds the new value.
    pub reply: *mut c_void,
}

/// Reads an operand of 4 or 8 bytes.
///
/// # Safety
/// So many bytes can be read.
unsafe fn read(at: *const c_void, size: usize) -> u64 {
    // SAFETY: forwarded to the caller.
    unsafe {
        match size {
            4 => u64::from(at.cast::<u32>().read_unaligned()),
            _ => at.cast::<u64>().read_unaligned(),
        }
    }
}

/// # Safety
/// As `ucp_atomic_op_nbx`; the worker's lock is held.
pub(in crate::abi::ucp) unsafe fn post(
    ep: &Rc<Endpoint>,
    asked: Asked,
    options: &ReqOptions,
) -> Result<Posted, Error> {
    let Asked { size, reply, .. } = asked;
    if !matches!(size, 4 | 8) {
        crate::ucs_error!("an atomic operation is on 4 or 8 bytes, not on {size}");
        return Err(Error::InvalidParam);
    }
    let Some(op) = AtomicOp::from_code(asked.opcode) else {
        crate::ucs_error!("{} is not an atomic operation", asked.opcode);
        return Err(Error::InvalidParam);
    };
    convert::host_only(reply, "the result of an atomic operation")?;
    let swap = match op {
        AtomicOp::CompareSwap if reply.is_null() => {
            crate::ucs_error!("a compare-and-swap needs a reply buffer, with the new value");
            return Err(Error::InvalidParam);
        }
        // SAFETY: the caller's reply buffer has the operand's size.
        AtomicOp::CompareSwap => unsafe { read(reply, size) },
        _ => 0,
    };
    // SAFETY: the reply buffer stays until the operation completes.
    let reply = (!reply.is_null()).then(|| unsafe { UserMem::new(reply.cast(), size) });
    let (operand, remote) = (asked.operand, asked.remote_addr);
    let operation = Operation { op, operand, swap };
    // SAFETY: a live key or NULL.
    if let Ok(key) = unsafe { convert::rkey(asked.rkey) }
        && let Some(value) = amo::try_mapped(ep, key, remote, size, operation)
    {
        if let Some(reply) = reply {
            store(reply, value);
        }
        return ep.worker().now(options, Ok(()), TagInfo::default(), 0);
    }
    // SAFETY: as the caller says.
    unsafe { post_unmapped(ep, asked, operation, reply, options) }
}

/// Not inlined, so that an operation that ends at once has few registers to save.
///
/// # Safety
/// As [`post`].
#[inline(never)]
unsafe fn post_unmapped(
    ep: &Rc<Endpoint>,
    asked: Asked,
    operation: Operation,
    reply: Option<UserMem>,
    options: &ReqOptions,
) -> Result<Posted, Error> {
    // SAFETY: a live key or NULL.
    let key = unsafe { super::rma::rkey(asked.rkey) }?;
    let target = Target {
        key,
        remote: asked.remote_addr,
        size: asked.size,
        operation,
    };
    amo::post(ep, target, reply, options)
}

/// An atomic operation on the peer's memory at `remote_addr`, of the 4 or 8 bytes that `param`
/// says. `buffer` is the operand; with `UCP_OP_ATTR_FIELD_REPLY_BUFFER` the value before is written
/// there. `count` must be 1. A compare-and-swap compares with the operand, and swaps in what the
/// reply buffer holds.
///
/// Returns NULL if it has completed, a request, or an error as a pointer. Without a reply buffer it
/// has completed at once; a flush makes sure that it has taken effect.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_atomic_op_nbx(
    ep: ucp_ep_h,
    opcode: ucp_atomic_op_t,
    buffer: *const c_void,
    count: usize,
    remote_addr: u64,
    rkey: ucp_rkey_h,
    param: *const ucp_request_param_t,
) -> ucs_status_ptr_t {
    // SAFETY: handles, buffers and parameters are the caller's, as the API describes them.
    unsafe {
        convert::status_ptr_of(convert::with_ep(ep, |ep| {
            let (options, datatype) = convert::options(param, Kind::Send)?;
            let p = Params::new(param)?;
            if !p.has(UCP_OP_ATTR_FIELD_DATATYPE.into()) {
                crate::ucs_error!("an atomic operation needs a datatype");
                return Err(Error::InvalidParam);
            }
            if count != 1 || buffer.is_null() {
                crate::ucs_error!("an atomic operation is on one element, not on {count}");
                return Err(Error::InvalidParam);
            }
            let size = [4usize, 8]
                .into_iter()
                .find(|size| datatype == DT_BYTE * *size as u64);
            let Some(size) = size else {
                crate::ucs_error!("{datatype:#x} is no datatype of an atomic operation");
                return Err(Error::InvalidParam);
            };
            let reply = crate::field!(p, UCP_OP_ATTR_FIELD_REPLY_BUFFER.into(), reply_buffer);
            let asked = Asked {
                opcode,
                operand: read(buffer, size),
                size,
                remote_addr,
                rkey,
                reply: reply.unwrap_or(core::ptr::null_mut()),
            };
            post(ep, asked, &options)
        }))
    }
}
