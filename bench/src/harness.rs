//! Checks, rounds and medians.

use crate::codecs::{Codec, Lanes};
use crate::counting::allocations;
use crate::packets::Packet;
use fastrand::Rng;
use rkyv::util::AlignedVec;
use std::hint::black_box;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Number of data sets per table: together too long for a branch predictor to learn by heart.
pub const SETS: usize = 32;

/// Alignment of every packet in bytes, enough for all libraries.
const ALIGN: usize = 16;

const PAGE: usize = 4096;

/// A codec with its buffers. The loops over the packets of a set are behind this trait, so that no
/// single packet pays for the dynamic call.
pub trait Lane<P> {
    fn name(&self) -> &'static str;
    fn quantises(&self) -> bool;
    /// Makes the buffers, with `packets` as the previous contents of the slots.
    fn start(&mut self, packets: &[P]);
    /// Writes the packets; timed.
    fn write(&mut self, packets: &mut [P]);
    /// Does the work that belongs to neither `write` nor `read`; not timed.
    fn settle(&mut self, packets: &mut [P]);
    /// Reads the packets that were written last; timed.
    fn read(&mut self);
    /// Returns the packets that were read last.
    fn slots(&self) -> &[P];
    /// Returns the bytes of the packets that were written last.
    fn bytes(&self) -> usize;
}

pub struct Runner<P, C> {
    codec: C,
    /// Offset of the first packet in the arena.
    base: usize,
    arena: AlignedVec<ALIGN>,
    spans: Vec<Range<usize>>,
    slots: Vec<P>,
}

impl<P, C> Runner<P, C> {
    pub fn new(codec: C) -> Self {
        Self { codec, base: 0, arena: AlignedVec::new(), spans: Vec::new(), slots: Vec::new() }
    }
}

impl<P: Packet, C: Codec<P>> Lane<P> for Runner<P, C> {
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn quantises(&self) -> bool {
        C::QUANTISES
    }

    fn start(&mut self, packets: &[P]) {
        let capacity = PAGE + P::MAX_BYTES * packets.len();
        self.arena.resize(capacity.next_multiple_of(ALIGN), 0);
        self.spans = vec![0..0; packets.len()];
        self.slots = packets.to_vec();
    }

    fn write(&mut self, packets: &mut [P]) {
        let mut start = self.base;
        for (packet, span) in black_box(packets).iter_mut().zip(&mut self.spans) {
            let len = self.codec.write(packet, &mut self.arena[start..]);
            *span = start..start + len;
            start = span.end.next_multiple_of(ALIGN);
        }
        black_box(&mut self.arena[..]);
    }

    fn settle(&mut self, packets: &mut [P]) {
        for (slot, packet) in self.slots.iter_mut().zip(&*packets) {
            slot.prepare(packet);
        }
        if C::LENDS {
            for (packet, span) in packets.iter_mut().zip(&self.spans) {
                self.codec.store(packet, &mut self.arena[span.start..]);
            }
        }
        // All offsets within a page take their turn: large copies are many times slower at unlucky
        // offsets, and chance would decide which codec gets them.
        self.base = (self.base + 17 * ALIGN) % PAGE;
    }

    fn read(&mut self) {
        let arena = black_box(&self.arena[..]);
        for (slot, span) in self.slots.iter_mut().zip(&self.spans) {
            self.codec.read(&arena[span.start..], span.len(), slot);
        }
        black_box(&mut self.slots[..]);
    }

    fn slots(&self) -> &[P] {
        &self.slots
    }

    fn bytes(&self) -> usize {
        self.spans.iter().map(Range::len).sum()
    }
}

/// Length of a table's measurement.
#[derive(Clone, Copy)]
pub enum Length {
    Rounds(usize),
    Time(Duration),
}

impl Length {
    pub fn is_reached(self, rounds: usize, start: Instant) -> bool {
        match self {
            Self::Rounds(wanted) => rounds >= wanted,
            Self::Time(wanted) => start.elapsed() >= wanted,
        }
    }
}

