//! What the coding says of its progress, to whoever wants to know.

use crate::layout::Layout;
use tightwire_core::stream::{ReadStream, WriteStream};

/// What is coded next.
#[derive(Clone, Copy)]
pub(crate) enum Mark<'l> {
    /// The number of the packet, and whether it is complete.
    Number,
    /// The packet that this one is relative to.
    Base,
    Tick,
    /// Which packets arrived.
    Known,
    /// How groups are predicted.
    Choices,
    /// Which objects are mentioned.
    Objects,
    /// Something of the object at this place among those mentioned, as a whole.
    Object(usize),
    /// Which groups of the object changed.
    Flags,
    /// A group of the object, by its place in the layout.
    Group(&'l Layout, usize),
}

/// What writes or reads a packet, and is told what it is at. Only a tracing one listens: for the
/// others this is nothing.
pub(crate) trait Marked {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn mark(&mut self, mark: Mark<'_>) {
        let _ = mark;
    }
}

impl Marked for ReadStream<'_> {}
impl Marked for WriteStream<'_> {}
