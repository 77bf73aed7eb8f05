//! The server of a game: ticks, inputs, and the world that players see.

mod assets;
mod config;
mod past;
mod peers;
mod player;
mod world;

use core::fmt;
use core::time::Duration;
use std::collections::VecDeque;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use tightwire_snapshot::{Level, ObjectView, Protocol, Sender};

pub use config::ServerConfig;
pub use past::Past;
pub use peers::{PeerPlayStats, ServerEvent};
use world::ServerWorld;
pub use world::World;

use super::budget::is_due;
use super::game::Declared;
use super::header::PlayHeader;
use super::input::InputKind;
use super::player_input::InputClass;
use super::resume::{LoginConfig, Logins, ResumeGate, ticket_key};
use super::scene::SceneBuffers;
use super::time::TickSchedule;
use super::{PREFIX, PlayError, PlayerInput, Scene, Tick};
use crate::message::{FRAME_PREFIX, Message, PeerId, Route, SendError, SentTo};
use crate::reason::Reason;
use crate::session::{self, Admit, SNAPSHOT_FRAME};
use crate::transport::Transport;

/// The server of a [`Game`](super::Game), over any [`Transport`].
///
/// A frame is [`receive`](Self::receive), then the game's step for each tick that
/// [`begin_tick`](Self::begin_tick) begins, then [`send`](Self::send). Every player has exactly one
/// input in each tick; a missing input is replaced by the last one, or by a neutral one. The server
/// handles snapshots, acks, budgets and relevancy.
///
/// `receive` should be called when packets arrive, or four times per tick: the clients' clocks
/// follow when their inputs arrived.
pub struct Server<I, T> {
    session: session::Server<(), T>,
    config: ServerConfig,
    tick_rate: u32,
    world: ServerWorld<I>,
    buffers: SceneBuffers,
    schedule: TickSchedule,
    /// The newest tick whose snapshots were not sent; `None` if all were.
    unsent: Option<u32>,
    logins: Logins,
    /// Players that have left, until the end of the frame.
    departed: Vec<PeerId>,
    events: VecDeque<ServerEvent>,
    /// Number of events of unauthenticated connections.
    refusals: usize,
    /// Number of connections that were closed for what they sent.
    violations: u64,
    input: InputClass<I>,
    now: Duration,
}

/// The recipients of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    /// One peer.
    Peer(PeerId),
    /// All peers.
    All,
    /// All peers but one.
    AllExcept(PeerId),
}

impl From<PeerId> for To {
    fn from(peer: PeerId) -> Self {
        Self::Peer(peer)
    }
}

impl<I: PlayerInput, T: Transport> Server<I, T> {
    pub(super) fn new(
        mut declared: Declared<I>,
        config: ServerConfig,
        gate: impl Admit + 'static,
        transport: T,
    ) -> Result<Self, PlayError> {
        let tick_rate = declared.tick_rate;
        config.check(tick_rate).map_err(PlayError::Limit)?;
        let mut settings = config.session.clone();
        settings.game.clone_from(&declared.session.game);
        settings.version.clone_from(&declared.session.version);
        settings.snapshots.clone_from(&declared.session.snapshots);
        settings.input.clone_from(&declared.session.input);
        let logins = Logins::new(LoginConfig {
            window: config.resume_window,
            max_lost: if config.resume_window.is_zero() { 0 } else { settings.max_clients },
            duplicates: config.duplicate_login,
            key: ticket_key(config.resume_key.as_ref(), &settings)
                .map_err(|_| PlayError::NoRandomNumbers)?,
        });
        let mut session = session::Server::builder(settings)
            .register(|builder| declared.register(builder))
            .with_tokens(ResumeGate::new(gate, logins.clone()))
            .build(transport)?;
        session.enable_frames();
        let mut sender = Sender::new(&declared.objects)
            .with_epoch(xxh3_64_with_seed(b"epoch", session.seed()) as u32);
        sender.set_relevancy(config.relevancy);
        for (class, object) in (0..).zip(&declared.configs) {
            sender.set_class_scope(class, declared.scope_of(class));
            sender.set_class_weight(class, object.weight);
        }
        sender.begin_tick(FIRST_TICK);
        Ok(Self {
            session,
            tick_rate,
            world: ServerWorld::new(&declared.objects, sender),
            buffers: SceneBuffers::default(),
            schedule: TickSchedule::new(tick_rate, config.max_late_ticks, FIRST_TICK),
            unsent: None,
            logins,
            departed: Vec::new(),
            events: VecDeque::new(),
            refusals: 0,
            violations: 0,
            input: declared.input,
            config,
            now: Duration::ZERO,
        })
    }

