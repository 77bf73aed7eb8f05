//! Comparison of schemas: fingerprints that change with the bytes, and diffs.

use insta::assert_snapshot;
use tightwire::FloatRange;
use tightwire::schema::Schema;
use tightwire::stream::{Binary, Condition, Field, Number, Op, Shape, SubsetCoding, Variant};

use crate::common::rng::Rng;
use crate::common::shapes;
use crate::common::volume::volume;

fn int(min: i128, max: i128) -> Shape {
    Shape::Op(Op::Int { min: Number::Signed(min), max: Number::Signed(max) })
}

fn bool() -> Shape {
    Shape::Op(Op::Bool)
}

fn structure(name: &str, fields: Vec<Field>) -> Shape {
    Shape::Struct { name: name.into(), fields }
}

fn field(name: &str) -> Condition {
    Condition::Field(name.split('.').map(Into::into).collect())
}

fn when(condition: Condition, field: Field) -> Field {
    Field { when: Some(condition), ..field }
}

fn not(condition: Condition) -> Condition {
    Condition::Not(Box::new(condition))
}

fn binary(operator: Binary, a: Condition, b: Condition) -> Condition {
    Condition::Binary(operator, Box::new([a, b]))
}

fn variant(name: &str, fields: Vec<Field>) -> Variant {
    Variant { name: name.into(), fields }
}

fn weapons(names: [&str; 3]) -> Vec<Variant> {
    let [fist, bow, staff] = names;
    vec![
        variant(fist, vec![]),
        variant(bow, vec![Field::new("arrows", int(0, 20))]),
        variant(staff, vec![Field::new("charge", Shape::Op(Op::Float))]),
    ]
}

fn enumeration(name: &str, variants: Vec<Variant>) -> Shape {
    Shape::Enum { name: name.into(), variants }
}

fn item() -> Shape {
    structure("Item", vec![Field::new("kind", int(0, 9)), Field::new("count", int(0, 99))])
}

fn body() -> Vec<Field> {
    vec![
        Field::new("position", Shape::Op(Op::Vector { dimensions: 3 })),
        Field::new("at_rest", bool()),
        when(
            not(field("at_rest")),
            Field::new("velocity", Shape::Op(Op::Vector { dimensions: 3 })),
        ),
    ]
}

fn player() -> Vec<Field> {
    let bow = binary(Binary::Equal, field("weapon"), Condition::Variant("Bow".into()));
    vec![
        Field::new("health", int(0, 100)),
        Field::new("name", Shape::Op(Op::String { max_len: 31 })),
        Field::new("body", structure("Body", body())),
        Field::new("weapon", enumeration("Weapon", weapons(["Fist", "Bow", "Staff"]))),
        when(bow, Field::new("aim", Shape::Op(Op::UnitVector { bits: 12 }))),
        Field::new("target", Shape::Option(Box::new(int(0, 1023)))),
        Field::new("inventory", Shape::List { max_len: 16, element: Box::new(item()) }),
        Field::new("grid", Shape::Array { len: 3, element: Box::new(int(0, 255)) }),
    ]
}

fn of(fields: Vec<Field>) -> Schema {
    Schema::new(structure("Player", fields)).unwrap()
}

fn fingerprint(fields: Vec<Field>) -> u64 {
    of(fields).fingerprint()
}

#[test]
fn fingerprints_do_not_change() {
    // A change of one of these makes every client of every game need an update.
    let fingerprints = [
        Schema::of::<()>().fingerprint(),
        Schema::of::<u8>().fingerprint(),
        Schema::of::<Option<[i32; 4]>>().fingerprint(),
        fingerprint(player()),
    ];
    let shown = fingerprints.map(|fingerprint| format!("{fingerprint:016x}"));
    assert_eq!(
        shown,
        ["ab94ac0ace7276c0", "073d9bd42a7dc2a7", "3ba7dd8ebc182c18", "8db5480397c9f945"]
    );
}

