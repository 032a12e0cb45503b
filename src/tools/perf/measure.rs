//! Times and counts of a test.

use std::time::Instant;

use super::params::Params;
use super::tests::Pattern;
use crate::sys::cpu::{rdtsc, rdtsc_relaxed};
use crate::ucs::arch::{Clock, clock};

/// Operations whose times are kept.
const KEPT: usize = 2048;

/// Cheap time: ticks of [`clock`], which the first call finds out.
#[inline]
pub fn ticks() -> u64 {
    rdtsc_relaxed()
}

/// Ticks in a second.
fn ticks_per_second() -> f64 {
    match clock() {
        Clock::Tsc(rate) => rate,
        // The counter doesn't run evenly: its rate now is the best that is known.
        Clock::Micros => {
            let (begin, ticks) = (Instant::now(), rdtsc());
            std::thread::sleep(std::time::Duration::from_millis(10));
            rdtsc().wrapping_sub(ticks) as f64 / begin.elapsed().as_secs_f64()
        }
    }
}

/// A typical value, that of the time since the last report, and that of all the time.
#[derive(Clone, Copy, Default, Debug)]
pub struct Values {
    pub typical: f64,
    pub recent: f64,
    pub total: f64,
}

/// What came out. Times are in seconds, sizes in bytes.
#[derive(Clone, Copy, Default, Debug)]
pub struct Result {
    pub iterations: u64,
    pub latency: Values,
    pub bandwidth: Values,
    pub rate: Values,
}

#[derive(Clone, Copy)]
struct Counts {
    iterations: u64,
    bytes: u64,
    messages: u64,
    at: Instant,
}

/// See the module. One thread's.
pub struct Measure {
    /// A round trip counts as two.
    factor: f64,
    percentile: f64,
    rate: f64,
    max_iter: u64,
    report_every: u64,
    /// Ends the run, even if iterations are left.
    end: u64,
    limits: (u64, f64, f64),
    begin: Instant,
    last: u64,
    last_report: u64,
    now: Counts,
    reported: Counts,
    kept: Box<[u64; KEPT]>,
    next: usize,
    /// What the library says of the operation.
    pub extra: String,
}

impl Measure {
    pub fn new(params: &Params, pattern: Pattern) -> Measure {
        let now = Instant::now();
        let counts = Counts {
            iterations: 0,
            bytes: 0,
            messages: 0,
            at: now,
        };
        let mut measure = Measure {
            factor: if pattern == Pattern::PingPong {
                2.0
            } else {
                1.0
            },
            percentile: params.percentile,
            rate: ticks_per_second(),
            max_iter: 0,
            report_every: u64::MAX,
            end: u64::MAX,
            limits: (params.max_iter, params.max_time, params.report_interval),
            begin: now,
            last: 0,
            last_report: 0,
            now: counts,
            reported: counts,
            kept: Box::new([0; KEPT]),
            next: 0,
            extra: String::new(),
        };
        measure.begin();
        measure
    }

    /// The tick that is `seconds` away.
    pub fn deadline(&self, seconds: f64) -> u64 {
        ticks().wrapping_add((seconds * self.rate) as u64)
    }

    /// The ticks of so many seconds.
    pub fn ticks_of(seconds: f64) -> u64 {
        (seconds * ticks_per_second()) as u64
    }

    /// Begins anew, with the limits of the test.
    pub fn begin(&mut self) {
        let (iterations, _, report) = self.limits;
        self.max_iter = if iterations == 0 {
            u64::MAX
        } else {
            iterations
        };
        self.report_every = (report * self.rate) as u64;
        self.reset();
    }

    /// Begins anew, for so many iterations, without reports.
    pub fn limit(&mut self, iterations: u64) {
        self.max_iter = iterations;
        self.report_every = u64::MAX;
        self.reset();
    }

    fn reset(&mut self) {
        let zero = Counts {
            iterations: 0,
            bytes: 0,
            messages: 0,
            at: Instant::now(),
        };
        (self.now, self.reported, self.next) = (zero, zero, 0);
        self.kept.fill(0);
        self.extra.clear();
        self.start();
    }

