//! `ucs/type/cpu_set.h`.

use crate::abi::prelude::*;

pub const UCS_CPU_SETSIZE: i32 = 1024;
pub const UCS_NCPUBITS: u64 = 1 << 6;

pub type ucs_cpu_mask_t = c_ulong;

/// A set of processors.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ucs_cpu_set_t {
    pub ucs_bits: [ucs_cpu_mask_t; 16],
}
