//! Schemas on the wire and as JSON: valid ones round-trip, and others are refused.

use tightwire::schema::Schema;
use tightwire::stream::{
    Binary, Condition, ErrorKind, Field, Number, Op, ReadError, Shape, WriteStream,
};
use tightwire::{decode, encode};

use crate::common::rng::Rng;
use crate::common::shapes;
use crate::common::volume::volume;

fn random(rng: &mut Rng) -> Schema {
    let mut shape = shapes::structure(rng, 4);
    let Shape::Struct { fields, .. } = &mut shape else { panic!() };
    // Operations that only a whole program can run are described as well.
    match rng.below(4) {
        0 => fields.push(Field::new("more", Shape::Op(shapes::op_without_context(rng)))),
        1 => {
            let source = Condition::Source("self . f0 () > 3".into());
            let field = Field::new("more", Shape::Opaque { name: "Brain".into(), max_bits: 77 });
            fields.push(Field { when: Some(source), ..field });
        }
        _ => {}
    }
    Schema::new(shape).unwrap()
}

#[test]
fn a_schema_comes_back_over_the_wire() {
    let mut rng = Rng::new(3);
    let mut buffer = [0; 1 << 16];
    for _ in 0..volume(2_000, 20_000) {
        let schema = random(&mut rng);
        let packet = encode(&schema, &mut buffer).unwrap();
        assert_eq!(decode::<Schema>(packet).unwrap(), schema);
        // Also into an existing schema.
        let mut other = random(&mut rng);
        tightwire::decode_into(packet, &mut other).unwrap();
        assert_eq!(other, schema);
        for _ in 0..4 {
            let length = rng.below(packet.len());
            assert!(decode::<Schema>(&packet[..length]).is_err());
        }
    }
}

#[test]
fn invalid_schemas_are_neither_sent_nor_received() {
    // Made from a type, which is not validated.
    struct Reversed;
    impl tightwire::Wire for Reversed {
        fn serialize<S: tightwire::Stream>(
            _: tightwire::Target<'_, S::Access, Self>,
            _: &mut S,
        ) -> Result<(), S::Error> {
            Ok(())
        }
        fn describe() -> Shape {
            Shape::Op(Op::Int { min: Number::Unsigned(1), max: Number::Unsigned(0) })
        }
    }
    assert!(encode(&Schema::of::<Reversed>(), &mut [0; 64]).is_err());
    // By hand: an op, an int, without a sign, of 1..=0.
    let mut packet = [0; 4];
    let mut stream = WriteStream::new(&mut packet);
    {
        use tightwire::Stream;
        let Ok(()) = stream.int(&mut 0u8, 0..=6);
        let Ok(()) = stream.int(&mut 2u8, 0..=23);
        let Ok(()) = stream.bool(&mut false);
        let Ok(()) = stream.varint(&mut 1u128);
        let Ok(()) = stream.varint(&mut 0u128);
    }
    let packet = stream.finish().unwrap();
    assert_eq!(
        decode::<Schema>(packet).unwrap_err(),
        ReadError { kind: ErrorKind::Custom, bit: 25 }
    );
}

#[test]
fn a_deep_schema_ends_before_the_stack_does() {
    // Options in options: three bits each.
    let packet = [0b1101_1011, 0b1011_0110, 0b0110_1101].repeat(10_000);
    assert_eq!(decode::<Schema>(&packet).unwrap_err().kind, ErrorKind::Custom);
    let mut shape = Shape::Op(Op::Bool);
    for _ in 0..31 {
        shape = Shape::Option(Box::new(shape));
    }
    assert!(Schema::new(shape.clone()).is_ok());
    assert_eq!(
        Schema::new(Shape::Option(Box::new(shape))).unwrap_err().reason,
        "it is more than 32 levels deep"
    );
    let mut condition = Condition::Bool(true);
    for _ in 0..23 {
        condition = Condition::Not(Box::new(condition));
    }
    let of = |condition| {
        let field = Field { when: Some(condition), ..Field::new("f", Shape::Op(Op::Bool)) };
        Schema::new(Shape::Struct { name: "S".into(), fields: vec![field] })
    };
    assert!(of(condition.clone()).is_ok());
    assert!(of(Condition::Not(Box::new(condition))).is_err());
}

