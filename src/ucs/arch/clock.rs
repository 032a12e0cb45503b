//! What a tick is: the time stamp counter where it runs evenly, else microseconds.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::sys::cpu::{cpuid, rdtsc, rdtsc_relaxed};

/// How time is taken, and how many ticks make a second.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Clock {
    /// The time stamp counter, at this frequency.
    Tsc(f64),
    /// Microseconds since the epoch: what UCX's inline functions fall back to.
    Micros,
}

impl Clock {
    /// Ticks in a second.
    pub fn per_second(self) -> f64 {
        match self {
            Clock::Tsc(frequency) => frequency,
            Clock::Micros => 1e6,
        }
    }
}

/// The clock of this machine, found out at the first call (up to a millisecond).
pub fn clock() -> Clock {
    static CLOCK: OnceLock<Clock> = OnceLock::new();
    *CLOCK.get_or_init(|| {
        if !invariant_tsc() {
            return Clock::Micros;
        }
        let frequency = brand_frequency().or_else(measure);
        frequency.map_or(Clock::Micros, Clock::Tsc)
    })
}

/// The time in ticks.
pub fn now() -> u64 {
    match clock() {
        Clock::Tsc(_) => rdtsc_relaxed(),
        Clock::Micros => std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| since.as_micros() as u64),
    }
}

/// Whether the counter runs at one rate in all states of the processor.
fn invariant_tsc() -> bool {
    cpuid(0x8000_0000, 0).eax >= 0x8000_0007 && cpuid(0x8000_0007, 0).edx & (1 << 8) != 0
}

/// The frequency that the processor's brand names, which is the rate of the counter.
fn brand_frequency() -> Option<f64> {
    if cpuid(0x8000_0000, 0).eax < 0x8000_0004 {
        return None;
    }
    let mut brand = Vec::new();
    for leaf in 0x8000_0002..=0x8000_0004u32 {
        let r = cpuid(leaf, 0);
        for register in [r.eax, r.ebx, r.ecx, r.edx] {
            brand.extend(register.to_le_bytes());
        }
    }
    parse_brand(&String::from_utf8_lossy(&brand))
}

fn parse_brand(brand: &str) -> Option<f64> {
    let (_, after) = brand.rsplit_once('@')?;
    let number = after.trim_matches(['\0', ' ']).strip_suffix("GHz")?;
    let ghz: f64 = number.trim().parse().ok()?;
    (ghz > 0.0 && ghz < 100.0).then_some(ghz * 1e9)
}

/// Compares the counter with the system's clock, for a millisecond at most.
fn measure() -> Option<f64> {
    const LONGEST: Duration = Duration::from_millis(1);
    // Begin at the closest pair of readings of both clocks.
    let pair = || {
        let before = rdtsc();
        let time = Instant::now();
        let after = rdtsc();
        (after.wrapping_sub(before), after, time)
    };
    let (_, start, since) = (0..10).map(|_| pair()).min_by_key(|(gap, ..)| *gap)?;
    let (mut previous, mut steady) = (0.0, 0);
    loop {
        let (_, now, time) = pair();
        let elapsed = time.saturating_duration_since(since);
        if elapsed.is_zero() {
            continue;
        }
        let frequency = now.wrapping_sub(start) as f64 / elapsed.as_secs_f64();
        steady = if ((frequency - previous) / frequency).abs() < 3e-6 {
            steady + 1
        } else {
            0
        };
        previous = frequency;
        if steady >= 10 || elapsed >= LONGEST {
            return (frequency > 1e6).then_some(frequency);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brands() {
        let brand = "Intel(R) Xeon(R) Platinum 8168 CPU @ 2.70GHz\0\0\0";
        assert_eq!(parse_brand(brand), Some(2.7e9));
        assert_eq!(parse_brand("AMD EPYC 7763 64-Core Processor\0"), None);
        assert_eq!(parse_brand("x @ -1GHz"), None);
    }

    #[test]
    fn this_machine_has_a_clock() {
        assert!(clock().per_second() >= 1e6);
        assert_eq!(clock(), clock());
    }
}
