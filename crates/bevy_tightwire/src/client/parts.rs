//! Parts on a client: objects that are components of the entities of other objects.

use bevy_ecs::prelude::World;
use tightwire::ObjectId;

use super::replica::{Applied, ClientReplica, Object};
use crate::classes::Replication;

impl ClientReplica {
    /// Finds the entity of a part. Returns whether it is there; otherwise the part waits for it.
    pub(super) fn attach(&mut self, columns: usize, id: ObjectId, to: ObjectId) -> bool {
        let Some(entity) = self.objects.get(&to).map(|object| object.entity) else {
            self.waiting.insert(id);
            return false;
        };
        let part = self.objects.entry(id).or_insert_with(|| Object::new(entity, columns));
        if part.entity != entity {
            *part = Object::new(entity, columns);
        }
        part.part_of = Some(to);
        self.parts.insert((to, id));
        true
    }

    /// Removes the components of a part that has despawned.
    pub(super) fn detach(
        &mut self,
        world: &mut World,
        replication: &mut Replication,
        id: ObjectId,
        part: &Object,
    ) {
        if let Some(of) = part.part_of {
            self.parts.remove(&(of, id));
        }
        self.waiting.remove(&id);
        self.smooth.remove(&id);
        let Ok(mut entity) = world.get_entity_mut(part.entity) else { return };
        for (entry, cells) in replication.columns.iter_mut().zip(&part.cells) {
            if *cells != Applied::Absent {
                entry.column.remove(&mut entity);
            }
        }
    }

    /// Makes the parts of an object that has despawned wait for it: it may become relevant again, as
    /// another entity.
    pub(super) fn orphan_parts(&mut self, id: ObjectId) {
        for &(_, part) in self.parts.range((id, ObjectId(0))..=(id, ObjectId(u32::MAX))) {
            if let Some(object) = self.objects.get_mut(&part) {
                object.cells.fill(Applied::Absent);
                self.waiting.insert(part);
            }
        }
    }
}
