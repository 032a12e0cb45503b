//! Values that are well formed, each by itself, and can't be used. What isn't well formed is refused
//! when the configuration is read.

use crate::ucp::config_table::MEMORY_TYPES;
use crate::ucp::wire::name;
use crate::ucs::config::{Config, parse_size, parse_ulong};
use crate::ucs::status::{Error, Result};
use crate::ucs_error;

/// Longest message of a transport.
const MAX_SEGMENT: usize = 1 << 30;

/// # Errors
/// `InvalidParam`, after a message that names the variable.
pub fn usable(config: &Config) -> Result<()> {
    positive_time(config, "KEEPALIVE_INTERVAL")?;
    positive_time(config, "DYNAMIC_TL_SWITCH_INTERVAL")?;
    by_memory_type(config, "RNDV_FRAG_SIZE")?;
    by_memory_type(config, "RNDV_FRAG_ALLOC_COUNT")?;
    not_empty(config, "RX_MPOOL_SIZES")?;
    not_empty(config, "ALLOC_PRIO")?;
    let factor = "DYNAMIC_TL_PROGRESS_FACTOR";
    positive(config, factor, f64::from(config.uint(factor)))?;
    for name in ["KEEPALIVE_NUM_EPS", "RECOVERY_RETRIES"] {
        positive(config, name, f64::from(config.uint(name)))?;
    }
    for name in ["MIN_RNDV_CHUNK_SIZE", "MIN_RMA_CHUNK_SIZE"] {
        positive(config, name, config.size(name) as f64)?;
    }
    let domains = config.count("MAX_COMPONENT_MDS").unwrap_or(1);
    positive(config, "MAX_COMPONENT_MDS", domains as f64)?;
    if config.size("SEG_SIZE") > MAX_SEGMENT {
        return refuse(config, "SEG_SIZE", "at most 1 GB");
    }
    if config.int("SELF_NUM_DEVICES") < 1 {
        return refuse(config, "SELF_NUM_DEVICES", "a number above 0");
    }
    let sizes = config.list("RX_MPOOL_SIZES");
    let is_power = |size: &String| parse_size(size).is_some_and(usize::is_power_of_two);
    if !sizes.iter().all(is_power) {
        return refuse(config, "RX_MPOOL_SIZES", "powers of 2, separated by commas");
    }
    for name in ["SEND", "COMPLETION", "LATE_COMPLETION", "REGISTRATION"] {
        let name = format!("FAULT_{name}");
        if config.list(&name).iter().any(|n| parse_ulong(n) == Some(0)) {
            return refuse(config, &name, "numbers from 1, separated by commas");
        }
    }
    let kinds = config.list("FAULT_MESSAGES");
    if !kinds.iter().all(|kind| name::is_known(kind)) {
        return refuse(
            config,
            "FAULT_MESSAGES",
            "kinds of messages, such as rts, separated by commas",
        );
    }
    Ok(())
}

/// The same for the variables of a transport, which say how its buffers grow.
///
/// # Errors
/// As [`usable`].
pub fn usable_by(config: &Config, tl: &str) -> Result<()> {
    let known = |name: &String| crate::ucs::config::resolve(name).is_some();
    let prefix = tl.to_uppercase();
    let most = format!("{prefix}_SEG_SIZE");
    if known(&most) && config.size(&most) > MAX_SEGMENT {
        return refuse(config, &most, "at most 1 GB");
    }
    let factor = format!("{prefix}_FIFO_RELEASE_FACTOR");
    if known(&factor) {
        if !(0.0..1.0).contains(&config.double(&factor)) {
            return refuse(config, &factor, "a number from 0 to below 1");
        }
        not_empty(config, &format!("{prefix}_ALLOC"))?;
    }
    for side in ["RX", "TX"] {
        let named = |what: &str| Some(format!("{prefix}_{side}_{what}")).filter(known);
        if let Some(name) = named("BUFS_GROW") {
            positive(config, &name, f64::from(config.uint(&name)))?;
        }
        if let Some(name) = named("MAX_CHUNK_SIZE") {
            positive(config, &name, config.size(&name) as f64)?;
        }
        if let Some(name) = named("MAX_BUFS")
            && config.int(&name) == 0
        {
            return refuse(config, &name, "a number other than 0");
        }
        if let Some(name) = named("GROW_FACTOR")
            && config.double(&name) < 1.0
        {
            return refuse(config, &name, "a number from 1");
        }
    }
    Ok(())
}

