//! Clients as entities, and the entities that they own.

use std::net::SocketAddr;

use bevy_ecs::component::Component;
use bevy_ecs::entity::Entity;
use bevy_ecs::lifecycle::{Insert, Remove};
use bevy_ecs::observer::On;
use bevy_ecs::prelude::{Commands, Query, With};
use tightwire::PeerId;

/// A client, as an entity on the side with authority. It is spawned when the client joins, and
/// despawned when the client leaves.
///
/// The local player of a listen server or of single player has this component too, with
/// [`LocalClient`]. So an observer of `On<Add, ConnectedClient>` can spawn a player in all modes.
#[derive(Component, Clone, PartialEq, Eq, Debug, Default)]
#[component(immutable)]
pub struct ConnectedClient {
    /// The peer of the session; `None` for the local player.
    pub peer: Option<PeerId>,
    /// Number of the client in its token, which the game's backend chose; 0 for the local player.
    /// Without tokens, clients are numbered as they join, from 1 on.
    pub number: u64,
    /// User data of the client's token; empty without one.
    pub user_data: Vec<u8>,
    /// Address of the client; `None` for the local player, or if the transport has no addresses.
    pub address: Option<SocketAddr>,
}

/// Marks the entity of the local player: on a listen server, in single player, and on a client.
#[derive(Component, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LocalClient;

/// Marks a [`ConnectedClient`] whose connection is lost, and which may resume.
#[derive(Component, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ConnectionLost;

/// The client that owns an entity: its inputs step the entity, and it predicts the entity. The
/// entity is despawned with its client.
///
/// The side with authority inserts this component. On a client, the client's own entities have it
/// too, with the entity of [`LocalClient`].
#[derive(Component, Clone, Copy, PartialEq, Eq, Debug)]
#[relationship(relationship_target = Owns)]
pub struct OwnedBy(pub Entity);

/// The entities that a client owns: the counterpart of [`OwnedBy`].
#[derive(Component, Clone, Debug, Default)]
#[relationship_target(relationship = OwnedBy, linked_spawn)]
pub struct Owns(Vec<Entity>);

/// Marks the entities of the local player, in all modes.
#[derive(Component, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[component(clone_behavior = Ignore)]
pub struct Owned;

/// Marks the entities that this side simulates: all replicated entities on the side with authority,
/// and the predicted entities on a client. Systems with `With<Simulated>` that change predicted
/// components need no run condition.
#[derive(Component, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[component(clone_behavior = Ignore)]
pub struct Simulated;

/// Adds `Owned` to the entities of the local player.
pub(crate) fn mark_owned(
    inserted: On<'_, '_, Insert, OwnedBy>,
    owners: Query<'_, '_, &OwnedBy>,
    local: Query<'_, '_, (), With<LocalClient>>,
    mut commands: Commands<'_, '_>,
) {
    let is_local = owners.get(inserted.entity).is_ok_and(|owner| local.contains(owner.0));
    let mut entity = commands.entity(inserted.entity);
    match is_local {
        true => entity.try_insert(Owned),
        false => entity.try_remove::<Owned>(),
    };
}

/// Removes `Owned` from an entity without an owner.
pub(crate) fn unmark_owned(removed: On<'_, '_, Remove, OwnedBy>, mut commands: Commands<'_, '_>) {
    commands.entity(removed.entity).try_remove::<Owned>();
}
