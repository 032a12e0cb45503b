//! Copies and fills. Every one is an operation of a stream; the synchronous ones wait for it.

use crate::abi::*;
use crate::block::{Block, Kind};
use crate::state::{State, state};
use crate::worker::{self, Lane, Work};
use std::sync::Arc;

/// What an address of a copy must be.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    /// Anything; what the driver doesn't know is the program's own memory.
    Any,
    /// Something that the driver knows.
    Known,
    /// Not memory of a device that the CPU can't touch.
    Host,
}

/// Contiguous memory as the driver reaches it.
struct Piece {
    raw: u64,
    len: usize,
    hold: Option<Arc<Block>>,
}

impl State {
    /// The range in pieces: it may go over several mappings that follow each other.
    fn pieces(
        &self,
        mut at: Address,
        mut len: usize,
        side: Side,
        device: i32,
    ) -> Answer<Vec<Piece>> {
        let mut pieces = Vec::new();
        while len > 0 {
            let Some(region) = self.region(at) else {
                if side == Side::Known || self.arena.contains(at) || at == 0 {
                    return Err(INVALID_VALUE);
                }
                pieces.push(Piece {
                    raw: at,
                    len,
                    hold: None,
                });
                break;
            };
            let on_device = !region.is_host() && region.kind != Kind::Managed;
            let closed = region.kind == Kind::Mapped && !region.access.contains(&device);
            if (side == Side::Host && on_device) || closed || region.opened == 0 {
                return Err(INVALID_VALUE);
            }
            let mut here = len.min((region.end() - at) as usize);
            if here < len && !on_device {
                // Host memory of which only the beginning is registered is host memory still.
                if region.kind == Kind::Managed {
                    return Err(INVALID_VALUE);
                }
                here = len;
            }
            pieces.push(Piece {
                raw: region.raw(at) as u64,
                len: here,
                hold: region.block.clone(),
            });
            at += here as u64;
            len -= here;
        }
        Ok(pieces)
    }

    fn copy(&self, lane: Lane, to: (Address, Side), from: (Address, Side), len: usize) -> Answer {
        let device = self.current_device()?;
        let to = self.pieces(to.0, len, to.1, device)?;
        let from = self.pieces(from.0, len, from.1, device)?;
        let (mut i, mut j, mut a, mut b) = (0, 0, 0, 0);
        while i < to.len() && j < from.len() {
            let len = (to[i].len - a).min(from[j].len - b);
            let hold = to[i].hold.iter().chain(&from[j].hold).cloned().collect();
            let work = Work::Copy {
                to: to[i].raw + a as u64,
                from: from[j].raw + b as u64,
                len,
            };
            worker::submit(lane, work, hold)?;
            (a, b) = (a + len, b + len);
            if a == to[i].len {
                (i, a) = (i + 1, 0);
            }
            if b == from[j].len {
                (j, b) = (j + 1, 0);
            }
        }
        Ok(())
    }

    fn fill(&self, lane: Lane, at: Address, value: [u8; 4], width: usize, count: usize) -> Answer {
        let size = width.checked_mul(count).ok_or(INVALID_VALUE)?;
        if !at.is_multiple_of(width as u64) {
            return Err(INVALID_VALUE);
        }
        for piece in self.pieces(at, size, Side::Known, self.current_device()?)? {
            let work = Work::Fill {
                to: piece.raw,
                value,
                width,
                count: piece.len / width,
            };
            worker::submit(lane, work, piece.hold.into_iter().collect())?;
        }
        Ok(())
    }
}

fn copy_async(to: (Address, Side), from: (Address, Side), len: usize, stream: Handle) -> Answer {
    let s = state()?;
    s.copy(s.lane(stream)?, to, from, len)
}

/// `CU_CTX_SYNC_MEMOPS`
const SYNC_MEMOPS: u32 = 0x80;

