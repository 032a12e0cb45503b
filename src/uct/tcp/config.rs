//! The variables of this transport (`UCX_TCP_*`), with UCX's names, forms and defaults.

use std::time::Duration;

use crate::ucs::config::Config;
use crate::ucs::status::{Error, Result};
use crate::ucs_error;

use super::wire;

/// Shorter transmit segments are raised to this: wire-up messages must fit.
const MIN_SEG_SIZE: usize = 2048;

/// `UCX_TCP_EP_BIND_SRC_ADDR`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ternary {
    No,
    Yes,
    Try,
}

/// Values in force for an interface.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpConfig {
    /// Longest message by copy, in bytes.
    pub tx_seg_size: usize,
    /// Size of the receive buffer.
    pub rx_seg_size: usize,
    pub max_iov: usize,
    /// Short messages from this size on are gathered by the kernel rather than copied first.
    pub sendv_thresh: usize,
    pub prefer_default: bool,
    /// Ready connections served per poll.
    pub max_poll: usize,
    pub max_conn_retries: u32,
    pub nodelay: bool,
    /// `None`: the kernel's choice.
    pub sndbuf: Option<usize>,
    pub rcvbuf: Option<usize>,
    pub syn_cnt: Option<u32>,
    pub user_timeout: Option<Duration>,
    /// `None`: any free port.
    pub port_range: Option<(u16, u16)>,
    /// Bytes per second.
    pub max_bw: f64,
    /// `None`: no keepalive.
    pub keepidle: Option<Duration>,
    pub keepcnt: Option<u32>,
    pub keepintvl: Option<Duration>,
    pub bind_source: Ternary,
}

impl TcpConfig {
    /// Reads the variables; a value that can't be understood is named in the log.
    pub fn read(config: &Config) -> Result<TcpConfig> {
        let read = Reader { config };
        let tx_seg_size = read.size("TX_SEG_SIZE", 8 << 10)?;
        let rx_seg_size = read.size("RX_SEG_SIZE", 64 << 10)?;
        for (name, size) in [("TX_SEG_SIZE", tx_seg_size), ("RX_SEG_SIZE", rx_seg_size)] {
            if size > wire::MAX_MESSAGE as usize {
                ucs_error!("UCX_TCP_{name}={size}: at most {} bytes", wire::MAX_MESSAGE);
                return Err(Error::InvalidParam);
            }
        }
        let max_conn_retries = read.count("MAX_CONN_RETRIES", 25)?;
        if max_conn_retries > 255 {
            ucs_error!("UCX_TCP_MAX_CONN_RETRIES={max_conn_retries}: at most 255");
            return Err(Error::InvalidParam);
        }
        Ok(TcpConfig {
            tx_seg_size: tx_seg_size.max(MIN_SEG_SIZE),
            rx_seg_size,
            max_iov: read.count("MAX_IOV", 6)? as usize,
            sendv_thresh: read.size("SENDV_THRESH", 2 << 10)?,
            prefer_default: read.flag("PREFER_DEFAULT", true)?,
            max_poll: read.count("MAX_POLL", 16)? as usize,
            max_conn_retries,
            nodelay: read.flag("NODELAY", true)?,
            sndbuf: read.auto("SNDBUF", parse_size)?,
            rcvbuf: read.auto("RCVBUF", parse_size)?,
            syn_cnt: read.auto("SYN_CNT", parse_count)?,
            user_timeout: read.auto("USER_TIMEOUT", parse_time)?.flatten(),
            port_range: read.value("PORT_RANGE", None, "a port or first-last", parse_range)?,
            max_bw: read.value("MAX_BW", 2200e6, "a bandwidth or 'auto'", parse_bandwidth)?,
            keepidle: match read.auto("KEEPIDLE", parse_time)? {
                Some(idle) => idle,
                None => Some(Duration::from_secs(10)),
            },
            keepcnt: read.auto("KEEPCNT", parse_count)?,
            keepintvl: match read.auto("KEEPINTVL", parse_time)? {
                Some(interval) => interval,
                None => Some(Duration::from_secs(2)),
            },
            bind_source: read.value(
                "EP_BIND_SRC_ADDR",
                Ternary::Try,
                "yes, no or try",
                |text| match text {
                    "try" => Some(Ternary::Try),
                    text => parse_flag(text).map(|on| if on { Ternary::Yes } else { Ternary::No }),
                },
            )?,
        })
    }
}

/// What the memory domain needs to list devices.
#[derive(Clone, Debug, PartialEq)]
pub struct MdConfig {
    /// Address families by preference: true is IPv6.
    pub af_prio: Vec<bool>,
    pub bridge_enable: bool,
}

impl MdConfig {
    pub fn read(config: &Config) -> Result<MdConfig> {
        let read = Reader { config };
        Ok(MdConfig {
            af_prio: read.value(
                "AF_PRIO",
                vec![false, true],
                "a list of inet, inet6",
                |text| {
                    text.split(',')
                        .map(|family| match family.trim() {
                            "inet" => Some(false),
                            "inet6" => Some(true),
                            _ => None,
                        })
                        .collect()
                },
            )?,
            bridge_enable: read.flag("BRIDGE_ENABLE", false)?,
        })
    }
}

struct Reader<'a> {
    config: &'a Config,
}

