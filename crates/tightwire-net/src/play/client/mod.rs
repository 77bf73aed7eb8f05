//! The client of a game: inputs, prediction, and the world that is shown.

mod assets;
mod changes;
mod config;
mod events;
mod receive;
mod reconnect;
mod touch;
mod world;

use core::fmt;
use core::ops::Range;
use core::time::Duration;
use std::collections::VecDeque;

use tightwire_core::schema::ObjectId;
use tightwire_snapshot::{Playback, Protocol, Receiver, RowBuffer};

pub use config::ClientConfig;
pub use events::{ClientEvent, ClientStats};
use reconnect::Reconnect;
use world::ClientWorld;
pub use world::View;

use super::asset::{AssetReceiver, AssetReceiverConfig, AssetRequest};
use super::frame::{ROOM, RowSet};
use super::game::Declared;
use super::input::{InputLog, ViewDelay};
use super::player_input::InputClass;
use super::predict::Prediction;
use super::scene::SceneBuffers;
use super::time::{InputClock, TimeReport};
use super::{PlayError, PlayerInput, Scene, Tick};
use crate::message::{FRAME_PREFIX, Message, Route, SendError};
use crate::session::{self, INPUT_FRAME};
use crate::transport::Transport;

/// A client of a [`Game`](super::Game), over any [`Transport`].
///
/// A frame is [`receive`](Self::receive), [`input`](Self::input), the game's step for each
/// [`next_step`](Self::next_step), drawing of the [`world`](Self::world), and
/// [`send`](Self::send). The steps predict the objects that this client owns, so that they answer
/// in the same frame; when the server's state differs, they are replayed from there.
pub struct Client<I, T> {
    session: session::Client<(), T>,
    config: ClientConfig,
    tick_rate: u32,
    world: ClientWorld<I>,
    buffers: SceneBuffers,
    clock: InputClock,
    /// Ticks that are due and not stepped yet.
    due: Range<u32>,
    log: InputLog,
    input: InputClass<I>,
    /// Inputs of the last ticks, for replays, at their ticks modulo the length.
    inputs: Vec<(u32, I)>,
    /// The input of the next tick.
    pending: I,
    /// The pending input was not used by a tick yet: a newer one is merged into it.
    is_pending: bool,
    /// Tick of the newest input that was sent, and time and count of snapshots since the last ack.
    sent: SendState,
    reconnect: Reconnect,
    assets: AssetReceiver,
    /// A request that was not sent yet.
    request: Option<AssetRequest>,
    events: VecDeque<ClientEvent>,
    stats: ClientStats,
    row: RowBuffer,
    frame: Vec<u8>,
    now: Duration,
}

/// State of the acks and inputs that were sent.
#[derive(Clone, Copy, Debug, Default)]
struct SendState {
    /// Newest tick whose input was sent.
    tick: Option<u32>,
    /// Time of the last packet.
    at: Duration,
    /// Snapshots that arrived since.
    snapshots: u32,
}

impl<I: PlayerInput, T: Transport> Client<I, T> {
    pub(super) fn new(
        mut declared: Declared<I>,
        config: ClientConfig,
        token: &[u8],
        transport: T,
    ) -> Result<Self, PlayError> {
        let tick_rate = declared.tick_rate;
        config.check().map_err(PlayError::Limit)?;
        let mut settings = config.session.clone();
        settings.game.clone_from(&declared.session.game);
        settings.version.clone_from(&declared.session.version);
        settings.snapshots.clone_from(&declared.session.snapshots);
        settings.input.clone_from(&declared.session.input);
        let mut session = session::Client::builder(settings)
            .register(|builder| declared.register(builder))
            .token(token)
            .build(transport)?;
        session.enable_frames();
        let protocol = declared.objects;
        let predicted_classes = declared.configs.iter().map(|config| config.predict).collect();
        let world = ClientWorld {
            receiver: Receiver::new(&protocol),
            playback: Playback::new(&protocol, config.playback).with_changes(),
            prediction: Prediction::new(&protocol, config.predict).with_compared(declared.compared),
            protocol,
            owned: Vec::new(),
            others: touch::PredictedOthers::default(),
            predicted_classes,
            input: declared.input.neutral.clone(),
            fraction: 0.0,
            shown: RowSet::with_room(),
            shown_before: RowSet::with_room(),
            changes: changes::Changes::default(),
            arrived: Vec::with_capacity(ROOM),
            scratch: RowBuffer::default(),
        };
        let clock = InputClock::new(
            tick_rate,
            &config.time,
            config.max_ticks_per_frame,
            config.max_predicted,
        );
        Ok(Self {
            session,
            tick_rate,
            world,
            buffers: SceneBuffers::default(),
            clock,
            due: 0..0,
            log: InputLog::new(declared.input.layout.clone(), config.max_redundancy),
            inputs: (0..KEPT_INPUTS).map(|_| (0, declared.input.neutral.clone())).collect(),
            pending: declared.input.neutral.clone(),
            input: declared.input,
            is_pending: false,
            sent: SendState::default(),
            reconnect: Reconnect::default(),
            assets: AssetReceiver::new(AssetReceiverConfig { max_asset: config.max_asset }),
            request: None,
            events: VecDeque::new(),
            stats: ClientStats::default(),
            row: RowBuffer::default(),
            frame: Vec::new(),
            config,
            now: Duration::ZERO,
        })
    }

