//! A decoder that records marks in a trace.

use super::range_coder::{Coder, Decoder};
use crate::trace::{Mark, Marked, SpanRecord};

/// A decoder that begins at a bit of the packet, with the record of its marks.
pub(super) struct TracedDecoder<'t, 'p> {
    pub(super) decoder: &'t mut Decoder<'p>,
    pub(super) record: &'t mut SpanRecord,
    /// Bit of the packet at which the code begins.
    pub(super) start: u64,
}

impl TracedDecoder<'_, '_> {
    /// Ends the last part of the record.
    pub(super) fn end(&mut self) {
        self.record.end(self.at());
    }

    fn at(&self) -> f64 {
        self.start as f64 + self.decoder.spent()
    }
}

impl Marked for TracedDecoder<'_, '_> {
    fn mark(&mut self, mark: Mark<'_>) {
        self.record.mark(self.at(), mark);
    }
}

impl Coder for TracedDecoder<'_, '_> {
    const DECODES: bool = true;

    fn bit(&mut self, chance: u32, bit: bool) -> bool {
        self.decoder.bit(chance, bit)
    }

    fn target(&mut self, bits: u32) -> (u64, u64) {
        self.decoder.target(bits)
    }

    fn narrow(&mut self, start: u64, end: u64, bits: u32) {
        self.decoder.narrow(start, end, bits);
    }

    fn is_sound(&self) -> bool {
        self.decoder.is_sound()
    }
}
