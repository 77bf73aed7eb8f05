//! Conversion of packets to cells and back, by one function for both.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::fixed::Fixed;
use super::quantity::joined;
use super::{Column, Layout};
use tightwire_core::stream::{
    ErrorKind, ReadError, ReadStream, Stream, WriteError, WriteStream, is_rotation,
};

/// The steps that read or write a packet, in the order of its bits.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Program {
    steps: Vec<Step>,
    /// Set if every packet has all columns, one after the other; `None` otherwise.
    pub(super) fixed: Option<Fixed>,
    /// Constraints of the cells besides the maxima of their columns; `None` if only writing finds
    /// them out.
    checks: Option<Vec<Step>>,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Step {
    /// Cells, each in the bits that the maximum of its column needs: at most a word in all.
    Codes {
        columns: Range<usize>,
        bits: u32,
    },
    /// Constraint: the cells before are one number, which is at most `span`.
    Wide {
        column: usize,
        parts: usize,
        span: u128,
    },
    /// Constraint: the cells before are a rotation.
    Rotation {
        column: usize,
        bits: u32,
    },
    /// A varint; the cells are its zigzag code, lowest bits first.
    Varint {
        column: usize,
        bits: u32,
    },
    Align,
    /// A check with this value.
    Check(u32),
    /// Aligned bytes, four per cell; as many as the cell `length` says, if there is one.
    Bytes {
        length: Option<usize>,
        first: usize,
        len: usize,
        is_text: bool,
    },
    /// UTF-16, one unit per cell.
    WideText {
        length: usize,
        first: usize,
        max_len: usize,
    },
    /// Jumps to another step if the guard does not hold; the columns are then 0.
    Skip {
        guard: usize,
        columns: Range<usize>,
        to: usize,
    },
}

impl Program {
    pub(super) fn new(columns: &[Column], steps: Vec<Step>) -> Self {
        let checks = checks(&steps);
        let is_skip = |step: &Step| matches!(step, Step::Skip { .. });
        let is_fixed = checks.is_some() && !steps.iter().any(is_skip);
        let fixed = is_fixed.then(|| Fixed::new(columns));
        Self { steps, fixed, checks }
    }
}

/// Returns the constraints of the cells besides the maxima of their columns; `None` if there are
/// parts whose cells are valid only if they can be written.
fn checks(steps: &[Step]) -> Option<Vec<Step>> {
    // Steps that can refuse cells: a skip only if there are some among those that it skips, or
    // columns that have to be 0.
    let mut refuses = vec![false; steps.len()];
    for (at, step) in steps.iter().enumerate().rev() {
        refuses[at] = match step {
            Step::Codes { .. } => false,
            Step::Wide { .. } | Step::Rotation { .. } => true,
            Step::Skip { columns, to, .. } => {
                !columns.is_empty() || refuses.get(at + 1..*to)?.contains(&true)
            }
            _ => return None,
        };
    }
    let place = |to: usize| refuses.iter().take(to).filter(|refuses| **refuses).count();
    let kept = steps.iter().zip(&refuses).filter(|(_, refuses)| **refuses);
    let check = |(step, _): (&Step, _)| match *step {
        Step::Skip { guard, ref columns, to } => {
            Step::Skip { guard, columns: columns.clone(), to: place(to) }
        }
        _ => step.clone(),
    };
    Some(kept.map(check).collect())
}

/// Returns the number of bits of a code.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn width(max: u32) -> u32 {
    u32::BITS - max.leading_zeros()
}

/// A row that is read into, or only compared with.
trait RowCells {
    fn cells(&self) -> &[u32];
    fn put(&mut self, column: usize, value: u32);
}

