//! The stream that widens: every field of bits in whole bytes.

use crate::stream::{ErrorKind, Op, RawStream, Scope, Value};

/// Runs another stream, and gives each number 1, 2, 4 or 8 whole bytes: what a format without bit
/// packing does. The operations, their ranges and their checks stay what they are.
pub(super) struct ByteStream<'a, S> {
    inner: &'a mut S,
    /// The bits of each number in the words that come, where a word has several.
    unit: Option<u32>,
}

impl<'a, S: RawStream> ByteStream<'a, S> {
    pub(super) fn new(inner: &'a mut S) -> Self {
        Self { inner, unit: None }
    }

    /// One number.
    fn number(&mut self, value: &mut u64, width: u32) -> Result<(), S::Error> {
        let start = self.inner.position();
        let fits = |value: u64| width >= 64 || value >> width == 0;
        // The wider field would take what the narrow one refuses.
        if S::WRITING && !fits(*value) {
            self.inner.refuse_at(ErrorKind::OutOfRange, start)?;
        }
        self.inner.raw_bits(value, whole_bytes(width))?;
        if S::READING && !fits(*value) {
            return self.inner.refuse_at(ErrorKind::OutOfRange, start);
        }
        Ok(())
    }
}

/// The bits of the smallest integer type that holds `width` bits; nothing is nothing.
fn whole_bytes(width: u32) -> u32 {
    if width == 0 { 0 } else { width.next_power_of_two().max(8) }
}

impl<S: RawStream> RawStream for ByteStream<'_, S> {
    type Error = S::Error;
    const WRITING: bool = S::WRITING;
    const READING: bool = S::READING;

    fn has_checks(&self) -> bool {
        self.inner.has_checks()
    }

    fn raw_bits(&mut self, value: &mut u64, width: u32) -> Result<(), S::Error> {
        let Some(unit) = self.unit.filter(|&unit| 0 < unit && unit < width) else {
            return self.number(value, width);
        };
        let (mut word, mut at) = (0, 0);
        while at < width {
            let mut part = *value >> at & (u64::MAX >> (64 - unit));
            self.number(&mut part, unit)?;
            word |= part << at;
            at += unit;
        }
        *value = word;
        Ok(())
    }

    fn raw_unary(&mut self, zeros: &mut u32, limit: u32) -> Result<(), S::Error> {
        let mut number = u64::from(*zeros);
        self.raw_offset(&mut number, limit.into())?;
        *zeros = number as u32;
        Ok(())
    }

    fn raw_align(&mut self) -> Result<(), S::Error> {
        self.inner.raw_align()
    }

    fn raw_bytes<'s>(&'s mut self, source: &'s [u8], length: usize) -> Result<&'s [u8], S::Error> {
        self.inner.raw_bytes(source, length)
    }

    fn refuse_at(&mut self, kind: ErrorKind, bit: u64) -> Result<(), S::Error> {
        self.inner.refuse_at(kind, bit)
    }

    fn position(&self) -> u64 {
        self.inner.position()
    }

    fn remaining(&self) -> u64 {
        self.inner.remaining()
    }

    fn failure(&self) -> Option<(ErrorKind, u64)> {
        self.inner.failure()
    }

    fn name_next(&mut self, name: &str) {
        self.inner.name_next(name);
    }

    #[track_caller]
    fn begin(&mut self, op: Op) {
        self.unit = match op {
            Op::CompressedVector { range, .. } => Some(range.width()),
            Op::Vector { .. } | Op::Quaternion => Some(32),
            Op::UnitVector { bits } => Some(bits),
            _ => None,
        };
        self.inner.begin(op);
    }

    fn end(&mut self, value: impl FnOnce() -> Value) {
        self.unit = None;
        self.inner.end(value);
    }

    fn enter(&mut self, scope: Scope<'_>) {
        self.inner.enter(scope);
    }

    fn leave(&mut self) {
        self.inner.leave();
    }
}
