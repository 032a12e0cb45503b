//! `ucs/sys`.

pub mod compiler_def;
pub mod device_code;
pub mod event_set;
pub mod math;
pub mod sock;
pub mod string;
pub mod stubs;
pub mod topo;
pub mod uid;

pub use compiler_def::*;
pub use device_code::*;
pub use event_set::*;
pub use math::*;
pub use sock::*;
pub use string::*;
pub use stubs::*;
pub use topo::*;
pub use uid::*;
