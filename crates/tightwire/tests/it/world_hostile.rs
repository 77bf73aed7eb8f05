//! Hostile worlds: no panic, and memory bounded by the bytes of the input, in every representation.
#![cfg(feature = "formats")]

use allocation_counter::measure;
use tightwire::schema::{Class, Dynamic, Object, Representation, World, WorldSchema};
use tightwire::stream::{Condition, Field, Number, Op, Shape};
use tightwire::{decode, encode};

use crate::checks::world as checks;
use crate::common::rng::Rng;
use crate::common::shapes;
use crate::common::volume::volume;

/// Number of inputs: all, or a twentieth.
fn executions(full: usize) -> usize {
    volume(full / 20, full)
}

/// Limits of a reader's memory: bytes for each byte of its input, and a constant.
const PER_BYTE: u64 = 16 << 10;
const CONSTANT: u64 = 8 << 20;

/// A world in each representation, with its schema.
struct Sample {
    schema: WorldSchema,
    written: Vec<(Representation, Vec<u8>)>,
}

fn samples(rng: &mut Rng) -> Vec<Sample> {
    let mut samples = Vec::new();
    while samples.len() < 60 {
        let classes: Vec<_> = (0..=rng.below(3))
            .map(|ordinal| {
                let Shape::Struct { fields, .. } = shapes::structure(rng, 3) else {
                    unreachable!()
                };
                Class::new(&format!("class{ordinal}"), fields)
            })
            .collect();
        let schema = WorldSchema::new(classes).unwrap();
        let mut world = World::new(1.5);
        for _ in 0..1 + rng.below(4) {
            let class = &schema.classes()[rng.below(schema.classes().len())];
            let fields = class.properties.clone();
            let shape = Shape::Struct { name: class.name.clone(), fields };
            let Dynamic::Struct { fields, .. } = shapes::value(rng, &shape) else { unreachable!() };
            let mut object = Object::new(rng.next() as u32 >> 24, &class.name);
            object.properties = fields;
            world.insert(object);
        }
        let write =
            |&representation| Some((representation, world.write(representation, &schema).ok()?));
        if let Some(written) = Representation::ALL.iter().map(write).collect::<Option<Vec<_>>>()
            && written.iter().all(|(_, bytes)| bytes.len() < 3000)
        {
            samples.push(Sample { schema, written });
        }
    }
    samples
}

fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>) {
    // Characters of the formats: more often valid than random bytes.
    const LETTERS: &[u8] = b"0123456789-.e,:\n\"\\[]{}<>/= u";
    for _ in 0..=rng.below(3) {
        let place = rng.below(bytes.len() + 1);
        match rng.below(8) {
            0 => bytes.insert(place, rng.next() as u8),
            1 => bytes.insert(place, LETTERS[rng.below(LETTERS.len())]),
            2 if place < bytes.len() => drop(bytes.remove(place)),
            3 => bytes.truncate(place),
            4 if place < bytes.len() => bytes[place] = LETTERS[rng.below(LETTERS.len())],
            5 if place < bytes.len() => bytes[place] = [0, 0x7f, 0x80, 0xff][rng.below(4)],
            6 => {
                // A part of it twice.
                let end = place + rng.below(40).min(bytes.len() - place);
                let part = bytes[place..end].to_vec();
                bytes.splice(place..place, part);
            }
            _ if place < bytes.len() => bytes[place] ^= 1 << rng.below(8),
            _ => {}
        }
    }
}

#[test]
fn mutated_worlds_are_refused_or_the_same_everywhere() {
    let mut rng = Rng::new(21);
    let samples = samples(&mut rng);
    let mut accepted = [0; 6];
    for round in 0..executions(300_000) {
        let sample = &samples[rng.below(samples.len())];
        let place = round % sample.written.len();
        let (representation, bytes) = &sample.written[place];
        let mut bytes = bytes.clone();
        mutate(&mut rng, &mut bytes);
        if round % 16 < 6 {
            let mut read = false;
            let memory = measure(|| {
                read = World::read(*representation, &bytes, &sample.schema).is_ok();
            });
            let most = CONSTANT + PER_BYTE * bytes.len() as u64;
            assert!(memory.bytes_max < most, "{representation}: {} bytes", memory.bytes_max);
        }
        if checks::check_world(&sample.schema, *representation, &bytes) {
            accepted[place] += 1;
        }
    }
    // If all mutations were refused, only the first line would be tested.
    assert!(accepted.iter().all(|&count| count > executions(500)), "{accepted:?}");
}

