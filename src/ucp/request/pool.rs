//! The worker's own request memory.

use core::cell::{Cell, RefCell};
use core::ffi::c_void;
use core::ptr::NonNull;
use std::alloc::{Layout, alloc_zeroed, dealloc};

use super::{CACHE_LINE, REQUEST_SIZE, ReqRef};
use crate::ucp::worker::Worker;
use crate::ucs::status::{Error, Result};

/// `ucp_request_init_callback_t`, `ucp_request_cleanup_callback_t`
pub type UserFn = unsafe extern "C" fn(*mut c_void);

const CHUNK: usize = 64;

/// Requests in chunks; the user's init runs once for each when its chunk is made, the cleanup
/// once when the pool goes.
pub struct RequestPool {
    stride: usize,
    cleanup: Option<UserFn>,
    init: Option<UserFn>,
    /// The free requests, each linked to the next.
    free: Cell<Option<ReqRef>>,
    chunks: RefCell<Vec<NonNull<u8>>>,
}

impl RequestPool {
    /// `user_size`: bytes of the user's area.
    pub fn new(user_size: usize, init: Option<UserFn>, cleanup: Option<UserFn>) -> Result<Self> {
        let stride = user_size
            .checked_next_multiple_of(16)
            .and_then(|size| size.checked_add(REQUEST_SIZE))
            .and_then(|size| size.checked_next_multiple_of(CACHE_LINE))
            .filter(|size| *size < isize::MAX as usize / CHUNK)
            .ok_or(Error::InvalidParam)?;
        Ok(RequestPool {
            stride,
            init,
            cleanup,
            free: Cell::new(None),
            chunks: RefCell::default(),
        })
    }

    fn layout(&self) -> Option<Layout> {
        Layout::from_size_align(self.stride * CHUNK, CACHE_LINE).ok()
    }

    /// A fresh request, in flight. Error: `NoMemory`.
    #[inline]
    pub fn get(&self, worker: &Worker) -> Result<ReqRef> {
        loop {
            if let Some(req) = self.free.get() {
                self.free.set(req.next());
                req.renew();
                return Ok(req);
            }
            self.grow(worker)?;
        }
    }

    #[cold]
    fn grow(&self, worker: &Worker) -> Result<()> {
        let layout = self.layout().ok_or(Error::NoMemory)?;
        // SAFETY: the layout has a size above 0.
        let chunk = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(Error::NoMemory)?;
        self.chunks.borrow_mut().push(chunk);
        for index in (0..CHUNK).rev() {
            // SAFETY: inside the chunk, whose base is aligned as the stride is.
            let req = ReqRef(unsafe { chunk.add(index * self.stride) }.cast());
            req.init(worker, 0);
            self.put(req);
            if let Some(init) = self.init {
                // SAFETY: the user's function on the user's area.
                unsafe { init(req.area()) };
            }
        }
        Ok(())
    }

    /// Takes a completed request back.
    #[inline(always)]
    pub(super) fn put(&self, req: ReqRef) {
        req.set_next(self.free.replace(Some(req)));
    }
}

impl Drop for RequestPool {
    fn drop(&mut self) {
        let Some(layout) = self.layout() else { return };
        for chunk in self.chunks.take() {
            for index in 0..CHUNK {
                // SAFETY: each slot holds a `Request` since `grow`; this ends it.
                let req = ReqRef(unsafe { chunk.add(index * self.stride) }.cast());
                if let Some(cleanup) = self.cleanup {
                    // SAFETY: the user's function on the user's area.
                    unsafe { cleanup(req.area()) };
                }
                // SAFETY: initialised in `grow`, never used after the pool is gone.
                unsafe { req.0.as_ptr().drop_in_place() };
            }
            // SAFETY: allocated in `grow` with the same layout.
            unsafe { dealloc(chunk.as_ptr(), layout) };
        }
    }
}
