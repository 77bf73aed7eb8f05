//! The stream that writes.
//!
//! Writes never fail on the way: `Error = Infallible`, so that `?` compiles to nothing. A refused
//! value or a full buffer is recorded, and `finish` returns the error. Nothing on the hot path
//! passes the stream to a function that is not inlined, not even the rare refusal: its address
//! would escape, and every field would go through memory.

use core::convert::Infallible;

use super::{ErrorKind, RawStream, Shared, WriteError};
use crate::bits::{BitWriter, Checkpoint};

/// Writes a packet into a caller's buffer of any length and alignment.
///
/// Writing cannot fail on the way: a full buffer or a value outside its range is recorded, and
/// [`finish`](Self::finish) returns the error instead of the bytes.
///
/// ```
/// use tightwire::Stream;
/// use tightwire::stream::{ErrorKind, WriteError, WriteStream};
///
/// let mut buffer = [0; 64];
/// let mut stream = WriteStream::new(&mut buffer);
/// stream.int(&77u8, 0..=100)?;
/// stream.bool(&true)?;
/// assert_eq!(stream.finish()?, [0b1_1001101]);
///
/// let mut stream = WriteStream::new(&mut buffer);
/// stream.bool(&true)?;
/// stream.int(&101u8, 0..=100)?;
/// let refused = WriteError::Value { kind: ErrorKind::OutOfRange, bit: 1 };
/// assert_eq!(stream.finish(), Err(refused));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct WriteStream<'a> {
    writer: BitWriter<'a>,
    checks: bool,
}

impl<'a> WriteStream<'a> {
    /// Creates a stream at the first bit of `buffer`, whose contents do not matter.
    #[must_use]
    #[inline]
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Self { writer: BitWriter::new(buffer), checks: true }
    }

    /// Leaves out every [`check`](crate::stream::Stream::check). The reader must
    /// [do the same](crate::stream::ReadStream::without_checks).
    ///
    /// ```
    /// use tightwire::Stream;
    /// use tightwire::stream::WriteStream;
    ///
    /// let mut buffer = [0; 8];
    /// let mut stream = WriteStream::new(&mut buffer).without_checks();
    /// stream.bool(&true)?;
    /// stream.check("after the flag")?;
    /// assert_eq!(stream.finish()?, [1]);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn without_checks(mut self) -> Self {
        self.checks = false;
        self
    }

    /// Number of bits written so far.
    #[must_use]
    #[inline]
    pub fn position(&self) -> u64 {
        self.writer.position()
    }

    /// Whether more bits were written than the buffer holds.
    #[must_use]
    #[inline]
    pub fn has_overflowed(&self) -> bool {
        self.writer.has_overflowed()
    }

    /// Returns the current position, for [`rollback`](Self::rollback): write items until the packet
    /// is full, then undo the last one.
    ///
    /// ```
    /// use tightwire::Stream;
    /// use tightwire::stream::WriteStream;
    ///
    /// let mut buffer = [0; 3];
    /// let mut stream = WriteStream::new(&mut buffer);
    /// for score in [900u16, 350, 800] {
    ///     let before = stream.checkpoint();
    ///     stream.int(&score, 0..=1000)?;
    ///     if stream.has_overflowed() {
    ///         stream.rollback(before);
    ///     }
    /// }
    /// assert_eq!(stream.position(), 20);
    /// assert_eq!(stream.finish()?.len(), 3);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn checkpoint(&self) -> Checkpoint {
        self.writer.checkpoint()
    }

    /// Undoes everything written since `checkpoint`, including refusals and an overflow.
    ///
    /// A checkpoint of another stream, or one that a rollback has since undone, is a programming
    /// error: the bytes are then unspecified.
    #[inline]
    pub fn rollback(&mut self, checkpoint: Checkpoint) {
        self.writer.rollback(checkpoint);
    }

    /// First value that was refused before the buffer was full; `None` if there is none.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn refused_value(&self) -> Option<(ErrorKind, u64)> {
        let (bit, reason) = self.writer.refusal()?;
        (bit <= self.writer.capacity()).then(|| (ErrorKind::from_reason(reason), bit))
    }

    /// Returns the packet: the bytes written, with zeros in the unused bits of the last byte.
    ///
    /// # Errors
    ///
    /// [`WriteError`] if a value was refused, or the buffer was too small.
    #[inline]
    pub fn finish(self) -> Result<&'a [u8], WriteError> {
        self.writer.finish_or(write_error)
    }

    /// Like [`finish`](Self::finish), without the packet, which [`packet`](Self::packet) returns: the position
    /// and the refusal.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn finish_parts(self) -> (u64, u64) {
        self.writer.finish_parts()
    }

    /// Returns the packet in `buffer`, with the numbers of [`finish_parts`](Self::finish_parts).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn packet(
        buffer: &'a [u8],
        position: u64,
        refused: u64,
    ) -> Result<&'a [u8], WriteError> {
        BitWriter::packet_or(buffer, position, refused, write_error)
    }
}

impl RawStream for WriteStream<'_> {
    type Error = Infallible;
    type Access = Shared;
    const TRACES: bool = false;
    const MERGES: bool = true;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_bits(&mut self, value: &mut u64, width: u32) -> Result<(), Infallible> {
        self.writer.write_bits(*value, width);
        Ok(())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_fitting(&mut self, value: &mut u64, width: u32) -> Result<(), Infallible> {
        self.writer.push(*value, width);
        Ok(())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_locally<R>(&mut self, operations: impl FnOnce(&mut Self) -> R) -> R {
        let mut local = Self { writer: self.writer.take(), checks: self.checks };
        let result = operations(&mut local);
        *self = local;
        result
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_unary(&mut self, zeros: &mut u32, limit: u32) -> Result<(), Infallible> {
        self.writer.write_unary(*zeros, limit);
        Ok(())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_align(&mut self) -> Result<(), Infallible> {
        self.writer.align();
        Ok(())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_bytes<'s>(&'s mut self, source: &'s [u8], _: usize) -> Result<&'s [u8], Infallible> {
        self.writer.write_bytes(source);
        Ok(source)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_characters(&mut self, text: &[u8], start: u64) -> Result<(), Infallible> {
        match self.writer.write_text(text) {
            true => Ok(()),
            false => self.refuse_at(ErrorKind::InteriorNul, start),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn refuse_at(&mut self, kind: ErrorKind, bit: u64) -> Result<(), Infallible> {
        self.writer.refuse_because(bit, kind.reason());
        Ok(())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn position(&self) -> u64 {
        self.writer.position()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn has_checks(&self) -> bool {
        self.checks
    }

    #[inline]
    fn failure(&self) -> Option<(ErrorKind, u64)> {
        let full = self.has_overflowed().then(|| (ErrorKind::Full, self.writer.capacity()));
        self.refused_value().or(full)
    }
}

/// Makes the error of a packet that was not finished. It is inlined, so that nothing of it is left
/// where the error is dropped.
#[cold]
#[inline]
fn write_error(refusal: Option<(u64, u8)>, needed_bits: u64, capacity_bits: u64) -> WriteError {
    let full = WriteError::Full { needed_bits, capacity_bits };
    let Some((bit, reason)) = refusal else { return full };
    let value = WriteError::Value { kind: ErrorKind::from_reason(reason), bit };
    // A value refused behind the end of a full buffer is not the first error.
    if bit <= capacity_bits || needed_bits <= capacity_bits { value } else { full }
}
