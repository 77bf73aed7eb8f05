//! Histories of components, for replays.

use bevy_ecs::component::Component;
use bevy_ecs::entity::{Entity, EntityHashMap};
use bevy_ecs::world::{EntityRef, EntityWorldMut};

use crate::component::WriteMode;

/// Number of ticks that are kept: a replay is never longer.
const KEPT: usize = 64;

/// The values of a component in the last ticks, of all predicted entities. Beside the world, so that
/// recording moves no entity to another archetype.
pub(crate) struct History<C> {
    clone: fn(&C) -> C,
    rings: EntityHashMap<Vec<Kept<C>>>,
}

/// The value after a tick; `None` if the entity did not have the component.
struct Kept<C> {
    tick: Option<u32>,
    value: Option<C>,
}

impl<C: Component<Mutability: WriteMode<C>>> History<C> {
    pub(crate) fn new(clone: fn(&C) -> C) -> Self {
        Self { clone, rings: EntityHashMap::default() }
    }

    /// Keeps the value after a tick.
    pub(crate) fn record(&mut self, entity: EntityRef<'_>, tick: u32) {
        let ring = self
            .rings
            .entry(entity.id())
            .or_insert_with(|| (0..KEPT).map(|_| Kept { tick: None, value: None }).collect());
        if let Some(place) = ring.get_mut(tick as usize % KEPT) {
            *place = Kept { tick: Some(tick), value: entity.get::<C>().map(self.clone) };
        }
    }

    /// Returns the value after a tick: the outer `None` if it is not known.
    pub(crate) fn get(&self, entity: Entity, tick: u32) -> Option<Option<&C>> {
        let kept = self.rings.get(&entity)?.get(tick as usize % KEPT)?;
        (kept.tick == Some(tick)).then_some(kept.value.as_ref())
    }

    /// Sets an entity back to its value after a tick; returns whether it is known.
    pub(crate) fn restore(&self, entity: &mut EntityWorldMut<'_>, tick: u32) -> bool {
        match self.get(entity.id(), tick) {
            Some(Some(value)) => C::Mutability::write_silently(entity, (self.clone)(value)),
            Some(None) => drop(entity.remove::<C>()),
            None => return false,
        }
        true
    }

    pub(crate) fn forget(&mut self, entity: Entity) {
        self.rings.remove(&entity);
    }

    pub(crate) fn forget_all(&mut self) {
        self.rings = EntityHashMap::default();
    }
}

/// Local state of predicted entities, which replays restore: see
/// [`rollback`](crate::NetAppExt::rollback).
pub(crate) trait LocalState: Send + Sync {
    fn record(&mut self, entity: EntityRef<'_>, tick: u32);
    fn restore(&mut self, entity: &mut EntityWorldMut<'_>, tick: u32);
    fn forget(&mut self, entity: Entity);
    fn forget_all(&mut self);
}

impl<C: Component<Mutability: WriteMode<C>>> LocalState for History<C> {
    fn record(&mut self, entity: EntityRef<'_>, tick: u32) {
        Self::record(self, entity, tick);
    }

    fn restore(&mut self, entity: &mut EntityWorldMut<'_>, tick: u32) {
        Self::restore(self, entity, tick);
    }

    fn forget(&mut self, entity: Entity) {
        Self::forget(self, entity);
    }

    fn forget_all(&mut self) {
        Self::forget_all(self);
    }
}
