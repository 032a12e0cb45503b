//! CUDA: the driver as we see it. Transports over it (`cuda_copy`, `cuda_ipc`) are not there yet.

#[allow(unsafe_code)]
pub mod driver;
pub mod ipc;
