//! System V segments.

use crate::sys::event::random_u64;
use crate::sys::shm::{self, Mapping};
use crate::ucs::status::{Error, Result};

use super::{Created, Opened, field};

/// Id of the segment, nonce.
pub const ADDR_LEN: usize = 8;

pub fn create(len: usize) -> Result<Created> {
    let (map, id) = Mapping::new_sysv(len).map_err(|error| {
        crate::ucs_warn!(
            "sysv: failed to create a shared memory segment of {len} bytes: {error}; the limits \
             are kernel.shmmax, shmall and shmmni (ipcs -l), UCX_SYSV_FIFO_SIZE and \
             UCX_SYSV_SEG_SIZE make it smaller, UCX_TLS=^sysv does without"
        );
        Error::ShmemSegment
    })?;
    let nonce = random_u64() as u32;
    let mut address = id.to_ne_bytes().to_vec();
    address.extend_from_slice(&nonce.to_ne_bytes());
    Ok(Created {
        map,
        address,
        nonce,
        keep: None,
    })
}

fn parse(address: &[u8]) -> Option<(i32, u32)> {
    if address.len() != ADDR_LEN {
        return None;
    }
    Some((field(address, 0)? as i32, field(address, 1)?))
}

pub fn probe(address: &[u8]) -> core::result::Result<(), String> {
    let (id, _) = parse(address).ok_or("the address has the wrong length")?;
    shm::sysv_len(id).map_err(|error| format!("segment {id} can't be attached: {error}"))?;
    Ok(())
}

pub fn open(address: &[u8]) -> Result<Opened> {
    let (id, nonce) = parse(address).ok_or(Error::InvalidAddr)?;
    let map = Mapping::of_sysv(id).map_err(|error| {
        crate::ucs_diag!("sysv: failed to attach segment {id}: {error}");
        Error::Unreachable
    })?;
    Ok(Opened {
        map,
        nonce,
        file: None,
    })
}

/// The kernel's limit of one segment, as far as a signed size goes.
pub fn max_len() -> usize {
    let limit = std::fs::read_to_string("/proc/sys/kernel/shmmax").ok();
    let limit = limit.and_then(|text| text.trim().parse::<usize>().ok());
    limit.unwrap_or(usize::MAX).min(isize::MAX as usize)
}
