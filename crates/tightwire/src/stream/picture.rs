//! A trace as a picture: a table of the fields, and the packet bit by bit.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use super::{ErrorKind, Op, Span, Trace};

/// Marks a field in the picture of the bits; after the last one they start again.
const MARKS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Bytes per line of the picture.
const LINE: usize = 4;

/// Characters of a value in the table.
const MAX_VALUE: usize = 48;

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: Vec<_> = self.spans().iter().map(Row::new).collect();
        let width = |cell: fn(&Row) -> &String| {
            rows.iter().map(|row| cell(row).chars().count()).max().unwrap_or(0)
        };
        let (bits, path, value) =
            (width(|row| &row.bits), width(|row| &row.path), width(|row| &row.value));
        for (index, row) in rows.iter().enumerate() {
            let mark = char::from(mark(index));
            let Row { bits: at, path: named, value: shown, op } = row;
            writeln!(f, "{mark}  {at:>bits$}  {named:path$}  {shown:value$}  {op}")?;
        }
        if let Some(refusal) = self.refusal() {
            writeln!(f, "{refusal}")?;
        }
        draw_bits(self, f)
    }
}

impl Trace {
    /// Why the packet was refused, in a sentence with the path of the field:
    /// `Player.health at bit 0: 127 is not in 0..=100`.
    #[must_use]
    pub fn refusal(&self) -> Option<impl fmt::Display + '_> {
        let (kind, bit) = self.failure()?;
        Some(Refusal { span: self.refused_span(), kind, bit })
    }
}

/// A line of the table.
struct Row {
    bits: String,
    path: String,
    value: String,
    op: String,
}

impl Row {
    fn new(span: &Span) -> Self {
        Self {
            bits: format!("{}..{}", span.bits.start, span.bits.end),
            path: span.path.clone(),
            value: shortened(span.value.to_string()),
            op: format!("{}{}", span.op, if span.refused { "  <- refused" } else { "" }),
        }
    }
}

/// As much of a long value as a line has room for.
fn shortened(mut value: String) -> String {
    if let Some((end, _)) = value.char_indices().nth(MAX_VALUE) {
        value.truncate(end);
        value.push('…');
    }
    value
}

struct Refusal<'a> {
    span: Option<&'a Span>,
    kind: ErrorKind,
    bit: u64,
}

impl fmt::Display for Refusal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, bit, .. } = self;
        match self.span {
            Some(Span { path, value, op: Op::Int { min, max }, .. })
                if *kind == ErrorKind::OutOfRange =>
            {
                write!(f, "{path} at bit {bit}: {value} is not in {min}..={max}")
            }
            Some(Span { path, op, .. }) => write!(f, "{path} at bit {bit}: {kind} ({op})"),
            None => write!(f, "at bit {bit}: {kind}"),
        }
    }
}

/// Each byte with its bits from the lowest up, and under each bit the mark of its field.
fn draw_bits(trace: &Trace, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut field = 0;
    for (line, bytes) in trace.bytes().chunks(LINE).enumerate() {
        let first_bit = (line * LINE * 8) as u64;
        write!(f, "\n{first_bit:>7}  ")?;
        for byte in bytes {
            write!(f, "{byte:02x}        ")?;
        }
        write!(f, "\n         ")?;
        for byte in bytes {
            write!(f, "{:08b}  ", byte.reverse_bits())?;
        }
        write!(f, "\n         ")?;
        for bit in first_bit..first_bit + bytes.len() as u64 * 8 {
            let spans = trace.spans();
            while spans.get(field).is_some_and(|span| span.bits.end <= bit) {
                field += 1;
            }
            let is_in = spans.get(field).is_some_and(|span| span.bits.contains(&bit));
            let gap = if bit % 8 == 7 { "  " } else { "" };
            write!(f, "{}{gap}", if is_in { char::from(mark(field)) } else { '.' })?;
        }
        writeln!(f)?;
    }
    Ok(())
}

fn mark(field: usize) -> u8 {
    MARKS[field % MARKS.len()]
}
