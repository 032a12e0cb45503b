//! Unpacking. Every byte is foreign.

use smallvec::SmallVec;

use crate::uct::{IfaceCaps, PerfAttr};

use super::{
    AddressError, AddressFlags, HEADER_LEN, MAGIC, MAX_NAME, MAX_TLS, TlAddress, TlId, VERSION,
    WorkerAddress, perf,
};

/// What the fixed part says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Bytes of the whole address, at least [`HEADER_LEN`].
    pub total_len: usize,
    pub uuid: u64,
    pub flags: AddressFlags,
    devices: u8,
    checksum: u32,
}

/// Bits beside the capabilities: these fields follow.
pub(super) const HAS_SHARED: u16 = 1 << 13;
pub(super) const HAS_DEDICATED: u16 = 1 << 14;
pub(super) const HAS_PRIORITY: u16 = 1 << 15;
const OWN: IfaceCaps = IfaceCaps::DEVICE_ONLY
    .union(IfaceCaps::LISTS)
    .union(IfaceCaps::DEVICE_EP);
const TOLD: IfaceCaps = IfaceCaps::all().difference(OWN);
const _: () = assert!(TOLD.bits() < HAS_SHARED as u32);

/// Marker of the processor: byte order, word size, kind.
pub(super) fn our_arch() -> u8 {
    let cpu: u8 = if cfg!(target_arch = "x86_64") {
        1
    } else if cfg!(target_arch = "aarch64") {
        2
    } else if cfg!(target_arch = "powerpc64") {
        3
    } else if cfg!(target_arch = "riscv64") {
        4
    } else {
        0
    };
    let bits = if cfg!(target_pointer_width = "64") {
        2
    } else {
        0
    };
    (cpu << 4) | bits | u8::from(cfg!(target_endian = "little"))
}

/// CRC-32 (IEEE) over all but the checksum field itself: finds every burst of up to 32 bits.
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    let (before, after) = (
        bytes.get(..8).unwrap_or(bytes),
        bytes.get(12..).unwrap_or(&[]),
    );
    let mut crc = !0u32;
    for byte in before.iter().chain(after) {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    !crc
}

/// Reads the fixed part of an address: enough to know how many bytes there are in all.
pub fn header(bytes: &[u8]) -> Result<Header, AddressError> {
    let mut reader = Reader {
        rest: bytes,
        total: HEADER_LEN,
    };
    let magic: [u8; 4] = reader.array()?;
    if magic != MAGIC {
        return Err(AddressError::Foreign(magic));
    }
    let version = reader.byte()?;
    if version != VERSION {
        return Err(AddressError::Version(version));
    }
    let theirs = reader.byte()?;
    if theirs != our_arch() {
        return Err(AddressError::Architecture {
            theirs,
            ours: our_arch(),
        });
    }
    let total_len = usize::from(u16::from_ne_bytes(reader.array()?));
    let checksum = u32::from_ne_bytes(reader.array()?);
    let uuid = u64::from_ne_bytes(reader.array()?);
    let flags = reader.byte()?;
    let devices = reader.byte()?;
    if total_len < HEADER_LEN {
        return Err(AddressError::Corrupted(
            "its length is less than its header",
        ));
    }
    let Some(flags) = AddressFlags::from_bits(flags) else {
        return Err(AddressError::Corrupted("unknown flags"));
    };
    Ok(Header {
        total_len,
        uuid,
        flags,
        devices,
        checksum,
    })
}

