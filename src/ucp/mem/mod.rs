//! Memory handles: the user's own memory, memory allocated here, or memory of another process.

mod alloc;
pub mod attach;
pub mod device;
mod regions;
mod window;

use std::sync::Arc;

pub use alloc::Method as AllocMethod;
pub use regions::{RegionId, Regions};
pub use window::{Window, offset_in};

use alloc::Allocated;
use attach::Attached;

use crate::sys::map::{Mapping, Place};
use crate::sys::usermem::UserMem;
use crate::ucp::address::TlId;
use crate::ucp::context::Context;
use crate::ucp::dt::{DeviceBuf, SendBuf};
use crate::ucp::rkey::wire::{Entry, Kind, Packed};
use crate::ucs::memory::{MemoryType, cache};
use crate::ucs::status::{Error, Result};
use crate::uct::cuda::context::Owner;
use crate::uct::cuda::memory::Allocation;
use crate::uct::cuda::{copy::told, memtype, mover};
use crate::uct::{DeviceMemory, Shared};

/// What keeps a region's memory.
enum Backing {
    /// The user.
    User,
    /// We; nobody else can map it.
    Private(#[allow(dead_code)] Mapping),
    /// We; other processes can map it through this transport.
    Shared(TlId, Shared),
    /// Another process; it is mapped here.
    Imported(Arc<Attached>),
    /// We, on a device.
    Device(#[allow(dead_code)] Allocation),
}

/// A region of this process's memory.
pub struct Memory {
    window: Window,
    backing: Backing,
    /// How it was allocated, if it was.
    method: Option<&'static str>,
    kind: MemoryType,
    /// Of a device's memory.
    owner: Option<Owner>,
    /// What others need to open it, if it is a device's; asked when a key is packed first.
    device: device::Export,
}

/// A memory handle (`ucp_mem_h`): a region that peers may access until this is dropped.
pub struct Registered {
    id: RegionId,
    memory: Arc<Memory>,
    context: Arc<Context>,
}

impl Registered {
    pub fn new(context: Arc<Context>, memory: Memory) -> Registered {
        let memory = Arc::new(memory);
        Registered {
            id: context.regions.insert(memory.clone()),
            memory,
            context,
        }
    }

    pub fn id(&self) -> RegionId {
        self.id
    }

    pub fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Of which type its user is told that it is.
    pub fn told_kind(&self) -> MemoryType {
        let kind = self.memory.kind;
        match memtype::detect(self.memory.address()) {
            Ok(Some(known)) if kind == MemoryType::CUDA => told(&self.context.config, &known),
            _ => kind,
        }
    }

    /// What peers, or with [`Kind::Exported`] other processes of this host, get at it by.
    pub fn packed(&self, kind: Kind) -> Packed {
        let at = self.memory.address() as u64;
        let device = match kind {
            Kind::Key if self.memory.kind == MemoryType::CUDA => {
                self.memory.device.get(&self.context, at)
            }
            _ => None,
        };
        Packed {
            kind,
            context: self.context.uid,
            region: self.id,
            address: self.memory.address() as u64,
            len: self.memory.len() as u64,
            memory_type: self.memory.kind.0,
            flags: 0,
            entries: self.memory.entry().into_iter().chain(device).collect(),
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.context.regions.remove(self.id);
    }
}

impl Memory {
    /// No bytes at all. (Each use is a value of its own.)
    #[allow(clippy::declare_interior_mutable_const)]
    pub const EMPTY: Memory = Memory {
        window: Window::EMPTY,
        backing: Backing::User,
        method: None,
        kind: MemoryType::HOST,
        owner: None,
        device: device::Export::NONE,
    };

    /// The user's own memory. Nothing needs to be done for host memory.
    ///
    /// # Errors
    /// `InvalidParam` for NULL or a range that wraps around.
    pub fn register(address: usize, len: usize) -> Result<Memory> {
        if len == 0 {
            return Ok(Memory::EMPTY);
        }
        if address == 0 || address.checked_add(len).is_none() {
            return Err(Error::InvalidParam);
        }
        Ok(Memory {
            window: Window::of_user(address, len),
            backing: Backing::User,
            method: None,
            kind: MemoryType::HOST,
            owner: None,
            device: device::Export::default(),
        })
    }

    /// The same for memory that may be a device's: of the type that the user says, or else of the
    /// one that it is found to be of.
    ///
    /// # Errors
    /// As [`Memory::register`], and the driver's.
    pub fn register_as(kind: MemoryType, address: usize, len: usize) -> Result<Memory> {
        let mut memory = Memory::register(address, len)?;
        let may_be = !kind.is_host() && (cache::watching() || kind.is_cuda());
        if len != 0
            && may_be
            && let Some(known) = memtype::detect(address)?
        {
            memory.kind = known.kind;
            memory.owner = Some(known.owner);
        }
        Ok(memory)
    }

    /// Allocates memory of a device.
    ///
    /// # Errors
    /// `Unsupported` for types that no device has, and the driver's.
    pub fn allocate_on_device(context: &Context, kind: MemoryType, len: usize) -> Result<Memory> {
        let retains = context.config.bool_("CUDA_COPY_RETAIN_PRIMARY_CTX");
        let allocation = crate::uct::cuda::memory::allocate(kind, len, retains)?;
        Ok(Memory {
            window: Window::of_user(allocation.address(), len),
            owner: Some(allocation.owner()?),
            backing: Backing::Device(allocation),
            method: Some("cuda_cpy"),
            kind,
            device: device::Export::default(),
        })
    }

    pub fn kind(&self) -> MemoryType {
        self.kind
    }

    /// The owner of a device's memory, which no processor may touch.
    pub fn owner(&self) -> Option<Owner> {
        self.owner
    }

    /// Stores bytes in a part of it ([`Memory::slice`]).
    ///
    /// # Errors
    /// Those of a device's driver.
    pub fn store(&self, part: UserMem, bytes: &[u8]) -> Result<()> {
        match self.owner {
            None => {
                part.write_at(0, bytes);
                Ok(())
            }
            owner => mover::write(part, owner, bytes),
        }
    }

    /// A part of it as the source of a message.
    pub fn source(&self, part: UserMem) -> Result<SendBuf> {
        Ok(match self.owner {
            None => SendBuf::Contig(part),
            Some(owner) => SendBuf::Device(Box::new(DeviceBuf::contig(part, owner)?)),
        })
    }

    /// Allocates at least `len` bytes, so that other processes can map them if a transport in use
    /// allows that. `lazy`: pages may get their memory when they are touched.
    ///
    /// # Errors
    /// `NoMemory`, after a message.
    pub fn allocate(context: &Context, place: Place, len: usize, lazy: bool) -> Result<Memory> {
        if len == 0 {
            return Ok(Memory::EMPTY);
        }
        let (method, allocated) = alloc::allocate(context, place, len, lazy)?;
        let (window, backing) = match allocated {
            Allocated::Private(mapping) => {
                let address = mapping.ptr().expose_provenance();
                let window = Window::of_user(address, mapping.len());
                (window, Backing::Private(mapping))
            }
            Allocated::Shared(tl, shared) => {
                (Window::of_own(shared.memory()), Backing::Shared(tl, shared))
            }
        };
        Ok(Memory {
            window,
            backing,
            method: Some(method),
            kind: MemoryType::HOST,
            owner: None,
            device: device::Export::default(),
        })
    }

    /// `len` bytes that only this process uses.
    ///
    /// # Errors
    /// `NoMemory`.
    pub fn private(len: usize) -> Result<Memory> {
        let mapping = Mapping::heap(len).map_err(|_| Error::NoMemory)?;
        let address = mapping.ptr().expose_provenance();
        Ok(Memory {
            window: Window::of_user(address, mapping.len()),
            backing: Backing::Private(mapping),
            method: None,
            kind: MemoryType::HOST,
            owner: None,
            device: device::Export::default(),
        })
    }

    /// Maps the memory behind an exported handle of another process. Its address is the one it has
    /// here.
    ///
    /// # Errors
    /// `Unreachable`, after a message, if it can't be mapped.
    pub fn import(context: &Context, packed: &Packed) -> Result<Memory> {
        if packed.len == 0 {
            return Ok(Memory::EMPTY);
        }
        let Some(attached) = attach::first(context, packed) else {
            crate::ucs_error!(
                "an exported memory handle of {} bytes can't be mapped here: no transport in use \
                 reaches its owner",
                packed.len
            );
            return Err(Error::Unreachable);
        };
        let len = usize::try_from(packed.len).map_err(|_| Error::Unreachable)?;
        Ok(Memory {
            window: Window::of_own(attached.memory().part(0, len)),
            backing: Backing::Imported(attached),
            method: None,
            kind: MemoryType::HOST,
            owner: None,
            device: device::Export::default(),
        })
    }

    pub fn address(&self) -> usize {
        self.window.address()
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.window.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of the method that allocated it, or of the transport.
    pub fn method(&self) -> Option<&'static str> {
        self.method
    }

    /// The `len` bytes at `address`, if they lie in the region. Who uses them holds the region.
    pub fn slice(&self, address: u64, len: usize) -> Option<UserMem> {
        self.window.slice(address, len)
    }

    /// The region's addresses. Who uses them knows that the region is there.
    pub fn window(&self) -> Window {
        self.window
    }

    /// How another process maps it, if it can.
    pub fn entry(&self) -> Option<Entry> {
        match &self.backing {
            Backing::Shared(tl, shared) => Some(Entry::new(*tl, shared.key())),
            Backing::Imported(attached) => Some(Entry::new(attached.tl(), attached.key())),
            Backing::User | Backing::Private(_) | Backing::Device(_) => None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
