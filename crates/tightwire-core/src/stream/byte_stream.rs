//! The stream that writes whole bytes instead of packing bits.
//!
//! `ByteStream` wraps a stream and not a `ByteWriter`: a stream keeps its first refusal to the end,
//! counts bits, and may leave a partial value behind, while `ByteWriter::write_wire` writes a value
//! or nothing.

use super::{ErrorKind, Op, RawStream, TraceScope, Value};

/// Wraps another stream, and gives each number whole bytes: 1, 2, 4, 8 or 16, little-endian.
///
/// This is the debug mode of a protocol. Integers are written as themselves, not as offsets in a
/// range, so that a hex dump can be read. Ranges, lengths, checks and refusals stay in force, and
/// every value reads back as it does from packed bits. [`Packing`](crate::bytes::Packing) chooses
/// between the two.
///
/// ```
/// use tightwire::Stream;
/// use tightwire::stream::{ByteStream, WriteStream};
///
/// let mut buffer = [0; 16];
/// let mut stream = ByteStream::new(WriteStream::new(&mut buffer));
/// stream.bool(&mut true)?;
/// stream.int(&mut 1077, 1000..=1100)?;
/// stream.int(&mut -1i64, -4..=3)?;
/// stream.varint(&mut 0x1234_5678u32)?;
/// let packet = stream.into_inner().finish()?;
/// assert_eq!(packet, [0x01, 0x35, 0x04, 0xff, 0x78, 0x56, 0x34, 0x12]);
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ByteStream<S> {
    inner: S,
}

impl<S: RawStream> ByteStream<S> {
    /// Creates a stream that widens every number before passing it to `inner`, which should be at a
    /// whole byte.
    #[must_use]
    #[inline]
    pub fn new(inner: S) -> Self {
        Self { inner }
    }

    /// Returns the inner stream, which finishes the packet.
    #[must_use]
    #[inline]
    pub fn into_inner(self) -> S {
        self.inner
    }
}

/// Width of the smallest integer type that holds `width` bits; 0 for a width of 0.
fn whole_bytes(width: u32) -> u32 {
    if width == 0 { 0 } else { width.next_power_of_two().max(8) }
}

impl<S: RawStream> RawStream for ByteStream<S> {
    type Error = S::Error;
    type Access = S::Access;
    const TRACES: bool = S::TRACES;
    const PACKS: bool = false;

    #[inline]
    fn has_checks(&self) -> bool {
        self.inner.has_checks()
    }

    fn raw_bits(&mut self, value: &mut u64, width: u32) -> Result<(), S::Error> {
        if width > u64::BITS {
            return self.inner.raw_bits(value, width);
        }
        let start = self.inner.position();
        let fits = |value: u64| value.unbounded_shr(width) == 0;
        let mut whole = *value;
        // The widened field would accept values that the narrow one refuses.
        if S::WRITING && !fits(whole) {
            self.inner.refuse_at(ErrorKind::OutOfRange, start)?;
            whole = 0;
        }
        self.inner.raw_bits(&mut whole, whole_bytes(width))?;
        if S::READING && !fits(whole) {
            return self.inner.refuse_at(ErrorKind::OutOfRange, start);
        }
        *value = whole;
        Ok(())
    }

    #[inline]
    fn raw_unary(&mut self, zeros: &mut u32, limit: u32) -> Result<(), S::Error> {
        let mut number = u64::from(*zeros);
        self.raw_offset(&mut number, limit.into())?;
        *zeros = number as u32;
        Ok(())
    }

    #[inline]
    fn raw_align(&mut self) -> Result<(), S::Error> {
        self.inner.raw_align()
    }

    #[inline]
    fn raw_bytes<'s>(&'s mut self, source: &'s [u8], length: usize) -> Result<&'s [u8], S::Error> {
        self.inner.raw_bytes(source, length)
    }

    #[inline]
    fn refuse_at(&mut self, kind: ErrorKind, bit: u64) -> Result<(), S::Error> {
        self.inner.refuse_at(kind, bit)
    }

    #[inline]
    fn position(&self) -> u64 {
        self.inner.position()
    }

    #[inline]
    fn remaining(&self) -> u64 {
        self.inner.remaining()
    }

    #[inline]
    fn failure(&self) -> Option<(ErrorKind, u64)> {
        self.inner.failure()
    }

    #[inline]
    fn name_next(&mut self, name: &str) {
        self.inner.name_next(name);
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn name_place(&mut self, name: &'static str) {
        self.inner.name_place(name);
    }

    #[inline]
    #[track_caller]
    fn begin(&mut self, op: Op) {
        self.inner.begin(op);
    }

    #[inline]
    fn end(&mut self, value: impl FnOnce() -> Value) {
        self.inner.end(value);
    }

    #[inline]
    fn enter(&mut self, scope: TraceScope<'_>) {
        self.inner.enter(scope);
    }

    #[inline]
    fn leave(&mut self) {
        self.inner.leave();
    }
}
