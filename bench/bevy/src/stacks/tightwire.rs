//! `bevy_tightwire` with its default settings: within the process, and over QUIC on a simulated
//! network.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bevy_app::{App, PluginGroup};
use bevy_tightwire::client_stats;
use bevy_tightwire::prelude::*;
use tightwire::link::LinkConfig;
use tightwire::quic::{Certificate, Network, Packet, Packets, Quic, QuicConfig, Socket, Trust};
use tightwire::session::OpenToAnyone;
use tightwire::snapshot::Level;
use tightwire::transport::{Connection, Event, NotSentError, Path, Reason, Transport};

use super::{DELAY, Stack};
use crate::scene::{FRAME, Interacting, Player, Position, Rotation, add_scene};

/// Registers the components of a cube as a group.
pub(super) fn grouped(app: &mut App) {
    app.add_plugins(TightwirePlugins::new("cubes", "1"));
    app.replicate::<(Position, Rotation, Interacting)>();
    add_scene(app);
}

/// Registers each component of a cube alone.
pub(super) fn ungrouped(app: &mut App) {
    app.add_plugins(TightwirePlugins::new("cubes", "1"));
    app.replicate::<Position>();
    app.replicate::<Rotation>();
    app.replicate::<Interacting>();
    add_scene(app);
}

/// Registers a group that is always sent at the faster level.
pub(super) fn packed(app: &mut App) {
    at_level(app, Level::Packed);
}

/// Registers a group that is always sent at the smaller level, also while there is plenty of
/// bandwidth.
pub(super) fn modeled(app: &mut App) {
    at_level(app, Level::Modeled);
}

fn at_level(app: &mut App, level: Level) {
    let mut server = TightwireServerPlugin::new("cubes", "1");
    server.config.snapshot.level = level;
    let mut client = TightwireClientPlugin::new("cubes", "1");
    client.config.snapshot = server.config.snapshot;
    app.add_plugins(TightwirePlugins::new("cubes", "1").set(server).set(client));
    app.replicate::<(Position, Rotation, Interacting)>();
    add_scene(app);
}

/// Makes an app complete.
fn app(game: fn(&mut App)) -> App {
    let mut app = App::new();
    game(&mut app);
    app.finish();
    app.cleanup();
    app
}

/// Spawns the scene on a server.
fn spawn(server: &mut App, player: Player) {
    let bodies = player.bodies().map(|body| (Replicated, body));
    server.world_mut().spawn_batch(bodies);
    server.insert_resource(player);
}

/// Sums the bytes of snapshots that clients have received.
fn payload(clients: &[App]) -> u64 {
    let stats = clients.iter().filter_map(|client| client_stats(client.world()));
    stats.map(|stats| stats.snapshot_bytes).sum()
}

/// Address of the server, and its name in the certificate.
const SERVER: ([u8; 4], u16) = ([10, 0, 0, 1], 7777);
const NAME: &str = "game.example";

struct OverQuic {
    server: App,
    clients: Vec<App>,
    /// Bytes of the server's datagrams.
    sent: Arc<AtomicU64>,
}

pub(super) fn over_quic(player: Player, count: usize) -> Box<dyn Stack> {
    let link = LinkConfig { latency: FRAME * DELAY as u32, ..LinkConfig::default() };
    let network = Network::new(link, 1);
    let config = || QuicConfig { seed: Some(1), ..QuicConfig::default() };
    let certificate = Certificate::self_signed([NAME]).expect("a certificate");
    let sent = Arc::new(AtomicU64::new(0));
    let socket = Counted { socket: network.socket(SERVER.into()), sent: sent.clone() };
    let transport = Quic::listen(socket, &certificate, config()).expect("a simulated server");
    let mut server = app(grouped);
    server.world_mut().commands().serve(transport, OpenToAnyone::default());
    server.world_mut().flush();
    spawn(&mut server, player);
    let clients = (1..=count).map(|number| {
        let mut client = app(grouped);
        let socket = network.socket(SocketAddr::from(([10, 0, 1, number as u8], 1000)));
        let trust = Trust::Pinned(vec![certificate.fingerprint()]);
        let transport =
            Quic::connect(socket, SERVER.into(), NAME, &trust, config(), Duration::ZERO)
                .expect("a simulated client");
        client.world_mut().commands().connect(transport, &[]);
        client.world_mut().flush();
        client
    });
    let clients = clients.collect();
    Box::new(OverQuic { server, clients, sent })
}

impl Stack for OverQuic {
    fn server(&mut self) -> &mut App {
        &mut self.server
    }

    fn clients(&mut self) -> &mut [App] {
        &mut self.clients
    }

    fn exchange(&mut self) {}

    fn payload(&mut self) -> u64 {
        payload(&self.clients)
    }

