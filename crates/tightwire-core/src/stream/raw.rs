//! The interface of a stream: the few functions that every operation is built on.
//!
//! `Stream` and `RawStream` are two traits, one to call and one to implement: `S: Stream` is the
//! only bound that a serialize function needs. `TraceStream` wraps any stream and overrides
//! `begin`, `end`, `enter` and `leave`, which are empty in every other stream and compile to
//! nothing. `PACKS` is a constant and not a method, so that streams that pack bits pay nothing for
//! those that do not. The size of a number in whole bytes follows from its operation, not from its
//! Rust type, so that a schema reads the same bytes.

use core::fmt::Debug;
use core::hint::cold_path;

use super::text::{self, TextBuffer};
use super::{Access, ErrorKind, Op, TraceScope, Value};
use crate::bits::contains_zero;

/// The functions that a type of stream implements; [`Stream`](crate::stream::Stream) is then
/// implemented for it.
///
/// A serialize function uses this trait only for [`WRITING`](Self::WRITING) and
/// [`READING`](Self::READING). Wrap an operation of your own that is built on the `raw_` functions
/// in [`begin`](Self::begin) and [`end`](Self::end), also when it fails, so that it shows in traces
/// and errors.
pub trait RawStream: Sized {
    /// [`ReadError`](crate::stream::ReadError) for a reader; uninhabited for a writer, which only
    /// reports errors at the end.
    type Error: Debug;

    /// Kind of reference that the stream needs to values: [`Shared`](crate::stream::Shared) for
    /// writing, [`Unique`](crate::stream::Unique) for reading.
    type Access: Access;

    /// Whether values go to the packet, as in writing and measuring.
    const WRITING: bool = !Self::READING;

    /// Whether values come from the packet.
    const READING: bool = Self::Access::READING;

    /// Whether a run of fixed-width fields may arrive as whole words instead of one by one. Derived
    /// types do that for streams that do not need to see each field.
    const MERGES: bool = false;

    /// Whether an array of `bool`s may arrive as whole words: for streams that merge, and within
    /// their runs.
    #[doc(hidden)]
    const JOINS: bool = Self::MERGES;

    /// Whether values are coded in the fewest bits. A stream with `false`, such as
    /// [`ByteStream`](crate::stream::ByteStream), gets each number unpacked. Only the operation
    /// knows that number, and because this is a constant, streams that pack pay nothing for the
    /// question.
    const PACKS: bool = true;

    /// Whether floats arrive as codes, rounded to the steps of their wire form. A stream with
    /// `false`, which only compares values, gets the bits of each float; only for writing.
    #[doc(hidden)]
    const QUANTISES: bool = true;

    /// Whether [`name_next`](Self::name_next), [`begin`](Self::begin), [`end`](Self::end),
    /// [`enter`](Self::enter) and [`leave`](Self::leave) are called. With `false` the calls are
    /// removed at compile time, and with them most of the code of a type.
    const TRACES: bool = true;

    /// Number of bits written or read so far.
    fn position(&self) -> u64;