/// Results of one codec; all numbers are per packet.
pub struct Row {
    pub codec: &'static str,
    pub bytes: f64,
    pub write_ns: f64,
    pub read_ns: f64,
    /// Time of the codec divided by that of the table's first codec.
    pub write_ratio: f64,
    pub read_ratio: f64,
    pub write_allocations: f64,
    pub read_allocations: f64,
}

/// Measurements of one codec, with one time for each round.
#[derive(Default)]
struct Record {
    codec: &'static str,
    bytes: usize,
    write: Vec<f64>,
    read: Vec<f64>,
    write_allocations: u64,
    read_allocations: u64,
}

/// Measures the codecs against each other on the same data; returns the rows and the number of
/// rounds.
pub fn measure<P: Packet>(
    mut lanes: Lanes<P>,
    generate: fn(&mut Rng) -> Vec<P>,
    length: Length,
) -> (Vec<Row>, usize) {
    let set = |seed| generate(&mut Rng::with_seed(seed));
    let mut sets: Vec<Vec<P>> = (0..SETS as u64).map(set).collect();
    let mut records: Vec<Record> =
        lanes.iter_mut().map(|lane| check(&mut **lane, &mut sets)).collect();

    let start = Instant::now();
    let mut rounds = 0;
    while !length.is_reached(rounds, start) {
        // One set further each time around, so that no codec is tied to a set.
        let first = rounds + rounds / SETS;
        for turn in 0..lanes.len() {
            let index = (first + turn) % lanes.len();
            let lane = &mut *lanes[index];
            // Not timed: another set first, to warm up code, buffers and branch predictor for this
            // codec.
            pass(lane, &mut sets[(rounds + SETS / 2) % SETS], None);
            pass(lane, &mut sets[rounds % SETS], Some(&mut records[index]));
        }
        rounds += 1;
    }

    let packets = sets[0].len() as f64;
    let all_packets = packets * rounds as f64;
    let row = |record: &Record| Row {
        codec: record.codec,
        bytes: record.bytes as f64 / (packets * SETS as f64),
        write_ns: median(record.write.clone()) / packets,
        read_ns: median(record.read.clone()) / packets,
        write_ratio: median_ratio(&record.write, &records[0].write),
        read_ratio: median_ratio(&record.read, &records[0].read),
        write_allocations: record.write_allocations as f64 / all_packets,
        read_allocations: record.read_allocations as f64 / all_packets,
    };
    (records.iter().map(row).collect(), rounds)
}

/// Writes and reads a set once.
fn pass<P>(lane: &mut dyn Lane<P>, packets: &mut [P], record: Option<&mut Record>) {
    let before_write = allocations();
    let start = Instant::now();
    lane.write(packets);
    let write = start.elapsed();
    let write_allocations = allocations() - before_write;

    lane.settle(packets);

    let before_read = allocations();
    let start = Instant::now();
    lane.read();
    let read = start.elapsed();
    let read_allocations = allocations() - before_read;

    if let Some(record) = record {
        record.write.push(write.as_nanos() as f64);
        record.read.push(read.as_nanos() as f64);
        record.write_allocations += write_allocations;
        record.read_allocations += read_allocations;
    }
}

/// Panics unless every set survives the round trip. Also lets all buffers grow to their final size.
fn check<P: Packet>(lane: &mut dyn Lane<P>, sets: &mut [Vec<P>]) -> Record {
    // The slots never start with the packets that are read into them.
    lane.start(&sets[sets.len() - 1]);
    let mut record = Record { codec: lane.name(), ..Record::default() };
    for packets in sets {
        let original = packets.clone();
        pass(lane, packets, None);
        record.bytes += lane.bytes();
        for ((source, packet), read) in original.iter().zip(&*packets).zip(lane.slots()) {
            assert!(source == packet, "{} changes its packet", lane.name());
            let same = if lane.quantises() { source.is_close(read) } else { source == read };
            assert!(same, "{} does not read what it wrote", lane.name());
        }
    }
    record
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

pub fn median_ratio(times: &[f64], first: &[f64]) -> f64 {
    median(times.iter().zip(first).map(|(time, first)| time / first).collect())
}
