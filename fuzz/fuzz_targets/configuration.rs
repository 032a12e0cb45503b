//! Configuration: text of a file and of the environment. What is accepted can be listed.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use ucx::ucs::config::file::{Files, Machine};
use ucx::ucs::config::{Config, Print};

struct Nowhere;

impl Machine for Nowhere {
    fn property(&self, name: &str) -> Option<String> {
        (name == "CPU model").then(|| "fuzzed".to_owned())
    }
}

fuzz_target!(|data: &[u8]| {
    ucx::ucs::log::set_level(ucx::ucs::log::Level::Fatal);
    let text = String::from_utf8_lossy(data);
    let mut files = Files::default();
    files.add(&text, "fuzz", &Nowhere);
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    let environment: BTreeMap<String, String> = pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    if let Ok(mut config) = Config::from_sources(Some("APP"), &environment, &files) {
        for (name, value) in &environment {
            let _ = config.modify(name.trim_start_matches("UCX_"), value);
        }
        let _ = config.print("fuzz", Print(Print::CONFIG | Print::HEADER | Print::DOC));
    }
});
