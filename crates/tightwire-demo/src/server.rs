//! The server: simulates the world, which the play layer replicates to the clients.
//!
//! Server and clients are threads that communicate only through their sockets. A `Socket` around
//! `Udp` on the client's side simulates the bad network. Besides their sockets, the threads share
//! the published values, and the server's last worlds, by which each client checks that it has
//! exactly the same state.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::thread;
use std::time::Duration;

use tightwire::inspect::CaptureWriter;
use tightwire::inspect::Captured;
use tightwire::play::{Server, ServerConfig, ServerEvent, To};
use tightwire::quic::{Certificate, Quic, Socket as _, Udp};
use tightwire::token::{TokenGate, TokenKey};
use tightwire::transport::Transport;
use tightwire::{Delivery, PeerId};

use super::cpu_timer::CpuTimer;
use super::game::{self, Chat, Steer};
use super::pace::TICKS_PER_SECOND;
use super::server_history::{TickState, clamp, cube};
use super::shared::{Shared, lock};
use super::world::{Motion, Physics, World};

/// Arguments of [`run`].
pub(super) struct ServerSetup {
    pub(super) socket: Udp,
    pub(super) certificate: Certificate,
    pub(super) key: TokenKey,
    pub(super) config: ServerConfig,
    pub(super) seed: u64,
    /// File for a capture of the server's packets; `None` without a capture.
    pub(super) record: Option<File>,
}

/// Runs the server until the demo is stopped.
pub(super) fn run(setup: ServerSetup, shared: &Shared) -> Result<(), String> {
    let ServerSetup { socket, certificate, key, config, seed, record } = setup;
    let address = socket.address();
    let transport = Quic::listen(socket, &certificate, game::quic()).map_err(error_text)?;
    let gate = TokenGate::new(vec![key], SERVER_NAME);
    let Some(file) = record else {
        let server = game::game().serve(config, gate, transport).map_err(error_text)?;
        return DemoServer::new(shared, server, seed).run();
    };
    let unix_start = config.session.unix_start;
    let description = game::game().describe(&config.snapshot).map_err(error_text)?;
    let (identity, objects) = (&description.identity, &description.objects);
    let writer = CaptureWriter::with_snapshots(BufWriter::new(file), identity, objects);
    let captured = Captured::new(transport, writer.map_err(error_text)?, address, unix_start);
    let server = game::game().serve(config, gate, captured).map_err(error_text)?;
    let mut server = DemoServer::new(shared, server, seed);
    server.run()?;
    match server.server.session().transport().error() {
        Some(error) => Err(format!("the recording ends too early: {error}")),
        None => Ok(()),
    }
}

fn error_text(error: impl ToString) -> String {
    error.to_string()
}

/// Server name in the clients' tokens.
pub(super) const SERVER_NAME: &str = "demo";

struct DemoServer<'s, T> {
    shared: &'s Shared,
    server: Server<Steer, T>,
    world: World,
    /// Numbers of the connected clients. A client's number is also the object id of its cube.
    clients: BTreeMap<PeerId, u32>,
    ticks: u64,
}

impl<'s, T: Transport> DemoServer<'s, T> {
    fn new(shared: &'s Shared, server: Server<Steer, T>, seed: u64) -> Self {
        let physics = Physics { motion: Motion::Glide, ..Physics::default() };
        let world = World::new(shared.clients.len() as u32, seed, physics);
        Self { shared, server, world, clients: BTreeMap::new(), ticks: 0 }
    }

    fn run(&mut self) -> Result<(), String> {
        let shared = self.shared;
        let mut cpu_timer = CpuTimer::new();
        while !shared.is_stopped() {
            cpu_timer.begin();
            self.server.receive(shared.now());
            self.handle_events();
            self.forward_chat();
            let rate = shared.live.controls().send_rate.max(1);
            self.server.set_snapshot_interval((TICKS_PER_SECOND + rate / 2) / rate);
            // `if`, not `while`: each of several late ticks gets a snapshot of its own.
            if let Some(tick) = self.server.begin_tick(shared.now()) {
                self.tick(tick.0)?;
                lock(&shared.server).cpu_time = cpu_timer.total();
            }
            self.server.send(shared.now());
            cpu_timer.end();
            shared.sleep_until(self.server.next_time());
        }
        // The clients stop at the same time, and disconnect by themselves until `end`.
        let end = shared.now() + SHUTDOWN_TIMEOUT;
        while shared.now() < end && self.server.peers().next().is_some() {
            self.server.receive(shared.now());
            while self.server.poll_event().is_some() {}
            self.server.send(shared.now());
            thread::sleep(shared.nap);
        }
        for peer in self.server.peers().collect::<Vec<_>>() {
            self.server.kick(peer, "the demo has ended");
        }
        self.server.send(shared.now());
        Ok(())
    }

    fn handle_events(&mut self) {
        while let Some(event) = self.server.poll_event() {
            match event {
                ServerEvent::Joined { peer, client, .. } => {
                    self.clients.insert(peer, client as u32);
                    self.server.world().set_owner(client as u32, Some(peer));
                }
                ServerEvent::Left { peer, .. } => drop(self.clients.remove(&peer)),
                ServerEvent::Refused { reason, .. } => {
                    let mut tally = lock(&self.shared.server);
                    tally.refused += 1;
                    tally.refusal.get_or_insert_with(|| reason.to_string());
                }
                _ => {}
            }
        }
    }

    fn forward_chat(&mut self) {
        while let Some((peer, chat)) = self.server.poll_message::<Chat>() {
            let Some(client) = self.clients.get(&peer) else { continue };
            let chat = Chat { client: *client as u8, text: chat.text };
            // A peer that cannot keep up does not get the line; the peer's report counts that.
            let _ = self.server.send_message(To::All, &chat, ORDERED);
        }
    }

    /// Simulates a tick, and hands its state to the play layer.
    fn tick(&mut self, tick: u32) -> Result<(), String> {
        for (peer, steer, _) in self.server.inputs() {
            if let Some(client) = self.clients.get(&peer) {
                self.world.set_input(*client, *steer);
            }
        }
        self.world.step();
        let mut objects = self.server.world();
        // The physics continues from the quantised state, as the owner's prediction does.
        for (id, player) in (0u32..).zip(self.world.players_mut()) {
            clamp(player);
            objects.set_rounded(id, player).map_err(error_text)?;
        }
        let bodies: Vec<_> = self.world.bodies().collect();
        let players: Vec<_> = self.world.players_mut().map(|player| player.clone()).collect();
        for (id, body) in (0u32..).zip(&bodies).skip(players.len()) {
            objects.set(id, &cube(body)).map_err(error_text)?;
        }
        let state = TickState::new(tick, bodies, players).ok_or("a cube cannot be sent")?;
        self.shared.server_history.push(state);
        self.count(tick);
        Ok(())
    }

    fn count(&mut self, tick: u32) {
        self.ticks += 1;
        let mut tally = lock(&self.shared.server);
        (tally.ticks, tally.tick) = (self.ticks, tick);
        tally.clients.resize_with(self.shared.clients.len(), Default::default);
        for (peer, client) in &self.clients {
            let Some(stats) = self.server.stats(*peer) else { continue };
            if let Some(counts) = tally.clients.get_mut(*client as usize) {
                counts.newest = stats;
                if stats.inputs.fresh == 0 {
                    counts.before_inputs = stats.inputs;
                }
            }
        }
    }
}

/// Delivery of chat: all lines, in order.
pub(super) const ORDERED: Delivery = Delivery::ReliableOrdered;

/// Time for which the server waits until its clients have left.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(400);
