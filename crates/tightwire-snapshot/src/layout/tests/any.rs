//! Any schema: values of random shapes.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::super::Layout;
use super::super::size::columns;
use super::TICKS;
use crate::random_worlds;
use tightwire_core::schema::{Dynamic, Schema};
use tightwire_core::stream::{
    Binary, Condition, Field, FloatRange, Number, Op, Shape, Value, Variant,
};

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end
    }

    /// Returns a number of random magnitude.
    fn wide(&mut self) -> u128 {
        let number = u128::from(self.next()) << 64 | u128::from(self.next());
        number.unbounded_shr(self.below(129) as u32)
    }
}

fn op(rng: &mut Rng) -> Op {
    let number = |number: u128| Number::Unsigned(number);
    let range = FloatRange::new(-3.0, 5.5, [0.1, 0.001, 1e-6][rng.below(3) as usize]);
    match rng.below(20) {
        0 => Op::Bits { width: rng.below(65) as u32 },
        1 | 2 => Op::Bool,
        3 => {
            let (a, b) = (rng.wide(), rng.wide());
            Op::Int { min: number(a.min(b)), max: number(a.max(b)) }
        }
        4 => Op::Int { min: Number::Signed(-7), max: Number::Signed(rng.below(100) as i128) },
        5 => Op::Fixed { fraction_bits: 8, min: Number::Signed(-9), max: Number::Signed(9) },
        6 => Op::Varint { bits: 8 << rng.below(5), signed: rng.below(2) == 1 },
        7 => Op::Float,
        8 => Op::Double,
        9 => Op::CompressedFloat(range),
        10 => Op::Enumerate { count: 1 + rng.below(9) as usize },
        11 => Op::Vector { dimensions: rng.below(4) as usize },
        12 => Op::CompressedVector { dimensions: rng.below(7) as usize, range },
        13 => Op::SmallestThree { bits: 3 + rng.below(18) as u32 },
        14 => Op::UnitVector { bits: 2 + rng.below(19) as u32 },
        15 => Op::Align,
        16 => Op::Bytes { len: rng.below(9) as usize },
        17 => Op::Blob { max_len: rng.below(9) as usize },
        18 => Op::String { max_len: rng.below(14) as usize },
        _ => match rng.below(3) {
            0 => Op::WideString { max_len: rng.below(6) as usize },
            1 => Op::Check { name: "here".into() },
            _ => Op::Quaternion,
        },
    }
}

fn shape(rng: &mut Rng, depth: u32) -> Shape {
    if depth == 0 {
        return Shape::Op(op(rng));
    }
    let inner = |rng: &mut Rng| Box::new(shape(rng, depth - 1));
    match rng.below(8) {
        0 => Shape::Option(inner(rng)),
        1 => Shape::Array { len: rng.below(5), element: inner(rng) },
        2 => Shape::List { max_len: rng.below(5), element: inner(rng) },
        3 => {
            let variant = |index| Variant { name: format!("V{index}").into(), fields: Vec::new() };
            let mut variants: Vec<_> = (0..1 + rng.below(4)).map(variant).collect();
            variants.iter_mut().for_each(|variant| variant.fields = fields(rng, depth));
            Shape::Enum { name: "E".into(), variants }
        }
        4..6 => Shape::Struct { name: "S".into(), fields: fields(rng, depth) },
        _ => Shape::Op(op(rng)),
    }
}

fn fields(rng: &mut Rng, depth: u32) -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::new();
    for index in 0..rng.below(5) {
        let mut field = Field::new(&format!("f{index}"), shape(rng, depth - 1));
        if rng.below(2) == 0 {
            field.when = condition(rng, &fields);
        }
        fields.push(field);
    }
    fields
}

