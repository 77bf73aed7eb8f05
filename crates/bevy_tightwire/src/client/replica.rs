//! The replica: entities of this world that stand for objects of the server.

use bevy_ecs::component::Component;
use bevy_ecs::entity::Entity;
use bevy_ecs::entity_disabling::Disabled;
use bevy_ecs::prelude::{Allow, ChildOf, Children, Resource, With, World};
use std::collections::{BTreeSet, HashSet};
use tightwire::ObjectId;
use tightwire::snapshot::{ChangeKind, Row, RowBuffer};

use super::map::{EntityMap, ObjectMap};
use super::predict::Predicted;
use crate::classes::Replication;
use crate::column::Written;
use crate::face::{ClientFace, Which};
use crate::owner::{LocalClient, OwnedBy, Simulated};
use crate::registry::{ColumnEntry, ColumnSettings, Registry};

/// Marks an entity that stands for one of the server. A clone of the entity does not.
///
/// A client inserts it into a new entity after the components: an observer of `On<Add, Remote>` finds
/// all of them, but for those that wait for another entity. An observer of a component finds those
/// that were inserted before it.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_tightwire::prelude::*;
///
/// #[derive(Component, Wire, Default)]
/// struct Health(#[wire(range = 0..=100)] u8);
///
/// fn draw(added: On<Add, Remote>, all: Query<&Health>) {
///     if let Ok(health) = all.get(added.entity) {
///         println!("{} arrives with {} points", added.entity, health.0);
///     }
/// }
/// # let mut world = World::new();
/// # world.add_observer(draw);
/// ```
#[derive(Component, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[component(clone_behavior = Ignore)]
pub struct Remote;

/// State that this client has applied to its world.
#[derive(Resource, Default)]
pub(crate) struct ClientReplica {
    pub(super) objects: ObjectMap<Object>,
    /// Objects that were predicted in the last frame, sorted.
    pub(super) predicted: Vec<ObjectId>,
    /// Objects with a component that a function of the game interpolates. They are written in each
    /// frame: such a component can change while no cell does.
    pub(super) smooth: BTreeSet<ObjectId>,
    /// Objects of entities, each with an object that is a component of it.
    pub(super) parts: BTreeSet<(ObjectId, ObjectId)>,
    /// Objects with a component that contains an entity which this client does not have yet, and
    /// parts without their entity.
    pub(super) waiting: HashSet<ObjectId>,
    /// An entity has spawned since the waiting objects were tried last.
    has_spawned: bool,
    /// Objects whose owner may have changed.
    ownership: Vec<ObjectId>,
    changes: Vec<(ObjectId, ChangeKind)>,
    pub(super) held: RowBuffer,
    pub(super) row: RowBuffer,
    /// Entities that this client has spawned in advance, in this step.
    pub(super) prespawned: Vec<Entity>,
}

/// An object, as it was applied last.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) entity: Entity,
    /// Object of the entity, if this one is only a component of it.
    pub(super) part_of: Option<ObjectId>,
    class: u16,
    /// Cells of each component that were written last, by the place of the component.
    pub(super) cells: Vec<Applied>,
    /// The predicted row after the last step.
    pub(super) stepped: RowBuffer,
    /// Tick of that step; `None` before the first.
    pub(super) stepped_at: Option<u32>,
    /// Whether the components have the shown values, and not the simulated ones.
    pub(super) is_shown: bool,
}

/// Cells of a component that were written last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Applied {
    /// The entity does not have the component.
    Absent,
    Cells(Vec<u32>),
    /// The entity has another value, or none: whatever comes next is written.
    Stale,
}

impl Applied {
    fn is(&self, cells: Option<&[u32]>) -> bool {
        match self {
            Self::Absent => cells.is_none(),
            Self::Cells(applied) => cells == Some(applied),
            Self::Stale => false,
        }
    }

    fn set(&mut self, cells: &[u32]) {
        match self {
            Self::Cells(applied) => {
                applied.clear();
                applied.extend_from_slice(cells);
            }
            _ => *self = Self::Cells(cells.to_vec()),
        }
    }
}

impl Object {
    pub(super) fn new(entity: Entity, columns: usize) -> Self {
        Self {
            entity,
            part_of: None,
            class: u16::MAX,
            cells: vec![Applied::Absent; columns],
            stepped: RowBuffer::default(),
            stepped_at: None,
            is_shown: false,
        }
    }

