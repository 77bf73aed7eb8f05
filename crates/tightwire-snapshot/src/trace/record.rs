//! The record of a trace: the first bit of each part.

use alloc::vec::Vec;

use super::TracePart;
use super::marks::Mark;
use super::stream::TracedStream;
use tightwire_core::stream::ReadStream;

/// The parts of a packet in order: each ends where the next begins.
#[derive(Debug, Default)]
pub(crate) struct SpanRecord {
    pub(super) starts: Vec<SpanStart>,
    /// Bit at which the last part ends.
    pub(super) end: f64,
    /// Number of bits of the packet.
    bits: f64,
    /// Index among the updates of the object that is being read.
    object: usize,
}

/// A part, from its first bit on.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpanStart {
    pub(super) start: f64,
    pub(super) part: TracePart,
    /// Index of the object among the updates, if the part is of one.
    pub(super) object: usize,
    /// Index of the field in the class, if the part is of one.
    pub(super) field: usize,
}

impl SpanRecord {
    /// Begins the record of a packet of `bytes` bytes.
    pub(super) fn begin(&mut self, bytes: usize) {
        self.starts.clear();
        self.bits = (8 * bytes) as f64;
        (self.end, self.object) = (0.0, 0);
    }

    /// Wraps a stream that begins at bit `start`, to be traced.
    pub(crate) fn stream<'t, 'p>(
        &'t mut self,
        stream: &'t mut ReadStream<'p>,
        start: u64,
    ) -> TracedStream<'t, 'p> {
        TracedStream { stream, record: self, start }
    }

    pub(crate) fn mark(&mut self, bit: f64, mark: Mark<'_>) {
        let (part, field) = match mark {
            Mark::Number => (TracePart::Number, 0),
            Mark::Baseline => (TracePart::Baseline, 0),
            Mark::Tick => (TracePart::Tick, 0),
            Mark::Acked => (TracePart::Acked, 0),
            Mark::Modes => (TracePart::Modes, 0),
            Mark::Objects => (TracePart::Objects, 0),
            Mark::Object(place) => {
                self.object = place;
                (TracePart::Object, 0)
            }
            Mark::Flags => (TracePart::Object, 0),
            Mark::Group(layout, group) => (TracePart::Field, layout.fields.of_group(group)),
        };
        self.begin_part(bit, part, field);
    }

    /// Records that the check begins at this bit; unassigned bits before it are padding.
    pub(crate) fn mark_check(&mut self, bit: u64) {
        self.begin_part(self.end, TracePart::Padding, 0);
        self.begin_part(bit as f64, TracePart::Check, 0);
    }

    /// Ends the last part at this bit.
    pub(crate) fn end(&mut self, bit: f64) {
        self.end = bit.clamp(self.end, self.bits);
    }

    /// Ends the record at a refusal. An arithmetic decoder reads on behind the end of a packet that
    /// is cut short; parts from there are dropped.
    pub(crate) fn refuse(&mut self) {
        while self.starts.pop_if(|last| last.start >= self.bits).is_some() {}
        self.drop_empty_span();
    }

    /// Ends the record of a packet that was read: the remaining bits are padding.
    pub(crate) fn fill(&mut self) {
        self.begin_part(self.end, TracePart::Padding, 0);
        self.end = self.bits;
        self.drop_empty_span();
    }

    fn begin_part(&mut self, bit: f64, part: TracePart, field: usize) {
        self.end(bit);
        self.drop_empty_span();
        let next = SpanStart { start: self.end, part, object: self.object, field };
        if self.starts.last().is_none_or(|last| !last.continues(&next)) {
            self.starts.push(next);
        }
    }

    /// Drops a last part without bits, unless it is a field: other parts may tell its whole value.
    fn drop_empty_span(&mut self) {
        self.starts.pop_if(|last| last.start >= self.end && last.part != TracePart::Field);
    }
}

impl SpanStart {
    fn continues(&self, other: &Self) -> bool {
        let has_object = matches!(self.part, TracePart::Object | TracePart::Field);
        let is_same_field = (self.object, self.field) == (other.object, other.field);
        self.part == other.part && (is_same_field || !has_object)
    }
}
