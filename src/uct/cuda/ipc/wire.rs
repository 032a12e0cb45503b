//! What an owner tells others of an allocation.
//!
//! ```text
//! checksum 4 | version 1 | kind 1 | 0 2 | pid 4 | pid namespace 4 | address 8 | length 8
//! buffer id 8 | device 16 | handle 64 or 16 | pool's pointer 64
//! ```
//!
//! A descriptor's handle is host 8 | descriptor 4 | 0 4. Numbers are in native order, since peers of
//! another order are refused when connecting.
#![forbid(unsafe_code)]

use super::cache::{Allocation, Process};
use crate::ucs::crc::crc32;

const VERSION: u8 = 1;
const HEADER: usize = 16;
const FIXED: usize = HEADER + 24 + 16;

/// Bytes of the longest.
pub const MAX_LEN: usize = FIXED + 128;

/// Bytes of a key where all have the same length.
pub const PACKED_LEN: usize = 192;

/// By what others open it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Handle {
    /// Not at all.
    Nothing,
    Legacy([u8; 64]),
    /// Named in a fabric.
    Fabric([u8; 64]),
    /// In a pool that is named in a fabric.
    Pool {
        pool: [u8; 64],
        pointer: [u8; 64],
    },
    /// A descriptor of the owner, on that host.
    Descriptor {
        host: u64,
        fd: i32,
    },
}

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key {
    pub owner: Process,
    pub what: Allocation,
    /// The device that it is on, by its UUID.
    pub device: [u8; 16],
    pub handle: Handle,
}

impl Handle {
    /// A number for the kind.
    pub const fn kind(&self) -> u8 {
        match self {
            Handle::Nothing => 0,
            Handle::Legacy(_) => 1,
            Handle::Fabric(_) => 2,
            Handle::Pool { .. } => 3,
            Handle::Descriptor { .. } => 4,
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Handle::Nothing => {}
            Handle::Legacy(bytes) | Handle::Fabric(bytes) => out.extend_from_slice(bytes),
            Handle::Pool { pool, pointer } => {
                out.extend_from_slice(pool);
                out.extend_from_slice(pointer);
            }
            Handle::Descriptor { host, fd } => {
                out.extend_from_slice(&host.to_ne_bytes());
                out.extend_from_slice(&fd.to_ne_bytes());
                out.extend_from_slice(&[0; 4]);
            }
        }
    }

    fn decode(kind: u8, r: &mut Bytes<'_>) -> Option<Handle> {
        Some(match kind {
            0 => Handle::Nothing,
            1 => Handle::Legacy(r.take()?),
            2 => Handle::Fabric(r.take()?),
            3 => Handle::Pool {
                pool: r.take()?,
                pointer: r.take()?,
            },
            4 => {
                let host = u64::from_ne_bytes(r.take()?);
                let fd = i32::from_ne_bytes(r.take()?);
                r.take::<4>()?;
                Handle::Descriptor { host, fd }
            }
            _ => return None,
        })
    }
}

struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }
}

impl Key {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![0; 4];
        out.extend_from_slice(&[VERSION, self.handle.kind(), 0, 0]);
        out.extend_from_slice(&self.owner.pid.to_ne_bytes());
        out.extend_from_slice(&self.owner.pid_ns.to_ne_bytes());
        for number in [self.what.base, self.what.len, self.what.buffer_id] {
            out.extend_from_slice(&number.to_ne_bytes());
        }
        out.extend_from_slice(&self.device);
        self.handle.encode(&mut out);
        let sum = crc32(0, out.get(4..).unwrap_or_default());
        if let Some(field) = out.first_chunk_mut::<4>() {
            *field = sum.to_ne_bytes();
        }
        out
    }

    /// `None` for what is none, or damaged. More bytes may follow, as where keys have a fixed length.
    pub fn decode(bytes: &[u8]) -> Option<Key> {
        let mut r = Bytes(bytes);
        let sum = u32::from_ne_bytes(r.take()?);
        let body = r.0;
        let [version, kind, _, _] = r.take()?;
        if version != VERSION {
            return None;
        }
        let owner = Process {
            pid: i32::from_ne_bytes(r.take()?),
            pid_ns: u32::from_ne_bytes(r.take()?),
        };
        let what = Allocation {
            base: u64::from_ne_bytes(r.take()?),
            len: u64::from_ne_bytes(r.take()?),
            buffer_id: u64::from_ne_bytes(r.take()?),
        };
        let device = r.take()?;
        let handle = Handle::decode(kind, &mut r)?;
        let used = body.get(..body.len().checked_sub(r.0.len())?)?;
        what.base.checked_add(what.len)?;
        (crc32(0, used) == sum).then_some(Key {
            owner,
            what,
            device,
            handle,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keys() -> impl Strategy<Value = Key> {
        let half = || any::<[u8; 32]>();
        let bytes = || {
            (half(), half())
                .prop_map(|(a, b)| core::array::from_fn(|n| if n < 32 { a[n] } else { b[n - 32] }))
        };
        let handle = prop_oneof![
            Just(Handle::Nothing),
            bytes().prop_map(Handle::Legacy),
            bytes().prop_map(Handle::Fabric),
            (bytes(), bytes()).prop_map(|(pool, pointer)| Handle::Pool { pool, pointer }),
            any::<(u64, i32)>().prop_map(|(host, fd)| Handle::Descriptor { host, fd }),
        ];
        let numbers = any::<(i32, u32, u32, u32, u64, [u8; 16])>();
        (numbers, handle).prop_map(
            |((pid, pid_ns, base, len, buffer_id, device), handle)| Key {
                owner: Process { pid, pid_ns },
                what: Allocation {
                    base: base.into(),
                    len: len.into(),
                    buffer_id,
                },
                device,
                handle,
            },
        )
    }

    proptest! {
        #[test]
        fn round_trip(key in keys(), padding in 0..100usize) {
            let mut bytes = key.encode();
            prop_assert!(bytes.len() <= MAX_LEN);
            bytes.resize(bytes.len() + padding, 0);
            prop_assert_eq!(Key::decode(&bytes), Some(key));
        }

        #[test]
        fn damage_is_noticed(key in keys(), at: usize, bit in 0..8u8) {
            let mut bytes = key.encode();
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            prop_assert_eq!(Key::decode(&bytes), None);
            let cut = at % bytes.len();
            prop_assert_eq!(Key::decode(&key.encode()[..cut]), None);
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Key::decode(&bytes);
        }
    }
}
