//! The packet bit by bit, with the mark of its field under each bit.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::iter::Peekable;
use core::ops::Range;

use super::picture::{Picture, TextStyle, mark};
use super::{ErrorKind, Node, Trace};

/// Bytes per line: with the gaps and the number in front, 80 columns.
const LINE: usize = 8;

/// Largest number of lines that are all drawn. Of a longer packet, the first lines, the last and
/// those around the refused bit are drawn.
const MAX_LINES: usize = 16;

/// Number of lines drawn at the start of a longer packet.
const FIRST_LINES: usize = 8;

/// One bit of the packet.
struct Cell {
    is_set: bool,
    /// Number of the field's mark; `None` for bits of no field.
    field: Option<usize>,
    is_refused: bool,
}

/// Draws each byte from its lowest bit up, in the order in which fields take the bits.
pub(super) fn draw_bits(
    picture: &Picture<'_>,
    everything: bool,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let trace = picture.trace;
    let refused = refused_bits(trace);
    let lines = trace.bytes().len().div_ceil(LINE);
    let refused_line = (refused.start as usize) / (LINE * 8);
    let mut spans = trace.spans().peekable();
    let mut left_out = None;
    for (line, bytes) in trace.bytes().chunks(LINE).enumerate() {
        let first = (line * LINE * 8) as u64;
        let is_drawn = everything
            || lines <= MAX_LINES
            || line < FIRST_LINES
            || line + 1 == lines
            || (!refused.is_empty() && line.abs_diff(refused_line) <= 1);
        if !is_drawn {
            left_out.get_or_insert(first);
            continue;
        }
        if let Some(from) = left_out.take() {
            writeln!(f)?;
            picture.paint(TextStyle::Faint, &format!("      …  bits {from} to {first}"), f)?;
            writeln!(f)?;
        }
        let cells = cells(picture, bytes, first, &refused, &mut spans);
        let hex: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let hex = hex.join("       ");
        writeln!(f)?;
        picture.paint(TextStyle::Faint, &format!("{first:>7}  {hex}"), f)?;
        write!(f, "\n         ")?;
        draw_line(picture, &cells, f, |cells, bit| if cells[bit].is_set { '1' } else { '0' })?;
        write!(f, "\n         ")?;
        draw_line(picture, &cells, f, mark_of)?;
        writeln!(f)?;
    }
    Ok(())
}

fn cells<'a>(
    picture: &Picture<'_>,
    bytes: &[u8],
    first: u64,
    refused: &Range<u64>,
    spans: &mut Peekable<impl Iterator<Item = Node<'a>>>,
) -> Vec<Cell> {
    let cell = |place: usize| {
        let bit = first + place as u64;
        while spans.next_if(|span| span.bits().end <= bit).is_some() {}
        let is_refused = refused.contains(&bit);
        let field = match picture.trace.refused() {
            Some(blamed) if is_refused && blamed.op().is_some() => Some(blamed),
            _ => spans.peek().copied().filter(|span| span.bits().contains(&bit)),
        };
        Cell {
            is_set: bytes[place / 8] >> (place % 8) & 1 == 1,
            field: field.map(|span| picture.mark(span)),
            is_refused,
        }
    };
    (0..bytes.len() * 8).map(cell).collect()
}

/// Draws a character for each cell, painted in runs of one style.
fn draw_line(
    picture: &Picture<'_>,
    cells: &[Cell],
    f: &mut fmt::Formatter<'_>,
    char_of: fn(&[Cell], usize) -> char,
) -> fmt::Result {
    let mut run = String::new();
    for (bit, cell) in cells.iter().enumerate() {
        run.push(char_of(cells, bit));
        let next = cells.get(bit + 1);
        let continues = next.is_some_and(|next| next.style() == cell.style());
        if !continues {
            picture.paint(cell.style(), &run, f)?;
            run.clear();
        }
        if bit % 8 == 7 && next.is_some() {
            match continues {
                true => run.push(' '),
                false => f.write_str(" ")?,
            }
        }
    }
    Ok(())
}

/// Returns the mark of a field at its first bit on each line, and a line for its other bits.
fn mark_of(cells: &[Cell], bit: usize) -> char {
    let Cell { field, is_refused, .. } = cells[bit];
    let begins = bit == 0 || cells[bit - 1].field != field;
    match (field, is_refused) {
        (Some(number), _) if begins => mark(number),
        (_, true) => '^',
        (Some(_), false) => '─',
        (None, false) => '.',
    }
}

/// Returns the bits to mark as refused.
fn refused_bits(trace: &Trace) -> Range<u64> {
    match (trace.failure(), trace.refused()) {
        (Some((ErrorKind::UnexpectedEnd | ErrorKind::TrailingData, bit)), _) => {
            bit..(trace.bytes().len() as u64 * 8).max(bit)
        }
        (_, Some(node)) => node.bits(),
        _ => 0..0,
    }
}

impl Cell {
    fn style(&self) -> TextStyle {
        match self.field {
            _ if self.is_refused => TextStyle::Refused,
            Some(number) => TextStyle::Field(number),
            None => TextStyle::Faint,
        }
    }
}
