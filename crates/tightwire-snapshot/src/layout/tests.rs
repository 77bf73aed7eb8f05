//! Layouts of derived types, and of any schema.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::{Kind, Layout, MAX_COLUMNS};
use crate::random_worlds::Rng;
use tightwire_core::Wire;
use tightwire_core::schema::Schema;
use tightwire_core::stream::{Binary, Condition, ErrorKind, Field, Op, Shape, WriteError, encode};

mod any;
mod derivatives;
mod masks;

const TICKS: u32 = 60;

fn layout<T: Wire>() -> Layout {
    Layout::new(&Schema::of::<T>(), TICKS).unwrap()
}

fn refusal<T: Wire>() -> String {
    Layout::new(&Schema::of::<T>(), TICKS).unwrap_err().to_string()
}

/// Returns the cells of a value, and asserts that they are those of its packet only.
fn cells<T: Wire>(layout: &Layout, value: &mut T) -> Vec<u32> {
    let (mut buffer, mut again) = ([0; 4096], [0xff; 4096]);
    let packet = encode(value, &mut buffer).unwrap();
    let mut cells = vec![7; layout.columns.len()];
    layout.cells_of(packet, &mut cells).unwrap();
    assert_eq!(layout.packet_of(&cells, &mut again).unwrap(), packet);
    cells
}

fn present(layout: &Layout, cells: &[u32]) -> Vec<bool> {
    (0..layout.groups.len()).map(|group| layout.is_present(group, cells)).collect()
}

const NUMBER: Kind = Kind::Number { components: 1, wraps: false };
const VECTOR: Kind = Kind::Number { components: 3, wraps: false };

fn kinds(layout: &Layout) -> Vec<(usize, Kind)> {
    layout.groups.iter().map(|group| (group.first, group.kind)).collect()
}

#[derive(Wire, Default, Clone)]
struct Body {
    #[wire(min = -256.0, max = 256.0, resolution = 0.001)]
    position: [f32; 3],
    #[wire(smallest_three = 10)]
    orientation: [f32; 4],
    at_rest: bool,
    #[wire(when = !self.at_rest, min = -32.0, max = 32.0, resolution = 0.01)]
    velocity: [f32; 3],
}

#[derive(Wire, Default, Clone, PartialEq)]
enum Weapon {
    #[default]
    Fist,
    Bow {
        #[wire(range = 0..=30)]
        arrows: u8,
    },
    Staff(u64),
}

#[derive(Wire, Default)]
struct Player {
    #[wire(range = -10..=100)]
    health: i8,
    #[wire(max_len = 9)]
    name: String,
    weapon: Weapon,
    target: Option<u16>,
    #[wire(range = 0..=1_000_000_000_000u64)]
    experience: u64,
    #[wire(varint)]
    score: i64,
    #[wire(max_len = 3)]
    bodies: Vec<Body>,
    #[wire(when = matches!(self.weapon, Weapon::Bow { .. }) && self.health > 0)]
    aim: f32,
    #[wire(when = self.bodies.len() >= 2 && self.score < 0, check = "after")]
    flags: [bool; 2],
    #[wire(max_len = 6)]
    blob: Vec<u8>,
    #[wire(range = 0..=9)]
    slots: [u8; 3],
    single: (),
}

#[test]
fn a_rigid_body_has_a_group_for_each_value() {
    let layout = layout::<Body>();
    let (rotation, category) = (Kind::Rotation { max: 1022 }, Kind::Category);
    assert_eq!(kinds(&layout), [(0, VECTOR), (3, rotation), (7, category), (8, VECTOR)]);
    let maxima: Vec<_> = layout.columns.iter().map(|column| column.max).collect();
    let axis = [512_000; 3];
    assert_eq!(maxima[..3], axis);
    assert_eq!(maxima[3..], [3, 1022, 1022, 1022, 1, 6400, 6400, 6400]);
}

