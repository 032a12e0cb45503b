//! Checksums: CRC-16 of X.25 and CRC-32 of ISO 3309, both bit-reversed.

/// CRC-16 (reversed polynomial 0x8408) of `bytes`.
pub fn crc16(bytes: &[u8]) -> u16 {
    !bytes.iter().fold(u16::MAX, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte), |crc, _| {
            crc >> 1 ^ if crc & 1 == 1 { 0x8408 } else { 0 }
        })
    })
}

/// CRC-32 (reversed polynomial 0xedb88320) of `bytes`, going on after those whose CRC is
/// `previous`; 0 to begin.
pub fn crc32(previous: u32, bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!previous, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_check_values() {
        assert_eq!(crc16(b"123456789"), 0x906e);
        assert_eq!(crc32(0, b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(crc32(0, b"1234"), b"56789"), 0xcbf4_3926);
    }
}