    /// Writes a component from its cells, if these differ from those that were written last. `None`
    /// removes it. If it contains an entity that is missing, the object waits for that.
    pub(super) fn write_component(
        &mut self,
        world: &mut World,
        entry: &mut ColumnEntry,
        column: usize,
        id: ObjectId,
        cells: Option<&[u32]>,
        waiting: &mut HashSet<ObjectId>,
    ) {
        let applied = &mut self.cells[column];
        if applied.is(cells) {
            return;
        }
        let Some(cells) = cells else {
            if let Ok(mut entity) = world.get_entity_mut(self.entity) {
                entry.column.remove(&mut entity);
            }
            *applied = Applied::Absent;
            return;
        };
        match entry.column.write(world, self.entity, cells) {
            Written::Done => applied.set(cells),
            Written::Waits => drop(waiting.insert(id)),
            Written::Refused => log::warn!("the server sent no valid `{}`", entry.name),
        }
    }
}

/// Selection of the components of an object that are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Selection {
    All,
    /// Components that are not predicted.
    NotPredicted,
    /// Components that no function of the game interpolates.
    NotSmooth,
}

impl Selection {
    fn contains(self, settings: ColumnSettings) -> bool {
        match self {
            Self::All => true,
            Self::NotPredicted => !settings.is_predicted,
            Self::NotSmooth => !settings.is_smooth,
        }
    }
}

impl ClientReplica {
    /// Despawns all remote entities, as at the end of a connection.
    pub(crate) fn despawn_all(world: &mut World) {
        // Predicted despawns have only disabled their entities.
        let mut remote = world.query_filtered::<Entity, (With<Remote>, Allow<Disabled>)>();
        let entities: Vec<_> = remote.iter(world).collect();
        if let Some(mut replication) = world.get_resource_mut::<Replication>() {
            replication.columns.iter_mut().for_each(|entry| entry.column.forget_all());
        }
        if let Some(mut registry) = world.get_resource_mut::<Registry>() {
            registry.local_state.iter_mut().for_each(|state| state.forget_all());
        }
        for entity in entities {
            let _ = world.try_despawn(entity);
        }
        world.insert_resource(Self::default());
        world.insert_resource(EntityMap::default());
    }

    pub(super) fn handle_ownership(&mut self, id: ObjectId) {
        self.ownership.push(id);
    }

    /// Gives the entity that was spawned in advance to the server's object.
    pub(super) fn handle_match(world: &mut World, provisional: ObjectId, id: ObjectId) {
        let mut replica = world.resource_mut::<Self>();
        // The object may be shown already, since the message was late.
        if replica.objects.contains_key(&id) {
            return;
        }
        let Some(object) = replica.objects.remove(&provisional) else { return };
        let entity = object.entity;
        replica.objects.insert(id, object);
        replica.has_spawned = true;
        for known in &mut replica.predicted {
            if *known == provisional {
                *known = id;
            }
        }
        replica.predicted.sort_unstable();
        let mut map = world.resource_mut::<EntityMap>();
        map.remove(provisional);
        map.insert(id, entity);
    }

    /// Applies the shown states of all objects that changed.
    pub(super) fn apply(
        &mut self,
        world: &mut World,
        replication: &mut Replication,
        client: &dyn ClientFace,
    ) {
        let mut changes = core::mem::take(&mut self.changes);
        changes.clear();
        client.changes(&mut changes);
        for &(id, kind) in &changes {
            if client.is_predicted(id) {
                continue;
            }
            match kind {
                ChangeKind::Despawned => self.despawn(world, replication, id),
                _ => drop(self.show(world, replication, client, id)),
            }
        }
        self.changes = changes;
        self.follow_prediction(world, replication, client);
        self.show_all_smooth(world, replication, client);
        let mut ownership = core::mem::take(&mut self.ownership);
        for id in ownership.drain(..) {
            self.set_owned(world, client, id);
        }
        self.ownership = ownership;
        if core::mem::take(&mut self.has_spawned) && !self.waiting.is_empty() {
            for id in core::mem::take(&mut self.waiting) {
                match client.is_predicted(id) {
                    true => self.receive(world, replication, client, id, Selection::NotPredicted),
                    false => drop(self.show(world, replication, client, id)),
                }
            }
        }
    }

