//! Entry points of `ucp/api/ucp_compat.h`: put, get and atomic operations that block.

use super::{post, wait};
use crate::abi::prelude::*;
use crate::abi::ucp::convert;
use crate::abi::ucp::ucp::amo;
use crate::abi::ucp::ucp::rma;
use crate::ucp::request::Callback;

/// # Safety
/// As `ucp_atomic_add64`.
unsafe fn add_to(
    ep: ucp_ep_h,
    operand: u64,
    size: usize,
    remote_addr: u64,
    rkey: ucp_rkey_h,
) -> ucs_status_t {
    let asked = amo::Asked {
        opcode: UCP_ATOMIC_OP_ADD,
        operand,
        size,
        remote_addr,
        rkey,
        reply: core::ptr::null_mut(),
    };
    // SAFETY: forwarded to the caller.
    unsafe { post(ep, asked) }
}

/// An atomic operation with a result, waited for.
///
/// # Safety
/// As `ucp_atomic_fadd64`.
unsafe fn fetch(ep: ucp_ep_h, asked: amo::Asked) -> ucs_status_t {
    if asked.reply.is_null() {
        return Error::InvalidParam.into();
    }
    // SAFETY: forwarded to the caller.
    unsafe { post(ep, asked) }
}

/// Blocking form of `ucp_put_nbx`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_put(
    ep: ucp_ep_h,
    buffer: *const c_void,
    length: usize,
    remote_addr: u64,
    rkey: ucp_rkey_h,
) -> ucs_status_t {
    let options = convert::old_options(Callback::None);
    // SAFETY: the caller's, as the API describes them.
    let done = unsafe {
        convert::with_ep(ep, |ep| {
            let posted = rma::post_put(
                ep,
                buffer,
                length,
                convert::DT_BYTE,
                remote_addr,
                rkey,
                &options,
            );
            Ok(wait(ep.worker(), posted))
        })
    };
    done.unwrap_or_else(Status::from)
}

/// Blocking form of `ucp_get_nbx`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_get(
    ep: ucp_ep_h,
    buffer: *mut c_void,
    length: usize,
    remote_addr: u64,
    rkey: ucp_rkey_h,
) -> ucs_status_t {
    let options = convert::old_options(Callback::None);
    // SAFETY: the caller's, as the API describes them.
    let done = unsafe {
        convert::with_ep(ep, |ep| {
            let posted = rma::post_get(
                ep,
                buffer,
                length,
                convert::DT_BYTE,
                remote_addr,
                rkey,
                &options,
            );
            Ok(wait(ep.worker(), posted))
        })
    };
    done.unwrap_or_else(Status::from)
}

/// Adds to 4 bytes of remote memory. Blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_atomic_add32(
    ep: ucp_ep_h,
    add: u32,
    remote_addr: u64,
    rkey: ucp_rkey_h,
) -> ucs_status_t {
    // SAFETY: the caller's, as the API describes them.
    unsafe { add_to(ep, add.into(), 4, remote_addr, rkey) }
}

/// Adds to 8 bytes of remote memory. Blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_atomic_add64(
    ep: ucp_ep_h,
    add: u64,
    remote_addr: u64,
    rkey: ucp_rkey_h,
) -> ucs_status_t {
    // SAFETY: the caller's, as the API describes them.
    unsafe { add_to(ep, add, 8, remote_addr, rkey) }
}

/// Adds to 4 bytes of remote memory; `*result` becomes the value before. Blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_atomic_fadd32(
    ep: ucp_ep_h,
    add: u32,
    remote_addr: u64,
    rkey: ucp_rkey_h,
    result: *mut u32,
) -> ucs_status_t {
    // SAFETY: the caller's, as the API describes them.
    unsafe {
        fetch(
            ep,
            amo::Asked {
                opcode: UCP_ATOMIC_OP_ADD,
                operand: add.into(),
                size: 4,
                remote_addr,
                rkey,
                reply: result.cast(),
            },
        )
    }
}

/// Adds to 8 bytes of remote memory; `*result` becomes the value before. Blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_atomic_fadd64(
    ep: ucp_ep_h,
    add: u64,
    remote_addr: u64,
    rkey: ucp_rkey_h,
    result: *mut u64,
) -> ucs_status_t {
    // SAFETY: the caller's, as the API describes them.
    unsafe {
        fetch(
            ep,
            amo::Asked {
                opcode: UCP_ATOMIC_OP_ADD,
                operand: add,
                size: 8,
                remote_addr,
                rkey,
                reply: result.cast(),
            },
        )
    }
}

/// Replaces 4 bytes of remote memory; `*result` becomes the value before. Blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_atomic_swap32(
    ep: ucp_ep_h,
    swap: u32,
    remote_addr: u64,
    rkey: ucp_rkey_h,
    result: *mut u32,
) -> ucs_status_t {
    // SAFETY: the caller's, as the API describes them.
    unsafe {
        fetch(
            ep,
            amo::Asked {
                opcode: UCP_ATOMIC_OP_SWAP,
                operand: swap.into(),
                size: 4,
                remote_addr,
                rkey,
                reply: result.cast(),
            },
        )
    }
}

/// Replaces 8 bytes of remote memory; `*result` becomes the value before. Blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_atomic_swap64(
    ep: ucp_ep_h,
    swap: u64,
    remote_addr: u64,
    rkey: ucp_rkey_h,
    result: *mut u64,
) -> ucs_status_t {
    // SAFETY: the caller's, as the API describes them.
    unsafe {
        fetch(
            ep,
            amo::Asked {
                opcode: UCP_ATOMIC_OP_SWAP,
                operand: swap,
                size: 8,
                remote_addr,
                rkey,
                reply: result.cast(),
            },
        )
    }
}

/// Replaces 4 bytes of remote memory if they are `compare`; `*result` becomes the value before.
/// Blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_atomic_cswap32(
    ep: ucp_ep_h,
    compare: u32,
    swap: u32,
    remote_addr: u64,
    rkey: ucp_rkey_h,
    result: *mut u32,
) -> ucs_status_t {
    // SAFETY: the caller's, as the API describes them; the result's place holds the new value
    // first.
    unsafe {
        if result.is_null() {
            return Error::InvalidParam.into();
        }
        result.write_unaligned(swap);
        fetch(
            ep,
            amo::Asked {
                opcode: UCP_ATOMIC_OP_CSWAP,
                operand: compare.into(),
                size: 4,
                remote_addr,
                rkey,
                reply: result.cast(),
            },
        )
    }
}

/// Replaces 8 bytes of remote memory if they are `compare`; `*result` becomes the value before.
/// Blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_atomic_cswap64(
    ep: ucp_ep_h,
    compare: u64,
    swap: u64,
    remote_addr: u64,
    rkey: ucp_rkey_h,
    result: *mut u64,
) -> ucs_status_t {
    // SAFETY: the caller's, as the API describes them; the result's place holds the new value
    // first.
    unsafe {
        if result.is_null() {
            return Error::InvalidParam.into();
        }
        result.write_unaligned(swap);
        fetch(
            ep,
            amo::Asked {
                opcode: UCP_ATOMIC_OP_CSWAP,
                operand: compare,
                size: 8,
                remote_addr,
                rkey,
                reply: result.cast(),
            },
        )
    }
}
