//! Writing whole bytes.

use core::fmt;

use super::reserved::{MAX_UNFILLED, Unfilled};
use super::{Buffer, ByteError, Primitive, WriteBlock};
use crate::stream::Pod;

/// Writes whole bytes into a caller's buffer: plain structs in one copy, primitives, packed
/// integers, text, and sections of bits.
///
/// The buffer is a slice or an array, or a [`GrowingBuffer`](crate::bytes::GrowingBuffer); its
/// contents do not matter. Every operation has its own bounds check, and a refused operation writes
/// nothing; [`reserve`](Self::reserve) checks once for a block of operations. Numbers are
/// little-endian.
///
/// Method grammar: nouns are getters, verbs write.
///
/// ```
/// use tightwire::bytes::{ByteReader, ByteWriter};
/// use zerocopy::{FromBytes, Immutable, IntoBytes};
///
/// #[derive(FromBytes, IntoBytes, Immutable, PartialEq, Debug)]
/// #[repr(C)]
/// struct Placement {
///     place: [f32; 3],
///     team: u32,
/// }
///
/// let mut writer = ByteWriter::new([0; 64]);
/// writer.write_pod(&Placement { place: [1.0, 2.0, 3.0], team: 7 })?;
/// writer.write_varint(300u32)?;
/// writer.write_str("Ada", 31)?;
/// let packet = writer.finish()?;
/// assert_eq!(packet.len(), 16 + 2 + 4);
///
/// let mut reader = ByteReader::new(packet);
/// assert_eq!(reader.read_pod::<Placement>()?.team, 7);
/// assert_eq!(reader.read_varint::<u32>()?, 300);
/// assert_eq!(reader.read_str(31)?, "Ada");
/// reader.finish()?;
/// # Ok::<(), tightwire::bytes::ByteError>(())
/// ```
pub struct ByteWriter<B> {
    pub(super) buffer: B,
    /// Position of the next write, at most `len`.
    position: usize,
    /// Number of bytes written, at most the length of the buffer.
    len: usize,
    /// Reserved spaces that are not filled, in no order; all of them are below `len`.
    pub(super) unfilled: [Option<Unfilled>; MAX_UNFILLED],
}

impl<B: Buffer> ByteWriter<B> {
    /// Creates a writer at the first byte of `buffer`.
    #[must_use]
    #[inline]
    pub fn new(buffer: B) -> Self {
        Self { buffer, position: 0, len: 0, unfilled: [None; MAX_UNFILLED] }
    }

