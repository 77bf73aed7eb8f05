//! Reading whole bytes.

use core::fmt;

use super::{ByteError, Primitive, ReadBlock};
use crate::stream::{ErrorKind, Pod};

/// Reads whole bytes from exactly the data that arrived: what a [`ByteWriter`](crate::bytes::ByteWriter)
/// wrote, in the same order.
///
/// Every operation checks by itself, in every build, and one that is refused takes nothing;
/// [`require`](Self::require) checks once for a block of them. Bytes and text are borrowed from the
/// data, and nothing is allocated.
///
/// Nouns are getters, verbs read.
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
    /// Starts at the first byte of `data`.
    #[must_use]
    #[inline]
    pub fn new(data: &'a [u8]) -> Self {
        Self { data, position: 0 }
    }

    /// The byte that is read next.
    #[must_use]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn position(&self) -> usize {
        self.position
    }

    /// The bytes that are left.
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

    /// Goes to any byte of the data, or to its end.
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

    /// The data ends at byte `len` from now on: a part must not be read beyond its own end.
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
    /// [`ByteError::Outside`] if there are fewer bytes, or more are read already.
    #[inline]
    pub fn truncate(&mut self, len: usize) -> Result<(), ByteError> {
        let outside = ByteError::Outside { byte: len, len: self.data.len() };
        let data = self.data.get(..len).filter(|data| self.position <= data.len());
        self.data = data.ok_or(outside)?;
        Ok(())
    }

    /// A primitive number.
    ///
    /// # Errors
    ///
    /// [`ByteError::UnexpectedEnd`], or for a `bool` that is neither 0 nor 1
    /// [`ErrorKind::OutOfRange`].
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn read<P: Primitive>(&mut self) -> Result<P, ByteError> {
        self.require(size_of::<P::Image>(), ReadBlock::read)
    }

    /// The next `length` bytes, as they stand in the data.
    ///
    /// # Errors
    ///
    /// [`ByteError::UnexpectedEnd`] if fewer are left.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn read_bytes(&mut self, length: usize) -> Result<&'a [u8], ByteError> {
        self.require(length, |block| block.read_bytes(length))
    }

    /// The plain struct with this memory image. See [`Pod`] for what is plain.
    ///
    /// # Errors
    ///
    /// [`ByteError::UnexpectedEnd`] if fewer bytes are left.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn read_pod<T: Pod>(&mut self) -> Result<T, ByteError> {
        self.require(size_of::<T>(), ReadBlock::read_pod)
    }

    /// As [`read_pod`](Self::read_pod), into a struct that is there already, or into a slice of them.
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

    /// Makes sure of `length` bytes, and lets `read` take them without further checks. What it leaves
    /// is read next.
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
    /// [`ByteError::UnexpectedEnd`] if there are fewer, and then `read` is not called;
    /// [`ByteError::Overrun`] if it went beyond, and [`ErrorKind::OutOfRange`] if it read a `bool` that
    /// is none: what it returned is dropped.
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
        // More can be left in a block only if it was exchanged for a longer one.
        let overrun = ByteError::Overrun { byte: self.position, reserved: length };
        self.position += length.checked_sub(left).ok_or(overrun)?;
        Ok(result)
    }

    /// What is left.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.data.get(self.position..).unwrap_or_default()
    }

    /// A value that begins at `byte` is refused: the reader goes back there.
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
