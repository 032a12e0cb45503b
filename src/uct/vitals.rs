//! What the kernel knows of a way to a peer, and what follows from it.

use std::time::{Duration, Instant};

#[cfg(doc)]
use super::Ep;

/// See [`Ep::vitals`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Vitals {
    /// The peer's end has answered, and is connected.
    pub up: bool,
    /// It has answered; it may have closed since.
    pub answered: bool,
    /// The peer's host has taken all that it was sent, the connection at least. Its process may be
    /// elsewhere.
    pub reached: bool,
    /// Something was sent that the peer's host has not acknowledged. What a peer can't take because
    /// it doesn't read does not count.
    pub unacked: bool,
    /// Bytes that it has acknowledged so far.
    pub acked: u64,
    /// How often in a row the oldest of the others was sent again.
    pub retransmits: u32,
}

/// For how long nothing has moved on a way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stall {
    /// Of the first look that found it so: there may have been none for long before.
    since: Option<Instant>,
    acked: u64,
}

impl Stall {
    /// Takes a look. How long the kernel has sent the same bytes again and again.
    pub fn look(&mut self, vitals: Vitals, now: Instant) -> Duration {
        let moving = vitals.up && (!vitals.unacked || vitals.retransmits < 2);
        if moving || self.acked != vitals.acked {
            self.since = None;
        }
        self.acked = vitals.acked;
        match moving {
            true => Duration::ZERO,
            false => now - *self.since.get_or_insert(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UP: Vitals = Vitals {
        up: true,
        answered: true,
        reached: false,
        unacked: true,
        acked: 5,
        retransmits: 3,
    };

    #[test]
    fn only_bytes_that_are_sent_again_and_again_are_a_stall() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let stuck = |second: Vitals| {
            let mut stall = Stall::default();
            stall.look(UP, at(0));
            stall.look(UP, at(500));
            stall.look(second, at(1000)).as_millis()
        };
        assert_eq!(stuck(UP), 1000);
        // A peer that does not read: its host acknowledges, nothing is outstanding.
        assert_eq!(
            stuck(Vitals {
                unacked: false,
                ..UP
            }),
            0
        );
        assert_eq!(stuck(Vitals { acked: 6, ..UP }), 0);
        // One lost packet.
        assert_eq!(
            stuck(Vitals {
                retransmits: 1,
                ..UP
            }),
            0
        );
    }

    #[test]
    fn a_stall_begins_when_it_is_first_seen() {
        let start = Instant::now();
        let idle = Vitals {
            unacked: false,
            ..UP
        };
        let mut stall = Stall::default();
        stall.look(idle, start);
        let after = start + Duration::from_secs(100);
        assert_eq!(stall.look(UP, after), Duration::ZERO);
        let later = after + Duration::from_secs(1);
        assert_eq!(stall.look(UP, later).as_secs(), 1);
    }

    #[test]
    fn a_lane_that_never_connects_is_stuck() {
        let start = Instant::now();
        let mut stall = Stall::default();
        stall.look(Vitals::default(), start);
        let later = start + Duration::from_secs(2);
        assert_eq!(stall.look(Vitals::default(), later).as_secs(), 2);
    }
}
