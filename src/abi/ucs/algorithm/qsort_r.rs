//! `ucs/algorithm/qsort_r.h`.

use crate::abi::prelude::*;

/// cbindgen:ignore
pub type ucs_qsort_r_compare_cb_t = Option<
    unsafe extern "C" fn(elem1: *const c_void, elem2: *const c_void, arg: *mut c_void) -> c_int,
>;

/// cbindgen:ignore
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_qsort_r(
    base: *mut c_void,
    nmemb: usize,
    size: usize,
    compare: ucs_qsort_r_compare_cb_t,
    arg: *mut c_void,
) {
    let Some(compare) = compare else { return };
    // SAFETY: the caller passes an array of this shape and a function that compares its elements.
    unsafe { libc::qsort_r(base, nmemb, size, Some(compare), arg) };
}
