//! The variables of this transport (`UCX_TCP_*`), with UCX's names, forms and defaults.

use std::time::Duration;

use crate::ucs::config::{Config, Ternary};
use crate::ucs::status::{Error, Result};
use crate::{ucs_error, ucs_warn};

use super::wire;

/// Shorter transmit segments are raised to this: wire-up messages must fit.
const MIN_SEG_SIZE: usize = 2048;
/// Shorter ones than this were hardly meant, and UCX refuses them.
const LEAST_SEG_SIZE: usize = 160;

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
    /// Puts are offered, where the opener wants them.
    pub put_enable: bool,
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
    /// Whether connections are bound to the device's address.
    pub bind_source: Ternary,
}

impl TcpConfig {
    /// Reads the variables. What is wrong by itself was reported when the configuration was read;
    /// here is what can't be used.
    pub fn read(config: &Config) -> Result<TcpConfig> {
        let tx_seg_size = segment(config, "TCP_TX_SEG_SIZE")?;
        let rx_seg_size = segment(config, "TCP_RX_SEG_SIZE")?;
        let max_conn_retries = config.uint("TCP_MAX_CONN_RETRIES");
        if max_conn_retries > 255 {
            ucs_error!("UCX_TCP_MAX_CONN_RETRIES={max_conn_retries}: at most 255");
            return Err(Error::InvalidParam);
        }
        let count = |name| {
            config
                .count(name)
                .map(|n| u32::try_from(n).unwrap_or(u32::MAX))
        };
        if config.uint("TCP_MAX_POLL") == 0 {
            ucs_warn!("UCX_TCP_MAX_POLL=0: one connection per poll is served all the same");
        }
        let max_iov = config.count("TCP_MAX_IOV").unwrap_or(u64::MAX);
        let seconds = |default| move |time: Option<f64>| duration(time.unwrap_or(default));
        Ok(TcpConfig {
            tx_seg_size: tx_seg_size.max(MIN_SEG_SIZE),
            rx_seg_size,
            max_iov: usize::try_from(max_iov).unwrap_or(usize::MAX),
            sendv_thresh: config.size("TCP_SENDV_THRESH"),
            prefer_default: config.bool_("TCP_PREFER_DEFAULT"),
            put_enable: config.bool_("TCP_PUT_ENABLE"),
            max_poll: config.uint("TCP_MAX_POLL") as usize,
            max_conn_retries,
            nodelay: config.bool_("TCP_NODELAY"),
            sndbuf: config.size_auto("TCP_SNDBUF"),
            rcvbuf: config.size_auto("TCP_RCVBUF"),
            syn_cnt: count("TCP_SYN_CNT"),
            user_timeout: config.time_auto("TCP_USER_TIMEOUT").and_then(duration),
            port_range: port_range(config)?,
            max_bw: config.bandwidth("TCP_MAX_BW").unwrap_or(f64::MAX),
            keepidle: seconds(10.0)(config.time_auto("TCP_KEEPIDLE")),
            keepcnt: count("TCP_KEEPCNT"),
            keepintvl: seconds(2.0)(config.time_auto("TCP_KEEPINTVL")),
            bind_source: config.ternary("TCP_EP_BIND_SRC_ADDR"),
        })
    }

    /// For how long a peer's host may be silent. `None`: for ever.
    pub fn longest_silence(&self) -> Option<Duration> {
        // What Linux does without being told.
        const PROBES: u32 = 9;
        let probes = self
            .keepintvl?
            .saturating_mul(self.keepcnt.unwrap_or(PROBES));
        self.keepidle?.checked_add(probes)
    }
}

fn segment(config: &Config, name: &str) -> Result<usize> {
    let size = config.size_auto(name).unwrap_or(64 << 10);
    if !(LEAST_SEG_SIZE..=wire::MAX_MESSAGE as usize).contains(&size) {
        ucs_error!(
            "UCX_{name}={}: at least {LEAST_SEG_SIZE} and at most {} bytes",
            config.text(name),
            wire::MAX_MESSAGE
        );
        return Err(Error::InvalidParam);
    }
    Ok(size)
}

/// `None` for infinite.
fn duration(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

fn port_range(config: &Config) -> Result<Option<(u16, u16)>> {
    let text = config.text("TCP_PORT_RANGE").trim();
    let port = |text: &str| text.trim().parse::<u16>().ok();
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (port(first), port(last)) {
        (Some(0), Some(0)) => Ok(None),
        (Some(first), Some(last)) if first != 0 && first <= last => Ok(Some((first, last))),
        _ => {
            ucs_error!(
                "invalid value for UCX_TCP_PORT_RANGE: '{text}'. Expected: <first>-<last>, ports \
                 between 1 and 65535, or 0 for any"
            );
            Err(Error::InvalidParam)
        }
    }
}

/// What the memory domain needs to list devices.
#[derive(Clone, Debug, PartialEq)]
pub struct MdConfig {
    /// Address families by preference: true is IPv6.
    pub af_prio: Vec<bool>,
    pub bridge_enable: bool,
    /// Devices that the user has named (`UCX_NET_DEVICES`).
    pub named: Vec<String>,
}

impl MdConfig {
    pub fn read(config: &Config) -> Result<MdConfig> {
        let families = config.list("TCP_AF_PRIO");
        let af_prio = families.iter().map(|family| match family.trim() {
            "inet" => Ok(false),
            "inet6" => Ok(true),
            other => {
                ucs_error!("invalid value for UCX_TCP_AF_PRIO: '{other}'. Expected: inet, inet6");
                Err(Error::InvalidParam)
            }
        });
        Ok(MdConfig {
            af_prio: af_prio.collect::<Result<_>>()?,
            bridge_enable: config.bool_("TCP_BRIDGE_ENABLE"),
            named: match config.text("NET_DEVICES").trim() {
                text if text.starts_with('^') => Vec::new(),
                _ => config.list("NET_DEVICES"),
            },
        })
    }
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
    fn segments() {
        assert!(with("TCP_TX_SEG_SIZE", "2G").is_err());
        assert!(with("TCP_TX_SEG_SIZE", "inf").is_err());
        assert!(with("TCP_TX_SEG_SIZE", "1").is_err());
        assert_eq!(
            with("TCP_TX_SEG_SIZE", "161").unwrap().tx_seg_size,
            MIN_SEG_SIZE
        );
        assert_eq!(
            with("TCP_TX_SEG_SIZE", "32mb").unwrap().tx_seg_size,
            32 << 20
        );
    }

    #[test]
    fn times() {
        let idle = |text| with("TCP_KEEPIDLE", text).unwrap().keepidle;
        assert_eq!(idle("inf"), None);
        assert_eq!(idle("auto"), Some(Duration::from_secs(10)));
        assert_eq!(idle("500ms"), Some(Duration::from_millis(500)));
    }

    #[test]
    fn families() {
        let mut config = Config::default();
        assert_eq!(MdConfig::read(&config).unwrap().af_prio, [false, true]);
        config.set("TCP_AF_PRIO", "inet6");
        assert_eq!(MdConfig::read(&config).unwrap().af_prio, [true]);
        config.set("TCP_AF_PRIO", "ipx");
        assert!(MdConfig::read(&config).is_err());
    }
}
