//! Data objects of the `ucm/` headers.

use crate::abi::prelude::*;

/// A mirror of the memory event options: 48 bytes, the size of `ucm_global_config_t` in UCX 1.13.
/// Log level warn (2), events on (1), everything else off.
#[unsafe(no_mangle)]
pub static ucm_global_opts: Mirror<[c_uint; 12]> =
    Mirror::new([UCS_LOG_LEVEL_WARN, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
