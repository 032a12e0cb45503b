//! What is to fail, and when.

use std::cell::Cell;
use std::time::Duration;

use crate::ucs::config::Config;

/// Numbers of operations, counted from 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Nth(Vec<u64>);

impl Nth {
    fn parse(list: &[String]) -> Nth {
        Nth(list.iter().filter_map(|n| n.trim().parse().ok()).collect())
    }

    fn hits(&self, n: u64) -> bool {
        self.0.contains(&n)
    }
}

/// What becomes of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    Pass,
    /// It is not carried out, and the lane is dead.
    Refuse,
    /// It is accepted, not carried out, and completes with an error; the lane is dead.
    Fail,
    /// It is carried out, and completes with an error all the same; then the lane is dead.
    FailLate,
}

/// Registrations that are refused, counted over a context.
#[derive(Debug, Default)]
pub struct Registrations {
    refused: Nth,
    count: Cell<u64>,
}

impl Registrations {
    /// Those that the configuration wants refused.
    pub fn read(config: &Config) -> Registrations {
        Registrations {
            refused: Nth::parse(&config.list("FAULT_REGISTRATION")),
            count: Cell::new(0),
        }
    }

    /// Whether the next one is refused.
    pub fn refuses_next(&self) -> bool {
        if self.refused.0.is_empty() {
            return false;
        }
        let n = self.count.get() + 1;
        self.count.set(n);
        self.refused.hits(n)
    }
}

/// The faults of one interface. Numbers count the operations of all its endpoints.
#[derive(Debug, Default)]
pub struct Plan {
    /// Kinds of messages that count; empty: all operations do.
    kinds: Vec<String>,
    send: Nth,
    completion: Nth,
    late: Nth,
    /// A lane dies with the operation that would exceed this.
    bytes: Option<u64>,
    pub delay: Option<Duration>,
    count: Cell<u64>,
    sent: Cell<u64>,
}

impl Plan {
    /// The faults that the configuration wants of `tl/device`; `None` for none.
    pub fn read(config: &Config, tl: &str, device: &str) -> Option<Plan> {
        let names = config.list("FAULT_LANES");
        let full = format!("{tl}/{device}");
        if !names
            .iter()
            .any(|name| *name == full || name == tl || name == "all")
        {
            return None;
        }
        let delay = Duration::try_from_secs_f64(config.time("FAULT_DELAY")).ok();
        let bytes = config.size("FAULT_BYTES");
        Some(Plan {
            kinds: config.list("FAULT_MESSAGES"),
            send: Nth::parse(&config.list("FAULT_SEND")),
            completion: Nth::parse(&config.list("FAULT_COMPLETION")),
            late: Nth::parse(&config.list("FAULT_LATE_COMPLETION")),
            bytes: (bytes != usize::MAX).then_some(bytes as u64),
            delay: delay.filter(|delay| !delay.is_zero()),
            ..Plan::default()
        })
    }

    /// Whether only some kinds of messages count.
    pub fn is_choosy(&self) -> bool {
        !self.kinds.is_empty()
    }

    /// Decides about the next operation if its kind counts.
    pub fn next_of(&self, kind: &str, bytes: usize, completes: bool) -> Fate {
        if self.is_choosy() && !self.kinds.iter().any(|name| name == kind) {
            return Fate::Pass;
        }
        self.next(bytes, completes || self.is_choosy())
    }

    /// Decides about the next operation, of `bytes`. `completes`: it can complete later.
    fn next(&self, bytes: usize, completes: bool) -> Fate {
        let n = self.count.get() + 1;
        self.count.set(n);
        let sent = self.sent.get() + bytes as u64;
        self.sent.set(sent);
        if self.bytes.is_some_and(|most| sent > most) {
            // Once: the next life of the lane is spared.
            self.sent.set(0);
            return Fate::Refuse;
        }
        if self.send.hits(n) {
            Fate::Refuse
        } else if completes && self.completion.hits(n) {
            Fate::Fail
        } else if completes && self.late.hits(n) {
            Fate::FailLate
        } else {
            Fate::Pass
        }
    }

    /// The last operation, of this kind, was not accepted: it comes again.
    pub fn undo(&self, kind: &str, bytes: usize) {
        if self.is_choosy() && !self.kinds.iter().any(|name| name == kind) {
            return;
        }
        self.count.set(self.count.get().saturating_sub(1));
        self.sent.set(self.sent.get().saturating_sub(bytes as u64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(values: &[(&str, &str)]) -> Config {
        let mut config = Config::default();
        for (name, value) in values {
            config.set(name, value);
        }
        config
    }

    #[test]
    fn only_named_lanes_have_faults() {
        assert!(Plan::read(&config(&[]), "tcp", "lo").is_none());
        for (names, hit) in [
            ("tcp", true),
            ("self,tcp/lo", true),
            ("tcp/eth0", false),
            ("all", true),
        ] {
            let plan = Plan::read(&config(&[("FAULT_LANES", names)]), "tcp", "lo");
            assert_eq!(plan.is_some(), hit, "{names}");
        }
    }

    #[test]
    fn the_nth_operation_meets_its_fate() {
        let values = [
            ("FAULT_LANES", "tcp"),
            ("FAULT_SEND", "2"),
            ("FAULT_COMPLETION", "3,5"),
            ("FAULT_LATE_COMPLETION", "4"),
        ];
        let plan = Plan::read(&config(&values), "tcp", "lo").expect("a plan");
        let fates: Vec<Fate> = (0..6).map(|_| plan.next(8, true)).collect();
        use Fate::*;
        assert_eq!(fates, [Pass, Refuse, Fail, FailLate, Fail, Pass]);
    }

    #[test]
    fn only_some_kinds_count() {
        let values = [
            ("FAULT_LANES", "tcp"),
            ("FAULT_MESSAGES", "rtr,ats"),
            ("FAULT_SEND", "2"),
            ("FAULT_LATE_COMPLETION", "3"),
        ];
        let plan = Plan::read(&config(&values), "tcp", "lo").expect("a plan");
        let mut fates = Vec::new();
        for kind in ["rts", "rtr", "rndv_data", "ats", "rts", "ats"] {
            fates.push(plan.next_of(kind, 8, false));
        }
        use Fate::*;
        assert_eq!(fates, [Pass, Pass, Pass, Refuse, Pass, FailLate]);
    }

    #[test]
    fn registrations_are_refused_by_number() {
        let refused = Registrations::read(&config(&[("FAULT_REGISTRATION", "2,3")]));
        let all: Vec<bool> = (0..4).map(|_| refused.refuses_next()).collect();
        assert_eq!(all, [false, true, true, false]);
    }

    #[test]
    fn a_lane_dies_after_so_many_bytes_once() {
        let values = [("FAULT_LANES", "tcp"), ("FAULT_BYTES", "100")];
        let plan = Plan::read(&config(&values), "tcp", "lo").expect("a plan");
        assert_eq!(plan.next(60, false), Fate::Pass);
        plan.undo("", 60);
        assert_eq!(plan.next(100, false), Fate::Pass);
        assert_eq!(plan.next(1, false), Fate::Refuse);
        assert_eq!(plan.next(99, false), Fate::Pass);
    }
}
