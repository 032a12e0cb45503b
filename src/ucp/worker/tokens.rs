//! The endpoints of a worker by their tokens, which grow and are never used again.
//!
//! Endpoints lie in chunks, one for each stretch of tokens that has any left: little more than a pointer
//! for each where there are thousands, and what is made and closed for ever leaves nothing.

use core::ops::{Bound, RangeBounds};
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::ucp::ep::Endpoint;

const CHUNK: usize = 32;

/// See the module.
pub struct Tokens<T = Rc<Endpoint>> {
    chunks: BTreeMap<u64, Chunk<T>>,
    len: usize,
}

/// Those whose tokens have the same upper part.
struct Chunk<T> {
    live: u16,
    all: Box<[Option<T>; CHUNK]>,
}

impl<T> Default for Chunk<T> {
    fn default() -> Self {
        Chunk {
            live: 0,
            all: Box::new([const { None }; CHUNK]),
        }
    }
}

impl<T> Default for Tokens<T> {
    fn default() -> Self {
        Tokens {
            chunks: BTreeMap::new(),
            len: 0,
        }
    }
}

const fn split(token: u64) -> (u64, usize) {
    (token / CHUNK as u64, token as usize % CHUNK)
}

impl<T> Tokens<T> {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn get(&self, token: u64) -> Option<&T> {
        let (chunk, place) = split(token);
        self.chunks.get(&chunk)?.all.get(place)?.as_ref()
    }

    pub fn insert(&mut self, token: u64, value: T) {
        let (chunk, place) = split(token);
        let chunk = self.chunks.entry(chunk).or_default();
        if let Some(place) = chunk.all.get_mut(place)
            && place.replace(value).is_none()
        {
            chunk.live += 1;
            self.len += 1;
        }
    }

    pub fn remove(&mut self, token: u64) -> Option<T> {
        let (key, place) = split(token);
        let chunk = self.chunks.get_mut(&key)?;
        let value = chunk.all.get_mut(place)?.take()?;
        chunk.live -= 1;
        self.len -= 1;
        if chunk.live == 0 {
            self.chunks.remove(&key);
        }
        Some(value)
    }

    /// Those with tokens in a range, in their order.
    pub fn range(&self, tokens: impl RangeBounds<u64>) -> impl Iterator<Item = (u64, &T)> {
        let chunk = |token: &u64| split(*token).0;
        let from = match tokens.start_bound() {
            Bound::Included(token) | Bound::Excluded(token) => Bound::Included(chunk(token)),
            Bound::Unbounded => Bound::Unbounded,
        };
        let to = match tokens.end_bound() {
            Bound::Included(token) | Bound::Excluded(token) => Bound::Included(chunk(token)),
            Bound::Unbounded => Bound::Unbounded,
        };
        let live = |(key, chunk): (&u64, _)| in_chunk(*key, chunk);
        let all = self.chunks.range((from, to)).flat_map(live);
        all.filter(move |(token, _)| tokens.contains(token))
    }

    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.range(..).map(|(_, value)| value)
    }
}

fn in_chunk<T>(key: u64, chunk: &Chunk<T>) -> impl Iterator<Item = (u64, &T)> {
    let live = chunk.all.iter().enumerate();
    live.filter_map(move |(place, value)| {
        Some((key * CHUNK as u64 + place as u64, value.as_ref()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_a_map_in_order() {
        let (mut ours, mut model) = (Tokens::default(), BTreeMap::new());
        for token in 1..200_u64 {
            ours.insert(token, token * 3);
            model.insert(token, token * 3);
        }
        for token in (1..200).filter(|token| token % 7 != 0 || *token > 150) {
            assert_eq!(ours.remove(token), model.remove(&token));
            assert_eq!(ours.remove(token), None);
        }
        let same = |ours: Vec<(u64, &u64)>, model: Vec<(&u64, &u64)>| {
            let model: Vec<_> = model.into_iter().map(|(token, v)| (*token, v)).collect();
            assert_eq!(ours, model);
        };
        same(ours.range(..).collect(), model.range(..).collect());
        for at in 0..210 {
            assert_eq!(ours.get(at), model.get(&at));
            same(ours.range(at..).collect(), model.range(at..).collect());
            same(ours.range(..at).collect(), model.range(..at).collect());
            same(ours.range(..=at).collect(), model.range(..=at).collect());
            let near = at..=at + 20;
            same(
                ours.range(near.clone()).collect(),
                model.range(near).collect(),
            );
        }
        assert_eq!(ours.len(), model.len());
        assert_eq!(ours.chunks.len(), 5, "empty chunks are gone");
        assert!(ours.values().eq(model.values()));
    }
}
