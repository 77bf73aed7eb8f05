//! Proves by counting instructions that diagnostics cost nothing until something is refused.
//!
//! Each variant processes the same packets under `valgrind --tool=callgrind`, a thousand times and
//! two thousand times: the difference is the cost of a thousand, without the start of the process.
//! Three variants are compared:
//!
//! * `nameless`: `decode` and `encode` of a type that names none of its fields,
//! * `named`: the same of a type that names them all,
//! * `explained`: `decode_explained` and `encode_explained` of the type with names.
//!
//! The bytes and the values are the same, so the extra cost of the other two is that of
//! diagnostics. The functions are called through pointers that the compiler cannot see through, so
//! that each is compiled by itself and not inlined into the loop. Names must cost nothing. Keeping
//! the packet or the value for an explanation costs a few instructions, with some noise:
//! [`TOLERANCE`] is the limit. A path or a trace in the hot path would exceed it.
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
use tightwire::{
    FloatRange, Stream, Target, Wire, at, decode, decode_explained, encode, encode_explained,
};

/// Largest relative extra cost of `explained`.
const TOLERANCE: f64 = 0.08;

const POSITION: FloatRange = FloatRange::new(-256.0, 256.0, 0.001);

const WAYS: [&str; 3] = ["nameless", "named", "explained"];

/// Each variant has types of its own: a function that two variants shared would be inlined into
/// neither.
const NAMELESS: usize = 0;
const NAMED: usize = 1;
const EXPLAINED: usize = 2;

/// An input without a pointer in it, a player with a name and an inventory, and a body whose type
/// is derived and has names in every variant.
const JOBS: [&str; 6] = [
    "decode input",
    "decode player",
    "decode derived",
    "encode input",
    "encode player",
    "encode derived",
];

#[derive(Default, Clone)]
struct Input<const WAY: usize> {
    tick: u32,
    buttons: u64,
    aim: [f32; 3],
    weapon: Option<u8>,
}

#[derive(Default, Clone)]
struct Player<const WAY: usize> {
    health: u8,
    orientation: [f32; 4],
    input: Input<WAY>,
    name: String,
    inventory: Vec<u16>,
}

#[derive(Wire, Default, Clone)]
struct Body<const WAY: usize> {
    #[wire(range = 0..=1023)]
    id: u16,
    #[wire(min = -256.0, max = 256.0, resolution = 0.001)]
    position: [f32; 3],
    #[wire(smallest_three = 10)]
    orientation: [f32; 4],
    at_rest: bool,
    #[wire(max_len = 15)]
    name: String,
}

/// The operation of a field, with its name if names are given.
macro_rules! field {
    ($stream:ident.$operation:ident($this:ident.$field:ident $(, $argument:expr)*)) => {
        match WAY {
            NAMELESS => $stream.$operation(at!($this.$field).target() $(, $argument)*),
            _ => $stream.$operation(at!($this.$field) $(, $argument)*),
        }
    };
}

/// Returns the stream, with the name of the next field if names are given.
fn next<'s, S: Stream, const WAY: usize>(stream: &'s mut S, name: &str) -> &'s mut S {
    if WAY == NAMELESS { stream } else { stream.named(name) }
}

impl<const WAY: usize> Wire for Input<WAY> {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        field!(stream.int(this.tick, 0..=1_000_000))?;
        field!(stream.bits(this.buttons, 12))?;
        field!(stream.compressed_vector(this.aim, POSITION))?;
        field!(stream.option(this.weapon, |weapon, stream| {
            next::<S, WAY>(stream, "slot").int(weapon, 0..=9)
        }))
    }
}

impl<const WAY: usize> Wire for Player<WAY> {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        field!(stream.int(this.health, 0..=100))?;
        field!(stream.smallest_three(this.orientation, 10))?;
        field!(stream.object(this.input))?;
        field!(stream.string(this.name, 31))?;
        field!(stream.array(this.inventory, 15, |item, stream| {
            next::<S, WAY>(stream, "item").int(item, 0..=1000)
        }))
    }
}

fn input<const WAY: usize>() -> Input<WAY> {
    Input { tick: 4711, buttons: 0b1001, aim: [1.5, -200.0, 3.25], weapon: Some(3) }
}

