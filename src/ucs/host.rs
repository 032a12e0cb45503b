//! Identity of the host.

use std::sync::OnceLock;

/// A number that is the same in all processes that see the same running system, and differs
/// between systems: made from the boot id, else from the host's name.
pub fn system_id() -> u64 {
    static ID: OnceLock<u64> = OnceLock::new();
    *ID.get_or_init(|| {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let boot = read("/proc/sys/kernel/random/boot_id");
        let hex: String = boot.chars().filter(char::is_ascii_hexdigit).collect();
        match u128::from_str_radix(&hex, 16) {
            Ok(id) => (id >> 64) as u64 ^ id as u64,
            Err(_) => fnv1a(read("/proc/sys/kernel/hostname").trim().as_bytes()),
        }
    })
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_stays() {
        assert_eq!(system_id(), system_id());
        assert_ne!(fnv1a(b"a"), fnv1a(b"b"));
    }
}