#[test]
fn mutated_schemas_of_worlds_are_refused_or_valid() {
    let mut rng = Rng::new(22);
    let samples = samples(&mut rng);
    for _ in 0..executions(100_000) {
        let sample = &samples[rng.below(samples.len())];
        let mut buffer = vec![0; 1 << 13];
        let Ok(sent) = encode(&sample.schema.clone(), &mut buffer) else { continue };
        let mut sent = sent.to_vec();
        mutate(&mut rng, &mut sent);
        let mut schema = None;
        let memory = measure(|| schema = decode::<WorldSchema>(&sent).ok());
        assert!(memory.bytes_max < CONSTANT + PER_BYTE * sent.len() as u64);
        if let Some(schema) = schema {
            let again = encode(&schema, &mut buffer).unwrap();
            assert_eq!(decode::<WorldSchema>(again).as_ref(), Ok(&schema));
        }
    }
}

#[test]
fn noise_is_no_world() {
    let mut rng = Rng::new(23);
    let schema = WorldSchema::default();
    for _ in 0..executions(50_000) {
        let bytes: Vec<_> = (0..rng.below(60)).map(|_| rng.next() as u8).collect();
        for &representation in Representation::ALL {
            checks::check_world(&schema, representation, &bytes);
        }
    }
}

#[test]
fn nesting_ends_before_the_stack_does() {
    let schema = WorldSchema::default();
    let deep = 200_000;
    let xml = [&b"<world time='0'>"[..], &b"<object>".repeat(deep)].concat();
    assert!(World::read(Representation::Xml, &xml, &schema).is_err());
    let xml = [xml, b"</object>".repeat(deep), b"</world>".to_vec()].concat();
    assert!(World::read(Representation::Xml, &xml, &schema).is_err());
    for open in [&b"["[..], b"{\"a\":"] {
        let json = [&b"{\"time\":0,\"objects\":{\"1\":"[..], &open.repeat(deep)].concat();
        assert!(World::read(Representation::Json, &json, &schema).is_err());
        assert!(World::read(Representation::RelativeJson, &json, &schema).is_err());
    }
}

#[test]
fn entities_of_a_documents_own_are_refused() {
    let schema = WorldSchema::default();
    let xml = b"<!DOCTYPE w [<!ENTITY a \"9\"><!ENTITY b \"&a;&a;\">]><world time=\"&b;\"/>";
    let refused = World::read(Representation::Xml, xml, &schema).unwrap_err().to_string();
    assert!(refused.contains("DTD"), "{refused}");
}

/// A schema may ask for values that take no text.
#[test]
fn elements_without_text_end() {
    let nothing = Shape::Array { len: u32::MAX.into(), element: Box::new(Shape::Op(Op::Align)) };
    let class = Class::new("a", vec![Field::new("b", nothing)]);
    let schema = WorldSchema::new(vec![class]).unwrap();
    for (representation, text) in [
        (Representation::Text, "0\n7:0"),
        (Representation::RelativeJson, "{\"time\":0,\"objects\":{\"7\":[0,[]]}}"),
        (
            Representation::Xml,
            "<world time='0'><object id='7' class='a'><property name='b'/></object></world>",
        ),
    ] {
        let memory = measure(|| {
            let refused = World::read(representation, text.as_bytes(), &schema).unwrap_err();
            assert!(!refused.to_string().is_empty());
        });
        assert!(memory.bytes_max < CONSTANT, "{representation}: {}", memory.bytes_max);
    }
}

/// A schema may ask for endless conditions, in structs that take two letters each.
#[test]
fn conditions_without_text_end() {
    let number = |number| Condition::Number(Number::Unsigned(number));
    let mut when = Condition::Bool(false);
    for _ in 0..20 {
        when = Condition::Not(Box::new(when));
    }
    let field = |index| Field {
        when: Some(Condition::Binary(
            tightwire::stream::Binary::And,
            Box::new([
                when.clone(),
                Condition::Binary(
                    tightwire::stream::Binary::Equal,
                    Box::new([number(1), number(2)]),
                ),
            ]),
        )),
        ..Field::new(&format!("f{index}"), Shape::Op(Op::Bool))
    };
    let element = Shape::Struct { name: "S".into(), fields: (0..1000).map(field).collect() };
    let list = Shape::List { max_len: 1 << 20, element: Box::new(element) };
    let schema = WorldSchema::new(vec![Class::new("a", vec![Field::new("b", list)])]).unwrap();
    let items = vec!["{}"; 50_000].join(",");
    let json = format!("{{\"time\":0,\"objects\":{{\"7\":{{\"a\":{{\"b\":[{items}]}}}}}}}}");
    let refused = World::read(Representation::Json, json.as_bytes(), &schema).unwrap_err();
    assert!(refused.to_string().contains("more than this text is worth"), "{refused}");
}
