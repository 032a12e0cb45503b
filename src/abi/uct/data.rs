//! Data objects of the `uct/` headers. Nothing inside this library reads them.

use core::ptr::null;

use crate::abi::prelude::*;

/// `uct_alloc_method_t` to its name.
#[unsafe(no_mangle)]
pub static uct_alloc_method_names: Mirror<[*const c_char; 6]> = Mirror::new([
    c"thp".as_ptr(),
    c"md".as_ptr(),
    c"heap".as_ptr(),
    c"mmap".as_ptr(),
    c"huge".as_ptr(),
    null(),
]);

/// `uct_device_type_t` to its name.
#[unsafe(no_mangle)]
pub static uct_device_type_names: Mirror<[*const c_char; 4]> = Mirror::new([
    c"network".as_ptr(),
    c"intra-node".as_ptr(),
    c"accelerator".as_ptr(),
    c"loopback".as_ptr(),
]);

/// `uct_ep_operation_t` to its name.
#[unsafe(no_mangle)]
pub static uct_ep_operation_names: Mirror<[*const c_char; UCT_EP_OP_LAST as usize + 1]> =
    Mirror::new([
        c"am_short".as_ptr(),
        c"am_bcopy".as_ptr(),
        c"am_zcopy".as_ptr(),
        c"put_short".as_ptr(),
        c"put_bcopy".as_ptr(),
        c"put_zcopy".as_ptr(),
        c"get_short".as_ptr(),
        c"get_bcopy".as_ptr(),
        c"get_zcopy".as_ptr(),
        c"eager_short".as_ptr(),
        c"eager_bcopy".as_ptr(),
        c"eager_zcopy".as_ptr(),
        c"rndv_zcopy".as_ptr(),
        c"atomic_post".as_ptr(),
        c"atomic_fetch".as_ptr(),
        null(),
    ]);
