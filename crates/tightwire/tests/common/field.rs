//! Every operation of a stream as a value.

use std::ops::RangeInclusive;

use tightwire::stream::{Selection, SubsetCoding};
use tightwire::{FloatRange, Stream, Target, Wire, at};

/// One operation with its parameters and its value. Uncompressed floats are kept as their bits, so
/// that a NaN equals itself.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Field {
    Bits { value: u64, width: u32 },
    Bool(bool),
    Int(Integer),
    Fixed { integer: Integer, fraction_bits: u32 },
    Varint(Integer),
    Float(u32),
    Double(u64),
    CompressedFloat { value: f32, range: FloatRange },
    Enumerate(Weapon),
    Option(Option<u16>),
    Vector([u32; 3]),
    CompressedVector { value: [f32; 3], range: FloatRange },
    Quaternion([u32; 4]),
    SmallestThree { value: [f32; 4], bits: u32 },
    UnitVector { value: [f32; 3], bits: u32 },
    Align,
    Bytes(Vec<u8>),
    Blob { value: Vec<u8>, max_len: usize },
    Text { value: String, max_len: usize },
    WideText { value: String, max_len: usize },
    Pod(Plain),
    Array { value: Vec<i8>, max_len: usize },
    FixedArray([u16; 5]),
    Selection { value: Selection, coding: SubsetCoding },
    Subset { objects: Vec<u8>, selection: Selection, coding: SubsetCoding },
    Index { previous: Option<u32>, index: u32, count: u32 },
    IntRelative { previous: u32, current: u32 },
    Check,
    Object(Nested),
}

/// Ranges of the elements of arrays.
const ELEMENT: RangeInclusive<i8> = -5..=5;
const SCORE: RangeInclusive<u16> = 10..=1000;
const OBJECT: RangeInclusive<u8> = 0..=99;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Weapon {
    Fist,
    Bow,
    Staff,
    Sword,
    Net,
}

pub(crate) const WEAPONS: [Weapon; 5] =
    [Weapon::Fist, Weapon::Bow, Weapon::Staff, Weapon::Sword, Weapon::Net];

#[derive(
    Clone,
    Copy,
    PartialEq,
    Debug,
    Default,
    zerocopy::FromBytes,
    zerocopy::IntoBytes,
    zerocopy::Immutable,
)]
#[repr(C)]
pub(crate) struct Plain {
    pub(crate) id: u32,
    pub(crate) parts: [u16; 3],
    pub(crate) flags: u16,
}

/// An object that contains others, one in an option and several in an array.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Nested {
    pub(crate) name: Option<Box<Name>>,
    pub(crate) names: Vec<Name>,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Name(pub(crate) String);

impl Wire for Nested {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.object(at!(this.name))?;
        stream.array(at!(this.names), 3, |name, stream| stream.object(name))
    }
}

impl Wire for Name {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.string(at!(this.0), 20)
    }
}

impl Nested {
    fn is_in_range(&self) -> bool {
        let mut names = self.name.iter().map(|name| &**name).chain(&self.names);
        self.names.len() <= 3 && names.all(|name| is_text(&name.0, name.0.len(), 20))
    }
}

/// Runs `$body` for an integer of any type.
macro_rules! each_type {
    ($integer:expr, $value:ident, $min:ident, $max:ident => $body:expr) => {
        match $integer {
            Integer::U8([$min, $value, $max]) => $body,
            Integer::U16([$min, $value, $max]) => $body,
            Integer::U32([$min, $value, $max]) => $body,
            Integer::U64([$min, $value, $max]) => $body,
            Integer::U128([$min, $value, $max]) => $body,
            Integer::Usize([$min, $value, $max]) => $body,
            Integer::I8([$min, $value, $max]) => $body,
            Integer::I16([$min, $value, $max]) => $body,
            Integer::I32([$min, $value, $max]) => $body,
            Integer::I64([$min, $value, $max]) => $body,
            Integer::I128([$min, $value, $max]) => $body,
            Integer::Isize([$min, $value, $max]) => $body,
        }
    };
}

/// Minimum, value and maximum.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Integer {
    U8([u8; 3]),
    U16([u16; 3]),
    U32([u32; 3]),
    U64([u64; 3]),
    U128([u128; 3]),
    Usize([usize; 3]),
    I8([i8; 3]),
    I16([i16; 3]),
    I32([i32; 3]),
    I64([i64; 3]),
    I128([i128; 3]),
    Isize([isize; 3]),
}

