//! What operations are given: memory, and parameters.

use core::ffi::c_void;
use core::mem::zeroed;

use super::super::Thread;
use crate::abi::prelude::*;
use crate::tools::perf::params::{Flags, Params};

const CONTIG: ucp_datatype_t = 1 << UCP_DATATYPE_SHIFT | UCP_DATATYPE_CONTIG;

/// What an operation is given for a thread's memory.
pub struct Buffer {
    /// The memory, or a list of its pieces.
    pub at: *mut c_void,
    pub count: usize,
    pub datatype: ucp_datatype_t,
    pub _pieces: Vec<ucp_dt_iov_t>,
}

impl Buffer {
    pub fn new(params: &Params, iov: bool, atomic: bool, memory: *mut u8) -> Buffer {
        let size = params.size();
        if !iov {
            return Buffer {
                at: memory.cast(),
                count: size,
                datatype: if atomic { contig(size) } else { CONTIG },
                _pieces: Vec::new(),
            };
        }
        let mut pieces = list(params.sizes.as_slice(), params.iov_stride, memory);
        Buffer {
            at: pieces.as_mut_ptr().cast(),
            count: pieces.len(),
            datatype: UCP_DATATYPE_IOV,
            _pieces: pieces,
        }
    }
}

/// What the parameters of all operations of a thread have in common.
pub struct Options<'a> {
    pub params: &'a Params,
    pub stream: bool,
    pub user_data: *mut c_void,
}

pub fn no_options() -> ucp_request_param_t {
    // SAFETY: parameters for which zero is a value.
    unsafe { zeroed() }
}

impl Options<'_> {
    pub fn common(&self, datatype: ucp_datatype_t, memh: ucp_mem_h) -> ucp_request_param_t {
        let mut param = no_options();
        param.op_attr_mask =
            UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
        param.datatype = datatype;
        param.user_data = self.user_data;
        if self.params.flags.contains(Flags::REGISTERED) {
            param.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
            param.memh = memh;
        }
        if self.stream {
            param.op_attr_mask |= UCP_OP_ATTR_FLAG_MULTI_SEND;
        }
        param
    }

    /// `replies`: the operation brings a value back.
    pub fn send(
        &self,
        buffer: &Buffer,
        thread: &Thread,
        callback: unsafe extern "C" fn(*mut c_void, ucs_status_t, *mut c_void),
        replies: bool,
    ) -> ucp_request_param_t {
        let mut param = self.common(buffer.datatype, thread.send_memh);
        param.cb.send = Some(callback);
        if replies {
            param.op_attr_mask |= UCP_OP_ATTR_FIELD_REPLY_BUFFER;
            param.reply_buffer = buffer.at;
        }
        param
    }
}

/// Elements of `size` bytes one after the other.
pub const fn contig(size: usize) -> ucp_datatype_t {
    (size as ucp_datatype_t) << UCP_DATATYPE_SHIFT | UCP_DATATYPE_CONTIG
}

/// The pieces of a message from `at` on.
fn list(sizes: &[usize], stride: usize, at: *mut u8) -> Vec<ucp_dt_iov_t> {
    let mut offset = 0;
    let piece = |length: &usize| {
        let buffer = at.wrapping_add(offset).cast();
        offset += if stride > 0 { stride } else { *length };
        ucp_dt_iov_t {
            buffer,
            length: *length,
        }
    };
    sizes.iter().map(piece).collect()
}