#[test]
fn changes_without_effect_on_bytes_keep_the_fingerprint() {
    let same = |change: &dyn Fn(&mut Vec<Field>)| {
        let mut changed = player();
        change(&mut changed);
        let (here, there) = (of(player()), of(changed));
        assert_eq!(here.fingerprint(), there.fingerprint());
        assert!(here.diff(&there).iter().all(|difference| !difference.changes_bytes()));
        assert!(there.diff(&here).iter().all(|difference| !difference.changes_bytes()));
    };
    same(&|fields| fields[0].name = "hp".into());
    same(&|fields| {
        let Shape::Struct { name, fields } = &mut fields[2].shape else { panic!() };
        *name = "Motion".into();
        fields[1].name = "resting".into();
        fields[2].when = Some(not(field("resting")));
    });
    same(&|fields| {
        fields[3].shape = enumeration("Arms", weapons(["None", "Arrows", "Magic"]));
        let bow = Condition::Variant("Arrows".into());
        fields[4].when = Some(binary(Binary::Equal, field("weapon"), bow));
    });
    // Fields out of their struct, and into another.
    same(&|fields| drop(fields.splice(2..3, body())));
    same(&|fields| {
        let first: Vec<_> = fields.drain(..2).collect();
        fields.insert(0, Field::new("head", structure("Head", first)));
    });
    // Another type of the same range, and bits.
    same(&|fields| {
        let max = Number::Unsigned(100);
        fields[0].shape = Shape::Op(Op::Int { min: Number::Unsigned(0), max });
        fields[7].shape =
            Shape::Array { len: 3, element: Box::new(Shape::Op(Op::Bits { width: 8 })) };
        fields[5].shape = Shape::Option(Box::new(Shape::Op(Op::Bits { width: 10 })));
    });
    // A condition on each field, or on all at once.
    let group = |grouped: bool| {
        let (a, b) = (Field::new("a", bool()), Field::new("b", int(0, 9)));
        let sent = || field("sent");
        let mut fields = vec![Field::new("sent", bool())];
        match grouped {
            true => fields.push(when(sent(), Field::new("both", structure("Both", vec![a, b])))),
            false => fields.extend([when(sent(), a), when(sent(), b)]),
        }
        fingerprint(fields)
    };
    assert_eq!(group(true), group(false));
}

#[test]
fn every_other_edit_changes_the_fingerprint_and_is_in_the_diff() {
    type Edit = Box<dyn Fn(&mut Vec<Field>)>;
    let edits: Vec<(&str, Edit)> = vec![
        ("range", Box::new(|f| f[0].shape = int(0, 101))),
        ("offset", Box::new(|f| f[0].shape = int(1, 101))),
        ("operation", Box::new(|f| f[0].shape = Shape::Op(Op::Float))),
        ("bound of text", Box::new(|f| f[1].shape = Shape::Op(Op::String { max_len: 32 }))),
        ("order", Box::new(|f| f.swap(0, 1))),
        ("a field less", Box::new(|f| drop(f.remove(5)))),
        ("a field more", Box::new(|f| f.push(Field::new("mana", int(0, 9))))),
        ("a condition less", Box::new(|f| f[4].when = None)),
        ("a condition more", Box::new(|f| f[5].when = Some(field("body.at_rest")))),
        ("another field in a condition", Box::new(|f| f[4].when = Some(field("body.at_rest")))),
        (
            "another variant in a condition",
            Box::new(|f| {
                let staff = Condition::Variant("Staff".into());
                f[4].when = Some(binary(Binary::Equal, field("weapon"), staff));
            }),
        ),
        (
            "variants in another order",
            Box::new(|f| {
                let mut variants = weapons(["Fist", "Bow", "Staff"]);
                variants.swap(1, 2);
                f[3].shape = enumeration("Weapon", variants);
            }),
        ),
        (
            "a variant more",
            Box::new(|f| {
                let mut variants = weapons(["Fist", "Bow", "Staff"]);
                variants.push(variant("Axe", vec![]));
                f[3].shape = enumeration("Weapon", variants);
            }),
        ),
        ("no option", Box::new(|f| f[5].shape = int(0, 1023))),
        (
            "bound of a list",
            Box::new(|f| f[6].shape = Shape::List { max_len: 15, element: Box::new(item()) }),
        ),
        (
            "length of an array",
            Box::new(|f| f[7].shape = Shape::Array { len: 4, element: Box::new(int(0, 255)) }),
        ),
        (
            "list for array",
            Box::new(|f| f[7].shape = Shape::List { max_len: 3, element: Box::new(int(0, 255)) }),
        ),
        (
            "element",
            Box::new(|f| {
                let fields = vec![Field::new("kind", int(0, 9)), Field::new("count", int(0, 98))];
                let element = Box::new(structure("Item", fields));
                f[6].shape = Shape::List { max_len: 16, element };
            }),
        ),
    ];
    let mut seen = vec![(fingerprint(player()), "nothing")];
    for (name, edit) in &edits {
        let mut edited = player();
        edit(&mut edited);
        let (here, there) = (of(player()), of(edited));
        let changed = there.fingerprint();
        for (other, edit) in &seen {
            assert_ne!(changed, *other, "{name} and {edit}");
        }
        seen.push((changed, name));
        for diff in [here.diff(&there), there.diff(&here)] {
            assert!(diff.iter().any(|difference| difference.changes_bytes()), "{name}");
            assert!(!diff.to_string().contains("are not the same"), "{name}: {diff}");
        }
    }
}

