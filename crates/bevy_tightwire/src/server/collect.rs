//! Collection: the changes of a tick, from the world to the server's objects.

use bevy_ecs::change_detection::{Mut, Tick};
use bevy_ecs::component::ComponentId;
use bevy_ecs::entity::Entity;
use bevy_ecs::entity_disabling::Disabled;
use bevy_ecs::hierarchy::Children;
use bevy_ecs::prelude::{Allow, Resource, With, Without, World};
use std::collections::HashMap;
use tightwire::ObjectId;
use tightwire::snapshot::{Row, RowBuffer};

use super::parts::Parts;
use super::relevancy::{self, Relevancy};
use super::{NetServer, NetSlot, Replicated};
use crate::classes::{Class, Presence, Replication};
use crate::codec::WireEntities;
use crate::column::Since;
use crate::face::ServerFace;
use crate::registry::ColumnEntry;

/// The replicated entities, and their changes since the last collection.
#[derive(Resource, Default)]
pub(crate) struct Collector {
    slots: Vec<Option<Slot>>,
    by_id: HashMap<ObjectId, Entity>,
    free: Vec<u32>,
    /// Entities whose replication begins with the next collection.
    spawned: Vec<Entity>,
    despawned: Vec<u32>,
    /// Slots of entities, and columns of their components that changed.
    changed: Vec<(u32, usize)>,
    /// Slots of entities, and components that they lost, or gained if a filter depends on them.
    moved: Vec<(u32, ComponentId)>,
    /// Slots and columns of components that contain an entity which was not replicated yet. They
    /// are written again in the next collection.
    unresolved: Vec<(u32, usize)>,
    /// Columns of such components in the row that was made last.
    dangling: Vec<usize>,
    pub(super) relevancy: Relevancy,
    pub(super) parts: Parts,
    /// Change tick of the last collection; `None` if everything is to be collected.
    last: Option<Tick>,
    scanned: Vec<u32>,
    row: RowBuffer,
    /// The previous row of an object whose class changes.
    before: RowBuffer,
}

/// A replicated entity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) entity: Entity,
    pub(super) id: ObjectId,
    class: u16,
}

impl Collector {
    /// Forgets the objects of an earlier server.
    pub(crate) fn start_over(&mut self) {
        *self = Self::default();
    }

    /// Ends the replication of all entities, which stay in the world.
    pub(crate) fn forget_all(world: &mut World) {
        let mut slots = world.query_filtered::<Entity, (With<NetSlot>, Allow<Disabled>)>();
        let entities: Vec<_> = slots.iter(world).collect();
        for entity in entities {
            world.entity_mut(entity).remove::<NetSlot>();
        }
        world.resource_mut::<Self>().start_over();
    }

    pub(super) fn handle_spawned(&mut self, entity: Entity) {
        // The first collection finds all entities by a query.
        if self.last.is_some() {
            self.spawned.push(entity);
        }
    }

    pub(super) fn handle_despawned(&mut self, slot: NetSlot) {
        self.despawned.push(slot.0);
    }

    /// Notes a component that an entity lost, or gained if a filter depends on it.
    pub(super) fn handle_moved(&mut self, slot: NetSlot, component: ComponentId) {
        if self.last.is_some() {
            self.moved.push((slot.0, component));
        }
    }

    /// Returns the object of a replicated entity.
    pub(crate) fn id_of(&self, slot: NetSlot) -> Option<ObjectId> {
        self.slots.get(slot.0 as usize)?.map(|slot| slot.id)
    }

    /// Iterates over the replicated entities and their objects, parts included.
    pub(crate) fn objects(&self) -> impl Iterator<Item = (Entity, ObjectId)> {
        let entities = self.slots.iter().flatten().map(|slot| (slot.entity, slot.id));
        entities.chain(self.parts.objects())
    }

    /// Returns the object that has a component of an entity: the entity's, or a part.
    pub(crate) fn id_of_component(&self, slot: NetSlot, column: usize) -> Option<ObjectId> {
        self.parts.id_of(slot, column).or_else(|| self.id_of(slot))
    }

    /// Notes an entity whose relevancy changed, or that of one of its components.
    pub(crate) fn handle_scope(&mut self, entity: Entity) {
        // The first collection reads all of them.
        if self.last.is_some() {
            self.relevancy.handle_changed(entity);
        }
    }

    /// Notes a client whose rooms, team or viewers changed.
    pub(super) fn handle_client(&mut self, client: Entity) {
        if self.last.is_some() {
            self.relevancy.handle_client(client);
        }
    }

