//! Prediction: the game's own fixed systems step the entities of this client ahead of the server.

use bevy_ecs::change_detection::Mut;
use bevy_ecs::component::Component;
use bevy_ecs::entity_disabling::Disabled;
use bevy_ecs::lifecycle::HookContext;
use bevy_ecs::system::EntityCommands;
use bevy_ecs::world::{DeferredWorld, EntityWorldMut, World};
use tightwire::ObjectId;
use tightwire::snapshot::RowBuffer;

use super::NetClient;
use super::map::EntityMap;
use super::replica::{ClientReplica, Remote};
use crate::classes::{Presence, Replication};
use crate::codec::WireEntities;
use crate::face::{ClientFace, SceneFace, Which};
use crate::history::LocalState;
use crate::mode::NetMode;
use crate::owner::{Owned, Simulated};
use crate::registry::Registry;
use crate::server::{PreSpawned, predicted_row};
use crate::step::{NetTick, run_tick};
use crate::taken::{run_or_defer, with_taken};

/// Marks an entity that this client predicts: its fixed systems step it, and the server corrects it.
#[derive(Component, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[component(clone_behavior = Ignore)]
pub struct Predicted;

/// Records an entity that a client spawns in advance.
pub(crate) fn on_prespawned(mut world: DeferredWorld<'_>, context: HookContext) {
    if world.get_resource::<NetMode>() == Some(&NetMode::Client)
        && let Some(mut replica) = world.get_resource_mut::<ClientReplica>()
    {
        replica.prespawned.push(context.entity);
        // Systems that run later in this tick step the entity, as they do on the server.
        world.commands().entity(context.entity).try_insert((Predicted, Simulated));
    }
}

/// Commands for entities that both sides despawn.
pub trait NetEntityCommandsExt {
    /// Despawns an entity in a fixed system. A client only hides the entity, by [`Disabled`], until
    /// the server has despawned it too. If the server does not, the client shows it again. A remote
    /// entity that the client does not predict stays until the server despawns it.
    fn net_despawn(&mut self);

    /// Begins or ends the prediction of an entity that this client does not own, for example one
    /// that it is about to touch.
    fn net_predict(&mut self, is_predicted: bool);
}

impl NetEntityCommandsExt for EntityCommands<'_> {
    fn net_predict(&mut self, is_predicted: bool) {
        self.queue_silenced(move |entity: EntityWorldMut<'_>| {
            let id = entity.world().get_resource::<EntityMap>().and_then(|map| map.id(entity.id()));
            run_or_defer(entity.into_world_mut(), move |world| {
                if let (Some(id), Some(mut client)) = (id, world.get_resource_mut::<NetClient>()) {
                    client.0.predict(id, is_predicted);
                }
            });
        });
    }

    fn net_despawn(&mut self) {
        self.queue_silenced(|mut entity: EntityWorldMut<'_>| {
            let is_client = entity.world().get_resource::<NetMode>() == Some(&NetMode::Client);
            if is_client && entity.contains::<Predicted>() {
                entity.insert(Disabled);
            } else if !is_client || !entity.contains::<Remote>() {
                entity.despawn();
            }
        });
    }
}

/// Runs the ticks that are due, replays first, and writes the shown states of the predicted
/// entities.
pub(crate) fn step(world: &mut World) {
    with_taken(world, |world, client: &mut NetClient| {
        client.0.take_input(world);
        while client.0.next_step(&mut |scene| run_step(world, scene)) {}
        // A frame may have replays and no new tick, and the next frame none of them.
        world.resource_mut::<NetTick>().is_replay = false;
        if world.contains_resource::<Replication>() {
            with_replica(world, |world, replica, replication, _| {
                replica.show_predicted(world, replication, &*client.0);
            });
        }
    });
}

fn with_replica(
    world: &mut World,
    run: impl FnOnce(&mut World, &mut ClientReplica, &mut Replication, &mut [Box<dyn LocalState>]),
) {
    world.resource_scope(|world, mut replication: Mut<'_, Replication>| {
        world.resource_scope(|world, mut replica: Mut<'_, ClientReplica>| {
            world.resource_scope(|world, mut registry: Mut<'_, Registry>| {
                run(world, &mut replica, &mut replication, &mut registry.local_state);
            });
        });
    });
}