    /// Number of bits left to read; `u64::MAX` for a writer.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn remaining(&self) -> u64 {
        u64::MAX
    }

    /// Reason and bit of the first refusal; `None` if nothing was refused.
    fn failure(&self) -> Option<(ErrorKind, u64)>;

    /// Whether [`check`](crate::stream::Stream::check) sends its bits; both sides must have the
    /// same setting.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn has_checks(&self) -> bool {
        true
    }

    /// A field of `width` bits, `0..=64`.
    fn raw_bits(&mut self, value: &mut u64, width: u32) -> Result<(), Self::Error>;

    /// Like [`raw_bits`](Self::raw_bits), for a value that is known to fit.
    #[doc(hidden)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_fitting(&mut self, value: &mut u64, width: u32) -> Result<(), Self::Error> {
        self.raw_bits(value, width)
    }

    /// At least the next 57 bits, without reading them; `None` near the end of the packet, and for
    /// streams that cannot look ahead. An operation of several parts that has all of them here is
    /// read at once; everything else, and every refusal, goes part by part.
    #[doc(hidden)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_ahead(&self) -> Option<u64> {
        None
    }

    /// Skips `width` of the bits that [`raw_ahead`](Self::raw_ahead) returned.
    #[doc(hidden)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_skip(&mut self, width: u32) {
        let _ = width;
    }

    /// Runs a loop of operations on a copy of the stream, whose state stays in registers; that of a stream
    /// whose address is known elsewhere is loaded and stored for each operation.
    #[doc(hidden)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_locally<R>(&mut self, operations: impl FnOnce(&mut Self) -> R) -> R {
        operations(self)
    }

    /// A unary number: `zeros` zero bits, then a one bit, which is left out at the `limit`.
    fn raw_unary(&mut self, zeros: &mut u32, limit: u32) -> Result<(), Self::Error>;

    /// Zero padding up to the next whole byte.
    fn raw_align(&mut self) -> Result<(), Self::Error>;

    /// Aligned bytes: a writer writes `source` and returns it, a reader returns the next `length`
    /// bytes of the packet.
    fn raw_bytes<'s>(
        &'s mut self,
        source: &'s [u8],
        length: usize,
    ) -> Result<&'s [u8], Self::Error>;

    /// A bit that says whether a value of `width < 64` bits follows, then the value: for a reader, which
    /// gets the bit. The bits of the value beyond its width are unspecified.
    #[doc(hidden)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_option(&mut self, value: &mut u64, width: u32) -> Result<bool, Self::Error> {
        let mut is_some = 0;
        self.raw_bits(&mut is_some, 1)?;
        if is_some != 0 {
            self.raw_bits(value, width)?;
        }
        Ok(is_some != 0)
    }

    /// The length of a text and its bytes, for a reader.
    #[doc(hidden)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_text<T: TextBuffer>(&mut self, text: &mut T, max_len: usize) -> Result<(), Self::Error> {
        text::read_parts(self, text, max_len)
    }

    /// The bytes of a text that begins at the bit `start`, for a writer: like
    /// [`raw_bytes`](Self::raw_bytes), unless the text contains a zero character.
    #[doc(hidden)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_characters(&mut self, text: &[u8], start: u64) -> Result<(), Self::Error> {
        if contains_zero(text) {
            cold_path();
            return self.refuse_at(ErrorKind::InteriorNul, start);
        }
        self.raw_bytes(text, text.len()).map(drop)
    }

    /// Refuses the value at `bit`: a reader fails, a writer does not finish.
    fn refuse_at(&mut self, kind: ErrorKind, bit: u64) -> Result<(), Self::Error>;

    /// Refuses the value that begins at the current position.
    #[doc(hidden)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn refuse_next(&mut self, kind: ErrorKind) -> Result<(), Self::Error> {
        let bit = self.position();
        self.refuse_at(kind, bit)
    }

    /// A number of `0..=span`, in the bits that `span` needs.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_offset(&mut self, offset: &mut u64, span: u64) -> Result<(), Self::Error> {
        let start = self.position();
        let mut value = *offset;
        if Self::WRITING && value > span {
            // Without this hint, the state of a refusal would be computed for every value.
            cold_path();
            self.refuse_next(ErrorKind::OutOfRange)?;
            value = 0;
        }
        self.raw_fitting(&mut value, u64::BITS - span.leading_zeros())?;
        if Self::READING && value > span {
            return self.refuse_at(ErrorKind::OutOfRange, start);
        }
        *offset = value;
        Ok(())
    }

    /// The ordinal of an enum, like [`raw_offset`](Self::raw_offset).
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_ordinal(&mut self, ordinal: &mut u64, last: u64) -> Result<(), Self::Error> {
        self.raw_offset(ordinal, last)
    }

    /// Names the next operation: see [`Stream::named`](crate::stream::Stream::named).
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn name_next(&mut self, name: &str) {
        let _ = name;
    }

    /// Sets the name of a field, unless the program has named the operation already.
    #[doc(hidden)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn name_place(&mut self, name: &'static str) {
        self.name_next(name);
    }

    /// Called when an operation begins; a tracing stream records it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn begin(&mut self, op: Op) {
        let _ = op;
    }

    /// Called when the last operation ends, with the value that it carried.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn end(&mut self, value: impl FnOnce() -> Value) {
        let _ = value;
    }

    /// Called when a group of operations begins; a tracing stream adds it to the path.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn enter(&mut self, scope: TraceScope<'_>) {
        let _ = scope;
    }

    /// Called when the last group ends.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn leave(&mut self) {}
}

/// Runs an operation between [`begin`](RawStream::begin) and [`end`](RawStream::end).
macro_rules! operation {
    ($kind:ident, $stream:ident, $op:expr, $run:expr, $value:expr $(,)?) => {{
        if $kind::TRACES {
            $stream.begin($op);
        }
        let result = $run;
        if $kind::TRACES {
            $stream.end(|| $value);
        }
        result
    }};
}

/// Runs operations between [`enter`](RawStream::enter) and [`leave`](RawStream::leave).
macro_rules! group {
    ($kind:ident, $stream:ident, $scope:expr, $run:expr $(,)?) => {{
        if $kind::TRACES {
            $stream.enter($scope);
        }
        let result = $run;
        if $kind::TRACES {
            $stream.leave();
        }
        result
    }};
}

pub(super) use {group, operation};
