//! Counts instructions to prove that a block of bytes has one bounds check.
//!
//! A block of eight fields, and of sixteen, is compared with loads and stores that were written by
//! hand after one check. If the second eight fields cost no more in a block than by hand, each of
//! its operations is a load or a store without a check. A third variant has a check per operation.
//!
//! `./ci.sh instructions` installs valgrind and runs it.
#![allow(missing_docs)]

mod common {
    pub(crate) mod callgrind;
}

use std::error::Error;
use std::hint::black_box;
use std::process::ExitCode;

use common::callgrind::{self, instructions};
use tightwire::bytes::{ByteError, ByteReader, ByteWriter, ReadBlock, WriteBlock};

const WAYS: [&str; 3] = ["by hand", "block", "one by one"];

const JOBS: [[&str; 2]; 2] = [["write eight", "write sixteen"], ["read eight", "read sixteen"]];

/// Eight fields of several sizes, as a header has them.
#[derive(Default, Clone, Copy)]
struct Fields {
    kind: u8,
    sequence: u16,
    tick: u32,
    place: [f32; 3],
    score: i64,
    team: u8,
}

/// The bytes of the fields.
const SIZE: usize = 28;

fn main() -> ExitCode {
    callgrind::run("blocks", work, compare)
}

/// Compares every job in every variant; returns false if a field costs more in a block than by
/// hand.
fn compare() -> Result<bool, Box<dyn Error>> {
    let mut same = true;
    println!("instructions per block   {:>10}  {:>10}  {:>10}", WAYS[0], WAYS[1], WAYS[2]);
    for [eight, sixteen] in JOBS {
        let first = counted(eight)?;
        let both = counted(sixteen)?;
        let [by_hand, block, singly] = [0, 1, 2].map(|way| both[way] - first[way]);
        let is_same = block <= by_hand;
        let verdict = if is_same { "" } else { "  <- too much" };
        let second = "  the second eight";
        println!("{second:<23}  {by_hand:>10.2}  {block:>10.2}  {singly:>10.2}{verdict}");
        same &= is_same;
    }
    Ok(same)
}

fn counted(job: &str) -> Result<[f64; 3], Box<dyn Error>> {
    let [by_hand, block, singly] = WAYS.map(|way| instructions(job, way));
    let counts = [by_hand?, block?, singly?];
    println!("{job:<23}  {:>10.2}  {:>10.2}  {:>10.2}", counts[0], counts[1], counts[2]);
    Ok(counts)
}

/// Runs the counted work. The functions are called through pointers that the compiler cannot see
/// through.
fn work(job: &str, way: &str, rounds: &str) -> Result<bool, Box<dyn Error>> {
    let rounds = rounds.parse()?;
    match (job, way) {
        ("write eight", "by hand") => run(rounds, by_hand),
        ("write eight", "block") => run(rounds, block),
        ("write eight", "one by one") => run(rounds, singly),
        ("write sixteen", "by hand") => run(rounds, twice_by_hand),
        ("write sixteen", "block") => run(rounds, two_in_block),
        ("write sixteen", "one by one") => run(rounds, twice_singly),
        ("read eight", "by hand") => run(rounds, read_by_hand),
        ("read eight", "block") => run(rounds, read_block),
        ("read eight", "one by one") => run(rounds, read_singly),
        ("read sixteen", "by hand") => run(rounds, read_twice_by_hand),
        ("read sixteen", "block") => run(rounds, read_two_in_block),
        ("read sixteen", "one by one") => run(rounds, read_twice_singly),
        _ => Err(format!("unknown job `{job}` or variant `{way}`").into()),
    }
}

type Work = fn(&mut [Fields; 2], &mut [u8]) -> Result<usize, ByteError>;