fn player<const WAY: usize>() -> Player<WAY> {
    let (orientation, inventory) = ([0.0, 0.6, 0.0, 0.8], vec![1, 10, 100, 1000]);
    Player { health: 77, orientation, input: input(), name: "Ada".into(), inventory }
}

fn body<const WAY: usize>() -> Body<WAY> {
    let (position, orientation) = ([1.5, -200.0, 3.25], [0.0, 0.6, 0.0, 0.8]);
    Body { id: 77, position, orientation, at_rest: true, name: "crate".into() }
}

fn main() -> ExitCode {
    callgrind::run("instructions", work, compare)
}

/// Compares every job in every variant; returns false if one exceeds its limit.
fn compare() -> Result<bool, Box<dyn Error>> {
    let mut same = true;
    println!("instructions per packet  {:>10}  {:>10}  {:>10}", WAYS[0], WAYS[1], WAYS[2]);
    for job in JOBS {
        let counts = WAYS.map(|way| instructions(job, way));
        let [nameless, named, explained] = counts;
        let (nameless, named, explained) = (nameless?, named?, explained?);
        let is_same = named == nameless && explained <= nameless * (1.0 + TOLERANCE);
        let verdict = if is_same { "" } else { "  <- too much" };
        println!("{job:<23}  {nameless:>10.2}  {named:>10.2}  {explained:>10.2}{verdict}");
        same &= is_same;
    }
    Ok(same)
}

/// Runs the counted work: the packet and the result are hidden from the optimiser.
fn work(job: &str, way: &str, rounds: &str) -> Result<bool, Box<dyn Error>> {
    let rounds = rounds.parse()?;
    match (job, way) {
        ("decode input", "nameless") => read(rounds, &mut input::<NAMELESS>(), decode),
        ("decode input", "named") => read(rounds, &mut input::<NAMED>(), decode),
        ("decode input", "explained") => read(rounds, &mut input::<EXPLAINED>(), decode_explained),
        ("decode player", "nameless") => read(rounds, &mut player::<NAMELESS>(), decode),
        ("decode player", "named") => read(rounds, &mut player::<NAMED>(), decode),
        ("decode player", "explained") => {
            read(rounds, &mut player::<EXPLAINED>(), decode_explained)
        }
        ("decode derived", "nameless") => read(rounds, &mut body::<NAMELESS>(), decode),
        ("decode derived", "named") => read(rounds, &mut body::<NAMED>(), decode),
        ("decode derived", "explained") => read(rounds, &mut body::<EXPLAINED>(), decode_explained),
        ("encode input", "nameless") => write(rounds, &input::<NAMELESS>(), encode),
        ("encode input", "named") => write(rounds, &input::<NAMED>(), encode),
        ("encode input", "explained") => write(rounds, &input::<EXPLAINED>(), encode_explained),
        ("encode player", "nameless") => write(rounds, &player::<NAMELESS>(), encode),
        ("encode player", "named") => write(rounds, &player::<NAMED>(), encode),
        ("encode player", "explained") => write(rounds, &player::<EXPLAINED>(), encode_explained),
        ("encode derived", "nameless") => write(rounds, &body::<NAMELESS>(), encode),
        ("encode derived", "named") => write(rounds, &body::<NAMED>(), encode),
        ("encode derived", "explained") => write(rounds, &body::<EXPLAINED>(), encode_explained),
        _ => Err(format!("unknown job `{job}` or variant `{way}`").into()),
    }
}

#[inline(never)]
fn read<T: Wire, E: Error + 'static>(
    rounds: u64,
    value: &mut T,
    decode: fn(&[u8]) -> Result<T, E>,
) -> Result<bool, Box<dyn Error>> {
    let mut buffer = [0; 128];
    let packet = encode(value, &mut buffer)?;
    for _ in 0..rounds {
        let read = black_box(decode)(black_box(packet));
        // A refused packet would be counted as an accepted one.
        black_box(&read);
        if read.is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}

#[inline(never)]
fn write<T: Wire, E: Error + 'static>(
    rounds: u64,
    value: &T,
    encode: for<'a> fn(&T, &'a mut [u8]) -> Result<&'a [u8], E>,
) -> Result<bool, Box<dyn Error>> {
    let mut buffer = [0; 128];
    for _ in 0..rounds {
        let written = black_box(encode)(black_box(value), black_box(&mut buffer));
        black_box(&written);
        if written.is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}
