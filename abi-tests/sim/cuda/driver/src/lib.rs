//! A simulated CUDA driver: `libcuda.so.1` whose devices are memory shared between processes.
//!
//! Every exported function is named and shaped as NVIDIA documents it for the driver API. What a
//! caller may observe of it is simulated: which calls fail for want of a context, when an
//! asynchronous copy is done, which process still holds a piece of memory. See `../README.md`.

#![allow(non_snake_case)]
#![allow(clippy::missing_safety_doc)]

#[macro_use]
mod call;
mod abi;
mod arena;
mod block;
mod config;
mod context;
mod copy;
mod device;
mod event;
mod host;
mod ipc;
mod ledger;
mod memory;
mod pointer;
mod pool;
mod proc;
mod report;
mod state;
mod stream;
mod sys;
mod vmm;
mod worker;
