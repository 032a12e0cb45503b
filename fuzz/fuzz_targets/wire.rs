//! Every UCP message: see `drive/wire/mod.rs`.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../drive/wire/mod.rs"]
mod wire;

fuzz_target!(init: quiet(), |data: &[u8]| {
    wire::run(data);
});

fn quiet() {
    ucx::ucs::log::init();
    ucx::ucs::log::set_level(ucx::ucs::log::Level::Fatal);
}
