//! Single copy: transports that move bytes between two processes without a buffer between them.

pub mod cma;