#[test]
fn cells_of_absent_fields_are_zero() {
    let layout = layout::<Body>();
    let upright = [0.0, 0.0, 0.0, 1.0];
    let mut body = Body { orientation: upright, velocity: [1.0, 2.0, 3.0], ..Body::default() };
    let moving = cells(&layout, &mut body);
    assert_eq!(moving[3..], [3, 511, 511, 511, 0, 3300, 3400, 3500]);
    assert_eq!(present(&layout, &moving), [true; 4]);
    let resting = cells(&layout, &mut Body { at_rest: true, ..body });
    assert_eq!(resting[7..], [1, 0, 0, 0]);
    assert_eq!(present(&layout, &resting), [true, true, true, false]);
    assert!(layout.is_always_present(0) && !layout.is_always_present(3));

    let mut wrong = resting;
    wrong[8] = 1;
    let refused = layout.packet_of(&wrong, &mut [0; 64]).unwrap_err();
    assert!(matches!(refused, WriteError::Value { kind: ErrorKind::OutOfRange, .. }));
}

#[derive(Wire, Default)]
struct Guard {
    weapon: Weapon,
    body: Option<Body>,
    #[wire(range = 0..=4_000_000_000_000u64)]
    seen: u64,
}

#[test]
fn cells_are_accepted_if_they_can_be_written() {
    let mut rng = Rng(11);
    let (mut accepted, mut refused) = (0, 0);
    for layout in [layout::<Body>(), layout::<Guard>(), layout::<Player>()] {
        for _ in 0..2_000 {
            // Mostly zeros, since most other numbers are no value at all.
            let cells: Vec<_> = (layout.columns.iter())
                .map(|column| {
                    let max = u64::from(column.max);
                    let code = rng.next() % (max + 1 + max / 50);
                    if rng.is_one_in(24) { code as u32 } else { 0 }
                })
                .collect();
            let is_written = layout.packet_of(&cells, &mut [0; 512]).is_ok();
            assert_eq!(layout.accepts(&cells, &mut [0; 512]), is_written, "{cells:?}");
            if is_written { accepted += 1 } else { refused += 1 }
        }
    }
    assert!(accepted > 100 && refused > 100, "{accepted}, {refused}");
}

#[test]
fn every_type_round_trips_bit_for_bit() {
    let layout = layout::<Player>();
    let upright = [0.0, 0.0, 0.0, 1.0];
    let body = |at_rest| Body { orientation: upright, at_rest, ..Body::default() };
    let mut player = Player::default();
    cells(&layout, &mut player);
    for weapon in [Weapon::Fist, Weapon::Bow { arrows: 7 }, Weapon::Staff(u64::MAX - 1)] {
        for score in [0, -1, i64::MAX, i64::MIN] {
            for name in ["", "Ada", "ÄÖÜ", "日本語", "a😀b😀"] {
                player.weapon = weapon.clone();
                player.name = if name.len() <= 9 { name.into() } else { "😀".into() };
                player.health = if name.is_empty() { -10 } else { 99 };
                player.score = score;
                player.bodies = (0..name.len() % 4).map(|i| body(i % 2 == 0)).collect();
                player.target = (score < 0).then_some(9);
                player.experience = 1_000_000_000_000 - name.len() as u64;
                player.blob = name.bytes().take(6).collect();
                player.aim = f32::NAN;
                cells(&layout, &mut player);
            }
        }
    }
}

