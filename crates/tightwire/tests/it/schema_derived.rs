//! The schema of a derived type is the type: the same bytes, the same worst case, the same story.

use tightwire::schema::{Dynamic, Schema};
use tightwire::stream::{Binary, Condition, Field, Op, Shape, Trace};
use tightwire::{Stream, Wire};

#[derive(Wire, Clone, Default, PartialEq, Debug)]
struct Player {
    #[wire(range = 0..=100)]
    health: u8,
    #[wire(bits = 12)]
    flags: u16,
    #[wire(varint)]
    score: i64,
    #[wire(min = -256.0, max = 256.0, resolution = 0.001)]
    position: [f32; 3],
    #[wire(smallest_three = 10)]
    orientation: [f32; 4],
    motion: Motion,
    #[wire(when = self.motion.at_rest && self.flags & 4 != 0, unit = 9)]
    aim: [f32; 3],
    #[wire(when = self.health > 50, max_len = 31, check = "after the name")]
    name: String,
    weapon: Weapon,
    #[wire(when = matches!(self.weapon, Weapon::Bow { .. } | Weapon::Staff(..)))]
    charge: f32,
    #[wire(max_len = 8)]
    inventory: Vec<Item>,
    #[wire(when = self.inventory.len() >= 2)]
    grid: [[u8; 2]; 3],
    target: Option<u32>,
    #[wire(when = self.target.is_some())]
    distance: f64,
}

#[derive(Wire, Clone, Default, PartialEq, Debug)]
struct Motion {
    at_rest: bool,
    #[wire(when = !self.at_rest)]
    velocity: [f32; 3],
}

#[derive(Wire, Clone, Default, PartialEq, Debug)]
enum Weapon {
    #[default]
    Fist,
    Bow {
        #[wire(range = 0..=20)]
        arrows: u8,
    },
    Staff(u16, bool),
}

#[derive(Wire, Clone, Default, PartialEq, Debug)]
struct Item(u8, #[wire(varint)] u32);

fn players() -> Vec<Player> {
    let (at_rest, axis) = (Motion { at_rest: true, velocity: [0.0; 3] }, [0.0, 0.0, 1.0]);
    let one = Player { orientation: [0.0, 0.0, 0.0, 1.0], aim: axis, ..Player::default() };
    vec![
        one.clone(),
        Player { health: 51, name: "Ada".into(), score: -70_000, ..one.clone() },
        Player { motion: at_rest, flags: 0xffc, weapon: Weapon::Staff(7, true), ..one.clone() },
        Player {
            weapon: Weapon::Bow { arrows: 20 },
            charge: 0.5,
            inventory: vec![Item(1, 2), Item(3, 4_000_000_000)],
            grid: [[1, 2], [3, 4], [5, 6]],
            target: Some(9),
            distance: 0.1,
            ..one
        },
    ]
}

/// Everything of a trace but where in the source the operations stand.
fn told(trace: &Trace) -> Vec<String> {
    let line = |node: tightwire::stream::Node<'_>| {
        let (op, value) = (node.op().unwrap(), node.value().unwrap());
        format!("{} {op} {:?} {value} {}", node.path(), node.bits(), node.is_refused())
    };
    let mut lines: Vec<_> = trace.spans().map(line).collect();
    lines.push(format!("{:?}", trace.failure()));
    lines
}

#[test]
fn a_derived_type_and_its_schema_agree() {
    let schema = Schema::new(Player::describe()).unwrap();
    assert_eq!(schema, tightwire::schema::Schema::of::<Player>());
    assert_eq!(schema.max_bits(), Player::MAX_BITS);
    for player in players() {
        let (mut buffer, mut other) = ([0; 256], [0; 256]);
        let packet = tightwire::encode(&player, &mut buffer).unwrap();
        let tree = schema.decode(packet).unwrap();
        assert_eq!(schema.encode(&tree, &mut other).unwrap(), packet);
        assert_eq!(told(&schema.explain(packet)), told(&tightwire::explain::<Player>(packet)));
        for length in 0..packet.len() {
            let cut = &packet[..length];
            assert_eq!(told(&schema.explain(cut)), told(&tightwire::explain::<Player>(cut)));
        }
        for bit in 0..packet.len() * 8 {
            let mut wrong = packet.to_vec();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(told(&schema.explain(&wrong)), told(&tightwire::explain::<Player>(&wrong)));
            let is_read = tightwire::decode::<Player>(&wrong).is_ok();
            assert_eq!(schema.decode(&wrong).is_ok(), is_read);
        }
    }
}

#[test]
fn the_schema_of_a_type_goes_over_the_wire() {
    let sent = Schema::of::<Player>();
    let mut buffer = [0; 1024];
    let packet = tightwire::encode(&sent, &mut buffer).unwrap();
    assert_eq!(tightwire::decode::<Schema>(packet).unwrap(), sent);
    assert!(packet.len() < 500, "{} bytes", packet.len());
}

