//! The C boundary: `extern "C"` entry points and `#[repr(C)]` types, one module per public header,
//! in the same tree as `include/`.
//!
//! The headers are generated from these modules, so everything here is written out plainly: no
//! macro makes an export. An enumeration is an integer alias with constants of that alias (C can
//! put any value in it); the header generator turns such a group into a C `enum`. `make headers` is
//! due after every change here, also of a comment; what Rust can't say is in `fragments`.
//!
//! An entry point checks its arguments, turns pointers into safe types and calls the layer below.
#![allow(
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    ambiguous_glob_reexports,
    improper_ctypes_definitions,
    clippy::missing_safety_doc,
    clippy::module_inception,
    clippy::too_many_arguments
)]

mod masked;
pub mod mirror;
pub mod prelude;
pub mod support;
pub mod ucm;
pub mod ucp;
pub mod ucs;
pub mod uct;
pub mod variadic;
pub mod view;
