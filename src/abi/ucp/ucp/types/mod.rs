//! `ucp/ucp/types`.

pub mod am;
pub mod amo;
pub mod context;
pub mod datatype;
pub mod ep;
pub mod listener;
pub mod mem;
pub mod request;
pub mod rkey;
pub mod stream;
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
pub use stream::*;
pub use worker::*;
