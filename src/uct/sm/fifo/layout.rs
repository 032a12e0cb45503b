//! Where things are in a segment.
//!
//! ```text
//! 0      fixed facts (written once); 128: generation; 256: armed flag, sleeps flag
//! 512    one control block of 512 bytes per ring: state and owner, tail, shared head and its lock
//! 8192   who has taken each slot of ring 0
//! then   ring 0: slots, data; ring 1: ...
//! ```
//! Words with different writers are 128 bytes apart, since processors fetch pairs of lines.

pub use crate::sys::cache::LINE;
use crate::ucs::status::{Error, Result};

/// First word of a segment: tells ours from anything else, and its version.
pub const MAGIC: u64 = 0x0004_4f46_4946_5855;

/// Bytes of a slot before its message.
pub const CTRL_LEN: usize = 8;
/// Rings with a single sender.
pub const PRIVATE_RINGS: usize = 8;
pub const RINGS: usize = PRIVATE_RINGS + 1;
/// The ring that any number of senders share.
pub const SHARED_RING: usize = 0;

pub const GENERATION: usize = 128;
pub const ARMED: usize = 256;
/// Set when the receiver begins to sleep now and then: senders look at the armed flag from then on.
pub const SLEEPS: usize = ARMED + 4;
const BLOCKS: usize = 512;
const BLOCK_LEN: usize = 512;
/// Offsets in a control block.
pub const BLOCK_STATE: usize = 0;
pub const BLOCK_TAIL: usize = 128;
pub const BLOCK_HEAD: usize = 256;
pub const BLOCK_LOCK: usize = BLOCK_HEAD + 8;
/// Bytes of what is known of a slot of the shared ring: its sender, the data lines used up after it.
const CLAIM_LEN: usize = 16;
const BODY: usize = 8192;
const PAGE: usize = 4096;

const _: () = assert!(BLOCKS + RINGS * BLOCK_LEN <= BODY && MAX_MESSAGE < 1 << 23);

/// Offset of the control block of a ring.
pub const fn block(ring: usize) -> usize {
    BLOCKS + ring * BLOCK_LEN
}

/// The sizes that a receiver chooses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Geometry {
    /// Slots of a ring, a power of two.
    pub slots: u32,
    /// Bytes of a slot, a multiple of a line.
    pub slot_len: u32,
    /// Lines of the data area of a ring, a power of two.
    pub data_lines: u32,
    /// Longest message in bytes.
    pub max_message: u32,
}

/// Longest messages in flight that a data area has room for. With half as many, a stream of them is
/// a sixth slower: a sender that is ahead of its receiver writes over lines that this one still
/// has in its nearest cache.
const DATA_DEPTH: u32 = 32;

const MAX_SLOTS: u32 = 1 << 16;
const MAX_SLOT_LEN: u32 = 4096;
const MAX_MESSAGE: u32 = 1 << 20;
const MAX_DATA_LINES: u32 = 1 << 19;

impl Geometry {
    /// No segment is shorter.
    pub const MIN_SEGMENT: usize = BODY;

    /// Sizes for a queue of `slots` elements of `slot_len` bytes and messages of up to
    /// `max_message` bytes.
    ///
    /// # Errors
    /// `InvalidParam` for sizes that can't be.
    pub fn new(slots: u32, slot_len: u32, max_message: usize) -> Result<Geometry> {
        let max_message = u32::try_from(max_message)
            .ok()
            .filter(|len| (LINE as u32..=MAX_MESSAGE).contains(len))
            .ok_or(Error::InvalidParam)?;
        if !(CTRL_LEN as u32 + 9..=MAX_SLOT_LEN).contains(&slot_len) {
            return Err(Error::InvalidParam);
        }
        let lines = max_message.div_ceil(LINE as u32) * DATA_DEPTH;
        let geometry = Geometry {
            slots,
            slot_len: slot_len.next_multiple_of(LINE as u32),
            data_lines: lines.next_power_of_two(),
            max_message,
        };
        geometry.check()?;
        Ok(geometry)
    }