fn run_step(world: &mut World, scene: &mut dyn SceneFace) {
    let tick = scene.tick();
    if !world.contains_resource::<Replication>() {
        return;
    }
    with_replica(world, |world, replica, replication, local| {
        replica.begin_step(world, replication, local, scene);
    });
    run_tick(world, NetTick { tick, is_replay: scene.is_replay() });
    with_replica(world, |world, replica, replication, local| {
        replica.end_step(world, replication, local, scene);
    });
}

impl ClientReplica {
    /// Sets the predicted entities to their states after the previous tick.
    fn begin_step(
        &mut self,
        world: &mut World,
        replication: &mut Replication,
        local: &mut [Box<dyn LocalState>],
        scene: &dyn SceneFace,
    ) {
        let before = scene.tick().saturating_sub(1);
        let mut ids = Vec::new();
        scene.simulated(&mut ids);
        // Entities that were spawned in advance after this tick: the replay spawns them again.
        let gone = |id: &ObjectId| id.0 >= FIRST_PROVISIONAL && ids.binary_search(id).is_err();
        let gone: Vec<_> = self.objects.keys().copied().filter(gone).collect();
        for id in gone {
            if let Some(object) = self.objects.get(&id) {
                local.iter_mut().for_each(|state| state.forget(object.entity));
            }
            self.despawn(world, replication, id);
            self.predicted.retain(|predicted| *predicted != id);
        }
        for &id in &ids {
            if !self.objects.contains_key(&id) {
                self.begin_prediction(world, replication, id);
            }
            let mut row = core::mem::take(&mut self.row);
            scene.row(id, &mut |state| row.copy_from(state));
            self.set_back(world, replication, local, id, &row, before);
            self.row = row;
            if let Some(object) = self.objects.get(&id) {
                scene.write_controls(world, object.entity, id);
            }
        }
        self.predicted = ids;
    }

    fn set_back(
        &mut self,
        world: &mut World,
        replication: &mut Replication,
        local: &mut [Box<dyn LocalState>],
        id: ObjectId,
        row: &RowBuffer,
        before: u32,
    ) {
        let Some(object) = self.objects.get_mut(&id) else { return };
        let row = row.row();
        let is_next = object.stepped_at == Some(before) && object.stepped.row() == row;
        let is_shown = core::mem::replace(&mut object.is_shown, false);
        if is_next && !is_shown {
            return;
        }
        let Some(class) = replication.classes.get(usize::from(row.class)) else { return };
        let entity = object.entity;
        let Ok(mut hidden) = world.get_entity_mut(entity) else { return };
        if hidden.contains::<Disabled>() {
            hidden.remove::<Disabled>();
        }
        for (column, entry) in replication.columns.iter_mut().enumerate() {
            let (true, Some(place)) = (entry.settings.is_predicted, &class.fields[column]) else {
                continue;
            };
            if !is_next {
                entry.column.restore(world, entity, before, place.in_row(row.cells));
            } else if let Ok(mut entity) = world.get_entity_mut(entity) {
                entry.column.put_back(&mut entity, before);
            }
        }
        if let Ok(mut entity) = world.get_entity_mut(entity)
            && !is_next
        {
            local.iter_mut().for_each(|state| state.restore(&mut entity, before));
        }
    }

