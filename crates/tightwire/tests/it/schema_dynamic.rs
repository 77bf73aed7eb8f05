//! Packets read and written with a schema alone, compared with the types that it describes.

use tightwire::schema::{Dynamic, DynamicError, Schema};
use tightwire::stream::{
    Binary, Condition, ErrorKind, Field, MeasureStream, Number, Op, ReadError, Shape, Trace, Value,
};
use tightwire::{FloatRange, Stream, Target, Wire, at};

use crate::common::rng::Rng;
use crate::common::shapes;
use crate::common::volume::volume;

const POSITION: FloatRange = FloatRange::new(-256.0, 256.0, 0.001);

#[derive(Clone, Default, PartialEq, Debug)]
struct Player {
    health: u8,
    heading: i16,
    name: String,
    body: Body,
    target: Option<u16>,
    inventory: Vec<Item>,
    grid: [u8; 3],
    order: Order,
    tick: i64,
}

#[derive(Clone, Default, PartialEq, Debug)]
struct Body {
    position: [f32; 3],
    at_rest: bool,
    velocity: [f32; 3],
}

#[derive(Clone, Default, PartialEq, Debug)]
struct Item {
    kind: u8,
    count: u32,
}

#[derive(Wire, Clone, Default, PartialEq, Debug)]
enum Order {
    #[default]
    Wait,
    Go {
        x: u8,
    },
}

impl Wire for Player {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.int(at!(this.health), 0..=100)?;
        stream.int(at!(this.heading), -180..=180)?;
        stream.string(at!(this.name), 31)?;
        stream.object(at!(this.body))?;
        stream.option(at!(this.target), |id, s| s.int(id, 0..=1023))?;
        stream.array(at!(this.inventory), 16, Wire::serialize)?;
        stream.object(at!(this.grid))?;
        stream.object(at!(this.order))?;
        stream.varint(at!(this.tick))?;
        stream.named("end").check("end of player")
    }

    fn describe() -> Shape {
        let id = Op::Int { min: Number::Unsigned(0), max: Number::Unsigned(1023) };
        let heading = Op::Int { min: Number::Signed(-180), max: Number::Signed(180) };
        structure(
            "Player",
            vec![
                Field::new("health", unsigned(100)),
                Field::new("heading", Shape::Op(heading)),
                Field::new("name", Shape::Op(Op::String { max_len: 31 })),
                Field::new("body", Body::describe()),
                Field::new("target", Shape::Option(Box::new(Shape::Op(id)))),
                Field::new(
                    "inventory",
                    Shape::List { max_len: 16, element: Box::new(Item::describe()) },
                ),
                Field::new("grid", <[u8; 3]>::describe()),
                Field::new("order", Order::describe()),
                Field::new("tick", Shape::Op(Op::varint::<i64>())),
                Field::new("end", Shape::Op(Op::Check { name: "end of player".into() })),
            ],
        )
    }
}

impl Wire for Body {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.compressed_vector(at!(this.position), POSITION)?;
        stream.bool(at!(this.at_rest))?;
        if !this.at_rest {
            stream.vector(at!(this.velocity))?;
        } else if S::READING {
            at!(this.velocity).put([0.0; 3]);
        }
        Ok(())
    }

    fn describe() -> Shape {
        let velocity = Field::new("velocity", Shape::Op(Op::Vector { dimensions: 3 }));
        let moves = Condition::Not(Box::new(Condition::Field(vec!["at_rest".into()])));
        let position = Op::CompressedVector { dimensions: 3, range: POSITION };
        structure(
            "Body",
            vec![
                Field::new("position", Shape::Op(position)),
                Field::new("at_rest", Shape::Op(Op::Bool)),
                Field { when: Some(moves), ..velocity },
            ],
        )
    }
}

impl Wire for Item {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.int(at!(this.kind), 0..=9)?;
        stream.varint(at!(this.count))
    }

    fn describe() -> Shape {
        let count = Shape::Op(Op::varint::<u32>());
        structure("Item", vec![Field::new("kind", unsigned(9)), Field::new("count", count)])
    }
}

