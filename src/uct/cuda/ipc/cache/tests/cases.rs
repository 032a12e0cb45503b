//! One case each.

use std::sync::atomic::Ordering;

use super::super::{Limits, Unused};
use super::fake::{Fake, Key, memory, place};
use crate::ucs::status::Error;

const A: super::super::Allocation = memory(0x1000, 0x1000, 1);
const B: super::super::Allocation = memory(0x4000, 0x1000, 2);
const HERE: super::super::Place = place(7, 0);

#[test]
fn a_user_key_takes_its_mapping_with_it() {
    let fake = Fake::default();
    let cache = fake.cache();
    let mut key = Key::of(A);
    for _ in 0..3 {
        assert!(key.map(&cache, HERE).is_ok());
    }
    assert_eq!(fake.counts(), (1, 0));
    key.destroy(Unused::Closes);
    assert_eq!(fake.counts(), (1, 1));
}

#[test]
fn other_keys_leave_it_for_later() {
    let fake = Fake::default();
    let cache = fake.cache();
    for _ in 0..3 {
        let mut key = Key::of(A);
        assert!(key.map(&cache, HERE).is_ok());
        key.destroy(Unused::Stays);
    }
    assert_eq!(fake.counts(), (1, 0));
    cache.purge();
    assert_eq!(fake.counts(), (1, 1));
}

#[test]
fn a_key_that_never_mapped_has_nothing_to_close() {
    let fake = Fake::default();
    let cache = fake.cache();
    let mut other = Key::of(A);
    let mut third = Key::of(B);
    assert!(other.map(&cache, HERE).is_ok() && third.map(&cache, HERE).is_ok());
    Key::of(A).destroy(Unused::Closes);
    Key::of(memory(0x9000, 1, 3)).destroy(Unused::Closes);
    assert_eq!(fake.counts(), (2, 0));
    other.destroy(Unused::Closes);
    third.destroy(Unused::Closes);
    assert!(cache.is_empty());
}

#[test]
fn two_keys_in_either_order() {
    for first in [0, 1] {
        let fake = Fake::default();
        let cache = fake.cache();
        let mut keys = vec![Key::of(A), Key::of(A)];
        for key in &mut keys {
            assert!(key.map(&cache, HERE).is_ok());
        }
        keys.remove(first).destroy(Unused::Closes);
        assert_eq!(fake.counts(), (1, 0));
        assert!(keys[0].map(&cache, HERE).is_ok());
        keys.remove(0).destroy(Unused::Closes);
        assert_eq!(fake.counts(), (1, 1));
    }
}

#[test]
fn the_last_of_mixed_keys_closes() {
    for flags in [
        [Unused::Closes, Unused::Stays],
        [Unused::Stays, Unused::Closes],
    ] {
        let fake = Fake::default();
        let cache = fake.cache();
        let mut keys = [Key::of(A), Key::of(A)];
        for key in &mut keys {
            assert!(key.map(&cache, HERE).is_ok());
        }
        for (key, unused) in keys.into_iter().zip(flags) {
            key.destroy(unused);
        }
        assert_eq!(fake.counts(), (1, 1));
    }
}

#[test]
fn released_while_a_copy_is_in_flight() {
    let fake = Fake::default();
    let cache = fake.cache();
    let mut key = Key::of(A);
    let copy = key.map(&cache, HERE).expect("mapped");
    key.destroy(Unused::Closes);
    assert_eq!(fake.at(copy.address()), Some((HERE, A)));
    drop(copy);
    assert_eq!(fake.counts(), (1, 1));
}

#[test]
fn several_devices_have_mappings_of_their_own() {
    let fake = Fake::default();
    let cache = fake.cache();
    let mut key = Key::of(A);
    for device in [0, 1, 0, 1] {
        assert!(key.map(&cache, place(7, device)).is_ok());
    }
    assert_eq!((fake.counts(), key.interests.len()), ((2, 0), 2));
    key.destroy(Unused::Closes);
    assert_eq!(fake.counts(), (2, 2));
}

#[test]
fn processes_of_one_number_are_told_apart() {
    let fake = Fake::default();
    let cache = fake.cache();
    let mut other = HERE;
    other.process.pid_ns = 9;
    let (mut here, mut there) = (Key::of(A), Key::of(A));
    let pins = (here.map(&cache, HERE), there.map(&cache, other));
    assert_ne!(
        pins.0.map(|p| p.address()).ok(),
        pins.1.map(|p| p.address()).ok()
    );
    there.destroy(Unused::Closes);
    assert!(fake.is_open(HERE, A) && !fake.is_open(other, A));
    here.destroy(Unused::Closes);
}

