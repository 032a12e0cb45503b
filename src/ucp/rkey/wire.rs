//! The packed form of remote keys.
#![forbid(unsafe_code)]

use crate::ucp::wire::{Reader, Writer};

const MAGIC: u32 = 0x4b52_5855;
const VERSION: u8 = 1;

/// Longest packed key in bytes.
pub const MAX_LEN: usize = 1024;

/// A key, taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packed {
    /// Of the context that owns the region.
    pub context: u64,
    pub region: u64,
    pub address: u64,
    pub len: u64,
}

const LEN: usize = 4 + 1 + 32;

pub fn encode(key: &Packed) -> Vec<u8> {
    let mut bytes = vec![0; LEN];
    let mut w = Writer::new(&mut bytes);
    w.u32(MAGIC).u8(VERSION).u64(key.context).u64(key.region);
    w.u64(key.address).u64(key.len);
    bytes
}

/// The reason as a text where it is no key of ours.
pub fn decode(bytes: &[u8]) -> Result<Packed, &'static str> {
    let mut r = Reader(bytes);
    if r.u32() != Some(MAGIC) {
        return Err("it does not begin like one");
    }
    if r.u8() != Some(VERSION) {
        return Err("it is of another version");
    }
    let mut field = || r.u64().ok_or("it is too short");
    Ok(Packed {
        context: field()?,
        region: field()?,
        address: field()?,
        len: field()?,
    })
}