fn condition(rng: &mut Rng, before: &[Field]) -> Option<Condition> {
    let field = before.get(rng.below(before.len().max(1) as u64) as usize)?;
    let of = || Box::new(Condition::Field(vec![field.name.clone()]));
    let compared = |rng: &mut Rng, value: Condition| {
        let operator = Binary::ALL[2 + rng.below(6) as usize];
        let number = Condition::Number(Number::Signed(rng.below(6) as i128));
        Condition::Binary(operator, Box::new([value, number]))
    };
    let own = match &field.shape {
        Shape::Op(Op::Bool) if rng.below(2) == 0 => Condition::Not(of()),
        Shape::Op(Op::Bool) => *of(),
        Shape::Op(Op::Bits { .. }) => {
            let flag = Condition::Number(Number::Unsigned(rng.wide()));
            let flags = Condition::Binary(Binary::BitAnd, Box::new([*of(), flag]));
            compared(rng, flags)
        }
        Shape::Op(
            Op::Int { .. }
            | Op::Fixed { .. }
            | Op::Varint { .. }
            | Op::Float
            | Op::Double
            | Op::CompressedFloat(_)
            | Op::Enumerate { .. },
        ) => compared(rng, *of()),
        Shape::Op(Op::String { .. } | Op::Blob { .. } | Op::Bytes { .. })
        | Shape::List { .. }
        | Shape::Array { .. } => compared(rng, Condition::Len(of())),
        Shape::Option(_) => Condition::IsSome(of()),
        Shape::Enum { variants, .. } => {
            let variant = &variants[rng.below(variants.len() as u64) as usize].name;
            let operands = [*of(), Condition::Variant(variant.clone())];
            Condition::Binary(Binary::NotEqual, Box::new(operands))
        }
        _ => return None,
    };
    Some(match &field.when {
        Some(when) => Condition::Binary(Binary::And, Box::new([when.clone(), own])),
        None => own,
    })
}

/// Returns a random value of a shape.
fn value(shape: &Shape, rng: &mut Rng) -> Dynamic {
    match shape {
        Shape::Op(op) => Dynamic::Value(leaf(op, rng)),
        Shape::Struct { name, fields } => {
            Dynamic::Struct { name: name.clone(), fields: values(fields, rng) }
        }
        Shape::Enum { name, variants } => {
            let variant = &variants[rng.below(variants.len() as u64) as usize];
            let fields = values(&variant.fields, rng);
            Dynamic::Enum { name: name.clone(), variant: variant.name.clone(), fields }
        }
        Shape::Option(inner) => {
            Dynamic::Option((rng.below(2) == 0).then(|| Box::new(value(inner, rng))))
        }
        Shape::Array { len, element } => {
            Dynamic::List((0..*len).map(|_| value(element, rng)).collect())
        }
        Shape::List { max_len, element } => {
            Dynamic::List((0..rng.below(max_len + 1)).map(|_| value(element, rng)).collect())
        }
        _ => Dynamic::default(),
    }
}

fn values(fields: &[Field], rng: &mut Rng) -> Vec<(tightwire_core::stream::Name, Dynamic)> {
    fields.iter().map(|field| (field.name.clone(), value(&field.shape, rng))).collect()
}

fn leaf(op: &Op, rng: &mut Rng) -> Value {
    let float = |rng: &mut Rng| rng.below(10_000) as f32 / 1000.0 - 4.0;
    let floats = |rng: &mut Rng, count| Value::Vector((0..count).map(|_| float(rng)).collect());
    let text = |rng: &mut Rng, max_len, size: fn(&str) -> usize| {
        let mut text = String::new();
        for _ in 0..rng.below(9) {
            let next = ['a', 'z', 'ß', 'あ', '😀'][rng.below(5) as usize];
            let longer = format!("{text}{next}");
            text = if size(&longer) <= max_len { longer } else { text };
        }
        Value::Text(text)
    };
    let bytes = |rng: &mut Rng, len| Value::Bytes((0..len).map(|_| rng.next() as u8).collect());
    let number = |number: u128| Value::Number(Number::Unsigned(number));
    match *op {
        Op::Bool => Value::Bool(rng.below(2) == 1),
        Op::Int { min: Number::Signed(min), max: Number::Signed(max) }
        | Op::Fixed { min: Number::Signed(min), max: Number::Signed(max), .. } => {
            let offset = rng.wide() % (max - min + 1).cast_unsigned();
            Value::Number(Number::Signed(min + offset.cast_signed()))
        }
        Op::Int { min: Number::Unsigned(min), .. }
        | Op::Fixed { min: Number::Unsigned(min), .. } => {
            let span = op.span().unwrap();
            number(min + rng.wide() % span.saturating_add(1))
        }
        Op::Bits { .. } | Op::Enumerate { .. } => number(rng.wide() % (op.span().unwrap() + 1)),
        Op::Varint { bits, signed } => {
            let wide = rng.wide() & u128::MAX >> (128 - bits);
            match signed {
                true => {
                    Value::Number(Number::Signed((wide >> 1).cast_signed() ^ -((wide & 1) as i128)))
                }
                false => number(wide),
            }
        }
        Op::Float => Value::Number(Number::Float(f32::from_bits(rng.next() as u32))),
        Op::Double => Value::Number(Number::Double(f64::from_bits(rng.next()))),
        Op::CompressedFloat(_) => Value::Number(Number::Float(float(rng))),
        Op::Vector { dimensions } | Op::CompressedVector { dimensions, .. } => {
            floats(rng, dimensions)
        }
        Op::Quaternion | Op::SmallestThree { .. } => floats(rng, 4),
        Op::UnitVector { .. } => floats(rng, 3),
        Op::Bytes { len } => bytes(rng, len),
        Op::Blob { max_len } => {
            let len = rng.below(max_len as u64 + 1) as usize;
            bytes(rng, len)
        }
        Op::String { max_len } => text(rng, max_len, str::len),
        Op::WideString { max_len } => text(rng, max_len, |text| text.encode_utf16().count()),
        _ => Value::Unit,
    }
}