    /// The clock starts now.
    pub fn start(&mut self) {
        let now = ticks();
        (self.last, self.last_report) = (now, now);
        self.begin = Instant::now();
        (self.now.at, self.reported.at) = (self.begin, self.begin);
        let (_, seconds, _) = self.limits;
        self.end = if seconds == 0.0 {
            u64::MAX
        } else {
            self.deadline(seconds)
        };
    }

    /// The clock stops now.
    pub fn stop(&mut self) {
        self.now.at = Instant::now();
    }

    #[inline]
    pub fn is_done(&self) -> bool {
        self.now.iterations >= self.max_iter || self.last > self.end
    }

    #[inline]
    pub fn iterations(&self) -> u64 {
        self.now.iterations
    }

    /// The other side has done so many more.
    #[inline]
    pub fn add_iterations(&mut self, more: u64) {
        self.now.iterations += more;
    }

    /// A message without a time of its own.
    pub fn add_message(&mut self) {
        self.now.messages += 1;
    }

    /// One operation is done. True when it is time for [`Measure::report`].
    #[inline]
    pub fn done(&mut self, bytes: usize) -> bool {
        let now = ticks();
        self.now.iterations += 1;
        self.now.bytes += bytes as u64;
        self.now.messages += 1;
        self.kept[self.next & (KEPT - 1)] = now.wrapping_sub(self.last);
        self.next = self.next.wrapping_add(1);
        self.last = now;
        let since = now.wrapping_sub(self.last_report);
        since >= self.report_every && self.now.iterations < self.max_iter
    }

    /// The result until now; a new section begins.
    #[cold]
    pub fn report(&mut self) -> Result {
        self.stop();
        let result = self.result();
        (self.reported, self.last_report) = (self.now, self.last);
        result
    }

    /// The result.
    pub fn result(&mut self) -> Result {
        let factor = self.factor;
        let seconds = |from: Instant| self.now.at.duration_since(from).as_secs_f64();
        let (recent, total) = (seconds(self.reported.at), seconds(self.begin));
        let since = |now: u64, before: u64| (now - before) as f64;
        let (now, before) = (&self.now, &self.reported);
        let iterations = since(now.iterations, before.iterations);
        let mut result = Result {
            iterations: now.iterations,
            latency: Values {
                typical: 0.0,
                recent: recent / iterations / factor,
                total: total / now.iterations as f64 / factor,
            },
            bandwidth: Values {
                typical: 0.0,
                recent: since(now.bytes, before.bytes) / recent * factor,
                total: now.bytes as f64 / total * factor,
            },
            rate: Values {
                typical: 0.0,
                recent: since(now.messages, before.messages) / recent * factor,
                total: now.messages as f64 / total * factor,
            },
        };
        result.latency.typical = self.typical() as f64 / self.rate / factor;
        result
    }

    /// The percentile of the times that are kept.
    fn typical(&mut self) -> u64 {
        let count = KEPT.min(self.now.iterations as usize);
        if count == 0 {
            return 0;
        }
        let mut times = self.kept[..count].to_vec();
        let rank = ((count - 1) as f64 * self.percentile / 100.0) as usize;
        *times.select_nth_unstable(rank.min(count - 1)).1
    }
}

/// The result of several threads: rates add up, times are averages.
pub fn together(results: &[Result]) -> Result {
    let sum = |value: fn(&Result) -> f64| results.iter().map(value).sum::<f64>();
    let total = |total| Values {
        total,
        ..Values::default()
    };
    Result {
        iterations: results.first().map_or(0, |result| result.iterations),
        latency: total(sum(|result| result.latency.total) / results.len().max(1) as f64),
        bandwidth: total(sum(|result| result.bandwidth.total)),
        rate: total(sum(|result| result.rate.total)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_percentiles() {
        let params = Params {
            max_iter: 10,
            percentile: 90.0,
            ..Params::default()
        };
        let mut measure = Measure::new(&params, Pattern::Stream);
        while !measure.is_done() {
            measure.done(100);
        }
        measure.kept[..10].copy_from_slice(&[9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
        assert_eq!(measure.typical(), 8);
        measure.stop();
        let result = measure.result();
        assert_eq!(result.iterations, 10);
        assert!(result.bandwidth.total > result.rate.total);
        measure.limit(0);
        assert!(measure.is_done());
    }
}
