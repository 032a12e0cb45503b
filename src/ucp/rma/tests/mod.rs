//! Two workers in one process, over every way to each other's memory.
#![allow(unsafe_code)]

mod data;
mod ends;
mod order;
pub(in crate::ucp) mod pair;
