//! One operation with its parameters and value, generated from the fuzzer's bytes.

use arbitrary::{Arbitrary, Result, Unstructured};
use tightwire::stream::{Selection, SubsetCoding};
use tightwire::{Stream, Target, Wire, at};

use super::number::AnyNumber;
use super::quantised::Quantised;

/// An operation. Whole floats are kept as their bits, so that a NaN equals itself.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Item {
    Number(AnyNumber),
    Quantised(Quantised),
    Bits { value: u64, width: u32 },
    Bool(bool),
    Float(u32),
    Double(u64),
    Vector([u32; 2]),
    Quaternion([u32; 4]),
    Enumerate { value: u16, variants: Vec<u16> },
    Option { value: Option<u16>, max: u16 },
    Align,
    Bytes(Vec<u8>),
    Blob { value: Vec<u8>, max_len: usize },
    Text { value: String, max_len: usize },
    WideText { value: String, max_len: usize },
    Pod([u32; 3]),
    Array { values: Vec<u16>, max_len: usize, max: u16 },
    FixedArray { values: Vec<u16>, max: u16 },
    Selection { value: Selection, coding: SubsetCoding },
    Subset { objects: Vec<u16>, chosen: Selection, coding: SubsetCoding, max: u16 },
    Index { previous: Option<u32>, index: u32, count: u32 },
    IntRelative { previous: u32, current: u32 },
    Check(&'static str),
    Object(Items),
}

/// A sequence of operations.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Items(pub(super) Vec<Item>);

const CODINGS: [SubsetCoding; 5] = [
    SubsetCoding::BitPerObject,
    SubsetCoding::CountAndIndex,
    SubsetCoding::SentinelIndex,
    SubsetCoding::RelativeIndex,
    SubsetCoding::Best,
];

/// Value of the elements that a subset leaves out.
const LEFT_OUT: u16 = 7;

/// Maximum lengths: with a length field of no bits, of a few, and of more than any value here
/// needs.
const MAX_LENGTHS: [usize; 6] = [5, 0, 1, 40, 300, 1 << 40];

impl Items {
    /// Generates as many operations as there are bytes for, up to `most`, which keeps a run short.
    /// `shape` alone decides the operations: the same shape with other values can be read into.
    pub(super) fn generate(
        shape: &mut Unstructured<'_>,
        values: &mut Unstructured<'_>,
        most: usize,
        depth: u32,
    ) -> Result<Self> {
        let mut items = Vec::new();
        while items.len() < most && !shape.is_empty() {
            items.push(Item::generate(shape, values, depth)?);
        }
        Ok(Self(items))
    }

    /// Returns whether `read` equals the written operations, as closely as each operation promises.
    pub(super) fn agrees(&self, read: &Self) -> bool {
        let pairs = || self.0.iter().zip(&read.0);
        self.0.len() == read.0.len()
            && pairs().all(|pair| match pair {
                (Item::Quantised(written), Item::Quantised(read)) => written.agrees(read),
                (Item::Object(written), Item::Object(read)) => written.agrees(read),
                (written, read) => written == read,
            })
    }
}

impl Wire for Items {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> std::result::Result<(), S::Error> {
        at!(this.0).target().elements().try_for_each(|item| stream.object(item))
    }
}

