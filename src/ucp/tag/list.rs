//! Doubly linked lists of slab indices, kept outside the nodes' data so that a node can be in
//! several of them. Removal is O(1) and no unsafe pointer is involved. And the table of buckets that
//! both queues of tag matching find theirs by.
#![forbid(unsafe_code)]

/// No node.
pub const NIL: u32 = u32::MAX;

/// Neighbours of a node in one list.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    prev: u32,
    next: u32,
}

impl Link {
    pub const ALONE: Link = Link {
        prev: NIL,
        next: NIL,
    };

    /// Before `next`, and after none.
    pub const fn to(next: u32) -> Link {
        Link { prev: NIL, next }
    }

    pub const fn next(&self) -> u32 {
        self.next
    }
}

/// First and last node of a list.
#[derive(Clone, Copy, Debug)]
pub struct List {
    head: u32,
    tail: u32,
}

impl Default for List {
    fn default() -> Self {
        List::EMPTY
    }
}

impl List {
    pub const EMPTY: List = List {
        head: NIL,
        tail: NIL,
    };

    pub const fn head(&self) -> u32 {
        self.head
    }

    /// Appends `node`; `link` gives access to the link of any node of this list.
    pub fn push_back<S: ?Sized>(
        &mut self,
        slab: &mut S,
        link: fn(&mut S, u32) -> Option<&mut Link>,
        node: u32,
    ) {
        let tail = self.tail;
        if let Some(l) = link(slab, node) {
            *l = Link {
                prev: tail,
                next: NIL,
            };
        }
        match link(slab, tail) {
            Some(l) if tail != NIL => l.next = node,
            _ => self.head = node,
        }
        self.tail = node;
    }

    /// Takes `node`, which must be in this list, out.
    pub fn remove<S: ?Sized>(
        &mut self,
        slab: &mut S,
        link: fn(&mut S, u32) -> Option<&mut Link>,
        node: u32,
    ) {
        let Some(l) = link(slab, node) else { return };
        let Link { prev, next } = core::mem::replace(l, Link::ALONE);
        match link(slab, prev) {
            Some(l) if prev != NIL => l.next = next,
            _ => self.head = next,
        }
        match link(slab, next) {
            Some(l) if next != NIL => l.prev = prev,
            _ => self.tail = prev,
        }
    }
}

/// So many bits of a tag choose among neighbouring buckets.
const NEAR_BITS: u32 = 3;

/// Neighbouring buckets, of 8 bytes each: one cache line.
#[derive(Clone)]
#[repr(align(64))]
struct Group<T>([T; 1 << NEAR_BITS]);

/// A hash table's buckets, by tag. Tags that follow one another are near each other, since they are
/// often used one after the other: a deep queue costs a cache miss for several of them then.
pub struct Buckets<T> {
    groups: Vec<Group<T>>,
    bits: u32,
}

impl<T: Copy + Default> Buckets<T> {
    const MIN_BITS: u32 = 7;

    pub fn new() -> Buckets<T> {
        Buckets::of(Self::MIN_BITS)
    }

    fn of(bits: u32) -> Buckets<T> {
        const { assert!(size_of::<Group<T>>() == 64) };
        let group = Group([T::default(); 1 << NEAR_BITS]);
        Buckets {
            groups: vec![group; 1 << (bits - NEAR_BITS)],
            bits,
        }
    }

    /// An empty one of twice the size.
    pub fn larger(&self) -> Buckets<T> {
        Buckets::of(self.bits + 1)
    }

    /// Whether there are too many entries for its size. Half of what it has buckets: who has to look
    /// beyond the first of a bucket misses the cache once more.
    #[inline(always)]
    pub fn is_small_for(&self, entries: usize) -> bool {
        entries << 1 > 1 << self.bits
    }

    #[inline(always)]
    pub fn get(&self, tag: u64) -> Option<&T> {
        let (group, place) = bucket_of(tag, self.bits);
        self.groups.get(group)?.0.get(place)
    }

    #[inline(always)]
    pub fn get_mut(&mut self, tag: u64) -> Option<&mut T> {
        let (group, place) = bucket_of(tag, self.bits);
        self.groups.get_mut(group)?.0.get_mut(place)
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.groups.iter().flat_map(|group| &group.0)
    }
}

/// Spreads tags over `2^bits` buckets, more than [`NEAR_BITS`]: the group and the place in it. The high
/// bits of a multiplication depend on all of the factor's bits.
#[inline(always)]
const fn bucket_of(tag: u64, bits: u32) -> (usize, usize) {
    let product = (tag >> NEAR_BITS).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let group = product >> (64 - bits) >> NEAR_BITS;
    // Tags that differ by a multiple of the group's size don't all get the same place in it.
    let place = (tag ^ product >> (64 - bits)) & ((1 << NEAR_BITS) - 1);
    (group as usize, place as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Most tags of a regular set in one bucket, with as many buckets as tags.
    fn fullest(tags: impl Iterator<Item = u64>) -> usize {
        let mut count = vec![0; 1 << 12];
        for tag in tags.take(1 << 12) {
            let (group, place) = bucket_of(tag, 12);
            count[group << NEAR_BITS | place] += 1;
        }
        count.into_iter().max().unwrap_or(0)
    }

    #[test]
    fn regular_tags_are_spread() {
        for shift in 0..52 {
            let most = fullest((0..).map(|n: u64| n << shift));
            assert!(most <= 12, "{most} tags in a bucket, shift {shift}");
        }
        // As an MPI makes them: a rank and a number.
        let most = fullest((0..).map(|n: u64| (n / 16) << 20 | (n % 16)));
        assert!(most <= 12, "{most} tags in a bucket");
    }
}
