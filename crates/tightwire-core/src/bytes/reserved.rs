//! Space that is reserved first and filled later.
//!
//! Reserved space has a number that is unique in the process, and the writer keeps a list of
//! unfilled spaces: a handle of another writer, or of a space that was cut off, is refused.

use core::sync::atomic::{AtomicUsize, Ordering};

use super::{Buffer, ByteError, ByteWriter};
use crate::stream::Pod;

/// Space in a buffer that [`ByteWriter::set_aside`] reserved, and [`ByteWriter::fill`] fills.
///
/// A handle can be used once, with the writer that made it, while the space is not cut off; any
/// other use is refused.
///
/// ```
/// use tightwire::bytes::{ByteError, ByteWriter};
///
/// let (mut one, mut other) = (ByteWriter::new([0; 8]), ByteWriter::new([0; 8]));
/// let space = one.set_aside(2)?;
/// let same_place = other.set_aside(2)?;
/// assert_eq!(other.fill(space, &[1u8, 2]), Err(ByteError::Stale));
/// assert_eq!(other.fill(same_place, &[1u8, 2]), Ok(()));
/// # Ok::<(), ByteError>(())
/// ```
#[derive(PartialEq, Eq, Debug)]
#[must_use = "space that is not filled makes `finish` refuse"]
pub struct Reserved {
    /// Number that is unique in this process.
    serial: usize,
}

impl<B: Buffer> ByteWriter<B> {
    /// Reserves `length` bytes at the end, which are zeros until [`fill`](Self::fill) fills them:
    /// for a header that contains the length of its body.
    ///
    /// Up to four spaces can be unfilled at a time, one for each level of nested headers.
    ///
    /// ```
    /// use tightwire::bytes::{ByteError, ByteWriter};
    ///
    /// let mut writer = ByteWriter::new([0; 64]);
    /// let header = writer.set_aside(3)?;
    /// writer.write_str("hello", 31)?;
    /// assert_eq!(writer.finish(), Err(ByteError::Unfilled { byte: 0 }));
    ///
    /// let size = writer.len() as u16 - 3;
    /// writer.fill(header, &[7, size as u8, (size >> 8) as u8])?;
    /// assert_eq!(writer.finish()?, [7, 6, 0, 5, b'h', b'e', b'l', b'l', b'o']);
    /// # Ok::<(), ByteError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ByteError::Full`], [`ByteError::TooManyReserved`], or [`ByteError::NotAtEnd`] after a
    /// seek.
    pub fn set_aside(&mut self, length: usize) -> Result<Reserved, ByteError> {
        let start = self.end()?;
        let Some(slot) = self.unfilled.iter().position(Option::is_none) else {
            return Err(ByteError::TooManyReserved { byte: start });
        };
        self.room(length)?.fill(0);
        self.advance(length);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        self.unfilled[slot] = Some(Unfilled { start, end: start + length, serial });
        Ok(Reserved { serial })
    }

    /// Fills a reserved space completely; the position stays.
    ///
    /// # Errors
    ///
    /// [`ByteError::Stale`] if the space belongs to another writer, or no longer exists;
    /// [`ByteError::WrongLength`] if the value has another length.
    pub fn fill<T: Pod + ?Sized>(&mut self, space: Reserved, value: &T) -> Result<(), ByteError> {
        let is_it = |unfilled: &&Unfilled| unfilled.serial == space.serial;
        let unfilled = self.unfilled.iter().flatten().find(is_it);
        let &Unfilled { start, end, .. } = unfilled.ok_or(ByteError::Stale)?;
        let wrong = ByteError::WrongLength { reserved: end - start, given: size_of_val(value) };
        let room = self.buffer.as_mut_slice().get_mut(start..end).ok_or(ByteError::Stale)?;
        value.write_to(room).map_err(|_| wrong)?;
        self.forget(|unfilled| unfilled.serial == space.serial);
        Ok(())
    }
}

/// A reserved space that is not filled yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unfilled {
    pub(super) start: usize,
    pub(super) end: usize,
    serial: usize,
}

/// Largest number of unfilled spaces: a batch, its message, and headers nested in it.
pub(super) const MAX_UNFILLED: usize = 4;

/// Number of the next reserved space in the process. Positions and lengths are the same in each
/// packet, so that only a unique number tells whose space a handle belongs to.
static SERIAL: AtomicUsize = AtomicUsize::new(0);
