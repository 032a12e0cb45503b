//! Services (UCS): status codes, log, configuration, topology.

pub mod arch;
pub mod async_handlers;
pub mod async_thread;
pub mod callbackq;
pub mod config;
pub mod crc;
pub mod host;
pub mod ini;
pub mod log;
pub mod math;
pub mod memory;
pub mod modules;
pub mod numa;
pub mod profile;
pub mod rcache;
pub mod sockaddr;
pub mod status;
pub mod strings;
pub mod table;
pub mod topo;
pub mod vfs;