    /// Follows which objects are predicted.
    fn follow_prediction(
        &mut self,
        world: &mut World,
        replication: &mut Replication,
        client: &dyn ClientFace,
    ) {
        let mut predicted = Vec::new();
        client.predicted(&mut predicted);
        for &id in &predicted {
            if !self.objects.contains_key(&id) {
                // The markers are inserted last: their observers find the components.
                self.entity_of(world, replication, id);
                self.receive(world, replication, client, id, Selection::All);
                self.set_owned(world, client, id);
            } else {
                self.receive(world, replication, client, id, Selection::NotPredicted);
            }
            if self.predicted.binary_search(&id).is_err() {
                self.begin_prediction(world, replication, id);
            }
        }
        let before = core::mem::replace(&mut self.predicted, predicted);
        for id in before {
            if self.predicted.binary_search(&id).is_err() {
                self.end_prediction(world, replication, client, id);
            }
        }
    }

    /// Marks the entity of an object as predicted; spawns it if it is not there yet.
    pub(super) fn begin_prediction(
        &mut self,
        world: &mut World,
        replication: &Replication,
        id: ObjectId,
    ) {
        let entity = self.entity_of(world, replication, id);
        if let Ok(mut entity) = world.get_entity_mut(entity) {
            entity.insert_if_new(Remote).insert((Predicted, Simulated));
        }
        self.ownership.push(id);
    }

    fn end_prediction(
        &mut self,
        world: &mut World,
        replication: &mut Replication,
        client: &dyn ClientFace,
        id: ObjectId,
    ) {
        let Some(object) = self.objects.get_mut(&id) else { return };
        (object.stepped_at, object.is_shown) = (None, false);
        let entity = object.entity;
        if let Ok(mut entity) = world.get_entity_mut(entity) {
            entity.remove::<(Predicted, Simulated)>();
        }
        for (entry, applied) in replication.columns.iter_mut().zip(&mut object.cells) {
            entry.column.forget(entity);
            // Predicted components have other values than those that were written last.
            if entry.settings.is_predicted && entry.part.is_none() {
                *applied = Applied::Stale;
            }
        }
        if !self.show(world, replication, client, id) {
            self.despawn(world, replication, id);
        }
    }

    /// Returns the entity of an object, which is spawned if there is none. The caller inserts [`Remote`]
    /// into a new entity, after its components.
    fn entity_of(&mut self, world: &mut World, replication: &Replication, id: ObjectId) -> Entity {
        if let Some(object) = self.objects.get(&id) {
            return object.entity;
        }
        let entity = world.spawn_empty().id();
        self.adopt(world, replication.columns.len(), id, entity);
        entity
    }

    /// Takes over an entity of this client as that of an object.
    pub(super) fn adopt(
        &mut self,
        world: &mut World,
        columns: usize,
        id: ObjectId,
        entity: Entity,
    ) {
        self.has_spawned = true;
        self.objects.insert(id, Object::new(entity, columns));
        world.resource_mut::<EntityMap>().insert(id, entity);
    }

    /// Despawns the entity of an object.
    pub(super) fn despawn(
        &mut self,
        world: &mut World,
        replication: &mut Replication,
        id: ObjectId,
    ) {
        self.waiting.remove(&id);
        let Some(object) = self.objects.remove(&id) else { return };
        if object.part_of.is_some() {
            return self.detach(world, replication, id, &object);
        }
        world.resource_mut::<EntityMap>().remove(id);
        self.orphan_parts(id);
        self.smooth.remove(&id);
        self.forget_references(world, replication, id, object.entity);
        for entry in &mut replication.columns {
            entry.column.forget(object.entity);
        }
        if let Some(mut registry) = world.get_resource_mut::<Registry>() {
            registry.local_state.iter_mut().for_each(|state| state.forget(object.entity));
        }
        let _ = world.try_despawn(object.entity);
    }

    /// Makes the components that contain an entity wait for its object, which may become relevant
    /// again later, as another entity. Children stay, since they are objects of their own.
    fn forget_references(
        &mut self,
        world: &mut World,
        replication: &Replication,
        id: ObjectId,
        entity: Entity,
    ) {
        let columns = replication.columns.iter().enumerate();
        for (column, _) in columns.filter(|(_, entry)| entry.settings.is_mapped) {
            for (&holder, object) in &mut self.objects {
                // A cell with the object's id may be the reference. If it is another number, the
                // component is only written again.
                let cells = &mut object.cells[column];
                if matches!(cells, Applied::Cells(cells) if cells.contains(&id.0)) {
                    *cells = Applied::Stale;
                    self.waiting.insert(holder);
                }
            }
        }
        let children = world.get::<Children>(entity).map(|children| children.to_vec());
        for child in children.into_iter().flatten() {
            if world.get::<Remote>(child).is_some() {
                world.entity_mut(child).remove::<ChildOf>();
            }
        }
    }

