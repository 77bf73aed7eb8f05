//! One world in every representation.
#![cfg(feature = "formats")]

use tightwire::schema::{Class, Dynamic, Object, Representation, World, WorldError, WorldSchema};
use tightwire::stream::{Condition, Field, Op, Shape, Value, Variant, WriteStream};
use tightwire::{ObjectId, Stream, Wire, decode, encode};

use crate::common::rng::Rng;
use crate::common::shapes;
use crate::common::volume::volume;

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Player {
    #[wire(min = -256.0, max = 256.0, resolution = 0.01)]
    position: [f32; 3],
    #[wire(smallest_three = 10)]
    orientation: [f32; 4],
    #[wire(min = -32.0, max = 32.0, resolution = 0.01)]
    velocity: [f32; 3],
    #[wire(range = 0..=100)]
    health: u8,
    weapon: ObjectId,
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Grunt {
    #[wire(min = -256.0, max = 256.0, resolution = 0.01)]
    position: [f32; 3],
    #[wire(range = 0..=100)]
    health: u8,
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
enum Action {
    #[default]
    Revolver,
    SemiAutomatic,
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Weapon {
    action: Action,
    #[wire(range = 0..=9)]
    ammo_in_clip: u8,
    round_in_chamber: bool,
}

fn player() -> Player {
    Player {
        position: [0.0; 3],
        orientation: [0.0, 0.0, 0.0, 1.0],
        velocity: [10.0, 0.0, 0.0],
        health: 100,
        weapon: ObjectId(110),
    }
}

fn grunt() -> Grunt {
    Grunt { position: [100.0, 100.0, 0.0], health: 10 }
}

fn weapon() -> Weapon {
    Weapon { action: Action::SemiAutomatic, ammo_in_clip: 8, round_in_chamber: true }
}

/// Returns the schema of the example, and its world.
fn example() -> (WorldSchema, World) {
    let classes = [Class::of::<Player>(), Class::of::<Grunt>(), Class::of::<Weapon>()];
    let schema = WorldSchema::new(classes.map(Result::unwrap).into()).unwrap();
    let mut world = World::new(0.0);
    world.insert(Object::of(110, &weapon()).unwrap());
    world.insert(Object::of(1, &player()).unwrap());
    world.insert(Object::of(100, &grunt()).unwrap());
    (schema.with_time(Op::Float).unwrap(), world)
}

fn text(representation: Representation) -> String {
    let (schema, world) = example();
    String::from_utf8(world.write(representation, &schema).unwrap()).unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_example_as_xml() {
    insta::assert_snapshot!(text(Representation::Xml).replace("><", ">\n<"));
}

#[test]
fn the_example_as_json() {
    insta::assert_snapshot!(text(Representation::Json));
}

#[test]
fn the_example_as_json_relative_to_the_schema() {
    insta::assert_snapshot!(text(Representation::RelativeJson));
}

#[test]
fn the_example_as_text() {
    insta::assert_snapshot!(text(Representation::Text));
}

#[test]
fn the_example_as_bytes() {
    let (schema, world) = example();
    let expected = concat!(
        "00000000",                 // the time
        "0300",                     // three objects
        "01000000",                 // the id of the first
        "00",                       // a player
        "006400640064",             // the position: 25600 is 0
        "03ff01ff01ff01",           // the orientation: w is the largest, 511 is 0
        "6810800c800c",             // the velocity: 3200 is 0
        "64",                       // the health
        "6e000000",                 // the weapon
        "6400000001108b108b00640a", // the grunt
        "6e00000002010801",         // the weapon
    );
    assert_eq!(hex(&world.write(Representation::Bytes, &schema).unwrap()), expected);
}

#[test]
fn the_example_as_bits() {
    let (schema, world) = example();
    let bits = world.write(Representation::Bits, &schema).unwrap();
    let expected = "00000000030001006400640064fff7df7f6810900132b25b330862116211804c31c018";
    assert_eq!(hex(&bits), expected);
}

#[test]
fn each_representation_is_smaller_than_the_one_before_and_reads_back() {
    let (schema, world) = example();
    let sizes: Vec<_> = Representation::ALL
        .iter()
        .map(|&representation| {
            let written = world.write(representation, &schema).unwrap();
            assert_eq!(World::read(representation, &written, &schema).as_ref(), Ok(&world));
            println!("{representation:>14} {:>5}", written.len());
            (representation.name(), written.len())
        })
        .collect();
    let expected = [
        ("XML", 566),
        ("JSON", 266),
        ("relative JSON", 106),
        ("text", 65),
        ("bytes", 55),
        ("bits", 35),
    ];
    assert_eq!(sizes, expected);
    assert!(sizes.is_sorted_by(|(_, wordy), (_, tight)| wordy > tight));
}

#[test]
fn typed_values_come_back_from_every_representation() {
    let (schema, world) = example();
    for &representation in Representation::ALL {
        let written = world.write(representation, &schema).unwrap();
        let read = World::read(representation, &written, &schema).unwrap();
        assert_eq!(read.get(1).unwrap().value::<Player>(), Ok(player()));
        assert_eq!(read.get(100).unwrap().value::<Grunt>(), Ok(grunt()));
        assert_eq!(read.get(110).unwrap().value::<Weapon>(), Ok(weapon()));
        assert!(read.get(1).unwrap().value::<Grunt>().is_err());
    }
}

#[test]
fn the_bits_of_a_world_are_those_of_the_types_in_it() {
    let (schema, world) = example();
    let mut buffer = [0; 64];
    let mut stream = WriteStream::new(&mut buffer);
    let Ok(()) = stream.float(&mut 0.0);
    let Ok(()) = stream.bits(&mut 3, 16);
    // Ids are coded as steps from the previous id, which is -1 at first: the step to id 1 is 2, the
    // first of eight values in the first of four ranges.
    let header = |step: [(u64, u32); 2], class: u64, stream: &mut WriteStream<'_>| {
        let Ok(()) = stream.bool(&mut true);
        for (mut bits, width) in step {
            let Ok(()) = stream.bits(&mut bits, width);
        }
        let Ok(()) = stream.bits(&mut { class }, 2);
    };
    header([(0, 2), (0, 3)], 0, &mut stream);
    let Ok(()) = stream.object(&mut player());
    header([(2, 2), (99 - 74, 10)], 1, &mut stream);
    let Ok(()) = stream.object(&mut grunt());
    header([(1, 2), (0, 6)], 2, &mut stream);
    let Ok(()) = stream.object(&mut weapon());
    assert_eq!(world.write(Representation::Bits, &schema).unwrap(), stream.finish().unwrap());
}

#[test]
fn ids_that_follow_each_other_cost_a_bit() {
    let schema = WorldSchema::default().with_max_objects(u16::MAX.into()).unwrap();
    let mut world = World::new(0.0);
    for id in 0..8000 {
        world.insert(Object::new(id, "object"));
    }
    let bits = world.write(Representation::Bits, &schema).unwrap();
    assert_eq!(bits.len(), 8 + 2 + 1000);
    for ids in [&[u32::MAX][..], &[0, u32::MAX], &[1097, 1098, 2196, 2205, 2279], &[8, 17, 90]] {
        let mut world = World::new(0.0);
        for &id in ids {
            world.insert(Object::new(id, "object"));
        }
        for &representation in Representation::ALL {
            let written = world.write(representation, &schema).unwrap();
            assert_eq!(World::read(representation, &written, &schema).as_ref(), Ok(&world));
        }
    }
}

/// Returns a world over a random schema.
fn random_world(rng: &mut Rng) -> Option<(WorldSchema, World)> {
    let classes: Vec<_> = (0..=rng.below(4))
        .map(|ordinal| {
            let Shape::Struct { fields, .. } = shapes::structure(rng, 4) else { unreachable!() };
            Class::new(["a", "<\"&>", "ü,:\\", "null"][ordinal % 4], fields)
        })
        .collect();
    let schema = WorldSchema::new(classes).unwrap();
    let mut world = World::new(rng.next() as i32 as f64 / 64.0);
    for _ in 0..rng.below(6) {
        let class = &schema.classes()[rng.below(schema.classes().len())];
        let fields = class.properties.clone();
        let shape = Shape::Struct { name: class.name.clone(), fields };
        let Dynamic::Struct { fields, .. } = shapes::value(rng, &shape) else { unreachable!() };
        let id = rng.next() as u32 >> rng.below(32);
        let mut object = Object::new(id, &class.name);
        object.properties = fields;
        for (_, value) in &mut object.properties {
            spoil_text(rng, value);
        }
        world.insert(object);
    }
    world.quantised(&schema).ok().map(|world| (schema, world))
}

/// Replaces each character of a text by one that is special in some format. The length in bytes
/// stays the same.
fn spoil_text(rng: &mut Rng, value: &mut Dynamic) {
    match value {
        Dynamic::Value(Value::Text(text)) => {
            let letters = b"\"\\,:<>&'{}\n\t\r \x01\x7fu;#]";
            *text = text.chars().map(|_| char::from(letters[rng.below(letters.len())])).collect();
        }
        Dynamic::Struct { fields, .. } | Dynamic::Enum { fields, .. } => {
            fields.iter_mut().for_each(|(_, value)| spoil_text(rng, value));
        }
        Dynamic::Option(Some(value)) => spoil_text(rng, value),
        Dynamic::List(items) => items.iter_mut().for_each(|item| spoil_text(rng, item)),
        _ => {}
    }
}

#[test]
fn random_worlds_over_random_schemas_are_the_same_in_every_representation() {
    let mut rng = Rng::new(5);
    let mut worlds = 0;
    for _ in 0..volume(300, 3000) {
        let Some((schema, world)) = random_world(&mut rng) else { continue };
        worlds += 1;
        let mut buffer = vec![0; 1 << 16];
        let sent = encode(&schema, &mut buffer).unwrap();
        assert_eq!(decode::<WorldSchema>(sent).as_ref(), Ok(&schema));
        let json = serde_json::to_string(&schema).unwrap();
        assert_eq!(serde_json::from_str::<WorldSchema>(&json).unwrap(), schema);
        let bits = world.write(Representation::Bits, &schema).unwrap();
        for &representation in Representation::ALL {
            let written = world.write(representation, &schema).unwrap();
            let read = World::read(representation, &written, &schema);
            let shown = String::from_utf8_lossy(&written);
            assert_eq!(read.as_ref(), Ok(&world), "{representation}: {shown}");
            let again = read.unwrap().write(Representation::Bits, &schema).unwrap();
            assert_eq!(again, bits, "{representation}: {shown}");
        }
    }
    assert!(worlds > 200, "{worlds}");
}

#[test]
fn floats_come_back_to_the_bit() {
    let fields = vec![
        Field::new("single", Shape::Op(Op::Float)),
        Field::new("double", Shape::Op(Op::Double)),
        Field::new("vector", Shape::Op(Op::Vector { dimensions: 2 })),
    ];
    let schema = WorldSchema::new(vec![Class::new("floats", fields)]).unwrap();
    let mut rng = Rng::new(6);
    let special = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE, f32::MAX];
    for round in 0..volume(1000, 20_000) {
        let mut single = || match special.get(round) {
            Some(&special) => special,
            None => f32::from_bits(rng.next() as u32),
        };
        let singles = [single(), single(), single()];
        let double = match special.get(round) {
            Some(&special) => f64::from(special),
            None => f64::from_bits(rng.next()),
        };
        if double.is_nan() || singles.iter().any(|single| single.is_nan()) {
            continue;
        }
        let vector = Dynamic::Value(Value::Vector(singles[1..].into()));
        let object = Object::new(7, "floats").with("single", singles[0]).with("double", double);
        let mut world = World::new(double);
        world.insert(object.with("vector", vector));
        let bits = world.write(Representation::Bits, &schema).unwrap();
        for &representation in Representation::ALL {
            let written = world.write(representation, &schema).unwrap();
            let read = World::read(representation, &written, &schema).unwrap();
            let again = read.write(Representation::Bits, &schema).unwrap();
            assert_eq!(again, bits, "{representation} {}", String::from_utf8_lossy(&written));
        }
    }
}

#[test]
fn not_a_number_is_refused() {
    let class = Class::new("grunt", vec![Field::new("health", Shape::Op(Op::Float))]);
    let schema = WorldSchema::new(vec![class]).unwrap();
    let mut world = World::new(0.0);
    world.insert(Object::new(7, "grunt").with("health", f32::NAN));
    let refused = world.write(Representation::Text, &schema).unwrap_err();
    let expected = "World.objects[0].class.grunt.health: \
                    NaN is not allowed in a world: it is not equal to itself";
    assert_eq!(refused.to_string(), expected);
    for time in ["NaN", "nan", "+1", "infinity", "0x1", ""] {
        assert!(World::read(Representation::Text, time.as_bytes(), &schema).is_err(), "{time}");
    }
}

#[test]
fn invalid_values_are_named_by_their_path() {
    let (schema, mut world) = example();
    let refused = |world: &World| world.quantised(&schema).unwrap_err().to_string();
    *world.get_mut(1).unwrap().get_mut("health").unwrap() = 101u64.into();
    assert_eq!(refused(&world), "World.objects[0].class.Player.health: 101 is not in 0..=100");
    *world.get_mut(1).unwrap().get_mut("health").unwrap() = true.into();
    let expected = "World.objects[0].class.Player.health: \
                    an unsigned integer is needed for `int 0..=100`, not a bool";
    assert_eq!(refused(&world), expected);
    world.remove(1);
    world.get_mut(100).unwrap().properties.pop();
    assert_eq!(refused(&world), "World.objects[0].class.Grunt.health: the field is missing");
}

#[test]
fn a_text_is_refused_at_its_place() {
    let (schema, _) = example();
    let refused = |representation, text: &str| {
        World::read(representation, text.as_bytes(), &schema).unwrap_err().to_string()
    };
    let texts = [
        ("", "line 1, column 1: a number is needed, not \"\""),
        ("0\n", "line 2, column 1: an object is needed: its id, a colon, its class and its values"),
        ("0\n7:3", "line 2, column 3: 3 is not in 0..3"),
        (
            "0\n7:2,1,10,1",
            "line 2, column 7: 10 is no value of `int 0..=9`: the value is not in its declared range",
        ),
        ("0\n7:2,1,8", "line 2, column 8: the line ends, but the object has more values"),
        ("0\n7:2,1,8,1,1", "line 2, column 11: no more values are expected: \"1\""),
        ("0\n7:2,1,8,1\n7:2,1,8,1", "line 3, column 1: the id 7 is not above the one before"),
        ("0\n7:1,0,300,0,10", "line 2, column 11: [0.0, 300.0, 0.0] is not in -256..=256"),
    ];
    for (text, expected) in texts {
        assert_eq!(refused(Representation::Text, text), expected, "{text}");
    }
    let jsons = [
        ("{\"time\":0}", "line 1, column 10: missing field `objects`"),
        (
            "{\"time\":0,\n\"objects\":{\"7\":{\"Gru\":{}}}}",
            "line 2, column 21: `Class` has no variant \"Gru\"",
        ),
        (
            "{\"time\":0,\"objects\":{\"7\":{\"Grunt\":{\"health\":101}}}}",
            "line 1, column 47: 101 is no value of `int 0..=100`: the value is not in its declared range",
        ),
        (
            "{\"time\":0,\"objects\":{\"7\":{\"Grunt\":{\"health\":10}}}}",
            "line 1, column 47: the field `position` is missing",
        ),
        ("{\"time\":0,\"objects\":{}} 1", "line 1, column 25: trailing characters"),
    ];
    for (text, expected) in jsons {
        assert_eq!(refused(Representation::Json, text), expected, "{text}");
    }
    let xmls = [
        ("<world/>", "line 1, column 1: <world> needs the attribute `time`"),
        ("<world time='0'><grunt/></world>", "line 1, column 17: <object> is needed, not <grunt>"),
        (
            "<world time='0'>\n<object id='7' class='Gru'/></world>",
            "line 2, column 1: no class is called \"Gru\"",
        ),
        ("<world time='0' x='1'/>", "line 1, column 1: <world> has no attribute \"x\""),
        (
            "<world time='0'>x</world>",
            "line 1, column 17: an element is needed, not the text \"x\"",
        ),
    ];
    for (text, expected) in xmls {
        assert_eq!(refused(Representation::Xml, text), expected, "{text}");
    }
}

#[test]
fn people_may_write_in_their_own_order_and_with_space() {
    let (schema, _) = example();
    let json = r#"{ "objects": { "7": { "Grunt": { "health": 10, "position": [1, 2.5, 3] } } },
                    "time": 0.5 }"#;
    let xml = "<?xml version=\"1.0\"?>
        <world time=\"0.5\"> <!-- a grunt -->
          <object class=\"Grunt\" id=\"7\">
            <property value=\"10\" name=\"health\"></property>
            <property name=\"position\" value=\"1,2.5,3\"/>
          </object>
        </world>";
    let world = World::read(Representation::Json, json.as_bytes(), &schema).unwrap();
    assert_eq!(World::read(Representation::Xml, xml.as_bytes(), &schema).as_ref(), Ok(&world));
    let text = String::from_utf8(world.write(Representation::Text, &schema).unwrap()).unwrap();
    assert_eq!(text, "0.5\n7:1,1,2.5,3,10");
}

#[test]
fn a_schema_that_no_world_can_be_read_with_is_refused() {
    let with = |shape| WorldSchema::new(vec![Class::new("a", vec![Field::new("b", shape)])]);
    for shape in [
        Shape::Opaque { name: "ByHand".into(), max_bits: 9 },
        Shape::Op(Op::IntRelative),
        Shape::Option(Box::new(Shape::Op(Op::Index { count: 9 }))),
    ] {
        assert!(with(shape).is_err());
    }
    let conditional = Field {
        when: Some(Condition::Source("rand()".into())),
        ..Field::new("b", Shape::Op(Op::Bool))
    };
    assert!(WorldSchema::new(vec![Class::new("a", vec![conditional])]).is_err());
    assert!(WorldSchema::new(vec![]).is_err());
    let empty = Shape::Enum { name: "E".into(), variants: Vec::<Variant>::new() };
    assert!(with(empty).is_err());
    assert!(Class::of::<Action>().is_err());
    assert!(matches!(Object::of(1, &Action::Revolver), Err(WorldError::Refused { .. })));
    let refused = Object::of(1, &Weapon { ammo_in_clip: 10, ..weapon() }).unwrap_err();
    assert_eq!(refused.to_string(), "Weapon.ammo_in_clip: 10 is not in 0..=9");
}
