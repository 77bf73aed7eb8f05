//! Derived types on any bytes: they accept exactly what their fields would one by one.

use std::fmt::Debug;

use tightwire::schema::{DynamicError, Schema};
use tightwire::stream::{ErrorKind, ReadError};
use tightwire::{Wire, decode, decode_into, encode, explain, measure};

/// Checks two packets of one type. The first byte chooses the type; the next is the length of the
/// first packet. The second packet is read into the value that the first left behind, complete or
/// partly read.
pub(crate) fn derived_read(data: &[u8]) {
    let &[choice, length, ref packets @ ..] = data else { return };
    let (first, second) = packets.split_at(packets.len().min(length.into()));
    match choice % 6 {
        0 => check_both::<Flat>(first, second),
        1 => check_both::<World>(first, second),
        2 => check_both::<Packet>(first, second),
        3 => check_both::<Copied>(first, second),
        4 => check_both::<Motion>(first, second),
        _ => check_both::<Generic<Item, 3>>(first, second),
    }
}

/// Properties of a type besides its wire form.
trait Derived: Wire + Default + PartialEq + Debug {
    /// Whether every value has only one encoding.
    const IS_CANONICAL: bool = true;

    /// Whether the schema reads in the same steps. The type requests the bits of a list of plain
    /// structs as a whole, the schema those of one element after the other.
    const IS_IN_STEP: bool = true;
}

/// Runs of more than two words, conditions between them, and enums within.
#[derive(Wire, Default, PartialEq, Debug)]
struct Flat {
    #[wire(range = 0..=100, check = "health")]
    health: u8,
    #[wire(range = -5..=5)]
    lean: [i8; 3],
    wide: u128,
    kind: Kind,
    #[wire(when = self.health > 50 && self.kind != Kind::Plant)]
    extra: u64,
    #[wire(when = self.health > 50 && self.kind != Kind::Plant, range = 3..=3, default = 3)]
    constant: u8,
    #[wire(range = 10..=1_000_000)]
    place: usize,
    #[wire(bits = 57)]
    flags: u64,
    even: [Even; 2],
    #[wire(varint)]
    score: i64,
    last: bool,
}

#[derive(Wire, Default, Clone, Copy, PartialEq, Debug)]
enum Kind {
    #[default]
    Rock,
    Plant,
    Animal,
}

