//! What is received, by each kind of test.

use super::*;

impl Ucp<'_> {
    /// Receives `count` elements, or sees to it that they will be.
    #[inline]
    pub(super) fn recv(&self, count: usize, mark: Option<u8>) {
        match self.command {
            Command::Tag | Command::TagSync => self.recv_tag(count),
            Command::Am => self.state.recvs.set(self.state.recvs.get() + 1),
            Command::Stream if self.flags.contains(Flags::STREAM_RECV_DATA) => {
                self.recv_stream_data(if count == 1 { 1 } else { self.size });
            }
            Command::Stream => self.recv_stream(count),
            Command::Put => {
                if let Some(mark) = mark {
                    while self.read_mark() != mark {
                        self.respond();
                    }
                }
            }
            _ => self.respond(),
        }
    }

    #[inline]
    fn recv_tag(&self, count: usize) {
        self.wait_recvs(i64::from(self.window) - 1);
        let (worker, mask) = (self.thread.worker, self.tag_mask);
        // SAFETY: a live worker, a buffer that outlives the operation, and valid parameters.
        unsafe {
            if self.flags.contains(Flags::TAG_PROBE) {
                let mut info: ucp_tag_recv_info_t = zeroed();
                while c::ucp_tag_probe_nb(worker, TAG, mask, 0, &mut info).is_null() {
                    self.respond();
                }
            }
            let param = &self.recv_params;
            let posted = c::ucp_tag_recv_nbx(worker, self.recv_buffer, count, TAG, mask, param);
            let pending = Pending(posted);
            if pending.request().is_some() {
                self.state.recvs.set(self.state.recvs.get() + 1);
            } else if !posted.is_null() {
                failed("receive", pending);
            }
        }
    }

    fn recv_stream_data(&self, size: usize) {
        let mut total = 0;
        while total < size {
            self.respond();
            let mut length = 0;
            // SAFETY: a live endpoint; data is given back once.
            unsafe {
                let data = c::ucp_stream_recv_data_nb(self.thread.ep, &mut length);
                let pending = Pending(data);
                if pending.request().is_some() {
                    total += length;
                    c::ucp_stream_data_release(self.thread.ep, data);
                } else if !data.is_null() {
                    return failed("receive", pending);
                }
            }
        }
    }

    fn recv_stream(&self, count: usize) {
        let iov = self.recv_datatype == UCP_DATATYPE_IOV;
        // All pieces of a list at once, bytes as they come.
        let bytes = if iov { self.size } else { count };
        let mut total = 0;
        while total < bytes {
            let (to, want) = match iov {
                true => (self.recv_buffer, count),
                false => (self.recv_buffer.wrapping_byte_add(total), bytes - total),
            };
            match self.recv_stream_part(to, want, iov) {
                Some(length) => total += length,
                None => return,
            }
        }
    }

    /// Receives what is there, at least a byte.
    fn recv_stream_part(&self, to: *mut c_void, count: usize, whole: bool) -> Option<usize> {
        let mut length = 0;
        // SAFETY: a live endpoint, and a buffer that outlives the operation.
        unsafe {
            let mut param: ucp_request_param_t = zeroed();
            param.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
            param.datatype = self.recv_datatype;
            if whole {
                param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
                param.flags = UCP_STREAM_RECV_FLAG_WAITALL;
            }
            let posted = c::ucp_stream_recv_nbx(self.thread.ep, to, count, &mut length, &param);
            let pending = Pending(posted);
            let Some(request) = pending.request() else {
                if posted.is_null() {
                    return Some(length);
                }
                failed("receive", pending);
                return None;
            };
            let status = loop {
                let status = c::ucp_stream_recv_request_test(request, &mut length);
                if status != Status::INPROGRESS {
                    break status;
                }
                self.respond();
            };
            c::ucp_request_free(request);
            if status.is_err() {
                failed("receive", Pending(null_mut()));
                return None;
            }
            Some(length)
        }
    }
}
