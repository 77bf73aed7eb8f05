//! Lag compensation: the world as a client saw it.

use core::any::TypeId;
use core::ops::Range;

use bevy_ecs::change_detection::Mut;
use bevy_ecs::component::Component;
use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::{Query, Res};
use bevy_ecs::system::SystemParam;
use bevy_ecs::world::World;

use crate::classes::Replication;
use crate::codec::WireEntities;
use crate::face::PastRows;
use crate::owner::{ConnectedClient, OwnedBy};
use crate::server::{Collector, NetServer, NetSlot};

/// A system parameter that reads entities as a client saw them when it made the input of this tick,
/// including its view delay. The world itself is not changed.
///
/// The client's own entities are in their current state, since the client predicts them.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_tightwire::prelude::*;
///
/// #[derive(Component, Wire, Default)]
/// struct Position(#[wire(spatial, min = -500.0, max = 500.0, resolution = 0.01)] [f32; 2]);
/// #[derive(Component)]
/// struct Shot(f32);
///
/// fn hit(shots: Query<(&Shot, &OwnedBy)>, targets: Query<(Entity, &Position)>, lag: LagCompensation) {
///     for (shot, owner) in &shots {
///         for (target, present) in &targets {
///             let seen = lag.as_seen_by(owner.0, |past| past.get::<Position>(target)).flatten();
///             let position = seen.as_ref().unwrap_or(present);
///             if (position.0[0] - shot.0).abs() < 1.0 {
///                 println!("{target} is hit");
///             }
///         }
///     }
/// }
/// # bevy_ecs::system::assert_is_system(hit);
/// ```
#[derive(SystemParam)]
pub struct LagCompensation<'w, 's> {
    server: Option<Res<'w, NetServer>>,
    replication: Option<Res<'w, Replication>>,
    collector: Res<'w, Collector>,
    clients: Query<'w, 's, &'static ConnectedClient>,
    slots: Query<'w, 's, (Entity, &'static NetSlot)>,
}

impl LagCompensation<'_, '_> {
    /// Reads the world as a client saw it. `None` for the local player, who sees the present, and
    /// for an entity that is no client.
    pub fn as_seen_by<R>(
        &self,
        client: Entity,
        read: impl FnOnce(&PastView<'_>) -> R,
    ) -> Option<R> {
        let server = self.server.as_ref()?;
        let replication = self.replication.as_ref()?;
        let peer = self.clients.get(client).ok()?.peer?;
        let (mut read, mut result) = (Some(read), None);
        server.0.as_seen_by(peer, &mut |rows| {
            let view =
                PastView { rows, replication, collector: &self.collector, slots: &self.slots };
            result = read.take().map(|read| read(&view));
        });
        result
    }
}

impl core::fmt::Debug for LagCompensation<'_, '_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("LagCompensation").finish_non_exhaustive()
    }
}

/// The world as a client saw it: see [`LagCompensation`].
pub struct PastView<'p> {
    rows: &'p dyn PastRows,
    replication: &'p Replication,
    collector: &'p Collector,
    slots: &'p Query<'p, 'p, (Entity, &'static NetSlot)>,
}

impl PastView<'_> {
    /// Returns a component of an entity as the client saw it. `None` if the entity did not exist, did
    /// not have it, or is not replicated.
    #[must_use]
    pub fn get<C: Component>(&self, entity: Entity) -> Option<C> {
        let (_, slot) = self.slots.get(entity).ok()?;
        self.read(*slot)
    }

    /// Iterates over the entities that still exist, with a component as the client saw it.
    pub fn iter<C: Component>(&self) -> impl Iterator<Item = (Entity, C)> {
        self.slots.iter().filter_map(|(entity, slot)| Some((entity, self.read(*slot)?)))
    }

    fn read<C: Component>(&self, slot: NetSlot) -> Option<C> {
        let columns = &self.replication.columns;
        let column = columns.iter().position(|entry| entry.type_id == TypeId::of::<C>())?;
        let id = self.collector.id_of_component(slot, column)?;
        let mut value = None;
        self.rows.row(id, &mut |row| {
            let class = self.replication.classes.get(usize::from(row.class));
            let place = class.and_then(|class| class.fields.get(column)?.as_ref());
            let cells = place.and_then(|place| place.in_row(row.cells));
            let mut map =
                |wire| self.collector.entity_of(tightwire::ObjectId::of_wire_entity(wire)?);
            let mut entities = WireEntities::new(&mut map);
            let read =
                cells.and_then(|cells| columns[column].column.decode_any(cells, &mut entities));
            value = read.and_then(|read| read.downcast::<C>().ok());
        });
        value.map(|value| *value)
    }
}

