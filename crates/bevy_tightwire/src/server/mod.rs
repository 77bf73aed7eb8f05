//! The side with authority: its clients, and the entities that are replicated to them.

mod collect;
mod parts;
mod relevancy;

use bevy_app::prelude::*;
use bevy_ecs::entity::Entity;
use bevy_ecs::entity_disabling::Disabled;
use bevy_ecs::lifecycle::{Add, HookContext, Remove};
use bevy_ecs::observer::{Observer, On};
use bevy_ecs::prelude::*;
use bevy_ecs::world::DeferredWorld;
use bevy_time::{Real, Time};
use std::collections::HashMap;
use tightwire::PeerId;
use tightwire::play::ServerEvent;

pub(crate) use collect::{Collector, predicted_row};
pub use relevancy::{ClientRooms, ClientTeam, NetPriority, NetScope, PreSpawned, Viewer};

use crate::classes::Replication;
use crate::client::Remote;
use crate::face::ServerFace;
use crate::message;
use crate::mode::NetMode;
use crate::owner::{ConnectedClient, ConnectionLost, Simulated};
use crate::plugin::NetworkSet;
use crate::taken::with_taken;

/// Marks an entity as replicated. The side with authority inserts this component.
///
/// All registered components of the entity are then on every client to which it is relevant, until
/// it is despawned or the marker is removed. An entity that is
/// [`Disabled`](bevy_ecs::entity_disabling::Disabled) on the server is replicated as others are:
/// [`NetScope`] hides it from clients.
///
/// ```
/// use bevy_ecs::prelude::*;
/// use bevy_tightwire::prelude::*;
///
/// #[derive(Component, Wire, Default)]
/// struct Health(#[wire(range = 0..=100)] u8);
///
/// fn spawn(mut commands: Commands) {
///     commands.spawn((Replicated, Health(100)));
/// }
/// # bevy_ecs::system::assert_is_system(spawn);
/// ```
#[derive(Component, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[component(on_add = on_replicated, on_remove = on_not_replicated)]
pub struct Replicated;

/// The place of a replicated entity in the collector.
// A clone of the entity is another one, which gets a place of its own.
#[derive(Component, Clone, Copy, PartialEq, Eq, Debug)]
#[component(immutable, clone_behavior = Ignore)]
pub(crate) struct NetSlot(pub(crate) u32);

fn on_replicated(mut world: DeferredWorld<'_>, context: HookContext) {
    if world.get_resource::<NetMode>().is_none_or(|mode| mode.has_authority()) {
        world.commands().entity(context.entity).insert_if_new(Simulated);
    }
    if let Some(mut collector) = world.get_resource_mut::<Collector>() {
        collector.handle_spawned(context.entity);
    }
}

fn on_not_replicated(mut world: DeferredWorld<'_>, context: HookContext) {
    let slot = world.get::<NetSlot>(context.entity).copied();
    if let (Some(slot), Some(mut collector)) = (slot, world.get_resource_mut::<Collector>()) {
        collector.handle_despawned(slot);
    }
    if world.get_resource::<NetMode>().is_none_or(|mode| mode.has_authority()) {
        world.commands().entity(context.entity).try_remove::<(NetSlot, Simulated)>();
    }
}

/// Marks the replicated entities of this world as simulated by this side, or as not: a client
/// simulates only what it predicts.
pub(crate) fn set_simulated(world: &mut World, is_simulated: bool) {
    type Own = (With<Replicated>, Without<Remote>, Allow<Disabled>);
    let mut own = world.query_filtered::<Entity, Own>();
    let own: Vec<_> = own.iter(world).collect();
    for entity in own {
        let Ok(mut entity) = world.get_entity_mut(entity) else { continue };
        match is_simulated {
            true => entity.insert_if_new(Simulated),
            false => entity.remove::<Simulated>(),
        };
    }
}

/// Returns the object id of a replicated entity on a server; `None` before the entity's first tick,
/// and while no client is connected.
#[must_use]
pub fn object_of(world: &World, entity: Entity) -> Option<tightwire::ObjectId> {
    world.get_resource::<Collector>()?.id_of(*world.get::<NetSlot>(entity)?)
}

