//! Operations that are outstanding on an endpoint, and transfers by lists of buffers: what came to
//! `uct/api/v2/uct_v2.h` after 1.22.0 and changes nothing that binaries of 1.22.0 know.

use crate::abi::prelude::*;
use crate::abi::support::transport::lists;

/// Flushing an endpoint, as `uct_ep_operation_t`. (The number is that of `UCT_EP_OP_LAST`, which
/// stays as binaries know it.)
pub const UCT_EP_OP_FLUSH: u32 = 15;

/// Which fields of `uct_ep_op_info_t` are valid.
pub type uct_ep_op_info_field = u64;
/// `operation`.
pub const UCT_EP_OP_INFO_FIELD_OPERATION: uct_ep_op_info_field = 1 << 0;
/// `comp`.
pub const UCT_EP_OP_INFO_FIELD_COMP: uct_ep_op_info_field = 1 << 1;
/// `am`.
pub const UCT_EP_OP_INFO_FIELD_AM: uct_ep_op_info_field = 1 << 2;
/// `rma`.
pub const UCT_EP_OP_INFO_FIELD_RMA: uct_ep_op_info_field = 1 << 3;
/// `flush`.
pub const UCT_EP_OP_INFO_FIELD_FLUSH: uct_ep_op_info_field = 1 << 4;
/// `atomic`.
pub const UCT_EP_OP_INFO_FIELD_ATOMIC: uct_ep_op_info_field = 1 << 5;

pub type uct_ep_op_info_field_t = uct_ep_op_info_field;

/// Which fields of the active message part are valid.
pub type uct_ep_op_info_am_field_t = u32;
pub const UCT_EP_OP_INFO_AM_FIELD_AM_ID: uct_ep_op_info_am_field_t = 1 << 0;
pub const UCT_EP_OP_INFO_AM_FIELD_FLAGS: uct_ep_op_info_am_field_t = 1 << 1;
pub const UCT_EP_OP_INFO_AM_FIELD_HEADER_VALUE: uct_ep_op_info_am_field_t = 1 << 2;
pub const UCT_EP_OP_INFO_AM_FIELD_HEADER_ZCOPY: uct_ep_op_info_am_field_t = 1 << 3;
pub const UCT_EP_OP_INFO_AM_FIELD_PAYLOAD_DATA: uct_ep_op_info_am_field_t = 1 << 4;
pub const UCT_EP_OP_INFO_AM_FIELD_PAYLOAD_ZCOPY: uct_ep_op_info_am_field_t = 1 << 5;

/// Which fields of the remote memory access part are valid.
pub type uct_ep_op_info_rma_field_t = u32;
pub const UCT_EP_OP_INFO_RMA_FIELD_REMOTE_ADDR: uct_ep_op_info_rma_field_t = 1 << 0;
pub const UCT_EP_OP_INFO_RMA_FIELD_RKEY: uct_ep_op_info_rma_field_t = 1 << 1;
pub const UCT_EP_OP_INFO_RMA_FIELD_PAYLOAD_DATA: uct_ep_op_info_rma_field_t = 1 << 2;
pub const UCT_EP_OP_INFO_RMA_FIELD_PAYLOAD_ZCOPY: uct_ep_op_info_rma_field_t = 1 << 3;
pub const UCT_EP_OP_INFO_RMA_FIELD_PAYLOAD_UNPACK: uct_ep_op_info_rma_field_t = 1 << 4;

/// Which fields of the flush part are valid.
pub type uct_ep_op_info_flush_field_t = u32;
pub const UCT_EP_OP_INFO_FLUSH_FIELD_FLAGS: uct_ep_op_info_flush_field_t = 1 << 0;

/// Which fields of the atomic part are valid.
pub type uct_ep_op_info_atomic_field_t = u32;
pub const UCT_EP_OP_INFO_ATOMIC_FIELD_OP: uct_ep_op_info_atomic_field_t = 1 << 0;
pub const UCT_EP_OP_INFO_ATOMIC_FIELD_REMOTE_ADDR: uct_ep_op_info_atomic_field_t = 1 << 1;
pub const UCT_EP_OP_INFO_ATOMIC_FIELD_RKEY: uct_ep_op_info_atomic_field_t = 1 << 2;
pub const UCT_EP_OP_INFO_ATOMIC_FIELD_VALUE: uct_ep_op_info_atomic_field_t = 1 << 3;
pub const UCT_EP_OP_INFO_ATOMIC_FIELD_COMPARE: uct_ep_op_info_atomic_field_t = 1 << 4;
pub const UCT_EP_OP_INFO_ATOMIC_FIELD_RESULT: uct_ep_op_info_atomic_field_t = 1 << 5;
pub const UCT_EP_OP_INFO_ATOMIC_FIELD_SIZE: uct_ep_op_info_atomic_field_t = 1 << 6;

/// A buffer.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_ep_op_info_data {
    pub buffer: *mut c_void,
    /// Bytes.
    pub length: usize,
}

