//! Buffers of a writer.

use alloc::vec::Vec;
use core::fmt;

/// Memory that a [`ByteWriter`](crate::bytes::ByteWriter) writes into: an array, a slice, or a
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
    /// The whole buffer, written or not.
    #[doc(hidden)]
    fn as_slice(&self) -> &[u8];

    /// The whole buffer, written or not.
    #[doc(hidden)]
    fn as_mut_slice(&mut self) -> &mut [u8];

    /// Grows to `len` bytes and keeps the contents; returns `false` if that is not possible.
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

/// Memory that grows when a writer needs more, up to a maximum. Its capacity doubles until it is
/// enough or has reached the maximum. A write that needs more than the maximum is refused, and the
/// bytes written before stay.
///
/// No memory is freed before the buffer is dropped: a buffer that is kept from packet to packet
/// stops allocating.
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
    /// Allocates `capacity` bytes now, and at most `max` later.
    #[must_use]
    pub fn new(capacity: usize, max: usize) -> Self {
        let mut buffer = Self { bytes: Vec::new(), max };
        // If memory cannot be allocated now, the write that needs it is refused.
        buffer.set_capacity(capacity.min(max));
        buffer
    }

    /// Number of bytes that the buffer holds without growing.
    #[must_use]
    #[inline]
    pub fn capacity(&self) -> usize {
        self.bytes.len()
    }

    /// Largest capacity in bytes.
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
