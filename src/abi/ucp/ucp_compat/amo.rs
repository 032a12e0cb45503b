//! Entry points of `ucp/api/ucp_compat.h`: atomic operations.

use super::post;
use crate::abi::prelude::*;
use crate::abi::ucp::convert;
use crate::abi::ucp::ucp::amo;
use crate::ucp::request::Callback;

/// Older form of `ucp_atomic_op_nbx`, without a result. `op_size` is 4 or 8 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_atomic_post(
    ep: ucp_ep_h,
    opcode: ucp_atomic_post_op_t,
    value: u64,
    op_size: usize,
    remote_addr: u64,
    rkey: ucp_rkey_h,
) -> ucs_status_t {
    let opcode = match opcode {
        UCP_ATOMIC_POST_OP_ADD => UCP_ATOMIC_OP_ADD,
        UCP_ATOMIC_POST_OP_AND => UCP_ATOMIC_OP_AND,
        UCP_ATOMIC_POST_OP_OR => UCP_ATOMIC_OP_OR,
        UCP_ATOMIC_POST_OP_XOR => UCP_ATOMIC_OP_XOR,
        other => {
            crate::ucs_error!("ucp_atomic_post: {other} is not an operation");
            return Error::InvalidParam.into();
        }
    };
    let asked = amo::Asked {
        opcode,
        operand: value,
        size: op_size,
        remote_addr,
        rkey,
        reply: core::ptr::null_mut(),
    };
    // SAFETY: the caller's, as the API describes them.
    unsafe { post(ep, asked) }
}

/// Older form of `ucp_atomic_op_nbx`, with a result. `op_size` is 4 or 8 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucp_atomic_fetch_nb(
    ep: ucp_ep_h,
    opcode: ucp_atomic_fetch_op_t,
    value: u64,
    result: *mut c_void,
    op_size: usize,
    remote_addr: u64,
    rkey: ucp_rkey_h,
    cb: ucp_send_callback_t,
) -> ucs_status_ptr_t {
    // The numbers of the operations are those of `ucp_atomic_op_t`.
    let asked = amo::Asked {
        opcode,
        operand: value,
        size: op_size,
        remote_addr,
        rkey,
        reply: result,
    };
    let options = convert::old_options(cb.map_or(Callback::None, Callback::Send));
    // SAFETY: the caller's, as the API describes them.
    unsafe {
        convert::status_ptr_of(convert::with_ep(ep, |ep| {
            if result.is_null() {
                return Err(Error::InvalidParam);
            }
            amo::post(ep, asked, &options)
        }))
    }
}
