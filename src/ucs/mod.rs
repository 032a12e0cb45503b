//! Services (UCS): status codes, log, configuration, topology.

pub mod status;