impl Item {
    fn generate(
        shape: &mut Unstructured<'_>,
        values: &mut Unstructured<'_>,
        depth: u32,
    ) -> Result<Self> {
        Ok(match shape.int_in_range(0..=25)? {
            0 | 1 => Self::Number(AnyNumber::generate(shape, values)?),
            2 => Self::Quantised(Quantised::generate(shape, values)?),
            3 => {
                let width = shape.int_in_range(0..=64)?;
                let value = values.arbitrary::<u64>()?.checked_shr(64 - width).unwrap_or(0);
                Self::Bits { value, width }
            }
            4 => Self::Bool(values.arbitrary()?),
            5 => Self::Float(values.arbitrary()?),
            6 => Self::Double(values.arbitrary()?),
            7 => Self::Vector(values.arbitrary()?),
            8 => Self::Quaternion(values.arbitrary()?),
            9 => {
                let variants: Vec<u16> =
                    (0..=shape.arbitrary::<u8>()?).map(|i| u16::from(i) * 3).collect();
                Self::Enumerate { value: *values.choose(&variants)?, variants }
            }
            10 => {
                let max = shape.arbitrary()?;
                let is_some = values.arbitrary()?;
                let value = values.int_in_range(0..=max)?;
                Self::Option { value: bool::then_some(is_some, value), max }
            }
            11 => Self::Align,
            12 => Self::Bytes(bytes(shape.int_in_range(0..=20)?, values)?),
            13 => {
                let max_len = *shape.choose(&MAX_LENGTHS)?;
                Self::Blob { value: bytes(length(max_len, values)?, values)?, max_len }
            }
            14 => {
                let max_len = *shape.choose(&MAX_LENGTHS)?;
                Self::Text { value: text(max_len, char::len_utf8, values)?, max_len }
            }
            15 => {
                let max_len = *shape.choose(&MAX_LENGTHS)?;
                Self::WideText { value: text(max_len, char::len_utf16, values)?, max_len }
            }
            16 => Self::Pod(values.arbitrary()?),
            17 => {
                let (max_len, max) = (*shape.choose(&MAX_LENGTHS)?, shape.arbitrary()?);
                Self::Array {
                    values: numbers(length(max_len, values)?, max, values)?,
                    max_len,
                    max,
                }
            }
            18 => {
                let (length, max) = (shape.int_in_range(0..=9)?, shape.arbitrary()?);
                Self::FixedArray { values: numbers(length, max, values)?, max }
            }
            19 => {
                let (len, coding) = (shape.int_in_range(0..=300)?, *shape.choose(&CODINGS)?);
                Self::Selection { value: selection(len, values)?, coding }
            }
            20 => {
                let (len, coding) = (shape.int_in_range(0..=70)?, *shape.choose(&CODINGS)?);
                let (max, chosen) = (shape.arbitrary()?, selection(len, values)?);
                let mut objects = vec![LEFT_OUT; len];
                for index in chosen.iter() {
                    objects[index] = values.int_in_range(0..=max)?;
                }
                Self::Subset { objects, chosen, coding, max }
            }
            21 => {
                let count = u32::arbitrary(shape)? >> shape.int_in_range(0..=31)?;
                // There may be no index before the first; after the last comes only the end.
                let previous = shape.int_in_range(0..=count)?.checked_sub(1);
                let first = previous.map_or(0, |previous| previous + 1);
                let index = above(first, count, values)?;
                Self::Index { previous, index, count }
            }
            22 => {
                let previous = shape.int_in_range(0..=i32::MAX as u32 - 1)?;
                let current = above(previous + 1, i32::MAX as u32, values)?;
                Self::IntRelative { previous, current }
            }
            23 => Self::Check(shape.choose(&["players", ""])?),
            24 if depth > 0 => {
                let most = shape.int_in_range(0..=4)?;
                Self::Object(Items::generate(shape, values, most, depth - 1)?)
            }
            _ => Self::Bool(values.arbitrary()?),
        })
    }
}

