//! The C boundary: `extern "C"` entry points and `#[repr(C)]` types, one module per public header.