    /// Position of the next write.
    #[must_use]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn position(&self) -> usize {
        self.position
    }

    /// Number of bytes written.
    #[must_use]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is written.
    #[must_use]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of bytes that the buffer holds without growing.
    #[must_use]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn capacity(&self) -> usize {
        self.buffer.as_slice().len()
    }

    /// The bytes written so far. Reserved space that is not filled is zeros.
    #[must_use]
    #[inline]
    pub fn written(&self) -> &[u8] {
        self.buffer.as_slice().get(..self.len).unwrap_or_default()
    }

    /// Returns the bytes written, if every reserved space is filled.
    ///
    /// # Errors
    ///
    /// [`ByteError::Unfilled`] if a reserved space was not filled.
    #[inline]
    pub fn finish(&self) -> Result<&[u8], ByteError> {
        match self.unfilled.iter().flatten().map(|unfilled| unfilled.start).min() {
            Some(byte) => Err(ByteError::Unfilled { byte }),
            None => Ok(self.written()),
        }
    }

    /// Returns the buffer with its contents.
    #[must_use]
    #[inline]
    pub fn into_buffer(self) -> B {
        self.buffer
    }

    /// Moves to a byte that is written, to overwrite it, or to the end.
    ///
    /// ```
    /// use tightwire::bytes::{ByteError, ByteWriter};
    ///
    /// let mut writer = ByteWriter::new([0xff; 8]);
    /// writer.write(1u32)?;
    /// writer.seek(1)?;
    /// writer.write(0xabu8)?;
    /// assert_eq!(writer.finish()?, [1, 0xab, 0, 0]);
    /// assert_eq!(writer.seek(5), Err(ByteError::Outside { byte: 5, len: 4 }));
    /// # Ok::<(), ByteError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ByteError::Outside`] for a byte beyond the end: the bytes between would never have been
    /// written.
    #[inline]
    pub fn seek(&mut self, byte: usize) -> Result<(), ByteError> {
        if byte > self.len {
            return Err(ByteError::Outside { byte, len: self.len });
        }
        self.position = byte;
        Ok(())
    }

    /// Removes everything from byte `len` on, and moves to the end. Space that was reserved there
    /// can no longer be filled.
    ///
    /// ```
    /// use tightwire::bytes::ByteWriter;
    ///
    /// // Fill a packet until the next item does not fit.
    /// let mut writer = ByteWriter::new([0; 10]);
    /// for item in ["one", "two", "three"] {
    ///     let before = writer.len();
    ///     let written = writer.write(7u8).and_then(|()| writer.write_str(item, 31));
    ///     if written.is_err() {
    ///         writer.truncate(before)?;
    ///     }
    /// }
    /// assert_eq!(writer.finish()?, b"\x07\x03one\x07\x03two");
    /// # Ok::<(), tightwire::bytes::ByteError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ByteError::Outside`] if fewer than `len` bytes are written.
    #[inline]
    pub fn truncate(&mut self, len: usize) -> Result<(), ByteError> {
        self.seek(len)?;
        self.len = len;
        self.forget(|unfilled| unfilled.end > len);
        Ok(())
    }

    /// Removes everything, so that the buffer can be used for the next packet.
    ///
    /// ```
    /// use tightwire::bytes::ByteWriter;
    ///
    /// let mut writer = ByteWriter::new([0; 8]);
    /// writer.write(7u8)?;
    /// writer.clear();
    /// assert!(writer.is_empty());
    /// # Ok::<(), tightwire::bytes::ByteError>(())
    /// ```
    #[inline]
    pub fn clear(&mut self) {
        (self.position, self.len) = (0, 0);
        self.unfilled = [None; MAX_UNFILLED];
    }

    /// Writes a primitive number. Its type decides the size: use `write(5u16)`, since a plain 5
    /// takes four bytes.
    ///
    /// # Errors
    ///
    /// [`ByteError::Full`] if there is no room.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn write<P: Primitive>(&mut self, value: P) -> Result<(), ByteError> {
        self.write_pod(&value.to_image())
    }

    /// Writes bytes.
    ///
    /// # Errors
    ///
    /// [`ByteError::Full`] if there is no room.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), ByteError> {
        self.write_pod(bytes)
    }

    /// Writes the memory image of a plain struct, or of a slice of plain structs, in one copy and
    /// without a length: see [`Pod`].
    ///
    /// # Errors
    ///
    /// [`ByteError::Full`] if there is no room.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn write_pod<T: Pod + ?Sized>(&mut self, value: &T) -> Result<(), ByteError> {
        self.reserve(size_of_val(value), |block| block.write_pod(value))
    }

    /// Checks that there is room for `length` bytes, and lets `write` fill them without further
    /// checks. Bytes that `write` leaves are not written.
    ///
    /// ```
    /// use tightwire::bytes::{ByteError, ByteWriter};
    ///
    /// let mut writer = ByteWriter::new([0; 16]);
    /// writer.reserve(11, |block| {
    ///     block.write(7u8);
    ///     block.write(1.5f32);
    ///     block.write(0x1234u16);
    /// })?;
    /// assert_eq!(writer.len(), 7);
    /// let overrun = writer.reserve(3, |block| block.write(1u32));
    /// assert_eq!(overrun, Err(ByteError::Overrun { byte: 7, reserved: 3 }));
    /// assert_eq!(writer.finish()?, [7, 0, 0, 0xc0, 0x3f, 0x34, 0x12]);
    /// # Ok::<(), ByteError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ByteError::Full`] if there is no room, and then `write` is not called;
    /// [`ByteError::Overrun`] if `write` went beyond the block. Nothing is written then, but if the
    /// position was before the end, the bytes of the block may have changed.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn reserve<R>(
        &mut self,
        length: usize,
        write: impl FnOnce(&mut WriteBlock<'_>) -> R,
    ) -> Result<R, ByteError> {
        let start = self.position;
        let mut block = WriteBlock::new(self.room(length)?);
        let result = write(&mut block);
        let left = block.finish(start, length)?;
        self.advance(length - left);
        Ok(result)
    }

    /// The next `length` bytes of the buffer, with any contents.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn room(&mut self, length: usize) -> Result<&mut [u8], ByteError> {
        let start = self.position;
        let full = ByteError::Full { byte: start, needed: length };
        let end = start.checked_add(length).ok_or(full)?;
        if end > self.buffer.as_slice().len() && !self.buffer.grow_to(end) {
            return Err(full);
        }
        self.buffer.as_mut_slice().get_mut(start..end).ok_or(full)
    }

    /// Counts the next `length` bytes as written.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn advance(&mut self, length: usize) {
        self.position += length;
        self.len = self.len.max(self.position);
    }

    /// Returns the position, if it is the end.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn end(&self) -> Result<usize, ByteError> {
        match self.position == self.len {
            true => Ok(self.len),
            false => Err(ByteError::NotAtEnd { byte: self.position, len: self.len }),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn forget(&mut self, which: impl Fn(&Unfilled) -> bool) {
        for slot in &mut self.unfilled {
            *slot = slot.filter(|unfilled| !which(unfilled));
        }
    }
}

impl<B: Buffer> fmt::Debug for ByteWriter<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByteWriter")
            .field("position", &self.position)
            .field("len", &self.len)
            .field("capacity", &self.capacity())
            .field("unfilled", &self.unfilled)
            .finish()
    }
}
