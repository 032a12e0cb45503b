//! Memory allocated for the user in a segment, so that other processes of the host can map it.
//!
//! A key may outlive its memory: a descriptor or an id can name another one by then. So a key
//! also holds what was drawn for this memory alone: of a file, a number that the file ends with,
//! on a page that the user doesn't see; of a System V segment, its time of birth (the kernel
//! doesn't use an id again until it has gone through very many).

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::sys::event::random_u64;
use crate::sys::map::PAGE;
use crate::sys::shm::{self, Mapping};
use crate::sys::usermem::UserMem;
use crate::ucs::status::{Error, Result};
use crate::uct::md::{AllocRequest, Shared, SharedMemory};

use super::{Settings, posix};

/// Scope of the segment, its length, then what the kind needs.
const COMMON: usize = 16;
const POSIX_KEY: usize = COMMON + posix::ADDR_LEN + 8;
const SYSV_KEY: usize = COMMON + 12;

struct Memory {
    map: Mapping,
    key: Vec<u8>,
    _keep: Option<posix::Keep>,
}

impl SharedMemory for Memory {
    fn memory(&self) -> UserMem {
        self.map.memory()
    }

    fn key(&self) -> &[u8] {
        &self.key
    }
}

fn common(settings: &Settings, len: usize) -> Vec<u8> {
    let mut key = settings.device_address().to_vec();
    key.extend_from_slice(&(len as u64).to_ne_bytes());
    key
}

/// See [`crate::uct::Component::alloc`].
pub fn alloc(settings: &Settings, request: &AllocRequest) -> Result<Shared> {
    let key = common(settings, request.len);
    let memory = match settings {
        Settings::Posix(posix) => alloc_posix(posix, request, key)?,
        Settings::Sysv => alloc_sysv(request, key)?,
    };
    Ok(Box::new(memory))
}

fn alloc_posix(
    settings: &posix::Settings,
    request: &AllocRequest,
    mut key: Vec<u8>,
) -> Result<Memory> {
    let len = request.len;
    let total = len.checked_add(PAGE).ok_or(Error::NoMemory)?;
    let (name, nonce) = (random_u64() as u32, random_u64());
    let keep = posix::keep_memory(settings, total, request.lazy, name)?;
    let failed = |error: std::io::Error| {
        crate::ucs_diag!("posix: failed to map {len} bytes of shared memory: {error}");
        Error::NoMemory
    };
    let end = keep.file.write_all_at(&nonce.to_ne_bytes(), len as u64);
    end.map_err(failed)?;
    let map = Mapping::of_file_at(&keep.file, len, request.place).map_err(failed)?;
    for field in [std::process::id(), keep.fd(), name] {
        key.extend_from_slice(&field.to_ne_bytes());
    }
    key.extend_from_slice(&nonce.to_ne_bytes());
    let _keep = Some(keep);
    Ok(Memory { map, key, _keep })
}

fn alloc_sysv(request: &AllocRequest, mut key: Vec<u8>) -> Result<Memory> {
    let len = request.len;
    let made = Mapping::new_sysv_at(len, request.place);
    let made = made.and_then(|(map, id)| Ok((map, id, shm::sysv_birth(id)?)));
    let (map, id, birth) = made.map_err(|error| {
        crate::ucs_diag!(
            "sysv: failed to create a shared memory segment of {len} bytes: {error}; the limits \
             are kernel.shmmax, shmall and shmmni (ipcs -l)"
        );
        Error::ShmemSegment
    })?;
    key.extend_from_slice(&id.to_ne_bytes());
    key.extend_from_slice(&birth.to_ne_bytes());
    let _keep = None;
    Ok(Memory { map, key, _keep })
}

/// See [`crate::uct::Component::attach`].
pub fn attach(settings: &Settings, key: &[u8]) -> Result<Shared> {
    let (len, rest) = match key.split_at_checked(COMMON) {
        Some((head, rest)) if head[..8] == settings.device_address() => {
            let len: [u8; 8] = head[8..].try_into().map_err(|_| Error::InvalidAddr)?;
            (u64::from_ne_bytes(len), rest)
        }
        // Memory of another host, or of namespaces that we don't share.
        Some(_) => return Err(Error::Unreachable),
        None => return Err(Error::InvalidAddr),
    };
    let len = usize::try_from(len).map_err(|_| Error::InvalidAddr)?;
    let map = match settings {
        Settings::Posix(posix) if key.len() == POSIX_KEY => attach_posix(posix, len, rest),
        Settings::Sysv if key.len() == SYSV_KEY => attach_sysv(len, rest),
        _ => return Err(Error::InvalidAddr),
    };
    let map = map.map_err(|reason| {
        crate::ucs_diag!("a peer's memory of {len} bytes can't be mapped: {reason}");
        Error::Unreachable
    })?;
    Ok(Box::new(Memory {
        map,
        key: key.to_vec(),
        _keep: None,
    }))
}

