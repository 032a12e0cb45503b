//! Packed remote keys and exported memory handles: any bytes are refused or read, and what is
//! read packs again to the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ucx::ucp::rkey::wire::{HEADER_LEN, Kind, decode, encode, seal, total_len};

fuzz_target!(|data: &[u8]| {
    let _ = total_len(data);
    if let Ok(key) = decode(data) {
        assert_eq!(encode(&key), data);
    }
    // Behind an intact header, so that the inner parser is reached: the input gives the kind and
    // what follows.
    let Some((kind, body)) = data.split_first() else {
        return;
    };
    let mut bytes = sound_header();
    bytes[5] = kind & 1;
    bytes.extend_from_slice(body);
    seal(&mut bytes);
    if let Ok(key) = decode(&bytes) {
        assert_eq!(total_len(&bytes), Ok(bytes.len()));
        assert_eq!(
            key.kind,
            if kind & 1 == 0 {
                Kind::Key
            } else {
                Kind::Exported
            }
        );
        assert_eq!(encode(&key), bytes);
    }
});

fn sound_header() -> Vec<u8> {
    let empty = ucx::ucp::rkey::wire::Packed {
        kind: Kind::Key,
        context: 0,
        region: 0,
        address: 0,
        len: 0,
        memory_type: 0,
        flags: 0,
        entries: Default::default(),
    };
    let mut bytes = encode(&empty);
    bytes.truncate(HEADER_LEN);
    bytes
}