#[test]
fn every_parameter_of_every_operation_is_in_the_fingerprint() {
    let (unsigned, range) = (Number::Unsigned, |max| FloatRange::new(0.0, max, 0.01));
    let fixed =
        |fraction_bits, max| Op::Fixed { fraction_bits, min: unsigned(0), max: unsigned(max) };
    let selection = |len, coding| Op::Selection { len, coding };
    let ops = [
        Op::Bits { width: 7 },
        Op::Bool,
        Op::Int { min: unsigned(0), max: unsigned(u128::MAX) },
        Op::Int { min: Number::Signed(-1), max: Number::Signed(1) },
        fixed(8, 10),
        fixed(7, 10),
        fixed(7, 20),
        Op::varint::<u32>(),
        Op::varint::<i32>(),
        Op::varint::<u64>(),
        Op::Float,
        Op::Double,
        Op::CompressedFloat(range(1.0)),
        Op::CompressedFloat(range(2.0)),
        Op::CompressedFloat(FloatRange::new(-1.0, 1.0, 0.01)),
        Op::CompressedFloat(FloatRange::new(0.0, 1.0, 0.02)),
        Op::Vector { dimensions: 2 },
        Op::Vector { dimensions: 3 },
        Op::CompressedVector { dimensions: 2, range: range(1.0) },
        Op::CompressedVector { dimensions: 3, range: range(1.0) },
        Op::CompressedVector { dimensions: 2, range: range(2.0) },
        Op::Quaternion,
        Op::SmallestThree { bits: 9 },
        Op::SmallestThree { bits: 10 },
        Op::UnitVector { bits: 9 },
        Op::UnitVector { bits: 10 },
        Op::Align,
        Op::Bytes { len: 3 },
        Op::Bytes { len: 4 },
        Op::Blob { max_len: 3 },
        Op::Blob { max_len: 4 },
        Op::String { max_len: 3 },
        Op::String { max_len: 4 },
        Op::WideString { max_len: 3 },
        Op::WideString { max_len: 4 },
        Op::Index { count: 3 },
        Op::Index { count: 4 },
        Op::IntRelative,
        selection(3, SubsetCoding::Best),
        selection(4, SubsetCoding::Best),
        selection(4, SubsetCoding::RelativeIndex),
        Op::Check { name: "a".into() },
        Op::Check { name: "b".into() },
    ];
    let mut seen = std::collections::HashMap::new();
    for op in ops {
        let schema = Schema::new(Shape::Op(op.clone())).unwrap();
        let (before, _) = seen.entry(schema.fingerprint()).or_insert((op.clone(), schema.clone()));
        assert_eq!(*before, op, "the fingerprint of another");
        // And a diff tells them apart.
        for (other, other_schema) in seen.values() {
            let lines = schema.diff(other_schema).to_string();
            assert_eq!(lines.is_empty(), *other == op, "{other} {op}");
            if let Some((here, there)) = lines.split_once(" here, ") {
                assert_ne!(
                    here.trim_start_matches("packet: ").trim_start_matches("range "),
                    there.trim_end().trim_end_matches(" there"),
                );
            }
        }
    }
    let fingerprint = |op| Schema::new(Shape::Op(op)).unwrap().fingerprint();
    assert_eq!(fingerprint(Op::Pod { size: 3 }), fingerprint(Op::Bytes { len: 3 }));
    assert_eq!(fingerprint(Op::Quaternion), fingerprint(Op::Vector { dimensions: 4 }));
    assert_eq!(fingerprint(Op::Enumerate { count: 2 }), fingerprint(Op::Bool));
}