    /// Receives everything up to `now`: inputs, acks, messages, and players that come and go.
    pub fn receive(&mut self, now: Duration) {
        self.now = now;
        self.session.receive(now, &mut ());
        self.handle_session_events();
        self.handle_frames();
        self.refuse_server_messages();
        self.handle_asset_requests();
    }

    /// Begins the next tick if it is due, and returns its number: the inputs of all players in this
    /// tick are then settled. Call it until it returns `None`, and step the game each time.
    pub fn begin_tick(&mut self, now: Duration) -> Option<Tick> {
        let tick = self.schedule.begin_tick(now)?;
        self.world.tick = tick;
        self.world.sender.begin_tick(tick);
        for player in self.world.players.values_mut() {
            let acked = player.receiver.and_then(|receiver| self.world.sender.acked_tick(receiver));
            player.take_input(tick, &self.input, acked);
        }
        self.unsent = Some(tick);
        Some(Tick(tick))
    }

    /// Returns the world of the current tick for the game's step function.
    pub fn scene(&mut self) -> Scene<'_, I> {
        Scene {
            tick: Tick(self.world.tick),
            world: &mut self.world,
            buffers: &mut self.buffers,
            ticks_per_second: self.tick_rate,
            is_replay: false,
        }
    }

    /// Returns the objects, to be read and changed.
    pub fn world(&mut self) -> World<'_, I> {
        World { world: &mut self.world }
    }

    /// Iterates over the players, with their inputs in the current tick.
    pub fn inputs(&self) -> impl Iterator<Item = (PeerId, &I, InputKind)> {
        self.world.players.iter().map(|(peer, player)| (*peer, &player.input, player.kind))
    }

    /// Returns the protocol whose only class, at index 0, is the players' input: for inputs that are
    /// rows of cells.
    #[must_use]
    pub fn input_protocol(&self) -> &Protocol {
        &self.input.protocol
    }

    /// Ends the frame: sends the snapshot of the newest tick to every player, and all messages.
    pub fn send(&mut self, now: Duration) {
        self.now = now;
        self.send_control();
        self.refill_budgets(now);
        if let Some(tick) = self.unsent.take() {
            self.send_snapshots(now, tick);
            // Changes until the next tick begins are of that tick: this one is frozen.
            self.world.sender.begin_tick(tick.saturating_add(1));
        }
        self.send_assets();
        self.forget_departed();
        self.session.transmit(now);
    }

    /// Sets the clock by which [`coding_time`](Self::coding_time) is measured: see
    /// [`Sender::set_clock`](tightwire_snapshot::Sender::set_clock).
    pub fn set_clock(&mut self, clock: fn() -> Duration) {
        self.world.sender.set_clock(clock);
    }

    /// Time that was spent on coding snapshots since [`set_clock`](Self::set_clock), a part of that of
    /// [`send`](Self::send).
    #[must_use]
    pub fn coding_time(&self) -> Duration {
        self.world.sender.coding_time()
    }

    fn refill_budgets(&mut self, now: Duration) {
        let Self { session, world, .. } = self;
        for player in world.players.values_mut() {
            if let Some(path) = player.connection.and_then(|connection| session.path(connection)) {
                player.budget.refill(now, &path);
            }
        }
    }

    fn send_snapshots(&mut self, now: Duration, tick: u32) {
        let Self { session, world, schedule, config, .. } = self;
        let ServerWorld { sender, players, custom, .. } = world;
        for (&peer, player) in players.iter_mut() {
            let (Some(connection), Some(receiver)) = (player.connection, player.receiver) else {
                continue;
            };
            let in_flight = sender.in_flight(receiver).unwrap_or(0);
            if !is_due(tick, player.snapshot_tick, config.snapshot_interval, in_flight) {
                continue;
            }
            let Some(budget) = player.budget.snapshot() else { continue };
            let mut weigh;
            let custom = match custom {
                Some(custom) => {
                    weigh = |object: ObjectView<'_>| custom(peer, object);
                    Some(&mut weigh as &mut dyn FnMut(ObjectView<'_>) -> Option<u32>)
                }
                None => None,
            };
            let room = budget.saturating_sub(PlayHeader::BYTES);
            let Some(snapshot) = sender.snapshot_into(receiver, room, PREFIX, custom) else {
                continue;
            };
            let input = schedule.time(now).and_then(|time| player.margin.report(time));
            let header = PlayHeader { input, owned_exact: snapshot.is_owned_exact };
            snapshot.bytes[FRAME_PREFIX..PREFIX].copy_from_slice(&header.write());
            let size = snapshot.bytes.len();
            // A connection that has just ended has an event of its own.
            let _ = session.send_frame(connection, SNAPSHOT_FRAME, snapshot.bytes);
            player.budget.spend(size);
            player.snapshot_tick = Some(tick);
            player.snapshots.sent += 1;
            player.snapshots.bytes += size as u64;
            player.snapshots.incomplete += u64::from(!snapshot.is_complete);
        }
    }

    /// Reads the world as a peer saw it when it made the input of this tick, its interpolation delay
    /// included, at most [`max_rewind`](ServerConfig::max_rewind) back. The peer's own objects are
    /// at the present, since it predicts them.
    pub fn as_seen_by<R>(&self, peer: PeerId, read: impl FnOnce(&Past<'_, I>) -> R) -> R {
        read(&Past::new(&self.world, peer))
    }

    /// Returns the next event, until there are no more.
    pub fn poll_event(&mut self) -> Option<ServerEvent> {
        let event = self.events.pop_front();
        if let Some(ServerEvent::Refused { .. }) = event {
            self.refusals = self.refusals.saturating_sub(1);
        }
        event
    }

    /// Takes the next message of a type, with its sender.
    pub fn poll_message<M: Message>(&mut self) -> Option<(PeerId, M)> {
        loop {
            let received = self.session.drain::<M>().next()?;
            if let Some(peer) = self.world.player_of(received.sender) {
                return Some((peer, received.message));
            }
        }
    }

    /// Sends a message with the next [`send`](Self::send).
    ///
    /// # Errors
    ///
    /// [`SendError`] with the reason why the message was sent to no peer.
    pub fn send_message<M: Message>(
        &mut self,
        to: impl Into<To>,
        message: &M,
        route: impl Into<Route>,
    ) -> Result<SentTo, SendError> {
        let to = to.into();
        let is_recipient = |peer: PeerId| match to {
            To::Peer(one) => peer == one,
            To::All => true,
            To::AllExcept(one) => peer != one,
        };
        let players = self.world.players.iter().filter(|(peer, _)| is_recipient(**peer));
        let connections = players.filter_map(|(_, player)| player.connection);
        self.session.send_to(connections, message, route)
    }

    /// Returns the number of messages that the game declared [by name and
    /// schema](super::Game::message_of).
    #[must_use]
    pub fn number_of(&self, name: &str) -> Option<u8> {
        self.session.messenger().number_of(name)
    }

    /// Sends an encoded message to a peer, by the [number](Self::number_of) of its name.
    ///
    /// # Errors
    ///
    /// [`SendError`] with the reason why the message was not sent.
    pub fn send_raw(
        &mut self,
        to: PeerId,
        number: u8,
        body: &[u8],
        route: impl Into<Route>,
    ) -> Result<(), SendError> {
        let player = self.world.players.get(&to);
        let connection = player.and_then(|player| player.connection);
        match connection {
            Some(connection) => self.session.send_raw(connection, number, body, route),
            None => Err(SendError::UnknownPeer(to)),
        }
    }

    /// Passes the body of the next message with this [number](Self::number_of), and its sender, to
    /// `read`; `None` if there are no more. The body is not checked: it may not be of the schema.
    pub fn poll_raw<R>(&mut self, number: u8, read: impl FnOnce(PeerId, &[u8]) -> R) -> Option<R> {
        let Self { session, world, .. } = self;
        loop {
            let mut messages = session.drain_raw(number);
            let received = messages.next_ref()?;
            if let Some(peer) = world.player_of(received.sender) {
                return Some(read(peer, received.message));
            }
        }
    }

    /// Sets the level of the snapshots to a peer, also of connections with which it resumes. Before,
    /// it is that of [`ServerConfig::snapshot`].
    pub fn set_level(&mut self, peer: PeerId, level: Level) {
        if let Some(player) = self.world.players.get_mut(&peer) {
            player.level = level;
            if let Some(receiver) = player.receiver {
                self.world.sender.set_level(receiver, level);
            }
        }
    }

    /// Sets the largest number of bytes that a peer gets per second; 0 means as many as congestion
    /// control allows.
    pub fn set_max_rate(&mut self, peer: PeerId, bytes_per_second: u32) {
        if let Some(player) = self.world.players.get_mut(&peer) {
            player.budget.set_max_rate(bytes_per_second);
        }
    }

    /// Sets the number of ticks between snapshots, from the next tick on; 0 counts as 1.
    pub fn set_snapshot_interval(&mut self, ticks: u32) {
        self.config.snapshot_interval = ticks.max(1);
    }

    /// Disconnects a peer at once, and sends it the reason. The player cannot resume.
    pub fn kick(&mut self, peer: PeerId, text: &str) {
        let Some(player) = self.world.players.get(&peer) else { return };
        match player.connection {
            Some(connection) => self.session.kick(connection, text),
            // The connection is lost: the ticket must not work any more.
            None if !self.departed.contains(&peer) => {
                self.logins.forget(peer);
                self.handle_left(peer, Reason::kicked(text));
            }
            None => {}
        }
        self.handle_session_events();
    }

    /// Returns the session below, for its reports and its transport.
    #[must_use]
    pub fn session(&self) -> &session::Server<(), T> {
        &self.session
    }

    /// Returns the transport, as to step a [`Replay`](crate::recording::Replay).
    pub fn transport_mut(&mut self) -> &mut T {
        self.session.transport_mut()
    }

    /// Returns the time of the next tick or timer: until then a program can wait for packets.
    #[must_use]
    pub fn next_time(&self) -> Option<Duration> {
        let timers = [
            self.schedule.next_due(),
            self.session.transport().next_time(),
            self.logins.next_time(),
        ];
        timers.into_iter().flatten().min()
    }

    /// Returns the part of the current tick that has passed, from 0 to 1: a host shows its own world between two ticks.
    #[must_use]
    pub fn tick_fraction(&self, now: Duration) -> f64 {
        let left = self.schedule.next_due().map_or(Duration::ZERO, |due| due.saturating_sub(now));
        (1.0 - left.as_secs_f64() * f64::from(self.tick_rate)).clamp(0.0, 1.0)
    }

    /// Returns the number of connections that were closed for violations of the protocol: malformed
    /// or too many inputs, or messages that only a server sends.
    #[must_use]
    pub fn violations(&self) -> u64 {
        self.violations
    }

    /// Returns the number of ticks that the schedule gave up since the server was too late.
    #[must_use]
    pub fn ticks_slipped(&self) -> u64 {
        self.schedule.ticks_slipped()
    }
}

/// The first tick; tick 0 is before the game.
const FIRST_TICK: u32 = 1;

impl<I, T> fmt::Debug for Server<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("tick", &self.world.tick)
            .field("players", &self.world.players.len())
            .finish_non_exhaustive()
    }
}