    /// Checks what another process says.
    pub fn check(&self) -> Result<()> {
        let Geometry {
            slots,
            slot_len,
            data_lines,
            max_message,
        } = *self;
        let valid = slots.is_power_of_two()
            && (2..=MAX_SLOTS).contains(&slots)
            && slot_len.is_multiple_of(LINE as u32)
            && (LINE as u32..=MAX_SLOT_LEN).contains(&slot_len)
            && data_lines.is_power_of_two()
            && data_lines <= MAX_DATA_LINES
            && (LINE as u32..=MAX_MESSAGE).contains(&max_message)
            && data_lines >= 4 * max_message.div_ceil(LINE as u32);
        valid.then_some(()).ok_or(Error::InvalidParam)
    }

    /// Longest message that fits in a slot.
    pub const fn max_inline(&self) -> usize {
        self.slot_len as usize - CTRL_LEN
    }

    pub const fn slots_len(&self) -> usize {
        (self.slots as usize * self.slot_len as usize).next_multiple_of(PAGE)
    }

    pub const fn ring_len(&self) -> usize {
        self.slots_len() + (self.data_lines as usize * LINE).next_multiple_of(PAGE)
    }

    /// Offset of a ring's slots; its data follows after [`Geometry::slots_len`].
    pub const fn ring(&self, index: usize) -> usize {
        let claims = (self.slots as usize * CLAIM_LEN).next_multiple_of(PAGE);
        BODY + claims + index * self.ring_len()
    }

    /// Offset of what is known of a slot of the shared ring: two words.
    pub const fn claim(&self, slot: u32) -> usize {
        BODY + (slot & (self.slots - 1)) as usize * CLAIM_LEN
    }

    pub const fn segment_len(&self) -> usize {
        self.ring(RINGS)
    }
}

/// Lines that `len` bytes take.
pub const fn lines(len: u32) -> u32 {
    len.div_ceil(LINE as u32)
}

/// Bytes of the first line that are before a message of `len` bytes which ends with a line. What follows
/// a header, and is most often as long as so many lines, is copied to the beginning of a line then: a
/// fifth faster at both ends.
pub const fn lead(len: u32) -> usize {
    len.wrapping_neg() as usize % LINE
}

/// The first word of a slot. It is written last and says that the message is complete: its
/// parity alternates with each round through the slots, so nobody ever resets it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ctrl(pub u64);

impl Ctrl {
    /// Id of a slot without a message.
    pub const SKIP: u8 = 63;
    const INLINE: u64 = 2;
    /// A message in the data area ends where its last line does, and not begins where its first does.
    const AT_END: u64 = 1 << 31;

    /// A message that is in the slot itself.
    pub const fn inline(parity: u64, id: u8, len: u32) -> Ctrl {
        Ctrl(parity | Self::INLINE | (id as u64) << 2 | (len as u64) << 8)
    }

    /// A message in the data area, in lines from `pos` (counted on, not wrapped) on.
    pub const fn data(parity: u64, id: u8, len: u32, pos: u32) -> Ctrl {
        Ctrl(parity | (id as u64) << 2 | (len as u64) << 8 | (pos as u64) << 32)
    }

    /// The same, with its end at that of the last line.
    pub const fn at_end(self) -> Ctrl {
        Ctrl(self.0 | Self::AT_END)
    }

    /// Bytes of its first line before a message in the data area.
    pub const fn lead(self) -> usize {
        match self.0 & Self::AT_END {
            0 => 0,
            _ => lead(self.len()),
        }
    }

    pub const fn parity(self) -> u64 {
        self.0 & 1
    }

    pub const fn is_inline(self) -> bool {
        self.0 & Self::INLINE != 0
    }

    pub const fn id(self) -> u8 {
        (self.0 >> 2) as u8 & 63
    }

    pub const fn len(self) -> u32 {
        (self.0 >> 8) as u32 & 0x7f_ffff
    }

    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    pub const fn pos(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// A place in a ring: how many slots and data lines were used up before, both counted on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Place {
    pub slot: u32,
    pub line: u32,
}

impl Place {
    pub const fn pack(self) -> u64 {
        self.slot as u64 | (self.line as u64) << 32
    }

    pub const fn unpack(word: u64) -> Place {
        Place {
            slot: word as u32,
            line: (word >> 32) as u32,
        }
    }