impl State {
    /// Whether calls that change nothing but memory of devices return before they are done, unless they are
    /// told not to: what else is done in that memory is in no order with them.
    fn returns_early(&self, places: &[Address]) -> bool {
        let on_device = |at: &Address| {
            let region = self.region(*at);
            region.is_some_and(|r| !matches!(r.kind, Kind::Host | Kind::Registered | Kind::Managed))
        };
        let context = self.current().ok().and_then(|c| self.contexts.get(&c));
        let waits = context.is_some_and(|c| c.flags & SYNC_MEMOPS != 0);
        !waits && places.iter().all(on_device)
    }
}

fn copy(to: (Address, Side), from: (Address, Side), len: usize) -> Answer {
    let (lane, early) = {
        let s = state()?;
        let lane = s.lane(0)?;
        s.copy(lane, to, from, len)?;
        (lane, s.returns_early(&[to.0, from.0]))
    };
    if !early {
        worker::wait_lane(&lane);
    }
    Ok(())
}

fn fill(at: Address, value: [u8; 4], width: usize, count: usize, stream: Option<Handle>) -> Answer {
    let (lane, early) = {
        let s = state()?;
        let lane = s.lane(stream.unwrap_or(0))?;
        s.fill(lane, at, value, width, count)?;
        (lane, s.returns_early(&[at]))
    };
    if stream.is_none() && !early {
        worker::wait_lane(&lane);
    }
    Ok(())
}

fn wide(byte: u8) -> [u8; 4] {
    [byte; 4]
}

fn wide16(word: u16) -> [u8; 4] {
    let [a, b] = word.to_ne_bytes();
    [a, b, a, b]
}

use Side::{Any, Host, Known};

api! { fn cuMemcpy(to: Address, from: Address, len: usize) { copy((to, Any), (from, Any), len) } }
api! { fn cuMemcpyHtoD_v2(to: Address, from: Address, len: usize) { copy((to, Known), (from, Host), len) } }
api! { fn cuMemcpyDtoH_v2(to: Address, from: Address, len: usize) { copy((to, Host), (from, Known), len) } }
api! { fn cuMemcpyDtoD_v2(to: Address, from: Address, len: usize) { copy((to, Known), (from, Known), len) } }
api! { fn cuMemcpyPeer(to: Address, _there: Handle, from: Address, _here: Handle, len: usize) {
    copy((to, Known), (from, Known), len)
} }
api! { fn cuMemcpyAsync(to: Address, from: Address, len: usize, stream: Handle) {
    copy_async((to, Any), (from, Any), len, stream)
} }
api! { fn cuMemcpyHtoDAsync_v2(to: Address, from: Address, len: usize, stream: Handle) {
    copy_async((to, Known), (from, Host), len, stream)
} }
api! { fn cuMemcpyDtoHAsync_v2(to: Address, from: Address, len: usize, stream: Handle) {
    copy_async((to, Host), (from, Known), len, stream)
} }
api! { fn cuMemcpyDtoDAsync_v2(to: Address, from: Address, len: usize, stream: Handle) {
    copy_async((to, Known), (from, Known), len, stream)
} }
api! { fn cuMemcpyPeerAsync(to: Address, _there: Handle, from: Address, _here: Handle, len: usize, stream: Handle) {
    copy_async((to, Known), (from, Known), len, stream)
} }

api! { fn cuMemsetD8_v2(at: Address, value: u8, count: usize) { fill(at, wide(value), 1, count, None) } }
api! { fn cuMemsetD16_v2(at: Address, value: u16, count: usize) { fill(at, wide16(value), 2, count, None) } }
api! { fn cuMemsetD32_v2(at: Address, value: u32, count: usize) {
    fill(at, value.to_ne_bytes(), 4, count, None)
} }
api! { fn cuMemsetD8Async(at: Address, value: u8, count: usize, stream: Handle) {
    fill(at, wide(value), 1, count, Some(stream))
} }
api! { fn cuMemsetD16Async(at: Address, value: u16, count: usize, stream: Handle) {
    fill(at, wide16(value), 2, count, Some(stream))
} }
api! { fn cuMemsetD32Async(at: Address, value: u32, count: usize, stream: Handle) {
    fill(at, value.to_ne_bytes(), 4, count, Some(stream))
} }
