//! Operations described as data, run on a stream: how a schema reads and writes packets.

use alloc::string::String;
use alloc::vec::Vec;
use core::mem::{needs_drop, take};

use super::collection::{begin_list, end_list};
use super::float::compressed_slice;
use super::raw::{group, operation};
use super::{Number, Op, Stream, Target, TraceScope, Value, check_not_failed, int, text, vector};

/// Reasons why an operation was not completed.
#[derive(Debug)]
pub(crate) enum RunError<E> {
    /// The stream refused the value.
    Stream(E),
    /// The value has another kind than the operation carries; the string names the expected kind.
    Mismatch(&'static str),
    /// The operation needs a value that only the program knows, such as a previous index.
    NoContext,
}

impl<E> From<E> for RunError<E> {
    fn from(error: E) -> Self {
        Self::Stream(error)
    }
}

/// Largest number of components of a vector that is described as data.
pub(crate) const MAX_DIMENSIONS: usize = 64;

/// Runs `op` on `value`. Reading gives `value` the kind that the operation carries.
pub(crate) fn run_op<S: Stream>(
    stream: &mut S,
    op: &Op,
    value: &mut Value,
) -> Result<(), RunError<S::Error>> {
    match *op {
        Op::Bits { width } => small(stream, value, |v, s| s.bits(v, width)),
        Op::Bool => carried(stream, value, BOOL, |v, s| s.bool(v)),
        Op::Int { min: Number::Unsigned(min), max: Number::Unsigned(max) } => {
            carried(stream, value, UNSIGNED, |v, s| s.int(v, min..=max))
        }
        Op::Int { min: Number::Signed(min), max: Number::Signed(max) } => {
            carried(stream, value, SIGNED, |v, s| s.int(v, min..=max))
        }
        Op::Fixed { fraction_bits: f, min: Number::Unsigned(min), max: Number::Unsigned(max) } => {
            carried(stream, value, UNSIGNED, |v, s| s.fixed(v, f, min..=max))
        }
        Op::Fixed { fraction_bits: f, min: Number::Signed(min), max: Number::Signed(max) } => {
            carried(stream, value, SIGNED, |v, s| s.fixed(v, f, min..=max))
        }
        Op::Varint { bits, signed } => varint(stream, value, bits, signed),
        Op::Float => carried(stream, value, FLOAT, |v, s| s.float(v)),
        Op::Double => carried(stream, value, DOUBLE, |v, s| s.double(v)),
        Op::CompressedFloat(range) => {
            carried(stream, value, FLOAT, |v, s| s.compressed_float(v, range))
        }
        Op::Enumerate { count } => small(stream, value, |v, s| {
            let mut ordinal = usize::try_from(*v).unwrap_or(usize::MAX);
            let result = s.variant(&mut ordinal, count, |_| "");
            *v = ordinal as u64;
            result
        }),
        Op::Vector { dimensions } => {
            vector(stream, value, op, dimensions, |v, s| vector::whole_slice(s, v))
        }
        Op::CompressedVector { dimensions, range } => {
            vector(stream, value, op, dimensions, |values, s| {
                let mut codes = [0; MAX_DIMENSIONS];
                compressed_slice(s, values, &mut codes[..values.len()], range)
            })
        }
        Op::Quaternion => array(stream, value, |v: &mut [f32; 4], s| s.quaternion(v)),
        Op::SmallestThree { bits } => {
            array(stream, value, |v: &mut [f32; 4], s| s.smallest_three(v, bits))
        }
        Op::UnitVector { bits } => {
            array(stream, value, |v: &mut [f32; 3], s| s.unit_vector(v, bits))
        }
        Op::Align => carried(stream, value, UNIT, |_, s| s.align()),
        Op::Bytes { len } | Op::Pod { size: len } => runtime_bytes(stream, value, op, len),
        Op::Blob { max_len } => carried(stream, value, BYTES, |v, s| s.blob(v, max_len)),
        Op::String { max_len } => carried(stream, value, TEXT, |v, s| s.string(v, max_len)),
        Op::WideString { max_len } => {
            carried(stream, value, TEXT, |v, s| s.wide_string(v, max_len))
        }
        Op::Check { ref name } => carried(stream, value, UNIT, |_, s| {
            operation!(S, s, op.clone(), int::check(s, name), Value::Unit)
        }),
        // Bounds of two different types do not come from `Stream::int`.
        Op::Int { .. } | Op::Fixed { .. } => Err(RunError::NoContext),
        Op::Index { .. } | Op::IntRelative | Op::Selection { .. } => Err(RunError::NoContext),
    }
}

/// The ordinal of an enum. No caller is tracked, since a trace shows the ordinal as the enum
/// itself.
pub(crate) fn run_ordinal<'n, S: Stream>(
    stream: &mut S,
    ordinal: &mut usize,
    count: usize,
    name: impl FnOnce(usize) -> &'n str,
) -> Result<(), S::Error> {
    stream.variant(ordinal, count, name)
}

