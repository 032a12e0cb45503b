//! Entry points of `ucp/api/ucp.h`: amo.

use crate::abi::prelude::*;

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
