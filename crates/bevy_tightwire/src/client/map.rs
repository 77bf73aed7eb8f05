//! The map between entities of a client and objects of the server.

use bevy_ecs::entity::{Entity, EntityHashMap};
use bevy_ecs::prelude::Resource;
use core::hash::{BuildHasherDefault, Hasher};
use std::collections::HashMap;
use tightwire::ObjectId;

/// A map by object ids. They are dense numbers of the server, and the client looks up several for
/// each change: the hash of the standard library, which withstands attacks, costs more than the rest
/// of a lookup.
pub(crate) type ObjectMap<V> = HashMap<ObjectId, V, BuildHasherDefault<ObjectIdHasher>>;

/// Hashes an object id by a multiplication.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ObjectIdHasher(u64);

impl Hasher for ObjectIdHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32((*byte).into()));
    }

    fn write_u32(&mut self, number: u32) {
        // The upper bits of the product choose the control byte, the lower ones the bucket.
        let product = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ product >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The entities of a client that stand for objects of the server, both ways.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_tightwire::prelude::*;
///
/// fn count(map: Res<EntityMap>) {
///     println!("{} remote entities", map.len());
/// }
/// # bevy_ecs::system::assert_is_system(count);
/// ```
#[derive(Resource, Debug, Default)]
pub struct EntityMap {
    by_id: ObjectMap<Entity>,
    by_entity: EntityHashMap<ObjectId>,
}

impl EntityMap {
    /// Returns the entity of an object; `None` if the object is not shown.
    #[must_use]
    pub fn entity(&self, id: ObjectId) -> Option<Entity> {
        self.by_id.get(&id).copied()
    }

    /// Returns the object of an entity; `None` if it stands for none.
    #[must_use]
    pub fn id(&self, entity: Entity) -> Option<ObjectId> {
        self.by_entity.get(&entity).copied()
    }

    /// Returns the number of remote entities.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there are no remote entities.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    pub(super) fn insert(&mut self, id: ObjectId, entity: Entity) {
        self.by_id.insert(id, entity);
        self.by_entity.insert(entity, id);
    }

    pub(super) fn remove(&mut self, id: ObjectId) {
        if let Some(entity) = self.by_id.remove(&id) {
            self.by_entity.remove(&entity);
        }
    }

    /// Maps an entity from the wire to one of this world, or one of this world to the wire.
    pub(crate) fn map(&self, entity: Entity) -> Option<Entity> {
        match ObjectId::of_wire_entity(entity) {
            Some(id) => self.entity(id),
            None => self.id(entity)?.to_wire_entity(),
        }
    }
}
