//! The client: receives the world over a bad network, shows it, and plays.

use std::mem;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use tightwire::quic::{Fingerprint, Quic, Socket as _, Trust, Udp};
use tightwire::snapshot::{Playback, PlaybackConfig};
use tightwire::token::SealedToken;
use tightwire::transport::Transport;
use tightwire::{Client, SessionConfig, SessionEvent};
use tightwire::{Delivery, Stage, snapshot};

use super::bad_link::BadLink;
use super::bot::{Bot, Habit};
use super::compare::{disagreements, error_mm, shown};
use super::frame::frame;
use super::game::{self, Chat, Inbox};
use super::pace::Pace;
use super::packet::{Words, add_fields};
use super::random::Random;
use super::server::ORDERED;
use super::shared::{Seat, Shared, lock};

/// Arguments of [`run`].
pub(super) struct Setup {
    pub(super) number: u32,
    pub(super) server: SocketAddr,
    pub(super) fingerprint: Fingerprint,
    pub(super) token: SealedToken,
    pub(super) protocol: snapshot::Protocol,
    pub(super) session: SessionConfig,
    pub(super) seed: u64,
}

/// Runs the client until the demo is stopped.
pub(super) fn run(setup: Setup, shared: &Shared) -> Result<(), String> {
    let Setup { number, server, .. } = setup;
    let seat = shared.clients.get(number as usize).ok_or("no seat")?;
    let udp = Udp::client(server).map_err(|error| error.to_string())?;
    let port = udp.address().port();
    let seed = Random::new(setup.seed, 1000 + u64::from(number)).next();
    let socket = BadLink::new(udp, server, seed, seat.knobs.clone());
    let (trust, config) = (Trust::Pinned(vec![setup.fingerprint]), game::quic());
    let transport = Quic::connect(socket, server, "localhost", &trust, config, shared.now())
        .map_err(|error| error.to_string())?;
    let client = Client::builder(setup.session)
        .register(game::messages)
        .token(setup.token.as_bytes())
        .build(transport)
        .map_err(|error| error.to_string())?;
    let guest = Guest {
        number,
        title: format!("Snapshot from {server} to 127.0.0.1:{port}"),
        shared,
        seat,
        client,
        receiver: snapshot::Receiver::new(&setup.protocol),
        playback: Playback::new(&setup.protocol, PlaybackConfig::default()),
        trace: snapshot::Trace::new(),
        words: Words::new(),
        last_xray: Duration::ZERO,
        bot: Bot::new(number, setup.seed, Habit::Mixed),
        inbox: Inbox::default(),
        frames: 0,
        faults: 0,
    };
    guest.run();
    Ok(())
}

struct Guest<'s, T> {
    number: u32,
    /// Title of this client's packets in x-rays.
    title: String,
    shared: &'s Shared,
    seat: &'s Seat,
    client: Client<Inbox, T>,
    receiver: snapshot::Receiver,
    playback: Playback,
    /// Bits of the newest snapshot by field.
    trace: snapshot::Trace,
    words: Words,
    last_xray: Duration,
    bot: Bot,
    inbox: Inbox,
    frames: u64,
    /// Number of refused messages so far.
    faults: u64,
}