fn attach_posix(settings: &posix::Settings, len: usize, rest: &[u8]) -> Mapped {
    let (address, nonce) = rest.split_at(posix::ADDR_LEN);
    let (file, _) = posix::open_file(settings, address)?;
    let total = file.metadata().map_or(0, |data| data.len());
    if (len as u64).checked_add(PAGE as u64) != Some(total) || !ends_with(&file, len, nonce) {
        return Err("it is gone, and something else is in its place".to_owned());
    }
    Mapping::of_file(&file, len).map_err(|error| error.to_string())
}

fn attach_sysv(len: usize, rest: &[u8]) -> Mapped {
    let (id, birth) = rest.split_at(4);
    let id = i32::from_ne_bytes(id.try_into().unwrap_or_default());
    let map = Mapping::of_sysv(id).map_err(|error| error.to_string())?;
    let born = shm::sysv_birth(id).map_err(|error| error.to_string())?;
    if map.len() != len || born.to_ne_bytes() != birth {
        return Err("it is gone, and something else is in its place".to_owned());
    }
    Ok(map)
}

type Mapped = core::result::Result<Mapping, String>;

fn ends_with(file: &File, at: usize, nonce: &[u8]) -> bool {
    let mut read = [0; 8];
    file.read_exact_at(&mut read, at as u64).is_ok() && read == nonce
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::map::Place;
    use crate::ucs::config::Config;
    use crate::uct::sm::segment::Kind;

    fn request(len: usize) -> AllocRequest {
        AllocRequest {
            len,
            place: Place::ANY,
            lazy: false,
        }
    }

    fn all_settings() -> Vec<Settings> {
        let mut named = Config::default();
        named.set("POSIX_USE_PROC_LINK", "n");
        let plain = Config::default();
        vec![
            Kind::Posix.settings(&plain),
            Kind::Posix.settings(&named),
            Kind::Sysv.settings(&plain),
        ]
    }

    #[test]
    fn what_one_writes_the_other_reads() {
        for settings in all_settings() {
            for lazy in [false, true] {
                let lazy = AllocRequest {
                    lazy,
                    ..request(3 * PAGE)
                };
                let owner = alloc(&settings, &lazy).expect("memory");
                let other = attach(&settings, owner.key()).expect("attached");
                assert_eq!(other.memory().len(), 3 * PAGE);
                assert_ne!(owner.memory().ptr(), other.memory().ptr());
                owner.memory().write_at(2 * PAGE, b"x");
                let mut read = [0];
                other.memory().read_at(2 * PAGE, &mut read);
                assert_eq!(read, *b"x");
            }
        }
    }

    #[test]
    fn a_key_that_outlives_its_memory_finds_nothing() {
        for settings in all_settings() {
            let owner = alloc(&settings, &request(PAGE)).expect("memory");
            let old = owner.key().to_vec();
            drop(owner);
            // Most likely with the same descriptor.
            let next = alloc(&settings, &request(PAGE)).expect("memory");
            assert_eq!(attach(&settings, &old).err(), Some(Error::Unreachable));
            assert!(attach(&settings, next.key()).is_ok());
        }
    }

    #[test]
    fn damaged_keys_are_refused() {
        for settings in all_settings() {
            let owner = alloc(&settings, &request(PAGE)).expect("memory");
            let key = owner.key();
            for len in 0..key.len() {
                let cut = attach(&settings, &key[..len]).err();
                assert!(cut.is_some(), "{len} bytes");
            }
            // The name of a named file is not asked of an unnamed one.
            let ignored = match &settings {
                Settings::Posix(posix) if posix.by_process() => 24..28,
                _ => 0..0,
            };
            for at in (0..key.len()).filter(|at| !ignored.contains(at)) {
                let mut bad = key.to_vec();
                bad[at] ^= 0x55;
                assert!(attach(&settings, &bad).is_err(), "byte {at}");
            }
        }
    }
}
