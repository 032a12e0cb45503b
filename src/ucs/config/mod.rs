//! Configuration: `UCX_*` variables and `ucx.conf` files.

use std::collections::BTreeMap;

/// The values in force: what the environment, files and `ucp_config_modify` say, by full name
/// without the `UCX_` prefix (`TLS`, `RNDV_THRESH`, `TCP_TX_SEG_SIZE`).
#[derive(Clone, Debug, Default)]
pub struct Config {
    values: BTreeMap<String, String>,
}

impl Config {
    /// The raw text set for `name`, if any.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Sets `name`, as the environment would.
    pub fn set(&mut self, name: &str, value: &str) {
        self.values.insert(name.to_owned(), value.to_owned());
    }
}
