//! Random schemas with random values, the same in every run.

use tightwire::FloatRange;
use tightwire::schema::Dynamic;
use tightwire::stream::{
    Binary, Condition, Field, Number, Op, Shape, SubsetCoding, Value, Variant,
};

use super::rng::Rng;

/// Generates a shape that `Schema::new` accepts and that can decode packets.
pub(crate) fn shape(rng: &mut Rng, depth: usize) -> Shape {
    match rng.below(if depth == 0 { 1 } else { 9 }) {
        0 | 1 => Shape::Op(op(rng)),
        2 => Shape::Option(Box::new(shape(rng, depth - 1))),
        3 => Shape::List { max_len: rng.below(9) as u64, element: Box::new(shape(rng, depth - 1)) },
        4 => Shape::Array { len: rng.below(4) as u64, element: Box::new(shape(rng, depth - 1)) },
        5 => {
            let name = format!("Enum{}", rng.below(100)).into();
            let variants = (0..=rng.below(4)).map(|ordinal| Variant {
                name: format!("V{ordinal}").into(),
                fields: fields(rng, depth - 1),
            });
            Shape::Enum { name, variants: variants.collect() }
        }
        _ => structure(rng, depth),
    }
}

pub(crate) fn structure(rng: &mut Rng, depth: usize) -> Shape {
    let name = format!("Struct{}", rng.below(100)).into();
    Shape::Struct { name, fields: fields(rng, depth.saturating_sub(1)) }
}

fn fields(rng: &mut Rng, depth: usize) -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::new();
    for place in 0..rng.below(6) {
        let mut field = Field::new(&format!("f{place}"), shape(rng, depth));
        if rng.below(3) == 0 {
            field.when = condition(rng, &fields, 3);
        }
        fields.push(field);
    }
    fields
}

/// Generates a condition on these fields; `None` if none is possible.
fn condition(rng: &mut Rng, fields: &[Field], depth: usize) -> Option<Condition> {
    if depth > 0 && rng.below(3) == 0 {
        let operator = [Binary::And, Binary::Or][rng.below(2)];
        let operands = [condition(rng, fields, depth - 1)?, condition(rng, fields, depth - 1)?];
        return Some(Condition::Binary(operator, Box::new(operands)));
    }
    if depth > 0 && rng.below(5) == 0 {
        return Some(Condition::Not(Box::new(condition(rng, fields, depth - 1)?)));
    }
    if fields.is_empty() {
        return (rng.below(4) == 0).then_some(Condition::Bool(true));
    }
    let mut field = &fields[rng.below(fields.len())];
    let mut path = vec![field.name.clone()];
    while let Shape::Struct { fields, .. } = &field.shape {
        if fields.is_empty() {
            return None;
        }
        field = &fields[rng.below(fields.len())];
        path.push(field.name.clone());
    }
    let value = Condition::Field(path);
    let number = |n: u128| Condition::Number(Number::Unsigned(n));
    let compare = |rng: &mut Rng, left, right| {
        use Binary::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        let operators = [Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual];
        Condition::Binary(operators[rng.below(6)], Box::new([left, right]))
    };
    Some(match &field.shape {
        Shape::Op(Op::Bool) => value,
        Shape::Op(Op::Int { .. } | Op::Bits { .. } | Op::Varint { .. } | Op::Enumerate { .. }) => {
            if rng.below(2) == 0 {
                let flag = Condition::Binary(Binary::BitAnd, Box::new([value, number(1)]));
                let operands = Box::new([flag, number(0)]);
                Condition::Binary(Binary::NotEqual, operands)
            } else {
                let limit = Condition::Number(Number::Signed(rng.below(40) as i128 - 20));
                compare(rng, value, limit)
            }
        }
        Shape::Op(Op::Float | Op::CompressedFloat(_)) => {
            compare(rng, value, Condition::Number(Number::Float(0.5)))
        }
        Shape::Op(Op::Double) => compare(rng, value, Condition::Number(Number::Double(0.1))),
        Shape::Op(Op::String { .. } | Op::Blob { .. }) | Shape::List { .. } => {
            let limit = number(rng.below(4) as u128);
            compare(rng, Condition::Len(Box::new(value)), limit)
        }
        Shape::Option(_) => Condition::IsSome(Box::new(value)),
        // An enum that is not sent has no default that a schema knows.
        Shape::Enum { variants, .. } if field.when.is_none() && path_is_sent(fields, &value) => {
            let name = variants[rng.below(variants.len())].name.clone();
            let operator = [Binary::Equal, Binary::NotEqual][rng.below(2)];
            Condition::Binary(operator, Box::new([value, Condition::Variant(name)]))
        }
        _ => return None,
    })
}

