//! Parts: the objects of components with a scope of their own.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::World;
use tightwire::ObjectId;
use tightwire::snapshot::{RowBuffer, Scope};

use super::NetSlot;
use super::collect::{Collector, Slot, quantise};
use crate::classes::Replication;
use crate::codec::WireEntities;
use crate::face::ServerFace;

/// The parts of all entities.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// By the slot of the entity and the column of the component.
    by_place: BTreeMap<(u32, usize), Part>,
    row: RowBuffer,
}

#[derive(Clone, Copy, Debug)]
struct Part {
    id: ObjectId,
    entity: Entity,
    /// Object of the entity.
    of: ObjectId,
    /// The distance decides.
    is_near: bool,
}

impl Parts {
    /// Returns the object of a component.
    pub(super) fn id_of(&self, slot: NetSlot, column: usize) -> Option<ObjectId> {
        Some(self.by_place.get(&(slot.0, column))?.id)
    }

    /// Iterates over the entities of the parts, and their objects.
    pub(super) fn objects(&self) -> impl Iterator<Item = (Entity, ObjectId)> {
        self.by_place.values().map(|part| (part.entity, part.id))
    }

    /// Removes the parts of an entity.
    pub(super) fn remove_all(&mut self, place: u32, server: &mut dyn ServerFace) {
        let columns = self.by_place.range((place, 0)..=(place, usize::MAX));
        let columns: Vec<_> = columns.map(|(&place, _)| place).collect();
        for place in columns {
            if let Some(part) = self.by_place.remove(&place) {
                server.remove(part.id);
            }
        }
    }

    /// Sets owner, scope and weight of the parts of an entity.
    pub(super) fn set_relevancy(
        &mut self,
        world: &World,
        replication: &Replication,
        server: &mut dyn ServerFace,
        slot: NetSlot,
        (owner, weight): (Option<tightwire::PeerId>, u8),
    ) {
        for (&(_, column), part) in self.by_place.range_mut((slot.0, 0)..=(slot.0, usize::MAX)) {
            let Ok(entity) = world.get_entity(part.entity) else { continue };
            let scope = replication.columns[column].part.map(|part| part.of(entity));
            let scope = scope.unwrap_or_default();
            server.set_scope(part.id, scope);
            server.set_weight(part.id, weight);
            server.set_owner(part.id, owner.filter(|_| scope == Scope::Owner), None);
            let is_near = matches!(scope, Scope::Near | Scope::NearInRoom(_));
            if part.is_near && !is_near {
                put_position(replication, server, column, part.id, None);
            }
            part.is_near = is_near;
        }
    }

    /// Moves the parts for which the distance decides to their entities.
    pub(super) fn follow(&self, replication: &Replication, server: &mut dyn ServerFace) {
        for (&(_, column), part) in self.by_place.iter().filter(|(_, part)| part.is_near) {
            let mut position = None;
            let found = server.edit(part.of, &mut |edit| {
                position = replication.protocol.position(edit.row());
            });
            if found.is_ok() {
                put_position(replication, server, column, part.id, position);
            }
        }
    }
}

fn put_position(
    replication: &Replication,
    server: &mut dyn ServerFace,
    column: usize,
    id: ObjectId,
    position: Option<[f32; 3]>,
) {
    let Some(cells) = replication.part_class(column).and_then(|(_, class)| class.part.as_ref())
    else {
        return;
    };
    let edited = server.edit(id, &mut |edit| {
        cells.put_position(position, |place, cells| edit.put(place, cells));
    });
    if let Err(error) = edited {
        log::warn!("the position of object {id} is not updated: {error}");
    }
}

impl Collector {
    /// Writes a component with a scope of its own: spawns, changes or despawns its object. Returns
    /// whether it contains an entity that is not replicated yet.
    pub(super) fn write_part(
        &mut self,
        world: &World,
        replication: &mut Replication,
        server: &mut dyn ServerFace,
        (place, column): (u32, usize),
        slot: Slot,
    ) -> bool {
        let Ok(entity) = world.get_entity(slot.entity) else { return false };
        let is_sent = replication.claim(entity.archetype()).parts.contains(&column);
        let known = self.parts.by_place.get(&(place, column)).copied();
        if !is_sent {
            if let Some(part) = known {
                self.parts.by_place.remove(&(place, column));
                server.remove(part.id);
            }
            return false;
        }
        let Some((index, class)) = replication.part_class(column) else { return false };
        let (Some(field), Some(part), width) =
            (class.fields[column].clone(), class.part.clone(), class.width)
        else {
            return false;
        };
        let mut row = core::mem::take(&mut self.parts.row);
        let cells = row.reset(index, width);
        let mut map = |entity| self.wire_entity(world, entity);
        let mut entities = WireEntities::new(&mut map);
        let written = quantise(&mut replication.columns[column], entity, &mut entities);
        let is_unresolved = entities.missing().is_some();
        let is_written = written.is_some();
        if let Some(written) = written {
            cells[field.cells.clone()].copy_from_slice(written);
            part.set_owner(cells, slot.id);
        }
        match known {
            // If a value cannot be quantised, the previous one stays.
            _ if !is_written => {}
            Some(known) => {
                let value = &row.row().cells[field.cells.clone()];
                let edited =
                    server.edit(known.id, &mut |edit| edit.put(field.cells.clone(), value));
                if let Err(error) = edited {
                    log::warn!("a component of {} keeps its state: {error}", slot.entity);
                }
            }
            None => match server.spawn_row(row.row()) {
                Ok(id) => {
                    let part = Part { id, entity: slot.entity, of: slot.id, is_near: false };
                    self.parts.by_place.insert((place, column), part);
                    server.set_parent(id, Some(slot.id));
                    self.relevancy.handle_changed(slot.entity);
                }
                Err(error) => {
                    log::error!("a component of {} is not replicated: {error}", slot.entity);
                }
            },
        }
        self.parts.row = row;
        is_unresolved
    }
}
