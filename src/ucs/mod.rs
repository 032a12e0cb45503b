//! Services (UCS): status codes, log, configuration, topology.

pub mod config;
pub mod log;
pub mod status;
