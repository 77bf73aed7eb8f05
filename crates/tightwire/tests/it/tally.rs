//! Totals over many packets, and trees that are reused.

use tightwire::message::{Messenger, MessengerConfig};
use tightwire::packet::{Identity, Protection, Tally};
use tightwire::schema::{Dynamic, Schema};
use tightwire::stream::ReadStream;
use tightwire::{Message, Wire, encode};

#[derive(Wire, Clone, Debug)]
enum Packet {
    Empty,
    Numbers(#[wire(max_len = 9)] Vec<u16>),
    Player {
        #[wire(max_len = 20)]
        name: String,
        is_armed: bool,
        #[wire(when = self.is_armed)]
        ammunition: [u8; 3],
        target: Option<Vec2>,
        #[wire(max_len = 5)]
        inventory: Vec<Item>,
    },
}

#[derive(Wire, Clone, Debug, Default)]
struct Vec2 {
    #[wire(min = -1.0, max = 1.0, resolution = 0.01)]
    both: [f32; 2],
}

#[derive(Wire, Clone, Debug, Default)]
struct Item {
    #[wire(max_len = 6)]
    tags: Vec<Option<u8>>,
}

/// Returns packets that differ, so that each is read where another was.
fn packet(number: usize) -> Packet {
    let tags =
        |count: usize| (0..count).map(|tag| tag.is_multiple_of(2).then_some(tag as u8)).collect();
    match number % 7 {
        0 => Packet::Empty,
        1 | 4 => Packet::Numbers((0..number as u16 % 10).collect()),
        _ => Packet::Player {
            name: "Ada Lovelace"[..number % 13].into(),
            is_armed: number.is_multiple_of(3),
            ammunition: [number as u8, 2, 3],
            target: number.is_multiple_of(2).then(|| Vec2 { both: [0.5, -0.25] }),
            inventory: (0..number % 6)
                .map(|item| Item { tags: tags((item + number) % 7) })
                .collect(),
        },
    }
}

fn encoded(number: usize) -> Vec<u8> {
    let mut buffer = [0; 500];
    encode(&packet(number), &mut buffer).unwrap().to_vec()
}

#[test]
fn a_tree_that_was_used_is_read_into_as_an_empty_one() {
    let schema = Schema::of::<Packet>();
    let mut used = Dynamic::default();
    for number in 0..500 {
        let bytes = encoded(number * 31 % 500);
        schema.serialize(&mut used, &mut ReadStream::new(&bytes)).unwrap();
        assert_eq!(used, schema.decode(&bytes).unwrap());
        // A tree after a refusal is reused as well.
        let _ = schema.serialize(&mut used, &mut ReadStream::new(&bytes[..bytes.len() / 2]));
    }
}

#[test]
fn totals_are_those_of_the_traces_and_refused_packets_add_nothing() {
    let identity = Identity::new("test", "1", Protection::None, Schema::of::<Packet>());
    let mut tally = Tally::new(&identity);
    let (mut bits, mut operations, mut accepted) = (0, 0, 0);
    for number in 0..500 {
        let mut bytes = encoded(number);
        if number.is_multiple_of(5) {
            bytes.truncate(bytes.len().saturating_sub(1));
        }
        let trace = identity.explain(&bytes);
        assert_eq!(tally.count(&bytes).err().map(|error| (error.kind, error.bit)), trace.failure());
        if let Some(refused) = trace.refused() {
            let path = refused.path();
            let place = tally.refused_at().path();
            let names = |path: &str| path.replace(|char: char| char.is_ascii_digit(), "");
            assert_eq!(names(&place), names(&path));
        }
        if trace.failure().is_none() {
            accepted += 1;
            bits += trace.spans().map(|span| span.bit_count()).sum::<u64>();
            operations += trace.spans().count() as u64;
        }
    }
    assert_eq!(tally.packets(), accepted);
    assert_eq!(tally.places().map(|place| place.bits()).sum::<u64>(), bits);
    assert_eq!(tally.places().map(|place| place.count()).sum::<u64>(), operations);
    let mut kinds = tally.kinds().to_vec();
    kinds.sort();
    assert_eq!(kinds, ["Empty", "Numbers", "Packet", "Player"]);
}

#[derive(Wire, Message, Default)]
struct Duck;

#[derive(Wire, Message, Default)]
struct Move {
    x: i8,
}

#[test]
fn recorded_messages_are_distinguished_by_name() {
    let messages = Messenger::<()>::builder(MessengerConfig::default());
    let messages = messages.send_only::<Duck>().send_only::<Move>();
    let schema = messages.capture_schema().unwrap();
    let mut tally = Tally::new(&Identity::new("test", "1", Protection::None, schema));
    tally.count(&[17, 4, 1, 0, 0, 7]).unwrap();
    assert_eq!(tally.kinds()[tally.kind()], "Move");
    tally.watch("Move.x");
    // An integer is sent as its distance from the smallest one.
    tally.count(&[17, 4, 1, 0, 0, 128 + 9]).unwrap();
    assert_eq!(tally.watched().len(), 1);
    assert_eq!(tally.watched()[0].1.to_string(), "9");
}
