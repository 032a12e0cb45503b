//! Doubly linked lists of slab indices, kept outside the nodes' data so that a node can be in
//! several of them. Removal is O(1) and no unsafe pointer is involved.
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

/// Spreads tags over `2^bits` buckets: the high bits of a multiplication depend on all of the
/// tag's bits.
pub const fn bucket_of(tag: u64, bits: u32) -> usize {
    (tag.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)) as usize
}