    /// Returns the entity of an object.
    pub(crate) fn entity_of(&self, id: ObjectId) -> Option<Entity> {
        self.by_id.get(&id).copied()
    }

    fn add(&mut self, slot: Slot) -> NetSlot {
        self.by_id.insert(slot.id, slot.entity);
        match self.free.pop() {
            Some(place) => {
                self.slots[place as usize] = Some(slot);
                NetSlot(place)
            }
            None => {
                self.slots.push(Some(slot));
                NetSlot(self.slots.len() as u32 - 1)
            }
        }
    }

    fn remove_despawned(&mut self, server: &mut dyn ServerFace) -> bool {
        let is_any = !self.despawned.is_empty();
        for place in self.despawned.drain(..) {
            if let Some(slot) = self.slots.get_mut(place as usize).and_then(Option::take) {
                server.remove(slot.id);
                self.parts.remove_all(place, server);
                self.by_id.remove(&slot.id);
                self.free.push(place);
            }
        }
        is_any
    }
}

/// Collects the changes of a tick.
pub(super) fn collect(world: &mut World) {
    if !world.contains_resource::<NetServer>() || !world.contains_resource::<Replication>() {
        return;
    }
    world.resource_scope(|world, mut server: Mut<'_, NetServer>| {
        world.resource_scope(|world, mut replication: Mut<'_, Replication>| {
            world.resource_scope(|world, mut collector: Mut<'_, Collector>| {
                collector.run(world, &mut replication, &mut *server.0);
            });
        });
    });
}

impl Collector {
    fn run(
        &mut self,
        world: &mut World,
        replication: &mut Replication,
        server: &mut dyn ServerFace,
    ) {
        let has_despawned = self.remove_despawned(server);
        if !server.has_players() {
            // Without players nothing is collected. When the first one joins, the whole world is.
            self.spawned.clear();
            self.moved.clear();
            self.relevancy.clear();
            self.last = None;
            return;
        }
        let now = world.increment_change_tick();
        let is_fresh = self.last.is_none();
        if is_fresh {
            type New = (With<Replicated>, Without<NetSlot>, Allow<Disabled>);
            let mut new = world.query_filtered::<Entity, New>();
            self.spawned.clear();
            self.spawned.extend(new.iter(world));
            let known = 0..self.slots.len() as u32;
            let all = |place| (0..replication.columns.len()).map(move |column| (place, column));
            self.changed.extend(known.flat_map(all));
            let entities = self.slots.iter().flatten().map(|slot| slot.entity);
            self.relevancy.start_over(world, entities);
        }
        let is_rounded = replication.columns.iter().any(|entry| entry.settings.is_rounded);
        if is_rounded {
            for &entity in &self.spawned {
                round_all(world, replication, entity);
            }
        }
        self.spawn_new(world, replication, server);
        if let Some(last) = self.last {
            self.scan(world, replication, Since { last, now: world.read_change_tick() });
        }
        if has_despawned || is_fresh {
            self.mark_references(world, replication);
        }
        for (place, component) in self.moved.drain(..) {
            if let Some(column) = replication.place_of(component) {
                self.changed.push((place, column));
            }
            let filtered = replication.filtered_by(component);
            self.changed.extend(filtered.iter().map(|&column| (place, column)));
        }
        self.changed.append(&mut self.unresolved);
        if is_rounded {
            self.round_changed(world, replication);
        }
        self.write_changed(world, replication, server);
        relevancy::write(world, replication, self, server);
        self.last = Some(now);
    }

    /// Rounds the changed components that are to be rounded, before they are quantised.
    fn round_changed(&self, world: &mut World, replication: &mut Replication) {
        for &(place, column) in &self.changed {
            let entry = &mut replication.columns[column];
            let slot = self.slots.get(place as usize).copied().flatten();
            if let Some(slot) = slot.filter(|_| entry.settings.is_rounded)
                && let Ok(mut entity) = world.get_entity_mut(slot.entity)
            {
                entry.column.round(&mut entity);
            }
        }
    }

    fn scan(&mut self, world: &World, replication: &mut Replication, since: Since) {
        let Self { scanned, changed, .. } = self;
        for (column, entry) in replication.columns.iter_mut().enumerate() {
            scanned.clear();
            entry.column.scan(world, since, entry.settings.is_once, scanned);
            changed.extend(scanned.iter().map(|&place| (place, column)));
        }
    }

