//! Frames of the connection manager: magic, version, kind, length, checksum, body.
#![forbid(unsafe_code)]

use crate::ucs::crc::crc32;

const MAGIC: [u8; 4] = *b"UXCM";
pub const VERSION: u8 = 1;
const HEADER: usize = 16;
/// Longest body in bytes.
pub const MAX_BODY: usize = 64 << 10;

/// A frame. What kinds there are, and what they carry, is the owner's business.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    pub kind: u8,
    pub body: Vec<u8>,
}

impl Frame {
    /// Appends the bytes to be sent; `None` if the body is too long.
    pub fn encode(&self, out: &mut Vec<u8>) -> Option<()> {
        let len = u32::try_from(self.body.len()).ok()?;
        if self.body.len() > MAX_BODY {
            return None;
        }
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[VERSION, self.kind, 0, 0]);
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(&crc32(0, &self.body).to_le_bytes());
        out.extend_from_slice(&self.body);
        Some(())
    }
}

/// Why bytes are no frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bad {
    /// They don't begin like one.
    Foreign,
    Version(u8),
    /// Length or checksum is wrong.
    Damaged,
}

/// Takes the first frame off `bytes`; `None` if it is not all there yet.
pub fn take(bytes: &mut Vec<u8>) -> Result<Option<Frame>, Bad> {
    let known = bytes.len().min(MAGIC.len());
    if bytes.get(..known) != MAGIC.get(..known) {
        return Err(Bad::Foreign);
    }
    if let Some(version) = bytes.get(4).filter(|v| **v != VERSION) {
        return Err(Bad::Version(*version));
    }
    let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else {
        return Ok(None);
    };
    let [_, _, _, _, _, kind, _, _, l0, l1, l2, l3, c0, c1, c2, c3] = *header;
    let len = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    if len > MAX_BODY {
        return Err(Bad::Damaged);
    }
    let Some(body) = rest.get(..len) else {
        return Ok(None);
    };
    if crc32(0, body) != u32::from_le_bytes([c0, c1, c2, c3]) {
        return Err(Bad::Damaged);
    }
    let frame = Frame {
        kind,
        body: body.to_vec(),
    };
    bytes.drain(..HEADER + len);
    Ok(Some(frame))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_encoded_comes_back_piece_by_piece() {
        let frames = [
            Frame {
                kind: 1,
                body: vec![],
            },
            Frame {
                kind: 2,
                body: (0..=255).collect(),
            },
        ];
        let mut all = Vec::new();
        for frame in &frames {
            frame.encode(&mut all).expect("fits");
        }
        let (mut got, mut buffer) = (Vec::new(), Vec::new());
        for byte in all {
            buffer.push(byte);
            got.extend(take(&mut buffer).expect("valid"));
        }
        assert_eq!(got, frames);
        assert!(buffer.is_empty());
    }

    #[test]
    fn strangers_are_known_at_once() {
        assert_eq!(take(&mut b"GET / HTTP/1.1".to_vec()), Err(Bad::Foreign));
        assert_eq!(take(&mut b"UX!".to_vec()), Err(Bad::Foreign));
        assert_eq!(take(&mut b"UXCM\x07".to_vec()), Err(Bad::Version(7)));
        let mut long = b"UXCM\x01\x01\0\0".to_vec();
        long.extend_from_slice(&[0xff; 8]);
        assert_eq!(take(&mut long), Err(Bad::Damaged));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(mut bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = take(&mut bytes);
        }

        #[test]
        fn a_flipped_body_is_noticed(at in 16usize..48, bit in 0u8..8) {
            let mut bytes = Vec::new();
            Frame { kind: 3, body: vec![5; 32] }.encode(&mut bytes).expect("fits");
            bytes[at] ^= 1 << bit;
            prop_assert_eq!(take(&mut bytes), Err(Bad::Damaged));
        }
    }
}
