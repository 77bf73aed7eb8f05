//! One bounds check for many operations.
//!
//! A block is a closure: its result is dropped if it read beyond the end, so that no made-up value
//! escapes.

use core::mem::take;

use super::{ByteError, Primitive};
use crate::stream::{ErrorKind, Pod};

/// Space that [`ByteWriter::reserve`](crate::bytes::ByteWriter::reserve) has checked: writes into
/// it cannot fail on the way.
///
/// Where the length of the block and its contents are known at compile time, only the stores are
/// left. A write beyond the end of the block writes nothing, and the whole block is refused.
///
/// ```
/// use tightwire::bytes::{ByteWriter, WriteBlock};
///
/// // The caller has checked for six bytes.
/// fn write_header(block: &mut WriteBlock<'_>, kind: u8, tick: u32) {
///     block.write(kind);
///     block.write(tick);
///     block.write_bytes(b"!");
/// }
///
/// let mut writer = ByteWriter::new([0; 16]);
/// writer.reserve(6, |block| write_header(block, 7, 0x0102))?;
/// assert_eq!(writer.finish()?, [7, 2, 1, 0, 0, b'!']);
/// # Ok::<(), tightwire::bytes::ByteError>(())
/// ```
#[derive(Debug)]
pub struct WriteBlock<'w> {
    rest: &'w mut [u8],
    has_overrun: bool,
}

impl<'w> WriteBlock<'w> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn new(room: &'w mut [u8]) -> Self {
        Self { rest: room, has_overrun: false }
    }

    /// Number of bytes that are not written yet.
    #[must_use]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Writes a primitive number.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn write<P: Primitive>(&mut self, value: P) {
        self.write_pod(&value.to_image());
    }

    /// Writes bytes.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn write_bytes(&mut self, bytes: &[u8]) {
        self.write_pod(bytes);
    }

    /// Writes the memory image of a plain struct, or of a slice of plain structs.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn write_pod<T: Pod + ?Sized>(&mut self, value: &T) {
        // An overrun leaves no space, so that everything after it is an overrun too.
        let Some((room, rest)) = take(&mut self.rest).split_at_mut_checked(size_of_val(value))
        else {
            self.has_overrun = true;
            return;
        };
        self.has_overrun |= value.write_to(room).is_err();
        self.rest = rest;
    }

    /// Returns the number of bytes that were not written.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn finish(self, byte: usize, reserved: usize) -> Result<usize, ByteError> {
        match self.has_overrun {
            true => Err(ByteError::Overrun { byte, reserved }),
            false => Ok(self.rest.len()),
        }
    }
}

/// Bytes that [`ByteReader::require`](crate::bytes::ByteReader::require) has checked: reads from it
/// cannot fail on the way.
///
/// A read beyond the end of the block gives zeros, and the whole block is refused, so that the
/// zeros do not escape.
///
/// ```
/// use tightwire::bytes::{ByteReader, ReadBlock};
///
/// // The caller has checked for five bytes.
/// fn read_header(block: &mut ReadBlock<'_>) -> (u8, u32) {
///     (block.read(), block.read())
/// }
///
/// let mut reader = ByteReader::new(&[7, 2, 1, 0, 0]);
/// assert_eq!(reader.require(5, read_header)?, (7, 0x0102));
/// # Ok::<(), tightwire::bytes::ByteError>(())
/// ```
#[derive(Debug)]
pub struct ReadBlock<'a> {
    rest: &'a [u8],
    has_overrun: bool,
    is_refused: bool,
}

impl<'a> ReadBlock<'a> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self { rest: data, has_overrun: false, is_refused: false }
    }

    /// Number of bytes that are not read yet.
    #[must_use]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Reads a primitive number. A `bool` that is neither 0 nor 1 refuses the block.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn read<P: Primitive>(&mut self) -> P {
        let (value, is_one) = P::from_image(self.read_pod());
        self.is_refused |= !is_one;
        value
    }

    /// Returns the next `length` bytes without copying them.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn read_bytes(&mut self, length: usize) -> &'a [u8] {
        let (bytes, rest) = match take(&mut self.rest).split_at_checked(length) {
            Some(parts) => parts,
            None => {
                self.has_overrun = true;
                Default::default()
            }
        };
        self.rest = rest;
        bytes
    }

    /// Reads a plain struct from its memory image.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn read_pod<T: Pod>(&mut self) -> T {
        let image = self.read_bytes(size_of::<T>());
        T::read_from_bytes(image).unwrap_or_else(|_| T::new_zeroed())
    }

    /// Returns the number of bytes that were not read.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn finish(self, byte: usize, reserved: usize) -> Result<usize, ByteError> {
        if self.has_overrun {
            return Err(ByteError::Overrun { byte, reserved });
        }
        match self.is_refused {
            true => Err(ByteError::value(ErrorKind::OutOfRange, byte)),
            false => Ok(self.rest.len()),
        }
    }
}
