//! The client: receives the world over a bad network, shows it, and plays.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tightwire::ObjectId;
use tightwire::play::{Client, ClientConfig, ClientEvent};
use tightwire::quic::{Conditioned, Fingerprint, Quic, Socket as _, Trust, Udp};
use tightwire::snapshot;
use tightwire::token::SealedToken;
use tightwire::transport::Transport;

use super::bot::{Bot, Habit};
use super::compare::{error_mm, shown};
use super::frame::frame;
use super::game::{self, Chat, Player, Steer};
use super::pace::{Pace, TICKS_PER_SECOND};
use super::packets::PacketReader;
use super::server::ORDERED;
use super::shared::{ClientLink, Shared, lock};
use super::tap::Tap;

/// Arguments of [`run`].
pub(super) struct ClientSetup {
    pub(super) number: u32,
    pub(super) server: SocketAddr,
    pub(super) fingerprint: Fingerprint,
    pub(super) token: SealedToken,
    pub(super) config: ClientConfig,
    pub(super) protocol: snapshot::Protocol,
    pub(super) seed: u64,
}

/// Runs the client until the demo is stopped.
pub(super) fn run(setup: ClientSetup, shared: &Shared) -> Result<(), String> {
    let ClientSetup { number, server, .. } = setup;
    let link = shared.clients.get(number as usize).ok_or("there is no such client")?;
    let udp = Udp::client(server).map_err(|error| error.to_string())?;
    let port = udp.address().port();
    let socket = Conditioned::with(udp, link.conditions.clone());
    let (trust, config) = (Trust::Pinned(vec![setup.fingerprint]), game::quic());
    let transport = Quic::connect(socket, server, "localhost", &trust, config, shared.now())
        .map_err(|error| error.to_string())?;
    let (tapped, packets) = mpsc::channel();
    let client = game::game()
        .connect(setup.config, setup.token.as_bytes(), Tap::new(transport, tapped))
        .map_err(|error| error.to_string())?;
    let title = format!("Snapshot from {server} to 127.0.0.1:{port}");
    let client = DemoClient {
        number,
        shared,
        link,
        client,
        packets: PacketReader::new(&setup.protocol, packets, title),
        bot: Bot::new(number, setup.seed, Habit::Mixed),
        steer: Steer::default(),
        frames: 0,
        faults: 0,
    };
    client.run();
    Ok(())
}

struct DemoClient<'s, T> {
    number: u32,
    shared: &'s Shared,
    link: &'s ClientLink,
    client: Client<Steer, T>,
    packets: PacketReader,
    bot: Bot,
    /// The bot's input.
    steer: Steer,
    frames: u64,
    /// Number of refused messages so far.
    faults: u64,
}

