//! Descriptors of received messages that a receiver may keep.
//!
//! Before the data there is as much room as the program asked for when it opened the interface,
//! and before that a pointer to what gives the descriptor back (`uct_iface_release_desc`). A
//! program that asked for no room gets its messages where the transport has them, without a copy.

use std::alloc::{Layout, alloc, dealloc};

use crate::abi::prelude::*;

/// How a program wants its received messages.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Bytes that are free before the data.
    headroom: usize,
    /// Alignment of the byte at this offset of the data.
    align: usize,
    offset: usize,
}

/// The begin of a descriptor's memory.
#[repr(C)]
struct Block {
    c: uct_recv_desc,
    layout: Layout,
}

const MIN_ALIGN: usize = 16;
const MAX_ALIGN: usize = 4096;

impl Shape {
    /// The shape for this headroom, if there is to be any; data is aligned so that the byte at
    /// `offset` has an address that is a multiple of `align`.
    pub fn new(headroom: usize, align: usize, offset: usize) -> Option<Shape> {
        if headroom == 0 || headroom > isize::MAX as usize / 4 {
            return None;
        }
        let align = match align.is_power_of_two() && align <= MAX_ALIGN {
            true => align.max(MIN_ALIGN),
            false => MIN_ALIGN,
        };
        Some(Shape {
            headroom,
            align,
            offset: offset % align,
        })
    }

    /// Where data begins in a block, and the layout of the block.
    fn place(&self, len: usize) -> Option<(usize, Layout)> {
        let before = size_of::<Block>() + size_of::<usize>();
        let least = before
            .checked_add(self.headroom)?
            .checked_add(self.offset)?;
        let at = least.checked_next_multiple_of(self.align)? - self.offset;
        let layout = Layout::from_size_align(at.checked_add(len)?, self.align).ok()?;
        Some((at, layout))
    }

    /// Copies a message to a descriptor and hands it over.
    ///
    /// # Safety
    /// `cb` may be called with `arg`.
    pub unsafe fn deliver(
        &self,
        data: &[u8],
        cb: unsafe extern "C" fn(*mut c_void, *mut c_void, usize, c_uint) -> ucs_status_t,
        arg: *mut c_void,
    ) {
        let block = self.place(data.len()).map(|(at, layout)| {
            // SAFETY: the layout has room for a block's begin.
            (at, layout, unsafe { alloc(layout) })
        });
        let Some((at, layout, block)) = block.filter(|(.., block)| !block.is_null()) else {
            crate::ucs_error!(
                "no memory for a message of {} bytes; it is lost",
                data.len()
            );
            return;
        };
        // SAFETY: all of it lies in the block, whose alignment is a block's at least; the pointer
        // before the headroom need not be aligned.
        unsafe {
            block.cast::<Block>().write(Block {
                c: uct_recv_desc { cb: Some(release) },
                layout,
            });
            let to = block.add(at);
            let link = to.sub(self.headroom).cast::<*mut u8>().sub(1);
            link.write_unaligned(block);
            core::ptr::copy_nonoverlapping(data.as_ptr(), to, data.len());
            let flags = UCT_CB_PARAM_FLAG_DESC as c_uint;
            if cb(arg, to.cast(), data.len(), flags) != Status::INPROGRESS {
                dealloc(block, layout);
            }
        }
    }
}

unsafe extern "C" fn release(block: *mut uct_recv_desc_t, _: *mut c_void) {
    // SAFETY: a block that a receiver has kept until now.
    unsafe {
        let layout = (&raw const (*block.cast::<Block>()).layout).read();
        dealloc(block.cast(), layout);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_aligned_where_it_is_to_be() {
        for (headroom, align, offset) in [(1, 0, 0), (8, 64, 8), (40, 16, 3), (100, 4096, 5000)] {
            let shape = Shape::new(headroom, align, offset).expect("a shape");
            let (at, layout) = shape.place(100).expect("a place");
            assert!(at >= size_of::<Block>() + 8 + headroom);
            assert_eq!((at + offset) % shape.align, 0);
            assert_eq!(layout.size(), at + 100);
        }
        assert!(Shape::new(0, 64, 0).is_none());
        assert!(Shape::new(usize::MAX, 64, 0).is_none());
        assert!(
            Shape::new(8, 0, 0)
                .and_then(|s| s.place(usize::MAX))
                .is_none()
        );
    }
}