fn structure(name: &str, fields: Vec<Field>) -> Shape {
    Shape::Struct { name: name.into(), fields }
}

fn unsigned(max: u128) -> Shape {
    Shape::Op(Op::Int { min: Number::Unsigned(0), max: Number::Unsigned(max) })
}

fn player(at_rest: bool) -> Player {
    Player {
        health: 77,
        heading: -90,
        name: "Ada".into(),
        body: Body { position: [1.0, 2.0, -3.0], at_rest, velocity: [0.0, 5.0, 0.0] },
        target: (!at_rest).then_some(17),
        inventory: vec![Item { kind: 3, count: 1000 }, Item { kind: 9, count: 0 }],
        grid: [1, 2, 3],
        order: if at_rest { Order::Wait } else { Order::Go { x: 200 } },
        tick: -5,
    }
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
fn a_schema_reads_writes_measures_and_explains_as_the_type_does() {
    let schema = Schema::new(Player::describe()).unwrap();
    for at_rest in [false, true] {
        let typed = player(at_rest);
        let mut buffer = [0; 256];
        let packet = tightwire::encode(&typed, &mut buffer).unwrap();
        let mut tree = schema.decode(packet).unwrap();
        assert_eq!(tree.at("inventory[0].count"), Some(&1000u64.into()));
        assert_eq!(tree.at("tick"), Some(&(-5i64).into()));
        assert_eq!(tree.at("body.velocity").is_some(), !at_rest);
        assert_eq!(tree.at("order.x").is_some(), !at_rest);
        let mut other = [0; 256];
        assert_eq!(schema.encode(&tree, &mut other).unwrap(), packet);
        let bits = MeasureStream::bits_of(|stream| schema.serialize(&mut tree, stream));
        assert_eq!(bits, tightwire::measure(&typed));

        assert_eq!(
            trace_lines(&schema.explain(packet)),
            trace_lines(&tightwire::explain::<Player>(packet))
        );
        // Also where the packet is cut or a bit is wrong.
        for length in 0..packet.len() {
            let cut = &packet[..length];
            assert_eq!(
                trace_lines(&schema.explain(cut)),
                trace_lines(&tightwire::explain::<Player>(cut))
            );
            // Perhaps at another bit: tuples and short arrays are read in words.
            let typed = tightwire::decode::<Player>(cut).unwrap_err();
            assert_eq!(typed.kind, ErrorKind::UnexpectedEnd);
            let refused = schema.decode(cut).unwrap_err();
            assert!(matches!(refused, DynamicError::Read(read) if read.kind == typed.kind));
        }
        for bit in 0..packet.len() * 8 {
            let mut wrong = packet.to_vec();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(
                trace_lines(&schema.explain(&wrong)),
                trace_lines(&tightwire::explain::<Player>(&wrong))
            );
        }
    }
}

#[test]
fn random_trees_of_random_schemas_come_back() {
    let mut rng = Rng::new(1);
    let mut buffer = [0; 1 << 16];
    for _ in 0..volume(2_000, 30_000) {
        let shape = shapes::shape(&mut rng, 4);
        let schema = Schema::new(shape.clone()).unwrap();
        let mut tree = shapes::value(&mut rng, &shape);
        let packet = match schema.encode(&tree, &mut buffer) {
            Ok(packet) => packet,
            Err(error) => panic!("{error}: {schema:?} {tree}"),
        };
        let bits = MeasureStream::bits_of(|stream| schema.serialize(&mut tree, stream));
        assert!(packet.len() as u64 * 8 <= bits + 7, "{schema:?}");
        assert!(bits <= schema.max_bits(), "{schema:?}");
        let read = schema.decode(packet).unwrap_or_else(|e| panic!("{e}: {schema:?} {tree}"));
        let mut other = [0; 1 << 16];
        let again = schema.encode(&read, &mut other).unwrap();
        assert_eq!(again, packet, "{schema:?} {tree} {read}");
        assert_eq!(schema.explain(packet).failure(), None);
    }
}

#[test]
fn conditions_compare_numbers_of_any_type() {
    let number = |number| Box::new(Condition::Number(number));
    let holds = |operator, a: Number, b: Number| {
        let condition = Condition::Binary(operator, Box::new([*number(a), *number(b)]));
        let field = Field { when: Some(condition), ..Field::new("f", Shape::Op(Op::Bool)) };
        let schema = Schema::new(structure("S", vec![field])).unwrap();
        schema.decode(&[]).is_err()
    };
    assert!(holds(Binary::Less, Number::Signed(-1), Number::Unsigned(u128::MAX)));
    assert!(holds(Binary::Greater, Number::Unsigned(u128::MAX), Number::Signed(i128::MAX)));
    assert!(holds(Binary::Equal, Number::Unsigned(5), Number::Signed(5)));
    assert!(holds(Binary::Equal, Number::Float(0.1), Number::Double(0.1)));
    assert!(!holds(Binary::Equal, Number::Double(0.1), Number::Unsigned(0)));
    assert!(holds(Binary::NotEqual, Number::Signed(i128::MIN), Number::Unsigned(0)));
    assert!(holds(Binary::GreaterOrEqual, Number::Unsigned(1), Number::Float(0.5)));
    assert!(holds(Binary::LessOrEqual, Number::Signed(-1), Number::Double(-1.0)));
}

#[test]
fn a_field_that_is_not_sent_counts_as_its_default_in_later_conditions() {
    let field = |name: &str| Condition::Field(vec![name.into()]);
    let when = |name: &str, condition| Field {
        when: Some(condition),
        ..Field::new(name, Shape::Op(Op::Bool))
    };
    let fields =
        vec![Field::new("a", Shape::Op(Op::Bool)), when("b", field("a")), when("c", field("b"))];
    let schema = Schema::new(structure("S", fields)).unwrap();
    for (packet, shown) in [
        (0b000, "S { a: false }"),
        (0b001, "S { a: true, b: false }"),
        (0b011, "S { a: true, b: true, c: false }"),
    ] {
        assert_eq!(schema.decode(&[packet]).unwrap().to_string(), shown);
    }
    // A tree can have more fields than are sent.
    let all = |a: bool| Dynamic::Struct {
        name: "S".into(),
        fields: vec![("a".into(), a.into()), ("b".into(), true.into()), ("c".into(), true.into())],
    };
    assert_eq!(schema.encode(&all(false), &mut [0; 1]).unwrap(), [0]);
    assert_eq!(schema.encode(&all(true), &mut [0; 1]).unwrap(), [0b111]);
}

#[test]
fn a_tree_of_another_form_is_refused_by_its_path() {
    let schema = Schema::of::<Player>();
    let mut buffer = [0; 256];
    let packet = tightwire::encode(&player(false), &mut buffer).unwrap();
    let refusal = |change: &dyn Fn(&mut Dynamic)| {
        let mut tree = schema.decode(packet).unwrap();
        change(&mut tree);
        schema.encode(&tree, &mut [0; 256]).unwrap_err().to_string()
    };
    let set = |tree: &mut Dynamic, name: &str, value: Dynamic| {
        *tree.get_mut(name).unwrap() = value;
    };
    let is = |change: &dyn Fn(&mut Dynamic), expected: &str| {
        assert_eq!(refusal(change), expected);
    };
    is(
        &|tree| set(tree, "health", "full".into()),
        "Player.health: an unsigned integer is needed for `int 0..=100`, not text",
    );
    is(&|tree| set(tree, "body", 1u64.into()), "Player.body: a struct is needed, not an integer");
    is(
        &|tree| set(tree, "grid", Dynamic::List(vec![])),
        "Player.grid: 3 elements are needed, not 0",
    );
    is(
        &|tree| {
            let Some(Dynamic::Enum { variant, .. }) = tree.get_mut("order") else { panic!() };
            *variant = "Fly".into();
        },
        "Player.order: no variant is called `Fly`",
    );
    is(
        &|tree| {
            let Some(Dynamic::List(items)) = tree.get_mut("inventory") else { panic!() };
            let Dynamic::Struct { fields, .. } = &mut items[1] else { panic!() };
            fields.pop();
        },
        "Player.inventory[1].count: the field is missing",
    );
    is(
        &|tree| {
            let Dynamic::Struct { fields, .. } = tree else { panic!() };
            fields.insert(1, ("mana".into(), 1u64.into()));
        },
        "Player: the schema has no field `mana` here",
    );
    is(&|tree| set(tree, "health", 101u64.into()), "Player.health at bit 0: 101 is not in 0..=100");
    // Another order is no other form.
    let mut tree = schema.decode(packet).unwrap();
    let Dynamic::Struct { fields, .. } = &mut tree else { panic!() };
    fields.reverse();
    assert_eq!(schema.encode(&tree, &mut [0; 256]).unwrap(), packet);
}

#[test]
fn undescribed_fields_are_named() {
    let refusal = |shape: Shape, when: Option<Condition>| {
        let fields =
            vec![Field::new("a", Shape::Op(Op::Bool)), Field { when, ..Field::new("f", shape) }];
        let schema = Schema::new(structure("S", fields)).unwrap();
        let trace = schema.explain(&[0; 8]);
        assert_eq!(trace.failure().unwrap().0, ErrorKind::Undescribed);
        assert_eq!(trace.refused().unwrap().path(), "S.f", "the field before is not to blame");
        schema.decode(&[0; 8]).unwrap_err().to_string()
    };
    assert_eq!(
        refusal(Shape::Opaque { name: "Brain".into(), max_bits: 7 }, None),
        "S.f: `Brain` is serialized by hand, which no schema describes"
    );
    assert_eq!(
        refusal(Shape::Op(Op::IntRelative), None),
        "S.f: `int_relative` depends on what only the program knows"
    );
    let source = Condition::Source("self.a() || rand()".into());
    assert_eq!(
        refusal(Shape::Op(Op::Bool), Some(source)),
        "S.f: the condition `self.a() || rand()` cannot be evaluated"
    );
    let sum = Condition::Len(Box::new(Condition::Field(vec!["a".into()])));
    assert_eq!(
        refusal(Shape::Op(Op::Bool), Some(sum)),
        "S.f: the condition `a.len()` cannot be evaluated"
    );
}

#[test]
fn elements_that_no_bit_pays_for_end_at_a_bound() {
    let mut shape = Shape::Op(Op::Bits { width: 0 });
    for _ in 0..8 {
        shape = Shape::Array { len: 1 << 31, element: Box::new(shape) };
    }
    let schema = Schema::new(shape).unwrap();
    let (result, info) = {
        let mut result = None;
        let info = allocation_counter::measure(|| result = Some(schema.decode(&[])));
        (result.unwrap(), info)
    };
    let refused = ReadError { kind: ErrorKind::UnexpectedEnd, bit: 0 };
    assert_eq!(result, Err(DynamicError::Read(refused)));
    assert!(info.bytes_max < 8 << 20, "took {} bytes", info.bytes_max);
    // Nor are they written.
    let nothing = Dynamic::Value(Value::Number(Number::Unsigned(0)));
    let pair = |of: Shape| Shape::Array { len: 200, element: Box::new(of) };
    let schema = Schema::new(pair(pair(Shape::Op(Op::Bits { width: 0 })))).unwrap();
    let tree = Dynamic::List(vec![Dynamic::List(vec![nothing; 200]); 200]);
    assert!(matches!(schema.encode(&tree, &mut [0; 8]), Err(DynamicError::Value(_))));
}