    fn datagrams(&mut self) -> Option<u64> {
        Some(self.sent.load(Relaxed))
    }
}

/// A socket that counts the bytes that it sends.
#[derive(Debug)]
struct Counted<S> {
    socket: S,
    sent: Arc<AtomicU64>,
}

impl<S: Socket> Socket for Counted<S> {
    fn receive(&mut self, now: Duration, take: &mut dyn FnMut(Packet<'_>) -> bool) {
        self.socket.receive(now, take);
    }

    fn send(&mut self, now: Duration, packets: &Packets<'_>) -> bool {
        self.sent.fetch_add(packets.bytes.len() as u64, Relaxed);
        self.socket.send(now, packets)
    }

    fn address(&self) -> SocketAddr {
        self.socket.address()
    }

    fn finds_mtu(&self) -> bool {
        self.socket.finds_mtu()
    }

    fn next_time(&self) -> Option<Duration> {
        self.socket.next_time()
    }
}

struct Within {
    server: App,
    clients: Vec<App>,
}

pub(super) fn in_process(player: Player, count: usize, game: fn(&mut App)) -> Box<dyn Stack> {
    let (mut server, mut clients) = (app(game), Vec::new());
    let (end, ends) = hub(count);
    server.world_mut().commands().serve(end, OpenToAnyone::default());
    server.world_mut().flush();
    spawn(&mut server, player);
    for end in ends {
        let mut client = app(game);
        client.world_mut().commands().connect(end, &[]);
        client.world_mut().flush();
        clients.push(client);
    }
    Box::new(Within { server, clients })
}

impl Stack for Within {
    fn server(&mut self) -> &mut App {
        &mut self.server
    }

    fn clients(&mut self) -> &mut [App] {
        &mut self.clients
    }

    fn exchange(&mut self) {}

    fn payload(&mut self) -> u64 {
        payload(&self.clients)
    }

    fn datagrams(&mut self) -> Option<u64> {
        None
    }
}

/// Batches of a connection in one direction, with the time at which each arrives.
type Lane = VecDeque<(Duration, Delivery, Vec<u8>)>;

/// Lanes to the server and to the client, by connection.
type Lanes = Arc<Mutex<Vec<[Lane; 2]>>>;

/// An end of queues between a server and clients.
struct End {
    lanes: Lanes,
    /// Place of a client's connection; `None` for the server.
    client: Option<usize>,
    /// Connections that were announced.
    announced: usize,
    now: Duration,
    batch: Vec<u8>,
}

fn hub(clients: usize) -> (End, Vec<End>) {
    let lanes: Lanes = Arc::new(Mutex::new((0..clients).map(|_| Default::default()).collect()));
    let end = |client: Option<usize>| End {
        lanes: lanes.clone(),
        client,
        announced: client.unwrap_or(0),
        now: Duration::ZERO,
        batch: Vec::new(),
    };
    (end(None), (0..clients).map(|client| end(Some(client))).collect())
}

fn lock(lanes: &Lanes) -> MutexGuard<'_, Vec<[Lane; 2]>> {
    lanes.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Transport for End {
    fn handle_input(&mut self, now: Duration) {
        self.now = now;
    }

    fn poll_event(&mut self) -> Option<Event<'_>> {
        let mut lanes = lock(&self.lanes);
        let own = self.client.map_or(0..lanes.len(), |client| client..client + 1);
        if self.announced < own.end {
            let connection = Connection(self.announced as u64);
            self.announced += 1;
            return Some(Event::Connected { connection, address: None });
        }
        for place in own {
            let lane = &mut lanes[place][usize::from(self.client.is_some())];
            if let Some((_, delivery, batch)) = lane.pop_front_if(|(at, ..)| *at <= self.now) {
                self.batch = batch;
                let from = Connection(place as u64);
                return Some(Event::Batch { from, delivery, batch: &self.batch });
            }
        }
        None
    }

    fn send(
        &mut self,
        to: Connection,
        delivery: Delivery,
        batch: &[u8],
    ) -> Result<(), NotSentError> {
        let lane = &mut lock(&self.lanes)[to.0 as usize][usize::from(self.client.is_none())];
        lane.push_back((self.now + FRAME * DELAY as u32, delivery, batch.to_vec()));
        Ok(())
    }

    fn pause(&mut self, _: Connection) {}

    fn close(&mut self, _: Connection, _: &Reason) {}

    fn handle_output(&mut self, _: Duration) {}

    fn path(&self, _: Connection) -> Option<Path> {
        Some(Path {
            max_datagram: 1200,
            max_fragmented: 1 << 20,
            round_trip: 2 * DELAY as u32 * FRAME,
            datagram_room: 1 << 16,
            ..Path::default()
        })
    }

    fn next_time(&self) -> Option<Duration> {
        None
    }
}
