//! Pieces of memory, and the ranges of addresses that show them.

use crate::abi::{Address, Answer, Handle};
use crate::ledger::{self, Facts, Lease};
use crate::sys;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A piece of device memory, held by this process: a file, mapped where only the driver looks.
#[derive(Debug)]
pub struct Block {
    lease: Option<Lease>,
    hidden: u64,
    len: usize,
    /// Allocated by this process, not joined.
    pub own: bool,
    pub number: u64,
}

impl Block {
    /// New memory on a device.
    pub fn create(device: i32, size: usize, handle_types: u32) -> Answer<Arc<Self>> {
        let facts = Facts {
            kind: 'm',
            device,
            size: size as u64,
            handle_types,
        };
        Self::map(ledger::create(facts)?, true)
    }

    /// Memory of another process (or of this one) by the name of its file.
    pub fn join(name: &str) -> Answer<Arc<Self>> {
        Self::map(ledger::join(name, 'm')?, false)
    }

    pub fn join_descriptor(fd: i32) -> Answer<Arc<Self>> {
        Self::map(ledger::join_descriptor(fd, 'm')?, false)
    }

    fn map(lease: Lease, own: bool) -> Answer<Arc<Self>> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let len = (lease.facts.size as usize).next_multiple_of(4096);
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping where the kernel likes.
        let hidden = unsafe { sys::map(0, len, prot, libc::MAP_SHARED, lease.fd(), 0)? };
        // SAFETY: just mapped.
        unsafe { sys::not_for_children(hidden, len) };
        Ok(Arc::new(Self {
            lease: Some(lease),
            hidden,
            len,
            own,
            number: NUMBER.fetch_add(1, Relaxed),
        }))
    }

    fn lease(&self) -> &Lease {
        self.lease.as_ref().expect("taken only when dropped")
    }

    pub fn device(&self) -> i32 {
        self.lease().facts.device
    }

    pub fn size(&self) -> usize {
        self.lease().facts.size as usize
    }

    pub fn handle_types(&self) -> u32 {
        self.lease().facts.handle_types
    }

    pub fn name(&self) -> String {
        self.lease().name()
    }

    pub fn fd(&self) -> i32 {
        self.lease().fd()
    }

    pub fn descriptor(&self) -> Answer<i32> {
        self.lease().descriptor()
    }

    /// Where the driver reads and writes it.
    pub fn hidden(&self, offset: usize) -> *mut u8 {
        (self.hidden + offset as u64) as *mut u8
    }

    /// No other process can join it from now on.
    pub fn retire(&self) {
        if self.own {
            self.lease().retire();
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: operations hold the block, so none uses it.
        unsafe { sys::unmap(self.hidden, self.len) };
        drop(self.lease.take());
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// `cuMemAlloc`.
    Device,
    /// `cuMemAllocManaged`: the CPU may touch it.
    Managed,
    /// `cuMemMap`.
    Mapped,
    /// `cuMemAllocAsync` and its like; the pool's handle.
    Pool(Handle),
    /// `cuIpcOpenMemHandle`.
    Opened,
    /// `cuMemPoolImportPointer`.
    PoolImport(Handle),
    /// `cuMemHostAlloc`.
    Host,
    /// `cuMemHostRegister`.
    Registered,
}

/// A range of addresses that the driver knows.
#[derive(Clone, Debug)]
pub struct Region {
    pub base: Address,
    pub len: usize,
    pub kind: Kind,
    /// What lies there, and from which byte of it; host memory has none.
    pub block: Option<Arc<Block>>,
    pub offset: usize,
    /// The context it belongs to; memory of pools and mappings belongs to none.
    pub context: Option<Handle>,
    pub device: i32,
    pub buffer_id: u64,
    /// How often it was opened (`cuIpcOpenMemHandle` counts).
    pub opened: usize,
    /// Devices that may access a mapping.
    pub access: Vec<i32>,
    /// Device that managed memory prefers.
    pub preferred: i32,
}

impl Region {
    pub fn new(
        base: Address,
        len: usize,
        kind: Kind,
        block: Option<Arc<Block>>,
        device: i32,
    ) -> Self {
        static BUFFER: AtomicU64 = AtomicU64::new(1);
        Self {
            base,
            len,
            kind,
            block,
            offset: 0,
            context: None,
            device,
            buffer_id: BUFFER.fetch_add(1, Relaxed),
            opened: 1,
            access: Vec::new(),
            preferred: crate::abi::DEVICE_INVALID,
        }
    }

    pub fn is_host(&self) -> bool {
        matches!(self.kind, Kind::Host | Kind::Registered)
    }

    pub fn end(&self) -> Address {
        self.base + self.len as u64
    }

    /// Where a copy reads or writes the address, which is inside.
    pub fn raw(&self, at: Address) -> *mut u8 {
        match &self.block {
            Some(block) if self.kind != Kind::Managed => {
                block.hidden(self.offset + (at - self.base) as usize)
            }
            _ => at as *mut u8,
        }
    }
}
