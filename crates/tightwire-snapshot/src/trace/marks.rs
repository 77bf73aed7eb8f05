//! Marks that the coders set, for a trace.

use crate::layout::Layout;
use tightwire_core::stream::{ReadStream, WriteStream};

/// The part of a packet that is coded next.
#[derive(Clone, Copy)]
pub(crate) enum Mark<'l> {
    /// Sequence number of the packet, and whether it is complete.
    Number,
    /// The baseline packet.
    Baseline,
    Tick,
    /// Acks of packets.
    Acked,
    /// Prediction modes of groups.
    Modes,
    /// Ids of the updated objects.
    Objects,
    /// The object with this index among the updates, as a whole.
    Object(usize),
    /// Flags of the object's groups that changed.
    Flags,
    /// A group of the object, by its index in the layout.
    Group(&'l Layout, usize),
}

/// A stream or coder that takes marks. Only a tracing one records them; for the others `mark` is a
/// no-op.
pub(crate) trait Marked {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn mark(&mut self, mark: Mark<'_>) {
        let _ = mark;
    }
}

impl Marked for ReadStream<'_> {}
impl Marked for WriteStream<'_> {}
