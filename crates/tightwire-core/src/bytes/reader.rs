//! Reading whole bytes.

use core::fmt;

use super::{ByteError, Primitive, ReadBlock};
use crate::stream::{ErrorKind, Pod};

/// Reads whole bytes from the data that arrived, in the order in which a
/// [`ByteWriter`](crate::bytes::ByteWriter) wrote them.
///
/// Every operation has its own bounds check, in every build, and a refused operation consumes
/// nothing; [`require`](Self::require) checks once for a block of operations. Bytes and text are
/// borrowed from the data, and nothing is allocated.
///
/// Method grammar: nouns are getters, verbs read.
///
/// ```
/// use tightwire::bytes::{ByteError, ByteReader};
///
/// let mut reader = ByteReader::new(&[7, 0x34, 0x12, 0x03, b'A', b'd', b'a']);
/// assert_eq!(reader.read::<u8>()?, 7);
/// assert_eq!(reader.read::<u16>()?, 0x1234);
/// assert_eq!(reader.finish(), Err(ByteError::TrailingData { byte: 3 }));
/// assert_eq!(reader.read_str(31)?, "Ada");
/// reader.finish()?;
/// # Ok::<(), ByteError>(())
/// ```
#[derive(Clone, Copy)]
pub struct ByteReader<'a> {
    pub(super) data: &'a [u8],
    /// At most the length of the data.
    position: usize,
}

impl<'a> ByteReader<'a> {
    /// Creates a reader at the first byte of `data`.
    #[must_use]
    #[inline]
    pub fn new(data: &'a [u8]) -> Self {
        Self { data, position: 0 }
    }

