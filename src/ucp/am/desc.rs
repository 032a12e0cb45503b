//! Data that a handler may keep: a block with our part in front of what the user sees.

use core::cell::Cell;
use core::ffi::c_void;
use core::ptr::NonNull;
use std::alloc::{Layout, alloc, dealloc};

use crate::sys::usermem::copy;
use crate::ucp::wire::rndv::Rts;
use crate::ucs::status::{Error, Result};

/// What the user's pointer stands for.
#[derive(Clone)]
pub enum Kind {
    /// The data itself.
    Data,
    /// A message that the sender still has.
    Rndv(Box<Rts>),
}

/// Says that a pointer which the user hands back is one of ours.
const MAGIC: u64 = 0x6b65_7074_5f41_4d21;

/// Our part, in front of the data.
#[repr(C, align(64))]
struct Front {
    magic: u64,
    len: usize,
    /// What was allocated; the front is at its beginning, or further in for a wide alignment.
    base: NonNull<u8>,
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
    /// A block for `len` bytes of data, uninitialised, the data aligned to `align` (a power of 2)
    /// at least.
    pub fn new(len: usize, kind: Kind, align: usize) -> Result<DataBuf> {
        let room = match kind {
            Kind::Data => len,
            Kind::Rndv(_) => 0,
        };
        let align = align.max(align_of::<Front>());
        let before = size_of::<Front>()
            .checked_next_multiple_of(align)
            .ok_or(Error::NoMemory)?;
        let size = before.checked_add(room).ok_or(Error::NoMemory)?;
        let layout = Layout::from_size_align(size, align).map_err(|_| Error::NoMemory)?;
        // SAFETY: the layout has a size above 0.
        let base = NonNull::new(unsafe { alloc(layout) }).ok_or(Error::NoMemory)?;
        // SAFETY: inside the allocation, since `before` is at least the front's size.
        let front = unsafe { base.add(before - size_of::<Front>()) }.cast::<Front>();
        // SAFETY: fresh memory with room for it, aligned as the front is: both `before` and its
        // size are multiples of that.
        unsafe {
            front.as_ptr().write(Front {
                magic: MAGIC,
                len,
                base,
                layout,
                kind,
                used: Cell::new(false),
                in_handler: Cell::new(false),
            });
        }
        Ok(DataBuf(front))
    }

    /// A block that holds a copy of `data`.
    pub fn copy_of(data: &[u8], align: usize) -> Result<DataBuf> {
        let buf = DataBuf::new(data.len(), Kind::Data, align)?;
        buf.write(0, data);
        Ok(buf)
    }

    /// A block without data so far, for `room` bytes that [`DataBuf::append`] puts into it.
    pub fn with_room(room: usize) -> Result<DataBuf> {
        let mut buf = DataBuf::new(room, Kind::Data, 1)?;
        buf.clear();
        Ok(buf)
    }

    fn front(&self) -> &Front {
        // SAFETY: the block is ours and alive.
        unsafe { self.0.as_ref() }
    }

    /// Forgets the data; what they took is room again.
    pub fn clear(&mut self) {
        // SAFETY: as in `front`, and nobody else looks at it meanwhile.
        unsafe { self.0.as_mut() }.len = 0;
    }

    /// Bytes of data that it can hold in all.
    pub fn capacity(&self) -> usize {
        let front = self.front();
        let before = self.data().addr() - front.base.as_ptr().addr();
        front.layout.size().saturating_sub(before)
    }

    /// Puts `bytes` behind the data; false if there is no room for all of them.
    #[inline]
    pub fn append(&mut self, bytes: &[u8]) -> bool {
        let len = self.len();
        if !matches!(self.front().kind, Kind::Data) || bytes.len() > self.capacity() - len {
            return false;
        }
        // SAFETY: inside the block, since its capacity was looked at; the bytes are not ours.
        unsafe {
            copy(
                bytes.as_ptr(),
                self.data().cast::<u8>().add(len),
                bytes.len(),
            )
        };
        // SAFETY: as in `clear`.
        unsafe { self.0.as_mut() }.len = len + bytes.len();
        true
    }

    /// Bytes of the message.
    pub fn len(&self) -> usize {
        self.front().len
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn kind(&self) -> Kind {
        self.front().kind.clone()
    }

    /// Copies `data` to `offset`; what does not fit is left out.
    pub fn write(&self, offset: usize, data: &[u8]) {
        if let Kind::Data = self.front().kind
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
        match self.front().kind {
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

    /// Takes it back. `None` for what can be told to be no block.
    ///
    /// # Safety
    /// `data` came from [`DataBuf::into_raw`] and has not been taken back.
    pub unsafe fn from_raw(data: *mut c_void) -> Option<DataBuf> {
        if data.is_null() || !data.addr().is_multiple_of(align_of::<Front>()) {
            return None;
        }
        let front = NonNull::new(data.cast::<Front>().wrapping_sub(1))?;
        // SAFETY: the caller's promise; only for a caller that breaks it, with data that it may not
        // keep, is this a look at what lies before them.
        let magic = unsafe { (&raw const (*front.as_ptr()).magic).read() };
        (magic == MAGIC).then_some(DataBuf(front))
    }
}

impl Drop for DataBuf {
    fn drop(&mut self) {
        let (base, layout) = (self.front().base, self.front().layout);
        // SAFETY: the front is alive, and not read after this.
        unsafe { (&raw mut (*self.0.as_ptr()).magic).write(0) };
        // SAFETY: as above; nothing else in it needs a drop.
        unsafe { (&raw mut (*self.0.as_ptr()).kind).drop_in_place() };
        // SAFETY: allocated in `new` with this layout; this is the only owner.
        unsafe { dealloc(base.as_ptr(), layout) };
    }
}