/// Returns whether no field on the path has a condition.
fn path_is_sent(fields: &[Field], reference: &Condition) -> bool {
    let Condition::Field(path) = reference else { return false };
    let mut fields = fields;
    for name in path {
        let Some(field) = fields.iter().find(|field| field.name == *name) else { return false };
        if field.when.is_some() {
            return false;
        }
        if let Shape::Struct { fields: inside, .. } = &field.shape {
            fields = inside;
        }
    }
    true
}

pub(crate) fn op(rng: &mut Rng) -> Op {
    let len = rng.below(20);
    let range = FloatRange::new(-(len as f32), 1.0 + len as f32, 0.01);
    match rng.below(20) {
        0 => Op::Bits { width: rng.below(65) as u32 },
        1 | 2 => Op::Bool,
        3 => {
            let low = u128::from(rng.next()) >> rng.below(64);
            let high = low + (u128::from(rng.next()) << 64 >> rng.below(129).min(127));
            Op::Int { min: Number::Unsigned(low), max: Number::Unsigned(high) }
        }
        4 | 5 => {
            let bounds = [rng.next() as i8, rng.next() as i8];
            let [min, max] = [bounds[0].min(bounds[1]), bounds[0].max(bounds[1])];
            Op::Int { min: Number::Signed(min.into()), max: Number::Signed(max.into()) }
        }
        6 => Op::Fixed {
            fraction_bits: len as u32,
            min: Number::Signed(-(len as i128)),
            max: Number::Signed(5),
        },
        7 => Op::Varint { bits: [8, 16, 32, 64, 128][rng.below(5)], signed: rng.below(2) == 0 },
        8 => [Op::Float, Op::Double][rng.below(2)].clone(),
        9 => Op::CompressedFloat(range),
        10 => Op::Enumerate { count: 1 + len },
        11 => Op::Vector { dimensions: rng.below(7) },
        12 => Op::CompressedVector { dimensions: rng.below(7), range },
        13 => {
            [Op::Quaternion, Op::SmallestThree { bits: 3 + len as u32 % 18 }][rng.below(2)].clone()
        }
        14 => Op::UnitVector { bits: 2 + len as u32 % 19 },
        15 => [Op::Align, Op::Check { name: format!("check {len}").into() }][rng.below(2)].clone(),
        16 => [Op::Bytes { len }, Op::Pod { size: len }][rng.below(2)].clone(),
        17 => Op::Blob { max_len: len },
        18 => Op::String { max_len: len },
        _ => Op::WideString { max_len: len },
    }
}

/// Generates one of the operations that a schema can describe but not run.
#[allow(dead_code, reason = "not every test uses them")]
pub(crate) fn op_without_context(rng: &mut Rng) -> Op {
    match rng.below(3) {
        0 => Op::Index { count: rng.below(5000) as u32 },
        1 => Op::IntRelative,
        _ => Op::Selection { len: rng.below(5000), coding: SubsetCoding::Best },
    }
}