    /// Writes the shown state of an interpolated object; returns whether there is one.
    fn show(
        &mut self,
        world: &mut World,
        replication: &mut Replication,
        client: &dyn ClientFace,
        id: ObjectId,
    ) -> bool {
        let (mut shown, mut held) =
            (core::mem::take(&mut self.row), core::mem::take(&mut self.held));
        let is_held = client.row(id, Which::Held, &mut |row| held.copy_from(row));
        let class = replication.classes.get(usize::from(held.row().class));
        let is_there = if is_held && class.is_some_and(|class| !class.is_interpolated) {
            shown.copy_from(held.row());
            true
        } else {
            client.row(id, Which::Shown, &mut |row| shown.copy_from(row))
        };
        if is_there {
            if !is_held {
                held.copy_from(shown.row());
            }
            let is_new = !self.objects.contains_key(&id);
            let class = replication.classes.get(usize::from(shown.row().class));
            let part = class.and_then(|class| class.part.as_ref());
            if let Some(of) = part.and_then(|part| part.owner(shown.row().cells)) {
                if !self.attach(replication.columns.len(), id, of) {
                    (self.row, self.held) = (shown, held);
                    return true;
                }
            } else {
                self.entity_of(world, replication, id);
            }
            self.write(world, replication, id, shown.row(), held.row(), Selection::NotSmooth);
            let class = replication.classes.get(usize::from(shown.row().class));
            if class.is_some_and(|class| class.is_smooth) {
                self.smooth.insert(id);
            }
            if is_new {
                self.set_owned(world, client, id);
                self.mark_remote(world, id);
            }
        }
        (self.row, self.held) = (shown, held);
        is_there
    }

    /// Marks a new entity, whose components are there, as one of the server.
    fn mark_remote(&self, world: &mut World, id: ObjectId) {
        let object = self.objects.get(&id).filter(|object| object.part_of.is_none());
        if let Some(Ok(mut entity)) = object.map(|object| world.get_entity_mut(object.entity)) {
            entity.insert(Remote);
        }
    }

    /// Writes components of a predicted object as they arrived.
    fn receive(
        &mut self,
        world: &mut World,
        replication: &mut Replication,
        client: &dyn ClientFace,
        id: ObjectId,
        part: Selection,
    ) {
        let mut row = core::mem::take(&mut self.row);
        if client.row(id, Which::Received, &mut |received| row.copy_from(received)) {
            self.write(world, replication, id, row.row(), row.row(), part);
        }
        self.row = row;
    }

    /// Writes the components of an object whose cells differ from those that were written last.
    fn write(
        &mut self,
        world: &mut World,
        replication: &mut Replication,
        id: ObjectId,
        shown: Row<'_>,
        held: Row<'_>,
        part: Selection,
    ) {
        let Some(object) = self.objects.get_mut(&id) else { return };
        let Some(class) = replication.classes.get(usize::from(shown.class)) else { return };
        let held = if held.class == shown.class { held } else { shown };
        let before = core::mem::replace(&mut object.class, shown.class);
        let before = replication.classes.get(usize::from(before));
        for (column, entry) in replication.columns.iter_mut().enumerate() {
            if !part.contains(entry.settings) {
                let is_lost = class.fields[column].is_none()
                    && before.is_some_and(|before| before.fields[column].is_some());
                if !is_lost {
                    continue;
                }
                // Replays and functions of the game write the components of the class, and no others.
                object.cells[column] = Applied::Stale;
            }
            let row = if entry.settings.is_interpolated { shown } else { held };
            let cells = class.fields[column].as_ref().and_then(|place| place.in_row(row.cells));
            object.write_component(world, entry, column, id, cells, &mut self.waiting);
        }
    }

    /// Marks the entity of an object as this client's own, or not.
    fn set_owned(&mut self, world: &mut World, client: &dyn ClientFace, id: ObjectId) {
        let Some(object) = self.objects.get(&id).filter(|object| object.part_of.is_none()) else {
            return;
        };
        let mut local = world.query_filtered::<Entity, With<LocalClient>>();
        let local = local.iter(world).next();
        let Ok(mut entity) = world.get_entity_mut(object.entity) else { return };
        match (client.is_mine(id), local) {
            (true, Some(local)) => {
                if entity.get::<OwnedBy>() != Some(&OwnedBy(local)) {
                    entity.insert(OwnedBy(local));
                }
            }
            _ => drop(entity.remove::<OwnedBy>()),
        }
    }
}
