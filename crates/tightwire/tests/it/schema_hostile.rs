//! Hostile schemas and hostile packets: no panic, and memory bounded by the bytes of the input.

use allocation_counter::measure;
use tightwire::schema::Schema;
use tightwire::stream::{Condition, Field, Op, Shape};
use tightwire::{decode, encode};

use crate::checks::schema as checks;
use crate::common::mutate::mutate;
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

/// Returns schemas in their wire form, and packets of them.
fn samples(rng: &mut Rng) -> Vec<(Schema, Vec<u8>, Vec<u8>)> {
    let sample = |rng: &mut Rng| {
        let shape = shapes::structure(rng, 3);
        let tree = shapes::value(rng, &shape);
        let schema = Schema::new(shape).unwrap();
        let mut buffer = vec![0; 1 << 14];
        let packet = schema.encode(&tree, &mut buffer).unwrap().to_vec();
        let sent = encode(&schema, &mut buffer).unwrap().to_vec();
        (schema, sent, packet)
    };
    (0..200).map(|_| sample(rng)).filter(|(_, sent, _)| sent.len() < 1500).collect()
}

#[test]
fn hostile_bytes_as_a_schema() {
    let mut rng = Rng::new(11);
    let samples = samples(&mut rng);
    let mut accepted = 0;
    for round in 0..executions(400_000) {
        let mut bytes = samples[rng.below(samples.len())].1.clone();
        mutate(&mut rng, &mut bytes);
        let mut result = None;
        let info = measure(|| result = Some(decode::<Schema>(&bytes)));
        assert!(info.bytes_max <= 600 * (bytes.len() as u64 + 8), "{} bytes", info.bytes_max);
        accepted += usize::from(result.is_some_and(|result| result.is_ok()));
        // The full check of a schema is slower, and done for some.
        if round % 8 == 0 {
            checks::schema_bytes(&bytes);
        }
    }
    assert!(accepted > executions(400_000) / 100, "{accepted} were schemas");
}

#[test]
fn hostile_packets_of_valid_schemas() {
    let mut rng = Rng::new(12);
    let samples = samples(&mut rng);
    for round in 0..executions(400_000) {
        let (schema, _, packet) = &samples[rng.below(samples.len())];
        let mut bytes = packet.clone();
        mutate(&mut rng, &mut bytes);
        let info = measure(|| drop(schema.decode(&bytes)));
        assert!(info.bytes_max <= CONSTANT + PER_BYTE * bytes.len() as u64);
        if round % 8 == 0 {
            checks::check_packet(schema, &bytes);
        }
    }
}

#[test]
fn hostile_packets_of_hostile_schemas() {
    let mut rng = Rng::new(13);
    let samples = samples(&mut rng);
    let mut read = 0;
    for _ in 0..executions(300_000) {
        let (_, sent, packet) = &samples[rng.below(samples.len())];
        let mut sent = sent.clone();
        mutate(&mut rng, &mut sent);
        let Ok(schema) = decode::<Schema>(&sent) else { continue };
        let mut bytes = packet.clone();
        if rng.below(2) == 0 {
            mutate(&mut rng, &mut bytes);
        }
        read += 1;
        let info = measure(|| drop(schema.decode(&bytes)));
        assert!(info.bytes_max <= CONSTANT + PER_BYTE * bytes.len() as u64, "{}", info.bytes_max);
        checks::check_packet(&schema, &bytes);
        // In the form that the fuzzer gives them.
        if sent.len() % 2 == 0 && sent.len() < 512 {
            checks::schema_packet(&[&[(sent.len() / 2) as u8], &sent[..], &bytes].concat());
        }
    }
    assert!(read > executions(300_000) / 20, "{read} schemas were read with");
}

#[test]
fn schemas_that_ask_for_much_get_little() {
    let boxed = Box::new;
    let flag = || Field::new("flag", Shape::Op(Op::Bool));
    let structure = |fields| Shape::Struct { name: "S".into(), fields };
    let list = |element| Shape::List { max_len: u32::MAX.into(), element: boxed(element) };
    let array = |len, element| Shape::Array { len, element: boxed(element) };
    // A bit, and fields that are not sent, whose conditions all refer to the last one before them.
    let mut fields: Vec<_> = (0..3000).map(|i| Field::new(&format!("f{i}"), nothing())).collect();
    fields.push(flag());
    let sent = |i| Field {
        when: Some(Condition::Field(vec!["flag".into()])),
        ..Field::new(&format!("g{i}"), nothing())
    };
    fields.extend((0..3000).map(sent));
    let mut tower = nothing();
    for _ in 0..30 {
        tower = array(u32::MAX.into(), tower);
    }
    let mut nested = Shape::Op(Op::Bool);
    for _ in 0..28 {
        nested = structure(vec![Field::new("f", nested)]);
    }
    let hostile = [
        list(nothing()),
        list(list(nothing())),
        list(structure(vec![])),
        list(structure(fields)),
        list(array(1 << 20, structure(vec![]))),
        array(u32::MAX.into(), Shape::Op(Op::Bytes { len: 0 })),
        array(u32::MAX.into(), list(Shape::Op(Op::Align))),
        Shape::Op(Op::Bytes { len: u32::MAX as usize }),
        Shape::Op(Op::Blob { max_len: u32::MAX as usize }),
        list(Shape::Op(Op::WideString { max_len: u32::MAX as usize })),
        list(nested),
        tower,
    ];
    for shape in hostile {
        let schema = Schema::new(shape).unwrap();
        for packet in
            [vec![], vec![0; 1200], vec![0xff; 1200], [0xff, 0xff, 0xff, 0x7f].repeat(300)]
        {
            let start = std::time::Instant::now();
            let info = measure(|| drop(schema.decode(&packet)));
            let limit = CONSTANT + PER_BYTE * packet.len() as u64;
            assert!(info.bytes_max <= limit, "{} bytes for {:?}", info.bytes_max, schema.root());
            checks::check_packet(&schema, &packet);
            assert!(start.elapsed().as_secs() < 10);
        }
    }
}

/// Returns a value without bits.
fn nothing() -> Shape {
    Shape::Op(Op::Bits { width: 0 })
}
