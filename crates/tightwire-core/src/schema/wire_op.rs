//! Operations and numbers on the wire, as parts of a schema.

use alloc::borrow::Cow;
use alloc::string::String;

use super::validate::MAX_NAME;
use crate::stream::{ErrorKind, FloatRange, Number, Op, Stream, SubsetCoding};

/// Names of the operations, in the order of their numbers on the wire.
const OPS: [&str; 24] = [
    "bits",
    "bool",
    "int",
    "fixed",
    "varint",
    "float",
    "double",
    "compressed_float",
    "enumerate",
    "vector",
    "compressed_vector",
    "quaternion",
    "smallest_three",
    "unit_vector",
    "align",
    "bytes",
    "blob",
    "string",
    "wide_string",
    "index",
    "int_relative",
    "selection",
    "check",
    "pod",
];

const CODINGS: [SubsetCoding; 5] = [
    SubsetCoding::BitPerObject,
    SubsetCoding::CountAndIndex,
    SubsetCoding::SentinelIndex,
    SubsetCoding::RelativeIndex,
    SubsetCoding::Best,
];

/// The number that a reader overwrites.
pub(super) const ZERO: Number = Number::Unsigned(0);

/// The range that a reader overwrites.
const UNIT: FloatRange = FloatRange::new(0.0, 1.0, 1.0);

/// Serializes an operation with its parameters.
pub(super) fn op<S: Stream>(op: &mut Op, stream: &mut S) -> Result<(), S::Error> {
    let mut kind = OPS.iter().position(|name| *name == op.name()).unwrap_or(OPS.len());
    stream.named("op").variant(&mut kind, OPS.len(), |kind| OPS[kind])?;
    if S::READING {
        *op = blank(kind);
    }
    match op {
        Op::Bits { width: bits } | Op::SmallestThree { bits } | Op::UnitVector { bits } => {
            stream.named("bits").varint(bits)
        }
        Op::Int { min, max } => bounds(min, max, stream),
        Op::Fixed { fraction_bits, min, max } => {
            stream.named("fraction_bits").varint(fraction_bits)?;
            bounds(min, max, stream)
        }
        Op::Varint { bits, signed } => {
            stream.named("bits").enumerate(bits, &[8, 16, 32, 64, 128])?;
            stream.named("signed").bool(signed)
        }
        Op::CompressedFloat(range) => float_range(range, stream),
        Op::CompressedVector { dimensions, range } => {
            length(dimensions, stream)?;
            float_range(range, stream)
        }
        Op::Enumerate { count: len }
        | Op::Vector { dimensions: len }
        | Op::Bytes { len }
        | Op::Pod { size: len }
        | Op::Blob { max_len: len }
        | Op::String { max_len: len }
        | Op::WideString { max_len: len } => length(len, stream),
        Op::Index { count } => stream.named("count").varint(count),
        Op::Selection { len, coding } => {
            length(len, stream)?;
            stream.named("coding").enumerate(coding, &CODINGS)
        }
        Op::Check { name } => {
            let mut text = String::from(&**name);
            stream.named("name").string(&mut text, MAX_NAME)?;
            if S::READING {
                *name = Cow::Owned(text);
            }
            Ok(())
        }
        Op::Bool | Op::Float | Op::Double | Op::Quaternion | Op::Align | Op::IntRelative => Ok(()),
    }
}

/// Returns the operation with this number on the wire, with empty parameters.
fn blank(kind: usize) -> Op {
    let (min, max, range) = (ZERO, ZERO, UNIT);
    match OPS.get(kind).copied().unwrap_or_default() {
        "bits" => Op::Bits { width: 0 },
        "int" => Op::Int { min, max },
        "fixed" => Op::Fixed { fraction_bits: 0, min, max },
        "varint" => Op::Varint { bits: 8, signed: false },
        "float" => Op::Float,
        "double" => Op::Double,
        "compressed_float" => Op::CompressedFloat(range),
        "enumerate" => Op::Enumerate { count: 0 },
        "vector" => Op::Vector { dimensions: 0 },
        "compressed_vector" => Op::CompressedVector { dimensions: 0, range },
        "quaternion" => Op::Quaternion,
        "smallest_three" => Op::SmallestThree { bits: 0 },
        "unit_vector" => Op::UnitVector { bits: 0 },
        "align" => Op::Align,
        "bytes" => Op::Bytes { len: 0 },
        "blob" => Op::Blob { max_len: 0 },
        "string" => Op::String { max_len: 0 },
        "wide_string" => Op::WideString { max_len: 0 },
        "index" => Op::Index { count: 0 },
        "int_relative" => Op::IntRelative,
        "selection" => Op::Selection { len: 0, coding: SubsetCoding::Best },
        "check" => Op::Check { name: Cow::Borrowed("") },
        "pod" => Op::Pod { size: 0 },
        _ => Op::Bool,
    }
}

/// Serializes two bounds of the same type.
fn bounds<S: Stream>(min: &mut Number, max: &mut Number, stream: &mut S) -> Result<(), S::Error> {
    let mut signed = matches!(min, Number::Signed(_));
    stream.named("signed").bool(&mut signed)?;
    for (bound, name) in [(min, "min"), (max, "max")] {
        if S::READING {
            *bound = if signed { Number::Signed(0) } else { Number::Unsigned(0) };
        }
        match bound {
            Number::Unsigned(bound) => stream.named(name).varint(bound)?,
            Number::Signed(bound) => stream.named(name).varint(bound)?,
            // The validation refuses such bounds before they are written.
            Number::Float(_) | Number::Double(_) => stream.refuse()?,
        }
    }
    Ok(())
}

/// Serializes a constant of a condition.
pub(super) fn number<S: Stream>(number: &mut Number, stream: &mut S) -> Result<(), S::Error> {
    const KINDS: [&str; 4] = ["unsigned", "signed", "float", "double"];
    let mut kind = match number {
        Number::Unsigned(_) => 0,
        Number::Signed(_) => 1,
        Number::Float(_) => 2,
        Number::Double(_) => 3,
    };
    stream.named("number").variant(&mut kind, KINDS.len(), |kind| KINDS[kind])?;
    if S::READING {
        *number = match kind {
            0 => Number::Unsigned(0),
            1 => Number::Signed(0),
            2 => Number::Float(0.0),
            _ => Number::Double(0.0),
        };
    }
    stream.name_next("value");
    match number {
        Number::Unsigned(number) => stream.varint(number),
        Number::Signed(number) => stream.varint(number),
        Number::Float(number) => stream.float(number),
        Number::Double(number) => stream.double(number),
    }
}

fn float_range<S: Stream>(range: &mut FloatRange, stream: &mut S) -> Result<(), S::Error> {
    let [mut min, mut max, mut resolution] = [range.min(), range.max(), range.resolution()];
    stream.named("min").float(&mut min)?;
    stream.named("max").float(&mut max)?;
    stream.named("resolution").float(&mut resolution)?;
    if S::READING {
        match FloatRange::checked(min, max, resolution) {
            Some(checked) => *range = checked,
            None => return stream.refuse(),
        }
    }
    Ok(())
}

fn length<S: Stream>(length: &mut usize, stream: &mut S) -> Result<(), S::Error> {
    let mut wide = *length as u64;
    let start = stream.position();
    stream.named("len").varint(&mut wide)?;
    match usize::try_from(wide) {
        Ok(wide) => *length = wide,
        Err(_) => return stream.refuse_at(ErrorKind::OutOfRange, start),
    }
    Ok(())
}
