//! Services (UCS): status codes, log, configuration, topology.

pub mod arch;
pub mod config;
pub mod log;
pub mod status;
