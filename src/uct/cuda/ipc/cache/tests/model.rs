//! Random sequences against what must hold whatever happens.

use std::sync::atomic::Ordering;

use proptest::prelude::*;

use super::super::{Allocation, Limits, Peer, Place, Unused};
use super::fake::{Fake, FakeCache, FakePin, Key, memory, place};
use crate::ucs::status::Error;

const SLOTS: usize = 4;

#[derive(Clone, Debug)]
enum Act {
    /// The owner frees what is in a slot and allocates again: same address, other length.
    Renew(usize, u64),
    Unpack(usize),
    /// With a device, and whether the pin is kept.
    Map(usize, i32, bool),
    Unpin(usize),
    Destroy(usize, bool),
    Connect,
    Disconnect,
    Limit(usize),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        1 => (0..SLOTS, 1..3u64).prop_map(|(slot, pages)| Act::Renew(slot, pages)),
        4 => (0..SLOTS).prop_map(Act::Unpack),
        8 => (any::<usize>(), 0..2i32, any::<bool>()).prop_map(|(k, d, keep)| Act::Map(k, d, keep)),
        4 => any::<usize>().prop_map(Act::Unpin),
        4 => (any::<usize>(), prop::bool::weighted(0.8)).prop_map(|(k, f)| Act::Destroy(k, f)),
        1 => Just(Act::Connect),
        1 => Just(Act::Disconnect),
        1 => (1..6usize).prop_map(Act::Limit),
    ];
    prop::collection::vec(act, 1..200)
}

struct World {
    fake: Fake,
    cache: FakeCache,
    slots: [Allocation; SLOTS],
    next_id: u64,
    keys: Vec<Key>,
    pins: Vec<(FakePin, Place, Allocation)>,
    peers: Vec<Peer<Fake>>,
    /// What keys with the flag have mapped and let go.
    let_go: Vec<(Place, Allocation)>,
}

impl World {
    fn new(strict: bool) -> World {
        let fake = Fake::default();
        fake.strict.store(strict, Ordering::SeqCst);
        World {
            cache: fake.cache(),
            fake,
            slots: core::array::from_fn(|n| memory((n as u64 + 1) << 16, 0x1000, n as u64)),
            next_id: 100,
            keys: Vec::new(),
            pins: Vec::new(),
            peers: Vec::new(),
            let_go: Vec::new(),
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Renew(slot, pages) => {
                self.next_id += 1;
                self.slots[slot] = memory(self.slots[slot].base, pages << 16, self.next_id);
            }
            Act::Unpack(slot) => self.keys.push(Key::of(self.slots[slot])),
            Act::Map(key, device, keep) if !self.keys.is_empty() => {
                let index = key % self.keys.len();
                self.map(index, place(7, device), keep);
            }
            Act::Unpin(pin) if !self.pins.is_empty() => {
                let index = pin % self.pins.len();
                self.pins.swap_remove(index);
            }
            Act::Destroy(key, flag) if !self.keys.is_empty() => {
                let key = self.keys.swap_remove(key % self.keys.len());
                let what = key.what.expect("a key of something");
                if flag {
                    let places = key.interests.iter().map(|i| (i.place(), what));
                    self.let_go.extend(places);
                }
                key.destroy(if flag { Unused::Closes } else { Unused::Stays });
            }
            Act::Connect => self.peers.push(self.cache.peer(place(7, 0).process)),
            Act::Disconnect => drop(self.peers.pop()),
            Act::Limit(regions) => self.cache.limit(Limits {
                regions,
                bytes: u64::MAX,
            }),
            _ => {}
        }
    }

    fn map(&mut self, index: usize, place: Place, keep: bool) {
        let what = self.keys[index].what.expect("a key of something");
        match self.keys[index].map(&self.cache, place) {
            Ok(pin) => {
                // It is open, and it is what the key is for.
                assert_eq!(self.fake.at(pin.address()), Some((place, what)));
                self.let_go.retain(|gone| *gone != (place, what));
                if keep {
                    self.pins.push((pin, place, what));
                }
            }
            Err(error) => {
                assert_eq!(error, Error::Busy);
                let in_use =
                    |(_, p, w): &(FakePin, Place, Allocation)| *p == place && w.overlaps(&what);
                assert!(self.pins.iter().any(in_use), "nothing in use is in the way");
            }
        }
    }

    fn check(&self) {
        for (pin, place, what) in &self.pins {
            assert_eq!(
                self.fake.at(pin.address()),
                Some((*place, *what)),
                "closed under a user"
            );
        }
        for (place, what) in &self.let_go {
            let held = self.pins.iter().any(|(_, p, w)| (p, w) == (place, what))
                || self.keys.iter().any(|key| {
                    key.what == Some(*what) && key.interests.iter().any(|i| i.place() == *place)
                });
            assert!(
                held || !self.fake.is_open(*place, *what),
                "open, and nobody holds it"
            );
        }
        let (opens, closes) = self.fake.counts();
        assert_eq!(opens - closes, self.cache.len());
    }

    fn end(self) {
        let fake = self.fake.clone();
        for key in self.keys {
            key.destroy(Unused::Stays);
        }
        drop((self.pins, self.peers, self.cache));
        let (opens, closes) = fake.counts();
        assert_eq!(opens, closes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn nothing_is_lost_or_closed_too_early(acts in acts(), strict: bool) {
        let mut world = World::new(strict);
        for act in acts {
            world.act(act);
            world.check();
        }
        world.end();
    }
}
