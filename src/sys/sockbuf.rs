//! How much the buffers of sockets may hold.

use std::fs;

/// Where nothing is said: what kernels have that nobody has tuned.
const USUAL: usize = 16 << 20;

/// Most bytes that may be between the two programs of a TCP connection, in the kernels of both hosts, if
/// the other is set up as this one.
pub fn most_in_tcp() -> usize {
    let end = |way: &str| {
        // Chosen by the kernel, or set by a program, which is doubled.
        let tuned = largest(&format!("/proc/sys/net/ipv4/tcp_{way}mem"));
        let set = largest(&format!("/proc/sys/net/core/{way}mem_max"));
        Some(tuned?.max(set?.saturating_mul(2)))
    };
    let both = end("r").zip(end("w"));
    both.map_or(USUAL, |(read, write)| read.saturating_add(write))
}

/// The last number of such a file.
fn largest(path: &str) -> Option<usize> {
    let text = fs::read_to_string(path).ok()?;
    text.split_whitespace().last()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_holds_something() {
        assert!(most_in_tcp() >= 64 << 10);
        assert_eq!(largest("/proc/sys/net/ipv4/no_such_thing"), None);
    }
}
