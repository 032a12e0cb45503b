//! Whether the two sides take turns.
//!
//! Where they do, an answer carries the acknowledgement, and one by itself would cost as much as the
//! answer does. Where they don't, it has to come by itself and at once: the receiver may never
//! progress again.

use core::cell::Cell;

use crate::ucp::wire::am;

/// So many turns in a row are a habit.
const HABIT: u8 = 4;

#[derive(Default)]
pub struct Turns {
    count: Cell<u8>,
    ours_is_out: Cell<bool>,
}

impl Turns {
    /// Messages of the user, as opposed to those that protocols answer by themselves.
    fn matters(id: u8) -> bool {
        (am::EAGER_ONLY..=am::SYNC_FIRST).contains(&id)
            || matches!(id, am::AM_ONLY | am::AM_FIRST | am::AM_MIDDLE | am::STREAM)
    }

    /// A message goes. True if it should be acknowledged at once.
    pub fn sent(&self, id: u8) -> bool {
        if !Self::matters(id) {
            return false;
        }
        if self.ours_is_out.replace(true) {
            self.count.set(0);
        }
        self.count.get() < HABIT
    }

    /// A message has come.
    pub fn heard(&self, id: u8) {
        if Self::matters(id) && self.ours_is_out.replace(false) {
            self.count.set(self.count.get().saturating_add(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ping_pong_is_a_habit_and_a_stream_is_none() {
        let turns = Turns::default();
        let urgent: Vec<bool> = (0..6)
            .map(|_| {
                let urgent = turns.sent(am::EAGER_ONLY);
                turns.heard(am::AM_ONLY);
                urgent
            })
            .collect();
        assert_eq!(urgent, [true, true, true, true, false, false]);
        assert!(!turns.sent(am::RTS), "answered by itself");
        assert!(!turns.sent(am::EAGER_ONLY));
        assert!(turns.sent(am::EAGER_ONLY));
    }
}
