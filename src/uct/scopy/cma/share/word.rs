//! How far a shared copy has come, in one word.

/// What may be done with a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// There is none, or it is being written.
    Idle,
    /// Both may claim chunks.
    Open,
    /// The helper can't: the rest is the owner's.
    Failed,
}

/// Most chunks of a job.
pub const MAX_CHUNKS: u64 = 0xfff0;

const PHASE_BITS: u32 = 2;
const ROUND_BITS: u32 = 14;
const FRONT: u32 = 16;
const BACK: u32 = 32;
const DONE: u32 = 48;

/// Phase, a number that tells a job from earlier ones in its slot, the chunks claimed by its owner
/// (from the front), those claimed by the helper (from the back), and those that this one is done
/// with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word(pub u64);

impl Word {
    pub fn phase(self) -> Phase {
        match self.0 & ((1 << PHASE_BITS) - 1) {
            1 => Phase::Open,
            2 => Phase::Failed,
            _ => Phase::Idle,
        }
    }

    fn with_phase(self, phase: Phase) -> Word {
        let bits = match phase {
            Phase::Idle => 0,
            Phase::Open => 1,
            Phase::Failed => 2,
        };
        Word(self.0 >> PHASE_BITS << PHASE_BITS | bits)
    }

    fn count(self, shift: u32) -> u64 {
        self.0 >> shift & 0xffff
    }

    fn with_count(self, shift: u32, count: u64) -> Word {
        Word(self.0 & !(0xffff << shift) | (count & 0xffff) << shift)
    }

    /// Chunks that the helper has claimed.
    pub fn back(self) -> u64 {
        self.count(BACK)
    }

    /// A new job in the slot, of which the first chunk is the owner's.
    pub fn opened(self) -> Word {
        let round = ((self.0 >> PHASE_BITS) + 1) & ((1 << ROUND_BITS) - 1);
        Word(round << PHASE_BITS)
            .with_count(FRONT, 1)
            .with_phase(Phase::Open)
    }

    /// The owner takes the next chunk of `chunks`: its index and the new word.
    pub fn claim_front(self, chunks: u64) -> Option<(u64, Word)> {
        let front = self.count(FRONT);
        let left = front + self.back() < chunks;
        left.then(|| (front, self.with_count(FRONT, front + 1)))
    }

    /// The helper takes one. Not while it has another one: `None` then too.
    pub fn claim_back(self, chunks: u64) -> Option<(u64, Word)> {
        let back = self.back();
        let left = self.phase() == Phase::Open
            && self.is_settled()
            && chunks <= MAX_CHUNKS
            && self.count(FRONT) + back < chunks;
        left.then(|| (chunks - 1 - back, self.with_count(BACK, back + 1)))
    }

    /// The helper has copied the chunk it had claimed.
    pub fn finished(self) -> Word {
        self.with_count(DONE, self.count(DONE) + 1)
    }

    /// It could not.
    pub fn failed(self) -> Word {
        self.with_count(BACK, self.count(DONE))
            .with_phase(Phase::Failed)
    }

    /// The helper is at no chunk.
    pub fn is_settled(self) -> bool {
        self.back() == self.count(DONE)
    }

    /// No job any more.
    pub fn closed(self) -> Word {
        self.with_phase(Phase::Idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Every chunk is copied exactly once, whoever is faster, whenever the helper fails.
        #[test]
        fn each_chunk_once(
            chunks in 1..200u64, steps in prop::collection::vec(any::<(bool, u8)>(), 0..600)
        ) {
            let mut word = Word(0).opened();
            let mut copied = vec![0u32; chunks as usize];
            copied[0] += 1;
            let mut helping = None;
            for (helper, luck) in steps {
                match (helper, helping) {
                    (false, _) => {
                        if let Some((chunk, next)) = word.claim_front(chunks) {
                            copied[chunk as usize] += 1;
                            word = next;
                        }
                    }
                    (true, None) => {
                        if let Some((chunk, next)) = word.claim_back(chunks) {
                            helping = Some(chunk);
                            word = next;
                        }
                    }
                    (true, Some(_)) if luck < 20 => {
                        word = word.failed();
                        helping = None;
                    }
                    (true, Some(chunk)) => {
                        copied[chunk as usize] += 1;
                        word = word.finished();
                        helping = None;
                    }
                }
                prop_assert_eq!(word.is_settled(), helping.is_none());
            }
            if let Some(chunk) = helping {
                copied[chunk as usize] += 1;
                word = word.finished();
            }
            while let Some((chunk, next)) = word.claim_front(chunks) {
                copied[chunk as usize] += 1;
                word = next;
            }
            prop_assert!(word.is_settled() && word.claim_back(chunks).is_none());
            prop_assert!(copied.iter().all(|n| *n == 1));
            prop_assert_ne!(word.closed().opened(), Word(0).opened());
        }
    }
}