#[derive(Wire, Clone, Default, PartialEq, Debug)]
enum Slot {
    #[default]
    Empty,
    Full(u8),
    Held {
        known: bool,
        #[wire(when = self.known)]
        count: i8,
        #[wire(max_len = 2)]
        marks: Vec<bool>,
    },
}

/// A field for each kind of value that `==` compares as a whole.
#[derive(Wire, Clone, Default, PartialEq, Debug)]
struct Pairs {
    slots: (Slot, Slot),
    options: (Option<bool>, Option<bool>),
    #[wire(max_len = 2)]
    texts: Vec<Text>,
    text: Text,
    #[wire(when = self.slots.0 == self.slots.1)]
    same_slot: u8,
    #[wire(when = self.slots.0 != self.slots.1)]
    other_slot: u16,
    #[wire(when = self.options.0 == self.options.1)]
    same_option: u8,
    #[wire(when = self.slots.0 == Slot::Empty)]
    is_empty: u8,
    #[wire(when = matches!(self.slots.0, Slot::Held { .. }))]
    is_held: u8,
}

#[derive(Wire, Clone, Default, PartialEq, Debug)]
struct Text(#[wire(max_len = 3)] String);

fn pairs() -> Vec<Pairs> {
    let held = |known, count, marks: &[bool]| Slot::Held { known, count, marks: marks.to_vec() };
    let slots = [
        Slot::Empty,
        Slot::Full(0),
        Slot::Full(1),
        held(false, 0, &[]),
        held(true, 0, &[]),
        held(true, 1, &[]),
        held(true, 1, &[false]),
        held(true, 1, &[true]),
    ];
    let options = [None, Some(false), Some(true)];
    let pair = |(first, second): (usize, usize)| {
        let slots = (slots[first].clone(), slots[second].clone());
        let options = (options[first % 3], options[second % 3]);
        let [a, b, c, d, e] = [
            slots.0 == slots.1,
            slots.0 != slots.1,
            options.0 == options.1,
            first == 0,
            matches!(slots.0, Slot::Held { .. }),
        ];
        let sent = |is_sent, value| if is_sent { value } else { 0 };
        Pairs {
            slots,
            options,
            texts: vec![Text("a".into())],
            text: Text("b".into()),
            same_slot: sent(a, 1),
            other_slot: b.into(),
            same_option: sent(c, 3),
            is_empty: sent(d, 4),
            is_held: sent(e, 5),
        }
    };
    (0..64).map(|place| pair((place / 8, place % 8))).collect()
}

#[test]
fn values_are_compared_as_a_whole() {
    let schema = Schema::new(Pairs::describe()).unwrap();
    let identity = tightwire::packet::Identity::new(
        "pairs",
        "1",
        tightwire::packet::Protection::None,
        schema.clone(),
    );
    let mut tally = tightwire::packet::Tally::new(&identity);
    for value in pairs() {
        let (mut buffer, mut other) = ([0; 64], [0; 64]);
        let packet = tightwire::encode(&value, &mut buffer).unwrap();
        assert_eq!(tightwire::decode::<Pairs>(packet), Ok(value.clone()));
        assert_eq!(told(&schema.explain(packet)), told(&tightwire::explain::<Pairs>(packet)));
        let tree = schema.decode(packet).unwrap();
        assert_eq!(schema.encode(&tree, &mut other).unwrap(), packet);
        // Elsewhere a tally keeps no elements of lists.
        tally.count(packet).unwrap();
    }
}

#[test]
fn comparing_large_values_again_and_again_has_an_end() {
    // Each byte of the packet is looked at by each of many conditions.
    let list = || Shape::List { max_len: 1 << 16, element: Box::new(Shape::Op(Op::Bool)) };
    let mut fields = vec![Field::new("a", list()), Field::new("b", list())];
    let name = |name: &str| Condition::Field(vec![name.into()]);
    let unequal = || Condition::Binary(Binary::NotEqual, Box::new([name("a"), name("b")]));
    for index in 0..1 << 12 {
        let shape = Shape::Op(Op::Bits { width: 8 });
        fields.push(Field { when: Some(unequal()), ..Field::new(&format!("f{index}"), shape) });
    }
    let schema = Schema::new(Shape::Struct { name: "S".into(), fields }).unwrap();
    // Two lists of 2^14 elements, all false.
    let mut buffer = vec![0; 1 << 14];
    let list = || Dynamic::List(vec![false.into(); 1 << 14]);
    let value = Dynamic::Struct {
        name: "S".into(),
        fields: vec![("a".into(), list()), ("b".into(), list())],
    };
    let start = std::time::Instant::now();
    assert!(schema.encode(&value, &mut buffer).is_err());
    // The same by hand, as a hostile peer would.
    let mut stream = tightwire::stream::WriteStream::new(&mut buffer);
    for _ in 0..2 {
        let mut items = vec![false; 1 << 14];
        let Ok(()) = stream.array(&mut items, 1 << 16, |item, stream| stream.bool(item));
    }
    let packet = stream.finish().unwrap();
    assert!(schema.decode(packet).is_err());
    assert!(start.elapsed().as_secs() < 10);
}
