//! What is sent, by each kind of test.

use super::*;

impl Ucp<'_> {
    /// Sends `count` elements; with `info` also what the library says of it.
    #[inline]
    pub(super) fn send(&self, count: usize, mark: Option<u8>, info: Option<&mut String>) {
        self.wait_sends(self.window - 1);
        if let Some(mark) = mark {
            self.write_mark(self.thread.send, mark);
        }
        let wants_info = info.is_some();
        let param: *const ucp_request_param_t = match wants_info {
            true => &self.info_params,
            false => &self.send_params,
        };
        let (ep, buffer) = (self.thread.ep, self.send_buffer);
        let (remote, rkey) = (self.thread.remote, self.thread.rkey);
        let value = 0u64;
        let value: *const c_void = (&raw const value).cast();
        // SAFETY: live handles, buffers that outlive the operation, parameters that are valid as
        // their masks say. An operand is copied by the call.
        let posted = unsafe {
            match self.command {
                Command::Tag => c::ucp_tag_send_nbx(ep, buffer, count, TAG, param),
                Command::TagSync => c::ucp_tag_send_sync_nbx(ep, buffer, count, TAG, param),
                Command::Stream => c::ucp_stream_send_nbx(ep, buffer, count, param),
                Command::Am => {
                    let (header, length) = (self.header.as_ptr().cast(), self.header.len());
                    let header = if length == 0 { null() } else { header };
                    c::ucp_am_send_nbx(ep, AM_ID, header, length, buffer, count, param)
                }
                Command::Put => c::ucp_put_nbx(ep, buffer, count, remote, rkey, param),
                Command::Get => c::ucp_get_nbx(ep, buffer, count, remote, rkey, param),
                op => c::ucp_atomic_op_nbx(ep, opcode(op), value, 1, remote, rkey, param),
            }
        };
        self.posted(posted, info);
    }

    #[inline]
    fn posted(&self, posted: ucs_status_ptr_t, info: Option<&mut String>) {
        let pending = Pending(posted);
        if let Some(request) = pending.request() {
            self.state.sends.set(self.state.sends.get().wrapping_add(1));
            if let Some(info) = info {
                // SAFETY: a live request, whose callback may have been called.
                unsafe {
                    *info = describe(request);
                    c::ucp_request_release(request);
                }
            }
        } else if !posted.is_null() {
            failed("send", pending);
        }
    }

    /// After the last message the watched byte changes.
    pub(super) fn send_last(&self) {
        if !self.command.is_one_sided() {
            return self.wait_sends(0);
        }
        let (thread, size) = (self.thread, self.size);
        // SAFETY: live handles, and buffers that outlive the wait below.
        unsafe {
            c::ucp_worker_fence(thread.worker);
            if self.command == Command::Put {
                self.write_mark(thread.send, LAST);
            }
            let mut value = [0u8; 8];
            value[size.clamp(1, 8) - 1] = LAST;
            let mut mark = u64::from_ne_bytes(value);
            let mark_at: *mut c_void = (&raw mut mark).cast();
            let param = &self.send_params;
            let mut atomic = zeroed::<ucp_request_param_t>();
            atomic.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE
                | UCP_OP_ATTR_FIELD_CALLBACK
                | UCP_OP_ATTR_FIELD_USER_DATA;
            atomic.datatype = contig(size);
            atomic.cb.send = Some(sent);
            atomic.user_data = param.user_data;
            let (buffer, remote, rkey) = (self.send_buffer, thread.remote, thread.rkey);
            let mut operand: *const c_void = mark_at;
            match self.command {
                Command::Fadd | Command::Swap => {
                    atomic.op_attr_mask |= UCP_OP_ATTR_FIELD_REPLY_BUFFER;
                    atomic.reply_buffer = buffer;
                }
                // The value to write stands where the old one will.
                Command::Cswap => {
                    atomic.op_attr_mask |= UCP_OP_ATTR_FIELD_REPLY_BUFFER;
                    atomic.reply_buffer = mark_at;
                    operand = buffer;
                }
                _ => {}
            }
            let posted = match self.command {
                Command::Put => {
                    c::ucp_put_nbx(thread.ep, buffer, self.send_count, remote, rkey, param)
                }
                Command::Get => {
                    let mut bytes = zeroed::<ucp_request_param_t>();
                    bytes.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
                    bytes.cb.send = Some(sent);
                    bytes.user_data = param.user_data;
                    let at = remote + size as u64 - 1;
                    let from = mark_at.byte_add(size.clamp(1, 8) - 1);
                    c::ucp_put_nbx(thread.ep, from, 1, at, rkey, &bytes)
                }
                op => {
                    c::ucp_atomic_op_nbx(thread.ep, opcode(op), operand, 1, remote, rkey, &atomic)
                }
            };
            self.posted(posted, None);
            self.wait_sends(0);
        }
    }
}

fn opcode(command: Command) -> ucp_atomic_op_t {
    match command {
        Command::Swap => UCP_ATOMIC_OP_SWAP,
        Command::Cswap => UCP_ATOMIC_OP_CSWAP,
        _ => UCP_ATOMIC_OP_ADD,
    }
}

/// What the library says of a request.
///
/// # Safety
/// A live request.
unsafe fn describe(request: *mut c_void) -> String {
    let mut text = vec![0u8; 256];
    // SAFETY: the caller's; room for as much as is said.
    let status = unsafe {
        let mut attr: ucp_request_attr_t = zeroed();
        attr.field_mask =
            u64::from(UCP_REQUEST_ATTR_FIELD_INFO_STRING | UCP_REQUEST_ATTR_FIELD_INFO_STRING_SIZE);
        attr.debug_string = text.as_mut_ptr().cast();
        attr.debug_string_size = text.len();
        check(c::ucp_request_query(request, &mut attr))
    };
    match status {
        Ok(()) => {
            let end = text.iter().position(|byte| *byte == 0).unwrap_or(0);
            String::from_utf8_lossy(&text[..end]).into_owned()
        }
        Err(error) => format!("<failed to query: {error}>"),
    }
}