/// Runs an operation on an integer of any type, with its bounds.
macro_rules! each_number {
    ($this:ident, $min:ident, $max:ident, $number:ident => $body:expr; $($variant:ident)*) => {
        match &*$this {
            $(&Integer::$variant([$min, _, $max]) => {
                let Some($number) = at!($this, Integer::$variant([_, number, _]) => number) else {
                    unreachable!()
                };
                $body
            })*
        }
    };
    ($this:ident, $min:ident, $max:ident, $number:ident => $body:expr) => {
        each_number!($this, $min, $max, $number => $body;
            U8 U16 U32 U64 U128 Usize I8 I16 I32 I64 I128 Isize)
    };
}

/// One function per operation: a single large one is slower in a debug build.
impl Integer {
    fn ranged<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        each_number!(this, min, max, number => stream.int(number, min..=max))
    }

    fn fixed<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
        fraction_bits: u32,
    ) -> Result<(), S::Error> {
        each_number!(this, min, max, number => stream.fixed(number, fraction_bits, min..=max))
    }

    fn varint<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        each_number!(this, _min, _max, number => stream.varint(number))
    }
}

impl Wire for Field {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        // Borrows a field of the matched variant.
        macro_rules! part {
            ($variant:ident.$field:tt) => {
                at!(this, Self::$variant { $field: part, .. } => part).unwrap().target()
            };
        }
        match *this {
            Self::Bits { width, .. } => stream.bits(part!(Bits.value), width),
            Self::Bool(_) => stream.bool(part!(Bool.0)),
            Self::Int(_) => Integer::ranged(part!(Int.0), stream),
            Self::Fixed { fraction_bits, .. } => {
                Integer::fixed(part!(Fixed.integer), stream, fraction_bits)
            }
            Self::Varint(_) => Integer::varint(part!(Varint.0), stream),
            Self::Float(bits) => {
                let mut value = f32::from_bits(bits);
                stream.float(&mut value)?;
                part!(Float.0).put(value.to_bits());
                Ok(())
            }
            Self::Double(bits) => {
                let mut value = f64::from_bits(bits);
                stream.double(&mut value)?;
                part!(Double.0).put(value.to_bits());
                Ok(())
            }
            Self::CompressedFloat { range, .. } => {
                stream.compressed_float(part!(CompressedFloat.value), range)
            }
            Self::Enumerate(_) => stream.enumerate(part!(Enumerate.0), &WEAPONS),
            Self::Option(_) => {
                stream.option(part!(Option.0), |score, stream| stream.int(score, SCORE))
            }
            Self::Vector(bits) => {
                let mut value = bits.map(f32::from_bits);
                stream.vector(&mut value)?;
                part!(Vector.0).put(value.map(f32::to_bits));
                Ok(())
            }
            Self::CompressedVector { range, .. } => {
                stream.compressed_vector(part!(CompressedVector.value), range)
            }
            Self::Quaternion(bits) => {
                let mut value = bits.map(f32::from_bits);
                stream.quaternion(&mut value)?;
                part!(Quaternion.0).put(value.map(f32::to_bits));
                Ok(())
            }
            Self::SmallestThree { bits, .. } => {
                stream.smallest_three(part!(SmallestThree.value), bits)
            }
            Self::UnitVector { bits, .. } => stream.unit_vector(part!(UnitVector.value), bits),
            Self::Align => stream.align(),
            Self::Bytes(_) => stream.bytes(part!(Bytes.0)),
            Self::Blob { max_len, .. } => stream.blob(part!(Blob.value), max_len),
            Self::Text { max_len, .. } => stream.string(part!(Text.value), max_len),
            Self::WideText { max_len, .. } => stream.wide_string(part!(WideText.value), max_len),
            Self::Pod(_) => stream.pod(part!(Pod.0)),
            Self::Array { max_len, .. } => {
                stream.array(part!(Array.value), max_len, |one, stream| stream.int(one, ELEMENT))
            }
            Self::FixedArray(_) => {
                stream.fixed_array(part!(FixedArray.0), |score, stream| stream.int(score, SCORE))
            }
            Self::Selection { coding, .. } => stream.selection(part!(Selection.value), coding),
            Self::Subset { coding, .. } => {
                let parts =
                    at!(this, Self::Subset { objects, selection, .. } => (objects, selection));
                let (objects, selection) = parts.unwrap();
                stream
                    .subset(objects, selection, coding, |object, stream| stream.int(object, OBJECT))
            }
            Self::Index { previous, count, .. } => {
                stream.index(previous, part!(Index.index), count)
            }
            Self::IntRelative { previous, .. } => {
                stream.int_relative(previous, part!(IntRelative.current))
            }
            Self::Check => stream.check("the players"),
            Self::Object(_) => stream.object(part!(Object.0)),
        }
    }
}

