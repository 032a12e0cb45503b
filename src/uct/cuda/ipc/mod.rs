//! `cuda_ipc`: device memory of other processes.
//!
//! An owner exports an allocation ([`owner`]), its bytes ([`wire`]) go to a peer, which reads them as
//! a [`Key`]. The key maps when it is first used; what is mapped belongs to the [`cache`].

pub mod cache;
mod component;
pub mod config;
mod copies;
mod iface;
pub mod key;
pub mod names;
mod opener;
pub mod owner;
pub mod wire;

pub use component::CUDA_IPC;
pub use iface::IpcIface;
pub use key::{Access, Key};
pub use names::Named;