#[inline(never)]
fn run(rounds: u64, work: Work) -> Result<bool, Box<dyn Error>> {
    let mut buffer = [1; 2 * SIZE];
    let mut fields = [Fields::default(); 2];
    for _ in 0..rounds {
        let written = black_box(work)(black_box(&mut fields), black_box(&mut buffer));
        black_box(&written);
        if written.is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Error without room; the variants differ in nothing else.
const FULL: ByteError = ByteError::Stale;

#[inline(always)]
fn store(fields: &Fields, room: &mut [u8; SIZE]) {
    room[0] = fields.kind;
    room[1..3].copy_from_slice(&fields.sequence.to_le_bytes());
    room[3..7].copy_from_slice(&fields.tick.to_le_bytes());
    room[7..11].copy_from_slice(&fields.place[0].to_le_bytes());
    room[11..15].copy_from_slice(&fields.place[1].to_le_bytes());
    room[15..19].copy_from_slice(&fields.place[2].to_le_bytes());
    room[19..27].copy_from_slice(&fields.score.to_le_bytes());
    room[27] = fields.team;
}

fn by_hand(fields: &mut [Fields; 2], buffer: &mut [u8]) -> Result<usize, ByteError> {
    store(&fields[0], buffer.first_chunk_mut().ok_or(FULL)?);
    Ok(SIZE)
}

fn twice_by_hand(fields: &mut [Fields; 2], buffer: &mut [u8]) -> Result<usize, ByteError> {
    let room: &mut [u8; 2 * SIZE] = buffer.first_chunk_mut().ok_or(FULL)?;
    let [first, second] = room.as_chunks_mut().0 else { return Err(FULL) };
    store(&fields[0], first);
    store(&fields[1], second);
    Ok(2 * SIZE)
}

#[inline(always)]
fn put(fields: &Fields, block: &mut WriteBlock<'_>) {
    block.write(fields.kind);
    block.write(fields.sequence);
    block.write(fields.tick);
    block.write(fields.place[0]);
    block.write(fields.place[1]);
    block.write(fields.place[2]);
    block.write(fields.score);
    block.write(fields.team);
}

fn block(fields: &mut [Fields; 2], buffer: &mut [u8]) -> Result<usize, ByteError> {
    let mut writer = ByteWriter::new(buffer);
    writer.reserve(SIZE, |block| put(&fields[0], block)).map_err(|_| FULL)?;
    Ok(writer.len())
}

fn two_in_block(fields: &mut [Fields; 2], buffer: &mut [u8]) -> Result<usize, ByteError> {
    let mut writer = ByteWriter::new(buffer);
    let written = writer.reserve(2 * SIZE, |block| {
        put(&fields[0], block);
        put(&fields[1], block);
    });
    written.map_err(|_| FULL)?;
    Ok(writer.len())
}

#[inline(always)]
fn put_singly(fields: &Fields, writer: &mut ByteWriter<&mut [u8]>) -> Result<(), ByteError> {
    writer.write(fields.kind)?;
    writer.write(fields.sequence)?;
    writer.write(fields.tick)?;
    writer.write(fields.place[0])?;
    writer.write(fields.place[1])?;
    writer.write(fields.place[2])?;
    writer.write(fields.score)?;
    writer.write(fields.team)
}

fn singly(fields: &mut [Fields; 2], buffer: &mut [u8]) -> Result<usize, ByteError> {
    let mut writer = ByteWriter::new(buffer);
    put_singly(&fields[0], &mut writer).map_err(|_| FULL)?;
    Ok(writer.len())
}

fn twice_singly(fields: &mut [Fields; 2], buffer: &mut [u8]) -> Result<usize, ByteError> {
    let mut writer = ByteWriter::new(buffer);
    put_singly(&fields[0], &mut writer).map_err(|_| FULL)?;
    put_singly(&fields[1], &mut writer).map_err(|_| FULL)?;
    Ok(writer.len())
}

/// The `N` bytes from `start` on.
#[inline(always)]
fn part<const N: usize>(data: &[u8; SIZE], start: usize) -> [u8; N] {
    std::array::from_fn(|byte| data[start + byte])
}

#[inline(always)]
fn load(data: &[u8; SIZE]) -> Fields {
    Fields {
        kind: data[0],
        sequence: u16::from_le_bytes(part(data, 1)),
        tick: u32::from_le_bytes(part(data, 3)),
        place: [7, 11, 15].map(|start| f32::from_le_bytes(part(data, start))),
        score: i64::from_le_bytes(part(data, 19)),
        team: data[27],
    }
}

fn read_by_hand(fields: &mut [Fields; 2], data: &mut [u8]) -> Result<usize, ByteError> {
    fields[0] = load(data.first_chunk().ok_or(FULL)?);
    Ok(SIZE)
}

fn read_twice_by_hand(fields: &mut [Fields; 2], data: &mut [u8]) -> Result<usize, ByteError> {
    let data: &[u8; 2 * SIZE] = data.first_chunk().ok_or(FULL)?;
    let [first, second] = data.as_chunks().0 else { return Err(FULL) };
    *fields = [load(first), load(second)];
    Ok(2 * SIZE)
}

#[inline(always)]
fn take(block: &mut ReadBlock<'_>) -> Fields {
    Fields {
        kind: block.read(),
        sequence: block.read(),
        tick: block.read(),
        place: [block.read(), block.read(), block.read()],
        score: block.read(),
        team: block.read(),
    }
}

fn read_block(fields: &mut [Fields; 2], data: &mut [u8]) -> Result<usize, ByteError> {
    let mut reader = ByteReader::new(data);
    fields[0] = reader.require(SIZE, take).map_err(|_| FULL)?;
    Ok(reader.position())
}

fn read_two_in_block(fields: &mut [Fields; 2], data: &mut [u8]) -> Result<usize, ByteError> {
    let mut reader = ByteReader::new(data);
    *fields = reader.require(2 * SIZE, |block| [take(block), take(block)]).map_err(|_| FULL)?;
    Ok(reader.position())
}

#[inline(always)]
fn take_singly(reader: &mut ByteReader<'_>) -> Result<Fields, ByteError> {
    Ok(Fields {
        kind: reader.read()?,
        sequence: reader.read()?,
        tick: reader.read()?,
        place: [reader.read()?, reader.read()?, reader.read()?],
        score: reader.read()?,
        team: reader.read()?,
    })
}

fn read_singly(fields: &mut [Fields; 2], data: &mut [u8]) -> Result<usize, ByteError> {
    let mut reader = ByteReader::new(data);
    fields[0] = take_singly(&mut reader).map_err(|_| FULL)?;
    Ok(reader.position())
}

fn read_twice_singly(fields: &mut [Fields; 2], data: &mut [u8]) -> Result<usize, ByteError> {
    let mut reader = ByteReader::new(data);
    let first = take_singly(&mut reader).map_err(|_| FULL)?;
    *fields = [first, take_singly(&mut reader).map_err(|_| FULL)?];
    Ok(reader.position())
}
