//! Data that a handler may keep: a block with our part in front of what the user sees.

use core::cell::Cell;
use core::ffi::c_void;
use core::ptr::NonNull;
use std::alloc::{Layout, alloc, dealloc};

use crate::ucp::wire::rndv::Rts;
use crate::ucs::status::{Error, Result};

/// What the user's pointer stands for.
#[derive(Clone, Copy)]
pub enum Kind {
    /// The data itself.
    Data,
    /// A message that the sender still has.
    Rndv(Rts),
}

/// Our part, in front of the data.
#[repr(C, align(64))]
struct Front {
    len: usize,
    layout: Layout,
    kind: Kind,
    /// A receive has begun, or the data has been let go.
    used: Cell<bool>,
    /// Its handler is running, and will look at the block again.
    in_handler: Cell<bool>,
}

/// An owned block.
pub struct DataBuf(NonNull<Front>);

impl DataBuf {
    /// A block for `len` bytes of data, uninitialised.
    pub fn new(len: usize, kind: Kind) -> Result<DataBuf> {
        let room = match kind {
            Kind::Data => len,
            Kind::Rndv(_) => 0,
        };
        let size = size_of::<Front>()
            .checked_add(room)
            .ok_or(Error::NoMemory)?;
        let align = align_of::<Front>();
        let layout = Layout::from_size_align(size, align).map_err(|_| Error::NoMemory)?;
        // SAFETY: the layout has a size above 0.
        let ptr = NonNull::new(unsafe { alloc(layout) }).ok_or(Error::NoMemory)?;
        let front = ptr.cast::<Front>();
        // SAFETY: fresh memory with room for it.
        unsafe {
            front.as_ptr().write(Front {
                len,
                layout,
                kind,
                used: Cell::new(false),
                in_handler: Cell::new(false),
            });
        }
        Ok(DataBuf(front))
    }

    /// A block that holds a copy of `data`.
    pub fn copy_of(data: &[u8]) -> Result<DataBuf> {
        let buf = DataBuf::new(data.len(), Kind::Data)?;
        buf.write(0, data);
        Ok(buf)
    }

    fn front(&self) -> &Front {
        // SAFETY: the block is ours and alive.
        unsafe { self.0.as_ref() }
    }

    /// Bytes of the message.
    pub fn len(&self) -> usize {
        self.front().len
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn kind(&self) -> Kind {
        self.front().kind
    }

    /// Copies `data` to `offset`; what does not fit is left out.
    pub fn write(&self, offset: usize, data: &[u8]) {
        if let Kind::Data = self.kind()
            && offset <= self.len()
        {
            let n = data.len().min(self.len() - offset);
            // SAFETY: inside the block's data, which nobody else uses yet.
            unsafe {
                core::ptr::copy_nonoverlapping(
                    data.as_ptr(),
                    self.data().cast::<u8>().add(offset),
                    n,
                );
            }
        }
    }

    /// What the user sees.
    pub fn data(&self) -> *mut c_void {
        self.0.as_ptr().wrapping_add(1).cast()
    }

    pub fn bytes(&self) -> &[u8] {
        match self.kind() {
            // SAFETY: the block's data, written when it was filled.
            Kind::Data => unsafe { core::slice::from_raw_parts(self.data().cast(), self.len()) },
            Kind::Rndv(_) => &[],
        }
    }

    /// Marks it as used; true if it was already.
    pub fn mark_used(&self) -> bool {
        self.front().used.replace(true)
    }

    pub fn is_used(&self) -> bool {
        self.front().used.get()
    }

    pub fn set_in_handler(&self, running: bool) {
        self.front().in_handler.set(running);
    }

    /// Frees the block, unless its handler's caller will.
    pub fn free_after_use(self) {
        if self.front().in_handler.get() {
            core::mem::forget(self);
        }
    }

    /// Gives the block to the user.
    pub fn into_raw(self) -> *mut c_void {
        let data = self.data();
        core::mem::forget(self);
        data
    }

    /// Takes it back.
    ///
    /// # Safety
    /// `data` came from [`DataBuf::into_raw`] and has not been taken back.
    pub unsafe fn from_raw(data: *mut c_void) -> Option<DataBuf> {
        if data.is_null() {
            return None;
        }
        NonNull::new(data.cast::<Front>().wrapping_sub(1)).map(DataBuf)
    }
}

impl Drop for DataBuf {
    fn drop(&mut self) {
        let layout = self.front().layout;
        // SAFETY: allocated in `new` with this layout; this is the only owner.
        unsafe { dealloc(self.0.as_ptr().cast(), layout) };
    }
}
