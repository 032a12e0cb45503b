//! Atomic operations of the processor. They are done at once, so completions are not needed.

use super::super::ep::Endpoint;
use crate::abi::prelude::*;
use crate::uct::ops::direct::{self, Change, local};

pub fn fill(ops: &mut uct_iface_ops_t) {
    ops.ep_atomic32_post = Some(post32);
    ops.ep_atomic64_post = Some(post64);
    ops.ep_atomic32_fetch = Some(fetch32);
    ops.ep_atomic64_fetch = Some(fetch64);
    ops.ep_atomic_cswap32 = Some(cswap32);
    ops.ep_atomic_cswap64 = Some(cswap64);
}

fn change(opcode: c_uint) -> Result<Change, ucs_status_t> {
    match opcode {
        UCT_ATOMIC_OP_ADD => Ok(Change::Add),
        UCT_ATOMIC_OP_AND => Ok(Change::And),
        UCT_ATOMIC_OP_OR => Ok(Change::Or),
        UCT_ATOMIC_OP_XOR => Ok(Change::Xor),
        UCT_ATOMIC_OP_SWAP => Ok(Change::Swap),
        _ => Err(Error::Unsupported.into()),
    }
}

/// Stores what was there; a word that is not aligned is refused.
///
/// # Safety
/// `result` is writable.
#[inline(always)]
unsafe fn give<T>(before: Option<T>, result: *mut T) -> ucs_status_t {
    match before {
        Some(before) => {
            // SAFETY: as the caller says.
            unsafe { result.write(before) };
            Status::OK
        }
        None => Error::InvalidParam.into(),
    }
}

unsafe extern "C" fn post32(
    ep: uct_ep_h,
    opcode: c_uint,
    value: u32,
    remote: u64,
    rkey: uct_rkey_t,
) -> ucs_status_t {
    let mut before = 0;
    if opcode == UCT_ATOMIC_OP_SWAP {
        return Error::Unsupported.into();
    }
    // SAFETY: the caller's own arguments, and a place of our own.
    unsafe {
        fetch32(
            ep,
            opcode,
            value,
            &mut before,
            remote,
            rkey,
            core::ptr::null_mut(),
        )
    }
}

unsafe extern "C" fn post64(
    ep: uct_ep_h,
    opcode: c_uint,
    value: u64,
    remote: u64,
    rkey: uct_rkey_t,
) -> ucs_status_t {
    let mut before = 0;
    if opcode == UCT_ATOMIC_OP_SWAP {
        return Error::Unsupported.into();
    }
    // SAFETY: the caller's own arguments, and a place of our own.
    unsafe {
        fetch64(
            ep,
            opcode,
            value,
            &mut before,
            remote,
            rkey,
            core::ptr::null_mut(),
        )
    }
}

unsafe extern "C" fn fetch32(
    ep: uct_ep_h,
    opcode: c_uint,
    value: u32,
    result: *mut u32,
    remote: u64,
    rkey: uct_rkey_t,
    _comp: *mut uct_completion_t,
) -> ucs_status_t {
    // SAFETY: an endpoint of ours; memory that the key is for; the caller's place.
    unsafe {
        match (Endpoint::from(ep).ready(), change(opcode)) {
            (Err(status), _) | (_, Err(status)) => status,
            _ if result.is_null() => Error::InvalidParam.into(),
            (Ok(_), Ok(change)) => {
                give(direct::fetch32(local(remote, rkey), change, value), result)
            }
        }
    }
}

unsafe extern "C" fn fetch64(
    ep: uct_ep_h,
    opcode: c_uint,
    value: u64,
    result: *mut u64,
    remote: u64,
    rkey: uct_rkey_t,
    _comp: *mut uct_completion_t,
) -> ucs_status_t {
    // SAFETY: an endpoint of ours; memory that the key is for; the caller's place.
    unsafe {
        match (Endpoint::from(ep).ready(), change(opcode)) {
            (Err(status), _) | (_, Err(status)) => status,
            _ if result.is_null() => Error::InvalidParam.into(),
            (Ok(_), Ok(change)) => {
                give(direct::fetch64(local(remote, rkey), change, value), result)
            }
        }
    }
}

unsafe extern "C" fn cswap32(
    ep: uct_ep_h,
    compare: u32,
    swap: u32,
    remote: u64,
    rkey: uct_rkey_t,
    result: *mut u32,
    _comp: *mut uct_completion_t,
) -> ucs_status_t {
    // SAFETY: an endpoint of ours; memory that the key is for; the caller's place.
    unsafe {
        match Endpoint::from(ep).ready() {
            _ if result.is_null() => Error::InvalidParam.into(),
            Ok(_) => give(
                direct::compare32(local(remote, rkey), compare, swap),
                result,
            ),
            Err(status) => status,
        }
    }
}

unsafe extern "C" fn cswap64(
    ep: uct_ep_h,
    compare: u64,
    swap: u64,
    remote: u64,
    rkey: uct_rkey_t,
    result: *mut u64,
    _comp: *mut uct_completion_t,
) -> ucs_status_t {
    // SAFETY: an endpoint of ours; memory that the key is for; the caller's place.
    unsafe {
        match Endpoint::from(ep).ready() {
            _ if result.is_null() => Error::InvalidParam.into(),
            Ok(_) => give(
                direct::compare64(local(remote, rkey), compare, swap),
                result,
            ),
            Err(status) => status,
        }
    }
}
