//! The stream that only counts bits.

use core::convert::Infallible;

use super::{ErrorKind, RawStream, Shared};

/// Measures the most bits that a value takes at any position in a packet: exact widths, and seven
/// bits for each alignment.
///
/// ```
/// use tightwire::Stream;
/// use tightwire::stream::MeasureStream;
///
/// let bits = MeasureStream::bits_of(|stream| {
///     stream.int(&mut 77u8, 0..=100)?;
///     stream.string(&mut "hello".into(), 15)
/// });
/// assert_eq!(bits, 7 + 4 + 7 + 5 * 8);
/// ```
#[derive(Clone, Debug, Default)]
pub struct MeasureStream {
    bits: u64,
    /// First value that a writer would refuse, and the bit where it begins; `None` if there is
    /// none.
    refused: Option<(ErrorKind, u64)>,
}

impl MeasureStream {
    /// Creates a stream that has counted no bits.
    #[must_use]
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the most bits that `serialize` takes.
    #[must_use]
    #[inline]
    pub fn bits_of(serialize: impl FnOnce(&mut Self) -> Result<(), Infallible>) -> u64 {
        let mut stream = Self::new();
        let Ok(()) = serialize(&mut stream);
        stream.bits
    }

    /// Number of bits so far.
    #[must_use]
    #[inline]
    pub fn bits(&self) -> u64 {
        self.bits
    }

    /// Number of whole bytes that hold the bits so far.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bits.div_ceil(8) as usize
    }
}

impl RawStream for MeasureStream {
    type Error = Infallible;
    type Access = Shared;
    const TRACES: bool = false;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_bits(&mut self, value: &mut u64, width: u32) -> Result<(), Infallible> {
        let bit = self.bits;
        self.bits += u64::from(width);
        match *value > u64::MAX.unbounded_shr(u64::BITS.saturating_sub(width)) {
            true => self.refuse_at(ErrorKind::OutOfRange, bit),
            false => Ok(()),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_fitting(&mut self, _: &mut u64, width: u32) -> Result<(), Infallible> {
        self.bits += u64::from(width);
        Ok(())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_unary(&mut self, zeros: &mut u32, limit: u32) -> Result<(), Infallible> {
        if *zeros > limit {
            self.refuse_at(ErrorKind::OutOfRange, self.bits)?;
        }
        self.bits += u64::from(*zeros) + u64::from(*zeros < limit);
        Ok(())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_align(&mut self) -> Result<(), Infallible> {
        self.bits += 7;
        Ok(())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn raw_bytes<'s>(&'s mut self, source: &'s [u8], _: usize) -> Result<&'s [u8], Infallible> {
        self.bits += 7 + source.len() as u64 * 8;
        Ok(source)
    }

    /// A refused value has no size; the bits counted so far stay.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn refuse_at(&mut self, kind: ErrorKind, bit: u64) -> Result<(), Infallible> {
        self.refused.get_or_insert((kind, bit));
        Ok(())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn position(&self) -> u64 {
        self.bits
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn failure(&self) -> Option<(ErrorKind, u64)> {
        self.refused
    }
}
