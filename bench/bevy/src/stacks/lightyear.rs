//! `lightyear`, whose packets are carried by hand: without encryption and sockets.

use std::net::SocketAddr;

use bevy_app::App;
use bevy_ecs::prelude::*;
use bevy_replicon::prelude::AppRuleExt;
use bevy_state::app::StatesPlugin;
use bevy_time::TimePlugin;
use bytes::{Bytes, BytesMut};
use lightyear::prelude::client::{ClientPlugins, RawClient};
use lightyear::prelude::server::{LinkOf, RawServer, ServerPlugins};
use lightyear::prelude::{
    AppComponentExt, Link, Linked, LocalAddr, NetworkTarget, PeerAddr, Replicate,
    ReplicationReceiver, ReplicationSender,
};

use super::{DELAY, Delayed, NETCODE, Stack};
use crate::scene::{
    FRAME, Interacting, PackedPosition, PackedRotation, Player, Position, Rotation, add_scene,
};

struct Lightyear {
    server: App,
    clients: Vec<App>,
    /// The entity of each client's link on the server, and on the client.
    links: Vec<(Entity, Entity)>,
    frame: usize,
    to_clients: Delayed<(usize, Bytes)>,
    to_server: Delayed<(usize, Bytes)>,
    payload: u64,
    packets: u64,
}

/// Registers the components in the quantised form of the lines of `bevy_replicon`, by which
/// `lightyear` replicates.
fn register(app: &mut App) {
    app.component::<Position>();
    app.component::<Rotation>();
    app.replicate_as::<Position, PackedPosition>().replicate_as::<Rotation, PackedRotation>();
    app.component::<Interacting>().replicate();
}

fn finish(app: &mut App) {
    register(app);
    add_scene(app);
    app.finish();
    app.cleanup();
}

pub(super) fn start(player: Player, count: usize) -> Box<dyn Stack> {
    let address = |number: usize| SocketAddr::from(([10, 0, 1, 1], 1000 + number as u16));
    let mut server = App::new();
    server.add_plugins((TimePlugin, StatesPlugin, ServerPlugins { tick_duration: FRAME }));
    finish(&mut server);
    let listener = server.world_mut().spawn(RawServer).id();
    server.world_mut().entity_mut(listener).insert(Linked);
    server.update();
    let (mut clients, mut links) = (Vec::new(), Vec::new());
    for number in 1..=count {
        let mut client = App::new();
        client.add_plugins((TimePlugin, StatesPlugin, ClientPlugins { tick_duration: FRAME }));
        finish(&mut client);
        let link = (Link::default(), PeerAddr(address(number)), LinkOf { server: listener });
        let here = server.world_mut().spawn((link, ReplicationSender)).id();
        server.world_mut().entity_mut(here).insert(Linked);
        let link = (Link::default(), LocalAddr(address(number)), PeerAddr(address(0)));
        let there = client.world_mut().spawn((RawClient, link, ReplicationReceiver)).id();
        client.world_mut().entity_mut(there).insert(Linked);
        client.update();
        clients.push(client);
        links.push((here, there));
    }
    server.update();
    let replicated = || Replicate::to_clients(NetworkTarget::All);
    for body in player.bodies() {
        server.world_mut().spawn((replicated(), body));
    }
    server.insert_resource(player);
    Box::new(Lightyear {
        server,
        clients,
        links,
        frame: 0,
        to_clients: Delayed::new(),
        to_server: Delayed::new(),
        payload: 0,
        packets: 0,
    })
}

/// Takes the packets that an app has for a link.
fn drain(app: &mut App, link: Entity) -> Vec<Bytes> {
    let link = app.world_mut().get_mut::<Link>(link);
    link.map(|mut link| link.send.drain().collect()).unwrap_or_default()
}

/// Tells a link its round trip. `lightyear` measures it by the wall clock, which is not the clock of
/// these apps, and would take every packet for lost before its ack can come.
fn set_round_trip(app: &mut App, link: Entity) {
    if let Some(mut link) = app.world_mut().get_mut::<Link>(link) {
        link.stats.rtt = 2 * DELAY as u32 * FRAME;
    }
}

/// Gives a packet to an app.
fn deliver(app: &mut App, link: Entity, packet: &Bytes) {
    if let Some(mut link) = app.world_mut().get_mut::<Link>(link) {
        link.recv.push_raw(BytesMut::from(&packet[..]));
    }
}

impl Stack for Lightyear {
    fn server(&mut self) -> &mut App {
        &mut self.server
    }

    fn clients(&mut self) -> &mut [App] {
        &mut self.clients
    }

    fn exchange(&mut self) {
        self.frame += 1;
        let frame = self.frame;
        for (place, (here, there)) in self.links.iter().enumerate() {
            for packet in drain(&mut self.server, *here) {
                self.payload += packet.len() as u64;
                self.packets += 1;
                self.to_clients.push(frame, (place, packet));
            }
            for packet in drain(&mut self.clients[place], *there) {
                self.to_server.push(frame, (place, packet));
            }
        }
        for (place, (here, there)) in self.links.iter().enumerate() {
            set_round_trip(&mut self.server, *here);
            set_round_trip(&mut self.clients[place], *there);
        }
        while let Some((place, packet)) = self.to_server.pop(frame) {
            deliver(&mut self.server, self.links[place].0, &packet);
        }
        while let Some((place, packet)) = self.to_clients.pop(frame) {
            deliver(&mut self.clients[place], self.links[place].1, &packet);
        }
    }

    fn payload(&mut self) -> u64 {
        self.payload
    }

    fn datagrams(&mut self) -> Option<u64> {
        Some(self.payload + NETCODE * self.packets)
    }
}
