//! The components that are built in, in the order in which UCX lists them.

use super::md::Component;

/// All components. A new transport adds its line here.
pub fn components() -> &'static [&'static dyn Component] {
    static ALL: &[&dyn Component] = &[
        &super::self_::COMPONENT,
        &super::tcp::TCP,
        &super::sm::SYSV,
        &super::sm::POSIX,
        &super::cuda::copy::CUDA_COPY,
        &super::cuda::ipc::CUDA_IPC,
        &super::scopy::cma::CMA,
    ];
    ALL
}