    /// Marks all components that contain entities as changed, since one of these entities may be
    /// gone.
    fn mark_references(&mut self, world: &World, replication: &Replication) {
        for (column, entry) in replication.columns.iter().enumerate() {
            if entry.settings.is_mapped {
                for (place, slot) in (0u32..).zip(&self.slots) {
                    let entity = slot.and_then(|slot| world.get_entity(slot.entity).ok());
                    if entity.is_some_and(|entity| entity.contains_id(entry.component)) {
                        self.changed.push((place, column));
                    }
                }
            }
        }
    }

    fn spawn_new(
        &mut self,
        world: &mut World,
        replication: &mut Replication,
        server: &mut dyn ServerFace,
    ) {
        let mut spawned = core::mem::take(&mut self.spawned);
        let mut late = Vec::new();
        for &entity in &spawned {
            let Ok(new) = world.get_entity(entity) else { continue };
            if new.contains::<NetSlot>() || !new.contains::<Replicated>() {
                continue;
            }
            let (class, is_whole) = self.make_row(world, replication, entity, None);
            if !is_whole {
                // A later tick may have a value that can be sent.
                late.push(entity);
                continue;
            }
            match server.spawn_row(self.row.row()) {
                Ok(id) => {
                    let slot = self.add(Slot { entity, id, class });
                    self.unresolved.extend(self.dangling.drain(..).map(|column| (slot.0, column)));
                    world.entity_mut(entity).insert(slot);
                    self.relevancy.handle_spawned(entity, world.get::<Children>(entity));
                    let parts = replication.claim(world.entity(entity).archetype()).parts.clone();
                    self.changed.extend(parts.into_iter().map(|column| (slot.0, column)));
                }
                Err(error) => log::error!("entity {entity} is not replicated: {error}"),
            }
        }
        spawned.clear();
        spawned.append(&mut late);
        self.spawned = spawned;
    }

    /// Makes the whole row of an entity. Returns its class, and whether the row has all components that
    /// each object of the class has.
    fn make_row(
        &mut self,
        world: &World,
        replication: &mut Replication,
        entity: Entity,
        before: Option<Before<'_>>,
    ) -> (u16, bool) {
        let entity = world.entity(entity);
        let claim = replication.claim(entity.archetype()).clone();
        let class = &replication.classes[usize::from(claim.class)];
        let mut is_whole = true;
        let mut row = core::mem::take(&mut self.row);
        let cells = row.reset(claim.class, class.width);
        self.dangling.clear();
        for &column in &claim.columns {
            let Some(place) = &class.fields[column] else { continue };
            let entry = &mut replication.columns[column];
            let mut map = |entity| self.wire_entity(world, entity);
            let mut entities = WireEntities::new(&mut map);
            let kept = before.and_then(|before| before.cells(&replication.classes, column));
            let is_kept =
                entry.settings.is_once && before.is_some_and(|before| !before.has_changed(column));
            let written = match kept {
                Some(kept) if is_kept => Some(kept),
                // If a value cannot be quantised, the previous one stays.
                _ => quantise(entry, entity, &mut entities).or(kept),
            };
            if let Some(written) = written {
                cells[place.cells.clone()].copy_from_slice(written);
            }
            match place.presence {
                Presence::Bit { cell, bit } if written.is_some() => cells[cell] |= bit,
                Presence::Bit { .. } => {}
                Presence::Always => is_whole &= written.is_some(),
            }
            if entities.missing().is_some() {
                self.dangling.push(column);
            }
        }
        self.row = row;
        (claim.class, is_whole)
    }

    fn write_changed(
        &mut self,
        world: &World,
        replication: &mut Replication,
        server: &mut dyn ServerFace,
    ) {
        let mut changed = core::mem::take(&mut self.changed);
        changed.sort_unstable();
        changed.dedup();
        for run in changed.chunk_by(|one, other| one.0 == other.0) {
            let place = run[0].0;
            let Some(slot) = self.slots.get(place as usize).copied().flatten() else { continue };
            let Ok(entity) = world.get_entity(slot.entity) else { continue };
            for &(_, column) in run {
                if replication.columns[column].part.is_some()
                    && self.write_part(world, replication, server, (place, column), slot)
                {
                    self.unresolved.push((place, column));
                }
            }
            if replication.claim(entity.archetype()).class != slot.class {
                let mut before = core::mem::take(&mut self.before);
                let found = server.edit(slot.id, &mut |edit| before.copy_from(edit.row()));
                let previous = found.is_ok().then(|| Before { row: before.row(), changed: run });
                let (class, is_whole) = self.make_row(world, replication, slot.entity, previous);
                self.before = before;
                if !is_whole {
                    // The object keeps its class until a later tick has a value that can be sent.
                    self.dangling.clear();
                    self.unresolved.extend(run);
                    continue;
                }
                self.unresolved.extend(self.dangling.drain(..).map(|column| (place, column)));
                if let Err(error) = server.set_row(slot.id, self.row.row()) {
                    log::warn!("a change of entity {} is not replicated: {error}", slot.entity);
                }
                self.slots[place as usize] = Some(Slot { class, ..slot });
                continue;
            }
            let columns = run.iter().map(|&(_, column)| column);
            self.edit(world, replication, server, place, slot, columns);
        }
        changed.clear();
        self.changed = changed;
    }