/// [`Stream::fixed_array`] with a length that is only known at run time.
pub(crate) fn runtime_array<S: Stream, T: Default>(
    stream: &mut S,
    items: &mut Vec<T>,
    length: usize,
    element: impl FnMut(&mut T, &mut S) -> Result<(), S::Error>,
) -> Result<(), S::Error> {
    group!(S, stream, TraceScope::Group("fixed_array"), each(stream, items, length, element))
}

/// [`Stream::array`] for a tree of values; a writer has its own copy of the tree, so `&mut` is
/// fine.
pub(crate) fn tree_list<S: Stream, T: Default>(
    stream: &mut S,
    items: &mut Vec<T>,
    max_len: usize,
    element: impl FnMut(&mut T, &mut S) -> Result<(), S::Error>,
) -> Result<(), S::Error> {
    group!(S, stream, TraceScope::Group("array"), {
        let mut length = items.len();
        begin_list(stream, &mut length, max_len).and_then(|start| {
            each(stream, items, length, element)?;
            end_list(stream, length, start)
        })
    })
}

/// [`Stream::option`] for a tree of values; a writer has its own copy of the tree, so `&mut` is
/// fine.
pub(crate) fn tree_option<S: Stream, T: Default>(
    stream: &mut S,
    value: &mut Option<T>,
    inner: impl FnOnce(&mut T, &mut S) -> Result<(), S::Error>,
) -> Result<(), S::Error> {
    group!(S, stream, TraceScope::Group("option"), {
        let mut is_some = value.is_some();
        stream.named("is_some").bool(&mut is_some).and_then(|()| match is_some {
            true => inner(value.get_or_insert_default(), stream),
            false => {
                *value = None;
                Ok(())
            }
        })
    })
}

/// Serializes the elements of a tree. A reader makes room for an element only after the packet held
/// those before it.
fn each<S: Stream, T: Default>(
    stream: &mut S,
    items: &mut Vec<T>,
    length: usize,
    mut element: impl FnMut(&mut T, &mut S) -> Result<(), S::Error>,
) -> Result<(), S::Error> {
    if S::READING {
        items.truncate(length);
    }
    for index in 0..length {
        if S::READING && index == items.len() {
            items.push(T::default());
        }
        let Some(item) = items.get_mut(index) else { break };
        group!(S, stream, TraceScope::Index(index), element(item, stream))?;
    }
    if length == 0 { check_not_failed(stream) } else { Ok(()) }
}

