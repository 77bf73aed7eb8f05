//! One end of the connection: frames and time come in, frames and events go out.

use core::time::Duration;

use crate::message::Delivery;

use super::config::InProcessConfig;
use super::estimate::{RoundTrip, Seen};
use super::frame::{self, Acks, Header, Kind, LANES, lane_of};
use super::incoming::{Incoming, Limits, Taken};
use super::outgoing::{Outgoing, plain_kind};
use super::pool::Pool;
use crate::reason::Reason;
use crate::transport::{Connection, Event, NotSentError, Path};

/// There is one connection, and never another.
pub(super) const CONNECTION: Connection = Connection(1);

/// An end, without the network.
#[derive(Debug)]
pub(super) struct Endpoint {
    config: InProcessConfig,
    state: State,
    is_paused: bool,
    news: News,
    outgoing: Outgoing,
    incoming: Incoming,
    pool: Pool,
    round_trip: RoundTrip,
    seen: Seen,
    /// The stamp of the last frame that came, and when.
    echo: Option<(u32, Duration)>,
    /// The last stamp that was measured: one that is told again is older than it seems.
    measured: Option<u32>,
    timers: Timers,
    path: Path,
    /// Memory for acknowledgements that come and go, and for frames that go.
    acks: Acks,
    acks_bytes: Vec<u8>,
    frame: Vec<u8>,
}

#[derive(Debug)]
enum State {
    /// Before the first input.
    New,
    Open,
    /// This end has ended it, and tells the other.
    Closing {
        reason: Vec<u8>,
        /// When to say it again, and when to give up; nothing before it was said.
        again: Option<(Duration, Duration)>,
    },
    Over,
}

/// Events that are no batches.
#[derive(Debug, Default)]
struct News {
    is_connected: bool,
    ended: Option<Reason>,
}

#[derive(Debug, Default)]
struct Timers {
    now: Duration,
    heard: Duration,
    sent: Duration,
    /// Whether something came that has to be acknowledged.
    is_ack_due: bool,
    /// Whether the other end has to be told that its end was heard.
    is_closed_due: bool,
}

impl Endpoint {
    pub(super) fn new(config: InProcessConfig) -> Self {
        Self {
            state: State::New,
            is_paused: false,
            news: News::default(),
            outgoing: Outgoing::new(config.max_datagram),
            incoming: Incoming::default(),
            pool: Pool::new(config.max_datagram),
            round_trip: RoundTrip::default(),
            seen: Seen::new(),
            echo: None,
            measured: None,
            timers: Timers::default(),
            path: Path::default(),
            acks: Acks::default(),
            acks_bytes: vec![0; 512],
            frame: Vec::new(),
            config,
        }
    }

    /// Begins an input: the time comes before what has come by then.
    pub(super) fn handle_now(&mut self, now: Duration) {
        self.is_paused = false;
        self.timers.now = now;
        if matches!(self.state, State::New) {
            self.state = State::Open;
            self.news.is_connected = true;
            (self.timers.heard, self.timers.sent) = (now, now);
        }
    }

    /// Takes a datagram. What is not as it was sent is dropped.
    pub(super) fn handle_datagram(&mut self, datagram: &[u8]) {
        self.path.packets_received += 1;
        self.path.bytes_received += datagram.len() as u64;
        let Some((header, content)) = frame::open(datagram) else { return };
        self.timers.heard = self.timers.now;
        if !self.seen.insert(header.number) {
            return;
        }
        self.echo = Some((header.stamp, self.timers.now));
        match (header.kind, &self.state) {
            (Kind::Close, _) => self.handle_close(content),
            (Kind::Closed, State::Closing { .. }) => self.state = State::Over,
            (kind, State::Open) => self.handle_frame(header.number, kind, content),
            _ => {}
        }
    }

    fn handle_frame(&mut self, number: u32, kind: Kind, content: &[u8]) {
        let pool = &mut self.pool;
        let waiting = self.config.receive_limit;
        let plain = match kind {
            Kind::Unreliable => Delivery::Unreliable,
            Kind::UnreliableSequenced => Delivery::UnreliableSequenced,
            Kind::Acks => return self.handle_acks(content),
            Kind::Piece { delivery, number, is_last } => {
                let Some(lane) = lane_of(delivery) else { return };
                let limits = Limits { waiting, batch: self.config.limit(delivery) };
                let piece = (number, is_last);
                match self.incoming.handle_piece(lane, piece, content, &limits, pool) {
                    Taken::Yes => self.timers.is_ack_due = true,
                    Taken::No => {}
                    Taken::TooLarge => self.fail(Reason::violation("a batch that is too large")),
                }
                return;
            }
            Kind::Close | Kind::Closed => return,
        };
        self.path.dropped += self.incoming.handle_plain(plain, number, content, waiting, pool);
    }