impl RowCells for &mut [u32] {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn cells(&self) -> &[u32] {
        self
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn put(&mut self, column: usize, value: u32) {
        self[column] = value;
    }
}

impl RowCells for &[u32] {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn cells(&self) -> &[u32] {
        self
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn put(&mut self, _: usize, _: u32) {}
}

/// Implements [`Layout::cells_of`].
pub(super) fn read(layout: &Layout, packet: &[u8], mut cells: &mut [u32]) -> Result<(), ReadError> {
    if cells.len() != layout.columns.len() {
        return Err(ReadError { kind: ErrorKind::Mismatch, bit: 0 });
    }
    let Program { steps, fixed, checks } = &layout.program;
    if let Some(fixed) = fixed
        && fixed.read(packet, cells)
        && walk(
            layout,
            checks.as_deref().unwrap_or_default(),
            &mut cells,
            &mut ReadStream::new(&[]),
        )
        .is_ok()
    {
        return Ok(());
    }
    // A malformed packet is read again step by step, to find the bit.
    cells.fill(0);
    let mut stream = ReadStream::new(packet);
    walk(layout, steps, &mut cells, &mut stream)?;
    stream.finish()
}

/// Implements [`Layout::packet_of`].
pub(super) fn write<'b>(
    layout: &Layout,
    mut cells: &[u32],
    buffer: &'b mut [u8],
) -> Result<&'b [u8], WriteError> {
    if cells.len() != layout.columns.len() {
        return Err(WriteError::Value { kind: ErrorKind::Mismatch, bit: 0 });
    }
    let Program { steps, fixed, checks } = &layout.program;
    if let Some(fixed) = fixed {
        let packet = fixed.write(cells, buffer)?;
        if let Some(checks) = checks.as_ref().filter(|checks| !checks.is_empty()) {
            let mut stream = WriteStream::new(&mut []);
            let Ok(()) = walk(layout, checks, &mut cells, &mut stream);
            stream.finish()?;
        }
        return Ok(packet);
    }
    // A writer does not stop at a value that it refuses, and the steps below rely on the ranges.
    let is_above = |(cell, column): (&u32, &Column)| *cell > column.max;
    if cells.iter().zip(&layout.columns).fold(false, |any, pair| any | is_above(pair)) {
        return Err(WriteError::Value { kind: ErrorKind::OutOfRange, bit: 0 });
    }
    let mut stream = WriteStream::new(buffer);
    let Ok(()) = walk(layout, steps, &mut cells, &mut stream);
    stream.finish()
}

/// Implements [`Layout::accepts`].
pub(super) fn accepts(layout: &Layout, mut cells: &[u32], buffer: &mut [u8]) -> bool {
    let Program { checks: Some(checks), .. } = &layout.program else {
        return write(layout, cells, buffer).is_ok();
    };
    // Codes are validated without writing.
    let is_in_range = |(cell, column): (&u32, &Column)| *cell <= column.max;
    if cells.len() != layout.columns.len() || !cells.iter().zip(&layout.columns).all(is_in_range) {
        return false;
    }
    if checks.is_empty() {
        return true;
    }
    let mut stream = WriteStream::new(&mut []);
    let Ok(()) = walk(layout, checks, &mut cells, &mut stream);
    stream.finish().is_ok()
}

/// Runs steps between a stream and cells, which are not above their columns' maxima.
fn walk<S: Stream, R: RowCells>(
    layout: &Layout,
    steps: &[Step],
    row: &mut R,
    stream: &mut S,
) -> Result<(), S::Error> {
    let mut at = 0;
    while let Some(step) = steps.get(at) {
        at += 1;
        match *step {
            Step::Codes { ref columns, bits } => {
                codes(&layout.columns, row, columns.clone(), bits, stream)?;
            }
            Step::Wide { column, parts, span } => {
                if joined(row.cells(), column, parts) > span {
                    refuse(stream, ErrorKind::OutOfRange)?;
                }
            }
            Step::Rotation { column, bits } => {
                let codes = &row.cells()[column + 1..column + 4];
                if !is_rotation([codes[0], codes[1], codes[2]], bits) {
                    refuse(stream, ErrorKind::NotUnit)?;
                }
            }
            Step::Varint { column, bits } => varint(row, column, bits, stream)?,
            Step::Align => stream.raw_align()?,
            Step::Check(expected) => {
                let mut value = u64::from(expected);
                stream.raw_bits(&mut value, 32)?;
                if value != u64::from(expected) {
                    refuse(stream, ErrorKind::CheckFailed)?;
                }
            }
            Step::Bytes { length, first, len, is_text } => {
                let sent = length.map_or(len, |length| row.cells()[length] as usize);
                bytes(row, first, sent, stream)?;
                let end = first + len.div_ceil(4);
                absent(row, first + sent.div_ceil(4)..end, stream)?;
                if is_text && let Err(kind) = check_text(&row.cells()[first..end], sent) {
                    refuse(stream, kind)?;
                }
            }
            Step::WideText { length, first, max_len } => {
                let sent = row.cells()[length] as usize;
                for column in first..first + sent {
                    let mut unit = row.cells()[column].into();
                    stream.raw_bits(&mut unit, 32)?;
                    if unit > u16::MAX.into() {
                        refuse(stream, ErrorKind::MalformedText)?;
                    }
                    row.put(column, unit as u32);
                }
                absent(row, first + sent..first + max_len, stream)?;
                if let Err(kind) = check_units(&row.cells()[first..first + sent]) {
                    refuse(stream, kind)?;
                }
            }
            Step::Skip { guard, ref columns, to } => {
                if !layout.guards[guard].test.holds(row.cells()) {
                    absent(row, columns.clone(), stream)?;
                    at = to;
                }
            }
        }
    }
    Ok(())
}

