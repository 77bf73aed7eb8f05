//! Owners, scopes and priorities, as components that systems change.

use bevy_app::App;
use bevy_ecs::component::Component;
use bevy_ecs::entity::Entity;
use bevy_ecs::hierarchy::{ChildOf, Children};
use bevy_ecs::lifecycle::{Insert, Remove};
use bevy_ecs::observer::On;
use bevy_ecs::prelude::{Bundle, ResMut, With, World};
use bevy_math::Vec3;
use tightwire::PeerId;
use tightwire::snapshot::{RoomId, Scope, TeamId};

use super::{Collector, NetSlot};
use crate::classes::Replication;
use crate::face::ServerFace;
use crate::owner::{ConnectedClient, OwnedBy};

/// The clients to which an entity is relevant. Without this component it is relevant to all:
/// [`Scope::Always`].
///
/// An entity is always relevant to its owner. To others a child of a replicated entity is relevant
/// only where its parent is too. [`Scope::Custom`] needs a function of the snapshot layer, which an app
/// does not have: it is as [`Scope::Always`].
#[derive(Component, Clone, Copy, PartialEq, Debug, Default)]
#[component(immutable)]
pub struct NetScope(pub Scope);

/// The weight by which an entity's priority is multiplied when the budget is too small for all
/// entities. Without this component, 1.
#[derive(Component, Clone, Copy, PartialEq, Eq, Debug)]
#[component(immutable)]
pub struct NetPriority(pub u8);

/// The rooms that a client is in, on its [`ConnectedClient`] entity.
#[derive(Component, Clone, PartialEq, Debug, Default)]
#[component(immutable)]
pub struct ClientRooms(pub Vec<RoomId>);

/// The team of a client, on its [`ConnectedClient`] entity.
#[derive(Component, Clone, Copy, PartialEq, Debug)]
#[component(immutable)]
pub struct ClientTeam(pub TeamId);

/// The positions from which a client sees the world, on its [`ConnectedClient`] entity. Without
/// this component, the positions of the entities that the client owns.
#[derive(Component, Clone, PartialEq, Debug, Default)]
#[component(immutable)]
pub struct Viewer(pub Vec<Vec3>);

/// Marks an entity that both sides spawn in the same tick with the same number: the owner predicts
/// the spawn. When the server's object arrives, the owner's entity becomes its entity.
///
/// The number distinguishes the spawns of one client in one tick. The game chooses it, since two
/// worlds iterate over their entities in different orders.
#[derive(Component, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[component(immutable, on_add = crate::client::on_prespawned)]
pub struct PreSpawned(pub u8);

/// Entities whose owner, scope, priority or parent changed, and clients whose rooms, team or viewers
/// did.
#[derive(Debug, Default)]
pub(super) struct Relevancy {
    entities: Vec<Entity>,
    spawned: Vec<Entity>,
    clients: Vec<Entity>,
}

impl Relevancy {
    pub(super) fn clear(&mut self) {
        self.entities.clear();
        self.spawned.clear();
        self.clients.clear();
    }

    /// Begins with these entities, and all clients.
    pub(super) fn start_over(&mut self, world: &mut World, entities: impl Iterator<Item = Entity>) {
        self.clear();
        self.entities.extend(entities);
        let mut clients = world.query_filtered::<Entity, With<ConnectedClient>>();
        self.clients.extend(clients.iter(world));
    }

    /// Notes a new object. The children that its entity already has follow it from now on.
    pub(super) fn handle_spawned(&mut self, entity: Entity, children: Option<&Children>) {
        self.spawned.push(entity);
        self.entities.extend(children.into_iter().flatten());
    }

    pub(super) fn handle_changed(&mut self, entity: Entity) {
        self.entities.push(entity);
    }

    pub(super) fn handle_client(&mut self, client: Entity) {
        self.clients.push(client);
    }
}