    fn handle_acks(&mut self, content: &[u8]) {
        if tightwire_core::stream::decode_into(content, &mut self.acks).is_err() {
            return;
        }
        self.timers.is_ack_due |= self.acks.is_asking;
        let mut is_progress = false;
        for (lane, ack) in self.acks.lanes.iter().enumerate() {
            is_progress |= self.outgoing.handle_ack(lane, ack, &mut self.pool);
        }
        if is_progress {
            self.round_trip.handle_progress();
        }
        let Acks { echo, held, latest, heard, .. } = self.acks;
        if heard == 0 {
            return;
        }
        if self.measured != Some(echo) {
            self.measured = Some(echo);
            let sample = stamp(self.timers.now).wrapping_sub(echo).wrapping_sub(held);
            self.round_trip.handle_sample(Duration::from_micros(sample.into()));
        }
        // What was sent until the latest of them; what is still on its way is not lost.
        let last = (self.path.packets_sent as u32).wrapping_sub(1);
        let sent = self.path.packets_sent.saturating_sub(last.wrapping_sub(latest).into());
        if sent > 0 {
            self.path.loss = (1.0 - heard as f64 / sent as f64).clamp(0.0, 1.0);
        }
    }

    fn handle_close(&mut self, content: &[u8]) {
        self.timers.is_closed_due = true;
        if matches!(self.state, State::Open) {
            self.news.ended = Some(Reason::from_bytes(content));
            self.outgoing = Outgoing::new(self.config.max_datagram);
        }
        self.state = State::Over;
    }

    /// Does what is due, after everything that has come was taken.
    pub(super) fn handle_time(&mut self) {
        let now = self.timers.now;
        match &self.state {
            State::Open if now >= self.timers.heard.saturating_add(self.config.timeout) => {
                self.fail(Reason::TimedOut);
            }
            State::Open => self.outgoing.handle_time(now, &mut self.round_trip),
            State::Closing { again: Some((_, until)), .. } if now >= *until => {
                self.state = State::Over;
            }
            _ => {}
        }
    }

    /// Ends the connection and tells both.
    fn fail(&mut self, reason: Reason) {
        self.outgoing = Outgoing::new(self.config.max_datagram);
        self.state = State::Closing { reason: reason.to_bytes(), again: None };
        self.news.ended = Some(reason);
    }

