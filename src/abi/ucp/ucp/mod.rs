//! `ucp/ucp`.

pub mod am;
pub mod amo;
pub mod context;
pub mod datatype;
pub mod ep;
pub mod listener;
pub mod mem;
pub mod request;
pub mod rkey;
pub mod rma;
pub mod stream;
pub mod tag;
pub mod types;
pub mod worker;

pub use am::*;
pub use amo::*;
pub use context::*;
pub use datatype::*;
pub use ep::*;
pub use listener::*;
pub use mem::*;
pub use request::*;
pub use rkey::*;
pub use rma::*;
pub use stream::*;
pub use tag::*;
pub use types::*;
pub use worker::*;
