//! Round trips, damage, and what the bytes look like to others.

use proptest::prelude::*;

use super::*;

fn perf_attr(latency: f64, overhead: f64, bandwidth: f64, priority: u8) -> PerfAttr {
    let round = rounded_cost;
    PerfAttr {
        latency: round(latency),
        overhead: round(overhead),
        bw_shared: round(0.0),
        bw_dedicated: round(bandwidth),
        priority,
    }
}

fn tl<'a>(name: &str, index: u8, device: &'a [u8], iface: &'a [u8]) -> TlAddress<'a> {
    TlAddress {
        tl: TlId::of(name),
        rsc_index: index,
        md_index: index,
        dev_index: index,
        caps: IfaceCaps::AM_SHORT | IfaceCaps::AM_BCOPY,
        perf: perf_attr(80e-9, 10e-9, 15e9, 0),
        device_addr: device,
        iface_addr: iface,
    }
}

/// The transports of a host with one network device.
fn usual<'a>() -> WorkerAddress<'a> {
    let shm = |name, index| TlAddress {
        dev_index: 0,
        ..tl(name, index, &[7; 8], &[9; 8])
    };
    WorkerAddress {
        uuid: 0x0123_4567_89ab_cdef,
        tls: smallvec::smallvec![
            TlAddress {
                dev_index: 0,
                ..tl("self", 0, &[], &[1; 8])
            },
            tl("tcp", 1, &[2; 6], &[3; 2]),
            tl("tcp", 2, &[4; 14], &[3; 2]),
            shm("sysv", 3),
            shm("posix", 4),
            shm("cma", 5),
        ],
        ..WorkerAddress::default()
    }
}

#[test]
fn round_trip_and_size() {
    let bytes = encode(&usual()).expect("fits");
    // Launchers exchange these by the thousand; genuine UCX takes 213 bytes for the same.
    assert!(bytes.len() <= 213, "{} bytes", bytes.len());
    let mut decoded = decode(&bytes).expect("intact");
    decoded.tls.sort_by_key(|tl| tl.rsc_index);
    assert_eq!(decoded, usual());
    assert_eq!(
        header(&bytes[..HEADER_LEN]).map(|h| h.total_len),
        Ok(bytes.len())
    );
}

#[test]
fn bytes_after_the_address_do_not_matter() {
    let mut bytes = encode(&usual()).expect("fits");
    bytes.extend_from_slice(&[0xaa; 100]);
    assert_eq!(decode(&bytes).map(|a| a.uuid), Ok(usual().uuid));
}

#[test]
fn every_bit_flip_and_every_truncation_is_found() {
    let bytes = encode(&usual()).expect("fits");
    for index in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[index] ^= 1 << bit;
            assert!(decode(&damaged).is_err(), "byte {index} bit {bit}");
        }
        let error = decode(&bytes[..index]).expect_err("truncated");
        assert!(matches!(error, AddressError::Truncated { .. }), "{error}");
        assert_eq!(error.status(), crate::ucs::status::Error::InvalidAddr);
    }
}

#[test]
fn the_fault_is_named() {
    let good = encode(&usual()).expect("fits");
    let with = |index: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[index] = value;
        decode(&bytes).expect_err("damaged").to_string()
    };
    assert!(with(0, 0x10).contains("not a worker address of ucx-rs"));
    let version = with(4, 7);
    assert!(
        version.contains("version 7") && version.contains("version 1"),
        "{version}"
    );
    let arch = with(5, 0x22);
    assert!(arch.contains("aarch64, 64 bit, big endian"), "{arch}");
    assert!(with(20, good[20] ^ 0x10).contains("checksum") || with(20, 0xf0).contains("flags"));
    assert!(with(60, good[60] ^ 1).contains("checksum"));
    assert!(
        decode(&[])
            .expect_err("empty")
            .to_string()
            .contains("truncated")
    );
}

#[test]
fn genuine_ucx_sees_an_empty_list_of_transports() {
    let bytes = encode(&usual()).expect("fits");
    // Its second format: version in the low nibble, flags, then the list, ended by 0xff.
    assert_eq!(bytes[0] & 0x0f, 1);
    assert_eq!(bytes[1..3], [0, 0xff]);
}

#[test]
fn names_are_cut_at_a_character() {
    let name = "é".repeat(40);
    let address = WorkerAddress {
        name: Some(&name),
        ..usual()
    };
    let bytes = encode(&address).expect("fits");
    let decoded = decode(&bytes).expect("intact");
    assert_eq!(decoded.name, Some(&name[..62]));
    assert!(decoded.flags.contains(AddressFlags::NAME));
}

