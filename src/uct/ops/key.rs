//! Packed keys of memory that other processes can map.
//!
//! ```text
//! checksum 4 | length of the key 1 | 0 3 | the owner's address 8 | key 48
//! ```
#![forbid(unsafe_code)]

use crate::ucs::crc::crc32;

/// Bytes of a packed key.
pub const LEN: usize = 64;
const CHECKSUM: usize = 4;
const KEY: usize = 16;

/// What a packed key says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unpacked<'a> {
    /// The address of the memory in its owner.
    pub base: u64,
    /// For [`crate::uct::Component::attach`].
    pub key: &'a [u8],
}

/// `None` if the key is too long.
pub fn pack(base: u64, key: &[u8]) -> Option<[u8; LEN]> {
    let mut out = [0; LEN];
    out[CHECKSUM] = u8::try_from(key.len()).ok()?;
    out[8..KEY].copy_from_slice(&base.to_le_bytes());
    out.get_mut(KEY..KEY + key.len())?.copy_from_slice(key);
    let sum = crc32(0, &out[CHECKSUM..]);
    out[..CHECKSUM].copy_from_slice(&sum.to_le_bytes());
    Some(out)
}

/// `None` for what is no packed key.
pub fn unpack(bytes: &[u8; LEN]) -> Option<Unpacked<'_>> {
    let (sum, rest) = bytes.split_first_chunk::<CHECKSUM>()?;
    if u32::from_le_bytes(*sum) != crc32(0, rest) {
        return None;
    }
    let len = usize::from(bytes[CHECKSUM]);
    let base = bytes.get(8..KEY)?.try_into().ok()?;
    Some(Unpacked {
        base: u64::from_le_bytes(base),
        key: bytes.get(KEY..KEY + len)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trip(base: u64, key in prop::collection::vec(any::<u8>(), 0..=48)) {
            let packed = pack(base, &key).expect("fits");
            prop_assert_eq!(unpack(&packed), Some(Unpacked { base, key: &key }));
        }

        #[test]
        fn every_flipped_bit_is_noticed(bit in 0..LEN * 8) {
            let mut packed = pack(77, &[5; 40]).expect("fits");
            packed[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(unpack(&packed), None);
        }

        #[test]
        fn any_bytes_are_survived(half: [u8; 32], other: [u8; 32]) {
            let mut bytes = [0; LEN];
            bytes[..32].copy_from_slice(&half);
            bytes[32..].copy_from_slice(&other);
            let _ = unpack(&bytes);
        }
    }

    #[test]
    fn long_keys_are_refused() {
        assert_eq!(pack(0, &[0; 49]), None);
        assert_eq!(pack(0, &[0; 300]), None);
    }
}
