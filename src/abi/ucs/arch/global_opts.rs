//! `ucs/arch/global_opts.h`.

use crate::abi::prelude::*;

/// Writes the options of memory copies to the standard output.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_arch_print_memcpy_limits(config: *mut ucs_arch_global_opts_t) {
    // Old callers pass a smaller struct, and what it holds is not what decides here.
    let _ = config;
    let size = crate::ucs::config::format_size;
    let settings = crate::ucs::config::Config::global();
    let (min, max) = crate::ucs::arch::copy_bounds(settings);
    let around = settings.size_auto("NT_BUFFER_TRANSFER_MIN");
    crate::sys::stdio::print(&format!(
        "# Using built-in memcpy() for size {}..{}\n# Using nt-buffer-transfer for sizes from {}\n\
         # Using nt-destination-hint for sizes from inf\n",
        size(min),
        size(max),
        around.map_or("inf".to_owned(), size),
    ));
}
