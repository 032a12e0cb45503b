//! Protocols (UCP): contexts, workers, endpoints, tag matching, rendezvous. No system calls here.

pub mod address;
pub mod config_table;
pub mod context;
pub mod print;
pub mod select;
