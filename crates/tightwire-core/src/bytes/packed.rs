//! Values with their own length: packed integers, text, slices.

use alloc::vec::Vec;

use zerocopy::IntoBytes;

use super::{Buffer, ByteError, ByteReader, ByteWriter};
use crate::stream::{ErrorKind, Int, Pod, ReadStream, Stream, WriteStream};

/// Largest size of a packed integer in bytes: 128 bits in groups of seven.
const MAX_GROUPS: usize = 19;

impl<B: Buffer> ByteWriter<B> {
    /// Writes an integer that is usually small, in one byte for every 7 bits of the number: the
    /// same bytes as [`Stream::varint`].
    ///
    /// | bytes | unsigned, below | signed, from | and below |
    /// |---|---|---|---|
    /// | 1 | 2^7 | −2^6 | 2^6 |
    /// | 2 | 2^14 | −2^13 | 2^13 |
    /// | 3 | 2^21 | −2^20 | 2^20 |
    /// | 4 | 2^28 | −2^27 | 2^27 |
    /// | 5 | 2^35 | −2^34 | 2^34 |
    /// | n | 2^7n | −2^(7n − 1) | 2^(7n − 1) |
    ///
    /// A `u8` or `i8` takes at most 2 bytes, 16 bits 3, 32 bits 5, 64 bits 10 and 128 bits 19.
    ///
    /// ```
    /// use tightwire::bytes::ByteWriter;
    ///
    /// let mut writer = ByteWriter::new([0; 16]);
    /// writer.write_varint(127u64)?;
    /// assert_eq!(writer.len(), 1);
    /// writer.write_varint(128u64)?;
    /// assert_eq!(writer.len(), 1 + 2);
    /// writer.write_varint(-64i32)?;
    /// assert_eq!(writer.finish()?, [0x7f, 0x80, 0x01, 0x7f]);
    /// # Ok::<(), tightwire::bytes::ByteError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ByteError::Full`] if there is no room.
    #[inline]
    pub fn write_varint<T: Int>(&mut self, value: T) -> Result<(), ByteError> {
        self.write_with_varint(value, &[])
    }

    /// Writes text of up to `max_len` bytes of UTF-8, without NUL characters: its length as a
    /// varint, then the bytes.
    ///
    /// # Errors
    ///
    /// [`ByteError::Full`], [`ErrorKind::OutOfRange`] if the text is longer, or
    /// [`ErrorKind::InteriorNul`].
    #[inline]
    pub fn write_str(&mut self, text: &str, max_len: usize) -> Result<(), ByteError> {
        if text.as_bytes().contains(&0) {
            return Err(ByteError::value(ErrorKind::InteriorNul, self.position()));
        }
        self.write_slice(text.as_bytes(), max_len)
    }

    /// Writes up to `max_len` plain structs or numbers: their number as a varint, then their memory
    /// images in one copy.
    ///
    /// ```
    /// use tightwire::bytes::{ByteReader, ByteWriter};
    ///
    /// let mut writer = ByteWriter::new([0; 16]);
    /// writer.write_slice(&[1u16, 2, 3], 100)?;
    /// let packet = writer.finish()?;
    /// assert_eq!(packet, [3, 1, 0, 2, 0, 3, 0]);
    ///
    /// let mut scores = Vec::<u16>::new();
    /// ByteReader::new(packet).read_slice(&mut scores, 100)?;
    /// assert_eq!(scores, [1, 2, 3]);
    /// # Ok::<(), tightwire::bytes::ByteError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ByteError::Full`], or [`ErrorKind::OutOfRange`] if there are more than `max_len`.
    #[inline]
    pub fn write_slice<T: Pod>(&mut self, items: &[T], max_len: usize) -> Result<(), ByteError> {
        const { assert!(size_of::<T>() > 0, "write_slice: elements without bytes need no sending") };
        if items.len() > max_len {
            return Err(ByteError::value(ErrorKind::OutOfRange, self.position()));
        }
        self.write_with_varint(items.len() as u64, items.as_bytes())
    }

    /// Writes a packed integer and the bytes that belong to it: both or nothing.
    #[inline]
    fn write_with_varint<T: Int>(&mut self, number: T, bytes: &[u8]) -> Result<(), ByteError> {
        let mut groups = [0; MAX_GROUPS];
        let mut stream = WriteStream::new(&mut groups);
        let Ok(()) = stream.varint(&mut { number });
        let full = ByteError::Full { byte: self.position(), needed: MAX_GROUPS };
        let packed = stream.finish().map_err(|_| full)?;
        let Some(length) = packed.len().checked_add(bytes.len()) else { return Err(full) };
        self.reserve(length, |block| {
            block.write_bytes(packed);
            block.write_bytes(bytes);
        })
    }
}

