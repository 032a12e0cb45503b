//! The connections of an interface by peer and sequence number. A connection knows its own key, so
//! that none is stored beside it.

use std::hash::BuildHasher;
use std::rc::Rc;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::conn::Conn;
use super::wire::IfaceId;

/// See the module.
#[derive(Default)]
pub struct Table {
    all: HashTable<Rc<Conn>>,
    hasher: DefaultHashBuilder,
}

impl Table {
    fn hash(&self, peer: IfaceId, sequence: u64) -> u64 {
        self.hasher.hash_one((peer, sequence))
    }

    pub fn get(&self, peer: IfaceId, sequence: u64) -> Option<&Rc<Conn>> {
        let hash = self.hash(peer, sequence);
        self.all.find(hash, |conn| is(conn, peer, sequence))
    }

    /// Returns the one whose place it takes.
    pub fn insert(&mut self, conn: Rc<Conn>) -> Option<Rc<Conn>> {
        let before = self.remove(conn.peer, conn.sequence);
        let hash = self.hash(conn.peer, conn.sequence);
        let hasher = &self.hasher;
        let rehash = |conn: &Rc<Conn>| hasher.hash_one((conn.peer, conn.sequence));
        self.all.insert_unique(hash, conn, rehash);
        before
    }

    pub fn remove(&mut self, peer: IfaceId, sequence: u64) -> Option<Rc<Conn>> {
        let hash = self.hash(peer, sequence);
        let entry = self.all.find_entry(hash, |conn| is(conn, peer, sequence));
        Some(entry.ok()?.remove().0)
    }

    pub fn clear(&mut self) {
        self.all.clear();
    }

    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    #[cfg(test)]
    pub fn values(&self) -> impl Iterator<Item = &Rc<Conn>> {
        self.all.iter()
    }
}

fn is(conn: &Conn, peer: IfaceId, sequence: u64) -> bool {
    (conn.peer, conn.sequence) == (peer, sequence)
}
