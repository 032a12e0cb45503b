//! Entry points of `uct/api/v2/uct_v2.h`: perf.

use crate::abi::prelude::*;
use crate::abi::support::transport::iface::Interface;
use crate::abi::support::transport::query;

/// Estimates the speed of an operation, as the fields of `perf_attr` say, into those that are asked
/// for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uct_iface_estimate_perf(
    tl_iface: uct_iface_h,
    perf_attr: *mut uct_perf_attr_t,
) -> ucs_status_t {
    // SAFETY: NULL or open; the caller's struct, as its mask describes it.
    unsafe {
        let interface = Interface::from(tl_iface);
        interface
            .and_then(|interface| query::estimate(interface, perf_attr))
            .into()
    }
}