impl Reader<'_> {
    fn value<T>(
        &self,
        name: &str,
        default: T,
        form: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T> {
        let name = format!("TCP_{name}");
        let Some(text) = self.config.get(&name) else {
            return Ok(default);
        };
        parse(text.trim()).ok_or_else(|| {
            ucs_error!("invalid value for UCX_{name}: '{text}'. Expected: {form}");
            Error::InvalidParam
        })
    }

    fn size(&self, name: &str, default: usize) -> Result<usize> {
        self.value(
            name,
            default,
            "a size such as 8K, or inf",
            |text| match text {
                "auto" => Some(default),
                text => parse_size(text),
            },
        )
    }

    fn count(&self, name: &str, default: u32) -> Result<u32> {
        self.value(name, default, "a number", parse_count)
    }

    fn flag(&self, name: &str, default: bool) -> Result<bool> {
        self.value(name, default, "y or n", parse_flag)
    }

    fn auto<T>(&self, name: &str, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>> {
        self.value(
            name,
            None,
            "a number with an optional unit, or auto",
            |text| match text {
                "auto" => Some(None),
                text => parse(text).map(Some),
            },
        )
    }
}

fn parse_flag(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "y" | "yes" | "on" | "1" | "true" => Some(true),
        "n" | "no" | "off" | "0" | "false" => Some(false),
        _ => None,
    }
}

fn parse_count(text: &str) -> Option<u32> {
    match text {
        "inf" => Some(u32::MAX),
        text => text.parse().ok(),
    }
}

fn split_unit(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    text.split_at(end)
}

fn parse_size(text: &str) -> Option<usize> {
    if text == "inf" {
        return Some(usize::MAX);
    }
    let (number, unit) = split_unit(text);
    let shift = match unit.to_ascii_lowercase().trim_end_matches('b') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return None,
    };
    number.parse::<usize>().ok()?.checked_mul(1 << shift)
}

/// `Some(None)` is "inf".
fn parse_time(text: &str) -> Option<Option<Duration>> {
    if text == "inf" {
        return Some(None);
    }
    let (number, unit) = split_unit(text);
    let factor = match unit {
        "" | "s" => 1.0,
        "m" => 60.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        "ns" => 1e-9,
        _ => return None,
    };
    let seconds = number.parse::<f64>().ok()? * factor;
    Duration::try_from_secs_f64(seconds).ok().map(Some)
}

fn parse_range(text: &str) -> Option<Option<(u16, u16)>> {
    if text == "0" {
        return Some(None);
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.trim().parse::<u16>().ok()?, last.trim().parse().ok()?);
    (first != 0 && first <= last).then_some(Some((first, last)))
}

fn parse_bandwidth(text: &str) -> Option<f64> {
    if text == "auto" || text == "inf" {
        return Some(f64::MAX);
    }
    let (number, unit) = split_unit(text);
    let unit = unit
        .trim_end_matches("ps")
        .trim_end_matches("/s")
        .trim_end_matches('s');
    let (scale, bits) = match unit.strip_suffix('b') {
        Some(scale) => (scale, true),
        None => (unit.strip_suffix('B')?, false),
    };
    let scale = match scale.to_ascii_uppercase().as_str() {
        "" => 1.0,
        "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        _ => return None,
    };
    let value = number.parse::<f64>().ok()? * scale / if bits { 8.0 } else { 1.0 };
    (value > 0.0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &str, value: &str) -> Result<TcpConfig> {
        let mut config = Config::default();
        config.set(name, value);
        TcpConfig::read(&config)
    }

    #[test]
    fn defaults() {
        let config = TcpConfig::read(&Config::default()).unwrap();
        assert_eq!(config.tx_seg_size, 8192);
        assert_eq!(config.port_range, None);
        assert_eq!(config.keepidle, Some(Duration::from_secs(10)));
    }

    #[test]
    fn port_ranges() {
        let range = |text| with("TCP_PORT_RANGE", text).map(|config| config.port_range);
        assert_eq!(range("20000-20003"), Ok(Some((20000, 20003))));
        assert_eq!(range("7000"), Ok(Some((7000, 7000))));
        assert_eq!(range("0"), Ok(None));
        for bad in ["9-1", "0-70000", "0-10", "abc", "", "-", "1-2-3", "70000"] {
            assert_eq!(range(bad), Err(Error::InvalidParam), "{bad}");
        }
    }

    #[test]
    fn units() {
        assert_eq!(parse_size("32mb"), Some(32 << 20));
        assert_eq!(parse_size("1"), Some(1));
        assert_eq!(parse_size("x"), None);
        assert_eq!(parse_size("99999999999999999999"), None);
        assert_eq!(parse_size("999999999999999T"), None);
        assert_eq!(
            parse_time("10000000.00us"),
            Some(Some(Duration::from_secs(10)))
        );
        assert_eq!(parse_time("inf"), Some(None));
        assert_eq!(parse_bandwidth("2200MBs"), Some(2200e6));
        assert_eq!(parse_bandwidth("2200.00MBps"), Some(2200e6));
        assert_eq!(parse_bandwidth("8Gb/s"), Some(1e9));
        assert_eq!(parse_bandwidth("fast"), None);
        assert!(with("TCP_TX_SEG_SIZE", "2G").is_err());
        assert_eq!(
            with("TCP_TX_SEG_SIZE", "1").unwrap().tx_seg_size,
            MIN_SEG_SIZE
        );
    }
}