    pub(super) fn poll_event(&mut self) -> Option<Event<'_>> {
        if core::mem::take(&mut self.news.is_connected) {
            return Some(Event::Connected { connection: CONNECTION, address: None });
        }
        if self.incoming.advance(self.is_paused, &mut self.pool) {
            let batch = self.incoming.current();
            let delivery = batch.delivery;
            return Some(Event::Batch { from: CONNECTION, delivery, batch: &batch.bytes });
        }
        // Also what a pause holds back comes before the end.
        if !self.incoming.is_empty() {
            return None;
        }
        let reason = self.news.ended.take()?;
        Some(Event::Disconnected { connection: CONNECTION, reason })
    }

    pub(super) fn send(&mut self, delivery: Delivery, batch: &[u8]) -> Result<(), NotSentError> {
        if !matches!(self.state, State::Open) {
            return Err(NotSentError::NotConnected(CONNECTION));
        }
        let (size, limit) = (batch.len(), self.config.limit(delivery));
        if size > limit {
            return Err(NotSentError::TooLarge { size, limit });
        }
        let (backlog, pool) = (self.config.backlog, &mut self.pool);
        let Some(lane) = lane_of(delivery) else {
            self.path.dropped +=
                self.outgoing.push_plain(plain_kind(delivery), batch, backlog, pool);
            return Ok(());
        };
        if self.outgoing.backlog() > 0 && self.outgoing.cost_with(size) > backlog {
            return Err(NotSentError::Full { backlog: self.outgoing.backlog() });
        }
        self.outgoing.push(lane, batch, pool);
        Ok(())
    }

    pub(super) fn pause(&mut self) {
        self.is_paused = true;
    }

    pub(super) fn close(&mut self, reason: &Reason) {
        if matches!(self.state, State::New) {
            return;
        }
        if matches!(self.state, State::Open) {
            self.state = State::Closing { reason: reason.to_bytes(), again: None };
        }
        // The application knows, and wants to hear nothing more of it.
        self.news = News::default();
        self.incoming = Incoming::default();
    }

    /// Gives everything to the link that may go.
    pub(super) fn handle_output(&mut self, now: Duration, mut link: impl FnMut(&[u8])) {
        self.timers.now = now;
        if core::mem::take(&mut self.timers.is_closed_due) {
            self.write(Kind::Closed, &[], &mut link);
        }
        match &mut self.state {
            State::New | State::Over => {}
            State::Open => {
                self.write_batches(&mut link);
                let is_quiet = now >= self.keep_alive_time();
                if core::mem::take(&mut self.timers.is_ack_due) || is_quiet {
                    self.write_acks(&mut link);
                }
            }
            State::Closing { again: Some((again, _)), .. } if now < *again => {}
            State::Closing { reason, again } => {
                let reason = reason.clone();
                let until =
                    again.map_or(now.saturating_add(self.config.timeout), |(_, until)| until);
                let is_first = again.is_none();
                *again = Some((now + self.round_trip.wait(), until));
                if is_first {
                    // What was sent in the same frame has its chance.
                    self.write_batches(&mut link);
                    self.outgoing = Outgoing::new(self.config.max_datagram);
                }
                self.write(Kind::Close, &reason, &mut link);
            }
        }
    }

    fn write_batches(&mut self, link: &mut impl FnMut(&[u8])) {
        while let Some((kind, batch)) = self.outgoing.poll_plain() {
            self.write(kind, &batch, link);
            self.pool.give(batch);
        }
        let Self { outgoing, timers, path, frame, .. } = self;
        while let Some((kind, piece)) = outgoing.poll_piece(timers.now) {
            write(timers, path, frame, kind, piece, link);
        }
    }

    fn write_acks(&mut self, link: &mut impl FnMut(&[u8])) {
        let now = self.timers.now;
        self.acks.is_asking = self.is_asking();
        (self.acks.latest, self.acks.heard) = (self.seen.latest(), self.seen.count());
        if let Some((echo, came)) = self.echo {
            self.acks.echo = echo;
            self.acks.held = stamp(now.saturating_sub(came));
        }
        for lane in 0..LANES.len() {
            self.incoming.acknowledge(lane, &mut self.acks.lanes[lane]);
        }
        let Self { timers, path, frame, acks, acks_bytes, .. } = self;
        if let Ok(content) = tightwire_core::stream::encode(acks, acks_bytes) {
            write(timers, path, frame, Kind::Acks, content, link);
        }
    }

    /// Whether the other end has missed its time to say something: what it said was lost, or it is gone.
    fn is_asking(&self) -> bool {
        let Timers { now, heard, .. } = self.timers;
        now >= heard.saturating_add(self.config.keep_alive() * 2)
    }

    /// When to say something if there is nothing to say. An end that asks does so often: one burst of
    /// losses, and all that an idle connection says in its timeout would be lost.
    fn keep_alive_time(&self) -> Duration {
        let every = self.config.keep_alive();
        self.timers.sent.saturating_add(if self.is_asking() { every / 10 } else { every })
    }

    fn write(&mut self, kind: Kind, content: &[u8], link: &mut impl FnMut(&[u8])) {
        write(&mut self.timers, &mut self.path, &mut self.frame, kind, content, link);
    }

    pub(super) fn path(&self) -> Option<Path> {
        matches!(self.state, State::Open).then(|| Path {
            max_datagram: self.config.limit(Delivery::Reliable),
            max_fragmented: self.config.limit(Delivery::ReliableOrderedFragmented),
            round_trip: self.round_trip.smoothed(),
            jitter: self.round_trip.jitter(),
            backlog: self.outgoing.backlog(),
            ..self.path
        })
    }

    /// When there is something to do, whatever comes from the link.
    pub(super) fn next_time(&self) -> Option<Duration> {
        let timers = &self.timers;
        match &self.state {
            State::New => Some(Duration::ZERO),
            // The next input ends the pause.
            State::Open if self.is_paused && self.incoming.has_reliable() => Some(timers.now),
            State::Open => {
                let idle = self.keep_alive_time();
                let silent = timers.heard.saturating_add(self.config.timeout);
                let resend = self.outgoing.next_time(&self.round_trip);
                Some(resend.map_or(idle, |resend| resend.min(idle)).min(silent))
            }
            State::Closing { again: None, .. } => Some(timers.now),
            State::Closing { again: Some((again, until)), .. } => Some(*again.min(until)),
            State::Over => None,
        }
    }
}

/// Writes a frame. What it needs of an end, it gets one by one: the content belongs to the rest.
fn write(
    timers: &mut Timers,
    path: &mut Path,
    buffer: &mut Vec<u8>,
    kind: Kind,
    content: &[u8],
    link: &mut impl FnMut(&[u8]),
) {
    let header = Header { number: path.packets_sent as u32, stamp: stamp(timers.now), kind };
    let frame = frame::seal(buffer, header, content);
    path.packets_sent += 1;
    path.bytes_sent += frame.len() as u64;
    timers.sent = timers.now;
    link(frame);
}

/// Microseconds, as many as a frame can say.
fn stamp(time: Duration) -> u32 {
    time.as_micros() as u32
}
