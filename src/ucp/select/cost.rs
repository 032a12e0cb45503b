//! The cost model: time as a function of message size.

use crate::uct::PerfAttr;

/// Seconds for a message: `fixed + size * per_byte`.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Linear {
    pub fixed: f64,
    pub per_byte: f64,
}

impl Linear {
    pub const fn new(fixed: f64, per_byte: f64) -> Linear {
        Linear { fixed, per_byte }
    }

    pub fn at(self, size: usize) -> f64 {
        self.fixed + self.per_byte * size as f64
    }

    /// One after the other.
    pub fn then(self, other: Linear) -> Linear {
        Linear::new(self.fixed + other.fixed, self.per_byte + other.per_byte)
    }

    /// `bytes per second` as a cost without a fixed part; no bandwidth costs infinitely much.
    pub fn of_bandwidth(bandwidth: f64) -> Linear {
        let per_byte = if bandwidth > 0.0 {
            1.0 / bandwidth
        } else {
            f64::INFINITY
        };
        Linear::new(0.0, per_byte)
    }
}

/// Bandwidth that one process gets when `ppn` processes of the host share the device.
pub fn bandwidth(perf: &PerfAttr, ppn: usize) -> f64 {
    perf.bw_dedicated + perf.bw_shared / ppn.max(1) as f64
}

/// End-to-end time of an empty message between two interfaces.
pub fn message_time(local: &PerfAttr, remote: &PerfAttr) -> f64 {
    local.latency.max(remote.latency) + local.overhead + remote.overhead
}
