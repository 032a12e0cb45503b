//! The variables of the connection manager (`UCX_TCP_CM_*`).

use std::os::fd::AsRawFd;
use std::time::Duration;

use socket2::Socket;

use crate::sys::net;
use crate::ucs::config::Config;

/// Values in force.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CmSettings {
    /// Longest private data of a frame, in bytes.
    pub priv_data_len: usize,
    /// Listen on an address that old connections still occupy.
    pub reuse_addr: bool,
    /// `None`: the kernel's choice.
    pub sndbuf: Option<usize>,
    pub rcvbuf: Option<usize>,
    pub syn_cnt: Option<i32>,
    pub user_timeout: Option<Duration>,
}

impl CmSettings {
    pub fn read(config: &Config) -> CmSettings {
        let timeout = config.time_auto("TCP_CM_USER_TIMEOUT");
        CmSettings {
            priv_data_len: config.size("TCP_CM_PRIV_DATA_LEN"),
            reuse_addr: config.bool_("TCP_CM_REUSEADDR"),
            sndbuf: config.size_auto("TCP_CM_SNDBUF"),
            rcvbuf: config.size_auto("TCP_CM_RCVBUF"),
            syn_cnt: config
                .count("TCP_CM_SYN_CNT")
                .map(|n| n.clamp(1, 255) as i32),
            user_timeout: timeout.and_then(|t| Duration::try_from_secs_f64(t).ok()),
        }
    }

    /// None of these is needed for correctness, so failures are let pass.
    pub(super) fn apply(&self, socket: &Socket) {
        let _ = socket.set_nodelay(true);
        if let Some(size) = self.sndbuf {
            let _ = socket.set_send_buffer_size(size);
        }
        if let Some(size) = self.rcvbuf {
            let _ = socket.set_recv_buffer_size(size);
        }
        if let Some(count) = self.syn_cnt {
            let fd = socket.as_raw_fd();
            let _ = net::set_option(fd, libc::IPPROTO_TCP, libc::TCP_SYNCNT, count);
        }
        if self.user_timeout.is_some() {
            let _ = socket.set_tcp_user_timeout(self.user_timeout);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables() {
        let mut config = Config::default();
        let settings = CmSettings::read(&config);
        assert_eq!(settings.priv_data_len, 2048);
        assert_eq!((settings.sndbuf, settings.syn_cnt), (None, None));
        config.set("TCP_CM_SNDBUF", "64k");
        config.set("TCP_CM_SYN_CNT", "1000");
        config.set("TCP_CM_USER_TIMEOUT", "3s");
        let settings = CmSettings::read(&config);
        assert_eq!(
            (settings.sndbuf, settings.syn_cnt),
            (Some(65536), Some(255))
        );
        assert_eq!(settings.user_timeout, Some(Duration::from_secs(3)));
    }
}
