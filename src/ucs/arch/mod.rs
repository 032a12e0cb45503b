//! The processor: who made it, which model it is, its caches and its clock.

mod clock;
mod copies;

use std::sync::OnceLock;

pub use clock::{Clock, clock, now};
pub use copies::{copy_bounds, use_copy_bounds};

use crate::sys::cpu::cpuid;

/// Vendors by value of `ucs_cpu_vendor_t`.
pub const VENDORS: [&str; 9] = [
    "unknown",
    "Intel",
    "AMD",
    "Generic ARM",
    "Generic PPC",
    "Fujitsu ARM",
    "Zhaoxin",
    "Generic RV64G",
    "Nvidia",
];

/// Models by value of `ucs_cpu_model_t`, as UCX 1.22 numbers them.
pub const MODELS: [&str; 24] = [
    "unknown",
    "IvyBridge",
    "SandyBridge",
    "Nehalem",
    "Westmere",
    "Haswell",
    "Broadwell",
    "Skylake",
    "Icelake",
    "Emerald Rapids",
    "ARM 64-bit",
    "Naples",
    "Rome",
    "Milan",
    "Genoa",
    "Turin",
    "Zhangjiang",
    "Wudaokou",
    "Lujiazui",
    "RV64G",
    "Grace",
    "Vera",
    "FUJITSU-A64FX",
    "FUJITSU-MONAKA",
];

/// Value of `ucs_cpu_vendor_t`, the same in all versions.
pub fn vendor() -> usize {
    static VENDOR: OnceLock<usize> = OnceLock::new();
    *VENDOR.get_or_init(|| {
        let r = cpuid(0, 0);
        let mut id = [0; 12];
        for (to, from) in id.chunks_exact_mut(4).zip([r.ebx, r.edx, r.ecx]) {
            to.copy_from_slice(&from.to_le_bytes());
        }
        let name = match &id {
            b"GenuineIntel" => "Intel",
            b"AuthenticAMD" => "AMD",
            b"CentaurHauls" | b"  Shanghai  " => "Zhaoxin",
            _ => "unknown",
        };
        VENDORS.iter().position(|known| *known == name).unwrap_or(0)
    })
}

/// Value of `ucs_cpu_model_t`, as UCX 1.22 numbers them.
pub fn model() -> usize {
    static MODEL: OnceLock<usize> = OnceLock::new();
    *MODEL.get_or_init(|| {
        let signature = cpuid(1, 0).eax;
        let name = model_of(vendor_name(), signature);
        MODELS.iter().position(|known| *known == name).unwrap_or(0)
    })
}

/// Value of `ucs_cpu_model_t` in the numbering of UCX 1.13, which has fifteen: callers of that
/// version index tables of their own with it. Models it doesn't know are "unknown".
pub fn model_1_13() -> usize {
    const OLD: [&str; 15] = [
        "unknown",
        "IvyBridge",
        "SandyBridge",
        "Nehalem",
        "Westmere",
        "Haswell",
        "Broadwell",
        "Skylake",
        "ARM 64-bit",
        "Naples",
        "Rome",
        "Milan",
        "Zhangjiang",
        "Wudaokou",
        "Lujiazui",
    ];
    OLD.iter()
        .position(|known| *known == model_name())
        .unwrap_or(0)
}

