//! What a writer writes into.

use alloc::vec::Vec;
use core::fmt;

/// Where a [`ByteWriter`](crate::bytes::ByteWriter) puts its bytes: an array, a slice, or a
/// [`GrowingBuffer`]; each by value, or by `&mut` if it should outlive the writer.
///
/// ```
/// use tightwire::bytes::{Buffer, ByteError, ByteWriter};
///
/// fn write_magic(writer: &mut ByteWriter<impl Buffer>) -> Result<(), ByteError> {
///     writer.write(0x1234u16)
/// }
///
/// let mut memory = vec![0; 100];
/// let mut writer = ByteWriter::new(&mut memory[50..]);
/// write_magic(&mut writer)?;
/// assert_eq!((writer.len(), writer.capacity()), (2, 50));
/// assert_eq!(memory[50..52], [0x34, 0x12]);
/// # Ok::<(), ByteError>(())
/// ```
pub trait Buffer: sealed::Sealed {
    /// All of it, written or not.
    #[doc(hidden)]
    fn as_slice(&self) -> &[u8];

    /// All of it, written or not.
    #[doc(hidden)]
    fn as_mut_slice(&mut self) -> &mut [u8];

    /// Makes room for `len` bytes in all, keeping those that are there; `false` if that is too much.
    #[doc(hidden)]
    fn grow_to(&mut self, len: usize) -> bool;
}

mod sealed {
    pub trait Sealed {}
}

impl sealed::Sealed for [u8] {}
impl Buffer for [u8] {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn as_slice(&self) -> &[u8] {
        self
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn as_mut_slice(&mut self) -> &mut [u8] {
        self
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn grow_to(&mut self, len: usize) -> bool {
        len <= self.len()
    }
}

impl<const N: usize> sealed::Sealed for [u8; N] {}
impl<const N: usize> Buffer for [u8; N] {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn as_slice(&self) -> &[u8] {
        self
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn as_mut_slice(&mut self) -> &mut [u8] {
        self
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn grow_to(&mut self, len: usize) -> bool {
        len <= N
    }
}

impl<B: Buffer + ?Sized> sealed::Sealed for &mut B {}
impl<B: Buffer + ?Sized> Buffer for &mut B {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn as_slice(&self) -> &[u8] {
        (**self).as_slice()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn as_mut_slice(&mut self) -> &mut [u8] {
        (**self).as_mut_slice()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn grow_to(&mut self, len: usize) -> bool {
        (**self).grow_to(len)
    }
}

/// Memory that grows when a writer needs more, up to a maximum: each time it doubles until it is
/// enough, or has reached the maximum. What needs more than that is refused, and what was written
/// stays.
///
/// Nothing is given back before the end: a buffer that is kept from packet to packet stops
/// allocating.
///
/// ```
/// use tightwire::bytes::{ByteError, ByteWriter, GrowingBuffer};
///
/// let mut buffer = GrowingBuffer::new(16, 100);
/// let mut writer = ByteWriter::new(&mut buffer);
/// writer.write_bytes(&[7; 40])?;
/// assert_eq!(writer.capacity(), 64);
/// writer.write_bytes(&[8; 30])?;
/// assert_eq!(writer.capacity(), 100);
/// let refused = ByteError::Full { byte: 70, needed: 31 };
/// assert_eq!(writer.write_bytes(&[9; 31]), Err(refused));
/// assert_eq!(writer.finish()?.len(), 70);
/// # Ok::<(), ByteError>(())
/// ```
#[derive(Clone)]
pub struct GrowingBuffer {
    bytes: Vec<u8>,
    max: usize,
}

impl GrowingBuffer {
    /// Takes `capacity` bytes of memory now, and at most `max` later.
    #[must_use]
    pub fn new(capacity: usize, max: usize) -> Self {
        let mut buffer = Self { bytes: Vec::new(), max };
        // Memory that is not to be had now is refused when it is needed.
        buffer.set_capacity(capacity.min(max));
        buffer
    }

    /// The bytes that it holds without growing.
    #[must_use]
    #[inline]
    pub fn capacity(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes that it holds at most.
    #[must_use]
    #[inline]
    pub fn max(&self) -> usize {
        self.max
    }

    fn set_capacity(&mut self, capacity: usize) -> bool {
        let more = capacity.saturating_sub(self.bytes.len());
        let is_there = self.bytes.try_reserve_exact(more).is_ok();
        if is_there {
            self.bytes.resize(capacity, 0);
        }
        is_there
    }
}

impl sealed::Sealed for GrowingBuffer {}
impl Buffer for GrowingBuffer {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    #[cold]
    fn grow_to(&mut self, len: usize) -> bool {
        if len > self.max {
            return false;
        }
        let mut capacity = self.bytes.len().max(1);
        while capacity < len {
            capacity = capacity.saturating_mul(2);
        }
        len <= self.bytes.len() || self.set_capacity(capacity.min(self.max))
    }
}

impl fmt::Debug for GrowingBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrowingBuffer")
            .field("capacity", &self.capacity())
            .field("max", &self.max)
            .finish()
    }
}