impl<'a> ByteReader<'a> {
    /// Reads an integer that was written by [`ByteWriter::write_varint`].
    ///
    /// ```
    /// use tightwire::bytes::ByteReader;
    ///
    /// let mut reader = ByteReader::new(&[0xac, 0x02, 0xc7, 0x01]);
    /// assert_eq!(reader.read_varint::<u16>()?, 300);
    /// assert_eq!(reader.read_varint::<i64>()?, -100);
    /// # Ok::<(), tightwire::bytes::ByteError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ByteError::Refused`], of the kinds [`UnexpectedEnd`](ErrorKind::UnexpectedEnd),
    /// [`OutOfRange`](ErrorKind::OutOfRange) for numbers that the type does not hold, and
    /// [`Overlong`](ErrorKind::Overlong).
    #[inline]
    pub fn read_varint<T: Int>(&mut self) -> Result<T, ByteError> {
        let start = self.position();
        let rest = self.rest();
        let mut stream = ReadStream::new(rest.get(..MAX_GROUPS).unwrap_or(rest));
        let mut value = T::default();
        let result = stream.varint(&mut value);
        result.map_err(|refused| ByteError::read(refused, start))?;
        self.seek(start + (stream.position() / 8) as usize)?;
        Ok(value)
    }

    /// Reads text of up to `max_len` bytes, borrowed from the data.
    ///
    /// ```
    /// use tightwire::bytes::{ByteError, ByteReader};
    /// use tightwire::stream::ErrorKind;
    ///
    /// assert_eq!(ByteReader::new(b"\x03Ada").read_str(31), Ok("Ada"));
    /// let refused = ByteError::Refused { kind: ErrorKind::OutOfRange, bit: 0 };
    /// assert_eq!(ByteReader::new(b"\x03Ada").read_str(2), Err(refused));
    /// ```
    ///
    /// # Errors
    ///
    /// [`ByteError::UnexpectedEnd`], [`ErrorKind::OutOfRange`] if the text is longer,
    /// [`ErrorKind::MalformedText`], [`ErrorKind::InteriorNul`], and the errors of
    /// [`read_varint`](Self::read_varint).
    #[inline]
    pub fn read_str(&mut self, max_len: usize) -> Result<&'a str, ByteError> {
        let start = self.position();
        let bytes = self.read_counted(1, max_len)?;
        match core::str::from_utf8(bytes) {
            Ok(text) if !bytes.contains(&0) => Ok(text),
            Ok(_) => self.refuse(ErrorKind::InteriorNul, start),
            Err(_) => self.refuse(ErrorKind::MalformedText, start),
        }
    }

    /// Reads up to `max_len` plain structs or numbers, and replaces the contents of `items`, whose
    /// memory is kept. Memory for more is allocated only after the data is known to hold them.
    ///
    /// # Errors
    ///
    /// [`ByteError::UnexpectedEnd`], [`ErrorKind::OutOfRange`] if there are more than `max_len`,
    /// and the errors of [`read_varint`](Self::read_varint).
    #[inline]
    pub fn read_slice<T: Pod>(
        &mut self,
        items: &mut Vec<T>,
        max_len: usize,
    ) -> Result<(), ByteError> {
        const { assert!(size_of::<T>() > 0, "read_slice: elements without bytes are paid by nothing") };
        let image = self.read_counted(size_of::<T>(), max_len)?;
        items.resize_with(image.len() / size_of::<T>(), T::new_zeroed);
        items.as_mut_slice().as_mut_bytes().copy_from_slice(image);
        Ok(())
    }

    /// Reads a count and the bytes of up to `max_len` elements of `size` bytes each.
    #[inline]
    fn read_counted(&mut self, size: usize, max_len: usize) -> Result<&'a [u8], ByteError> {
        let start = self.position();
        let count = self.read_varint::<u64>()?;
        let Some(count) = usize::try_from(count).ok().filter(|&count| count <= max_len) else {
            return self.refuse(ErrorKind::OutOfRange, start);
        };
        let bytes = self.read_bytes(count.saturating_mul(size));
        if bytes.is_err() {
            self.seek(start)?;
        }
        bytes
    }
}