/// Generates a value of the shape with every field, also those that are not sent.
#[allow(dead_code, reason = "not every test uses them")]
pub(crate) fn value(rng: &mut Rng, shape: &Shape) -> Dynamic {
    match shape {
        Shape::Op(op) => Dynamic::Value(leaf(rng, op)),
        Shape::Struct { name, fields } => {
            Dynamic::Struct { name: name.clone(), fields: values(rng, fields) }
        }
        Shape::Enum { name, variants } => {
            let variant = &variants[rng.below(variants.len())];
            let fields = values(rng, &variant.fields);
            Dynamic::Enum { name: name.clone(), variant: variant.name.clone(), fields }
        }
        Shape::Option(inner) => {
            Dynamic::Option((rng.below(2) == 0).then(|| Box::new(value(rng, inner))))
        }
        Shape::Array { len, element } => {
            Dynamic::List((0..*len).map(|_| value(rng, element)).collect())
        }
        Shape::List { max_len, element } => {
            let len = rng.below(*max_len as usize + 1);
            Dynamic::List((0..len).map(|_| value(rng, element)).collect())
        }
        other => panic!("no value of {other:?}"),
    }
}

#[allow(dead_code, reason = "not every test uses them")]
fn values(rng: &mut Rng, fields: &[Field]) -> Vec<(tightwire::stream::Name, Dynamic)> {
    fields.iter().map(|field| (field.name.clone(), value(rng, &field.shape))).collect()
}

#[allow(dead_code, reason = "not every test uses them")]
fn leaf(rng: &mut Rng, op: &Op) -> Value {
    let wide = u128::from(rng.next()) << 64 | u128::from(rng.next());
    let wide = wide >> rng.below(128);
    let unsigned = |n: u128| Value::Number(Number::Unsigned(n));
    let signed = |n: i128| Value::Number(Number::Signed(n));
    let float = |n: f32| Value::Number(Number::Float(n));
    let between = |min: i128, max: i128| min + (wide >> 1).cast_signed() % (max - min + 1);
    match *op {
        Op::Bits { width } => unsigned(wide & ((1 << width) - 1)),
        Op::Bool => Value::Bool(wide & 1 == 1),
        Op::Int { min: Number::Unsigned(min), max: Number::Unsigned(max) } => {
            unsigned(min + (max - min).checked_add(1).map_or(wide, |count| wide % count))
        }
        Op::Int { min: Number::Signed(min), max: Number::Signed(max) } => signed(between(min, max)),
        Op::Fixed { fraction_bits, min: Number::Signed(min), max: Number::Signed(max) } => {
            signed(between(min << fraction_bits, max << fraction_bits))
        }
        Op::Varint { bits, signed: false } => unsigned(wide & u128::MAX >> (128 - bits)),
        Op::Varint { bits, signed: true } => {
            signed(wide.cast_signed() << (128 - bits) >> (128 - bits))
        }
        Op::Float => float(rng.next() as i32 as f32 / 1024.0),
        Op::Double => Value::Number(Number::Double(rng.next() as i64 as f64 / 1024.0)),
        Op::CompressedFloat(range) => float(range.dequantise(wide as u32 % (range.max_code() + 1))),
        Op::Enumerate { count } => unsigned(wide % count as u128),
        Op::Vector { dimensions } => {
            Value::Vector((0..dimensions).map(|_| rng.next() as i32 as f32).collect())
        }
        Op::CompressedVector { dimensions, range } => {
            let mut code = || rng.next() as u32 % (range.max_code() + 1);
            Value::Vector((0..dimensions).map(|_| range.dequantise(code())).collect())
        }
        Op::Quaternion | Op::SmallestThree { .. } => Value::Vector(vec![0.0, 0.0, 0.0, 1.0]),
        Op::UnitVector { .. } => Value::Vector(vec![0.0, 1.0, 0.0]),
        Op::Bytes { len } | Op::Pod { size: len } => {
            Value::Bytes((0..len).map(|_| rng.next() as u8).collect())
        }
        Op::Blob { max_len } => {
            let len = rng.below(max_len + 1);
            Value::Bytes((0..len).map(|_| rng.next() as u8).collect())
        }
        Op::String { max_len } | Op::WideString { max_len } => {
            let len = rng.below(max_len + 1);
            Value::Text((0..len).map(|_| char::from(b'a' + rng.below(26) as u8)).collect())
        }
        _ => Value::Unit,
    }
}
