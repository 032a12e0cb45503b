//! When to acknowledge.

/// Messages that may wait for an acknowledgement.
const MESSAGES: usize = 64;
/// Bytes that may.
const BYTES: usize = 64 << 10;
/// So many rounds of progress the acknowledgement waits for a message that could carry it.
const PATIENCE: u32 = 256;

/// What is owed to the peer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acks {
    messages: usize,
    bytes: usize,
    rounds: u32,
    /// The sender waits for it.
    urgent: bool,
}

impl Acks {
    /// A message has come, or a duplicate: then the peer has missed the acknowledgement.
    #[inline]
    pub fn owe(&mut self, bytes: usize, urgent: bool) {
        self.messages += 1;
        self.bytes += bytes;
        self.urgent |= urgent;
    }

    /// An acknowledgement goes, by itself or on a message.
    #[inline]
    pub fn sent(&mut self) {
        *self = Acks::default();
    }

    pub fn owes(&self) -> bool {
        self.messages != 0
    }

    /// A round of progress is over. Whether to acknowledge now.
    pub fn due(&mut self) -> bool {
        if self.messages == 0 {
            return false;
        }
        self.rounds += 1;
        self.urgent || self.messages >= MESSAGES || self.bytes >= BYTES || self.rounds >= PATIENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_once_if_urgent_else_after_enough_or_a_while() {
        let mut acks = Acks::default();
        assert!(!acks.due());
        acks.owe(8, true);
        assert!(acks.due());
        acks.sent();
        assert!(!acks.owes());
        acks.owe(BYTES, false);
        assert!(acks.due());
        acks.sent();
        acks.owe(1, false);
        assert_eq!((1..).find(|_| acks.due()), Some(PATIENCE));
        acks.sent();
        (0..MESSAGES).for_each(|_| acks.owe(0, false));
        assert!(acks.due());
    }
}