impl core::fmt::Debug for PastView<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("PastView").finish_non_exhaustive()
    }
}

/// Lag compensation for exclusive systems: the past is put into the world.
pub trait NetWorldExt {
    /// Puts the past into the world, as a client saw it when it made the input of this tick, calls
    /// `read`, and puts the present back: for collision queries that read components, where
    /// [`LagCompensation`] would have to copy all of them. `None` for the local player, who sees the
    /// present, and for an entity that is no client.
    ///
    /// Replicated components of entities that existed then have the values that the client saw, if
    /// they differ from the present ones by the resolution of the wire form, and are marked as
    /// changed, so that systems run by `read` follow. Entities that have spawned since, entities
    /// that the client owns, immutable components such as `ChildOf`, and components that are not
    /// replicated stay as they are. Changes that `read` makes to replicated components of other
    /// entities are lost; return what is to be changed, as the entities that were hit.
    ///
    /// ```
    /// use bevy_ecs::prelude::*;
    /// use bevy_tightwire::prelude::*;
    ///
    /// #[derive(Component, Wire, Default)]
    /// struct Position(#[wire(spatial, min = -500.0, max = 500.0, resolution = 0.01)] [f32; 2]);
    ///
    /// fn shoot(world: &mut World, shooter: Entity, at: f32) {
    ///     let find = |world: &mut World| {
    ///         let mut targets = world.query::<(Entity, &Position)>();
    ///         let hit = |(_, position): &(Entity, &Position)| (position.0[0] - at).abs() < 1.0;
    ///         targets.iter(world).find(hit).map(|(target, _)| target)
    ///     };
    ///     let target = world.rewound(shooter, find).unwrap_or_else(|| find(world));
    ///     println!("{target:?} is hit");
    /// }
    /// # let mut world = World::new();
    /// # let nobody = world.spawn(Position([5.0, 0.0])).id();
    /// # shoot(&mut world, nobody, 5.0);
    /// ```
    fn rewound<R>(&mut self, client: Entity, read: impl FnOnce(&mut World) -> R) -> Option<R>;
}

impl NetWorldExt for World {
    fn rewound<R>(&mut self, client: Entity, read: impl FnOnce(&mut World) -> R) -> Option<R> {
        let past = PastCells::new(self, client)?;
        let undo: Vec<_> = self.resource_scope(|world, mut replication: Mut<'_, Replication>| {
            let columns = replication.columns.iter_mut().zip(&past.columns);
            let rewind = columns.map(|(entry, list)| {
                let cells = |range: &Range<usize>| past.cells.get(range.clone()).unwrap_or(&[]);
                let list: Vec<_> =
                    list.iter().map(|(entity, range)| (*entity, cells(range))).collect();
                entry.column.rewind(world, &list)
            });
            rewind.collect()
        });
        let result = read(self);
        undo.into_iter().for_each(|undo| undo(self));
        Some(result)
    }
}

/// The cells of replicated components, as a client saw them.
struct PastCells {
    cells: Vec<u32>,
    /// Entities that had a component, and the places of its cells; by column.
    columns: Vec<Vec<(Entity, Range<usize>)>>,
}

impl PastCells {
    fn new(world: &World, client: Entity) -> Option<Self> {
        let peer = world.get::<ConnectedClient>(client)?.peer?;
        let server = world.get_resource::<NetServer>()?;
        let replication = world.get_resource::<Replication>()?;
        let collector = world.get_resource::<Collector>()?;
        let mut past =
            Self { cells: Vec::new(), columns: vec![Vec::new(); replication.columns.len()] };
        let is_own = |entity| world.get::<OwnedBy>(entity) == Some(&OwnedBy(client));
        server.0.as_seen_by(peer, &mut |rows| {
            for (entity, id) in collector.objects().filter(|(entity, _)| !is_own(*entity)) {
                rows.row(id, &mut |row| {
                    let class = replication.classes.get(usize::from(row.class));
                    let fields = class.map_or(&[][..], |class| &class.fields);
                    for (list, place) in past.columns.iter_mut().zip(fields) {
                        let Some(cells) = place.as_ref().and_then(|place| place.in_row(row.cells))
                        else {
                            continue;
                        };
                        let start = past.cells.len();
                        past.cells.extend_from_slice(cells);
                        list.push((entity, start..past.cells.len()));
                    }
                });
            }
        });
        Some(past)
    }
}
