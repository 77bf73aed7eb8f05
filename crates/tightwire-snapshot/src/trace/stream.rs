//! A read stream that records marks in a trace.

use super::marks::{Mark, Marked};
use super::record::SpanRecord;
use tightwire_core::stream::{ErrorKind, RawStream, ReadError, ReadStream, Unique};

/// A read stream over a part of the packet, and the trace in which its marks are recorded.
pub(crate) struct TracedStream<'t, 'p> {
    pub(super) stream: &'t mut ReadStream<'p>,
    pub(super) record: &'t mut SpanRecord,
    /// Bit of the packet at which the stream begins.
    pub(super) start: u64,
}

impl Marked for TracedStream<'_, '_> {
    fn mark(&mut self, mark: Mark<'_>) {
        self.record.mark((self.start + self.stream.position()) as f64, mark);
    }
}

impl RawStream for TracedStream<'_, '_> {
    type Error = ReadError;
    type Access = Unique;
    const TRACES: bool = false;

    fn position(&self) -> u64 {
        self.stream.position()
    }

    fn remaining(&self) -> u64 {
        self.stream.remaining()
    }

    fn failure(&self) -> Option<(ErrorKind, u64)> {
        self.stream.failure()
    }

    fn raw_bits(&mut self, value: &mut u64, width: u32) -> Result<(), ReadError> {
        self.stream.raw_bits(value, width)
    }

    fn raw_unary(&mut self, zeros: &mut u32, limit: u32) -> Result<(), ReadError> {
        self.stream.raw_unary(zeros, limit)
    }

    fn raw_align(&mut self) -> Result<(), ReadError> {
        self.stream.raw_align()
    }

    fn raw_bytes<'s>(&'s mut self, source: &'s [u8], length: usize) -> Result<&'s [u8], ReadError> {
        self.stream.raw_bytes(source, length)
    }

    fn refuse_at(&mut self, kind: ErrorKind, bit: u64) -> Result<(), ReadError> {
        self.stream.refuse_at(kind, bit)
    }
}
