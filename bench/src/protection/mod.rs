//! Cost of a datagram's protection: all tasks take turns in the same rounds.

mod report;
mod tasks;

use crate::data;
use crate::harness::{Length, SETS, median, median_ratio};
use crate::packets::{Bodies, Packet, RigidBody, body_is_close};
use fastrand::Rng;
use std::time::Instant;
use tightwire::Wire;
use tightwire::packet::Protocol;

pub use report::{json, print};
use tasks::{Gate, Kind, Task, Timed};

pub const NAME: &str = "protection";

/// Time of one task per datagram, compared with another task.
pub struct Row {
    pub part: &'static str,
    pub task: &'static str,
    pub bytes: f64,
    pub ns: f64,
    /// Time divided by that of the task `to` of the same part.
    pub ratio: f64,
    pub to: &'static str,
}

/// One task of one part, with one time for each round.
struct Record {
    part: &'static str,
    task: &'static str,
    to: &'static str,
    times: Vec<f64>,
    timed: Box<dyn Timed>,
}

/// Measures all tasks against each other; returns the rows and the number of rounds.
pub fn measure(length: Length) -> (Vec<Row>, usize) {
    let mut records = part("bodies", bodies, &PROTECTED);
    records.extend(part("inputs", data::inputs, &PROTECTED));
    records.extend(part("inputs", data::inputs, &PLAIN));
    records.extend(part("messages", data::messages, &PLAIN));
    for record in &mut records {
        (0..SETS).for_each(|set| record.timed.check(set));
    }

    let start = Instant::now();
    let mut rounds = 0;
    while !length.is_reached(rounds, start) {
        let first = rounds + rounds / SETS;
        let count = records.len();
        for turn in 0..count {
            let record = &mut records[(first + turn) % count];
            // Not timed: another set first, to warm up caches and predictors for this task.
            record.timed.prepare((rounds + SETS / 2) % SETS);
            record.timed.run();
            record.timed.prepare(rounds % SETS);
            let start = Instant::now();
            record.timed.run();
            record.times.push(start.elapsed().as_nanos() as f64);
        }
        rounds += 1;
    }
    (records.iter().map(|record| row(record, &records)).collect(), rounds)
}

fn row(record: &Record, records: &[Record]) -> Row {
    let is_base = |base: &&Record| base.part == record.part && base.task == record.to;
    let base = records.iter().find(is_base).expect("every task is compared with one");
    let datagrams = record.timed.datagrams() as f64;
    Row {
        part: record.part,
        task: record.task,
        bytes: record.timed.bytes() as f64 / (datagrams * SETS as f64),
        ns: median(record.times.clone()) / datagrams,
        ratio: median_ratio(&record.times, &base.times),
        to: record.to,
    }
}

/// Name of a task, its kind, and the name of the task that it is compared with.
type Entry = (&'static str, Kind, &'static str);

const PROTECTED: [Entry; 13] = [
    ("write None", Kind::Write(Gate::None), "write None"),
    ("write Id", Kind::Write(Gate::Id), "write None"),
    ("write Crc32", Kind::Write(Gate::Crc32), "write None"),
    ("write Sealed", Kind::Write(Gate::Sealed), "write None"),
    ("crc32 alone", Kind::Checksum, "write None"),
    ("read None", Kind::Read(Gate::None), "read None"),
    ("read Id", Kind::Read(Gate::Id), "read None"),
    ("read Crc32", Kind::Read(Gate::Crc32), "read None"),
    ("read Sealed", Kind::Read(Gate::Sealed), "read None"),
    ("refuse Id", Kind::Refuse(Gate::Id), "read Id"),
    ("refuse Crc32", Kind::Refuse(Gate::Crc32), "read Crc32"),
    ("refuse Sealed", Kind::Refuse(Gate::Sealed), "read Sealed"),
    ("refuse forged seal", Kind::RefuseForged, "read Sealed"),
];

const PLAIN: [Entry; 4] = [
    ("encode", Kind::Encode, "encode"),
    ("Protocol::write", Kind::Write(Gate::None), "encode"),
    ("decode_into", Kind::Decode, "decode_into"),
    ("Protocol::read", Kind::Read(Gate::None), "decode_into"),
];

fn part<P: Wire + Packet + 'static>(
    part: &'static str,
    generate: fn(&mut Rng) -> Vec<P>,
    tasks: &[Entry],
) -> Vec<Record> {
    let record = |&(task, kind, to): &Entry| {
        let sets = (0..SETS as u64).map(|seed| generate(&mut Rng::with_seed(seed))).collect();
        Record { part, task, to, times: Vec::new(), timed: Box::new(Task::new(kind, sets)) }
    };
    tasks.iter().map(record).collect()
}

/// A part of the world that fits into one datagram.
#[derive(Wire, Clone, PartialEq)]
struct Snapshot {
    #[wire(max_len = 127)]
    bodies: Vec<RigidBody>,
}

impl Packet for Snapshot {
    const MAX_BYTES: usize = <Self as Wire>::MAX_BYTES;

    fn is_close(&self, read: &Self) -> bool {
        let mut pairs = self.bodies.iter().zip(&read.bodies);
        self.bodies.len() == read.bodies.len() && pairs.all(|(a, b)| body_is_close(a, b))
    }
}

/// Makes snapshots of as many bodies as stay below 1200 bytes.
fn bodies(rng: &mut Rng) -> Vec<Snapshot> {
    const BITS: u64 = 1200 * 8;
    let Bodies { bodies } = data::bodies(rng).remove(0);
    let mut rest = bodies.into_iter();
    let mut snapshot = || {
        let mut snapshot = Snapshot { bodies: Vec::new() };
        while tightwire::measure(&snapshot) + RigidBody::MAX_BITS <= BITS {
            snapshot.bodies.push(rest.next().expect("there are enough bodies"));
        }
        snapshot
    };
    (0..12).map(|_| snapshot()).collect()
}

/// Returns the maximum length of a datagram, in bytes.
const fn max_datagram<P: Wire>() -> usize {
    Protocol::<P>::MAX_BYTES
}