pub(super) fn build(app: &mut App) {
    fn insert<B: Bundle>(inserted: On<'_, '_, Insert, B>, mut all: ResMut<'_, Collector>) {
        all.handle_scope(inserted.entity);
    }
    fn remove<B: Bundle>(removed: On<'_, '_, Remove, B>, mut all: ResMut<'_, Collector>) {
        all.handle_scope(removed.entity);
    }
    fn insert_client<B: Bundle>(inserted: On<'_, '_, Insert, B>, mut all: ResMut<'_, Collector>) {
        all.handle_client(inserted.entity);
    }
    fn remove_client<B: Bundle>(removed: On<'_, '_, Remove, B>, mut all: ResMut<'_, Collector>) {
        all.handle_client(removed.entity);
    }
    app.add_observer(insert::<OwnedBy>)
        .add_observer(remove::<OwnedBy>)
        .add_observer(insert::<ChildOf>)
        .add_observer(remove::<ChildOf>)
        .add_observer(insert::<NetScope>)
        .add_observer(remove::<NetScope>)
        .add_observer(insert::<NetPriority>)
        .add_observer(remove::<NetPriority>)
        .add_observer(insert_client::<ClientRooms>)
        .add_observer(remove_client::<ClientRooms>)
        .add_observer(insert_client::<ClientTeam>)
        .add_observer(remove_client::<ClientTeam>)
        .add_observer(insert_client::<Viewer>)
        .add_observer(remove_client::<Viewer>);
}

/// Hands the changes to the server.
pub(super) fn write(
    world: &World,
    replication: &Replication,
    collector: &mut Collector,
    server: &mut dyn ServerFace,
) {
    let peer_of = |client: Entity| -> Option<PeerId> { world.get::<ConnectedClient>(client)?.peer };
    let mut relevancy = core::mem::take(&mut collector.relevancy);
    let spawned = relevancy.spawned.drain(..).map(|entity| (entity, true));
    let changed = relevancy.entities.drain(..).map(|entity| (entity, false));
    for (entity, is_new) in spawned.chain(changed) {
        let Some(slot) = world.get::<NetSlot>(entity).copied() else { continue };
        let Some(id) = collector.id_of(slot) else { continue };
        let scope = world.get::<NetScope>(entity).map(|scope| scope.0);
        let weight = world.get::<NetPriority>(entity).map(|priority| priority.0);
        if !is_new || scope.is_some() {
            server.set_scope(id, scope.unwrap_or_default());
        }
        if !is_new || weight.is_some() {
            server.set_weight(id, weight.unwrap_or(1));
        }
        let parent = world.get::<ChildOf>(entity).and_then(|child| {
            let slot = world.get::<NetSlot>(child.parent())?;
            collector.id_of(*slot)
        });
        if !is_new || parent.is_some() {
            server.set_parent(id, parent);
        }
        let owner = world.get::<OwnedBy>(entity).and_then(|owner| peer_of(owner.0));
        let prespawned = world.get::<PreSpawned>(entity).filter(|_| is_new);
        server.set_owner(id, owner, prespawned.map(|prespawned| prespawned.0.into()));
        let relevancy = (owner, weight.unwrap_or(1));
        collector.parts.set_relevancy(world, replication, server, slot, relevancy);
    }
    collector.parts.follow(replication, server);
    relevancy.clients.sort_unstable();
    relevancy.clients.dedup();
    for client in relevancy.clients.drain(..) {
        let Some(peer) = peer_of(client) else { continue };
        let rooms = world.get::<ClientRooms>(client).map_or(&[][..], |rooms| &rooms.0);
        server.set_rooms(peer, rooms);
        server.set_team(peer, world.get::<ClientTeam>(client).map(|team| team.0));
        let viewers = world.get::<Viewer>(client).map_or(&[][..], |viewer| &viewer.0);
        let viewers: Vec<_> = viewers.iter().map(|position| position.to_array()).collect();
        server.set_viewers(peer, &viewers);
    }
    collector.relevancy = relevancy;
}