fn model_of(vendor: &str, signature: u32) -> &'static str {
    let (mut family, mut model) = ((signature >> 8) & 0xf, (signature >> 4) & 0xf);
    if family == 0xf {
        family += (signature >> 20) & 0xff;
    }
    if family == 6 || family == 7 || family >= 0xf {
        model |= ((signature >> 16) & 0xf) << 4;
    }
    match (vendor, family, model) {
        ("Zhaoxin", 6, 0x0f) => "Zhangjiang",
        ("Zhaoxin", 7, 0x1b) => "Wudaokou",
        ("Zhaoxin", 7, 0x3b) => "Lujiazui",
        ("Intel", 6, 0x3a | 0x3e) => "IvyBridge",
        ("Intel", 6, 0x2a | 0x2d) => "SandyBridge",
        ("Intel", 6, 0x1a | 0x1e | 0x1f | 0x2e) => "Nehalem",
        ("Intel", 6, 0x25 | 0x2c | 0x2f) => "Westmere",
        ("Intel", 6, 0x3c | 0x3f | 0x45 | 0x46) => "Haswell",
        ("Intel", 6, 0x3d | 0x47 | 0x4f | 0x56) => "Broadwell",
        ("Intel", 6, 0x4e | 0x55 | 0x5e) => "Skylake",
        ("Intel", 6, 0x6a | 0x6c | 0x7e) => "Icelake",
        ("Intel", 6, 0xcf) => "Emerald Rapids",
        ("AMD", 0x17, 0x29) => "Naples",
        ("AMD", 0x17, 0x31) => "Rome",
        ("AMD", 0x19, 0x00 | 0x01) => "Milan",
        ("AMD", 0x19, 0x11 | 0x90) => "Genoa",
        ("AMD", 0x1a, 0x00..=0x2f | 0x40..=0x4f | 0x60..=0x7f) => "Turin",
        _ => "unknown",
    }
}

/// The vendor's name.
pub fn vendor_name() -> &'static str {
    VENDORS.get(vendor()).copied().unwrap_or("unknown")
}

/// The model's name.
pub fn model_name() -> &'static str {
    MODELS.get(model()).copied().unwrap_or("unknown")
}

/// The name of the machine as its firmware gives it; `unknown` where it gives none.
pub fn product_name() -> String {
    let name = std::fs::read_to_string("/sys/devices/virtual/dmi/id/product_name");
    match name.as_deref().map(str::trim) {
        Ok(name) if !name.is_empty() => name.to_owned(),
        _ => "unknown".to_owned(),
    }
}

/// The caches that `ucs_cpu_cache_type_t` names, in its order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cache {
    L1Data = 0,
    L1Instruction = 1,
    L2 = 2,
    L3 = 3,
}

/// Size of a cache of the first processor in bytes, 0 where it is not known.
pub fn cache_size(cache: Cache) -> usize {
    static SIZES: OnceLock<[usize; 4]> = OnceLock::new();
    let sizes = SIZES.get_or_init(|| {
        let mut sizes = [0; 4];
        for index in 0..8 {
            let read = |file: &str| {
                let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{file}");
                std::fs::read_to_string(path).map(|text| text.trim().to_owned())
            };
            let (Ok(level), Ok(kind), Ok(size)) = (read("level"), read("type"), read("size"))
            else {
                break;
            };
            let slot = match (level.as_str(), kind.as_str()) {
                ("1", "Data") => Cache::L1Data,
                ("1", "Instruction") => Cache::L1Instruction,
                ("2", _) => Cache::L2,
                ("3", _) => Cache::L3,
                _ => continue,
            };
            if let Some(to) = sizes.get_mut(slot as usize) {
                *to = crate::ucs::config::parse_size(&size).unwrap_or(0);
            }
        }
        sizes
    });
    sizes.get(cache as usize).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_by_signature() {
        assert_eq!(model_of("Intel", 0x0005_0654), "Skylake");
        assert_eq!(model_of("Intel", 0x000c_06f2), "Emerald Rapids");
        assert_eq!(model_of("AMD", 0x00a0_0f11), "Milan");
        assert_eq!(model_of("AMD", 0x00b0_0f21), "Turin");
        assert_eq!(model_of("AMD", 0), "unknown");
    }

    #[test]
    fn this_machine() {
        assert!(!vendor_name().is_empty() && !model_name().is_empty());
        assert!(model_1_13() < 15);
        assert!(cache_size(Cache::L2) < 1 << 32);
    }
}
