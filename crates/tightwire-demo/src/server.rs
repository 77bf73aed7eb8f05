//! The server: simulates the world and sends snapshots of it.
//!
//! Server and clients are threads that communicate only through their sockets; the bad network is a
//! `Socket` around `Udp` on the client's side. They share the published values, and the server's
//! last worlds, which check that each client has exactly the same.

use std::fs::File;
use std::io::BufWriter;
use std::mem;
use std::thread;
use std::time::Duration;

use tightwire::inspect::CaptureWriter;
use tightwire::inspect::Captured;
use tightwire::quic::{Certificate, Quic, Socket as _, Udp};
use tightwire::snapshot::{Leaving, ReceiverId};
use tightwire::token::{TokenGate, TokenKey};
use tightwire::transport::Transport;
use tightwire::{Delivery, PeerId, Stage, snapshot};
use tightwire::{Server, SessionConfig, SessionEvent};

use super::busy::Busy;
use super::game::{self, BLOB_LENGTH, Chat, Inbox, Snapshot};
use super::pace::{Pace, TICKS_PER_SECOND};
use super::shared::{Shared, lock};
use super::truth::{Moment, cube, player};
use super::world::{Nature, World};

/// Arguments of [`run`].
pub(super) struct Setup {
    pub(super) socket: Udp,
    pub(super) certificate: Certificate,
    pub(super) key: TokenKey,
    pub(super) protocol: snapshot::Protocol,
    pub(super) session: SessionConfig,
    pub(super) seed: u64,
    /// File for a capture of the server's messages; `None` without a capture.
    pub(super) record: Option<File>,
}

/// Runs the server until the demo is stopped.
pub(super) fn run(setup: Setup, shared: &Shared) -> Result<(), String> {
    let Setup { socket, certificate, key, protocol, session, seed, record } = setup;
    let address = socket.address();
    let transport = Quic::listen(socket, &certificate, game::quic()).map_err(said)?;
    let gate = TokenGate::new(vec![key], SERVER_NAME);
    let Some(file) = record else {
        let builder = Server::builder(session).register(game::messages).with_tokens(gate);
        let server = builder.build(transport).map_err(said)?;
        return Host::new(shared, server, &protocol, seed).run();
    };
    let unix_start = session.unix_start;
    let builder = Server::builder(session).register(game::messages).with_tokens(gate);
    let identity = builder.capture_identity().map_err(said)?;
    let recorder = CaptureWriter::with_snapshots(BufWriter::new(file), &identity, &protocol);
    let captured = Captured::new(transport, recorder.map_err(said)?, address, unix_start);
    let server = builder.build(captured).map_err(said)?;
    let mut host = Host::new(shared, server, &protocol, seed);
    host.run()?;
    match host.server.transport().error() {
        Some(error) => Err(format!("the recording ends too early: {error}")),
        None => Ok(()),
    }
}

fn said(error: impl ToString) -> String {
    error.to_string()
}

/// Server name in the clients' tokens.
pub(super) const SERVER_NAME: &str = "demo";

struct Host<'s, T> {
    shared: &'s Shared,
    server: Server<Inbox, T>,
    sender: snapshot::Sender,
    world: World,
    guests: Vec<Guest>,
    inbox: Inbox,
    snapshot: Snapshot,
    /// Number of the newest tick. Differs from `ticks` where ticks were skipped.
    tick: u32,
    ticks: u64,
}

/// A connected client.
#[derive(Clone, Copy, Debug)]
struct Guest {
    peer: PeerId,
    client: u32,
    receiver: ReceiverId,
    /// Maximum length of a snapshot for this client, in bytes: what fits into a datagram.
    budget: usize,
}

impl<'s, T: Transport> Host<'s, T> {
    fn new(
        shared: &'s Shared,
        server: Server<Inbox, T>,
        protocol: &snapshot::Protocol,
        seed: u64,
    ) -> Self {
        Self {
            shared,
            server,
            sender: snapshot::Sender::new(protocol),
            world: World::new(shared.clients.len() as u32, seed, Nature::default()),
            guests: Vec::new(),
            inbox: Inbox::default(),
            snapshot: Snapshot::default(),
            tick: 0,
            ticks: 0,
        }
    }

    fn run(&mut self) -> Result<(), String> {
        let shared = self.shared;
        let (mut pace, mut busy) = (Pace::new(shared.now()), Busy::new());
        while !shared.is_stopped() {
            let now = shared.now();
            busy.begin();
            self.server.handle_input(now);
            if let Some(number) = pace.take(now) {
                self.tick(number as u32)?;
                lock(&shared.server).busy = busy.total();
            }
            self.server.transmit(shared.now());
            self.handle_events();
            busy.end();
            thread::sleep(shared.nap.min(pace.due().saturating_sub(shared.now())));
        }
        // The clients leave by themselves at the same time; the others are closed by `shut_down`.
        let end = shared.now() + FAREWELL;
        while shared.now() < end && self.server.peers().next().is_some() {
            self.server.receive(shared.now(), &mut self.inbox);
            self.server.transmit(shared.now());
            while self.server.poll_event().is_some() {}
            thread::sleep(shared.nap);
        }
        self.server.shut_down(shared.now());
        Ok(())
    }