#[test]
fn a_condition_sees_only_what_stands_before_it() {
    let field = |path: &[&str]| Condition::Field(path.iter().map(|&name| name.into()).collect());
    let flag = |name: &str| Field::new(name, Shape::Op(Op::Bool));
    let inner = || Shape::Struct { name: "Inner".into(), fields: vec![flag("x")] };
    let accepts = |condition| {
        let fields = vec![
            flag("a"),
            Field::new("inner", inner()),
            Field { when: Some(condition), ..flag("b") },
            flag("c"),
        ];
        Schema::new(Shape::Struct { name: "S".into(), fields }).is_ok()
    };
    assert!(accepts(field(&["a"])));
    assert!(accepts(field(&["inner", "x"])));
    assert!(!accepts(field(&["inner"])), "a struct is no value");
    assert!(!accepts(field(&["inner", "y"])));
    assert!(!accepts(field(&["a", "x"])));
    assert!(!accepts(field(&["b"])));
    assert!(!accepts(field(&["c"])));
    assert!(!accepts(field(&[])));
    let nan = Condition::Number(Number::Float(f32::NAN));
    assert!(!accepts(Condition::Binary(Binary::Equal, Box::new([field(&["a"]), nan]))));
}

#[test]
fn names_are_short_and_harmless() {
    let accepts = |name: &str| {
        let fields = vec![Field::new(name, Shape::Op(Op::Bool))];
        Schema::new(Shape::Struct { name: "S".into(), fields }).is_ok()
    };
    assert!(accepts("größe"));
    assert!(accepts(&"n".repeat(255)));
    assert!(!accepts(&"n".repeat(256)));
    assert!(!accepts(""));
    assert!(!accepts("\u{1b}[2J"));
    // The direction of the text around it, and lines.
    assert!(!accepts("chat\u{202e}") && !accepts("\u{2067}chat") && !accepts("a\u{2028}b"));
    // Nothing of these can be seen.
    assert!(!accepts(" ") && !accepts("\u{200b}\u{feff}") && !accepts("\u{3000}\u{ad}"));
    // An astronaut has a joiner within, and a Persian word a non-joiner.
    assert!(
        accepts("\u{1f469}\u{200d}\u{1f680}")
            && accepts("\u{645}\u{6cc}\u{200c}\u{62e}\u{648}")
            && accepts(" x")
    );
}

#[cfg(feature = "serde")]
mod json {
    use super::*;
    use insta::assert_snapshot;
    use tightwire::Wire;
    use tightwire::schema::Dynamic;

    #[derive(Wire, Default)]
    struct Player {
        #[wire(range = 0..=100)]
        health: u8,
        at_rest: bool,
        #[wire(when = !self.at_rest && self.health > 3, min = -32.0, max = 32.0, resolution = 0.01)]
        velocity: [f32; 3],
        order: Order,
        #[wire(max_len = 8)]
        scores: Vec<Option<i16>>,
        #[wire(max_len = 31)]
        name: String,
    }

    #[derive(Wire, Default)]
    enum Order {
        #[default]
        Wait,
        Go {
            #[wire(varint)]
            x: i64,
        },
    }

