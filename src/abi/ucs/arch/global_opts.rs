//! `ucs/arch/global_opts.h`.

use crate::abi::prelude::*;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_arch_print_memcpy_limits(config: *mut ucs_arch_global_opts_t) {
    let _ = config;
}
