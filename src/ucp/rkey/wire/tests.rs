use proptest::prelude::*;

use super::*;

fn entry_of(tl: u16, bytes: &[u8]) -> Entry {
    Entry {
        tl: TlId(tl),
        bytes: SmallVec::from_slice(bytes),
    }
}

fn key() -> Packed {
    Packed {
        kind: Kind::Key,
        context: 0x1122_3344_5566_7788,
        region: 3,
        address: 0x7f00_0000_1000,
        len: 4096,
        memory_type: 0,
        flags: 0,
        entries: [entry_of(7, b"how to find it"), entry_of(9, b"")]
            .into_iter()
            .collect(),
    }
}

fn any_key() -> impl Strategy<Value = Packed> {
    let entry = (
        any::<u16>(),
        proptest::collection::vec(any::<u8>(), 0..=MAX_ENTRY),
    );
    (
        any::<[u64; 3]>(),
        any::<u32>(),
        any::<bool>(),
        proptest::collection::vec(entry, 0..=MAX_ENTRIES),
    )
        .prop_map(
            |([context, region, address], len, exported, entries)| Packed {
                kind: if exported { Kind::Exported } else { Kind::Key },
                context,
                region,
                address: address >> 1,
                len: u64::from(len),
                memory_type: 0,
                flags: len as u8,
                entries: entries.iter().map(|(tl, b)| entry_of(*tl, b)).collect(),
            },
        )
}

#[test]
fn every_flipped_byte_is_noticed() {
    let good = encode(&key());
    assert_eq!(decode(&good).as_ref(), Ok(&key()));
    for at in 0..good.len() {
        for flip in 1..=255u8 {
            let mut bad = good.clone();
            bad[at] ^= flip;
            assert!(decode(&bad).is_err(), "byte {at} changed by {flip:#x}");
        }
    }
}

#[test]
fn every_truncation_is_noticed() {
    let good = encode(&key());
    for len in 0..good.len() {
        assert!(decode(&good[..len]).is_err(), "{len} bytes");
    }
    let mut longer = good;
    longer.push(0);
    assert!(decode(&longer).is_err());
}

#[test]
fn a_longest_key_fits() {
    let mut long = key();
    long.entries = (0..MAX_ENTRIES as u16)
        .map(|tl| entry_of(tl, &[1; MAX_ENTRY]))
        .collect();
    let bytes = encode(&long);
    assert!(bytes.len() <= MAX_LEN);
    assert_eq!(decode(&bytes), Ok(long));
}

proptest! {
    #[test]
    fn what_is_packed_is_read(key in any_key()) {
        let bytes = encode(&key);
        prop_assert_eq!(total_len(&bytes[..HEADER_LEN]), Ok(bytes.len()));
        prop_assert_eq!(decode(&bytes), Ok(key));
    }

    #[test]
    fn random_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..MAX_LEN)) {
        prop_assert!(decode(&bytes).is_err());
    }

    #[test]
    fn sealed_bytes_are_refused_or_read(mut bytes in proptest::collection::vec(any::<u8>(), FIXED_LEN..MAX_LEN)) {
        let good = encode(&key());
        bytes[..5].copy_from_slice(&good[..5]);
        seal(&mut bytes);
        if let Ok(key) = decode(&bytes) {
            prop_assert_eq!(encode(&key), bytes);
        }
    }
}