    #[test]
    fn a_schema_is_readable() {
        let schema = Schema::of::<Player>();
        let json = serde_json::to_string(&schema).unwrap();
        // A field per line.
        let lines = json.replace(r#"{"name"#, "\n{\"name");
        assert_snapshot!(lines, @r#"
        {"struct":
        {"name":"Player","fields":[
        {"name":"health","int":{"min":0,"max":100}},
        {"name":"at_rest","bool":{}},
        {"name":"velocity","when":["&&",["!","at_rest"],[">","health",3]],"compressed_vector":{"dimensions":3,"min":-32.0,"max":32.0,"resolution":0.01}},
        {"name":"order","enum":
        {"name":"Order","variants":[
        {"name":"Wait"},
        {"name":"Go","fields":[
        {"name":"x","varint":{"bits":64,"signed":true}}]}]}},
        {"name":"scores","list":{"max_len":8,"element":{"option":{"int":{"min":-32768,"max":32767}}}}},
        {"name":"name","string":{"max_len":31}}]}}
        "#);
        assert_eq!(serde_json::from_str::<Schema>(&json).unwrap(), schema);
    }

    #[test]
    fn a_schema_comes_back() {
        let mut rng = Rng::new(4);
        for _ in 0..volume(500, 10_000) {
            let schema = random(&mut rng);
            let json = serde_json::to_string(&schema).unwrap();
            assert_eq!(serde_json::from_str::<Schema>(&json).unwrap(), schema, "{json}");
            // Not only from text.
            let value = serde_json::to_value(&schema).unwrap();
            assert_eq!(serde_json::from_value::<Schema>(value).unwrap(), schema);
        }
    }

    #[test]
    fn the_deepest_schema_comes_back() {
        let mut condition = Condition::Bool(true);
        for _ in 0..23 {
            let operands = Box::new([condition.clone(), Condition::Bool(true)]);
            condition = match condition {
                Condition::Binary(..) => Condition::Not(Box::new(condition)),
                _ => Condition::Binary(Binary::Or, operands),
            };
        }
        let leaf = Field {
            when: Some(condition),
            ..Field::new("f", Shape::Op(Op::Int { min: Number::Signed(0), max: Number::Signed(1) }))
        };
        for is_enum in [false, true] {
            let mut fields = vec![leaf.clone()];
            for _ in 0..if is_enum { 15 } else { 30 } {
                let name = "S".into();
                let shape = match is_enum {
                    true => Shape::Enum {
                        name,
                        variants: vec![tightwire::stream::Variant { name: "V".into(), fields }],
                    },
                    false => Shape::Struct { name, fields },
                };
                fields = vec![Field::new("f", shape)];
            }
            let schema = Schema::new(Shape::Struct { name: "S".into(), fields }).unwrap();
            let json = serde_json::to_string(&schema).unwrap();
            assert_eq!(serde_json::from_str::<Schema>(&json).unwrap(), schema);
        }
    }

    #[test]
    fn numbers_of_every_size_come_back() {
        for (min, max) in [
            (Number::Unsigned(0), Number::Unsigned(u128::MAX)),
            (Number::Signed(i128::MIN), Number::Signed(i128::MAX)),
            (Number::Signed(3), Number::Signed(4)),
            (Number::Unsigned(u64::MAX.into()), Number::Unsigned(1 << 64)),
        ] {
            let schema = Schema::new(Shape::Op(Op::Int { min, max })).unwrap();
            let json = serde_json::to_string(&schema).unwrap();
            assert_eq!(serde_json::from_str::<Schema>(&json).unwrap(), schema, "{json}");
        }
        let mut rng = Rng::new(5);
        for _ in 0..20_000 {
            let [a, b] = [rng.next(), rng.next()].map(|bits| f32::from_bits(bits as u32));
            let Some(range) = tightwire::FloatRange::checked(a, b, (b - a) / 100.0) else {
                continue;
            };
            let double = Condition::Number(Number::Double(f64::from_bits(rng.next())));
            let field = Field {
                when: Some(Condition::Binary(Binary::Less, Box::new([double.clone(), double]))),
                ..Field::new("f", Shape::Op(Op::CompressedFloat(range)))
            };
            let Ok(schema) = Schema::new(Shape::Struct { name: "S".into(), fields: vec![field] })
            else {
                continue;
            };
            let json = serde_json::to_string(&schema).unwrap();
            assert_eq!(serde_json::from_str::<Schema>(&json).unwrap(), schema, "{json}");
        }
    }

    #[test]
    fn json_that_is_no_schema_is_refused_with_its_reason() {
        let refusal = |json: &str| serde_json::from_str::<Schema>(json).unwrap_err().to_string();
        assert_snapshot!(refusal(r#"{"int":{"min":5,"max":1}}"#), @"packet: the range 5..=1 is reversed");
        assert_snapshot!(refusal(r#"{"int":{"min":5}}"#), @"missing field `max` at line 1 column 16");
        assert!(refusal(r#"{"integer":{}}"#).starts_with("unknown variant `integer`, expected"));
        assert_snapshot!(
            refusal(r#"{"compressed_float":{"min":0.0,"max":1.0,"resolution":0.0}}"#), @"a float needs a finite `min` below `max`, and a `resolution` of at most 32 bits"
        );
        assert_snapshot!(
            refusal(r#"{"struct":{"name":"S","fields":[{"name":"a","when":["field","b"],"bool":{}}]}}"#),
            @"S.a: `b` is not the value of an earlier field of the same struct"
        );
        let deep = r#"{"option":"#.repeat(100_000);
        assert!(refusal(&deep).contains("recursion limit"));
    }

    #[test]
    fn a_tree_is_plain_json() {
        let schema = Schema::of::<Player>();
        let player = Player {
            health: 77,
            at_rest: false,
            velocity: [1.0, 0.0, -2.0],
            order: Order::Go { x: -5 },
            scores: vec![Some(-3), None],
            name: "Ada".into(),
        };
        let mut buffer = [0; 128];
        let packet = encode(&player, &mut buffer).unwrap();
        let tree: Dynamic = schema.decode(packet).unwrap();
        assert_snapshot!(serde_json::to_string(&tree).unwrap(), @r#"{"health":77,"at_rest":false,"velocity":[1.0,0.0,-2.0],"order":{"Go":{"x":-5}},"scores":[-3,null],"name":"Ada"}"#);
    }
}
