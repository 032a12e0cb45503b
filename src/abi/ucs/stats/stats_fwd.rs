//! `ucs/stats/stats_fwd.h`.

use crate::abi::prelude::*;

pub type ucs_stats_formats_t = u32;
pub const UCS_STATS_FULL: ucs_stats_formats_t = 0;
pub const UCS_STATS_FULL_AGG: ucs_stats_formats_t = 1;
pub const UCS_STATS_SUMMARY: ucs_stats_formats_t = 2;
pub const UCS_STATS_LAST: ucs_stats_formats_t = 3;

pub type ucs_stats_counter_t = u64;
pub type ucs_stats_class_t = ucs_stats_class;
pub type ucs_stats_node_t = ucs_stats_node;
pub type ucs_stats_filter_node_t = ucs_stats_filter_node;

/// The root of the statistics tree.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ucs_stats_get_root() -> *mut ucs_stats_node_t {
    core::ptr::null_mut()
}
