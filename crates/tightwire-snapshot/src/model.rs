//! What is learned.

use super::protocol::Protocol;
use super::{modeled, packed};

/// What is learned with each packet, for those that it is the base of.
#[derive(Debug, Default)]
pub(super) struct Model {
    /// What the writer of the level `Packed` goes by; its reader needs nothing.
    pub(super) packed: packed::Tuning,
    /// What the level `Modeled` has learned.
    pub(super) modeled: modeled::State,
}

impl Model {
    /// Before anything is learned.
    pub(super) fn new(protocol: &Protocol) -> Self {
        Self { modeled: protocol.plan().pristine.clone(), ..Self::default() }
    }
}

impl Clone for Model {
    fn clone(&self) -> Self {
        Self { packed: self.packed.clone(), modeled: self.modeled.clone() }
    }

    fn clone_from(&mut self, source: &Self) {
        // Into the memory that is there, which a derived one would not do.
        self.packed.clone_from(&source.packed);
        self.modeled.clone_from(&source.modeled);
    }
}