/// Unpacks an address. `bytes` may be longer than the address itself.
///
/// # Errors
/// Anything but an intact address of this version and architecture.
pub fn decode(bytes: &[u8]) -> Result<WorkerAddress<'_>, AddressError> {
    let header = header(bytes)?;
    let Some(whole) = bytes.get(..header.total_len) else {
        return Err(AddressError::Truncated {
            have: bytes.len(),
            need: header.total_len,
        });
    };
    if checksum(whole) != header.checksum {
        return Err(AddressError::Corrupted("its checksum is wrong"));
    }
    let rest = whole.get(HEADER_LEN..).unwrap_or(&[]);
    let mut reader = Reader {
        rest,
        total: header.total_len,
    };
    let name = match header.flags.contains(AddressFlags::NAME) {
        true => Some(read_name(&mut reader)?),
        false => None,
    };
    let mut tls = SmallVec::new();
    for _ in 0..header.devices {
        read_device(&mut reader, &mut tls)?;
    }
    if !reader.rest.is_empty() {
        return Err(AddressError::Corrupted("bytes after its end"));
    }
    Ok(WorkerAddress {
        uuid: header.uuid,
        name,
        flags: header.flags,
        tls,
    })
}

fn read_name<'a>(reader: &mut Reader<'a>) -> Result<&'a str, AddressError> {
    let len = usize::from(reader.byte()?);
    if len > MAX_NAME {
        return Err(AddressError::Corrupted("name too long"));
    }
    core::str::from_utf8(reader.bytes(len)?)
        .map_err(|_| AddressError::Corrupted("name is not UTF-8"))
}

fn read_device<'a>(
    reader: &mut Reader<'a>,
    tls: &mut SmallVec<[TlAddress<'a>; 8]>,
) -> Result<(), AddressError> {
    let dev_index = reader.byte()?;
    let addr_len = usize::from(reader.byte()?);
    let count = usize::from(reader.byte()?);
    let device_addr = reader.bytes(addr_len)?;
    if tls.len() + count > MAX_TLS {
        return Err(AddressError::Corrupted("too many transports"));
    }
    for _ in 0..count {
        tls.push(read_tl(reader, dev_index, device_addr)?);
    }
    Ok(())
}

fn read_tl<'a>(
    reader: &mut Reader<'a>,
    dev_index: u8,
    device_addr: &'a [u8],
) -> Result<TlAddress<'a>, AddressError> {
    let tl = TlId(u16::from_ne_bytes(reader.array()?));
    let rsc_index = reader.byte()?;
    let md_index = reader.byte()?;
    let bits = u16::from_ne_bytes(reader.array()?);
    let mut cost = |present: bool| match present {
        false => Ok(0.0),
        true => perf::unpack(u16::from_ne_bytes(reader.array()?))
            .ok_or(AddressError::Corrupted("a cost is not a number")),
    };
    let (latency, overhead) = (cost(true)?, cost(true)?);
    let (bw_shared, bw_dedicated) = (
        cost(bits & HAS_SHARED != 0)?,
        cost(bits & HAS_DEDICATED != 0)?,
    );
    let priority = if bits & HAS_PRIORITY != 0 {
        reader.byte()?
    } else {
        0
    };
    // Bits that a newer peer may set are none of ours.
    let caps = IfaceCaps::from_bits_truncate(u32::from(bits));
    let addr_len = usize::from(reader.byte()?);
    let iface_addr = reader.bytes(addr_len)?;
    let perf = PerfAttr {
        latency,
        overhead,
        bw_shared,
        bw_dedicated,
        priority,
    };
    Ok(TlAddress {
        tl,
        rsc_index,
        md_index,
        dev_index,
        caps,
        perf,
        device_addr,
        iface_addr,
    })
}

struct Reader<'a> {
    rest: &'a [u8],
    /// Bytes that should have been there in all, for messages.
    total: usize,
}

impl<'a> Reader<'a> {
    fn bytes(&mut self, len: usize) -> Result<&'a [u8], AddressError> {
        let Some((taken, rest)) = self.rest.split_at_checked(len) else {
            let (have, need) = (self.rest.len(), len.max(self.total));
            return Err(AddressError::Truncated { have, need });
        };
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], AddressError> {
        let mut out = [0; N];
        out.copy_from_slice(self.bytes(N)?);
        Ok(out)
    }

    fn byte(&mut self) -> Result<u8, AddressError> {
        Ok(self.array::<1>()?[0])
    }
}