impl Wire for Item {
    fn serialize<S: Stream>(
        mut this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> std::result::Result<(), S::Error> {
        // A copy, since patterns are simpler over a reference.
        let mut copy = this.clone();
        let result = copy.run(stream);
        this.put(copy);
        result
    }
}

impl Item {
    fn run<S: Stream>(&mut self, stream: &mut S) -> std::result::Result<(), S::Error> {
        match self {
            Self::Number(number) => stream.object(number),
            Self::Quantised(quantised) => stream.object(quantised),
            Self::Bits { value, width } => stream.bits(value, *width),
            Self::Bool(value) => stream.bool(value),
            Self::Float(bits) => {
                let mut value = f32::from_bits(*bits);
                stream.float(&mut value)?;
                *bits = value.to_bits();
                Ok(())
            }
            Self::Double(bits) => {
                let mut value = f64::from_bits(*bits);
                stream.double(&mut value)?;
                *bits = value.to_bits();
                Ok(())
            }
            Self::Vector(bits) => {
                let mut value = bits.map(f32::from_bits);
                stream.vector(&mut value)?;
                *bits = value.map(f32::to_bits);
                Ok(())
            }
            Self::Quaternion(bits) => {
                let mut value = bits.map(f32::from_bits);
                stream.quaternion(&mut value)?;
                *bits = value.map(f32::to_bits);
                Ok(())
            }
            Self::Enumerate { value, variants } => stream.enumerate(value, variants),
            Self::Option { value, max } => {
                stream.option(value, |value, stream| stream.int(value, 0..=*max))
            }
            Self::Align => stream.align(),
            Self::Bytes(value) => stream.bytes(value),
            Self::Blob { value, max_len } => stream.blob(value, *max_len),
            Self::Text { value, max_len } => stream.string(value, *max_len),
            Self::WideText { value, max_len } => stream.wide_string(value, *max_len),
            Self::Pod(value) => stream.pod(value),
            Self::Array { values, max_len, max } => {
                stream.array(values, *max_len, |value, stream| stream.int(value, 0..=*max))
            }
            Self::FixedArray { values, max } => {
                stream.fixed_array(values, |value, stream| stream.int(value, 0..=*max))
            }
            Self::Selection { value, coding } => stream.selection(value, *coding),
            Self::Subset { objects, chosen, coding, max } => {
                stream.subset(objects, chosen, *coding, |value, stream| stream.int(value, 0..=*max))
            }
            Self::Index { previous, index, count } => stream.index(*previous, index, *count),
            Self::IntRelative { previous, current } => stream.int_relative(*previous, current),
            Self::Check(name) => stream.check(name),
            Self::Object(items) => stream.object(items),
        }
    }
}

/// Returns a short length, whatever the field could hold.
fn length(max_len: usize, values: &mut Unstructured<'_>) -> Result<usize> {
    values.int_in_range(0..=max_len.min(40))
}

fn bytes(length: usize, values: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    values.fill_buffer(&mut bytes)?;
    Ok(bytes)
}

fn numbers(length: usize, max: u16, values: &mut Unstructured<'_>) -> Result<Vec<u16>> {
    (0..length).map(|_| values.int_in_range(0..=max)).collect()
}

/// Generates text of at most `max_len` units, as counted by `size`.
fn text(
    max_len: usize,
    size: impl Fn(char) -> usize,
    values: &mut Unstructured<'_>,
) -> Result<String> {
    let mut left = length(max_len, values)?;
    let mut text = String::new();
    while let Some(rest) = left.checked_sub(1) {
        let character = values.arbitrary()?;
        // A zero character cannot be sent, and a wide one may not fit.
        let fits = character != '\0' && size(character) <= left;
        left = if fits { left - size(character) } else { rest };
        text.push(if fits { character } else { 'x' });
    }
    Ok(text)
}

/// Generates a selection of none, a few, about half or all of the indices.
fn selection(len: usize, values: &mut Unstructured<'_>) -> Result<Selection> {
    let mut selection = Selection::new(len);
    match values.int_in_range(0..=2)? {
        0 => {
            for _ in 0..values.int_in_range(0..=9)? {
                selection.insert(values.int_in_range(0..=len)?);
            }
        }
        1 => {
            for start in (0..len).step_by(8) {
                let byte = values.arbitrary::<u8>()?;
                for bit in (0..8).filter(|bit| byte >> bit & 1 != 0) {
                    selection.insert(start + bit);
                }
            }
        }
        _ => (0..len).for_each(|index| _ = selection.insert(index)),
    }
    Ok(selection)
}

/// Generates a number of the range, often near its start.
fn above(first: u32, last: u32, values: &mut Unstructured<'_>) -> Result<u32> {
    let is_near = values.arbitrary()?;
    let last = if is_near { first.saturating_add(300).min(last) } else { last };
    values.int_in_range(first..=last)
}
