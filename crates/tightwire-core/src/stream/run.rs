//! Runs of fixed-width fields, which the stream gets as whole words.

use core::hint::cold_path;

use super::word::load_bits;
use super::{ErrorKind, Op, RawStream, TraceScope, Value};

/// Wraps a stream that [merges](RawStream::MERGES), and collects fields into words: derived code
/// serializes through it. The bytes are the same as field by field.
///
/// Everything here is inlined into code in which all widths are known, so that only shifts by
/// constants and one operation per word are left.
#[derive(Debug)]
pub struct Run<'s, S> {
    stream: &'s mut S,
    /// Bits that are collected and not yet written, or read and not yet taken.
    word: u64,
    /// Number of bits in `word`.
    held: u32,
    /// Number of bits of the run that are not read yet.
    left: u32,
    /// Refused values of the word being written, by kind: see [`Refusals`].
    refusals: Refusals,
}

/// Values that were refused since the last word was written: for each kind, the bit is set at which
/// the value begins in the word.
///
/// A field that is refused only sets a bit at a constant place, and the position in the packet is
/// computed once for a word: computed for each field, it takes some fifty bytes of code.
#[derive(Clone, Copy, Debug, Default)]
struct Refusals {
    out_of_range: u64,
    not_finite: u64,
    not_unit: u64,
}

impl Refusals {
    /// Adds a value that begins at the bit `offset` of the word; returns `false` if this set has no such kind.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn add(&mut self, kind: ErrorKind, offset: u32) -> bool {
        let bit = 1 << (offset % u64::BITS);
        match kind {
            ErrorKind::OutOfRange => self.out_of_range |= bit,
            ErrorKind::NotFinite => self.not_finite |= bit,
            ErrorKind::NotUnit => self.not_unit |= bit,
            _ => return false,
        }
        true
    }

    /// Kind and bit of the first value.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn first(self) -> Option<(ErrorKind, u64)> {
        let all = self.out_of_range | self.not_finite | self.not_unit;
        if all == 0 {
            return None;
        }
        cold_path();
        let lowest = all & all.wrapping_neg();
        let kind = if self.not_finite & lowest != 0 {
            ErrorKind::NotFinite
        } else if self.not_unit & lowest != 0 {
            ErrorKind::NotUnit
        } else {
            ErrorKind::OutOfRange
        };
        Some((kind, lowest.trailing_zeros().into()))
    }
}

impl<'s, S: RawStream> Run<'s, S> {
    /// Creates a run that passes everything on until [`begin_run`](Self::begin_run).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn new(stream: &'s mut S) -> Self {
        Self { stream, word: 0, held: 0, left: 0, refusals: Refusals::default() }
    }

    /// Begins a run of `bits` bits in all; the run before it has ended.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn begin_run(&mut self, bits: u32) {
        self.left = bits;
    }

    /// Writes the collected bits.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn end_run(&mut self) -> Result<(), S::Error> {
        if !S::WRITING || !S::MERGES {
            return Ok(());
        }
        self.report()?;
        if self.held > 0 {
            let held = core::mem::take(&mut self.held);
            return self.stream.raw_fitting(&mut core::mem::take(&mut self.word), held);
        }
        Ok(())
    }

    /// Tells the stream of the first refused value since the last word.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn report(&mut self) -> Result<(), S::Error> {
        match core::mem::take(&mut self.refusals).first() {
            None => Ok(()),
            Some((kind, offset)) => {
                let start = self.stream.position();
                self.stream.refuse_at(kind, start + offset)
            }
        }
    }

    /// Serializes a type without bits: a stream that has failed refuses it too.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn zero_bits(&mut self) -> Result<(), S::Error> {
        self.stream.raw_bits(&mut 0, 0)
    }

    /// Returns the stream for a field of any other kind, after the run has ended.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn stream(&mut self) -> &mut S {
        self.stream
    }

    /// Reads the bit of an option, and its value of `bits < 64` bits as a run of its own.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn read_option(&mut self, bits: u32) -> Result<bool, S::Error> {
        let is_some = self.stream.raw_option(&mut self.word, bits)?;
        (self.held, self.left) = (if is_some { bits } else { 0 }, 0);
        Ok(is_some)
    }

    /// Begins the fields of a variant, until [`leave`](RawStream::leave).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn enter_variant(&mut self, name: &str) {
        if S::TRACES {
            self.stream.name_next(name);
            self.stream.enter(TraceScope::Group("variant"));
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn collect(&mut self, value: u64, width: u32) -> Result<(), S::Error> {
        let held = self.held;
        self.word |= value.unbounded_shl(held);
        self.held += width;
        if self.held < u64::BITS {
            return Ok(());
        }
        let beyond = self.held - u64::BITS;
        self.held = u64::BITS;
        self.end_run()?;
        self.word = value.unbounded_shr(u64::BITS - held);
        self.held = beyond;
        Ok(())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take(&mut self, width: u32) -> Result<u64, S::Error> {
        // Without held bits, those of the word are unspecified; the compiler knows how many are held.
        let lower = if self.held == 0 { 0 } else { self.word };
        if width <= self.held {
            self.word = lower.unbounded_shr(width);
            self.held -= width;
            return Ok(lower & mask(width));
        }
        let missing = width - self.held;
        let loaded = load_bits(self.left, missing);
        let mut next = 0;
        self.stream.raw_bits(&mut next, loaded)?;
        let value = (lower | next << self.held) & mask(width);
        self.left = self.left.saturating_sub(loaded);
        self.word = next.unbounded_shr(missing);
        self.held = loaded - missing;
        Ok(value)
    }

    /// Collects bits that do not fill the word.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn put(&mut self, value: u64, width: u32) {
        debug_assert!(self.held + width < u64::BITS, "a step that fills the word");
        self.word |= value.unbounded_shl(self.held);
        self.held += width;
    }

    /// Takes bits that are held.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn take_held(&mut self, width: u32) -> u64 {
        debug_assert!(width <= self.held, "a step that loads a word");
        let value = self.word & mask(width);
        self.word = self.word.unbounded_shr(width);
        self.held = self.held.saturating_sub(width);
        value
    }

    /// Ends the run before an operation that no run can contain.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn leave_run(&mut self) -> Result<(), S::Error> {
        if S::MERGES && S::READING && self.held > 0 {
            return self.refuse_at(ErrorKind::Misuse, self.position());
        }
        self.end_run()
    }
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn mask(width: u32) -> u64 {
    u64::MAX.unbounded_shr(u64::BITS - width)
}

