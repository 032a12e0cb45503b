//! Atomic operations on memory that other threads and processes may use at the same time.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::usermem::UserMem;

/// What an atomic operation does: `ucp_atomic_op_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum AtomicOp {
    Add = 0,
    Swap = 1,
    /// Replaces the value if it equals the operand.
    CompareSwap = 2,
    And = 3,
    Or = 4,
    Xor = 5,
}

impl AtomicOp {
    pub const ALL: [AtomicOp; 6] = [
        AtomicOp::Add,
        AtomicOp::Swap,
        AtomicOp::CompareSwap,
        AtomicOp::And,
        AtomicOp::Or,
        AtomicOp::Xor,
    ];

    /// By its number in the API.
    pub fn from_code(code: u32) -> Option<AtomicOp> {
        AtomicOp::ALL.into_iter().find(|op| *op as u32 == code)
    }
}

/// What to do, and with what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    pub op: AtomicOp,
    pub operand: u64,
    /// The new value of a [`AtomicOp::CompareSwap`].
    pub swap: u64,
}

impl Operation {
    /// Applies it to the 4 or 8 bytes of `mem` and returns the value before. `None` for another
    /// size or an unaligned place. Values of 4 bytes are in the lower half.
    pub fn apply(self, mem: UserMem) -> Option<u64> {
        match mem.len() {
            8 if mem.ptr().addr().is_multiple_of(8) => {
                // SAFETY: aligned, and valid by the promise of `UserMem`.
                Some(self.on_u64(unsafe { AtomicU64::from_ptr(mem.ptr().cast()) }))
            }
            4 if mem.ptr().addr().is_multiple_of(4) => {
                // SAFETY: as above.
                let cell = unsafe { AtomicU32::from_ptr(mem.ptr().cast()) };
                Some(u64::from(self.on_u32(cell)))
            }
            _ => None,
        }
    }

    fn on_u64(self, cell: &AtomicU64) -> u64 {
        let Operation { op, operand, swap } = self;
        let order = Ordering::SeqCst;
        match op {
            AtomicOp::Add => cell.fetch_add(operand, order),
            AtomicOp::Swap => cell.swap(operand, order),
            AtomicOp::CompareSwap => {
                let (Ok(old) | Err(old)) = cell.compare_exchange(operand, swap, order, order);
                old
            }
            AtomicOp::And => cell.fetch_and(operand, order),
            AtomicOp::Or => cell.fetch_or(operand, order),
            AtomicOp::Xor => cell.fetch_xor(operand, order),
        }
    }

    fn on_u32(self, cell: &AtomicU32) -> u32 {
        let (operand, swap) = (self.operand as u32, self.swap as u32);
        let order = Ordering::SeqCst;
        match self.op {
            AtomicOp::Add => cell.fetch_add(operand, order),
            AtomicOp::Swap => cell.swap(operand, order),
            AtomicOp::CompareSwap => {
                let (Ok(old) | Err(old)) = cell.compare_exchange(operand, swap, order, order);
                old
            }
            AtomicOp::And => cell.fetch_and(operand, order),
            AtomicOp::Or => cell.fetch_or(operand, order),
            AtomicOp::Xor => cell.fetch_xor(operand, order),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(bytes: &mut [u64; 1], at: usize, len: usize, op: AtomicOp) -> Option<u64> {
        // SAFETY: inside of `bytes`.
        let mem = unsafe { UserMem::new(bytes.as_mut_ptr().cast::<u8>().wrapping_add(at), len) };
        let (operand, swap) = (0b1100, 7);
        Operation { op, operand, swap }.apply(mem)
    }

    #[test]
    fn each_does_what_it_is_called() {
        let expected = [0b1010 + 0b1100, 0b1100, 0b1010, 0b1000, 0b1110, 0b0110];
        for (op, want) in AtomicOp::ALL.into_iter().zip(expected) {
            for len in [4, 8] {
                let mut cell = [0b1010u64];
                assert_eq!(on(&mut cell, 0, len, op), Some(0b1010));
                assert_eq!(cell, [want], "{op:?}");
            }
            assert_eq!(AtomicOp::from_code(op as u32), Some(op));
        }
        let mut cell = [0b1100u64];
        assert_eq!(on(&mut cell, 0, 8, AtomicOp::CompareSwap), Some(0b1100));
        assert_eq!(cell, [7]);
        assert_eq!(AtomicOp::from_code(6), None);
    }

    #[test]
    fn other_sizes_and_places_are_refused() {
        let mut cell = [5u64];
        for (at, len) in [(0, 0), (0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (4, 3)] {
            assert_eq!(on(&mut cell, at, len, AtomicOp::Add), None);
        }
        assert_eq!(cell, [5]);
    }
}
