//! Entry points of `ucp/api/ucp.h`: amo.

use crate::abi::prelude::*;

/// An atomic operation on the peer's memory at `remote_addr`, of the 4 or 8 bytes that `param`
/// says. `buffer` is the operand; with `UCP_OP_ATTR_FIELD_REPLY_BUFFER` the value before is written
/// there. `count` must be 1.
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
    let _ = (ep, opcode, buffer, count, remote_addr, rkey, param);
    NOT_IMPLEMENTED_PTR
}
