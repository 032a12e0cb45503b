//! Which spans are registered, by address and by how long ago they were used: pure bookkeeping.

use std::collections::{BTreeMap, BTreeSet};

use super::span::{Access, Span};

/// Disjoint spans, each with an item.
pub struct Table<T> {
    /// By their starts.
    entries: BTreeMap<usize, Entry<T>>,
    /// Stamps with starts, oldest first. A stamp here may be older than the item's own.
    ages: BTreeSet<(u64, usize)>,
    /// Sum of all sizes.
    bytes: usize,
}

struct Entry<T> {
    end: usize,
    access: Access,
    stamp: u64,
    item: T,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table {
            entries: BTreeMap::new(),
            ages: BTreeSet::new(),
            bytes: 0,
        }
    }
}

impl<T: Copy> Table<T> {
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Sum of all sizes in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The item whose span covers all of `span`, and its access.
    pub fn covering(&self, span: Span) -> Option<(T, Access)> {
        let (_, entry) = self.entries.range(..=span.start).next_back()?;
        (span.end <= entry.end).then_some((entry.item, entry.access))
    }

    /// All that have bytes in common with `span`.
    pub fn overlapping(&self, span: Span) -> Vec<(Span, Access)> {
        let whole = |(start, entry): (&usize, &Entry<T>)| {
            let found = Span {
                start: *start,
                end: entry.end,
            };
            (found, entry.access)
        };
        // Those that begin before the span's end, from there on backwards.
        let before = self.entries.range(..span.end).rev();
        let mut found: Vec<_> = before
            .map(whole)
            .take_while(|(found, _)| found.overlaps(span))
            .collect();
        found.reverse();
        found
    }

    /// Enters an item. Its span overlaps no other.
    pub fn insert(&mut self, span: Span, access: Access, stamp: u64, item: T) {
        debug_assert!(self.overlapping(span).is_empty());
        self.entries.insert(
            span.start,
            Entry {
                end: span.end,
                access,
                stamp,
                item,
            },
        );
        self.ages.insert((stamp, span.start));
        self.bytes += span.size();
    }

    /// Takes the item out whose span begins at `start`.
    pub fn remove(&mut self, start: usize) -> Option<T> {
        let entry = self.entries.remove(&start)?;
        self.ages.remove(&(entry.stamp, start));
        self.bytes -= entry.end - start;
        Some(entry.item)
    }

    /// Takes everything out.
    pub fn clear(&mut self) -> Vec<T> {
        self.ages.clear();
        self.bytes = 0;
        core::mem::take(&mut self.entries)
            .into_values()
            .map(|entry| entry.item)
            .collect()
    }

    /// Takes the one out that was used longest ago, among those that nobody uses. `state` tells an
    /// item's stamp and whether it is in use.
    pub fn evict(&mut self, state: impl Fn(T) -> (u64, bool)) -> Option<T> {
        let mut after = (0, 0);
        while let Some(oldest) = self.ages.range(after..).next().copied() {
            let (stamp, start) = oldest;
            let entry = self.entries.get_mut(&start)?;
            let (now, used) = state(entry.item);
            if now > stamp {
                // It was used since this was noted.
                entry.stamp = now;
                self.ages.remove(&oldest);
                self.ages.insert((now, start));
            } else if used {
                after = (stamp, start + 1);
            } else {
                return self.remove(start);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn span(start: usize, end: usize) -> Span {
        Span { start, end }
    }

    #[test]
    fn the_oldest_goes_first() {
        let mut table = Table::default();
        for (start, item) in [(10, 0usize), (20, 1), (30, 2), (40, 3)] {
            table.insert(span(start, start + 5), Access::READ, item as u64, item);
        }
        let mut stamps = [0, 9, 2, 3];
        let used = |item: usize| item == 0;
        let mut evicted = Vec::new();
        while let Some(item) = table.evict(|item| (stamps[item], used(item))) {
            evicted.push(item);
            stamps[3] = 10;
        }
        assert_eq!(evicted, [2, 1, 3]);
        assert_eq!((table.len(), table.bytes()), (1, 5));
    }

    proptest! {
        /// Against a table of bytes.
        #[test]
        fn spans_are_found(operations in prop::collection::vec((0usize..60, 1usize..12, 0u8..4), 1..80)) {
            let mut table = Table::default();
            let mut bytes: [Option<usize>; 80] = [None; 80];
            for (number, (start, len, what)) in operations.into_iter().enumerate() {
                let wanted = span(start, start + len);
                let inside = &mut bytes[start..start + len];
                let mut items: Vec<usize> = inside.iter().flatten().copied().collect();
                items.dedup();
                let overlapping = table.overlapping(wanted);
                prop_assert_eq!(overlapping.len(), items.len());
                let whole = inside.iter().all(|byte| *byte == inside[0]) && inside[0].is_some();
                let covering = table.covering(wanted).map(|(item, _)| item);
                prop_assert_eq!(covering, inside[0].filter(|_| whole));
                if what == 0 {
                    for (found, _) in overlapping {
                        table.remove(found.start);
                        bytes[found.start..found.end].fill(None);
                    }
                } else if items.is_empty() {
                    inside.fill(Some(number));
                    table.insert(wanted, Access::READ, number as u64, number);
                }
                prop_assert_eq!(table.bytes(), bytes.iter().flatten().count());
            }
        }
    }
}
