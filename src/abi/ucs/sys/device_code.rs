//! `ucs/sys/device_code.h`.

pub const UCP_DEVICE_ENABLE_PARAMS_CHECK: i32 = 0;
pub const UCS_DEVICE_NUM_THREADS_IN_WARP: i32 = 32;

pub type ucs_device_level_t = u32;
pub const UCS_DEVICE_LEVEL_THREAD: ucs_device_level_t = 0;
pub const UCS_DEVICE_LEVEL_WARP: ucs_device_level_t = 1;
pub const UCS_DEVICE_LEVEL_BLOCK: ucs_device_level_t = 2;
pub const UCS_DEVICE_LEVEL_GRID: ucs_device_level_t = 3;