#[test]
fn cells_that_no_packet_has_are_refused() {
    let layout = layout::<Player>();
    let good = cells(&layout, &mut Player { name: "Ada".into(), ..Player::default() });
    let mut buffer = [0; 4096];
    for (column, value) in [(0, 111), (1, 10), (2, u32::from(b'x')), (2, u32::MAX), (3, 1), (7, 1)]
    {
        let mut wrong = good.clone();
        wrong[column] = value;
        assert!(layout.packet_of(&wrong, &mut buffer).is_err(), "{column} {value}");
    }
    let refused = layout.packet_of(&good[1..], &mut buffer).unwrap_err();
    assert_eq!(refused, WriteError::Value { kind: ErrorKind::Mismatch, bit: 0 });
    assert!(layout.cells_of(&[], &mut [0; 3]).is_err());
    assert!(matches!(layout.packet_of(&good, &mut []), Err(WriteError::Full { .. })));

    let rotation = self::layout::<Body>();
    let mut cells = vec![0; rotation.columns.len()];
    let refused = rotation.packet_of(&cells, &mut buffer).unwrap_err();
    assert!(matches!(refused, WriteError::Value { kind: ErrorKind::NotUnit, .. }));
    cells[4..7].fill(511);
    assert!(rotation.packet_of(&cells, &mut buffer).is_ok());
}

#[derive(Wire, Default)]
struct Fixed {
    #[wire(range = 0..=1_000_000_000_000u64)]
    experience: u64,
    #[wire(smallest_three = 9)]
    orientation: [f32; 4],
    #[wire(range = 0..=100)]
    health: u8,
    #[wire(range = 5..=5)]
    constant: u8,
    word: u32,
    alive: bool,
}

#[test]
fn a_fixed_layout_is_coded_without_steps() {
    let layout = layout::<Fixed>();
    assert_eq!(layout.program.fixed.as_ref().unwrap().bits, 40 + 29 + 7 + 32 + 1);
    let orientation = [0.1, -0.7, 0.2, 0.6];
    let mut value = Fixed { experience: 999_999_999_999, orientation, ..Fixed::default() };
    (value.health, value.constant, value.word, value.alive) = (77, 5, 0xdead_beef, true);
    let row = cells(&layout, &mut value);
    assert_eq!(row[6..], [77, 0, 0xdead_beef, 1]);
    let mut buffer = [0; 14];
    let packet = layout.packet_of(&row, &mut buffer).unwrap().to_vec();
    let mut again = vec![0; row.len()];
    for (byte, bit) in (0..14).flat_map(|byte| (0..8).map(move |bit| (byte, bit))) {
        let mut other = packet.clone();
        other[byte] ^= 1 << bit;
        let is_good = tightwire_core::stream::decode::<Fixed>(&other).is_ok();
        assert_eq!(layout.cells_of(&other, &mut again).is_ok(), is_good, "{byte} {bit}");
    }
    assert!(layout.cells_of(&packet[1..], &mut again).is_err());
    assert!(matches!(layout.packet_of(&row, &mut buffer[1..]), Err(WriteError::Full { .. })));
    let mut above = row;
    (above[0], above[1]) = (u32::MAX, 232);
    assert!(layout.packet_of(&above, &mut buffer).is_err());
}

#[test]
fn types_without_a_layout_are_refused_with_their_path() {
    struct ByHand;
    impl Wire for ByHand {
        fn serialize<S: tightwire_core::stream::Stream>(
            _: tightwire_core::stream::Target<'_, S::Access, Self>,
            _: &mut S,
        ) -> Result<(), S::Error> {
            Ok(())
        }
    }
    #[derive(Wire)]
    struct Opaque {
        part: ByHand,
    }
    #[derive(Wire)]
    struct Source {
        number: u8,
        #[wire(when = self.number.count_ones() > 2)]
        part: u8,
    }
    #[derive(Wire)]
    struct Inner {
        #[wire(max_len = 3000)]
        chat: String,
        alive: bool,
    }
    #[derive(Wire)]
    struct Long {
        inner: Inner,
        #[wire(max_len = 400)]
        items: Vec<u16>,
    }
    let refused = refusal::<Opaque>();
    assert!(refused.starts_with("Opaque.part: `ByHand` is serialized by hand"), "{refused}");
    let refused = refusal::<Source>();
    assert!(refused.starts_with("Source.part: the condition `number.count_ones()"), "{refused}");
    assert_eq!(
        refusal::<Long>(),
        "Long: it has 1153 columns, and a class has at most 1024: the largest field is \
         `inner.chat` with 751; give it a smaller `max_len`, or send it in a message"
    );
    let selection = Shape::Op(Op::Index { count: 9 });
    let refused = Layout::new(&Schema::new(selection).unwrap(), TICKS).unwrap_err();
    assert!(refused.to_string().starts_with("packet: `index of 9` depends on"), "{refused}");
    assert!(Layout::new(&Schema::of::<Body>(), 0).is_err());
    assert!(Layout::new(&Schema::of::<[u8; MAX_COLUMNS]>(), TICKS).is_ok());
    assert!(Layout::new(&Schema::of::<[[(); 100_000]; 100_000]>(), TICKS).is_err());
}