    /// Index of the next byte to read.
    #[must_use]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn position(&self) -> usize {
        self.position
    }

    /// Number of bytes left.
    #[must_use]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn remaining(&self) -> usize {
        self.data.len() - self.position
    }

    /// Ends the data: all of it must have been read.
    ///
    /// # Errors
    ///
    /// [`ByteError::TrailingData`] if bytes are left.
    #[inline]
    pub fn finish(&self) -> Result<(), ByteError> {
        match self.remaining() {
            0 => Ok(()),
            _ => Err(ByteError::TrailingData { byte: self.position }),
        }
    }

    /// Moves to any byte of the data, or to its end.
    ///
    /// ```
    /// use tightwire::bytes::{ByteError, ByteReader};
    ///
    /// let mut reader = ByteReader::new(&[1, 2, 3]);
    /// reader.seek(2)?;
    /// assert_eq!(reader.read::<u8>()?, 3);
    /// assert_eq!(reader.seek(4), Err(ByteError::Outside { byte: 4, len: 3 }));
    /// # Ok::<(), ByteError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ByteError::Outside`] for a byte beyond the end.
    #[inline]
    pub fn seek(&mut self, byte: usize) -> Result<(), ByteError> {
        if byte > self.data.len() {
            return Err(ByteError::Outside { byte, len: self.data.len() });
        }
        self.position = byte;
        Ok(())
    }

    /// Cuts the data to `len` bytes, so that a part is not read beyond its own end.
    ///
    /// ```
    /// use tightwire::bytes::{ByteError, ByteReader};
    ///
    /// let mut reader = ByteReader::new(&[1, 2, 3]);
    /// reader.truncate(1)?;
    /// assert_eq!(reader.read::<u16>(), Err(ByteError::UnexpectedEnd { byte: 0, needed: 2 }));
    /// # Ok::<(), ByteError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ByteError::Outside`] if the data is shorter, or more bytes are already read.
    #[inline]
    pub fn truncate(&mut self, len: usize) -> Result<(), ByteError> {
        let outside = ByteError::Outside { byte: len, len: self.data.len() };
        let data = self.data.get(..len).filter(|data| self.position <= data.len());
        self.data = data.ok_or(outside)?;
        Ok(())
    }

    /// Reads a primitive number.
    ///
    /// # Errors
    ///
    /// [`ByteError::UnexpectedEnd`], or [`ErrorKind::OutOfRange`] for a `bool` that is neither 0
    /// nor 1.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn read<P: Primitive>(&mut self) -> Result<P, ByteError> {
        self.require(size_of::<P::Image>(), ReadBlock::read)
    }

    /// Returns the next `length` bytes without copying them.
    ///
    /// # Errors
    ///
    /// [`ByteError::UnexpectedEnd`] if fewer are left.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn read_bytes(&mut self, length: usize) -> Result<&'a [u8], ByteError> {
        self.require(length, |block| block.read_bytes(length))
    }

    /// Reads a plain struct from its memory image: see [`Pod`].
    ///
    /// # Errors
    ///
    /// [`ByteError::UnexpectedEnd`] if fewer bytes are left.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn read_pod<T: Pod>(&mut self) -> Result<T, ByteError> {
        self.require(size_of::<T>(), ReadBlock::read_pod)
    }

    /// Like [`read_pod`](Self::read_pod), into an existing struct, or into a slice of structs.
    ///
    /// ```
    /// use tightwire::bytes::ByteReader;
    ///
    /// let mut pair = [0u16; 2];
    /// ByteReader::new(&[1, 0, 2, 0]).read_pod_into(&mut pair[..])?;
    /// assert_eq!(pair, [1, 2]);
    /// # Ok::<(), tightwire::bytes::ByteError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ByteError::UnexpectedEnd`] if fewer bytes are left.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn read_pod_into<T: Pod + ?Sized>(&mut self, value: &mut T) -> Result<(), ByteError> {
        let image = self.read_bytes(size_of_val(value))?;
        value.as_mut_bytes().copy_from_slice(image);
        Ok(())
    }

    /// Checks that `length` bytes are left, and lets `read` take them without further checks. Bytes
    /// that `read` leaves are read next.
    ///
    /// ```
    /// use tightwire::bytes::{ByteError, ByteReader};
    ///
    /// let mut reader = ByteReader::new(&[7, 0x34, 0x12, 1]);
    /// let header = reader.require(3, |block| (block.read::<u8>(), block.read::<u16>()))?;
    /// assert_eq!(header, (7, 0x1234));
    /// let overrun = reader.require(1, |block| block.read::<u16>());
    /// assert_eq!(overrun, Err(ByteError::Overrun { byte: 3, reserved: 1 }));
    /// # Ok::<(), ByteError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ByteError::UnexpectedEnd`] if fewer bytes are left, and then `read` is not called;
    /// [`ByteError::Overrun`] if `read` went beyond the block, and [`ErrorKind::OutOfRange`] if it
    /// read an invalid `bool`: its result is then dropped.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn require<R>(
        &mut self,
        length: usize,
        read: impl FnOnce(&mut ReadBlock<'a>) -> R,
    ) -> Result<R, ByteError> {
        let data = self.data.get(self.position..).and_then(|rest| rest.get(..length));
        let end = ByteError::UnexpectedEnd { byte: self.position, needed: length };
        let mut block = ReadBlock::new(data.ok_or(end)?);
        let result = read(&mut block);
        let left = block.finish(self.position, length)?;
        // More bytes can be left than before only if the closure replaced the block by a longer
        // one.
        let overrun = ByteError::Overrun { byte: self.position, reserved: length };
        self.position += length.checked_sub(left).ok_or(overrun)?;
        Ok(result)
    }

    /// The bytes that are left.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.data.get(self.position..).unwrap_or_default()
    }

    /// Refuses a value that begins at `byte`, and moves back there.
    #[cold]
    pub(super) fn refuse<R>(&mut self, kind: ErrorKind, byte: usize) -> Result<R, ByteError> {
        self.position = byte;
        Err(ByteError::value(kind, byte))
    }
}

impl fmt::Debug for ByteReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByteReader")
            .field("position", &self.position)
            .field("len", &self.data.len())
            .finish()
    }
}
