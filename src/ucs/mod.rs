//! Services (UCS): status codes, log, configuration, topology.

pub mod arch;
pub mod async_thread;
pub mod config;
pub mod crc;
pub mod host;
pub mod log;
pub mod sockaddr;
pub mod status;
pub mod strings;
pub mod table;
pub mod topo;
