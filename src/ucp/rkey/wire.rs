//! The packed form of remote keys and of exported memory handles.
//!
//! ```text
//! magic 4 | version 1 | kind 1 | total length 2 | checksum 4
//! context 8 | region 8 | address 8 | length 8 | memory type 1 | flags 1 | entries 1
//!   entry   transport id 2 | length 1 | bytes
//! ```
//!
//! Numbers are in native order, since peers of another order are refused when connecting.
#![forbid(unsafe_code)]

use smallvec::SmallVec;

use crate::ucp::address::TlId;
use crate::ucp::wire::{Reader, Writer};

const MAGIC: u32 = 0x4b52_5855;
const VERSION: u8 = 3;

/// Bytes that tell the length of a packed key.
pub const HEADER_LEN: usize = 12;
/// Where the checksum is.
const CHECKSUM: core::ops::Range<usize> = 8..12;
const FIXED_LEN: usize = HEADER_LEN + 32 + 3;

/// Longest packed key in bytes.
pub const MAX_LEN: usize = 2048;
/// Most entries of a key.
pub const MAX_ENTRIES: usize = 8;
/// Longest entry.
pub const MAX_ENTRY: usize = 200;
/// Longest that needs no memory of its own.
const USUAL_ENTRY: usize = 48;

/// What packed bytes are for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A remote key: for an endpoint to the owner.
    Key = 0,
    /// An exported memory handle: for other processes of the owner's host.
    Exported = 1,
}

/// What one transport needs to get at the region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub tl: TlId,
    pub bytes: SmallVec<[u8; USUAL_ENTRY]>,
}

impl Entry {
    pub fn new(tl: TlId, bytes: &[u8]) -> Entry {
        let bytes = SmallVec::from_slice(bytes);
        Entry { tl, bytes }
    }
}

/// A key, taken apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packed {
    pub kind: Kind,
    /// Of the context that owns the region.
    pub context: u64,
    pub region: u64,
    pub address: u64,
    pub len: u64,
    /// `ucs_memory_type_t`.
    pub memory_type: u8,
    pub flags: u8,
    pub entries: SmallVec<[Entry; 1]>,
}

/// A checksum that every change of one byte changes: each step is a bijection.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    let (head, tail) = (bytes.get(..CHECKSUM.start), bytes.get(CHECKSUM.end..));
    let parts = [head.unwrap_or_default(), tail.unwrap_or_default()];
    parts.into_iter().flatten().fold(0x811c_9dc5, step)
}

/// Entries that would make it too long are left out: a key without them works too.
pub fn encode(key: &Packed) -> Vec<u8> {
    let mut bytes = vec![0; MAX_LEN];
    let mut w = Writer::new(&mut bytes);
    w.u32(MAGIC).u8(VERSION).u8(key.kind as u8);
    w.bytes(&[0; 6]); // length and checksum, below
    w.u64(key.context).u64(key.region);
    w.u64(key.address).u64(key.len);
    w.u8(key.memory_type).u8(key.flags);
    let fits = |entry: &&Entry| entry.bytes.len() <= MAX_ENTRY;
    let entries: SmallVec<[&Entry; 2]> =
        key.entries.iter().filter(fits).take(MAX_ENTRIES).collect();
    w.u8(entries.len() as u8);
    for entry in entries {
        w.bytes(&entry.tl.0.to_ne_bytes());
        w.u8(entry.bytes.len() as u8).bytes(&entry.bytes);
    }
    let len = w.len();
    bytes.truncate(len);
    seal(&mut bytes);
    bytes
}

/// Writes the length and the checksum into packed bytes.
pub fn seal(bytes: &mut [u8]) {
    let len = (bytes.len() as u16).to_ne_bytes();
    if let Some(field) = bytes.get_mut(6..8) {
        field.copy_from_slice(&len);
    }
    let sum = checksum(bytes).to_ne_bytes();
    if let Some(field) = bytes.get_mut(CHECKSUM) {
        field.copy_from_slice(&sum);
    }
}

/// How long the key is that begins with these bytes; the reason as a text where it is none of
/// ours.
pub fn total_len(header: &[u8]) -> Result<usize, &'static str> {
    let mut r = Reader(header);
    if r.u32() != Some(MAGIC) {
        return Err("it does not begin like one");
    }
    if r.u8() != Some(VERSION) {
        return Err("it is of another version");
    }
    let len = header.get(6..8).and_then(|f| f.try_into().ok());
    let len = usize::from(len.map_or(0, u16::from_ne_bytes));
    if !(FIXED_LEN..=MAX_LEN).contains(&len) {
        return Err("its length is damaged");
    }
    Ok(len)
}

/// The reason as a text where it is no key of ours, or a damaged one.
pub fn decode(bytes: &[u8]) -> Result<Packed, &'static str> {
    const SHORT: &str = "it is too short";
    if total_len(bytes)? != bytes.len() {
        return Err(SHORT);
    }
    let mut r = Reader(&bytes[CHECKSUM.start..]);
    if r.u32() != Some(checksum(bytes)) {
        return Err("its checksum is wrong");
    }
    let kind = match bytes[5] {
        0 => Kind::Key,
        1 => Kind::Exported,
        _ => return Err("it is of an unknown kind"),
    };
    let mut key = Packed {
        kind,
        context: r.u64().ok_or(SHORT)?,
        region: r.u64().ok_or(SHORT)?,
        address: r.u64().ok_or(SHORT)?,
        len: r.u64().ok_or(SHORT)?,
        memory_type: r.u8().ok_or(SHORT)?,
        flags: r.u8().ok_or(SHORT)?,
        entries: SmallVec::new(),
    };
    key.address
        .checked_add(key.len)
        .ok_or("its region wraps around")?;
    let count = r.u8().ok_or(SHORT)?;
    if usize::from(count) > MAX_ENTRIES {
        return Err("it has too many entries");
    }
    for _ in 0..count {
        key.entries
            .push(entry(&mut r).ok_or("an entry is damaged")?);
    }
    if !r.0.is_empty() {
        return Err("it is longer than its entries");
    }
    Ok(key)
}

fn entry(r: &mut Reader<'_>) -> Option<Entry> {
    let tl = u16::from_ne_bytes([r.u8()?, r.u8()?]);
    let len = usize::from(r.u8()?);
    if len > MAX_ENTRY {
        return None;
    }
    let (bytes, rest) = r.0.split_at_checked(len)?;
    r.0 = rest;
    Some(Entry::new(TlId(tl), bytes))
}

#[cfg(test)]
mod tests;
