//! The model of a packet: the probabilities that were learned up to it.

use alloc::sync::Arc;
use core::mem::replace;

use super::protocol::Protocol;
use super::{modeled, packed};

/// Model of a packet, from which packets with this packet as their baseline continue. It has the
/// learned state of both levels; a packet changes only that of its own level.
#[derive(Debug, Default)]
pub(super) struct Model {
    /// Statistics of the level `Packed`, for its writer only; its reader needs none.
    pub(super) packed: packed::Tuning,
    /// Probabilities of the level `Modeled`; `None` before the first packet of that level. Packets
    /// of the other level share those of their baseline packet, since a copy is large.
    modeled: Option<Arc<modeled::ModelState>>,
    /// Memory of earlier probabilities, for reuse. No other model shares it.
    spare: Option<Arc<modeled::ModelState>>,
}

impl Model {
    /// Returns the probabilities of the level `Modeled`, to learn: a copy, if other packets share
    /// them.
    pub(super) fn modeled(&mut self, protocol: &Protocol) -> &mut modeled::ModelState {
        let own = self.modeled.take_if(|state| Arc::get_mut(state).is_some());
        let own = own.unwrap_or_else(|| {
            let mut copy = self.spare.take().unwrap_or_default();
            let before = self.modeled.as_deref().unwrap_or(&protocol.plan().pristine);
            Arc::make_mut(&mut copy).clone_from(before);
            copy
        });
        Arc::make_mut(self.modeled.insert(own))
    }

    /// Whether two models share their probabilities of the level `Modeled`, or have none.
    #[cfg(test)]
    pub(super) fn shares_modeled(&self, other: &Self) -> bool {
        match (&self.modeled, &other.modeled) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }
}

impl Clone for Model {
    fn clone(&self) -> Self {
        Self { packed: self.packed.clone(), modeled: self.modeled.clone(), spare: None }
    }

    fn clone_from(&mut self, source: &Self) {
        // Reuses the memory of `self`, which a derived `Clone` would not.
        self.packed.clone_from(&source.packed);
        let before = replace(&mut self.modeled, source.modeled.clone());
        if self.spare.is_none() {
            self.spare = before.filter(|state| Arc::strong_count(state) == 1);
        }
    }
}
