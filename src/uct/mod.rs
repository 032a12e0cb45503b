//! Transports (UCT): one folder each, all behind the traits of this module.
//!
//! A [`Component`] is a kind of transport, linked in through [`registry`]. It opens memory
//! domains ([`Md`]), these list devices and open interfaces ([`Iface`]), and an interface makes
//! endpoints ([`Ep`]) to a peer's interface, named by its address. What arrives, completes or
//! fails is told to an [`Events`] during [`Iface::progress`].
//!
//! Everything here belongs to one worker and is used by one thread at a time. All methods take
//! `&self`, since an `Events` call may come back: it may post on the same interface, create and
//! drop endpoints. So no transport may hold a borrow of its own state across an `Events` call.

pub mod config_table;
#[cfg(test)]
pub mod conformance;
pub mod cuda;
pub mod ep;
pub mod fault;
pub mod gate;
pub mod iface;
pub mod lease;
pub mod md;
#[allow(unsafe_code)]
pub mod ops;
pub mod registry;
pub mod scopy;
pub mod self_;
pub mod sm;
pub mod tcp;
pub mod vitals;

pub use ep::{Ep, EpParams, IoVec, IoVecMut, Post, Route, Transfer, Which};
pub use gate::Gate;
pub use iface::{Arm, Events, Iface, IfaceAttr, IfaceCaps, IfaceParams, PerfAttr, Place};
pub use lease::Lease;
pub use md::{
    AllocRequest, Component, Detected, DeviceKind, DeviceMemory, Md, MdAttr, MemoryTypes,
    Registration, Shared, SharedMemory, TlDevice, Unpack, UnpackedKey,
};
pub use vitals::{Stall, Vitals};

/// Active message ids are below this.
pub const AM_ID_MAX: u8 = 32;
