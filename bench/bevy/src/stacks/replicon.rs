//! `bevy_replicon`, whose messages are carried by hand: without a transport.

use bevy_app::{App, PluginGroup};
use bevy_replicon::prelude::*;
use bevy_replicon::test_app::{ServerTestAppExt, TestClientEntity};
use bevy_state::app::StatesPlugin;
use bevy_time::TimePlugin;
use bytes::Bytes;

use super::{Delayed, Stack};
use crate::scene::{
    Interacting, PackedPosition, PackedRotation, Player, Position, Rotation, add_scene,
};

struct Replicon {
    server: App,
    clients: Vec<App>,
    frame: usize,
    to_clients: Delayed<(usize, usize, Bytes)>,
    to_server: Delayed<(usize, usize, Bytes)>,
    payload: u64,
}

/// Registers the components as they are.
pub(super) fn as_floats(app: &mut App) {
    app.replicate::<Position>().replicate::<Rotation>().replicate::<Interacting>();
}

/// Registers the components in a quantised form, as compact as a program can make it by hand.
pub(super) fn by_hand(app: &mut App) {
    app.replicate_as::<Position, PackedPosition>()
        .replicate_as::<Rotation, PackedRotation>()
        .replicate::<Interacting>();
}

fn app(register: fn(&mut App)) -> App {
    let mut app = App::new();
    app.add_plugins((TimePlugin, StatesPlugin, RepliconPlugins.build()));
    register(&mut app);
    add_scene(&mut app);
    app.finish();
    app.cleanup();
    app
}

pub(super) fn start(player: Player, clients: usize, register: fn(&mut App)) -> Box<dyn Stack> {
    let mut server = app(register);
    let mut clients: Vec<_> = (0..clients).map(|_| app(register)).collect();
    for client in &mut clients {
        server.connect_client(client);
    }
    let bodies = player.bodies().map(|body| (Replicated, body));
    server.world_mut().spawn_batch(bodies);
    server.insert_resource(player);
    Box::new(Replicon {
        server,
        clients,
        frame: 0,
        to_clients: Delayed::new(),
        to_server: Delayed::new(),
        payload: 0,
    })
}

impl Stack for Replicon {
    fn server(&mut self) -> &mut App {
        &mut self.server
    }

    fn clients(&mut self) -> &mut [App] {
        &mut self.clients
    }

    fn exchange(&mut self) {
        self.frame += 1;
        let frame = self.frame;
        let entities: Vec<_> = self
            .clients
            .iter()
            .map(|client| **client.world().resource::<TestClientEntity>())
            .collect();
        let mut here = self.server.world_mut().resource_mut::<ServerMessages>();
        for (client, channel, message) in here.drain_sent() {
            self.payload += message.len() as u64;
            if let Some(place) = entities.iter().position(|entity| *entity == client) {
                self.to_clients.push(frame, (place, channel, message));
            }
        }
        for (place, client) in self.clients.iter_mut().enumerate() {
            let mut there = client.world_mut().resource_mut::<ClientMessages>();
            for (channel, message) in there.drain_sent() {
                self.to_server.push(frame, (place, channel, message));
            }
        }
        while let Some((place, channel, message)) = self.to_server.pop(frame) {
            here.insert_received(entities[place], channel, message);
        }
        while let Some((place, channel, message)) = self.to_clients.pop(frame) {
            let mut there = self.clients[place].world_mut().resource_mut::<ClientMessages>();
            there.insert_received(channel, message);
        }
    }

    fn payload(&mut self) -> u64 {
        self.payload
    }

    fn datagrams(&mut self) -> Option<u64> {
        None
    }
}