    /// Reserves a slot and `lines` contiguous data lines after `self`; `tail` is what the
    /// receiver has done with. Returns the first line and the place after it, or nothing if
    /// there is no room.
    #[inline(always)]
    pub fn reserve(self, tail: Place, lines: u32, geometry: &Geometry) -> Option<(u32, Place)> {
        if self.slot.wrapping_sub(tail.slot) >= geometry.slots {
            return None;
        }
        let slot = self.slot.wrapping_add(1);
        if lines == 0 {
            let line = self.line;
            return Some((line, Place { slot, line }));
        }
        let offset = self.line & (geometry.data_lines - 1);
        let to_end = geometry.data_lines - offset;
        let skip = if lines > to_end { to_end } else { 0 };
        let start = self.line.wrapping_add(skip);
        let line = start.wrapping_add(lines);
        let fits = line.wrapping_sub(tail.line) <= geometry.data_lines;
        fits.then_some((start, Place { slot, line }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry() -> Geometry {
        Geometry::new(256, 128, 8256).expect("geometry")
    }

    #[test]
    fn defaults() {
        let geometry = geometry();
        assert_eq!(geometry.data_lines, 8192);
        assert_eq!(geometry.max_inline(), 120);
        assert_eq!(geometry.ring_len(), 544 << 10);
        assert!(geometry.segment_len() < 5 << 20);
    }

    #[test]
    fn wrong_sizes() {
        assert!(Geometry::new(255, 128, 8256).is_err());
        assert!(Geometry::new(0, 128, 8256).is_err());
        assert!(Geometry::new(1, 128, 8256).is_err());
        assert!(Geometry::new(256, 8, 8256).is_err());
        assert!(Geometry::new(256, 128, 0).is_err());
        assert!(Geometry::new(256, 128, usize::MAX).is_err());
        assert!(Geometry::new(256, 1 << 20, 8256).is_err());
        assert!(Geometry::new(2, 40, 64).is_ok());
    }

    #[test]
    fn ctrl_round_trip() {
        let ctrl = Ctrl::data(1, 31, 8256, u32::MAX);
        assert!(!ctrl.is_inline());
        assert_eq!((ctrl.parity(), ctrl.id()), (1, 31));
        assert_eq!((ctrl.len(), ctrl.pos()), (8256, u32::MAX));
        assert_eq!(ctrl.lead(), 0);
        let ctrl = ctrl.at_end();
        assert_eq!((ctrl.parity(), ctrl.id()), (1, 31));
        assert_eq!((ctrl.len(), ctrl.pos()), (8256, u32::MAX));
        assert_eq!(ctrl.lead(), 0);
        assert_eq!(Ctrl::data(0, 1, 8212, 7).at_end().lead(), 44);
        assert_eq!(Ctrl::data(0, 1, 1, 7).at_end().lead(), 63);
        let ctrl = Ctrl::inline(0, Ctrl::SKIP, 120);
        assert!(ctrl.is_inline());
        assert_eq!((ctrl.parity(), ctrl.id(), ctrl.len()), (0, 63, 120));
    }

    /// Senders and receiver agree on free room, over the wrap of both counters.
    #[test]
    fn reservation_never_overlaps() {
        let geometry = geometry();
        let mask = geometry.data_lines - 1;
        let start = Place {
            slot: u32::MAX - 300,
            line: (u32::MAX - 3000) & !mask,
        };
        let (mut head, mut tail) = (start, start);
        let mut waiting = std::collections::VecDeque::new();
        let mut used = vec![false; geometry.data_lines as usize];
        let mut seed = 1u32;
        for _ in 0..20_000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let lines = if seed & 1 << 30 == 0 {
                0
            } else {
                seed >> 16 & 127
            };
            if let Some((at, next)) = head.reserve(tail, lines, &geometry) {
                let offset = (at & mask) as usize;
                for line in &mut used[offset..offset + lines as usize] {
                    assert!(!std::mem::replace(line, true));
                }
                waiting.push_back((at, lines));
                head = next;
                assert!(waiting.len() <= 256);
            } else {
                assert!(!waiting.is_empty());
                for _ in 0..waiting.len() / 2 + 1 {
                    let Some((at, lines)) = waiting.pop_front() else {
                        break;
                    };
                    let offset = (at & mask) as usize;
                    used[offset..offset + lines as usize].fill(false);
                    tail.slot = tail.slot.wrapping_add(1);
                    if lines != 0 {
                        tail.line = at.wrapping_add(lines);
                    }
                }
            }
        }
    }
}
