//! What a stream has to do: the few functions that every operation is made of.
//!
//! `Stream` and `RawStream` are two traits, the one that is called and the one that is implemented: `S:
//! Stream` is all that a serialize function has to say. `TraceStream` wraps any stream and overrides
//! `begin`, `end`, `enter` and `leave`, which are empty everywhere else and vanish. `PACKS` is a
//! constant and not a method, so that streams that pack bits pay nothing for those that do not; the
//! whole bytes of a number follow from its operation, not from its Rust type, so that a schema reads
//! the same.

use core::fmt::Debug;
use core::hint::cold_path;

use super::{Access, ErrorKind, Op, Scope, Value};

/// A stream without the operations: implement this, and [`Stream`](crate::stream::Stream) comes with it.
///
/// A serialize function needs it only to ask [`WRITING`](Self::WRITING) or
/// [`READING`](Self::READING). An operation of your own that is built on the `raw_` functions
/// stands between [`begin`](Self::begin) and [`end`](Self::end), also when it fails, so that it
/// shows in traces and errors.
pub trait RawStream: Sized {
    /// [`ReadError`](crate::stream::ReadError) for a reader; a writer cannot fail on the way.
    type Error: Debug;

    /// The references that the stream needs to values: [`Shared`](crate::stream::Shared) if it writes,
    /// [`Unique`](crate::stream::Unique) if it reads.
    type Access: Access;

    /// Whether values go to the packet, as they do for writing and measuring.
    const WRITING: bool = !Self::READING;

    /// Whether values come from the packet.
    const READING: bool = Self::Access::READING;

    /// Whether a run of fixed-width fields may come as whole words instead of one by one: derived
    /// types do that for streams that have no need to see each field.
    const MERGES: bool = false;

    /// Whether values go in the fewest bits. A stream that says no gets each number as it is, as
    /// [`ByteStream`](crate::stream::ByteStream) does: only the operation knows what that number is, and with
    /// a constant it costs the streams that pack nothing to be asked.
    const PACKS: bool = true;

    /// Whether [`name_next`](Self::name_next), [`begin`](Self::begin), [`end`](Self::end),
    /// [`enter`](Self::enter) and [`leave`](Self::leave) are called. With `false` those calls are
    /// removed at compile time, and with them most of the code of a type.
    const TRACES: bool = true;

    /// The bits of the packet so far.
    fn position(&self) -> u64;

    /// The bits of the packet that are left to read; a writer has no end to speak of.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn remaining(&self) -> u64 {
        u64::MAX
    }

    /// What was refused first, and at which bit.
    fn failure(&self) -> Option<(ErrorKind, u64)>;

    /// Whether [`check`](crate::stream::Stream::check) sends anything: both sides agree on it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn has_checks(&self) -> bool {
        true
    }

    /// A field of `width` bits, `0..=64`.
    fn raw_bits(&mut self, value: &mut u64, width: u32) -> Result<(), Self::Error>;

    /// As [`raw_bits`](Self::raw_bits), of a value that is known to need no more bits.
    #[doc(hidden)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_fitting(&mut self, value: &mut u64, width: u32) -> Result<(), Self::Error> {
        self.raw_bits(value, width)
    }

    /// The same, for the words of a run: few calls with many bits each.
    #[doc(hidden)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_word(&mut self, value: &mut u64, width: u32) -> Result<(), Self::Error> {
        self.raw_bits(value, width)
    }

    /// As many zeros as the number says and then a one, which is left out at the `limit`.
    fn raw_unary(&mut self, zeros: &mut u32, limit: u32) -> Result<(), Self::Error>;

    /// Zeros up to the next whole byte.
    fn raw_align(&mut self) -> Result<(), Self::Error>;

    /// Aligned bytes: a writer writes `source` and returns it, a reader returns the next `length`
    /// bytes of the packet.
    fn raw_bytes<'s>(
        &'s mut self,
        source: &'s [u8],
        length: usize,
    ) -> Result<&'s [u8], Self::Error>;

    /// Refuses the value at `bit`: a reader fails, a writer refuses to finish.
    fn refuse_at(&mut self, kind: ErrorKind, bit: u64) -> Result<(), Self::Error>;

    /// A number of `0..=span`, in the bits that `span` needs.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_offset(&mut self, offset: &mut u64, span: u64) -> Result<(), Self::Error> {
        let start = self.position();
        let mut value = *offset;
        if Self::WRITING && value > span {
            // Without this hint, what a refusal remembers would be computed for every value.
            cold_path();
            self.refuse_at(ErrorKind::OutOfRange, start)?;
            value = 0;
        }
        self.raw_fitting(&mut value, u64::BITS - span.leading_zeros())?;
        if Self::READING && value > span {
            return self.refuse_at(ErrorKind::OutOfRange, start);
        }
        *offset = value;
        Ok(())
    }

    /// Names the next operation: see [`Stream::named`](crate::stream::Stream::named).
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn name_next(&mut self, name: &str) {
        let _ = name;
    }

    /// The name of a field, which counts if the program has given no other.
    #[doc(hidden)]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn name_place(&mut self, name: &'static str) {
        self.name_next(name);
    }

    /// An operation begins; a tracing stream records it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn begin(&mut self, op: Op) {
        let _ = op;
    }

    /// The operation that began last is over, and carried this value.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn end(&mut self, value: impl FnOnce() -> Value) {
        let _ = value;
    }

    /// A group of operations begins; a tracing stream adds it to their path.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn enter(&mut self, scope: Scope<'_>) {
        let _ = scope;
    }

    /// The group that began last is over.
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
