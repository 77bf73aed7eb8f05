//! Fields of a run that neither fill a word nor need the next one, as most do.
//!
//! The compiler finds out which fields these are after it has copied the code that writes or loads a word
//! to every field of every type. [`step`] finds it out before code is generated, and [`Word`] has no such
//! code. `./ci.sh compile-time` measures the effect.

use core::hint::cold_path;

use super::derived::{low_bits, rest_of_run};
use super::{
    ErrorKind, FloatRange, Int, Quaternion, RawStream, Run, Stream, Target, Vector, Wire, derived,
    text,
};

/// Flag of a [`step`]: a reader loads a word for the field, or may load one.
const LOADS: u32 = 1;

/// Flag of a [`step`]: a writer fills a word with the field, or may fill one.
const FILLS: u32 = 2;

/// Factor of the bits of the run that begins with the field; 0 bits if none begins.
const BEGINS: u32 = 4;

/// The widths of a type's fields, as far as they are known at compile time.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Widths of the parts.
    pub slots: &'static [Option<u32>],
    /// First slot that a reader gets within a run: the one behind the ordinal of an enum.
    pub first: usize,
    /// Slot behind the last field that has several parts, of which only the sum is known.
    pub known: usize,
}

/// Returns the flags of the field in slot `field`, and the bits of a run that begins there.
pub const fn step(layout: Layout, field: usize) -> u32 {
    let begins = BEGINS * layout.begins(field);
    let Some(width) = layout.slots[field] else { return LOADS | FILLS };
    let Some(State { held, used }) = layout.state(field) else { return begins | LOADS | FILLS };
    let loads = if width > held || begins > 0 { LOADS } else { 0 };
    let fills = if used + width >= u64::BITS { FILLS } else { 0 };
    begins | loads | fills
}

/// Returns the step of a part that a writer puts behind the run that ends before `field`, after `before`
/// other bits. A reader has the part already.
pub const fn step_behind(layout: Layout, field: usize, before: u32, width: u32) -> u32 {
    match layout.state(field) {
        Some(State { used, .. }) if (used + before) % u64::BITS + width < u64::BITS => 0,
        _ => FILLS,
    }
}

/// State of a run before a field.
struct State {
    /// Bits that a reader has loaded.
    held: u32,
    /// Bits in the word of a writer.
    used: u32,
}

impl Layout {
    /// Bits of the run that begins with `field` for a reader; 0 if none begins.
    pub const fn begins(self, field: usize) -> u32 {
        let begins = field == self.first || field > self.first && self.slots[field - 1].is_none();
        if begins { rest_of_run(self.slots, field) } else { 0 }
    }

    /// Returns the state before `field`; `None` if it is not known.
    const fn state(self, field: usize) -> Option<State> {
        let mut slot = field;
        while slot > 0 && self.slots[slot - 1].is_some() {
            slot -= 1;
        }
        if slot < self.known {
            return None;
        }
        let mut state = State { held: 0, used: 0 };
        let mut left = 0;
        while slot < field {
            let Some(width) = self.slots[slot] else { return None };
            if width > u64::BITS {
                return None;
            }
            let begins = self.begins(slot);
            if begins > 0 {
                left = begins;
            }
            if slot < self.first {
                // The ordinal, which a reader gets before the run.
            } else if width > state.held {
                let missing = width - state.held;
                let loaded = load_bits(left, missing);
                left = left.saturating_sub(loaded);
                state.held = loaded - missing;
            } else {
                state.held -= width;
            }
            state.used = (state.used + width) % u64::BITS;
            slot += 1;
        }
        Some(state)
    }
}

/// Bits that a reader loads if `left` are not loaded yet and `missing` are needed now.
///
/// The rest of the run is split into equal words, as few as possible and as narrow as possible: below
/// 58 bits, one load reads a word. If a type takes more bits than it declared, they are read one field at
/// a time.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) const fn load_bits(left: u32, missing: u32) -> u32 {
    let words = left.div_ceil(u64::BITS);
    let equal = if words == 0 { 0 } else { left.div_ceil(words) };
    if equal > missing { equal } else { missing }
}

/// The word of a run, for fields that it holds.
pub(super) struct Word<'r, 's, S> {
    run: &'r mut Run<'s, S>,
}

