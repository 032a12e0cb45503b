//! The connection manager of TCP: two processes that know a socket address exchange a few frames,
//! by which UCP connects their workers. The connection serves for nothing else.
//!
//! Nothing here waits: sockets are non-blocking, and whoever owns them watches their descriptors.

mod conn;
mod frame;
mod listener;
mod settings;

pub use conn::{CmConn, Polled};
pub use frame::{Frame, MAX_BODY, take as take_frame};
pub use listener::{Accepted, CmListener};
pub use settings::CmSettings;

/// The address of the device with this IP address, as interfaces on it have it.
pub fn device_address(ip: std::net::IpAddr) -> Vec<u8> {
    let mut out = Vec::new();
    super::addr::DeviceAddr {
        ip,
        loopback: ip.is_loopback(),
        host: super::addr::host_id(),
    }
    .encode(&mut out);
    out
}