/// Runs `then` with random schemas, their layouts and packets.
fn each(rounds: u64, seed: u64, mut then: impl FnMut(&Schema, &Layout, &[u8], &mut Rng)) {
    // Never zero, a fixed point of the generator.
    let mut rng = Rng(random_worlds::seed(seed).max(1));
    let mut tried = 0;
    while tried < rounds {
        let depth = 1 + rng.below(4) as u32;
        let Ok(schema) = Schema::new(shape(&mut rng, depth)) else { continue };
        if columns(schema.root()) > 1024 {
            assert!(Layout::new(&schema, TICKS).is_err());
            continue;
        }
        let layout = Layout::new(&schema, TICKS).unwrap();
        assert_eq!(layout.columns.len() as u64, columns(schema.root()), "{schema:?}");
        for _ in 0..10 {
            let mut buffer = [0; 1 << 14];
            let packet = schema.encode(&value(schema.root(), &mut rng), &mut buffer);
            then(&schema, &layout, packet.unwrap(), &mut rng);
        }
        tried += 1;
    }
}

#[test]
fn random_schemas_round_trip_bit_for_bit() {
    each(3000, 1, |schema, layout, packet, _| {
        let mut cells = vec![9; layout.columns.len()];
        layout.cells_of(packet, &mut cells).unwrap();
        let mut again = [0xff; 1 << 14];
        assert_eq!(layout.packet_of(&cells, &mut again).unwrap(), packet, "{schema:?}");
        assert!(cells.iter().zip(&layout.columns).all(|(cell, column)| *cell <= column.max));
        // While it reads, a receiver has the cells of the groups before, and zeros for the others.
        let mut known = vec![0; cells.len()];
        for (index, group) in layout.groups.iter().enumerate() {
            let is_present = layout.is_present(index, &cells);
            assert_eq!(layout.is_present(index, &known), is_present, "{schema:?}");
            assert!(is_present || cells[group.columns()].iter().all(|&cell| cell == 0));
            known[group.columns()].copy_from_slice(&cells[group.columns()]);
        }
        assert_eq!(known, cells);
    });
}

#[test]
fn cells_and_packets_that_are_accepted_are_those_of_a_value() {
    each(3000, 2, |schema, layout, packet, rng| {
        let mut cells = vec![0; layout.columns.len()];
        let (mut again, mut buffer) = ([0; 1 << 14], packet.to_vec());
        for _ in 0..4 {
            layout.cells_of(packet, &mut cells).unwrap();
            for _ in 0..=rng.below(2) {
                let place = rng.below(cells.len().max(1) as u64) as usize;
                let above = layout.columns.get(place).map_or(1, |column| u64::from(column.max) + 2);
                cells
                    .iter_mut()
                    .skip(place)
                    .take(1)
                    .for_each(|cell| *cell = rng.below(above) as u32);
            }
            if let Ok(packet) = layout.packet_of(&cells, &mut again) {
                let mut same = vec![0; cells.len()];
                layout.cells_of(packet, &mut same).unwrap();
                assert_eq!(same, cells, "{schema:?}");
                assert!(schema.decode(packet).is_ok(), "{schema:?}");
            }
            if let Some(byte) = buffer.iter().position(|_| rng.below(3) == 0) {
                buffer[byte] ^= 1 << rng.below(8);
            }
            let is_good = schema.decode(&buffer).is_ok();
            assert_eq!(layout.cells_of(&buffer, &mut cells).is_ok(), is_good, "{schema:?}");
        }
    });
}