/// A header in the sender's memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_ep_op_info_header_zcopy {
    pub buffer: *const c_void,
    /// Bytes.
    pub length: usize,
}

/// A list of buffers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_ep_op_info_zcopy {
    pub iov: *const uct_iov_t,
    /// Number of buffers.
    pub iovcnt: usize,
}

/// A destination that is filled by a callback.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_ep_op_info_unpack {
    pub unpack_cb: uct_unpack_callback_t,
    pub arg: *mut c_void,
    /// Bytes.
    pub length: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union uct_ep_op_info_am_header {
    pub value: u64,
    pub zcopy: uct_ep_op_info_header_zcopy,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union uct_ep_op_info_am_payload {
    pub data: uct_ep_op_info_data,
    pub zcopy: uct_ep_op_info_zcopy,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union uct_ep_op_info_rma_payload {
    pub data: uct_ep_op_info_data,
    pub zcopy: uct_ep_op_info_zcopy,
    pub unpack: uct_ep_op_info_unpack,
}

/// An active message.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_ep_op_info_am {
    pub field_mask: u16,
    pub am_id: u8,
    pub flags: c_uint,
    pub header: uct_ep_op_info_am_header,
    pub payload: uct_ep_op_info_am_payload,
}

/// A put or get.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_ep_op_info_rma {
    pub field_mask: u16,
    pub remote_addr: u64,
    pub rkey: uct_rkey_t,
    pub payload: uct_ep_op_info_rma_payload,
}

/// A flush.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_ep_op_info_flush {
    pub field_mask: u16,
    pub flags: c_uint,
}

/// An atomic operation.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct uct_ep_op_info_atomic {
    pub field_mask: u16,
    pub op: uct_atomic_op_t,
    pub remote_addr: u64,
    pub rkey: uct_rkey_t,
    pub value: u64,
    pub compare: u64,
    pub result: *mut c_void,
    /// Bytes of the operand.
    pub size: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union uct_ep_op_info_anon0 {
    pub am: uct_ep_op_info_am,
    pub rma: uct_ep_op_info_rma,
    pub flush: uct_ep_op_info_flush,
    pub atomic: uct_ep_op_info_atomic,
}

/// An operation that was posted and has not completed.
#[repr(C)]
pub struct uct_ep_op_info {
    /// Mask of `uct_ep_op_info_field_t`.
    pub field_mask: u64,
    pub operation: uct_ep_operation_t,
    pub comp: *mut uct_completion_t,
    pub anon0: uct_ep_op_info_anon0,
}

pub type uct_ep_op_info_t = uct_ep_op_info;

/// Called for every operation that is purged.
pub type uct_ep_outstanding_purge_callback_t =
    Option<unsafe extern "C" fn(info: *const uct_ep_op_info_t, arg: *mut c_void)>;

/// Which fields of `uct_ep_outstanding_purge_params_t` are valid.
pub type uct_ep_outstanding_purge_field_t = u32;
pub const UCT_EP_OUTSTANDING_FIELD_RX_TOKEN: uct_ep_outstanding_purge_field_t = 1 << 0;
pub const UCT_EP_OUTSTANDING_FIELD_CB: uct_ep_outstanding_purge_field_t = 1 << 1;
pub const UCT_EP_OUTSTANDING_FIELD_ARG: uct_ep_outstanding_purge_field_t = 1 << 2;

/// What to do with an endpoint's outstanding operations.
#[repr(C)]
pub struct uct_ep_outstanding_purge_params_t {
    /// Mask of `uct_ep_outstanding_purge_field_t`.
    pub field_mask: u64,
    /// Token of the receiver that says what it got.
    pub rx_token: *const c_void,
    /// Called for every operation that the receiver did not get.
    pub cb: uct_ep_outstanding_purge_callback_t,
    /// Passed to `cb`.
    pub arg: *mut c_void,
}

/// Takes the outstanding operations off a failed endpoint, one callback for each. No transport of a
/// host has such: operations end in their order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_outstanding_purge(
    ep: uct_ep_h,
    params: *const uct_ep_outstanding_purge_params_t,
) -> ucs_status_t {
    let _ = (ep, params);
    Error::Unsupported.into()
}

/// Reads a list of remote buffers into a list of local ones. Element i is `counts[i]` blocks (one, if
/// `counts` is NULL) of `lengths[i]` bytes that begin `strides[i]` bytes apart. `count` is the number
/// of elements of every array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_ep_get_sgl_zcopy(
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
    let _ = memhs;
    // SAFETY: NULL or live; the caller's arrays.
    unsafe {
        let list = lists::read(
            (buffers, lengths, remote_addrs, rkeys),
            (counts, strides),
            count,
        );
        lists::post(ep, list, comp, |tl, list, token| tl.get_list(list, token))
    }
}

/// Releases what `uct_md_mem_elem_pack` kept for a device memory element. That of UCX 1.22, which is
/// ours, has no place for such: what an element leads to stays mapped as long as the key lives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_md_mem_elem_release(md: uct_md_h, mem_elem: *mut c_void) {
    let _ = (md, mem_elem);
}
