//! A trace as a picture: a table of the fields, and the packet bit by bit.

use core::fmt;

use super::{ErrorKind, Op, Span, Trace};

/// Marks a field in the picture of the bits; after the last one they start again.
const MARKS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Bytes per line of the picture.
const LINE: usize = 4;

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.spans().iter().map(|span| span.path.chars().count()).max().unwrap_or(0);
        for (index, span) in self.spans().iter().enumerate() {
            let bits = span.bits.end - span.bits.start;
            writeln!(
                f,
                "{} {:>5} {:>4} bit{} {:path$}  {}  {}{}",
                char::from(mark(index)),
                span.bits.start,
                bits,
                if bits == 1 { " " } else { "s" },
                span.path,
                span.op,
                span.value,
                if span.refused { "  <- refused" } else { "" },
            )?;
        }
        if let Some((kind, bit)) = self.failure() {
            Refusal { span: self.refused(), kind, bit }.fmt(f)?;
            writeln!(f)?;
        }
        draw_bits(self, f)
    }
}

/// Why a packet was refused, in a sentence.
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