    /// Hands the state after a tick to the play layer, and keeps it.
    fn end_step(
        &mut self,
        world: &mut World,
        replication: &mut Replication,
        local: &mut [Box<dyn LocalState>],
        scene: &mut dyn SceneFace,
    ) {
        let tick = scene.tick();
        self.spawn_in_advance(world, replication, scene);
        let mut row = core::mem::take(&mut self.row);
        for id in self.predicted.clone() {
            let Some(object) = self.objects.get_mut(&id) else { continue };
            let entity = world.get_entity_mut(object.entity).ok();
            let Some(mut entity) = entity.filter(|entity| !entity.contains::<Disabled>()) else {
                scene.remove(id);
                object.stepped_at = None;
                continue;
            };
            for entry in &mut replication.columns {
                if entry.settings.is_predicted && entry.settings.is_rounded {
                    entry.column.round(&mut entity);
                }
            }
            if !scene.row(id, &mut |state| row.copy_from(state)) {
                continue;
            }
            let Some(class) = replication.classes.get(usize::from(row.row().class)) else {
                continue;
            };
            let Ok(entity) = world.get_entity(object.entity) else { continue };
            let map = world.resource::<EntityMap>();
            for (column, entry) in replication.columns.iter_mut().enumerate() {
                let (true, Some(place)) = (entry.settings.is_predicted, &class.fields[column])
                else {
                    continue;
                };
                let mut map = |entity| map.map(entity);
                let mut entities = WireEntities::new(&mut map);
                let cells = row.cells_mut();
                match entry.column.quantise(entity, &mut entities) {
                    Ok(Some(written)) => {
                        cells[place.cells.clone()].copy_from_slice(written);
                        if let Presence::Bit { cell, bit } = place.presence {
                            cells[cell] |= bit;
                        }
                    }
                    Ok(None) => {
                        if let Presence::Bit { cell, bit } = place.presence {
                            cells[place.cells.clone()].fill(0);
                            cells[cell] &= !bit;
                        }
                    }
                    Err(error) => log::warn!("`{}` cannot be predicted: {error}", entry.name),
                }
                entry.column.record(entity, tick);
            }
            local.iter_mut().for_each(|state| state.record(entity, tick));
            if let Err(error) = scene.set_row(id, row.row()) {
                log::warn!("object {id} is not predicted: {error}");
            }
            object.stepped.copy_from(row.row());
            (object.stepped_at, object.is_shown) = (Some(tick), false);
        }
        self.row = row;
    }

    /// Hands the predicted spawns of the game to the play layer.
    fn spawn_in_advance(
        &mut self,
        world: &mut World,
        replication: &mut Replication,
        scene: &mut dyn SceneFace,
    ) {
        for entity in core::mem::take(&mut self.prespawned) {
            let Ok(spawned) = world.get_entity(entity) else { continue };
            let Some(&PreSpawned(ordinal)) = spawned.get() else { continue };
            let mut row = core::mem::take(&mut self.row);
            let made = predicted_row(world, replication, entity, &mut row);
            match scene.spawn_own_row(ordinal.into(), made) {
                Ok(id) => {
                    // A spawn that is predicted again: the server has confirmed it already.
                    if self.objects.get(&id).is_some_and(|object| object.entity != entity) {
                        self.despawn(world, replication, id);
                    }
                    self.adopt(world, replication.columns.len(), id, entity);
                    world.entity_mut(entity).insert((Remote, Owned));
                    if let Err(place) = self.predicted.binary_search(&id) {
                        self.predicted.insert(place, id);
                    }
                }
                Err(error) => {
                    log::warn!(
                        "entity {entity} cannot be spawned before the server spawns it: {error}"
                    );
                    let _ = world.try_despawn(entity);
                }
            }
            self.row = row;
        }
    }

    /// Writes the shown states of the predicted entities: interpolated between the last two ticks,
    /// with the offset of the last correction.
    fn show_predicted(
        &mut self,
        world: &mut World,
        replication: &mut Replication,
        client: &dyn ClientFace,
    ) {
        let mut row = core::mem::take(&mut self.row);
        let fraction = client.predicted_fraction();
        for id in &self.predicted {
            let Some(object) = self.objects.get_mut(id) else { continue };
            let is_corrected = client.is_corrected(*id);
            if !client.row(*id, Which::Shown, &mut |shown| row.copy_from(shown)) {
                continue;
            }
            let Some(class) = replication.classes.get(usize::from(row.row().class)) else {
                continue;
            };
            for (column, entry) in replication.columns.iter_mut().enumerate() {
                let settings = entry.settings;
                if !settings.is_predicted || !settings.is_interpolated {
                    continue;
                }
                if let (true, Some(tick)) = (settings.is_smooth && !is_corrected, object.stepped_at)
                    && let Ok(mut entity) = world.get_entity_mut(object.entity)
                    && entry.column.show_kept(&mut entity, tick, fraction)
                {
                    object.is_shown = true;
                    continue;
                }
                let place = class.fields[column].as_ref();
                if let Some(cells) = place.and_then(|place| place.in_row(row.row().cells)) {
                    entry.column.write(world, object.entity, cells);
                    object.is_shown = true;
                }
            }
        }
        self.row = row;
    }
}

/// The first provisional id: those of the server have 20 bits.
const FIRST_PROVISIONAL: u32 = 1 << 20;
