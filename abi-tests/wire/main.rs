//! Bad messages between live workers.
#![allow(unsafe_code)]

mod corpus;
mod flip;
mod flipping;
mod random;
#[path = "../../fuzz/drive/wire/mod.rs"]
mod wire;

/// What is dropped is told by lines that nobody needs here.
fn quiet() {
    ucx::ucs::log::init();
    ucx::ucs::log::set_level(ucx::ucs::log::Level::Fatal);
}
