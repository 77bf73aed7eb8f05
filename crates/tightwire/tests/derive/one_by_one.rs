//! A stream on which nothing is merged.

use tightwire::stream::{ErrorKind, RawStream};

/// Gives every field to the stream by itself, as a function by hand means it: also those of tuples
/// and arrays, which merge theirs.
#[derive(Clone, Debug)]
pub(crate) struct OneByOne<S>(pub(crate) S);

impl<S: RawStream> RawStream for OneByOne<S> {
    type Error = S::Error;
    type Access = S::Access;
    const MERGES: bool = false;

    fn position(&self) -> u64 {
        self.0.position()
    }

    fn remaining(&self) -> u64 {
        self.0.remaining()
    }

    fn failure(&self) -> Option<(ErrorKind, u64)> {
        self.0.failure()
    }

    fn has_checks(&self) -> bool {
        self.0.has_checks()
    }

    fn raw_bits(&mut self, value: &mut u64, width: u32) -> Result<(), S::Error> {
        self.0.raw_bits(value, width)
    }

    fn raw_unary(&mut self, zeros: &mut u32, limit: u32) -> Result<(), S::Error> {
        self.0.raw_unary(zeros, limit)
    }

    fn raw_align(&mut self) -> Result<(), S::Error> {
        self.0.raw_align()
    }

    fn raw_bytes<'s>(&'s mut self, source: &'s [u8], length: usize) -> Result<&'s [u8], S::Error> {
        self.0.raw_bytes(source, length)
    }

    fn refuse_at(&mut self, kind: ErrorKind, bit: u64) -> Result<(), S::Error> {
        self.0.refuse_at(kind, bit)
    }
}
