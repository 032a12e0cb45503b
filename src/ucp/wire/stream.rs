//! Bytes of an endpoint's stream.

use super::{Origin, Reader, Writer};

/// Bytes of the header: the sender's endpoint. Its first eight can be a transport's own header.
pub const LEN: usize = Origin::LEN;

pub fn encode(origin: Origin, w: &mut Writer<'_>) {
    w.origin(origin);
}

/// The sender's endpoint, and the bytes.
pub fn decode(message: &[u8]) -> Option<(Origin, &[u8])> {
    let mut r = Reader(message);
    let origin = r.origin()?;
    Some((origin, r.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_headers_are_decoded() {
        let origin = Origin {
            worker: 0x1122_3344_5566_7788,
            conn: 9,
        };
        let mut bytes = [7; LEN + 2];
        encode(origin, &mut Writer::new(&mut bytes));
        assert_eq!(decode(&bytes), Some((origin, &[7, 7][..])));
        assert_eq!(decode(&bytes[..LEN]), Some((origin, &[][..])));
        assert!((0..LEN).all(|len| decode(&bytes[..len]).is_none()));
    }
}
