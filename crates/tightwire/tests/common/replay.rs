//! Replays the corpus of a fuzz target, and mutates it.

// Not `super`: another crate includes this file alone.
#[path = "seed.rs"]
mod seed;
#[path = "volume.rs"]
mod volume;

use std::path::Path;
use std::{fs, thread};

use seed::seed;
use volume::volume;

/// Checks the corpus, and `executions` mutated inputs; a fifth of them with quick volumes.
pub(crate) fn fuzz(target: &str, check: fn(&[u8]), executions: usize) {
    let (first, executions) = (seed(executions as u64), volume(executions / 5, executions));
    let corpus = corpus(target);
    assert!(!corpus.is_empty(), "{target}: no corpus");
    for entry in &corpus {
        let _shown = ShownOnPanic { target, input: entry };
        check(entry);
    }
    let mut random = Random(first);
    let mut input = Vec::new();
    for _ in 0..executions {
        input.clone_from(random.choose(&corpus));
        for _ in 0..=random.below(4) {
            mutate(&mut input, &corpus, &mut random);
        }
        let _shown = ShownOnPanic { target, input: &input };
        check(&input);
    }
}

/// Reads the corpus in the order of file names, so that mutations are the same on every machine.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

/// Maximum length of a corpus entry, in bytes.
const MAX_LENGTH: usize = 512;

fn mutate(input: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    let place = random.below(input.len() + 1);
    match random.below(6) {
        0 if input.len() < MAX_LENGTH => input.insert(place, random.next() as u8),
        1 if place < input.len() => drop(input.remove(place)),
        2 => input.truncate(place),
        // The rest of another entry.
        3 => {
            let other = random.choose(corpus);
            input.truncate(place);
            input.extend_from_slice(&other[place.min(other.len())..]);
        }
        4 if place < input.len() => input[place] = random.next() as u8,
        _ if place < input.len() => input[place] ^= 1 << random.below(8),
        _ => {}
    }
}

/// Prints the input of a failed check: save it as a file, and give that to `cargo fuzz run`.
struct ShownOnPanic<'a> {
    target: &'a str,
    input: &'a [u8],
}

impl Drop for ShownOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{} fails with {:02x?}", self.target, self.input);
        }
    }
}

/// A SplitMix64 generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn choose<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}
