//! Packets of any schema: written, damaged, put into datagrams.

use tightwire::Stream;
use tightwire::bytes::Packing;
use tightwire::packet::{Identity, Protection};
use tightwire::schema::Dynamic;
use tightwire::stream::{ByteStream, Op, Shape, Value, WriteStream};

use super::library::rng::Rng;
use super::library::shapes;

/// A random value of the shape, with rotations, directions, floats and texts that vary.
pub(crate) fn value(rng: &mut Rng, shape: &Shape) -> Dynamic {
    let mut value = shapes::value(rng, shape);
    vary(rng, shape, &mut value);
    value
}

fn vary(rng: &mut Rng, shape: &Shape, value: &mut Dynamic) {
    match (shape, value) {
        (Shape::Op(op), Dynamic::Value(value)) => vary_leaf(rng, op, value),
        (Shape::Struct { fields, .. }, Dynamic::Struct { fields: values, .. }) => {
            for (field, (_, value)) in fields.iter().zip(values) {
                vary(rng, &field.shape, value);
            }
        }
        (Shape::Enum { variants, .. }, Dynamic::Enum { variant: name, fields: values, .. }) => {
            let variant = variants.iter().find(|variant| variant.name == *name).unwrap();
            for (field, (_, value)) in variant.fields.iter().zip(values) {
                vary(rng, &field.shape, value);
            }
        }
        (Shape::Option(inner), Dynamic::Option(Some(value))) => vary(rng, inner, value),
        (Shape::List { element, .. } | Shape::Array { element, .. }, Dynamic::List(values)) => {
            values.iter_mut().for_each(|value| vary(rng, element, value));
        }
        _ => {}
    }
}

fn vary_leaf(rng: &mut Rng, op: &Op, value: &mut Value) {
    const TEXTS: [&str; 6] = ["", "Ada", "größe ☃", "🎲🎲", "\"a\\b\" <&>'", "\u{1b}[31m\u{7f}\t"];
    match (op, value) {
        (
            Op::Quaternion | Op::SmallestThree { .. } | Op::UnitVector { .. },
            Value::Vector(components),
        ) => {
            let mut square = 0.0;
            while square < 0.01 {
                components.fill_with(|| rng.next() as i32 as f32 / 2_147_483_648.0);
                square = components.iter().map(|component| component * component).sum();
            }
            let length = square.sqrt();
            components.iter_mut().for_each(|component| *component /= length);
        }
        (Op::Float, Value::Number(number)) if rng.below(2) == 0 => {
            *number = tightwire::stream::Number::Float(f32::from_bits(rng.next() as u32));
        }
        (Op::Double, Value::Number(number)) if rng.below(2) == 0 => {
            *number = tightwire::stream::Number::Double(f64::from_bits(rng.next()));
        }
        (Op::Vector { .. }, Value::Vector(components)) => {
            components.fill_with(|| f32::from_bits(rng.next() as u32));
        }
        (Op::String { max_len } | Op::WideString { max_len }, Value::Text(text)) => {
            let other = TEXTS[rng.below(TEXTS.len())];
            if other.len() <= *max_len {
                *text = other.to_owned();
            }
        }
        _ => {}
    }
}

/// The packet of a value, as the identity says it is written.
pub(crate) fn packet(identity: &Identity, value: &mut Dynamic) -> Vec<u8> {
    fn write<S: Stream>(identity: &Identity, value: &mut Dynamic, stream: &mut S) {
        assert!(identity.schema().serialize(value, stream).is_ok());
        if identity.has_checks() {
            assert!(stream.check("end").is_ok());
        }
    }
    let mut buffer = vec![0; 1 << 16];
    let mut stream = WriteStream::new(&mut buffer);
    if !identity.has_checks() {
        stream = stream.without_checks();
    }
    if identity.packing() == Packing::Bytes {
        let mut bytes = ByteStream::new(stream);
        write(identity, value, &mut bytes);
        stream = bytes.into_inner();
    } else {
        write(identity, value, &mut stream);
    }
    stream.finish().unwrap().to_vec()
}

/// The datagram around a packet.
pub(crate) fn datagram(identity: &Identity, packet: &[u8]) -> Vec<u8> {
    let id = identity.id().to_le_bytes();
    match identity.protection() {
        Protection::Id => [&id, packet].concat(),
        Protection::Crc32 => {
            let checksum = crc32(&[&id, packet].concat());
            [&checksum.to_le_bytes(), packet].concat()
        }
        _ => packet.to_vec(),
    }
}

/// The checksum of IEEE 802.3, a bit at a time.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ ((crc & 1) * 0xedb8_8320))
    };
    !bytes.iter().fold(!0, step)
}

/// A packet that an attacker, an older version or a bad network makes of a good one.
pub(crate) fn damaged(rng: &mut Rng, packet: &[u8]) -> Vec<u8> {
    let mut bytes = packet.to_vec();
    match rng.below(5) {
        0 => bytes.truncate(rng.below(bytes.len() + 1)),
        1 => bytes.extend((0..=rng.below(3)).map(|_| rng.next() as u8)),
        2 => bytes = (0..rng.below(60)).map(|_| rng.next() as u8).collect(),
        // The padding of the last byte, too.
        3 if !bytes.is_empty() => *bytes.last_mut().unwrap() |= 0x80,
        _ => {}
    }
    for _ in 0..rng.below(4) {
        if !bytes.is_empty() {
            let place = rng.below(bytes.len());
            bytes[place] ^= 1 << rng.below(8);
        }
    }
    bytes
}