fn positive(config: &Config, name: &str, value: f64) -> Result<()> {
    match value > 0.0 {
        true => Ok(()),
        false => refuse(config, name, "a number above 0"),
    }
}

fn refuse(config: &Config, name: &str, expected: &str) -> Result<()> {
    let text = config.text(name);
    ucs_error!("invalid value for UCX_{name}: '{text}'. Expected: {expected}");
    Err(Error::InvalidParam)
}

fn positive_time(config: &Config, name: &str) -> Result<()> {
    match config.time(name) > 0.0 {
        true => Ok(()),
        false => refuse(config, name, "a time above 0, or \"inf\""),
    }
}

fn not_empty(config: &Config, name: &str) -> Result<()> {
    match config.list(name).is_empty() {
        false => Ok(()),
        true => refuse(config, name, "at least one entry"),
    }
}

fn by_memory_type(config: &Config, name: &str) -> Result<()> {
    // The last two, "gaudi" and "unknown", are no keys of such lists.
    let types = &MEMORY_TYPES[..MEMORY_TYPES.len() - 2];
    let is_entry = |entry: &String| {
        let (kind, value) = entry.split_once(':').unwrap_or((entry, ""));
        types.contains(&kind.trim()) && parse_size(value).is_some_and(|value| value != 0)
    };
    match config.list(name).iter().all(is_entry) {
        true => Ok(()),
        false => refuse(
            config,
            name,
            "<type of memory>:<number above 0>, separated by commas",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused() {
        assert_eq!(usable(&Config::default()), Ok(()));
        for (name, value, ok) in [
            ("KEEPALIVE_INTERVAL", "0", false),
            ("KEEPALIVE_INTERVAL", "inf", true),
            ("RNDV_FRAG_SIZE", "foo:3", false),
            ("RNDV_FRAG_SIZE", "host:x", false),
            ("RNDV_FRAG_SIZE", "host", false),
            ("RNDV_FRAG_SIZE", "host:0", false),
            ("RNDV_FRAG_SIZE", "host:64k", true),
            ("RNDV_FRAG_ALLOC_COUNT", "cuda:7,8", false),
            ("RX_MPOOL_SIZES", "", false),
            ("ALLOC_PRIO", "", false),
            ("KEEPALIVE_NUM_EPS", "0", false),
            ("RECOVERY_RETRIES", "0", false),
            ("MIN_RNDV_CHUNK_SIZE", "0", false),
            ("RX_MPOOL_SIZES", "63", false),
            ("RX_MPOOL_SIZES", "64,4k", true),
            ("FAULT_SEND", "0", false),
            ("FAULT_SEND", "3,7", true),
            ("FAULT_MESSAGES", "rts,foo", false),
            ("FAULT_MESSAGES", "rts,ats", true),
            ("DYNAMIC_TL_PROGRESS_FACTOR", "0", false),
        ] {
            let mut config = Config::default();
            config.set(name, value);
            assert_eq!(usable(&config).is_ok(), ok, "{name}={value}");
        }
        for (name, value, ok) in [
            ("TCP_RX_BUFS_GROW", "0", false),
            ("TCP_TX_GROW_FACTOR", "0.5", false),
            ("TCP_TX_GROW_FACTOR", "1.5", true),
            ("TCP_TX_MAX_BUFS", "0", false),
            ("TCP_TX_MAX_BUFS", "-1", true),
            ("TCP_RX_MAX_CHUNK_SIZE", "0", false),
            ("POSIX_FIFO_RELEASE_FACTOR", "1", false),
            ("POSIX_FIFO_RELEASE_FACTOR", "0.5", true),
            ("POSIX_ALLOC", "", false),
        ] {
            let mut config = Config::default();
            config.set(name, value);
            let tl = name.split_once('_').unwrap().0.to_lowercase();
            assert_eq!(usable_by(&config, &tl).is_ok(), ok, "{name}={value}");
        }
    }
}
