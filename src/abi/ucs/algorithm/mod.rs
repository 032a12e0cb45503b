//! `ucs/algorithm`.

pub mod crc;
pub mod qsort_r;
pub mod string_distance;

pub use crc::*;
pub use qsort_r::*;
pub use string_distance::*;
