//! A client: the entities of the server, interpolated or predicted.

mod map;
mod parts;
mod predict;
mod replica;
mod smooth;

use bevy_app::prelude::*;
use bevy_ecs::change_detection::Mut;
use bevy_ecs::prelude::*;
use bevy_state::state::NextState;
use bevy_time::{Real, Time};
use tightwire::play::{ClientEvent, ClientStats};

pub use map::EntityMap;
pub use predict::{NetEntityCommandsExt, Predicted};
pub(crate) use predict::{on_prespawned, step};
pub(crate) use replica::ClientReplica;
pub use replica::Remote;

use crate::classes::Replication;
use crate::face::ClientFace;
use crate::message;
use crate::mode::{self, ClientState, Disconnected, NetMode};
use crate::plugin::NetworkSet;
use crate::taken::{run_or_defer, with_taken};

/// The running client.
#[derive(Resource)]
pub(crate) struct NetClient(pub(crate) Box<dyn ClientFace>);

/// Returns the counters of the running client; `None` if the app is no client.
#[must_use]
pub fn client_stats(world: &World) -> Option<ClientStats> {
    Some(world.get_resource::<NetClient>()?.0.stats())
}

pub(crate) fn build(app: &mut App) {
    app.add_systems(PreUpdate, receive.in_set(NetworkSet::Receive))
        .add_systems(PreUpdate, apply.in_set(NetworkSet::Apply));
}

fn receive(world: &mut World) {
    let now = world.resource::<Time<Real>>().elapsed();
    with_taken(world, |world, client: &mut NetClient| {
        client.0.receive(now);
        while let Some(event) = client.0.poll_event() {
            handle_event(world, event);
        }
    });
}

fn handle_event(world: &mut World, event: ClientEvent) {
    match event {
        ClientEvent::Connected { .. } => {
            ClientReplica::despawn_all(world);
            set_state(world, ClientState::Connected);
        }
        ClientEvent::Reconnecting { .. } => set_state(world, ClientState::Connecting),
        ClientEvent::Disconnected { reason } => {
            let reason = reason.to_string();
            run_or_defer(world, |world| {
                mode::stop(world);
                mode::begin(world, NetMode::Offline);
                world.write_message(Disconnected { reason });
            });
        }
        ClientEvent::Mine { id } | ClientEvent::NotMine { id } => {
            world.resource_mut::<ClientReplica>().handle_ownership(id);
        }
        ClientEvent::Matched { provisional, id } => {
            ClientReplica::handle_match(world, provisional, id);
        }
        _ => {}
    }
}

fn set_state(world: &mut World, state: ClientState) {
    world.resource_mut::<NextState<ClientState>>().set(state);
}

/// Writes the shown states to the world, then hands out the messages that are bound to them.
fn apply(world: &mut World) {
    with_taken(world, |world, client: &mut NetClient| {
        if world.contains_resource::<Replication>() {
            world.resource_scope(|world, mut replication: Mut<'_, Replication>| {
                world.resource_scope(|world, mut replica: Mut<'_, ClientReplica>| {
                    replica.apply(world, &mut replication, &*client.0);
                });
            });
        }
        message::receive_from_server(world, &mut *client.0);
    });
}