impl<S: RawStream> RawStream for Run<'_, S> {
    type Error = S::Error;
    type Access = S::Access;
    const TRACES: bool = S::TRACES;
    // A type within a run is part of that run.
    const MERGES: bool = false;
    const JOINS: bool = S::JOINS;
    const PACKS: bool = S::PACKS;
    const QUANTISES: bool = S::QUANTISES;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn position(&self) -> u64 {
        let held = u64::from(self.held);
        if S::WRITING { self.stream.position() + held } else { self.stream.position() - held }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn remaining(&self) -> u64 {
        self.stream.remaining().saturating_add(self.held.into())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn failure(&self) -> Option<(ErrorKind, u64)> {
        let here = || self.refusals.first().map(|(kind, bit)| (kind, self.stream.position() + bit));
        self.stream.failure().or_else(here)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn has_checks(&self) -> bool {
        self.stream.has_checks()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_bits(&mut self, value: &mut u64, width: u32) -> Result<(), S::Error> {
        if !S::MERGES || width > u64::BITS {
            return self.stream.raw_bits(value, width);
        }
        if S::READING {
            *value = self.take(width)?;
            return Ok(());
        }
        let mut bits = *value;
        if bits > mask(width) {
            cold_path();
            self.refuse_next(ErrorKind::OutOfRange)?;
            bits = 0;
        }
        self.collect(bits, width)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_fitting(&mut self, value: &mut u64, width: u32) -> Result<(), S::Error> {
        if !S::MERGES {
            return self.stream.raw_fitting(value, width);
        }
        if S::WRITING {
            return self.collect(*value, width);
        }
        self.raw_bits(value, width)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_unary(&mut self, zeros: &mut u32, limit: u32) -> Result<(), S::Error> {
        self.leave_run()?;
        self.stream.raw_unary(zeros, limit)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_align(&mut self) -> Result<(), S::Error> {
        self.leave_run()?;
        self.stream.raw_align()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_bytes<'b>(&'b mut self, source: &'b [u8], length: usize) -> Result<&'b [u8], S::Error> {
        self.leave_run()?;
        self.stream.raw_bytes(source, length)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_characters(&mut self, text: &[u8], start: u64) -> Result<(), S::Error> {
        self.leave_run()?;
        self.stream.raw_characters(text, start)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn refuse_next(&mut self, kind: ErrorKind) -> Result<(), S::Error> {
        if S::WRITING && S::MERGES && self.refusals.add(kind, self.held) {
            return Ok(());
        }
        self.refuse_at(kind, self.position())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn refuse_at(&mut self, kind: ErrorKind, bit: u64) -> Result<(), S::Error> {
        if S::WRITING && S::MERGES {
            let offset = bit.wrapping_sub(self.stream.position());
            if offset < u64::from(u64::BITS) && self.refusals.add(kind, offset as u32) {
                return Ok(());
            }
            // Reported at once, after those before it.
            self.report()?;
        }
        self.stream.refuse_at(kind, bit)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn name_next(&mut self, name: &str) {
        self.stream.name_next(name);
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn name_place(&mut self, name: &'static str) {
        self.stream.name_place(name);
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn begin(&mut self, op: Op) {
        self.stream.begin(op);
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn end(&mut self, value: impl FnOnce() -> Value) {
        self.stream.end(value);
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn enter(&mut self, scope: TraceScope<'_>) {
        self.stream.enter(scope);
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn leave(&mut self) {
        self.stream.leave();
    }
}
