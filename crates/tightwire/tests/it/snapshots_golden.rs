//! The worked examples of snapshots in docs/WIRE.md and docs/MODELED.md: each is written, compared
//! with the bytes in the document, and read back.

use tightwire::snapshot::{Leaving, Level};
use tightwire::{Wire, encode, snapshot};

const DOCUMENTS: [&str; 2] =
    [include_str!("../../../../docs/WIRE.md"), include_str!("../../../../docs/MODELED.md")];

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Ball {
    #[wire(range = 0..=1000)]
    at: [u16; 2],
    lit: bool,
}

/// The packets of the document, and the state of ball 3 in each.
const STEPS: [(&str, u32, Option<Ball>); 4] = [
    ("first", 100, Some(Ball { at: [100, 500], lit: false })),
    ("second", 101, Some(Ball { at: [110, 498], lit: false })),
    ("third", 102, Some(Ball { at: [121, 496], lit: true })),
    ("fourth", 104, None),
];

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Lamp {
    #[wire(range = 0..=15)]
    level: u8,
    lit: bool,
}

/// The packets of the level `Modeled`, and the state of lamp 5 in each.
const LAMPS: [(&str, u32, Lamp); 2] =
    [("lit", 1, Lamp { level: 12, lit: true }), ("dimmed", 2, Lamp { level: 11, lit: true })];

fn documented(name: &str) -> &'static str {
    let start = format!("Snapshot example `{name}`: ");
    let mut lines = DOCUMENTS.into_iter().flat_map(str::lines);
    let line = lines.find(|line| line.starts_with(&start));
    line.unwrap_or_else(|| panic!("no {name}")).rsplit('`').nth(1).unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

fn bytes(hex: &str) -> Vec<u8> {
    hex.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

fn protocol() -> snapshot::Protocol {
    let config = snapshot::Config { level: Level::Packed, ..snapshot::Config::default() };
    snapshot::Protocol::builder(config).class::<Ball>().build().unwrap()
}

#[test]
fn the_document_has_the_snapshots_that_are_written() {
    let mut sender = snapshot::Sender::new(&protocol());
    let mut receiver = snapshot::Receiver::new(&protocol());
    let id = sender.add_receiver(Leaving::Despawn);
    let mut wrong = String::new();
    let mut compare = |name: &str, written: &[u8]| {
        if hex(written) != documented(name) {
            wrong += &format!("{name}: `{}`\n", hex(written));
        }
    };
    for (name, tick, ball) in STEPS {
        sender.begin_tick(tick);
        match ball {
            Some(ball) => sender.set(3, &ball).unwrap(),
            None => sender.remove(3).unwrap(),
        }
        let packet = sender.snapshot(id, 100).unwrap();
        compare(name, packet);
        receiver.handle_snapshot(packet).unwrap();
        let ack = receiver.ack().unwrap();
        if name == "third" {
            compare("ack", encode(&ack, &mut [0; snapshot::Ack::MAX_BYTES + 2]).unwrap());
        }
        sender.handle_ack(id, ack);
    }
    assert_eq!(wrong, "", "written, but not what docs/WIRE.md says");
}

fn modeled() -> snapshot::Protocol {
    let config = snapshot::Config { level: Level::Modeled, ..snapshot::Config::default() };
    snapshot::Protocol::builder(config).class::<Lamp>().build().unwrap()
}

#[test]
fn the_document_has_the_modeled_snapshots_that_are_written() {
    let mut sender = snapshot::Sender::new(&modeled());
    let mut receiver = snapshot::Receiver::new(&modeled());
    let id = sender.add_receiver(Leaving::Despawn);
    let mut wrong = String::new();
    for (name, tick, lamp) in LAMPS {
        sender.begin_tick(tick);
        sender.set(5, &lamp).unwrap();
        let packet = sender.snapshot(id, 100).unwrap();
        if hex(packet) != documented(name) {
            wrong += &format!("{name}: `{}`\n", hex(packet));
        }
        receiver.handle_snapshot(packet).unwrap();
        sender.handle_ack(id, receiver.ack().unwrap());
    }
    assert_eq!(wrong, "", "written, but not what docs/MODELED.md says");
}

#[test]
fn the_modeled_snapshots_of_the_document_read_back_to_the_example() {
    let mut receiver = snapshot::Receiver::new(&modeled());
    for (name, tick, lamp) in LAMPS {
        let received = receiver.handle_snapshot(&bytes(documented(name))).unwrap();
        assert_eq!((received.tick, received.is_complete), (tick, true), "{name}");
        assert_eq!(receiver.get::<Lamp>(5), Some(lamp), "{name}");
    }
}

#[test]
fn the_snapshots_of_the_document_read_back_to_the_example() {
    let mut receiver = snapshot::Receiver::new(&protocol());
    for (name, tick, ball) in STEPS {
        let received = receiver.handle_snapshot(&bytes(documented(name))).unwrap();
        assert_eq!((received.tick, received.is_complete), (tick, true), "{name}");
        assert_eq!(receiver.get::<Ball>(3), ball, "{name}");
    }
}