impl<S: RawStream> RawStream for Word<'_, '_, S> {
    type Error = S::Error;
    type Access = S::Access;
    const TRACES: bool = false;
    const MERGES: bool = false;
    const JOINS: bool = S::JOINS;
    const PACKS: bool = S::PACKS;
    const QUANTISES: bool = S::QUANTISES;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn position(&self) -> u64 {
        self.run.position()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn failure(&self) -> Option<(ErrorKind, u64)> {
        self.run.failure()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_bits(&mut self, value: &mut u64, width: u32) -> Result<(), S::Error> {
        if S::READING {
            *value = self.run.take_held(width);
            return Ok(());
        }
        if *value > u64::MAX.unbounded_shr(u64::BITS - width) {
            cold_path();
            self.run.refuse_next(ErrorKind::OutOfRange)?;
        }
        // Higher bits of a refused value change later fields of a packet that is never finished.
        self.run.put(*value, width);
        Ok(())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_fitting(&mut self, value: &mut u64, width: u32) -> Result<(), S::Error> {
        match S::READING {
            true => *value = self.run.take_held(width),
            false => self.run.put(*value, width),
        }
        Ok(())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_offset(&mut self, offset: &mut u64, span: u64) -> Result<(), S::Error> {
        let width = u64::BITS - span.leading_zeros();
        let value = if S::READING { self.run.take_held(width) } else { *offset };
        if value > span {
            if S::READING {
                let start = self.run.position() - u64::from(width);
                return self.run.refuse_at(ErrorKind::OutOfRange, start);
            }
            cold_path();
            self.run.refuse_next(ErrorKind::OutOfRange)?;
        }
        match S::READING {
            true => *offset = value,
            // As in `raw_bits`.
            false => self.run.put(value, width),
        }
        Ok(())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn refuse_next(&mut self, kind: ErrorKind) -> Result<(), S::Error> {
        self.run.refuse_next(kind)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn refuse_at(&mut self, kind: ErrorKind, bit: u64) -> Result<(), S::Error> {
        self.run.refuse_at(kind, bit)
    }

    // No field of a word does any of these.

    fn raw_unary(&mut self, zeros: &mut u32, limit: u32) -> Result<(), S::Error> {
        self.run.raw_unary(zeros, limit)
    }

    fn raw_align(&mut self) -> Result<(), S::Error> {
        self.run.raw_align()
    }

    fn raw_bytes<'b>(&'b mut self, source: &'b [u8], length: usize) -> Result<&'b [u8], S::Error> {
        self.run.raw_bytes(source, length)
    }
}

/// Returns whether the field needs no new word: nothing is loaded for it, or filled by it.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn stays<S: RawStream>(step: u32) -> bool {
    S::MERGES && step & (if S::READING { LOADS } else { FILLS }) == 0
}

impl<'s, S: Stream> Run<'s, S> {
    /// The word, for a field that [`stays`] in it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn word(&mut self) -> Word<'_, 's, S> {
        Word { run: self }
    }

    /// The stream of a field that may do more, after the run has begun if it begins there.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn beyond(&mut self, step: u32, name: &'static str) -> &mut Self {
        if step >= BEGINS {
            self.begin_run(step / BEGINS);
        }
        self.named(name)
    }
}

/// Defines the operations of fields in a run, each with its [`step`].
macro_rules! in_run {
    ($(
        $(#[$doc:meta])*
        $function:ident[$($generics:tt)*]($value:ident: $type:ty $(, $argument:ident: $kind:ty)*)
            |$stream:ident| $operation:expr;
    )*) => {$(
        $(#[$doc])*
        #[cfg_attr(not(debug_assertions), inline(always))]
        #[track_caller]
        pub fn $function<S: Stream, $($generics)*>(
            run: &mut Run<'_, S>,
            step: u32,
            name: &'static str,
            $value: Target<'_, S::Access, $type>,
            $($argument: $kind),*
        ) -> Result<(), S::Error> {
            if stays::<S>(step) {
                let $stream = &mut run.word();
                return $operation;
            }
            let $stream = run.beyond(step, name);
            $operation
        }
    )*};
}

in_run! {
    /// A number of a type without a range.
    whole_in_run[T: Wire](value: T) |stream| stream.object(value);
    /// Like [`derived::int`].
    int_in_run[T: Int](value: T, min: T, max: T) |stream| derived::int(stream, value, min, max);
    /// Like [`derived::low_bits`].
    bits_in_run[T: Int](value: T, width: u32) |stream| low_bits(stream, value, width);
    /// Like [`Stream::bool`].
    bool_in_run[](value: bool) |stream| stream.bool(value);
    /// An array of `bool`s.
    bools_in_run[const N: usize](value: [bool; N]) |stream| Wire::serialize(value, stream);
    /// Like [`Stream::float`].
    float_in_run[](value: f32) |stream| stream.float(value);
    /// Like [`Stream::double`].
    double_in_run[](value: f64) |stream| stream.double(value);
    /// Like [`Stream::compressed_float`].
    compressed_float_in_run[](value: f32, range: FloatRange) |stream| stream.compressed_float(value, range);
    /// Like [`Stream::compressed_vector`].
    compressed_vector_in_run[V: Vector<N>, const N: usize](value: V, range: FloatRange)
        |stream| stream.compressed_vector(value, range);
    /// Like [`Stream::smallest_three`].
    smallest_three_in_run[Q: Quaternion](value: Q, bits: u32) |stream| stream.smallest_three(value, bits);
    /// Like [`Stream::unit_vector`].
    unit_vector_in_run[V: Vector<3>](value: V, bits: u32) |stream| stream.unit_vector(value, bits);
}

/// Text that ends a run. A writer puts the length into the word of the preceding fields.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub fn text_behind_run<S: Stream, T: text::TextBuffer>(
    run: &mut Run<'_, S>,
    step: u32,
    name: &'static str,
    value: Target<'_, S::Access, T>,
    max_len: usize,
) -> Result<(), S::Error> {
    if S::READING {
        return derived::text(run.stream().named(name), value, max_len);
    }
    if !stays::<S>(step) {
        return derived::text(run.named(name), value, max_len);
    }
    let start = run.position();
    let text = value.as_str().as_bytes();
    text::length(&mut run.word(), &mut { text.len() }, max_len)?;
    run.raw_characters(text, start)
}

/// The bit of an option that a writer puts behind a run, of [`step_behind`] for one bit.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn write_option<S: Stream>(
    run: &mut Run<'_, S>,
    step: u32,
    is_some: bool,
) -> Result<(), S::Error> {
    let mut bit = u64::from(is_some);
    match stays::<S>(step) {
        true => run.word().raw_fitting(&mut bit, 1),
        false => run.raw_fitting(&mut bit, 1),
    }
}

/// The ordinal of an enum, which a writer puts first into the run.
#[cfg_attr(not(debug_assertions), inline(always))]
pub fn write_ordinal<S: Stream>(
    run: &mut Run<'_, S>,
    ordinal: usize,
    names: &[&'static str],
) -> Result<(), S::Error> {
    match S::MERGES {
        true => derived::ordinal(&mut run.word(), &mut { ordinal }, names),
        false => derived::ordinal(run, &mut { ordinal }, names),
    }
}
