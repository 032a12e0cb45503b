//! Entry points of `uct/api/v2/uct_v2.h`: ep.

use crate::abi::prelude::*;

/// Writes those attributes of an endpoint into `ep_attr` that its mask asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_query(ep: uct_ep_h, ep_attr: *mut uct_ep_attr_t) -> ucs_status_t {
    let _ = (ep, ep_attr);
    NOT_IMPLEMENTED
}

/// Makes an endpoint fail as if its peer had.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_invalidate(
    ep: uct_ep_h,
    params: *const uct_ep_invalidate_params_t,
) -> ucs_status_t {
    let _ = (ep, params);
    NOT_IMPLEMENTED
}

/// Like `uct_ep_connect_to_ep`, with the lengths of the addresses in `params`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_connect_to_ep_v2(
    ep: uct_ep_h,
    device_addr: *const uct_device_addr_t,
    ep_addr: *const uct_ep_addr_t,
    params: *const uct_ep_connect_to_ep_params_t,
) -> ucs_status_t {
    let _ = (ep, device_addr, ep_addr, params);
    NOT_IMPLEMENTED
}

/// 1 if an endpoint is connected to the peer of these addresses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_is_connected(
    ep: uct_ep_h,
    params: *const uct_ep_is_connected_params_t,
) -> c_int {
    let _ = (ep, params);
    0
}

/// The endpoint as device code sees it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_get_device_ep(
    ep: uct_ep_h,
    device_ep_p: *mut uct_device_ep_h,
) -> ucs_status_t {
    let _ = (ep, device_ep_p);
    NOT_IMPLEMENTED
}

/// Writes a list of local buffers to a list of remote ones. Element i is `counts[i]` blocks (one,
/// if `counts` is NULL) of `lengths[i]` bytes that begin `strides[i]` bytes apart. `count` is the
/// number of elements of every array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_put_sgl_zcopy(
    ep: uct_ep_h,
    buffers: *const *mut c_void,
    lengths: *const usize,
    memhs: *const uct_mem_h,
    remote_addrs: *const u64,
    rkeys: *const uct_rkey_t,
    counts: *const usize,
    strides: *const usize,
    count: usize,
    comp: *mut uct_completion_t,
) -> ucs_status_t {
    let _ = (
        ep,
        buffers,
        lengths,
        memhs,
        remote_addrs,
        rkeys,
        counts,
        strides,
        count,
        comp,
    );
    NOT_IMPLEMENTED
}
