//! The fuzz targets on a stable toolchain: every entry of their corpus as it is, and then again
//! and again with a few mutations, the same ones in every run.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::{fs, thread};

#[path = "../../../fuzz/src/checks/mod.rs"]
mod checks;

#[test]
fn bits_of_the_corpus_and_its_neighbours() {
    fuzz("bits", checks::bits, 740_000);
}

#[cfg(feature = "capture")]
#[test]
fn captures_of_the_corpus_and_their_neighbours() {
    fuzz("capture", checks::capture, 50_000);
}

#[test]
fn bytes_of_the_corpus_and_their_neighbours() {
    let executions = if cfg!(debug_assertions) { 300_000 } else { 1_000_000 };
    fuzz("bytes", checks::bytes, executions);
}

#[test]
fn derived_reads_of_the_corpus_and_its_neighbours() {
    let executions = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };
    fuzz("derived_read", checks::derived_read, executions);
}

#[test]
fn hostile_reads_of_the_corpus_and_its_neighbours() {
    fuzz("hostile_read", checks::hostile_read, 250_000);
}

#[test]
fn messages_of_the_corpus_and_their_neighbours() {
    fuzz("messages", checks::messages, 50_000);
}

#[test]
fn round_trips_of_the_corpus_and_its_neighbours() {
    fuzz("round_trip", checks::round_trip, 15_000);
}

#[test]
fn schemas_of_the_corpus_and_their_neighbours() {
    fuzz("schema_bytes", checks::schema_bytes, 50_000);
}

#[test]
fn packets_with_schemas_of_the_corpus_and_their_neighbours() {
    fuzz("schema_packet", checks::schema_packet, 50_000);
}

#[test]
fn datagrams_of_the_corpus_and_their_neighbours() {
    fuzz("packet_none", checks::packet_none, 20_000);
    fuzz("packet_id", checks::packet_id, 20_000);
    fuzz("packet_crc32", checks::packet_crc32, 20_000);
    fuzz("packet_sealed", checks::packet_sealed, 20_000);
}

#[test]
fn identities_of_the_corpus_and_their_neighbours() {
    // Few: a schema may have many values that no bit pays for, and the trace of them is slow.
    fuzz("identity", checks::identity, 2_000);
}

#[test]
fn worlds_of_the_corpus_and_their_neighbours() {
    fuzz("world", checks::world, 30_000);
}

/// The corpus, and as many inputs that are made of it; a fifth of them where every step is slow.
fn fuzz(target: &str, check: fn(&[u8]), executions: usize) {
    let executions = if cfg!(debug_assertions) { executions / 5 } else { executions };
    let corpus = corpus(target);
    assert!(!corpus.is_empty(), "{target}: no corpus");
    for entry in &corpus {
        let _shown = ShownOnPanic { target, input: entry };
        check(entry);
    }
    let mut random = Random(executions as u64);
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

/// In the order of their names, or the mutations would not be the same on every machine.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

/// As long as the entries of the corpus may be.
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

/// Prints the input that a check fails with: save it as a file, and give that to `cargo fuzz run`.
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

/// SplitMix64.
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
