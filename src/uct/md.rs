//! Components and memory domains.

use std::rc::Rc;

use crate::sys::map::Place;
use crate::sys::usermem::UserMem;
use crate::ucs::config::Config;
use crate::ucs::memory::MemoryType;
use crate::ucs::status::{Error, Result};

use super::iface::{Iface, IfaceParams};

/// A kind of transport with its own idea of memory: `self`, `tcp`, `sysv`, `posix`, `cma`.
pub trait Component: Sync {
    /// UCX's name of it, also the prefix of its variables (`UCX_TCP_...`).
    fn name(&self) -> &'static str;

    /// Name of its transport, where that is another.
    fn tl_name(&self) -> &'static str {
        self.name()
    }

    /// Names of the memory domains to be had on this machine. Empty where the hardware, driver
    /// or kernel feature is missing.
    fn query_mds(&self) -> Vec<String>;

    /// Opens one of [`Component::query_mds`]. `config` is asked for the component's variables.
    fn open_md(&'static self, name: &str, config: &Config) -> Result<Rc<dyn Md>>;

    /// Allocates memory that other processes can map. `Ok(None)` where there is no such thing.
    ///
    /// # Errors
    /// `NoMemory` or `ShmemSegment`, after a message where nothing else can take its place.
    fn alloc(&self, config: &Config, request: &AllocRequest) -> Result<Option<Shared>> {
        let _ = (config, request);
        Ok(None)
    }

    /// Whether what it is built on is on this machine. Genuine UCX has a component such as CUDA's
    /// in a module that isn't loaded elsewhere, so it is not listed there.
    fn is_present(&self) -> bool {
        true
    }

    /// Why [`Component::query_mds`] lists nothing.
    fn unavailable(&self) -> String {
        "not available on this machine".to_owned()
    }

    /// Unpacks a key of [`Registration::pack`]. `Ok(None)` where keys are for [`Component::attach`].
    ///
    /// # Errors
    /// `Unreachable` if no device can get there; `InvalidParam` for what is no key.
    fn unpack(&self, packed: &[u8], how: Unpack) -> Result<Option<Box<dyn UnpackedKey>>> {
        let _ = (packed, how);
        Ok(None)
    }

    /// Maps memory that another process allocated, by its [`SharedMemory::key`].
    ///
    /// # Errors
    /// `Unreachable`, after a line at diag level, if it is not to be had from here; `InvalidAddr`
    /// for what is no key.
    fn attach(&self, config: &Config, key: &[u8]) -> Result<Shared> {
        let _ = (config, key);
        Err(Error::Unsupported)
    }
}

/// Memory to be allocated.
#[derive(Clone, Copy, Debug)]
pub struct AllocRequest {
    /// Bytes, a multiple of the page size above 0.
    pub len: usize,
    pub place: Place,
    /// Pages may get their memory when they are touched (`UCP_MEM_MAP_NONBLOCK`).
    pub lazy: bool,
}

/// Memory that other processes can map. It is unmapped when this is dropped, and gone when
/// everybody has done so.
pub trait SharedMemory: Send + Sync {
    /// Its bytes in this process, for as long as this lives.
    fn memory(&self) -> UserMem;

    /// What another process needs to find it: at most 48 bytes, different for any two memories.
    fn key(&self) -> &[u8];
}

/// Owned shared memory.
pub type Shared = Box<dyn SharedMemory>;

/// What a memory domain can do.
#[derive(Clone, Copy, Debug, Default)]
pub struct MdAttr {
    /// Longest allocation in bytes, 0 when it can't allocate.
    pub max_alloc: usize,
    /// Longest registration in bytes, 0 when it does not register.
    pub max_reg: usize,
    /// Bytes of a packed remote key.
    pub rkey_packed_size: usize,
    /// A remote key can be turned into a pointer.
    pub rkey_ptr: bool,
    /// What kinds of memory it is for, where that is not host memory alone.
    pub types: Option<MemoryTypes>,
    /// Keys can be taken back (`UCT_MD_FLAG_INVALIDATE`).
    pub invalidates: bool,
}

/// Sets of memory types: bits `1 << ucs_memory_type_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoryTypes {
    pub reg: u64,
    pub alloc: u64,
    pub access: u64,
    pub cache: u64,
    pub detect: u64,
}

/// Memory of another type than the host's. It is freed when this is dropped.
pub trait DeviceMemory: Send + Sync {
    fn address(&self) -> usize;
    /// Bytes.
    fn len(&self) -> usize;
    fn kind(&self) -> MemoryType;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What a domain knows of the memory at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Detected {
    pub kind: MemoryType,
    /// Where what is to be registered begins.
    pub base: usize,
    /// Its bytes.
    pub len: usize,
}

/// Memory that is registered with a domain whose keys say more than where it is.
pub trait Registration: Send + Sync {
    /// The packed key of the part at this address.
    ///
    /// # Errors
    /// `InvalidAddr` if there is no such memory; the driver's.
    fn pack(&self, at: usize) -> Result<Vec<u8>>;
}

/// A key of a component that unpacks keys itself.
pub trait UnpackedKey: Send + Sync {
    /// What operations are given for it.
    fn number(&self) -> u64;

    /// Where the owner's address `remote` is here, until this is dropped.
    fn pointer(&self, remote: u64) -> Result<u64>;
}

/// How a key is unpacked, see [`Component::unpack`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unpack {
    /// What the key has mapped goes with it, unless others hold it
    /// (`UCT_RKEY_UNPACK_FLAG_FREE_UNUSED_MAPPING`).
    pub free_unused: bool,
    /// The device that will use it, by its number in the topology; 255 if that is not said.
    pub sys_device: Option<u8>,
}

/// `uct_device_type_t`, in its order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum DeviceKind {
    Net = 0,
    Shm = 1,
    Acc = 2,
    Loopback = 3,
}

/// A transport on a device, to be opened as an interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlDevice {
    pub tl_name: &'static str,
    pub dev_name: String,
    pub kind: DeviceKind,
}

/// An open memory domain.
pub trait Md {
    fn component(&self) -> &'static dyn Component;
    fn name(&self) -> &str;
    fn attr(&self) -> MdAttr;

    /// What it knows of `len` bytes of memory, and of which allocation they are worth being registered
    /// with: the whole, or they alone.
    ///
    /// # Errors
    /// `InvalidAddr` for memory that it doesn't know, `Unsupported` if it detects none.
    fn detect(&self, at: usize, len: usize) -> Result<Detected> {
        let _ = (at, len);
        Err(Error::Unsupported)
    }

    /// Allocates memory of a type that it says it can.
    fn allocate(&self, kind: MemoryType, len: usize) -> Result<Box<dyn DeviceMemory>> {
        let _ = (kind, len);
        Err(Error::Unsupported)
    }

    /// Registers memory. `Ok(None)` where nothing has to be done for it.
    fn register(&self, at: usize, len: usize) -> Result<Option<Box<dyn Registration>>> {
        let _ = (at, len);
        Ok(None)
    }

    /// What code on a device adds to an address of the owner to find it here, as long as the key
    /// lives; `rkey` is an [`UnpackedKey::number`].
    fn element(&self, rkey: u64) -> Result<i64> {
        let _ = rkey;
        Err(Error::Unsupported)
    }

    /// The devices that interfaces can be opened on.
    fn devices(&self) -> Result<Vec<TlDevice>>;

    /// Opens an interface on one of [`Md::devices`].
    fn open_iface(
        &self,
        device: &TlDevice,
        config: &Config,
        params: &IfaceParams,
    ) -> Result<Rc<dyn Iface>>;
}
