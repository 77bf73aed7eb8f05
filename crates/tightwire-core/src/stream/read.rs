//! The stream that reads.

use core::hint::cold_path;

use super::text::{self, TextBuffer};
use super::{ByteStream, ErrorKind, RawStream, ReadError, Unique};
use crate::bits::BitReader;

/// Reads a packet from the bytes that arrived, and never beyond them.
///
/// Every operation checks its bounds and its range, in every build, before it changes the value.
/// After the first refusal the stream stays failed, and refuses everything with the same error.
///
/// ```
/// use tightwire::Stream;
/// use tightwire::stream::ReadStream;
///
/// let mut stream = ReadStream::new(&[0b1_1001101]);
/// let (mut health, mut alive) = (0u8, false);
/// stream.int(&mut health, 0..=100)?;
/// stream.bool(&mut alive)?;
/// stream.finish()?;
/// assert_eq!((health, alive), (77, true));
/// # Ok::<(), tightwire::stream::ReadError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReadStream<'a> {
    reader: BitReader<'a>,
    failure: Option<ReadError>,
    checks: bool,
}

impl<'a> ReadStream<'a> {
    /// Creates a stream at the first bit of `packet`.
    #[must_use]
    #[inline]
    pub fn new(packet: &'a [u8]) -> Self {
        Self { reader: BitReader::new(packet), failure: None, checks: true }
    }

    /// Like [`new`](Self::new), for a packet that begins with the ordinal of an enum: the variant decides the
    /// length, which is not predictable.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn of_enum(packet: &'a [u8]) -> Self {
        Self { reader: BitReader::of_any_length(packet), failure: None, checks: true }
    }

    /// Creates a stream from the parts of another one's reader, for an operation that is not inlined.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn from_parts(packet: &'a [u8], last_word: u64, position: u64) -> Self {
        let reader = BitReader::from_parts(packet, last_word, position);
        Self { reader, failure: None, checks: true }
    }

    /// Reads a packet that was written [without checks](crate::stream::WriteStream::without_checks).
    #[must_use]
    #[inline]
    pub fn without_checks(mut self) -> Self {
        self.checks = false;
        self
    }

    /// Number of bits read so far.
    #[must_use]
    #[inline]
    pub fn position(&self) -> u64 {
        self.reader.position()
    }

    /// Number of bits left; 0 after a refusal.
    #[must_use]
    #[inline]
    pub fn remaining(&self) -> u64 {
        self.reader.remaining()
    }

    /// Ends the packet: all of it must have been read, except for zero padding of the last byte.
    ///
    /// # Errors
    ///
    /// The first refusal of the stream, or [`ErrorKind::TrailingData`].
    #[inline]
    pub fn finish(self) -> Result<(), ReadError> {
        // A reader that has failed is not at its end.
        if self.reader.is_at_end() {
            return Ok(());
        }
        // Without this hint, the error would be computed for every packet.
        cold_path();
        let trailing = ReadError { kind: ErrorKind::TrailingData, bit: self.position() };
        Err(self.failure.unwrap_or(trailing))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn refuse_end(&mut self) -> ReadError {
        let end = ReadError { kind: ErrorKind::UnexpectedEnd, bit: self.reader.position() };
        *self.failure.get_or_insert(end)
    }
}

/// A stream that reads one complete packet.
pub(crate) trait Reading: RawStream<Error = ReadError> {
    /// Like [`ReadStream::finish`].
    fn end(self) -> Result<(), ReadError>;
}

impl Reading for ReadStream<'_> {
    fn end(self) -> Result<(), ReadError> {
        self.finish()
    }
}

impl Reading for ByteStream<ReadStream<'_>> {
    fn end(self) -> Result<(), ReadError> {
        self.into_inner().finish()
    }
}

impl RawStream for ReadStream<'_> {
    type Error = ReadError;
    type Access = Unique;
    const TRACES: bool = false;
    const MERGES: bool = true;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_bits(&mut self, value: &mut u64, width: u32) -> Result<(), ReadError> {
        match self.reader.read_bits(width) {
            Ok(bits) => *value = bits,
            Err(_) => return Err(self.refuse_end()),
        }
        Ok(())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_ordinal(&mut self, ordinal: &mut u64, last: u64) -> Result<(), ReadError> {
        let start = self.position();
        match self.reader.read_first(u64::BITS - last.leading_zeros()) {
            Ok(value) if value > last => return self.refuse_at(ErrorKind::OutOfRange, start),
            Ok(value) => *ordinal = value,
            Err(_) => return Err(self.refuse_end()),
        }
        Ok(())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_ahead(&self) -> Option<u64> {
        self.reader.ahead()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_skip(&mut self, width: u32) {
        self.reader.skip(width);
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_locally<R>(&mut self, operations: impl FnOnce(&mut Self) -> R) -> R {
        let mut local = self.clone();
        let result = operations(&mut local);
        *self = local;
        result
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_unary(&mut self, zeros: &mut u32, limit: u32) -> Result<(), ReadError> {
        match self.reader.read_unary(limit) {
            Ok(read) => *zeros = read,
            Err(_) => return Err(self.refuse_end()),
        }
        Ok(())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_align(&mut self) -> Result<(), ReadError> {
        match self.reader.align() {
            Ok(true) => Ok(()),
            Ok(false) => self.refuse_at(ErrorKind::Padding, self.reader.position()),
            Err(_) => Err(self.refuse_end()),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_bytes<'s>(&'s mut self, _: &'s [u8], length: usize) -> Result<&'s [u8], ReadError> {
        self.raw_align()?;
        match self.reader.read_bytes(length) {
            Ok(bytes) => Ok(bytes),
            Err(_) => Err(self.refuse_end()),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_option(&mut self, value: &mut u64, width: u32) -> Result<bool, ReadError> {
        let (is_some, read) = self.reader.read_option(width);
        match is_some {
            Some(is_some) => {
                *value = read;
                Ok(is_some)
            }
            None => Err(self.refuse_end()),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_text<T: TextBuffer>(&mut self, text: &mut T, max_len: usize) -> Result<(), ReadError> {
        let (packet, last_word, start) = self.reader.parts();
        let (position, refused) = text::read_at(text, packet, last_word, start, max_len);
        let start = self.reader.position();
        self.reader.go_to(position);
        match refused {
            None => Ok(()),
            // A missing part and invalid padding are reported where they begin, an invalid length
            // or text at the start of the operation.
            Some(kind @ (ErrorKind::UnexpectedEnd | ErrorKind::Padding)) => {
                self.refuse_at(kind, position)
            }
            Some(kind) => self.refuse_at(kind, start),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn refuse_at(&mut self, kind: ErrorKind, bit: u64) -> Result<(), ReadError> {
        self.reader.fail();
        Err(*self.failure.get_or_insert(ReadError { kind, bit }))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn position(&self) -> u64 {
        self.reader.position()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn remaining(&self) -> u64 {
        self.reader.remaining()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn has_checks(&self) -> bool {
        self.checks
    }

    #[inline]
    fn failure(&self) -> Option<(ErrorKind, u64)> {
        self.failure.map(|refused| (refused.kind, refused.bit))
    }
}
