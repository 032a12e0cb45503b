//! Which copies are done by string instructions.

use std::sync::Once;

use super::{VENDORS, vendor};
use crate::sys::cpu::cpuid;
use crate::sys::strcopy;
use crate::ucs::config::Config;

/// Lengths that are worth it on processors that are good at it.
const FAST: (usize, usize) = (1 << 10, 8 << 20);

/// Above and below which lengths, by `UCX_BUILTIN_MEMCPY_MIN` and `_MAX`; by default as UCX has it,
/// which doesn't where the vendor is another one.
pub fn copy_bounds(config: &Config) -> (usize, usize) {
    let intel = VENDORS.get(vendor()) == Some(&"Intel");
    let (min, max) = match intel && is_fast() {
        true => FAST,
        false => (usize::MAX, usize::MAX),
    };
    let set = |name| config.size_auto(name);
    (
        set("BUILTIN_MEMCPY_MIN").unwrap_or(min),
        set("BUILTIN_MEMCPY_MAX").unwrap_or(max),
    )
}

/// From now on copies are done so.
pub fn use_copy_bounds() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let (above, below) = copy_bounds(Config::global());
        strcopy::set_bounds(above, below);
    });
}

/// The processor says so itself ("enhanced rep movsb").
fn is_fast() -> bool {
    cpuid(0, 0).eax >= 7 && cpuid(7, 0).ebx & 1 << 9 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_holds() {
        let mut config = Config::default();
        let (min, max) = copy_bounds(&config);
        assert!((min, max) == FAST || (min, max) == (usize::MAX, usize::MAX));
        config.set("BUILTIN_MEMCPY_MIN", "3k");
        assert_eq!(copy_bounds(&config), (3 << 10, max));
        config.set("BUILTIN_MEMCPY_MAX", "inf");
        assert_eq!(copy_bounds(&config), (3 << 10, usize::MAX));
        config.set("BUILTIN_MEMCPY_MIN", "inf");
        assert_eq!(copy_bounds(&config).0, usize::MAX);
    }
}
