//! Packing.
//!
//! ```text
//! header      magic 4 | version 1 | architecture 1 | total length 2 | checksum 4 | uuid 8
//!             flags 1 | devices 1
//! name        length 1, bytes                                   with flag NAME
//! device      index 1 | address length 1 | transports 1 | address
//!   transport tl id 2 | resource 1 | md 1 | capabilities and presence 2 | latency 2 | overhead 2
//!             bandwidth shared 2, bandwidth dedicated 2, priority 1, each unless 0
//!             address length 1 | address
//! ```
//!
//! Numbers are in native order, since peers of another order are refused anyway.

use crate::uct::PerfAttr;

use super::unpack::{HAS_DEDICATED, HAS_PRIORITY, HAS_SHARED, checksum, our_arch};
use super::{
    AddressError, AddressFlags, HEADER_LEN, MAGIC, MAX_LEN, MAX_NAME, MAX_TLS, TlAddress, VERSION,
    WorkerAddress, perf,
};

/// Packs an address. Transports of one device (same index and device address) share an entry.
///
/// # Errors
/// [`AddressError::TooLarge`] beyond [`MAX_LEN`], [`MAX_TLS`], or 255 bytes in one address.
pub fn encode(address: &WorkerAddress<'_>) -> Result<Vec<u8>, AddressError> {
    if address.tls.len() > MAX_TLS {
        return Err(AddressError::TooLarge("too many transports"));
    }
    let groups = group(&address.tls);
    let mut out = Vec::with_capacity(256);
    push_header(&mut out, address, groups.len() as u8);
    if let Some(name) = address.name {
        push_name(&mut out, name);
    }
    for members in &groups {
        push_device(&mut out, members)?;
    }
    seal(out)
}

fn group<'t, 'a>(tls: &'t [TlAddress<'a>]) -> Vec<Vec<&'t TlAddress<'a>>> {
    let mut groups: Vec<Vec<&TlAddress<'_>>> = Vec::with_capacity(tls.len());
    for tl in tls {
        let same = |g: &&mut Vec<&TlAddress<'_>>| {
            g.first().is_some_and(|first| {
                first.dev_index == tl.dev_index && first.device_addr == tl.device_addr
            })
        };
        match groups.iter_mut().find(same) {
            Some(members) => members.push(tl),
            None => groups.push(vec![tl]),
        }
    }
    groups
}

fn push_header(out: &mut Vec<u8>, address: &WorkerAddress<'_>, devices: u8) {
    let mut flags = address.flags - AddressFlags::NAME;
    if address.name.is_some() {
        flags |= AddressFlags::NAME;
    }
    out.extend_from_slice(&MAGIC);
    out.push(VERSION);
    out.push(our_arch());
    out.extend_from_slice(&[0; 2]); // length, see `seal`
    out.extend_from_slice(&[0; 4]); // checksum, see `seal`
    out.extend_from_slice(&address.uuid.to_ne_bytes());
    out.push(flags.bits());
    out.push(devices);
    debug_assert_eq!(out.len(), HEADER_LEN);
}

fn push_name(out: &mut Vec<u8>, name: &str) {
    let mut end = name.len().min(MAX_NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    out.push(end as u8);
    out.extend_from_slice(&name.as_bytes()[..end]);
}

fn push_device(out: &mut Vec<u8>, members: &[&TlAddress<'_>]) -> Result<(), AddressError> {
    let Some(first) = members.first() else {
        return Ok(());
    };
    out.push(first.dev_index);
    out.push(length(first.device_addr)?);
    out.push(members.len() as u8);
    out.extend_from_slice(first.device_addr);
    for tl in members {
        push_tl(out, tl)?;
    }
    Ok(())
}

fn push_tl(out: &mut Vec<u8>, tl: &TlAddress<'_>) -> Result<(), AddressError> {
    out.extend_from_slice(&tl.tl.0.to_ne_bytes());
    out.push(tl.rsc_index);
    out.push(tl.md_index);
    let PerfAttr {
        latency,
        overhead,
        bw_shared,
        bw_dedicated,
        priority,
    } = tl.perf;
    let (shared, dedicated) = (perf::pack(bw_shared), perf::pack(bw_dedicated));
    let present = [(shared != 0, HAS_SHARED), (dedicated != 0, HAS_DEDICATED)];
    let present = present.into_iter().chain([(priority != 0, HAS_PRIORITY)]);
    let bits = present
        .filter(|(is, _)| *is)
        .fold(tl.caps.bits() as u16, |all, (_, bit)| all | bit);
    out.extend_from_slice(&bits.to_ne_bytes());
    let costs = [perf::pack(latency), perf::pack(overhead)];
    let bandwidths = [shared, dedicated].into_iter().filter(|value| *value != 0);
    for value in costs.into_iter().chain(bandwidths) {
        out.extend_from_slice(&value.to_ne_bytes());
    }
    if priority != 0 {
        out.push(priority);
    }
    out.push(length(tl.iface_addr)?);
    out.extend_from_slice(tl.iface_addr);
    Ok(())
}

fn length(bytes: &[u8]) -> Result<u8, AddressError> {
    u8::try_from(bytes.len()).map_err(|_| AddressError::TooLarge("a transport's own address"))
}

/// Fills in length and checksum of a packed address; public for the fuzz target, which makes
/// damaged contents look intact with it.
///
/// # Errors
/// `Truncated` below [`HEADER_LEN`], `TooLarge` beyond [`MAX_LEN`].
pub fn seal(mut out: Vec<u8>) -> Result<Vec<u8>, AddressError> {
    if out.len() > MAX_LEN {
        return Err(AddressError::TooLarge("more than 65535 bytes"));
    }
    if out.len() < HEADER_LEN {
        return Err(AddressError::Truncated {
            have: out.len(),
            need: HEADER_LEN,
        });
    }
    let total = (out.len() as u16).to_ne_bytes();
    out[6..8].copy_from_slice(&total);
    let sum = checksum(&out).to_ne_bytes();
    out[8..12].copy_from_slice(&sum);
    Ok(out)
}