/// Variants of equal length in bits.
#[derive(Wire, PartialEq, Debug)]
enum Even {
    Byte(u8),
    Parts(bool, #[wire(range = 0..=127)] u8),
    Ranged(#[wire(range = 0..=200)] u8),
}

impl Default for Even {
    fn default() -> Self {
        Self::Byte(0)
    }
}

/// Lists of structs with lists in them.
#[derive(Wire, Default, PartialEq, Debug)]
struct World {
    #[wire(max_len = 1000)]
    players: Vec<Player>,
    #[wire(max_len = 100_000, range = 0..=2)]
    tiles: Vec<u8>,
    #[wire(max_len = 300, range = 1..=9)]
    dice: Vec<Option<u8>>,
}

#[derive(Wire, Default, PartialEq, Debug)]
struct Player {
    is_named: bool,
    #[wire(when = self.is_named, max_len = 31)]
    name: String,
    #[wire(max_len = 64)]
    items: Vec<Item>,
    #[wire(when = !self.items.is_empty())]
    chosen: Option<Box<Item>>,
    #[wire(max_len = 9)]
    packet: Option<Vec<u16>>,
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Item {
    #[wire(range = 0..=63)]
    count: u8,
    #[wire(max_len = 5)]
    tags: Vec<u8>,
}

/// A variant of every form.
#[derive(Wire, Default, PartialEq, Debug)]
enum Packet {
    #[default]
    Nothing,
    Join(#[wire(max_len = 20)] String, u16),
    Move {
        kind: Kind,
        #[wire(when = matches!(self.kind, Kind::Rock | Kind::Animal))]
        to: [u16; 2],
        #[wire(max_len = 40)]
        path: Vec<(i8, i8)>,
    },
    Items(#[wire(max_len = 200)] Vec<Item>, bool),
    Inner(Box<Flat>),
    Many(#[wire(max_len = 50)] Vec<Flat>),
}

/// Fields that are copied as a whole.
#[derive(Wire, Default, PartialEq, Debug)]
struct Copied {
    flag: bool,
    #[wire(max_len = 100_000)]
    blob: Vec<u8>,
    #[wire(max_len = 100_000, pod)]
    plain: Vec<[u32; 2]>,
    #[wire(max_len = 100_000)]
    text: String,
    #[wire(bits = 3)]
    crumbs: u8,
    #[wire(pod)]
    one: [u16; 3],
    #[wire(max_len = 7)]
    texts: [String; 3],
    #[wire(max_len = 3)]
    maybe: Option<Option<String>>,
}

#[derive(Wire, Default, PartialEq, Debug)]
struct Motion {
    #[wire(min = -256.0, max = 256.0, resolution = 0.001)]
    position: [f32; 3],
    #[wire(smallest_three = 10)]
    orientation: [f32; 4],
    at_rest: bool,
    #[wire(when = !self.at_rest, min = -32, max = 32, resolution = 0.01)]
    velocity: [f32; 3],
    #[wire(when = !self.at_rest, unit = 12)]
    aim: Option<[f32; 3]>,
    whole: [f32; 3],
    #[wire(max_len = 100, min = 0.0, max = 1.0, resolution = 0.1)]
    weights: Vec<f32>,
    double: f64,
}

#[derive(Wire, Default, PartialEq, Debug)]
struct Generic<T, const N: usize>
where
    [T; N]: Default,
{
    fixed: [T; N],
    #[wire(max_len = N)]
    several: Vec<T>,
    maybe: Option<T>,
    #[wire(range = 0..=N)]
    place: usize,
}

impl Derived for Flat {}
impl Derived for World {}
impl Derived for Packet {}
impl Derived for Generic<Item, 3> {}
impl Derived for Copied {
    const IS_IN_STEP: bool = false;
}
impl Derived for Motion {
    // Where two components of a rotation are nearly the largest, rounding may exchange them.
    const IS_CANONICAL: bool = false;
}

/// Maximum memory per byte of a packet, in bytes: an option of two bits takes two bytes, a player
/// of eleven bits about a hundred, and a growing `Vec` has three times its contents for a moment.
const HEAP_PER_BYTE: u64 = 512;

/// Maximum memory for the first elements of each list, in bytes.
const HEAP_FOR_FREE: u64 = 2048;

fn check_both<T: Derived>(first: &[u8], second: &[u8]) {
    let schema = tightwire::schema::Schema::of::<T>();
    let mut value = T::default();
    for packet in [first, second] {
        let (fresh, outcome) = read_within_means::<T>(packet);
        let in_place = decode_into(packet, &mut value);
        assert_eq!(in_place, outcome);
        if outcome.is_ok() {
            assert!(
                is_same(&value, &fresh),
                "what the value was before shows: {value:?}, {fresh:?}"
            );
        }
        check_field_by_field::<T>(&schema, packet, outcome);
        if outcome.is_ok() {
            check_accepted(fresh, packet);
        }
    }
}

/// Reads a packet, and checks the memory that this takes.
fn read_within_means<T: Derived>(packet: &[u8]) -> (T, Result<(), ReadError>) {
    let mut value = T::default();
    let mut outcome = Ok(());
    let memory = allocation_counter::measure(|| outcome = decode_into(packet, &mut value));
    let most = HEAP_FOR_FREE + HEAP_PER_BYTE * packet.len() as u64;
    assert!(memory.bytes_max <= most, "{} bytes for {}", memory.bytes_max, packet.len());
    (value, outcome)
}

/// Compares the outcome with a trace, which has no runs, and with the schema, which has no type.
fn check_field_by_field<T: Derived>(
    schema: &Schema,
    packet: &[u8],
    outcome: Result<(), ReadError>,
) {
    let failure = explain::<T>(packet).failure();
    match outcome {
        Ok(()) => assert_eq!(failure, None),
        // A run is checked in words, whatever fields they hold.
        Err(ReadError { kind: ErrorKind::UnexpectedEnd, bit }) => {
            assert!(failure.is_some() && bit <= packet.len() as u64 * 8);
        }
        Err(refused) => assert_eq!(failure, Some((refused.kind, refused.bit))),
    }
    match schema.decode(packet) {
        Ok(_) => assert_eq!(failure, None),
        Err(DynamicError::Read(refused)) if T::IS_IN_STEP => {
            assert_eq!(failure, Some((refused.kind, refused.bit)));
        }
        Err(DynamicError::Read(_)) => assert!(failure.is_some()),
        Err(other) => panic!("every type here is described: {other}"),
    }
}

fn check_accepted<T: Derived>(value: T, packet: &[u8]) {
    let measured = measure(&value);
    assert!(measured <= T::MAX_BITS, "{measured} bits");
    let mut buffer = vec![0xff; measured.div_ceil(8) as usize];
    let again = match encode(&value, &mut buffer) {
        Ok(again) => again,
        Err(refused) => panic!("{refused:?}: what was read is not written: {value:?}"),
    };
    match decode::<T>(again) {
        Ok(second) if T::IS_CANONICAL => {
            assert_eq!(again, packet);
            assert!(is_same(&value, &second), "{value:?} became {second:?}");
        }
        Ok(_) => assert_eq!(again.len(), packet.len()),
        Err(refused) => panic!("{refused:?}: what was written is not read: {value:?}"),
    }
    if let Some((_, cut)) = packet.split_last() {
        assert!(decode::<T>(cut).is_err());
    }
}

/// Returns whether two values are equal, or both NaN.
fn is_same<T: PartialEq + Debug>(one: &T, other: &T) -> bool {
    one == other || format!("{one:?}") == format!("{other:?}")
}
