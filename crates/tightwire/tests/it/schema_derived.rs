//! The schema of a derived type equals the type: the same bytes, the same maximum size, the same
//! trace.

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

/// Returns a trace as lines, without the source locations of the operations.
fn trace_lines(trace: &Trace) -> Vec<String> {
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
        assert_eq!(
            trace_lines(&schema.explain(packet)),
            trace_lines(&tightwire::explain::<Player>(packet))
        );
        for length in 0..packet.len() {
            let cut = &packet[..length];
            assert_eq!(
                trace_lines(&schema.explain(cut)),
                trace_lines(&tightwire::explain::<Player>(cut))
            );
        }
        for bit in 0..packet.len() * 8 {
            let mut wrong = packet.to_vec();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(
                trace_lines(&schema.explain(&wrong)),
                trace_lines(&tightwire::explain::<Player>(&wrong))
            );
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
        assert_eq!(
            trace_lines(&schema.explain(packet)),
            trace_lines(&tightwire::explain::<Pairs>(packet))
        );
        let tree = schema.decode(packet).unwrap();
        assert_eq!(schema.encode(&tree, &mut other).unwrap(), packet);
        // Elsewhere a tally keeps no elements of lists.
        tally.count(packet).unwrap();
    }
}

#[test]
fn comparing_large_values_again_and_again_has_an_end() {
    // Each byte of the packet is read by each of many conditions.
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

/// Asserts that the schema is accepted by a session, and reads packets of the type.
fn assert_valid<T: Wire + Default + PartialEq + std::fmt::Debug>(values: &[T]) {
    let schema = Schema::new(T::describe()).unwrap();
    for value in values {
        let mut buffer = [0; 2048];
        let packet = tightwire::encode(value, &mut buffer).unwrap();
        assert_eq!(tightwire::decode::<T>(packet).as_ref(), Ok(value));
        let traces =
            [schema.explain(packet), tightwire::explain::<T>(packet)].map(|t| trace_lines(&t));
        assert!(traces[0] == traces[1], "{value:?}");
        let tree = schema.decode(packet).unwrap();
        let mut again = [0; 2048];
        assert_eq!(schema.encode(&tree, &mut again).unwrap(), packet);
    }
    let mut buffer = vec![0; 1 << 16];
    let sent = tightwire::encode(&schema, &mut buffer).unwrap();
    assert_eq!(tightwire::decode::<Schema>(sent).unwrap(), schema);
}

const SHORT: usize = 3;
const LONG: usize = 65;

#[derive(Wire, Clone, Copy, PartialEq, Debug)]
struct Floats {
    literal: [f32; 65],
    vector: [f32; 64],
    #[wire(min = 0.0, max = 1.0, resolution = 0.25)]
    compressed: [f32; 65],
    long: [f32; LONG],
    #[wire(min = 0.0, max = 1.0, resolution = 0.25)]
    long_compressed: [f32; LONG],
    short: [f32; SHORT],
    #[wire(min = 0.0, max = 1.0, resolution = 0.25)]
    short_compressed: [f32; SHORT],
    nested: [[f32; 65]; 2],
}

impl Default for Floats {
    fn default() -> Self {
        let from = |step: f32| move |place: usize| place as f32 * step;
        let quarter = |place: usize| (place % 5) as f32 / 4.0;
        Self {
            literal: std::array::from_fn(from(1.0)),
            vector: std::array::from_fn(from(0.5)),
            compressed: std::array::from_fn(quarter),
            long: std::array::from_fn(from(2.0)),
            long_compressed: std::array::from_fn(quarter),
            short: std::array::from_fn(from(3.0)),
            short_compressed: std::array::from_fn(quarter),
            nested: [std::array::from_fn(from(-1.0)); 2],
        }
    }
}

#[test]
fn arrays_of_floats_have_any_length() {
    assert_valid(&[Floats::default()]);
    // A vector of a schema has up to 64 components, and a longer one is an array: the same bits.
    let Shape::Struct { fields, .. } = Floats::describe() else { panic!("no struct") };
    let is_array = |place: usize| matches!(fields[place].shape, Shape::Array { len: 65, .. });
    assert!([0, 2, 3, 4].into_iter().all(is_array), "{fields:?}");
    for (place, dimensions) in [(1, 64), (5, 3)] {
        assert_eq!(fields[place].shape, Shape::Op(Op::Vector { dimensions }));
    }
}

#[derive(Wire, Clone, Copy, Default, PartialEq, PartialOrd, Debug)]
struct Id(u16);

impl Id {
    const NONE: Self = Self(0xffff);

    fn len(self) -> u16 {
        self.0
    }
}

impl From<u16> for Id {
    fn from(id: u16) -> Self {
        Self(id)
    }
}

#[derive(Wire, Clone, Copy, Default, PartialEq, Debug)]
struct Place {
    cell: Id,
    known: bool,
    #[wire(when = self.known)]
    offset: [f32; 2],
}

/// Conditions over types that a macro does not know.
#[derive(Wire, Clone, Default, PartialEq, Debug)]
struct OverTypes {
    id: Id,
    places: (Place, Place),
    speed: f32,
    large: u128,
    least: i128,
    #[wire(when = self.id != Id::NONE)]
    newtype: u8,
    #[wire(when = self.id > Id(7))]
    call: u8,
    #[wire(when = self.id == Id(8) || self.id == Id(u16::MAX))]
    one_of: u8,
    #[wire(when = self.places.0 == self.places.1)]
    same: u8,
    #[wire(when = self.places.0 != self.places.1)]
    other: u8,
    #[wire(when = self.large > 170141183460469231731687303715884105728)]
    above: u8,
    #[wire(when = self.large == 170141183460469231731687303715884105729)]
    equal: u8,
    #[wire(when = self.least == -170141183460469231731687303715884105728)]
    is_least: u8,
    #[wire(when = self.least < -170141183460469231731687303715884105727)]
    below: u8,
}

#[test]
fn conditions_see_through_types() {
    let place = |cell, known, x| Place { cell: Id(cell), known, offset: [x, 0.0] };
    let places =
        [place(0, false, 0.0), place(1, false, 0.0), place(1, true, 0.0), place(1, true, 1.0)];
    let mut values = Vec::new();
    let half = 1u128 << 127;
    for (index, large) in [0, half, half + 1, u128::MAX].into_iter().enumerate() {
        for id in [0, 7, 8, 0xffff] {
            for other in 0..places.len() {
                let pair = (places[index], places[other]);
                let least = [i128::MIN, i128::MIN + 1, i128::MIN + 2, 0][other];
                let sent = |is_sent: bool| u8::from(is_sent);
                values.push(OverTypes {
                    id: Id(id),
                    places: pair,
                    speed: 1.0,
                    large,
                    least,
                    newtype: sent(id != 0xffff),
                    call: sent(id > 7),
                    one_of: sent(id == 8 || id == 0xffff),
                    same: sent(pair.0 == pair.1),
                    other: sent(pair.0 != pair.1),
                    above: sent(large > half),
                    equal: sent(large == half + 1),
                    is_least: sent(least == i128::MIN),
                    below: sent(least == i128::MIN),
                });
            }
        }
    }
    let schema = Schema::new(OverTypes::describe()).unwrap();
    let Shape::Struct { fields, .. } = schema.root() else { panic!("no struct") };
    assert!(!fields.iter().any(|f| matches!(f.when, Some(Condition::Source(_)))), "{fields:?}");
    assert_valid(&values);
}

/// Conditions that have no form as data are kept as source, and the schema is valid.
#[derive(Wire, Clone, Default, PartialEq, Debug)]
struct Sources {
    id: Id,
    speed: f32,
    vector: (f32, f32),
    slot: Slot,
    maybe: Option<u32>,
    #[wire(when = self.id.len() > 3)]
    method: u8,
    #[wire(when = self.slot == Slot::Full(3))]
    variant: u8,
    #[wire(when = self.maybe == Some(3_000_000_000))]
    some: u8,
    #[wire(when = self.id == Id::from(8))]
    function: u8,
    #[wire(when = self.speed < f32::INFINITY)]
    infinite: u8,
    #[wire(when = self.speed != f32::NAN && self.id == Id::NONE)]
    no_number: u8,
}

#[test]
fn conditions_that_are_no_data_are_their_source() {
    let schema = Schema::new(Sources::describe()).unwrap();
    let Shape::Struct { fields, .. } = schema.root() else { panic!("no struct") };
    let sources: Vec<_> = fields.iter().filter_map(|field| field.when.as_ref()).collect();
    assert!(sources.iter().all(|when| matches!(when, Condition::Source(_))), "{sources:?}");
    assert_eq!(sources[0].to_string(), "id.len() > 3");
}

macro_rules! many {
    ($name:ident: $($variant:ident $field:ident)*) => {
        #[derive(Wire, Clone, Copy, Default, PartialEq, Debug)]
        enum $name {
            #[default]
            None,
            $($variant,)*
        }

        #[derive(Wire, Clone, Default, PartialEq, Debug)]
        struct Many {
            kind: $name,
            $($field: bool,)*
            #[wire(when = matches!(self.kind, $($name::$variant)|*))]
            one_of: u8,
            #[wire(when = false $(|| self.$field)*)]
            any: u8,
            #[wire(when = true $(&& self.$field)*)]
            all: u8,
            #[wire(when = !(true $(&& !(self.$field && self.kind == $name::$variant))*))]
            mixed: u8,
        }

        impl Many {
            fn new(kind: $name, flags: &[bool]) -> Self {
                let mut flags = flags.iter().copied();
                let mut many = Self { kind, ..Self::default() };
                $(many.$field = flags.next().unwrap_or(false);)*
                many.one_of = u8::from(kind != $name::None);
                many.any = u8::from(false $(|| many.$field)*);
                many.all = u8::from(true $(&& many.$field)*);
                let mixed = !(true $(&& !(many.$field && many.kind == $name::$variant))*);
                many.mixed = u8::from(mixed);
                many
            }

            fn kinds() -> Vec<$name> {
                vec![$name::None, $($name::$variant),*]
            }
        }
    };
}

many! { Letter:
    A a B b C c D d E e F f G g H h I i J j K k L l M m N n O o P p Q q R r S s T t U u V v W w X x
    Y y Z z Aa aa Bb bb Cc cc Dd dd Ee ee Ff ff Gg gg Hh hh Ii ii Jj jj Kk kk Ll ll Mm mm Nn nn
}

#[test]
fn conditions_have_as_many_terms_as_anybody_writes() {
    let mut values = Vec::new();
    for (place, kind) in Many::kinds().into_iter().enumerate() {
        let mut flags = [false; 40];
        values.push(Many::new(kind, &flags));
        flags[place % 40] = true;
        values.push(Many::new(kind, &flags));
        flags[(place + 39) % 40] = true;
        values.push(Many::new(kind, &flags));
        values.push(Many::new(kind, &[true; 40]));
    }
    assert_valid(&values);
}