#[test]
fn conditions_cannot_read_fields_that_may_be_absent() {
    let field = |name: &str| Condition::Field(vec![name.into()]);
    let when = |name: &str, condition| Field {
        when: Some(condition),
        ..Field::new(name, Shape::Op(Op::Bool))
    };
    let both = Condition::Binary(Binary::And, Box::new([field("a"), field("b")]));
    let structure = |last| {
        let fields = vec![Field::new("a", Shape::Op(Op::Bool)), when("b", field("a")), last];
        Schema::new(Shape::Struct { name: "S".into(), fields }).unwrap()
    };
    let refused = Layout::new(&structure(when("c", field("b"))), TICKS).unwrap_err();
    assert!(refused.to_string().starts_with("S.c: its condition looks at `b`, which is not"));
    assert!(Layout::new(&structure(when("c", both)), TICKS).is_ok());
}

/// An enum whose values are compared by a condition; with `T` a float, one that cannot be.
#[derive(Wire, Default, Clone, PartialEq)]
enum Slot<T> {
    #[default]
    Empty,
    Full(u8, T),
}

#[derive(Wire, Default, Clone)]
struct Slots<T: Wire + Default + PartialEq> {
    held: Slot<T>,
    wanted: Slot<T>,
    #[wire(when = self.held == self.wanted)]
    since: u16,
}

#[test]
fn enums_are_compared_with_their_values() {
    let layout = layout::<Slots<Option<u8>>>();
    let slots: [Slot<Option<u8>>; 5] = [
        Slot::Empty,
        Slot::Full(0, None),
        Slot::Full(1, None),
        Slot::Full(1, Some(0)),
        Slot::Full(1, Some(2)),
    ];
    let last = layout.groups.len() - 1;
    for held in &slots {
        for wanted in &slots {
            let is_same = held == wanted;
            let since = if is_same { 7 } else { 0 };
            let mut value = Slots { held: held.clone(), wanted: wanted.clone(), since };
            let cells = cells(&layout, &mut value);
            assert_eq!(present(&layout, &cells)[last], is_same);
        }
    }
    let refused = refusal::<Slots<f32>>();
    assert!(
        refused.starts_with("Slots.since: the condition `held == wanted` compares"),
        "{refused}"
    );
}

#[test]
fn huge_conditions_do_not_overflow_the_stack() {
    // As deep as a condition may be, and as wide.
    fn tree(levels: u32) -> Condition {
        match levels {
            0 => Condition::Not(Box::new(Condition::Field(vec!["a".into()]))),
            _ => Condition::Binary(Binary::And, Box::new([tree(levels - 1), tree(levels - 1)])),
        }
    }
    let bool = Shape::Op(Op::Bool);
    let last = Field { when: Some(tree(12)), ..Field::new("b", bool.clone()) };
    let fields = vec![Field::new("a", bool), last];
    let schema = Schema::new(Shape::Struct { name: "S".into(), fields }).unwrap();
    let small = std::thread::Builder::new().stack_size(128 << 10);
    let checked = small.spawn(move || {
        let layout = Layout::new(&schema, TICKS).unwrap();
        [[0, 0], [1, 0]].map(|cells| layout.is_present(1, &cells))
    });
    assert_eq!(checked.unwrap().join().unwrap(), [true, false]);
}