#[test]
fn too_much_is_refused() {
    let long = [0; 256];
    let mut address = usual();
    address.tls[0].iface_addr = &long;
    assert!(matches!(encode(&address), Err(AddressError::TooLarge(_))));
    let mut address = usual();
    let first = address.tls[0].clone();
    address.tls.extend(std::iter::repeat_n(first, MAX_TLS));
    assert!(matches!(encode(&address), Err(AddressError::TooLarge(_))));
}

#[test]
fn ids_of_transports_differ() {
    let names = [
        "self",
        "tcp",
        "sysv",
        "posix",
        "cma",
        "xpmem",
        "knem",
        "rc_verbs",
        "ud_verbs",
        "rc_mlx5",
        "ud_mlx5",
        "dc_mlx5",
        "gga_mlx5",
        "srd",
        "rc_gda",
        "ugni_smsg",
        "ugni_udt",
        "ugni_rdma",
        "cuda_copy",
        "cuda_ipc",
        "gdr_copy",
        "rocm_copy",
        "rocm_ipc",
        "rocm_gdr",
        "ze_copy",
        "ze_ipc",
        "ze_gdr",
        "gaudi_gdr",
        "fault",
    ];
    let ids: std::collections::BTreeSet<TlId> = names.iter().map(|name| TlId::of(name)).collect();
    assert_eq!(ids.len(), names.len());
}

type Parts = (u8, u8, u16, u32, Vec<u8>, Vec<u8>, f64);

fn part() -> impl Strategy<Value = Parts> {
    let bytes = || proptest::collection::vec(any::<u8>(), 0..24);
    (
        any::<u8>(),
        0u8..4,
        any::<u16>(),
        any::<u32>(),
        bytes(),
        bytes(),
        0.0..1e12f64,
    )
}

proptest! {
    #[test]
    fn any_address_survives_the_trip(
        uuid in any::<u64>(),
        name in proptest::option::of("[a-zA-Z0-9:._-]{0,63}"),
        parts in proptest::collection::vec(part(), 0..20),
    ) {
        let tls = parts.iter().map(|(index, dev, id, caps, device, iface, cost)| TlAddress {
            tl: TlId(*id),
            rsc_index: *index,
            md_index: index.wrapping_add(1),
            dev_index: *dev,
            caps: IfaceCaps::from_bits_truncate(*caps & 0xffff),
            perf: PerfAttr {
                bw_shared: rounded_cost(cost * f64::from(*dev)),
                ..perf_attr(*cost, cost / 3.0, cost * 7.0, *index)
            },
            device_addr: device,
            iface_addr: iface,
        });
        let flags = if name.is_some() { AddressFlags::NAME } else { AddressFlags::empty() };
        let address = WorkerAddress { uuid, name: name.as_deref(), flags, tls: tls.collect() };
        let bytes = encode(&address).expect("within the limits");
        let decoded = decode(&bytes).expect("intact");
        prop_assert_eq!(decoded.uuid, uuid);
        prop_assert_eq!(decoded.name, name.as_deref());
        prop_assert_eq!(decoded.tls.len(), address.tls.len());
        for tl in &address.tls {
            prop_assert!(decoded.tls.contains(tl));
        }
    }

    #[test]
    fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(decode(&bytes).is_err());
    }

    /// Behind a valid header and checksum, so that the inner parser is reached.
    #[test]
    fn garbage_behind_a_valid_checksum_never_panics(
        body in proptest::collection::vec(any::<u8>(), 0..300),
        flags in 0u8..4,
        devices in any::<u8>(),
    ) {
        let mut bytes = encode(&WorkerAddress::default()).expect("fits");
        bytes[20] = flags;
        bytes[21] = devices;
        bytes.extend_from_slice(&body);
        let total = (bytes.len() as u16).to_ne_bytes();
        bytes[6..8].copy_from_slice(&total);
        let sum = unpack::checksum(&bytes).to_ne_bytes();
        bytes[8..12].copy_from_slice(&sum);
        if let Ok(address) = decode(&bytes) {
            prop_assert!(address.tls.len() <= MAX_TLS);
        }
    }

    #[test]
    fn costs_keep_three_digits(value in 1e-12..1e18f64) {
        let kept = rounded_cost(value);
        prop_assert!((kept - value).abs() <= value * 0.004);
        prop_assert_eq!(rounded_cost(kept), kept);
    }
}
