//! The programs of the package: `ucx_info` and `ucx_perftest`.
//!
//! They are clients like any other: they call the libraries that the loader finds, by their C
//! functions, so that what they print and measure is what programs get. Of this crate they use the
//! types, and nothing that has a state.

pub mod info;
pub mod perf;

/// The C functions as objects.
#[allow(unsafe_code)]
mod client;
#[allow(unsafe_code)]
mod library;
#[allow(unsafe_code)]
mod options;

/// Prints as C programs do, in order with what the libraries print.
macro_rules! out {
    ($($arg:tt)*) => { $crate::sys::stdio::print(&format!($($arg)*)) };
}
pub(crate) use out;
