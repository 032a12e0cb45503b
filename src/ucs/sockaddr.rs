//! Socket addresses as text, in UCX's form.

use core::cmp::Ordering;
use std::net::{IpAddr, SocketAddr};

/// `10.0.0.1:80`, or `fe80::1%2:80` with the scope in hexadecimal.
pub fn format(addr: &SocketAddr) -> String {
    match addr {
        SocketAddr::V4(v4) => v4.to_string(),
        SocketAddr::V6(v6) => format!("{}%{:x}:{}", v6.ip(), v6.scope_id(), v6.port()),
    }
}

/// An address without port.
pub fn parse_ip(text: &str) -> Option<IpAddr> {
    text.parse().ok()
}

/// A port as C's `strtol` with base 0 reads it: decimal, `0x` hexadecimal or `0` octal.
pub fn parse_port(text: &str) -> Option<u16> {
    super::config::parse_int(text).and_then(|port| u16::try_from(port).ok())
}

/// `ip`, `ip:port`, `ipv6` or `[ipv6]:port`.
pub fn parse_ip_port(text: &str, default_port: u16) -> Option<SocketAddr> {
    let many_colons = text.bytes().filter(|c| *c == b':').count() > 1;
    let (ip, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (ip, rest) = rest.split_once(']')?;
            match rest {
                "" => (ip, None),
                _ => (ip, Some(rest.strip_prefix(':')?)),
            }
        }
        None if many_colons => (text, None),
        None => match text.split_once(':') {
            Some((ip, port)) => (ip, Some(port)),
            None => (text, None),
        },
    };
    let port = match port {
        None | Some("") => default_port,
        Some(port) => parse_port(port)?,
    };
    Some(SocketAddr::new(parse_ip(ip)?, port))
}

/// Order by family, address and port, as sorting by bytes would give it.
pub fn compare(a: &SocketAddr, b: &SocketAddr) -> Ordering {
    a.is_ipv6()
        .cmp(&b.is_ipv6())
        .then(a.ip().cmp(&b.ip()))
        .then(a.port().cmp(&b.port()))
}

/// Whether the first `bits` bits of two addresses are equal; more bits than there are mean all.
pub fn same_subnet(a: &IpAddr, b: &IpAddr, bits: u32) -> bool {
    let (a, b, width) = match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            (u128::from(u32::from(*a)), u128::from(u32::from(*b)), 32)
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => (u128::from(*a), u128::from(*b), 128),
        _ => return false,
    };
    let ignored = width - bits.min(width);
    (a ^ b).checked_shr(ignored).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts() {
        let parse = |text| parse_ip_port(text, 7).map(|addr| format(&addr));
        assert_eq!(parse("10.0.0.1").as_deref(), Some("10.0.0.1:7"));
        assert_eq!(parse("10.0.0.1:0x50").as_deref(), Some("10.0.0.1:80"));
        assert_eq!(parse("::1").as_deref(), Some("::1%0:7"));
        assert_eq!(parse("[::1]:80").as_deref(), Some("::1%0:80"));
        for bad in [
            "",
            ":",
            "10.0.0.1:70000",
            "10.0.0.1:x",
            "[::1",
            "[::1]80",
            "host:1",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn subnets() {
        let ip = |text| parse_ip(text).expect("an address");
        assert!(same_subnet(&ip("10.0.1.1"), &ip("10.0.2.1"), 16));
        assert!(!same_subnet(&ip("10.0.1.1"), &ip("10.0.2.1"), 24));
        assert!(same_subnet(&ip("::1"), &ip("::1"), 1000));
        assert!(same_subnet(&ip("::1"), &ip("ff::1"), 0));
        assert!(!same_subnet(&ip("::1"), &ip("10.0.0.1"), 0));
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[0-9a-fx:.\\[\\]%]{0,40}") {
            let _ = parse_ip_port(&text, 0);
        }
    }
}