impl Field {
    /// Returns the field as a reader has it before reading: the same parameters, and a neutral
    /// value.
    pub(crate) fn blank(&self) -> Self {
        let mut blank = self.clone();
        match &mut blank {
            Self::Bits { value, .. } => *value = 0,
            Self::Bool(value) => *value = false,
            Self::Int(integer) | Self::Fixed { integer, .. } | Self::Varint(integer) => {
                each_type!(integer, value, _min, _max => *value = 0);
            }
            Self::Float(bits) => *bits = 0,
            Self::Double(bits) => *bits = 0,
            Self::CompressedFloat { value, .. } => *value = 0.0,
            Self::Enumerate(weapon) => *weapon = Weapon::Fist,
            Self::Option(value) => *value = None,
            Self::Vector(bits) => *bits = [0; 3],
            Self::CompressedVector { value, .. } | Self::UnitVector { value, .. } => {
                *value = [0.0; 3];
            }
            Self::Quaternion(bits) => *bits = [0; 4],
            Self::SmallestThree { value, .. } => *value = [0.0; 4],
            Self::Bytes(value) => value.fill(0),
            Self::Blob { value, .. } => value.clear(),
            Self::Text { value, .. } | Self::WideText { value, .. } => value.clear(),
            Self::Pod(value) => *value = Plain::default(),
            Self::Array { value, .. } => value.clear(),
            Self::FixedArray(value) => *value = [0; 5],
            Self::Selection { value, .. } => value.clear(),
            Self::Subset { objects, selection, .. } => {
                objects.fill(0);
                selection.clear();
            }
            Self::Index { index, .. } => *index = 0,
            Self::IntRelative { current, .. } => *current = 0,
            Self::Object(nested) => *nested = Nested::default(),
            Self::Align | Self::Check => {}
        }
        blank
    }

    /// Returns whether the value is valid for the parameters.
    pub(crate) fn is_in_range(&self) -> bool {
        match self {
            Self::Bits { value, width } => u128::from(*value) >> width == 0,
            Self::Int(integer) => {
                each_type!(integer, value, min, max => value >= min && value <= max)
            }
            Self::Fixed { integer, fraction_bits: bits } => {
                each_type!(integer, value, min, max => {
                    *value >= *min << bits && *value <= *max << bits
                })
            }
            Self::CompressedFloat { value, range } => is_in(*value, *range),
            Self::CompressedVector { value, range } => {
                value.iter().all(|&value| is_in(value, *range))
            }
            Self::Option(score) => score.is_none_or(|score| SCORE.contains(&score)),
            Self::SmallestThree { value, .. } => is_unit(value),
            Self::UnitVector { value, .. } => is_unit(value),
            Self::Blob { value, max_len } => value.len() <= *max_len,
            Self::Text { value, max_len } => is_text(value, value.len(), *max_len),
            Self::WideText { value, max_len } => {
                is_text(value, value.encode_utf16().count(), *max_len)
            }
            Self::Array { value, max_len } => {
                value.len() <= *max_len && value.iter().all(|element| ELEMENT.contains(element))
            }
            Self::FixedArray(value) => value.iter().all(|score| SCORE.contains(score)),
            Self::Selection { value, .. } => value.iter().all(|index| index < value.array_len()),
            Self::Subset { objects, selection, .. } => {
                selection.iter().all(|index| objects.get(index).is_some_and(|o| OBJECT.contains(o)))
            }
            Self::Index { previous, index, count } => index <= count && Some(*index) > *previous,
            Self::IntRelative { previous, current } => {
                current > previous && i32::try_from(*current).is_ok()
            }
            Self::Object(nested) => nested.is_in_range(),
            // All values of the type.
            Self::Bool(_) | Self::Varint(_) | Self::Float(_) | Self::Double(_) => true,
            Self::Vector(_) | Self::Quaternion(_) | Self::Bytes(_) | Self::Pod(_) => true,
            Self::Enumerate(_) | Self::Align | Self::Check => true,
        }
    }
}

/// Returns whether a value is in a range. The last step of decoding rounds, so a bound may be
/// missed by a rounding error.
fn is_in(value: f32, range: FloatRange) -> bool {
    let rounding = (range.min().abs() + range.max().abs()) * f32::EPSILON;
    value >= range.min() - rounding && value <= range.max() + rounding
}

pub(crate) fn is_unit(components: &[f32]) -> bool {
    let squares = components.iter().map(|&component| f64::from(component).powi(2));
    (squares.sum::<f64>().sqrt() - 1.0).abs() < 1e-5
}

fn is_text(text: &str, length: usize, max_len: usize) -> bool {
    length <= max_len && !text.contains('\0')
}