impl<T: Transport> DemoClient<'_, T> {
    fn run(mut self) {
        let shared = self.shared;
        let mut pace = Pace::new(shared.now());
        while !shared.is_stopped() {
            let now = shared.now();
            self.client.receive(now);
            self.handle_events(now);
            self.handle_messages();
            let is_traced = self.is_shown() && shared.has_page;
            self.packets.read(now, shared, &self.link.tally, is_traced);
            let is_frame = pace.take(now).is_some();
            if is_frame {
                self.steer = self.bot.input(self.own_position());
            }
            let steered = Some(&shared.live).filter(|_| self.is_shown());
            let steered = steered.and_then(|live| live.steering());
            self.client.input(&steered.unwrap_or(self.steer));
            while let Some(mut scene) = self.client.next_step() {
                game::predict(&mut scene);
            }
            if is_frame {
                self.frame(steered.is_some());
            }
            self.client.send(shared.now());
            thread::sleep(POLL.max(shared.nap).min(pace.due().saturating_sub(shared.now())));
        }
        self.client.disconnect(shared.now());
        let end = shared.now() + SHUTDOWN_TIMEOUT;
        while shared.now() < end {
            self.client.send(shared.now());
            self.client.receive(shared.now());
            thread::sleep(shared.nap);
        }
    }

    fn handle_events(&mut self, now: Duration) {
        while let Some(event) = self.client.poll_event() {
            let mut tally = lock(&self.link.tally);
            match event {
                ClientEvent::Connected { .. } => {
                    tally.connected.get_or_insert(now);
                    tally.ended = None;
                    self.packets.start_over();
                }
                ClientEvent::Reconnecting { reason, .. }
                | ClientEvent::Disconnected { reason, .. } => {
                    tally.ended = Some(reason.to_string());
                }
                ClientEvent::TimeJump(_) => tally.time_jumps += 1,
                _ => {}
            }
        }
    }

    fn handle_messages(&mut self) {
        while let Some(chat) = self.client.poll_message::<Chat>() {
            let line = format!("{}: {}", game::name(chat.client.into()), chat.text);
            lock(&self.link.tally).push_chat(line);
        }
    }

    fn is_shown(&self) -> bool {
        self.shared.live.controls().shown_client == self.number
    }

    /// Returns the position of this client's cube, as it is predicted.
    fn own_position(&self) -> [f32; 3] {
        let own = self.client.world().get::<Player>(ObjectId(self.number));
        own.map_or([0.0; 3], |player| player.position)
    }

    /// Runs one frame of the client, 60 times a second.
    fn frame(&mut self, is_steered: bool) {
        self.frames += 1;
        if self.client.session().server().is_some() {
            self.send_chat();
        }
        let is_shown = self.is_shown();
        let is_measured = self.frames.is_multiple_of(MEASURED);
        if is_measured || is_shown && self.shared.has_page {
            self.look(is_measured, is_shown);
        }
        let correction = self.client.world().correction(ObjectId(self.number)).distance;
        let mut tally = lock(&self.link.tally);
        tally.is_steered = is_steered;
        tally.correction = tally.correction.max(correction);
        drop(tally);
        if is_measured {
            self.count();
        }
    }

    fn send_chat(&mut self) {
        let line = self.bot.line().map(String::from);
        let typed = if self.number == 0 { self.shared.live.take_chat() } else { Vec::new() };
        for text in line.into_iter().chain(typed) {
            let chat = Chat { client: self.number as u8, text: game::shortened(&text) };
            let _ = self.client.send_message(&chat, ORDERED);
        }
    }

    /// Publishes the shown world, and measures its error against the server's.
    fn look(&mut self, is_measured: bool, is_shown: bool) {
        let Some(time) = self.client.shown_time() else { return };
        let Some(newest) = self.shared.server_history.newest() else { return };
        let world = self.client.world();
        let own = Some(self.number as usize).filter(|_| world.is_predicted(self.number));
        let shown = shown(world, &newest);
        if is_shown {
            self.shared.live.publish_worlds(frame(&newest, time, &shown, own));
        }
        if is_measured && let Some(error) = error_mm(&self.shared.server_history, time, &shown, own)
        {
            let mut tally = lock(&self.link.tally);
            tally.error_mm += error;
            tally.errors += 1;
        }
    }

    fn count(&mut self) {
        let session = self.client.session();
        let report = session.stats();
        let faults = session.messenger().faults().total();
        let time = self.client.time();
        let shown = self.client.shown_time();
        let mut tally = lock(&self.link.tally);
        if let Some(report) = report {
            tally.handle_report(&report);
        }
        for _ in self.faults..faults {
            tally.refuse("a message was not what it should be");
        }
        self.faults = faults;
        tally.link = self.link.conditions.up_stats() + self.link.conditions.down_stats();
        let delay = self.packets.newest().zip(shown).map(|(newest, shown)| newest - shown);
        tally.playback_delay_ms = in_milliseconds(delay.unwrap_or(0.0).max(0.0));
        tally.prediction = self.client.stats().prediction;
        tally.lead_ms = in_milliseconds(time.lead);
        tally.margin_ms = in_milliseconds(time.margin);
    }
}

fn in_milliseconds(ticks: f64) -> f64 {
    ticks * 1000.0 / f64::from(TICKS_PER_SECOND)
}

/// Time between polls of the socket: several in a tick, or the clock of inputs would have to run
/// further ahead.
const POLL: Duration = Duration::from_millis(4);

/// Frames between measurements.
const MEASURED: u64 = 6;

/// Time for which a client repeats its farewell, since packets may get lost.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(350);