impl<T: Transport> Guest<'_, T> {
    fn run(mut self) {
        let shared = self.shared;
        let mut pace = Pace::new(shared.now());
        while !shared.is_stopped() {
            let now = shared.now();
            self.client.handle_input(now);
            self.client.run_stage(Stage::Update, &mut self.inbox);
            self.handle_events(now);
            self.handle_snapshots(now);
            if pace.take(now).is_some() {
                self.frame(now);
            }
            self.client.transmit(shared.now());
            thread::sleep(shared.nap.min(pace.due().saturating_sub(shared.now())));
        }
        self.client.disconnect(shared.now());
        let end = shared.now() + FAREWELL;
        while shared.now() < end {
            self.client.receive(shared.now(), &mut self.inbox);
            self.client.transmit(shared.now());
            while self.client.poll_event().is_some() {}
            thread::sleep(shared.nap);
        }
    }

    fn handle_events(&mut self, now: Duration) {
        while let Some(event) = self.client.poll_event() {
            let mut tally = lock(&self.seat.tally);
            match event {
                SessionEvent::Connected { .. } => tally.connected = Some(now),
                SessionEvent::Disconnected { reason, .. } => tally.ended = Some(reason.to_string()),
                _ => {}
            }
        }
        for (_, chat) in self.inbox.chats.drain(..) {
            let line = format!("{}: {}", game::name(chat.client.into()), chat.text);
            lock(&self.seat.tally).hear(line);
        }
    }

    fn handle_snapshots(&mut self, now: Duration) {
        let is_traced = self.is_shown() && self.shared.has_page;
        for packet in mem::take(&mut self.inbox.snapshots) {
            let received = match is_traced {
                true => self.receiver.handle_snapshot_traced(&packet, &mut self.trace),
                false => self.receiver.handle_snapshot(&packet),
            };
            let received = match received {
                Ok(received) => received,
                // A newer snapshot overtook this one: no error.
                Err(snapshot::ReceiveError::Late) => continue,
                Err(refused) => {
                    lock(&self.seat.tally).refuse(refused);
                    continue;
                }
            };
            self.playback.handle_snapshot(now, &self.receiver);
            let moment = Some(received).filter(|received| received.is_complete);
            let moment = moment.and_then(|received| self.shared.truth.at(received.tick));
            let wrong = moment.as_deref().map(|moment| disagreements(&mut self.receiver, moment));
            let mut tally = lock(&self.seat.tally);
            tally.snapshots += 1;
            tally.snapshot_bytes += packet.len() as u64;
            tally.changed += self.receiver.changes().len() as u64;
            tally.compared += u64::from(wrong.is_some());
            tally.disagreements += wrong.unwrap_or(0);
            if is_traced {
                add_fields(&mut tally.fields, &self.trace);
                drop(tally);
                self.show_packet(now, &packet);
            }
        }
    }

    /// Publishes the x-ray of a snapshot, a few times a second.
    fn show_packet(&mut self, now: Duration, packet: &[u8]) {
        if now < self.last_xray + BETWEEN_XRAYS {
            return;
        }
        self.last_xray = now;
        let xray = self.words.xray(&self.title, now.as_secs_f64(), packet, &self.trace);
        if let Ok(json) = serde_json::to_string(&xray) {
            self.shared.live.publish_xray(json);
        }
    }

    fn is_shown(&self) -> bool {
        self.shared.live.controls().shown_client == self.number
    }

    /// Runs one frame of the client, 60 times a second.
    fn frame(&mut self, now: Duration) {
        self.playback.advance(now);
        self.frames += 1;
        let place = self.playback.get::<game::Player>(self.number);
        if self.client.server().is_some() {
            let mut input = self.bot.input(place.map_or([0.0; 3], |player| player.position));
            input.ack = self.receiver.ack();
            // An input that cannot be sent counts as lost: the next carries newer input and acks.
            let _ = self.client.send(&input, Delivery::Unreliable);
            self.talk();
        }
        let is_shown = self.is_shown();
        let is_measured = self.frames.is_multiple_of(MEASURED);
        if is_measured || is_shown && self.shared.has_page {
            self.look(is_measured, is_shown);
        }
        if self.frames.is_multiple_of(MEASURED) {
            self.count();
        }
    }

    fn talk(&mut self) {
        let line = self.bot.line().map(String::from);
        let typed = if self.number == 0 { self.shared.live.take_said() } else { Vec::new() };
        for text in line.into_iter().chain(typed) {
            let chat = Chat { client: self.number as u8, text: game::shortened(&text) };
            let _ = self.client.send(&chat, ORDERED);
        }
    }

    /// Publishes the shown world, and measures its error against the server's.
    fn look(&mut self, is_measured: bool, is_shown: bool) {
        let Some(time) = self.playback.time() else { return };
        let Some(newest) = self.shared.truth.newest() else { return };
        let shown = shown(&mut self.playback, &newest);
        if is_shown {
            self.shared.live.publish_worlds(frame(&newest, time, &shown));
        }
        if is_measured && let Some(error) = error_mm(&self.shared.truth, time, &shown) {
            let mut tally = lock(&self.seat.tally);
            tally.error_mm += error;
            tally.errors += 1;
        }
    }

    fn count(&mut self) {
        let report = self.client.stats();
        let faults = self.client.messenger().faults().total();
        let mut tally = lock(&self.seat.tally);
        if let Some(report) = report {
            tally.handle_report(&report);
        }
        for _ in self.faults..faults {
            tally.refuse("a message was not what it should be");
        }
        self.faults = faults;
        tally.link = self.seat.knobs.stats();
        tally.playback_delay = self.playback.delay();
    }
}

/// Frames between measurements.
const MEASURED: u64 = 6;

/// Time between x-rays: a person could not read them any faster.
const BETWEEN_XRAYS: Duration = Duration::from_millis(300);

/// Time for which a client repeats its farewell, since packets may get lost.
const FAREWELL: Duration = Duration::from_millis(350);