/// The running server.
#[derive(Resource)]
pub(crate) struct NetServer(pub(crate) Box<dyn ServerFace>);

/// The entities of connected clients.
#[derive(Resource, Default)]
pub(crate) struct Clients {
    by_peer: HashMap<PeerId, Entity>,
}

impl Clients {
    pub(crate) fn entity(&self, peer: PeerId) -> Option<Entity> {
        self.by_peer.get(&peer).copied()
    }
}

pub(crate) fn build(app: &mut App) {
    app.init_resource::<Clients>()
        .add_systems(PreUpdate, receive.in_set(NetworkSet::Receive))
        .add_systems(FixedLast, collect::collect.in_set(NetworkSet::Collect));
    relevancy::build(app);
}

/// Notes each removed component of a replicated entity, and each one that a filter depends on.
/// `RemovedComponents` would miss some: Bevy clears them in each frame, and not each frame has a
/// tick.
pub(crate) fn observe_moves(world: &mut World, replication: &Replication) {
    let deciding: Vec<_> = replication.deciding_components().collect();
    let mut components: Vec<_> = replication.columns.iter().map(|entry| entry.component).collect();
    components.extend(&deciding);
    components.sort_unstable();
    components.dedup();
    if components.is_empty() {
        return;
    }
    let observer = Observer::new(
        |removed: On<'_, '_, Remove>,
         slots: Query<'_, '_, &NetSlot, Allow<Disabled>>,
         mut all: ResMut<'_, Collector>| {
            let trigger = removed.trigger();
            if let (Some(_), Ok(slot)) = (trigger.new_archetype, slots.get(removed.entity)) {
                for component in trigger.components {
                    all.handle_moved(*slot, *component);
                }
            }
        },
    );
    world.spawn(observer.with_components(components));
    if deciding.is_empty() {
        return;
    }
    let observer = Observer::new(
        |added: On<'_, '_, Add>,
         slots: Query<'_, '_, &NetSlot, Allow<Disabled>>,
         mut all: ResMut<'_, Collector>| {
            if let Ok(slot) = slots.get(added.entity) {
                for component in added.trigger().components {
                    all.handle_moved(*slot, *component);
                }
            }
        },
    );
    world.spawn(observer.with_components(deciding));
}

fn receive(world: &mut World) {
    let now = world.resource::<Time<Real>>().elapsed();
    with_taken(world, |world, server: &mut NetServer| {
        server.0.receive(now);
        while let Some(event) = server.0.poll_event() {
            handle_event(world, event);
        }
        message::receive_from_clients(world, &mut *server.0);
    });
}

fn handle_event(world: &mut World, event: ServerEvent) {
    let entity = |world: &World, peer| world.resource::<Clients>().entity(peer);
    match event {
        ServerEvent::Joined { peer, client: number, user_data, address } => {
            let client = ConnectedClient { peer: Some(peer), number, user_data, address };
            let client = world.spawn(client).id();
            world.resource_mut::<Clients>().by_peer.insert(peer, client);
        }
        ServerEvent::Lost { peer, .. } => {
            // The game may have despawned it.
            let client = entity(world, peer).and_then(|client| world.get_entity_mut(client).ok());
            if let Some(mut client) = client {
                client.insert(ConnectionLost);
            }
        }
        ServerEvent::Resumed { peer } => {
            let client = entity(world, peer).and_then(|client| world.get_entity_mut(client).ok());
            if let Some(mut client) = client {
                client.remove::<ConnectionLost>();
            }
        }
        ServerEvent::Left { peer, .. } => {
            if let Some(client) = world.resource_mut::<Clients>().by_peer.remove(&peer) {
                let _ = world.try_despawn(client);
            }
        }
        ServerEvent::Refused { address, reason } => {
            log::info!("a connection from {address:?} was refused: {reason}");
        }
        _ => {}
    }
}
