//! The fuzz target's driver over what is committed, and a bounded number of mutations of it: the
//! same ones each time.

use std::path::Path;

use crate::quiet;
use crate::random::Random;
use crate::wire::{run, seeds};

const MUTATIONS: usize = 10000;

fn mutate(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len());
        match random.below(7) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.next() as u8,
            2 => bytes.truncate(at.max(1)),
            3 => bytes.insert(at, random.next() as u8),
            4 => {
                bytes.remove(at);
            }
            5 => {
                let end = (at + 8).min(bytes.len());
                let extreme = [0, 1, u64::MAX, 1 << 63, 1 << 32, i64::MAX as u64][random.below(6)];
                bytes[at..end].copy_from_slice(&extreme.to_ne_bytes()[..end - at]);
            }
            _ => {
                // The actions of another behind these.
                bytes.extend_from_slice(&other[1..]);
            }
        }
        if bytes.is_empty() {
            bytes.push(0);
        }
    }
}

#[test]
fn seeds_and_corpus() {
    quiet();
    for seed in seeds() {
        run(&seed);
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/wire");
    for entry in std::fs::read_dir(folder).expect("the corpus") {
        run(&std::fs::read(entry.expect("an entry").path()).expect("readable"));
    }
}

#[test]
fn mutations_of_the_seeds() {
    quiet();
    let seeds = seeds();
    let mut random = Random::new(0x1234_5678_9abc_def1);
    for _ in 0..MUTATIONS {
        let mut bytes = seeds[random.below(seeds.len())].clone();
        let other = &seeds[random.below(seeds.len())];
        mutate(&mut bytes, other, &mut random);
        run(&bytes);
    }
}

/// Writes the seeds where the fuzzer finds them: `cargo test --test wire write_seeds -- --ignored`,
/// after a change to them.
#[test]
#[ignore = "writes to the sources"]
fn write_seeds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/wire");
    std::fs::create_dir_all(&folder).expect("a folder");
    for (i, seed) in seeds().iter().enumerate() {
        std::fs::write(folder.join(format!("seed-{i:02}")), seed).expect("written");
    }
}
