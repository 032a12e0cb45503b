//! One operation, of each kind.

use super::*;

impl Uct<'_> {
    /// Posts one operation with a number; `before` is the one before it.
    #[inline]
    fn post(&mut self, number: u8, before: u8, completion: bool) -> ucs_status_t {
        match self.command {
            Command::Am => self.post_message(number, completion),
            Command::Put | Command::Get => self.post_access(number, completion),
            _ => self.post_atomic(number, before, completion),
        }
    }

    fn completion(&mut self, wanted: bool) -> *mut uct_completion_t {
        if wanted {
            &raw mut self.state.completion
        } else {
            null_mut()
        }
    }

    #[inline]
    fn post_message(&mut self, number: u8, completion: bool) -> ucs_status_t {
        let comp = self.completion(completion);
        let state: Arg = (&raw mut *self.state).cast();
        let (ep, buffer, size) = (self.setup.ep, self.state.send, self.size);
        let (pieces, count) = (self.pieces.as_ptr(), self.pieces.len());
        let header = self.setup.params.am_header;
        // SAFETY: a live endpoint whose interface has the operation, as was checked; buffers and
        // lists outlive it.
        unsafe {
            let ops = &(*(*ep).iface).ops;
            if self.layout != SHORT {
                buffer.write_volatile(number);
            }
            match self.layout {
                SHORT => ops.ep_am_short.map(|post| {
                    let payload = buffer.wrapping_add(8).cast();
                    post(ep, AM_ID, u64::from(number), payload, (size - 8) as u32)
                }),
                SHORT_IOV => ops
                    .ep_am_short_iov
                    .map(|post| post(ep, AM_ID, pieces, count)),
                BCOPY => ops
                    .ep_am_bcopy
                    .map(|post| packed(post(ep, AM_ID, Some(pack), state, 0))),
                _ => ops.ep_am_zcopy.map(|post| {
                    post(
                        ep,
                        AM_ID,
                        buffer.cast(),
                        header as u32,
                        pieces,
                        count,
                        0,
                        comp,
                    )
                }),
            }
            .unwrap_or(Error::Unsupported.into())
        }
    }

    #[inline]
    fn post_access(&mut self, number: u8, completion: bool) -> ucs_status_t {
        let ping = self.command == Command::Put && self.pattern() == Pattern::PingPong;
        let comp = self.completion(completion);
        let state: Arg = (&raw mut *self.state).cast();
        let (ep, buffer, size) = (self.setup.ep, self.state.send, self.size);
        let (pieces, count) = (self.pieces.as_ptr(), self.pieces.len());
        let (remote, rkey) = (self.setup.remote, self.setup.rkey);
        // SAFETY: as in `post_message`.
        unsafe {
            let ops = &(*(*ep).iface).ops;
            if ping {
                buffer.wrapping_add(self.extent - 1).write_volatile(number);
            }
            match (self.command, self.layout) {
                (Command::Put, SHORT) => ops
                    .ep_put_short
                    .map(|post| post(ep, buffer.cast(), size as u32, remote, rkey)),
                (Command::Put, BCOPY) => ops
                    .ep_put_bcopy
                    .map(|post| packed(post(ep, Some(pack), state, remote, rkey))),
                (Command::Put, ZCOPY) => ops
                    .ep_put_zcopy
                    .map(|post| post(ep, pieces, count, remote, rkey, comp)),
                (Command::Get, SHORT) => ops
                    .ep_get_short
                    .map(|post| post(ep, buffer.cast(), size as u32, remote, rkey)),
                (Command::Get, BCOPY) => ops
                    .ep_get_bcopy
                    .map(|post| post(ep, Some(unpack), state, size, remote, rkey, comp)),
                (Command::Get, ZCOPY) => ops
                    .ep_get_zcopy
                    .map(|post| post(ep, pieces, count, remote, rkey, comp)),
                _ => None,
            }
            .unwrap_or(Error::InvalidParam.into())
        }
    }

    #[inline]
    fn post_atomic(&mut self, number: u8, before: u8, completion: bool) -> ucs_status_t {
        let comp = self.completion(completion);
        let (ep, result) = (self.setup.ep, self.state.send);
        let (at, key) = (self.setup.remote, self.setup.rkey);
        let step = i64::from(number) - i64::from(before);
        let op = if self.command == Command::Swap {
            UCT_ATOMIC_OP_SWAP
        } else {
            UCT_ATOMIC_OP_ADD
        };
        let operand = if self.command == Command::Swap {
            i64::from(number)
        } else {
            step
        };
        // SAFETY: as in `post_message`.
        unsafe {
            let ops = &(*(*ep).iface).ops;
            match (self.command, self.size) {
                (Command::Add, 4) => ops
                    .ep_atomic32_post
                    .map(|post| post(ep, op, operand as u32, at, key)),
                (Command::Add, _) => ops
                    .ep_atomic64_post
                    .map(|post| post(ep, op, operand as u64, at, key)),
                (Command::Cswap, 4) => ops.ep_atomic_cswap32.map(|post| {
                    let (compare, swap) = (u32::from(before), u32::from(number));
                    post(ep, compare, swap, at, key, result.cast(), comp)
                }),
                (Command::Cswap, _) => ops.ep_atomic_cswap64.map(|post| {
                    let (compare, swap) = (u64::from(before), u64::from(number));
                    post(ep, compare, swap, at, key, result.cast(), comp)
                }),
                (_, 4) => ops
                    .ep_atomic32_fetch
                    .map(|post| post(ep, op, operand as u32, result.cast(), at, key, comp)),
                _ => ops
                    .ep_atomic64_fetch
                    .map(|post| post(ep, op, operand as u64, result.cast(), at, key, comp)),
            }
            .unwrap_or(Error::Unsupported.into())
        }
    }

    /// Posts one operation, however often it takes.
    #[inline]
    pub(super) fn send(&mut self, number: u8, before: u8, completion: bool) {
        loop {
            match self.post(number, before, completion) {
                Status::OK => {
                    if self.sends.is_multiple_of(SENDS_PER_PROGRESS) {
                        self.progress();
                    }
                    self.sends = self.sends.wrapping_add(1);
                    return;
                }
                Status::INPROGRESS => {
                    self.state.completion.count += 1;
                    return self.progress();
                }
                status if status == Status::from(Error::NoResource) => self.progress(),
                status => {
                    error!("Failed to send: {}", status_text(status));
                    std::process::exit(1);
                }
            }
        }
    }
}

/// The status of an operation that returns the bytes that it packed.
fn packed(bytes: ssize_t) -> ucs_status_t {
    if bytes < 0 {
        Status(bytes as i8)
    } else {
        Status::OK
    }
}
