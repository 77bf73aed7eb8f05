//! Hostile captures: no panic, no endless loop, and memory bounded by the bytes of the input.
#![cfg(feature = "inspect")]

use tightwire::inspect::Capture;

use crate::checks::capture as checks;
use crate::common::datagrams::{record, small, tanks};
use crate::common::rng::Rng;
use crate::common::volume::volume;

/// Number of inputs: all, or a twentieth.
fn executions(full: usize) -> usize {
    volume(full / 20, full)
}

/// Limit of a reader's memory for a capture of a few hundred bytes.
const MEMORY: u64 = 64 << 10;

/// Returns captures of a recorder, and those of the fuzz corpus, as of other programs.
fn samples() -> Vec<Vec<u8>> {
    let mut samples = vec![record(&tanks("1.3"), &small()), record(&tanks(""), &small()[1..])];
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/capture");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    samples.extend(files.iter().map(|file| std::fs::read(file).unwrap()));
    samples.retain(|file| read(file).is_some_and(|records| records > 0));
    // The corpus was recorded once: a new form of identities needs new files.
    let has_identity = |file: &&Vec<u8>| Capture::new(&file[..]).unwrap().identity().is_some();
    let identities = samples.iter().filter(has_identity).count();
    assert!(identities >= 2 + 7, "{identities} captures with an identity: record new ones");
    assert!(samples.len() > 10, "{} captures", samples.len());
    samples
}

fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>) {
    for _ in 0..=rng.below(4) {
        let place = rng.below(bytes.len() + 1);
        match rng.below(8) {
            0 => bytes.insert(place, rng.next() as u8),
            1 if place < bytes.len() => drop(bytes.remove(place)),
            2 => bytes.truncate(place),
            // Four bytes at a time keep the alignment of blocks.
            3 => drop(bytes.splice(place..place, [rng.next() as u8; 4])),
            4 if place + 4 < bytes.len() => drop(bytes.drain(place..place + 4)),
            5 if place < bytes.len() => bytes[place] = rng.next() as u8,
            6 if place < bytes.len() => bytes[place] = [0, 1, 0x7f, 0x80, 0xff][rng.below(5)],
            _ if place < bytes.len() => bytes[place] ^= 1 << rng.below(8),
            _ => {}
        }
    }
}

#[test]
fn hostile_files() {
    let mut rng = Rng::new(31);
    let samples = samples();
    let (mut records, mut refused) = (0, 0);
    for round in 0..executions(1_000_000) {
        let mut file = samples[rng.below(samples.len())].clone();
        mutate(&mut rng, &mut file);
        let info = allocation_counter::measure(|| match read(&file) {
            Some(count) => records += count,
            None => refused += 1,
        });
        assert!(info.bytes_max <= MEMORY, "{} bytes", info.bytes_max);
        // The full check of a capture is slower, and done for some.
        if round % 8 == 0 {
            checks::check_capture(&file);
        }
    }
    assert!(records > executions(1_000_000) / 10, "{records} records");
    assert!(refused > executions(1_000_000) / 10, "{refused} were refused");
}

/// Well-formed blocks, so that their contents are read.
#[test]
fn hostile_blocks() {
    let mut rng = Rng::new(32);
    let samples: Vec<_> = samples().iter().map(|file| blocks(file)).collect();
    let mut records = 0;
    for round in 0..executions(1_000_000) {
        let (mut blocks, is_big_endian) = samples[rng.below(samples.len())].clone();
        let place = rng.below(blocks.len());
        mutate(&mut rng, &mut blocks[place].1);
        if rng.below(4) == 0 {
            let other = rng.below(blocks.len());
            blocks.swap(place, other);
        }
        let file = file_of(&blocks, is_big_endian);
        let info = allocation_counter::measure(|| records += read(&file).unwrap_or(0));
        assert!(info.bytes_max <= MEMORY, "{} bytes", info.bytes_max);
        if round % 8 == 0 {
            checks::check_capture(&file);
        }
    }
    assert!(records > executions(1_000_000) / 4, "{records} records");
}

/// Returns the number of records; `None` after an error.
fn read(file: &[u8]) -> Option<usize> {
    let mut capture = Capture::new(file).ok()?;
    let mut records = 0;
    while let Some(record) = capture.next_record() {
        record.ok()?;
        records += 1;
    }
    Some(records)
}

type Blocks = (Vec<([u8; 4], Vec<u8>)>, bool);

/// Returns kind and body of each whole block, and whether the file is big-endian.
fn blocks(mut file: &[u8]) -> Blocks {
    let is_big_endian = file[8] == 0x1a;
    let mut blocks = Vec::new();
    while let Some((&head, _)) = file.split_first_chunk::<12>() {
        let kind = [head[0], head[1], head[2], head[3]];
        let length = [head[4], head[5], head[6], head[7]];
        let length = match is_big_endian {
            true => u32::from_be_bytes(length),
            false => u32::from_le_bytes(length),
        };
        let whole = file.split_at_checked(length as usize);
        let Some((block, rest)) = whole.filter(|(block, _)| block.len() >= 12) else { break };
        blocks.push((kind, block[8..block.len() - 4].to_vec()));
        file = rest;
    }
    (blocks, is_big_endian)
}

fn file_of(blocks: &[([u8; 4], Vec<u8>)], is_big_endian: bool) -> Vec<u8> {
    let mut file = Vec::new();
    for (kind, body) in blocks {
        let length = body.len().next_multiple_of(4) as u32 + 12;
        let length = if is_big_endian { length.to_be_bytes() } else { length.to_le_bytes() };
        file.extend_from_slice(kind);
        file.extend(length);
        file.extend_from_slice(body);
        file.resize(file.len().next_multiple_of(4), 0);
        file.extend(length);
    }
    file
}
