//! Operations and the values that they carry, as data: for traces and schemas.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::RangeInclusive;

use super::float::FloatRange;
use super::int::Int;
use super::subset::SubsetCoding;
use super::tree::printable;

/// One stream operation with its parameters.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Op {
    /// Raw bits.
    Bits {
        /// Width in bits.
        width: u32,
    },
    /// One bit.
    Bool,
    /// An integer of a range.
    Int {
        /// Smallest value.
        min: Number,
        /// Largest value.
        max: Number,
    },
    /// A fixed-point number.
    Fixed {
        /// Number of bits behind the point.
        fraction_bits: u32,
        /// Smallest value, in whole units.
        min: Number,
        /// Largest value, in whole units.
        max: Number,
    },
    /// A variable-length integer.
    Varint {
        /// Width of the integer's type: 8, 16, 32, 64 or 128.
        bits: u32,
        /// Whether the type is signed.
        signed: bool,
    },
    /// An unquantised `f32`.
    Float,
    /// An unquantised `f64`.
    Double,
    /// A quantised float.
    CompressedFloat(FloatRange),
    /// An index in a list of variants.
    Enumerate {
        /// Number of variants.
        count: usize,
    },
    /// A vector of unquantised floats.
    Vector {
        /// Number of components.
        dimensions: usize,
    },
    /// A vector of quantised floats.
    CompressedVector {
        /// Number of components.
        dimensions: usize,
        /// Quantisation of each component.
        range: FloatRange,
    },
    /// A quaternion of four unquantised floats.
    Quaternion,
    /// A rotation as its three smallest components.
    SmallestThree {
        /// Width of each component in bits.
        bits: u32,
    },
    /// A direction as coordinates on the octahedron.
    UnitVector {
        /// Width of each coordinate in bits.
        bits: u32,
    },
    /// Zero padding up to a whole byte.
    Align,
    /// Bytes whose length both sides know.
    Bytes {
        /// Length in bytes.
        len: usize,
    },
    /// Bytes with their length.
    Blob {
        /// Largest length in bytes.
        max_len: usize,
    },
    /// UTF-8 text.
    String {
        /// Largest length in bytes.
        max_len: usize,
    },
    /// Text as UTF-16 code units.
    WideString {
        /// Largest number of code units.
        max_len: usize,
    },
    /// An index relative to the previous one.
    Index {
        /// Length of the array.
        count: u32,
    },
    /// A number relative to the previous one.
    IntRelative,
    /// The selected indices of an array.
    Selection {
        /// Length of the array.
        len: usize,
        /// Coding of the selection.
        coding: SubsetCoding,
    },
    /// A check.
    Check {
        /// Name of the check.
        name: Cow<'static, str>,
    },
    /// The memory image of a plain struct.
    Pod {
        /// Size of the struct in bytes.
        size: usize,
    },
}

/// A group of operations: a step in the path of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TraceScope<'a> {
    /// A value with a serialize function of its own.
    Object {
        /// Name of the type, as [`core::any::type_name`] gives it.
        type_name: &'a str,
    },
    /// An option, an array or a subset, by the name of its operation.
    Group(&'a str),
    /// An element of an array, by its index.
    Index(usize),
}

/// A number of any type that a range can have.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the variants are named after their types")]
pub enum Number {
    Unsigned(u128),
    Signed(i128),
    Float(f32),
    Double(f64),
}

/// The value that an operation carried.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the variants are named after their types")]
pub enum Value {
    /// No value, as for padding.
    Unit,
    Bool(bool),
    Number(Number),
    Vector(Vec<f32>),
    Text(String),
    Bytes(Vec<u8>),
    /// A name, such as of an enum's variant.
    Name(String),
    /// Indices, such as of a selection.
    Indices(Vec<usize>),
}

impl Op {
    /// Describes [`Stream::int`](crate::stream::Stream::int).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn int<T: Int>(range: &RangeInclusive<T>) -> Self {
        Self::Int { min: range.start().number(), max: range.end().number() }
    }

    /// Describes [`Stream::varint`](crate::stream::Stream::varint) of a type.
    ///
    /// ```
    /// use tightwire::stream::Op;
    ///
    /// assert_eq!(Op::varint::<i16>(), Op::Varint { bits: 16, signed: true });
    /// ```
    #[must_use]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn varint<T: Int>() -> Self {
        Self::Varint { bits: T::BITS, signed: matches!(T::default().number(), Number::Signed(_)) }
    }

    /// Name of the operation, equal to the name of the stream's method.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bits { .. } => "bits",
            Self::Bool => "bool",
            Self::Int { .. } => "int",
            Self::Fixed { .. } => "fixed",
            Self::Varint { .. } => "varint",
            Self::Float => "float",
            Self::Double => "double",
            Self::CompressedFloat(_) => "compressed_float",
            Self::Enumerate { .. } => "enumerate",
            Self::Vector { .. } => "vector",
            Self::CompressedVector { .. } => "compressed_vector",
            Self::Quaternion => "quaternion",
            Self::SmallestThree { .. } => "smallest_three",
            Self::UnitVector { .. } => "unit_vector",
            Self::Align => "align",
            Self::Bytes { .. } => "bytes",
            Self::Blob { .. } => "blob",
            Self::String { .. } => "string",
            Self::WideString { .. } => "wide_string",
            Self::Index { .. } => "index",
            Self::IntRelative => "int_relative",
            Self::Selection { .. } => "selection",
            Self::Check { .. } => "check",
            Self::Pod { .. } => "pod",
        }
    }
}

/// The operation with its parameters, such as `int 0..=100`.
impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        let range = |range: &FloatRange| (range.min(), range.max(), range.resolution());
        match self {
            Self::Int { min, max } => write!(f, "{name} {min}..={max}"),
            Self::Fixed { fraction_bits, min, max } => {
                write!(f, "{name} {min}..={max}, {fraction_bits} fraction bits")
            }
            Self::CompressedFloat(float) | Self::CompressedVector { range: float, .. } => {
                let (min, max, resolution) = range(float);
                write!(f, "{name} {min}..={max} at {resolution}")
            }
            Self::Bits { width: bits }
            | Self::SmallestThree { bits }
            | Self::UnitVector { bits } => {
                write!(f, "{name} of {bits}")
            }
            Self::Enumerate { count } => write!(f, "{name} of {count}"),
            Self::Index { count } => write!(f, "{name} of {count}"),
            Self::Bytes { len } => write!(f, "{name} of {len}"),
            Self::Selection { len, coding } => write!(f, "{name} of {len}, {coding:?}"),
            Self::Blob { max_len } | Self::String { max_len } | Self::WideString { max_len } => {
                write!(f, "{name} up to {max_len}")
            }
            Self::Check { name: check } => write!(f, "{name} {check:?}"),
            Self::Pod { size } => write!(f, "{name} of {size} bytes"),
            _ => f.write_str(name),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned(number) => number.fmt(f),
            Self::Signed(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
            Self::Double(number) => number.fmt(f),
        }
    }
}

/// The value, with characters escaped that a terminal could take for a command.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit => Ok(()),
            Self::Bool(value) => value.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Vector(components) => write!(f, "{components:?}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Bytes(bytes) => write!(f, "{bytes:02x?}"),
            Self::Name(name) => f.write_str(&printable(name)),
            Self::Indices(indices) => write!(f, "{indices:?}"),
        }
    }
}