#[test]
fn a_diff_says_what_is_different() {
    let mut there = player();
    there[0].shape = int(0, 200);
    there[1].name = "title".into();
    let Shape::Struct { fields, .. } = &mut there[2].shape else { panic!() };
    fields[2].when = Some(field("at_rest"));
    let Shape::Enum { variants, .. } = &mut there[3].shape else { panic!() };
    variants.swap(1, 2);
    variants.push(variant("Axe", vec![Field::new("edge", bool())]));
    there[4].shape = Shape::Op(Op::Vector { dimensions: 3 });
    there[4].when = None;
    let element = structure("Item", vec![Field::new("count", int(0, 9))]);
    there[6].shape = Shape::List { max_len: 32, element: Box::new(element) };
    there[7].shape = Shape::Array { len: 4, element: Box::new(int(-1, 255)) };
    there.push(Field::new("mana", Shape::Option(Box::new(Shape::Op(Op::varint::<u32>())))));
    let diff = of(player()).diff(&of(there));
    assert_snapshot!(diff, @r"
    Player.health: range 0..=100 (7 bits) here, 0..=200 (8 bits) there
    Player.name: called `title` there, which does not change the bytes
    Player.body.velocity: sent when !at_rest here, when at_rest there
    Player.weapon: 3 variants (2 bits) here, 4 variants (2 bits) there
    Player.weapon.Bow: variant 1 here, variant 2 there
    Player.weapon.Staff: variant 2 here, variant 1 there
    Player.weapon.Axe: only there: variant 3
    Player.aim: sent when weapon == Bow here, always there
    Player.aim: unit_vector of 12 (24 bits) here, vector, 3 components (96 bits) there
    Player.inventory: up to 16 elements (5 bits) here, up to 32 elements (6 bits) there
    Player.inventory[].kind: only here: int 0..=9 (4 bits)
    Player.inventory[].count: range 0..=99 (7 bits) here, 0..=9 (4 bits) there
    Player.grid: 3 elements here, 4 there
    Player.grid[]: range 0..=255 (8 bits) here, -1..=255 (9 bits) there
    Player.mana: only there: option of varint of u32 (up to 40 bits)
    ");
}

#[test]
fn a_diff_says_which_fields_moved() {
    let mut there = player();
    let health = there.remove(0);
    there.insert(5, health);
    let diff = of(player()).diff(&of(there));
    assert_snapshot!(diff, @"Player.health: first here, after `target` there");
}

#[test]
fn a_diff_says_when_only_names_are_different() {
    let mut there = player();
    there[0].name = "hp".into();
    there[3].shape = enumeration("Arms", weapons(["Fist", "Crossbow", "Staff"]));
    let bow = Condition::Variant("Crossbow".into());
    there[4].when = Some(binary(Binary::Equal, field("weapon"), bow));
    let there = Schema::new(structure("Hero", there)).unwrap();
    let diff = of(player()).diff(&there);
    assert_snapshot!(diff, @r"
    Player: called `Hero` there, which does not change the bytes
    Player.health: called `hp` there, which does not change the bytes
    Player.weapon.Bow: called `Crossbow` there, which does not change the bytes
    ");
    assert!(of(player()).diff(&of(player())).is_empty());
}

#[test]
fn a_diff_compares_forms_of_any_kind() {
    let other = Schema::new(Shape::Opaque { name: "Brain".into(), max_bits: 900 }).unwrap();
    assert_snapshot!(Schema::of::<Option<u8>>().diff(&other), @"packet: option of int 0..=255 (8 bits) here, `Brain`, serialized by hand in up to 900 bits there");
    assert_snapshot!(Schema::of::<Option<u8>>().diff(&Schema::of::<Option<i16>>()), @"packet: range 0..=255 (8 bits) here, -32768..=32767 (16 bits) there");
    assert_snapshot!(Schema::of::<[u8; 3]>().diff(&Schema::of::<[[u8; 3]; 2]>()), @r"
    packet: 3 elements here, 2 there
    packet[]: int 0..=255 (8 bits) here, array of 3 elements, each int 0..=255 (8 bits) there
    ");
}

/// Makes a random change, anywhere in the shape.
fn edit(rng: &mut Rng, shape: &mut Shape) {
    match shape {
        Shape::Struct { name, fields } => match rng.below(8) {
            0 => *name = "Renamed".into(),
            1 if fields.len() > 1 => {
                let (a, b) = (rng.below(fields.len()), rng.below(fields.len()));
                fields.swap(a, b);
            }
            2 => fields.push(Field::new("added", shapes::shape(rng, 2))),
            3 if !fields.is_empty() => drop(fields.remove(rng.below(fields.len()))),
            4 if !fields.is_empty() => {
                let place = rng.below(fields.len());
                fields[place].name = "renamed".into();
            }
            5 if !fields.is_empty() => {
                let place = rng.below(fields.len());
                fields[place].when = None;
            }
            6 if !fields.is_empty() => {
                // Into a struct of its own.
                let place = rng.below(fields.len());
                let inner = fields.remove(place);
                let condition = inner.when.clone();
                let inner = Field { when: None, ..inner };
                let group = Field::new("group", structure("Group", vec![inner]));
                fields.insert(place, Field { when: condition, ..group });
            }
            _ if !fields.is_empty() => {
                let place = rng.below(fields.len());
                edit(rng, &mut fields[place].shape);
            }
            _ => {}
        },
        Shape::Enum { variants, .. } => match rng.below(4) {
            0 => variants.push(variant("Added", vec![])),
            1 => variants.rotate_left(1),
            2 => variants[0].name = "Renamed".into(),
            _ => {
                let place = rng.below(variants.len());
                let mut fields = structure("", std::mem::take(&mut variants[place].fields));
                edit(rng, &mut fields);
                let Shape::Struct { fields, .. } = fields else { panic!() };
                variants[place].fields = fields;
            }
        },
        Shape::Option(inner) => edit(rng, inner),
        Shape::Array { len, element } | Shape::List { max_len: len, element } => {
            match rng.below(3) {
                0 => *len += 1,
                _ => edit(rng, element),
            }
        }
        Shape::Op(op) => *op = shapes::op(rng),
        _ => {}
    }
}

#[test]
fn a_diff_and_the_fingerprints_agree() {
    let mut rng = Rng::new(7);
    let (mut same, mut different) = (0, 0);
    for _ in 0..volume(4_000, 60_000) {
        let shape = shapes::structure(&mut rng, 4);
        let mut edited = shape.clone();
        for _ in 0..=rng.below(3) {
            edit(&mut rng, &mut edited);
        }
        let here = Schema::new(shape).unwrap();
        // Some edits leave a condition without its field.
        let Ok(there) = Schema::new(edited) else { continue };
        let diff = here.diff(&there);
        let is_same = here.fingerprint() == there.fingerprint();
        let changes = diff.iter().any(|difference| difference.changes_bytes());
        assert_eq!(is_same, !changes, "{here:#?}\n{there:#?}\n{diff}");
        assert!(!diff.to_string().contains("are not the same"), "{here:#?}\n{there:#?}\n{diff}");
        if is_same {
            same += 1;
        } else {
            different += 1;
        }
        assert!(here.diff(&here).is_empty());
    }
    assert!(same > 100 && different > 100, "{same} {different}");
}