    /// Writes some components of an entity.
    fn edit(
        &mut self,
        world: &World,
        replication: &mut Replication,
        server: &mut dyn ServerFace,
        place: u32,
        slot: Slot,
        columns: impl Iterator<Item = usize> + Clone,
    ) {
        let entity = world.entity(slot.entity);
        let claim = replication.claim(entity.archetype()).clone();
        let mut unresolved = core::mem::take(&mut self.unresolved);
        let edited = server.edit(slot.id, &mut |edit| {
            for column in columns.clone() {
                let class = &replication.classes[usize::from(slot.class)];
                let Some(field) = class.fields[column].clone() else { continue };
                let entry = &mut replication.columns[column];
                let is_sent = claim.columns.binary_search(&column).is_ok();
                let mut map = |entity| self.wire_entity(world, entity);
                let mut entities = WireEntities::new(&mut map);
                let written = if is_sent { quantise(entry, entity, &mut entities) } else { None };
                let is_written = written.is_some();
                match written {
                    Some(cells) => edit.put(field.cells.clone(), cells),
                    // If a value cannot be quantised, the previous one stays.
                    None if is_sent => continue,
                    None => edit.clear(field.cells.clone()),
                }
                if let Presence::Bit { cell, bit } = field.presence {
                    let mask = edit.row().cells.get(cell).copied().unwrap_or(0);
                    let mask = if is_written { mask | bit } else { mask & !bit };
                    edit.put(cell..cell + 1, &[mask]);
                }
                if entities.missing().is_some() {
                    unresolved.push((place, column));
                }
            }
        });
        self.unresolved = unresolved;
        if let Err(error) = edited {
            log::warn!("a change of entity {} is not replicated: {error}", slot.entity);
        }
    }

    /// Returns the wire form of an entity, which stands for its object id; `None` if the entity is
    /// not replicated.
    pub(crate) fn wire_entity(&self, world: &World, entity: Entity) -> Option<Entity> {
        self.id_of(*world.get::<NetSlot>(entity)?)?.to_wire_entity()
    }
}

/// The previous row of an object, and the columns that changed since.
#[derive(Clone, Copy)]
struct Before<'b> {
    row: Row<'b>,
    changed: &'b [(u32, usize)],
}

impl<'b> Before<'b> {
    fn cells(self, classes: &[Class], column: usize) -> Option<&'b [u32]> {
        let class = classes.get(usize::from(self.row.class))?;
        class.fields.get(column)?.as_ref()?.in_row(self.row.cells)
    }

    fn has_changed(self, column: usize) -> bool {
        self.changed.iter().any(|&(_, changed)| changed == column)
    }
}

/// Quantises a component. Returns `None` if the entity does not have the component, or if its value
/// cannot be quantised, which is logged.
pub(super) fn quantise<'c>(
    entry: &'c mut ColumnEntry,
    entity: bevy_ecs::world::EntityRef<'_>,
    entities: &mut WireEntities<'_>,
) -> Option<&'c [u32]> {
    let name = entry.name;
    match entry.column.quantise(entity, entities) {
        Ok(cells) => cells,
        Err(error) => {
            log::warn!("`{name}` of {} cannot be replicated: {error}", entity.id());
            None
        }
    }
}

/// Rounds all components of an entity that are to be rounded.
fn round_all(world: &mut World, replication: &mut Replication, entity: Entity) {
    let Ok(mut entity) = world.get_entity_mut(entity) else { return };
    for entry in replication.columns.iter_mut().filter(|entry| entry.settings.is_rounded) {
        entry.column.round(&mut entity);
    }
}

/// Returns the row of an entity whose spawn a client predicts.
pub(crate) fn predicted_row<'r>(
    world: &mut World,
    replication: &mut Replication,
    entity: Entity,
    row: &'r mut RowBuffer,
) -> Row<'r> {
    round_all(world, replication, entity);
    let mut collector = Collector { row: core::mem::take(row), ..Collector::default() };
    collector.make_row(world, replication, entity, None);
    *row = collector.row;
    row.row()
}