    /// Sets the input of the player. To be called in each frame; the input counts for every tick
    /// until the next one, and several inputs of one tick are [merged](super::Input::merge).
    pub fn input(&mut self, input: &I) {
        match self.is_pending {
            true => self.pending.merge_newer(input),
            false => self.pending.clone_from(input),
        }
        self.is_pending = true;
    }

    /// Returns the next step of the simulation: first the ticks that are replayed after a
    /// correction, then the new ones. Call it until it returns `None`, and run the step function on
    /// each scene.
    pub fn next_step(&mut self) -> Option<Scene<'_, I>> {
        let (tick, is_replay) = match self.world.prediction.next_replay() {
            Some(tick) => (tick, true),
            None => match self.stamp_next() {
                Some(tick) => {
                    self.world.prediction.begin(tick);
                    (tick, false)
                }
                None => {
                    self.world.prediction.finish();
                    self.world.refresh_shown();
                    return None;
                }
            },
        };
        let (kept, input) = &self.inputs[tick as usize % KEPT_INPUTS];
        if *kept == tick {
            self.world.input.clone_from(input);
        } else {
            self.world.input.clone_from(&self.input.neutral);
        }
        Some(Scene {
            tick: Tick(tick),
            world: &mut self.world,
            buffers: &mut self.buffers,
            ticks_per_second: self.tick_rate,
            is_replay,
        })
    }

    /// Stamps the next tick that is due with the pending input.
    fn stamp_next(&mut self) -> Option<u32> {
        let tick = self.due.next()?;
        self.is_pending = false;
        let Self { pending, inputs, input, row, log, .. } = self;
        if pending.quantise(&input.protocol, row).is_err() {
            // An input that cannot be sent, as an integer beyond its range: the neutral one instead.
            log::warn!("the input of tick {tick} cannot be sent: the neutral one takes its place");
            pending.clone_from(&input.neutral);
            let _ = pending.quantise(&input.protocol, row);
        }
        // The server steps with the rounded input, and so does the prediction.
        let place = &mut inputs[tick as usize % KEPT_INPUTS];
        place.0 = tick;
        place.1.read(&input.protocol, row.row());
        log.push(tick, row.row().cells);
        Some(tick)
    }

    /// Returns the protocol whose only class, at index 0, is the players' input: for inputs that are
    /// rows of cells.
    #[must_use]
    pub fn input_protocol(&self) -> &Protocol {
        &self.input.protocol
    }

    /// Returns the world as it is to be drawn.
    #[must_use]
    pub fn world(&self) -> View<'_, I> {
        View { world: &self.world }
    }

    /// Begins or ends the prediction of an object that this client does not own, as one that it is
    /// about to touch.
    pub fn predict(&mut self, id: impl Into<ObjectId>, is_predicted: bool) {
        self.world.set_predicted(id.into(), is_predicted);
    }

    /// Returns the next event, until there are no more.
    pub fn poll_event(&mut self) -> Option<ClientEvent> {
        self.events.pop_front()
    }

    /// Sends a message with the next [`send`](Self::send).
    ///
    /// # Errors
    ///
    /// [`SendError`] with the reason why the message was not sent.
    pub fn send_message<M: Message>(
        &mut self,
        message: &M,
        route: impl Into<Route>,
    ) -> Result<(), SendError> {
        self.session.send(message, route)
    }

    /// Returns the number of messages that the game declared [by name and
    /// schema](super::Game::message_of).
    #[must_use]
    pub fn number_of(&self, name: &str) -> Option<u8> {
        self.session.messenger().number_of(name)
    }

    /// Sends an encoded message, by the [number](Self::number_of) of its name.
    ///
    /// # Errors
    ///
    /// [`SendError`] with the reason why the message was not sent.
    pub fn send_raw(
        &mut self,
        number: u8,
        body: &[u8],
        route: impl Into<Route>,
    ) -> Result<(), SendError> {
        self.session.send_raw(number, body, route)
    }

    /// Ends the frame: sends the inputs that the server does not have yet, acks, and all messages.
    pub fn send(&mut self, now: Duration) {
        // Ticks that the game did not step have inputs all the same.
        while self.stamp_next().is_some() {}
        self.world.changes.end();
        self.send_inputs(now);
        self.send_asset_requests();
        self.session.transmit(now);
    }

    fn send_inputs(&mut self, now: Duration) {
        let Some(server) = self.session.server() else { return };
        let newest = self.log.newest();
        let interval = self.config.send_interval;
        let is_due = newest.is_some_and(|newest| {
            self.sent.tick.is_none_or(|sent| newest.wrapping_sub(sent) >= interval)
        });
        let is_ack_due = self.sent.snapshots >= ACK_SNAPSHOTS
            || self.sent.snapshots > 0 && now.saturating_sub(self.sent.at) >= ACK_DELAY;
        if !is_due && !is_ack_due {
            return;
        }
        let shown = self.world.playback.time();
        let received = self.world.receiver.newest();
        let delay = shown.zip(received).map(|(shown, newest)| f64::from(newest.tick) - shown);
        let view =
            self.world.receiver.ack().map(|ack| (ack, ViewDelay::from_ticks(delay.unwrap_or(0.0))));
        let room = self.session.path(server).map_or(0, |path| path.max_datagram);
        self.frame.resize(room.clamp(MIN_FRAME, MAX_FRAME), 0);
        let Some(body) = self.frame.get_mut(FRAME_PREFIX..) else { return };
        let Ok(size) = self.log.write(view, body).map(<[u8]>::len) else { return };
        let frame = &mut self.frame[..FRAME_PREFIX + size];
        // A connection that has just ended has an event of its own.
        let _ = self.session.send_frame(server, INPUT_FRAME, frame);
        self.clock.handle_send(now);
        self.sent = SendState { tick: newest.or(self.sent.tick), at: now, snapshots: 0 };
    }

    /// Returns the state of the clocks: the lead of this client, and the margin of its inputs.
    #[must_use]
    pub fn time(&self) -> TimeReport {
        TimeReport { shown: self.shown_time(), ..self.clock.report(self.now) }
    }

    /// Returns the shown tick of interpolated objects, with a fraction; `None` before the first
    /// snapshot.
    #[must_use]
    pub fn shown_time(&self) -> Option<f64> {
        self.world.playback.time()
    }

    /// Returns the counts of this client.
    #[must_use]
    pub fn stats(&self) -> ClientStats {
        ClientStats { prediction: self.world.prediction.stats(), ..self.stats }
    }

    /// Returns the session below, for its reports and its transport.
    #[must_use]
    pub fn session(&self) -> &session::Client<(), T> {
        &self.session
    }

    /// Leaves the game. The server learns of it from the packets of a last [`send`](Self::send).
    pub fn disconnect(&mut self, now: Duration) {
        self.reconnect.give_up();
        self.session.disconnect(now);
    }
}

/// Number of ticks whose inputs are kept, for replays.
const KEPT_INPUTS: usize = 64;

/// Bounds of the buffer for a frame of inputs, in bytes.
const MIN_FRAME: usize = 512;
const MAX_FRAME: usize = 4096;

/// Number of snapshots, and time, after which an ack is sent without an input.
const ACK_SNAPSHOTS: u32 = 3;
const ACK_DELAY: Duration = Duration::from_millis(50);

impl<I, T> fmt::Debug for Client<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("due", &self.due).finish_non_exhaustive()
    }
}
