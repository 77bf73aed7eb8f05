//! Numbers that conditions compute from cells.

use alloc::boxed::Box;
use alloc::vec::Vec;

use tightwire_core::schema::common_bits;
use tightwire_core::stream::{FloatRange, Int, Number};

/// A number that is computed from cells.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Quantity {
    Constant(Number),
    /// An integer in adjacent columns, lowest bits first, as an offset from `least`.
    Offset {
        column: usize,
        parts: usize,
        least: Number,
    },
    /// An integer in adjacent columns, in zigzag code.
    Zigzag {
        column: usize,
        parts: usize,
    },
    Float(usize),
    Double(usize),
    Compressed(usize, FloatRange),
    CommonBits(Box<[Quantity; 2]>),
}

/// Returns a cell; 0 beyond the end of a row that is too short.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn cell(cells: &[u32], column: usize) -> u32 {
    cells.get(column).copied().unwrap_or(0)
}

/// Joins adjacent cells to one number, lowest bits first.
pub(super) fn joined(cells: &[u32], column: usize, parts: usize) -> u128 {
    let part = |number, index| number << 32 | u128::from(cell(cells, column + index));
    (0..parts).rev().fold(0, part)
}

impl Quantity {
    pub(super) fn number(&self, cells: &[u32]) -> Number {
        match *self {
            Self::Constant(number) => number,
            Self::Offset { column, parts, least } => {
                let offset = joined(cells, column, parts);
                match least {
                    Number::Signed(least) => Number::Signed(Int::at_offset(least, offset)),
                    Number::Unsigned(least) => Number::Unsigned(Int::at_offset(least, offset)),
                    other => other,
                }
            }
            Self::Zigzag { column, parts } => {
                let code = joined(cells, column, parts);
                Number::Signed(Int::from_zigzag(code).unwrap_or_default())
            }
            Self::Float(column) => Number::Float(f32::from_bits(cell(cells, column))),
            Self::Double(column) => Number::Double(f64::from_bits(joined(cells, column, 2) as u64)),
            Self::Compressed(column, range) => Number::Float(range.dequantise(cell(cells, column))),
            Self::CommonBits(ref both) => {
                let [a, b] = &**both;
                // Floats have no common bits, and were refused when the test was built.
                common_bits(a.number(cells), b.number(cells)).unwrap_or(Number::Unsigned(0))
            }
        }
    }

    pub(super) fn is_integer(&self) -> bool {
        match self {
            Self::Constant(number) => matches!(number, Number::Unsigned(_) | Number::Signed(_)),
            Self::Offset { .. } | Self::Zigzag { .. } | Self::CommonBits(_) => true,
            Self::Float(_) | Self::Double(_) | Self::Compressed(..) => false,
        }
    }

    pub(super) fn columns(&self, found: &mut Vec<usize>) {
        match *self {
            Self::Constant(_) => {}
            Self::Offset { column, parts, .. } | Self::Zigzag { column, parts } => {
                found.extend(column..column + parts);
            }
            Self::Float(column) | Self::Compressed(column, _) => found.push(column),
            Self::Double(column) => found.extend([column, column + 1]),
            Self::CommonBits(ref both) => both.iter().for_each(|number| number.columns(found)),
        }
    }

    /// Returns the column and the mask, if this is the common bits of a column and a constant.
    pub(super) fn masked_column(&self) -> Option<(usize, u32)> {
        let Self::CommonBits(both) = self else { return None };
        let [a, b] = &**both;
        let of = |column: &Self, mask: &Self| match (column, mask) {
            (
                &Self::Offset { column, parts: 1, least: Number::Unsigned(0) },
                &Self::Constant(mask),
            ) => Some((column, integer(mask)?)),
            _ => None,
        };
        of(a, b).or_else(|| of(b, a))
    }

    /// Returns the constant; `None` if this is none, or none of 32 bits.
    pub(super) fn constant(&self) -> Option<u32> {
        match *self {
            Self::Constant(number) => integer(number),
            _ => None,
        }
    }
}

fn integer(number: Number) -> Option<u32> {
    match number {
        Number::Unsigned(number) => number.try_into().ok(),
        Number::Signed(number) => number.try_into().ok(),
        _ => None,
    }
}
