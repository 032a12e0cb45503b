//! Protocols (UCP): contexts, workers, endpoints, tag matching, rendezvous. No system calls here.

pub mod address;
#[allow(unsafe_code)]
pub mod am;
pub mod amo;
pub mod config_table;
pub mod context;
pub mod device;
pub mod dt;
pub mod ep;
pub mod failover;
pub mod listener;
#[allow(unsafe_code)]
pub mod mem;
pub mod print;
pub mod proto;
pub mod replay;
#[allow(unsafe_code)]
pub mod request;
pub mod rkey;
pub mod rma;
pub mod select;
pub mod stream;
pub mod tag;
pub mod wire;
pub mod wireup;
pub mod worker;
