//! The components that are built in, in the order in which UCX lists them, and the types of their
//! interfaces.

use super::ep::Ep;
use super::iface::Iface;
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

/// The type of a transport's interfaces, with that of their endpoints: code that is generic over it
/// calls the transport without a table.
pub trait Transport: Iface {
    type Ep: Ep;
}

/// Is shown the types of transports.
pub trait Visitor {
    type Out;

    /// `None` to be shown the next one.
    fn visit<T: Transport>(&self) -> Option<Self::Out>;
}

/// Shows them to a visitor. A transport that is missing here works, behind its trait's table.
pub fn visit<V: Visitor>(visitor: &V) -> Option<V::Out> {
    visitor
        .visit::<super::sm::SmIface>()
        .or_else(|| visitor.visit::<super::self_::SelfIface>())
        .or_else(|| visitor.visit::<super::tcp::TcpIface>())
        .or_else(|| visitor.visit::<super::scopy::cma::CmaIface>())
        .or_else(|| visitor.visit::<super::cuda::copy::CopyIface>())
        .or_else(|| visitor.visit::<super::cuda::ipc::IpcIface>())
}