#[test]
fn freed_and_allocated_again_at_the_same_address() {
    for strict in [false, true] {
        let fake = Fake::default();
        fake.strict.store(strict, Ordering::SeqCst);
        let cache = fake.cache();
        let mut old = Key::of(A);
        assert!(old.map(&cache, HERE).is_ok());
        // The old key is alive still, but its memory is not.
        for (round, new) in [memory(0x1000, 0x1000, 5), memory(0x800, 0x900, 6)]
            .into_iter()
            .enumerate()
        {
            let mut key = Key::of(new);
            let pin = key.map(&cache, HERE).expect("mapped");
            assert_eq!(fake.at(pin.address()), Some((HERE, new)));
            assert_eq!(fake.counts(), (round + 2, round + 1));
            drop(pin);
            key.destroy(Unused::Closes);
        }
        old.destroy(Unused::Closes);
        assert_eq!(fake.counts(), (3, 3));
    }
}

#[test]
fn what_is_in_use_is_not_closed_for_a_newer_one() {
    let fake = Fake::default();
    fake.strict.store(true, Ordering::SeqCst);
    let cache = fake.cache();
    let (mut old, mut new) = (Key::of(A), Key::of(memory(0x1000, 0x1000, 5)));
    let copy = old.map(&cache, HERE).expect("mapped");
    assert_eq!(new.map(&cache, HERE).err(), Some(Error::Busy));
    assert_eq!(fake.at(copy.address()), Some((HERE, A)));
    drop(copy);
    assert_eq!(fake.counts(), (1, 1));
    assert!(new.map(&cache, HERE).is_ok());
    old.destroy(Unused::Closes);
    assert_eq!(fake.counts(), (2, 1));
    new.destroy(Unused::Closes);
    assert_eq!(fake.counts(), (2, 2));
}

#[test]
fn a_cache_that_is_off() {
    let fake = Fake::default();
    let cache = fake.cache();
    let map = || cache.map(HERE, &A, &(), None, Unused::Closes);
    let both = (map(), map());
    assert!(both.0.is_ok() && both.1.is_ok());
    drop(both.0);
    assert_eq!(fake.counts(), (1, 0));
    drop(both.1);
    assert_eq!(fake.counts(), (1, 1));
}

#[test]
fn what_was_used_longest_ago_makes_room() {
    let fake = Fake::default();
    let cache = fake.cache();
    cache.limit(Limits {
        regions: 2,
        bytes: 0x2000,
    });
    let mut keys: Vec<Key> = (0..4).map(|n| Key::of(memory(n << 16, 0x800, n))).collect();
    assert!(keys[0].map(&cache, HERE).is_ok());
    assert!(keys[1].map(&cache, HERE).is_ok());
    assert!(keys[0].map(&cache, HERE).is_ok());
    assert!(keys[2].map(&cache, HERE).is_ok());
    let is_open = |n: u64| fake.is_open(HERE, memory(n << 16, 0x800, n));
    assert_eq!([0, 1, 2].map(is_open), [true, false, true]);
    // Another place has room of its own.
    assert!(keys[3].map(&cache, place(8, 0)).is_ok());
    assert_eq!(cache.len(), 3);
    // Too long for the limit: only while in use.
    let mut long = Key::of(memory(1 << 40, 0x3000, 9));
    let pin = long.map(&cache, HERE).expect("mapped");
    assert_eq!(cache.len(), 2);
    drop(pin);
    assert_eq!(cache.len(), 1);
    for key in keys {
        key.destroy(Unused::Closes);
    }
    long.destroy(Unused::Closes);
    assert!(cache.is_empty());
}

#[test]
fn the_last_endpoint_clears_its_process() {
    let fake = Fake::default();
    let cache = fake.cache();
    let peers = [cache.peer(HERE.process), cache.peer(HERE.process)];
    let (mut key, mut other) = (Key::of(A), Key::of(B));
    assert!(key.map(&cache, HERE).is_ok() && other.map(&cache, place(8, 0)).is_ok());
    let [one, two] = peers;
    drop(one);
    assert!(fake.is_open(HERE, A));
    let pin = key.map(&cache, HERE).expect("mapped");
    drop(two);
    assert!(fake.is_open(HERE, A), "a copy is in flight");
    drop(pin);
    assert!(!fake.is_open(HERE, A));
    // Keys may outlive their endpoints, and be used without one.
    key.destroy(Unused::Closes);
    other.destroy(Unused::Closes);
    assert_eq!(fake.counts(), (2, 2));
}

#[test]
fn a_dead_owner() {
    let fake = Fake::default();
    let cache = fake.cache();
    let (mut key, mut late) = (Key::of(A), Key::of(B));
    assert!(key.map(&cache, HERE).is_ok());
    fake.dead.store(true, Ordering::SeqCst);
    assert!(key.map(&cache, HERE).is_ok(), "what is open stays readable");
    assert_eq!(late.map(&cache, HERE).err(), Some(Error::InvalidParam));
    late.destroy(Unused::Closes);
    key.destroy(Unused::Closes);
    assert_eq!(fake.counts(), (1, 1));
}

#[test]
fn nothing_outlives_the_cache_and_its_holders() {
    let fake = Fake::default();
    let mut key = Key::of(A);
    let pin = {
        let cache = fake.cache();
        key.map(&cache, HERE).expect("mapped")
    };
    key.destroy(Unused::Stays);
    assert_eq!(fake.counts(), (1, 0));
    drop(pin);
    assert_eq!(fake.counts(), (1, 1));
}
