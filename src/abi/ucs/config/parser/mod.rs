//! `ucs/config/parser`.

mod array;
mod fields;
mod keyed;
pub mod kinds;
pub mod sprintf;
pub mod sscanf;
pub mod table;
pub mod types;
mod value;

pub use kinds::*;
pub use sprintf::*;
pub use sscanf::*;
pub use table::*;
pub use types::*;
