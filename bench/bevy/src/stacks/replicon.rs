//! `bevy_replicon`, whose messages are carried by hand, without a transport, or by `renet`.

use std::time::Duration;

use bevy_app::{App, PluginGroup};
use bevy_replicon::prelude::*;
use bevy_replicon::test_app::{ServerTestAppExt, TestClientEntity};
use bevy_state::app::StatesPlugin;
use bevy_time::TimePlugin;
use bytes::Bytes;
use renet::{ChannelConfig, ConnectionConfig, RenetClient, RenetServer, SendType};

use super::{Delayed, NETCODE, Stack};
use crate::scene::{
    HERTZ, Interacting, PackedPosition, PackedRotation, Player, Position, Rotation, add_scene,
};

struct Replicon {
    server: App,
    clients: Vec<App>,
    frame: usize,
    to_clients: Delayed<(usize, usize, Bytes)>,
    to_server: Delayed<(usize, usize, Bytes)>,
    payload: u64,
    renet: Option<Renet>,
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

/// Starts apps whose messages are carried by hand.
pub(super) fn start(player: Player, clients: usize, register: fn(&mut App)) -> Box<dyn Stack> {
    Box::new(start_apps(player, clients, register))
}

/// Starts apps whose messages are carried by `renet`.
pub(super) fn over_renet(player: Player, clients: usize) -> Box<dyn Stack> {
    let mut stack = start_apps(player, clients, by_hand);
    let channels = stack.server.world().resource::<RepliconChannels>();
    stack.renet = Some(Renet::new(channels, clients));
    Box::new(stack)
}

fn start_apps(player: Player, clients: usize, register: fn(&mut App)) -> Replicon {
    let mut server = app(register);
    let mut clients: Vec<_> = (0..clients).map(|_| app(register)).collect();
    for client in &mut clients {
        server.connect_client(client);
    }
    let bodies = player.bodies().map(|body| (Replicated, body));
    server.world_mut().spawn_batch(bodies);
    server.insert_resource(player);
    Replicon {
        server,
        clients,
        frame: 0,
        to_clients: Delayed::new(),
        to_server: Delayed::new(),
        payload: 0,
        renet: None,
    }
}

/// The transport that `bevy_replicon_renet` uses, without its encryption and its sockets.
struct Renet {
    server: RenetServer,
    clients: Vec<RenetClient>,
    to_clients: Delayed<(usize, Vec<u8>)>,
    to_server: Delayed<(usize, Vec<u8>)>,
    /// Numbers of channels to clients and to the server.
    channels: [u8; 2],
    /// Bytes of all datagrams to clients.
    datagrams: u64,
}

impl Renet {
    fn new(channels: &RepliconChannels, clients: usize) -> Self {
        let config = ConnectionConfig {
            server_channels_config: configs(channels.server_channels()),
            client_channels_config: configs(channels.client_channels()),
            ..ConnectionConfig::default()
        };
        let channels = [&config.server_channels_config, &config.client_channels_config];
        let channels = channels.map(|channels| channels.len() as u8);
        let mut server = RenetServer::new(config.clone());
        let connect = |number: usize| {
            server.add_connection(number as u64);
            let mut client = RenetClient::new(config.clone());
            client.set_connected();
            client
        };
        let clients = (0..clients).map(connect).collect();
        let (to_clients, to_server) = (Delayed::new(), Delayed::new());
        Self { server, clients, to_clients, to_server, channels, datagrams: 0 }
    }

    /// Carries packets for a frame.
    fn exchange(&mut self, frame: usize) {
        let step = Duration::from_secs(1) / HERTZ;
        self.server.update(step);
        for (place, client) in self.clients.iter_mut().enumerate() {
            client.update(step);
            for packet in self.server.get_packets_to_send(place as u64).unwrap_or_default() {
                self.datagrams += packet.len() as u64 + NETCODE;
                self.to_clients.push(frame, (place, packet));
            }
            for packet in client.get_packets_to_send() {
                self.to_server.push(frame, (place, packet));
            }
        }
        while let Some((place, packet)) = self.to_clients.pop(frame) {
            self.clients[place].process_packet(&packet);
        }
        while let Some((place, packet)) = self.to_server.pop(frame) {
            // A packet of a client that is gone would be a bug that the comparison at the end shows.
            let _ = self.server.process_packet_from(&packet, place as u64);
        }
    }
}

/// Returns the channels of `renet`, as `bevy_replicon_renet` makes them.
fn configs(channels: &[Channel]) -> Vec<ChannelConfig> {
    let resend_time = Duration::from_millis(300);
    let config = |(number, channel): (usize, &Channel)| ChannelConfig {
        channel_id: number as u8,
        max_memory_usage_bytes: 5 * 1024 * 1024,
        send_type: match channel {
            Channel::Unreliable => SendType::Unreliable,
            Channel::Unordered => SendType::ReliableUnordered { resend_time },
            Channel::Ordered => SendType::ReliableOrdered { resend_time },
        },
    };
    channels.iter().enumerate().map(config).collect()
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
                match &mut self.renet {
                    Some(renet) => renet.server.send_message(place as u64, channel as u8, message),
                    None => self.to_clients.push(frame, (place, channel, message)),
                }
            }
        }
        for (place, client) in self.clients.iter_mut().enumerate() {
            let mut there = client.world_mut().resource_mut::<ClientMessages>();
            for (channel, message) in there.drain_sent() {
                match &mut self.renet {
                    Some(renet) => renet.clients[place].send_message(channel as u8, message),
                    None => self.to_server.push(frame, (place, channel, message)),
                }
            }
        }
        if let Some(renet) = &mut self.renet {
            renet.exchange(frame);
            let [to_clients, to_server] = renet.channels;
            for (place, client) in self.clients.iter_mut().enumerate() {
                for channel in 0..to_server {
                    while let Some(message) = renet.server.receive_message(place as u64, channel) {
                        here.insert_received(entities[place], channel, message);
                    }
                }
                let mut there = client.world_mut().resource_mut::<ClientMessages>();
                for channel in 0..to_clients {
                    while let Some(message) = renet.clients[place].receive_message(channel) {
                        there.insert_received(channel, message);
                    }
                }
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
        self.renet.as_ref().map(|renet| renet.datagrams)
    }
}
