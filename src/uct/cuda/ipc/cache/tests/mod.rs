//! The cache on a driver that counts.

mod cases;
mod fake;
mod model;
mod threads;
