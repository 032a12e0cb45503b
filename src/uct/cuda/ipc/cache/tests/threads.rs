//! Many threads on the same allocations.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::super::{Limits, Unused};
use super::fake::{Fake, Key, memory, place};

#[test]
fn keys_of_the_same_allocations() {
    let fake = Fake::default();
    let cache = fake.cache();
    cache.limit(Limits {
        regions: 3,
        bytes: u64::MAX,
    });
    let mapped = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..8u64)
        .map(|thread| {
            let (fake, cache, mapped) = (fake.clone(), cache.clone(), mapped.clone());
            thread::spawn(move || {
                for round in 0..2000u64 {
                    let n = (round * 7 + thread) % 5;
                    let device = ((round + thread) % 2) as i32;
                    let (place, what) = (place(7, device), memory(n << 16, 0x1000, n));
                    let _peer = (round % 50 == 0).then(|| cache.peer(place.process));
                    let mut key = Key::of(what);
                    if round % 3 != 0 {
                        let pin = key.map(&cache, place).expect("mapped");
                        assert_eq!(fake.at(pin.address()), Some((place, what)));
                        thread::yield_now();
                        // Elsewhere, if the last endpoint went in between.
                        let again = key.map(&cache, place).expect("mapped");
                        assert_eq!(fake.at(again.address()), Some((place, what)));
                        assert_eq!(fake.at(pin.address()), Some((place, what)));
                        mapped.fetch_add(1, Ordering::Relaxed);
                    }
                    key.destroy(if round % 5 == 0 {
                        Unused::Stays
                    } else {
                        Unused::Closes
                    });
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("no thread fails");
    }
    assert!(mapped.load(Ordering::Relaxed) > 8000);
    assert!(cache.len() <= 6, "limits hold in both places");
    cache.purge();
    let (opens, closes) = fake.counts();
    assert_eq!((opens, cache.len()), (closes, 0));
}
