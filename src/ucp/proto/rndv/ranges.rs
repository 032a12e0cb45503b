//! Byte ranges that have come, so that none counts twice.
#![forbid(unsafe_code)]

use smallvec::SmallVec;

/// Disjoint ranges, ascending; neighbours are joined.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Ranges {
    all: SmallVec<[(usize, usize); 1]>,
    len: usize,
}

impl Ranges {
    /// The first `len` bytes.
    pub fn first(len: usize) -> Ranges {
        let mut ranges = Ranges::default();
        ranges.add(0, len);
        ranges
    }

    /// Bytes in all ranges.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes before the first gap.
    pub fn prefix(&self) -> usize {
        match self.all.first() {
            Some((0, end)) => *end,
            _ => 0,
        }
    }

    /// As [`Ranges::add`], if these bytes are inside of `total` and none of them is there yet.
    pub fn add_new(&mut self, start: usize, len: usize, total: usize) -> bool {
        let Some(end) = start.checked_add(len).filter(|end| *end <= total) else {
            return false;
        };
        let overlaps = |(s, e): &(usize, usize)| *s < end && start < *e;
        if self.all.iter().any(overlaps) {
            return false;
        }
        self.add(start, len);
        true
    }

    /// Adds `len` bytes from `start` on.
    pub fn add(&mut self, start: usize, len: usize) {
        let end = start.saturating_add(len);
        if start == end {
            return;
        }
        // In order, the common case.
        if let [(_, last)] = self.all.as_mut_slice()
            && *last == start
        {
            *last = end;
            self.len += len;
            return;
        }
        let first = self.all.partition_point(|(_, e)| *e < start);
        let behind = self.all.partition_point(|(s, _)| *s <= end);
        let mut joined = (start, end);
        for (s, e) in self.all.drain(first..behind.max(first)) {
            joined = (joined.0.min(s), joined.1.max(e));
        }
        self.all.insert(first, joined);
        self.len = self.all.iter().map(|(s, e)| e - s).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counts_like_a_set(adds in prop::collection::vec((0usize..60, 0usize..20), 0..30)) {
            let mut ranges = Ranges::default();
            let mut set = std::collections::BTreeSet::new();
            for (start, len) in adds {
                ranges.add(start, len);
                set.extend(start..start + len);
                prop_assert_eq!(ranges.len(), set.len());
                let prefix = (0..).take_while(|i| set.contains(i)).count();
                prop_assert_eq!(ranges.prefix(), prefix);
            }
        }
    }
}