/// Codes that fit into a word together.
#[cfg_attr(not(debug_assertions), inline(always))]
fn codes<S: Stream, R: RowCells>(
    all: &[Column],
    row: &mut R,
    columns: Range<usize>,
    bits: u32,
    stream: &mut S,
) -> Result<(), S::Error> {
    let (mut word, mut at) = (0, 0);
    if S::WRITING {
        for (cell, column) in row.cells()[columns.clone()].iter().zip(&all[columns.clone()]) {
            word |= u64::from(*cell).unbounded_shl(at);
            at += width(column.max);
        }
    }
    let start = stream.position();
    stream.raw_bits(&mut word, bits)?;
    if S::READING {
        for (index, column) in columns.clone().zip(&all[columns]) {
            let width = width(column.max);
            let code = word & !(u64::MAX << width);
            if code > column.max.into() {
                return stream.refuse_at(ErrorKind::OutOfRange, start + u64::from(at));
            }
            row.put(index, code as u32);
            word >>= width;
            at += width;
        }
    }
    Ok(())
}

fn refuse<S: Stream>(stream: &mut S, kind: ErrorKind) -> Result<(), S::Error> {
    let bit = stream.position();
    stream.refuse_at(kind, bit)
}

/// Checks that the cells of an absent part are 0. A row that is read into begins with zeros.
#[cfg_attr(not(debug_assertions), inline(always))]
fn absent<S: Stream, R: RowCells>(
    row: &R,
    columns: Range<usize>,
    stream: &mut S,
) -> Result<(), S::Error> {
    if S::WRITING && row.cells()[columns].iter().any(|&cell| cell != 0) {
        return refuse(stream, ErrorKind::OutOfRange);
    }
    Ok(())
}

fn varint<S: Stream, R: RowCells>(
    row: &mut R,
    column: usize,
    bits: u32,
    stream: &mut S,
) -> Result<(), S::Error> {
    let parts = bits.div_ceil(u32::BITS) as usize;
    let mut code = joined(row.cells(), column, parts);
    // The zigzag code of an unsigned number is the number itself.
    macro_rules! of {
        ($int:ty) => {{
            let mut narrow = code as $int;
            stream.varint(&mut narrow)?;
            code = narrow.into();
        }};
    }
    match bits {
        8 => of!(u8),
        16 => of!(u16),
        32 => of!(u32),
        64 => of!(u64),
        _ => of!(u128),
    }
    for part in 0..parts {
        row.put(column + part, (code >> (32 * part)) as u32);
    }
    Ok(())
}

fn bytes<S: Stream, R: RowCells>(
    row: &mut R,
    first: usize,
    len: usize,
    stream: &mut S,
) -> Result<(), S::Error> {
    // Also if there are no bytes.
    stream.raw_align()?;
    for (column, at) in (first..).zip((0..len).step_by(4)) {
        let count = (len - at).min(4);
        let mut word = row.cells()[column].to_le_bytes();
        if S::READING {
            word = [0; 4];
            word[..count].copy_from_slice(stream.raw_bytes(&[], count)?);
            row.put(column, u32::from_le_bytes(word));
            continue;
        }
        if word[count..].iter().any(|&byte| byte != 0) {
            refuse(stream, ErrorKind::OutOfRange)?;
        }
        stream.raw_bytes(&word[..count], count)?;
    }
    Ok(())
}

/// Checks that the first `len` bytes of the cells are UTF-8 without zeros, a few bytes at a time.
fn check_text(cells: &[u32], len: usize) -> Result<(), ErrorKind> {
    let (mut pending, mut held) = ([0; 8], 0);
    for (cell, at) in cells.iter().zip((0..len).step_by(4)) {
        let word = &cell.to_le_bytes()[..(len - at).min(4)];
        if word.contains(&0) {
            return Err(ErrorKind::InteriorNul);
        }
        pending[held..held + word.len()].copy_from_slice(word);
        held += word.len();
        let whole = match core::str::from_utf8(&pending[..held]) {
            Ok(_) => held,
            // A character continues in the next cell.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => return Err(ErrorKind::MalformedText),
        };
        pending.copy_within(whole..held, 0);
        held -= whole;
    }
    if held == 0 { Ok(()) } else { Err(ErrorKind::MalformedText) }
}

fn check_units(cells: &[u32]) -> Result<(), ErrorKind> {
    let units = cells.iter().map(|&cell| cell as u16);
    for character in char::decode_utf16(units) {
        match character {
            Ok('\0') => return Err(ErrorKind::InteriorNul),
            Ok(_) => {}
            Err(_) => return Err(ErrorKind::MalformedText),
        }
    }
    Ok(())
}
