//! The model of a packet: what a coder learned up to it.

use super::protocol::Protocol;
use super::{modeled, packed};

/// Model of a packet: packets that have this one as their baseline continue from it.
#[derive(Debug, Default)]
pub(super) struct Model {
    /// Statistics of the level `Packed`, for its writer only; its reader needs none.
    pub(super) packed: packed::Tuning,
    /// Probabilities of the level `Modeled`.
    pub(super) modeled: modeled::State,
}

impl Model {
    /// Creates the model of a keyframe, before anything is learned.
    pub(super) fn new(protocol: &Protocol) -> Self {
        Self { modeled: protocol.plan().pristine.clone(), ..Self::default() }
    }
}

impl Clone for Model {
    fn clone(&self) -> Self {
        Self { packed: self.packed.clone(), modeled: self.modeled.clone() }
    }

    fn clone_from(&mut self, source: &Self) {
        // Reuses the memory of `self`, which a derived `Clone` would not.
        self.packed.clone_from(&source.packed);
        self.modeled.clone_from(&source.modeled);
    }
}