    fn handle_events(&mut self) {
        while let Some(event) = self.server.poll_event() {
            match event {
                SessionEvent::Connected { peer, client, .. } => {
                    let receiver = self.sender.add_receiver(Leaving::Despawn);
                    let guest = Guest { peer, client: client as u32, receiver, budget: 1000 };
                    self.guests.push(guest);
                }
                SessionEvent::Disconnected { peer, .. } => {
                    self.guests.retain(|guest| {
                        if Some(guest.peer) == peer {
                            self.sender.remove_receiver(guest.receiver);
                        }
                        Some(guest.peer) != peer
                    });
                }
                SessionEvent::Refused { reason, .. } => {
                    let mut tally = lock(&self.shared.server);
                    tally.refused += 1;
                    tally.refusal.get_or_insert_with(|| reason.to_string());
                }
                _ => {}
            }
        }
    }

    fn tick(&mut self, number: u32) -> Result<(), String> {
        self.server.run_stage(Stage::Update, &mut self.inbox);
        self.hear();
        self.world.step();
        let before = mem::replace(&mut self.tick, number);
        self.sender.begin_tick(number);
        let players = self.shared.clients.len();
        let bodies: Vec<_> = self.world.bodies().collect();
        for (id, body) in (0..).zip(&bodies) {
            let is_player = (id as usize) < players;
            let set = match is_player {
                true => self.sender.set::<game::Player>(id, &player(body)),
                false => self.sender.set::<game::Cube>(id, &cube(body)),
            };
            set.map_err(|error| error.to_string())?;
        }
        let moment = Moment::new(self.tick, bodies, players).ok_or("a cube cannot travel")?;
        self.shared.truth.push(moment);
        self.send(before);
        self.count();
        Ok(())
    }

    /// Handles the received inputs and chats.
    fn hear(&mut self) {
        let guest_of = |guests: &[Guest], peer| guests.iter().find(|it| it.peer == peer).copied();
        for (peer, input) in self.inbox.inputs.drain(..) {
            let Some(guest) = guest_of(&self.guests, peer) else { continue };
            self.world.set_input(guest.client, input);
            if let Some(ack) = input.ack {
                self.sender.handle_ack(guest.receiver, ack);
            }
        }
        for (peer, chat) in mem::take(&mut self.inbox.chats) {
            let Some(guest) = guest_of(&self.guests, peer) else { continue };
            let chat = Chat { client: guest.client as u8, text: chat.text };
            // A peer that cannot keep up does not get the line; the peer's report counts that.
            let _ = self.server.broadcast(None, &chat, ORDERED);
        }
    }

    /// Sends snapshots to the clients if one is due; `before` is the previous tick.
    fn send(&mut self, before: u32) {
        let rate = self.shared.live.controls().send_rate;
        let turns = |tick: u32| u64::from(tick) * u64::from(rate) / u64::from(TICKS_PER_SECOND);
        if turns(self.tick) == turns(before) {
            return;
        }
        // With many clients, one tick is too short for all: the next one goes on where this one
        // stopped.
        let (start, count) = (self.shared.now(), self.guests.len().max(1));
        for place in 0..self.guests.len() {
            if self.shared.now() - start > SENDING {
                self.guests.rotate_left(place);
                return;
            }
            let Guest { peer, receiver, budget, .. } = self.guests[place % count];
            let in_flight = self.sender.in_flight(receiver).unwrap_or(0);
            if in_flight > MANY_IN_FLIGHT && !self.tick.is_multiple_of(4) {
                continue;
            }
            let Some(packet) = self.sender.snapshot(receiver, budget) else { continue };
            self.snapshot.packet.replace(packet);
            // A snapshot that cannot be sent counts as lost.
            let route = Delivery::Unreliable;
            let _ = self.server.send(peer, &self.snapshot, route);
        }
    }

    fn count(&mut self) {
        // The maximum length of datagrams hardly ever changes, and reports take time.
        self.ticks += 1;
        if self.ticks.is_multiple_of(30) {
            for guest in &mut self.guests {
                if let Some(report) = self.server.stats(guest.peer) {
                    let most = report.path.max_datagram.saturating_sub(HEADERS + BLOB_LENGTH);
                    guest.budget = most.min(MOST_BYTES);
                }
            }
        }
        let mut tally = lock(&self.shared.server);
        tally.ticks = self.ticks;
        tally.tick = self.tick;
        tally.in_flight.resize(self.shared.clients.len(), 0);
        for guest in &self.guests {
            if let Some(in_flight) = tally.in_flight.get_mut(guest.client as usize) {
                *in_flight = self.sender.in_flight(guest.receiver).unwrap_or(0);
            }
        }
    }
}

/// Delivery of chat: all lines, in order.
pub(super) const ORDERED: Delivery = Delivery::ReliableOrdered;

/// Length of the headers of batch and message, in bytes.
const HEADERS: usize = 2 + 5;

/// Maximum length of a snapshot, in bytes. Few paths carry more, and a larger datagram would be
/// lost as a whole.
const MOST_BYTES: usize = 1300;

/// Time for snapshots in a tick: the rest is for the physics.
const SENDING: Duration = Duration::from_millis(11);

/// Snapshots in flight above which fewer are sent: with a round-trip time of two seconds, there
/// would be more than the sender can track.
const MANY_IN_FLIGHT: u32 = 64;

/// Time for which the server waits until its clients have left.
const FAREWELL: Duration = Duration::from_millis(400);