/// A kind of [`Value`]: its name, and functions that take the contents out and put them back.
type ValueKind<T> = (&'static str, fn(&mut Value) -> Option<T>, fn(T) -> Value);

const UNIT: ValueKind<()> =
    ("nothing", |value| matches!(value, Value::Unit).then_some(()), |()| Value::Unit);

const BOOL: ValueKind<bool> = (
    "a bool",
    |value| if let Value::Bool(value) = value { Some(*value) } else { None },
    Value::Bool,
);

const UNSIGNED: ValueKind<u128> = (
    "an unsigned integer",
    |value| match *value {
        Value::Number(Number::Unsigned(number)) => Some(number),
        Value::Number(Number::Signed(number)) => u128::try_from(number).ok(),
        _ => None,
    },
    |number| Value::Number(Number::Unsigned(number)),
);

const SIGNED: ValueKind<i128> = (
    "an integer",
    |value| match *value {
        Value::Number(Number::Signed(number)) => Some(number),
        Value::Number(Number::Unsigned(number)) => i128::try_from(number).ok(),
        _ => None,
    },
    |number| Value::Number(Number::Signed(number)),
);

const FLOAT: ValueKind<f32> = (
    "a float",
    |value| if let Value::Number(Number::Float(value)) = value { Some(*value) } else { None },
    |number| Value::Number(Number::Float(number)),
);

const DOUBLE: ValueKind<f64> = (
    "a double",
    |value| if let Value::Number(Number::Double(value)) = value { Some(*value) } else { None },
    |number| Value::Number(Number::Double(number)),
);

const TEXT: ValueKind<String> = (
    "text",
    |value| if let Value::Text(text) = value { Some(take(text)) } else { None },
    Value::Text,
);

const BYTES: ValueKind<Vec<u8>> = (
    "bytes",
    |value| if let Value::Bytes(bytes) = value { Some(take(bytes)) } else { None },
    Value::Bytes,
);

const VECTOR: ValueKind<Vec<f32>> = (
    "a vector of floats",
    |value| if let Value::Vector(vector) = value { Some(take(vector)) } else { None },
    Value::Vector,
);

/// Takes the value out, serializes it, and puts it back.
fn carried<S: Stream, T: Default>(
    stream: &mut S,
    value: &mut Value,
    (name, get, put): ValueKind<T>,
    serialize: impl FnOnce(&mut T, &mut S) -> Result<(), S::Error>,
) -> Result<(), RunError<S::Error>> {
    let mut typed = match S::WRITING {
        true => get(value).ok_or(RunError::Mismatch(name))?,
        // Strings and vectors are read into the memory that they already have.
        false if needs_drop::<T>() => get(value).unwrap_or_default(),
        false => T::default(),
    };
    let result = serialize(&mut typed, stream);
    *value = put(typed);
    Ok(result?)
}

/// A number of at most 64 bits; a larger one is outside every range that the operation can have.
fn small<S: Stream>(
    stream: &mut S,
    value: &mut Value,
    serialize: impl FnOnce(&mut u64, &mut S) -> Result<(), S::Error>,
) -> Result<(), RunError<S::Error>> {
    let mut narrow = 0;
    if S::WRITING {
        let (name, get, _) = UNSIGNED;
        let number = get(value).ok_or(RunError::Mismatch(name))?;
        narrow = u64::try_from(number).map_err(|_| RunError::Mismatch("a number of 64 bits"))?;
    }
    let result = serialize(&mut narrow, stream);
    *value = Value::Number(Number::Unsigned(narrow.into()));
    Ok(result?)
}

macro_rules! by_type {
    ($stream:ident, $value:ident, $bits:ident, $signed:ident: $($width:literal $unsigned:ty, $of_signed:ty;)*) => {
        match ($bits, $signed) {
            $(
                ($width, false) => carried($stream, $value, UNSIGNED, |v, s| {
                    as_type::<S, $unsigned>(s, (*v).try_into().ok(), |read| *v = read.into())
                }),
                ($width, true) => carried($stream, $value, SIGNED, |v, s| {
                    as_type::<S, $of_signed>(s, (*v).try_into().ok(), |read| *v = read.into())
                }),
            )*
            _ => Err(RunError::NoContext),
        }
    };
}

fn varint<S: Stream>(
    stream: &mut S,
    value: &mut Value,
    bits: u32,
    signed: bool,
) -> Result<(), RunError<S::Error>> {
    by_type! { stream, value, bits, signed:
        8 u8, i8; 16 u16, i16; 32 u32, i32; 64 u64, i64; 128 u128, i128;
    }
}

/// A varint of type `T`; `number` is `None` if the type cannot hold it.
fn as_type<S: Stream, T: super::Int>(
    stream: &mut S,
    number: Option<T>,
    put: impl FnOnce(T),
) -> Result<(), S::Error> {
    let Some(mut number) = number else {
        let bit = stream.position();
        return stream.refuse_at(super::ErrorKind::OutOfRange, bit);
    };
    let result = stream.varint(&mut number);
    put(number);
    result
}

fn runtime_bytes<S: Stream>(
    stream: &mut S,
    value: &mut Value,
    op: &Op,
    length: usize,
) -> Result<(), RunError<S::Error>> {
    if let (true, Value::Bytes(bytes)) = (S::WRITING, &*value)
        && bytes.len() != length
    {
        return Err(RunError::Mismatch("as many bytes as the schema says"));
    }
    carried(stream, value, BYTES, |bytes, stream| {
        operation!(
            S,
            stream,
            op.clone(),
            text::grown_bytes(stream, Target::from(&mut *bytes), length),
            Value::Bytes(bytes.clone())
        )
    })
}

fn vector<S: Stream>(
    stream: &mut S,
    value: &mut Value,
    op: &Op,
    dimensions: usize,
    serialize: impl FnOnce(&mut [f32], &mut S) -> Result<(), S::Error>,
) -> Result<(), RunError<S::Error>> {
    if dimensions > MAX_DIMENSIONS {
        return Err(RunError::NoContext);
    }
    if let (true, Value::Vector(vector)) = (S::WRITING, &*value)
        && vector.len() != dimensions
    {
        return Err(RunError::Mismatch("as many components as the schema says"));
    }
    carried(stream, value, VECTOR, |components, stream| {
        components.resize(dimensions, 0.0);
        operation!(
            S,
            stream,
            op.clone(),
            serialize(components, stream),
            Value::Vector(components.clone())
        )
    })
}

fn array<S: Stream, const N: usize>(
    stream: &mut S,
    value: &mut Value,
    serialize: impl FnOnce(&mut [f32; N], &mut S) -> Result<(), S::Error>,
) -> Result<(), RunError<S::Error>> {
    let mut components = [0.0; N];
    if S::WRITING {
        match value {
            Value::Vector(vector) if vector.len() == N => components.copy_from_slice(vector),
            _ => return Err(RunError::Mismatch("as many floats as the rotation or direction has")),
        }
    }
    let result = serialize(&mut components, stream);
    match value {
        Value::Vector(vector) => {
            vector.clear();
            vector.extend_from_slice(&components);
        }
        _ => *value = Value::Vector(components.to_vec()),
    }
    Ok(result?)
}
