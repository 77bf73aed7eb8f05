//! Hints for snapshots as a part of a schema: their valid places, their comparison and their wire
//! form.

use tightwire::schema::Schema;
use tightwire::stream::{Condition, Field, Hints, Op, Shape, Variant};
use tightwire::{FloatRange, Wire, decode, encode};

use crate::common::rng::Rng;

#[derive(Wire, Default)]
struct Body {
    #[wire(min = -256.0, max = 256.0, resolution = 0.001, spatial, reference)]
    position: [f32; 3],
    #[wire(range = 0..=4095, wraps)]
    yaw: u16,
    at_rest: bool,
    #[wire(when = !self.at_rest, min = -32.0, max = 32.0, resolution = 0.01)]
    #[wire(derivative_of = position)]
    velocity: [f32; 3],
    #[wire(derivative_of = yaw)]
    turn: i8,
}

#[derive(Wire, Default)]
struct PlainBody {
    #[wire(min = -256.0, max = 256.0, resolution = 0.001)]
    position: [f32; 3],
    #[wire(range = 0..=4095)]
    yaw: u16,
    at_rest: bool,
    #[wire(when = !self.at_rest, min = -32.0, max = 32.0, resolution = 0.01)]
    velocity: [f32; 3],
    turn: i8,
}

#[derive(Wire)]
struct Pair(#[wire(range = 0..=9)] u8, #[wire(range = 0..=9, derivative_of = 0)] u8);

#[derive(Wire)]
enum Thing {
    Ball {
        #[wire(range = 0..=99, derivative_of = place)]
        speed: [u16; 2],
        #[wire(range = 0..=999, spatial)]
        place: [u16; 2],
    },
    Door {
        #[wire(bits = 9, wraps)]
        angle: Box<u16>,
    },
}

fn vector(dimensions: usize) -> Shape {
    let range = FloatRange::new(-1.0, 1.0, 0.1);
    Shape::Op(Op::CompressedVector { dimensions, range })
}

fn byte() -> Shape {
    Shape::Op(Op::Bits { width: 8 })
}

fn hinted(name: &str, shape: Shape, hints: &str) -> Field {
    let mut field = Field::new(name, shape);
    for hint in hints.split_whitespace() {
        match hint {
            "wraps" => field.hints.wraps = true,
            "spatial" => field.hints.spatial = true,
            "reference" => field.hints.reference = true,
            of => field.hints.derivative_of = Some(of.into()),
        }
    }
    field
}

fn structure(fields: Vec<Field>) -> Shape {
    Shape::Struct { name: "S".into(), fields }
}

fn of(fields: Vec<Field>) -> Schema {
    Schema::new(structure(fields)).unwrap()
}

#[test]
fn the_derive_makes_hints_of_its_attributes() {
    let described = Schema::of::<Body>();
    let Shape::Struct { fields, .. } = described.root() else { panic!() };
    let hints: Vec<_> = fields.iter().map(|field| field.hints.to_string()).collect();
    let expected =
        ["spatial, reference", "wraps", "", "derivative_of = position", "derivative_of = yaw"];
    assert_eq!(hints, expected);
    for schema in [Schema::of::<Body>(), Schema::of::<Pair>(), Schema::of::<Thing>()] {
        assert!(Schema::new(schema.root().clone()).is_ok(), "{schema:?}");
    }
}

#[test]
fn hints_change_no_packet() {
    let mut buffers = [[0; 64]; 2];
    let velocity = [1.0, 2.0, 3.0];
    let hinted = Body { velocity, ..Body::default() };
    let plain = PlainBody { velocity, ..PlainBody::default() };
    let [a, b] = &mut buffers;
    assert_eq!(encode(&hinted, a).unwrap(), encode(&plain, b).unwrap());
    assert_eq!(Body::MAX_BITS, PlainBody::MAX_BITS);
}

#[test]
fn different_hints_give_different_fingerprints() {
    let diff = Schema::of::<Body>().diff(&Schema::of::<PlainBody>());
    assert_eq!(
        diff.to_string(),
        "Body: called `PlainBody` there, which does not change the bytes\n\
         Body.position: for snapshots `spatial, reference` here, no hints there\n\
         Body.yaw: for snapshots `wraps` here, no hints there\n\
         Body.velocity: for snapshots `derivative_of = position` here, no hints there\n\
         Body.turn: for snapshots `derivative_of = yaw` here, no hints there\n"
    );
    let base = || vec![Field::new("a", byte()), Field::new("b", byte()), Field::new("c", byte())];
    let with = |place: usize, hints: &str| {
        let mut fields = base();
        fields[place] = hinted(&fields[place].name.clone(), byte(), hints);
        of(fields)
    };
    let all =
        [of(base()), with(0, "wraps"), with(1, "wraps"), with(2, "a"), with(2, "b"), with(1, "c")];
    for (i, a) in all.iter().enumerate() {
        for (j, b) in all.iter().enumerate() {
            assert_eq!(a.fingerprint() == b.fingerprint(), i == j, "{i} {j}");
            assert_eq!(a.diff(b).is_empty(), i == j, "{i} {j}");
        }
    }
    let vectors =
        ["", "spatial", "spatial reference"].map(|hints| of(vec![hinted("a", vector(2), hints)]));
    assert_ne!(vectors[0].fingerprint(), vectors[1].fingerprint());
    assert_ne!(vectors[1].fingerprint(), vectors[2].fingerprint());
}

#[test]
fn the_names_of_hinted_fields_are_not_in_the_fingerprint() {
    let here = of(vec![Field::new("x", byte()), hinted("v", byte(), "x")]);
    let there = of(vec![Field::new("place", byte()), hinted("speed", byte(), "place")]);
    assert_eq!(here.fingerprint(), there.fingerprint());
    // Nor which struct they are in.
    let inner = structure(vec![Field::new("x", byte()), hinted("v", byte(), "x")]);
    assert_eq!(of(vec![Field::new("inner", inner)]).fingerprint(), here.fingerprint());
}

#[test]
fn hints_come_back_over_the_wire_and_as_json() {
    let mut buffer = [0; 512];
    for schema in [Schema::of::<Body>(), Schema::of::<Pair>(), Schema::of::<Thing>()] {
        let packet = encode(&schema, &mut buffer).unwrap();
        assert_eq!(decode::<Schema>(packet).unwrap(), schema);
        let mut other = tightwire::schema::Schema::of::<Body>();
        tightwire::decode_into(packet, &mut other).unwrap();
        assert_eq!(other, schema);
    }
    let plain = Schema::of::<PlainBody>();
    let packet = encode(&plain, &mut buffer).unwrap();
    let mut other = Schema::of::<Body>();
    tightwire::decode_into(packet, &mut other).unwrap();
    assert_eq!(other, plain);
}

#[cfg(feature = "serde")]
#[test]
fn hints_stand_beside_the_name_in_json() {
    let json = serde_json::to_string(&Schema::of::<Pair>()).unwrap();
    let first = r#"{"struct":{"name":"Pair","fields":[{"name":"0","int":{"min":0,"max":9}},"#;
    let second = r#"{"name":"1","derivative_of":"0","int":{"min":0,"max":9}}]}}"#;
    assert_eq!(json, format!("{first}{second}"));
    for schema in [Schema::of::<Body>(), Schema::of::<Pair>(), Schema::of::<Thing>()] {
        let json = serde_json::to_string(&schema).unwrap();
        assert_eq!(serde_json::from_str::<Schema>(&json).unwrap(), schema);
    }
    let nonsense = json.replace(r#""derivative_of":"0""#, r#""derivative_of":"7""#);
    let refused = serde_json::from_str::<Schema>(&nonsense).unwrap_err().to_string();
    assert!(refused.contains("Pair.1: `derivative_of` names no field"), "{refused}");
}

#[test]
fn invalid_hints_are_refused() {
    let wide = Shape::Op(Op::Bits { width: 33 });
    let float = Shape::Op(Op::Float);
    let check = Shape::Op(Op::Check { name: "x".into() });
    let option = Shape::Option(Box::new(byte()));
    for (fields, reason) in [
        (vec![hinted("a", wide.clone(), "wraps")], "S.a: `wraps` is for"),
        (vec![hinted("a", vector(2), "wraps")], "S.a: `wraps` is for"),
        (vec![hinted("a", byte(), "spatial")], "S.a: `spatial` is for"),
        (vec![hinted("a", vector(4), "spatial")], "S.a: `spatial` is for"),
        (vec![hinted("a", vector(3), "reference")], "S.a: `reference` is for"),
        (
            vec![hinted("a", vector(3), "spatial"), hinted("b", vector(3), "spatial")],
            "S.b: another field is `spatial`",
        ),
        (vec![hinted("a", byte(), "b")], "S.a: `derivative_of` names no field"),
        (vec![Field::new("x", check), hinted("a", byte(), "x")], "S.a: `derivative_of` names no"),
        (vec![hinted("a", byte(), "a")], "S.a: `derivative_of` names the field itself"),
        (
            vec![hinted("a", byte(), "b"), hinted("b", byte(), "a")],
            "S.a: two fields are `derivative_of` each other",
        ),
        (
            vec![Field::new("x", byte()), hinted("a", byte(), "x"), hinted("b", byte(), "x")],
            "S.b: another field is the derivative",
        ),
        (
            vec![Field::new("x", vector(2)), hinted("v", vector(3), "x")],
            "S.v: `derivative_of` needs",
        ),
        (vec![Field::new("x", float), hinted("v", byte(), "x")], "S.v: `derivative_of` needs"),
        (vec![Field::new("x", byte()), hinted("v", option, "x")], "S.v: `derivative_of` needs"),
        (vec![Field::new("x", byte()), hinted("v", wide, "x")], "S.v: `derivative_of` needs"),
        (
            vec![Field::new("x", byte()), hinted("v", byte(), "x wraps")],
            "S.v: a field with `derivative_of` cannot have `wraps`",
        ),
        (vec![hinted("a", structure(vec![]), "spatial")], "S.a: `spatial` is for"),
    ] {
        let refused = Schema::new(structure(fields.clone())).unwrap_err().to_string();
        assert!(refused.starts_with(reason), "{refused}");
        // Also in a variant.
        let variants = vec![Variant { name: "V".into(), fields }];
        assert!(Schema::new(Shape::Enum { name: "E".into(), variants }).is_err());
    }
}

#[test]
fn hostile_bytes_do_not_make_nonsense_of_hints() {
    let mut buffer = [0; 512];
    let mut rng = Rng::new(7);
    let mut accepted = 0;
    for schema in [Schema::of::<Body>(), Schema::of::<Pair>(), Schema::of::<Thing>()] {
        let packet = encode(&schema, &mut buffer).unwrap().to_vec();
        for _ in 0..20_000 {
            let mut wrong = packet.clone();
            for _ in 0..=rng.below(3) {
                let place = rng.below(wrong.len());
                wrong[place] ^= 1 << rng.below(8);
            }
            let Ok(read) = decode::<Schema>(&wrong) else { continue };
            accepted += 1;
            assert!(Schema::new(read.root().clone()).is_ok());
            assert_eq!(encode(&read, &mut buffer).unwrap(), wrong, "one form for each schema");
            let _ = (read.fingerprint(), read.diff(&schema).to_string());
        }
    }
    assert!(accepted > 1000, "{accepted}");
}

#[test]
fn a_field_that_is_not_always_sent_can_be_a_derivative() {
    let when = Some(Condition::Field(vec!["moves".into()]));
    let hints = Hints { derivative_of: Some("x".into()), ..Hints::default() };
    let moves = Field::new("moves", Shape::Op(Op::Bool));
    let velocity = Field { hints, when, ..Field::new("v", byte()) };
    assert!(Schema::new(structure(vec![moves, velocity, Field::new("x", byte())])).is_ok());
}
