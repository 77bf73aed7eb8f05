//! One connection.
//!
//! `quinn` doubles its probe timeout after each unacked probe, and acks nothing while its
//! window is full. Therefore a connection without an ack for half a second probes four times a
//! second, with room in the window for the probe.

use core::mem;
use core::time::Duration;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Instant;

use crate::message::Delivery;
use bytes::Bytes;
use quinn_proto::{ConnectionEvent, Dir, EndpointEvent, Event as QuinnEvent, StreamEvent, VarInt};

use super::QuicConfig;
use super::acceptor::Counted;
use super::congestion::WindowState;
use super::flood::{InputShare, TokenBucket};
use super::guard::{Guard, Work};
use super::incoming::Incoming;
use super::outgoing::{Outgoing, datagram_room, max_datagram};
use super::reasons::reason_of;
use crate::reason::Reason;
use crate::transport::{Connection, NotSentError, Path};

/// A connection, from the first packet until QUIC drops it.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) id: Connection,
    pub(super) address: SocketAddr,
    quinn: quinn_proto::Connection,
    state: SlotState,
    /// Whether the connection was reported to the application; that of a client always is.
    is_reported: bool,
    incoming: Incoming,
    outgoing: Outgoing,
    /// State of the connection in the counts of its site.
    pub(super) counted: Counted,
    /// Whether this side has closed the connection and sent the close packet.
    has_closed: bool,
    has_sent_close: bool,
    /// Whether one packet may be sent although the window is full, as a probe.
    is_probing: bool,
    /// Whether reliable batches are held back.
    is_paused: bool,
    /// Whether a pause has just ended: reliable batches are then handed out before datagrams, or
    /// new ones would take their room.
    was_paused: bool,
    /// Whether the connection is in the list of those to transmit for, and in that of those to poll.
    pub(super) is_dirty: bool,
    pub(super) is_ready: bool,
    /// Time of QUIC's next timer; `None` if it has none.
    pub(super) timeout: Option<Instant>,
    max_datagram: usize,
    /// Bytes of datagrams that may wait before the oldest is dropped.
    datagram_room: usize,
    /// Number of acks, and number of data frames that were sent before the last one.
    acks: u64,
    sent: u64,
    /// Time since which sent data is unacked, `None` if all is acked; and time of the last probe.
    unacked_since: Option<Duration>,
    last_probe: Duration,
    /// Number of probes since one was acked, or a packet after it; and the packet of the last one.
    probes: u32,
    probe_number: u64,
    window: WindowState,
    guard: Guard,
    /// Whether the application has welcomed the peer.
    pub(super) is_welcome: bool,
    /// Unvalidated new address of the peer.
    new_address: Option<SocketAddr>,
    /// Words of the ids of this side that the connection has or had.
    pub(super) ids: Vec<u32>,
    /// Work that this side still does for the connection, and that it did in this input.
    pub(super) bucket: TokenBucket,
    pub(super) share: InputShare,
    /// Largest datagram that there ever was room for, in bytes: batches of this size may wait.
    largest_datagram: usize,
}

#[derive(Debug)]
enum SlotState {
    /// The handshake is incomplete, until this time at most.
    Handshake {
        until: Duration,
    },
    /// Complete, not yet reported.
    New,
    Connected,
    /// Ended, not yet reported.
    Ended(Reason),
    /// Reported; QUIC answers late packets for a while.
    Over,
}

/// An event of a connection for the application.
pub(super) enum Output {
    Connected,
    Batch(Delivery, Bytes),
    Disconnected(Reason),
    /// A server's connection ended before it was reported.
    Refused(Reason),
}

impl Slot {
    pub(super) fn new(
        id: Connection,
        address: SocketAddr,
        quinn: quinn_proto::Connection,
        (window, guard): (WindowState, Guard),
        until: Duration,
        config: &QuicConfig,
    ) -> Self {
        Self {
            id,
            address,
            is_reported: quinn.side().is_client(),
            is_welcome: quinn.side().is_client(),
            quinn,
            state: SlotState::Handshake { until },
            incoming: Incoming::default(),
            outgoing: Outgoing::new(config),
            counted: Counted::default(),
            has_closed: false,
            has_sent_close: false,
            is_probing: false,
            is_paused: false,
            was_paused: false,
            is_dirty: false,
            is_ready: false,
            timeout: None,
            max_datagram: 0,
            datagram_room: 0,
            acks: 0,
            sent: 0,
            unacked_since: None,
            last_probe: Duration::ZERO,
            probes: 0,
            probe_number: 0,
            window,
            guard,
            new_address: None,
            ids: Vec::new(),
            bucket: TokenBucket::default(),
            share: InputShare::default(),
            largest_datagram: 0,
        }
    }

    /// Stops handing out reliable batches; `false` if already paused.
    pub(super) fn pause(&mut self) -> bool {
        !mem::replace(&mut self.is_paused, true)
    }

    /// Hands out reliable batches again.
    pub(super) fn resume(&mut self) {
        if mem::take(&mut self.is_paused) {
            self.was_paused = true;
            self.incoming.rotate();
        }
    }

    pub(super) fn is_handshaking(&self) -> bool {
        matches!(self.state, SlotState::Handshake { .. })
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self.state, SlotState::Ended(_) | SlotState::Over)
    }

    fn is_connected(&self) -> bool {
        matches!(self.state, SlotState::New | SlotState::Connected)
    }

    /// Adds the connection to the lists of dirty and ready ones, unless it is there already.
    pub(super) fn mark(
        &mut self,
        place: usize,
        dirty: &mut Vec<usize>,
        ready: &mut VecDeque<usize>,
    ) {
        if !mem::replace(&mut self.is_dirty, true) {
            dirty.push(place);
        }
        if !mem::replace(&mut self.is_ready, true) {
            ready.push_back(place);
        }
    }

    /// Handles an event of the endpoint.
    pub(super) fn handle_event(&mut self, event: ConnectionEvent) {
        self.quinn.handle_event(event);
    }

    /// Handles a packet; returns its work.
    pub(super) fn handle_packet(
        &mut self,
        event: ConnectionEvent,
        (now, instant): (Duration, Instant),
        config: &QuicConfig,
    ) -> Work {
        self.guard.prepare(self.is_paused);
        self.quinn.handle_event(event);
        // Each datagram keeps its packet in memory, however few bytes it has.
        while self.guard.datagrams() > config.receive_datagrams / BYTES_PER_DATAGRAM {
            let is_some = self.quinn.datagrams().recv().is_some();
            self.guard.handle_datagram(is_some);
        }
        if self.window.acks() != self.acks {
            self.acks = self.window.acks();
            // Other data is in flight, unless nothing was sent since the last ack.
            let frames = self.quinn.stats().frame_tx;
            let sent = frames.stream + frames.datagram;
            self.unacked_since = (sent != self.sent).then_some(now);
            self.sent = sent;
        }
        // Polled immediately: QUIC queues an event for each frame.
        self.poll_quinn();
        let work = self.guard.take_work();
        if let Some(violation) = work.violation.filter(|_| !self.has_ended()) {
            self.end(instant, Reason::violation(violation));
        }
        work
    }

    /// Raises the limits to those of the configuration, since the application has welcomed the
    /// peer; `false` if they were raised before.
    pub(super) fn welcome(&mut self, config: &QuicConfig) -> bool {
        if mem::replace(&mut self.is_welcome, true) {
            return false;
        }
        let streams = VarInt::from_u32(config.reliable_streams.saturating_add(2));
        self.quinn.set_max_concurrent_streams(Dir::Uni, streams);
        self.quinn.set_receive_window(VarInt::from_u32(config.receive_window));
        self.guard.welcome(config);
        true
    }

    /// Runs the due timers of QUIC.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.quinn.handle_timeout(now);
    }

    /// Ends a handshake that takes too long; returns whether it ended one.
    pub(super) fn handle_time(&mut self, now: Duration, instant: Instant) -> bool {
        let SlotState::Handshake { until } = self.state else { return false };
        if now < until {
            return false;
        }
        self.quinn.close(instant, VarInt::from_u32(0), Bytes::new());
        self.state = SlotState::Ended(Reason::TimedOut);
        true
    }

    /// Sends a probe if nothing is acked; returns whether one was due.
    ///
    /// QUIC doubles the interval after each probe, so that after an outage of some seconds it waits
    /// for as many again; and quinn acks nothing while its window is full. For a game that is too
    /// long. QUIC keeps an entry for each probe until a packet as new is acked, so a peer that acks
    /// none of them, and stays by sending other packets, is disconnected.
    pub(super) fn handle_probe_timeout(&mut self, now: Duration, instant: Instant) -> bool {
        if self.next_probe().is_none_or(|time| time > now) {
            return false;
        }
        if self.guard.is_acked(self.probe_number) {
            self.probes = 0;
        }
        self.probes += 1;
        if self.probes > MAX_PROBES {
            self.end(instant, Reason::violation("packets are not acknowledged"));
            return true;
        }
        self.last_probe = now;
        self.probe_number = self.guard.next_number();
        self.is_probing = true;
        self.quinn.ping();
        true
    }

    fn next_probe(&self) -> Option<Duration> {
        let since = self.unacked_since.filter(|_| self.is_connected())?;
        Some(
            (since + PROBE_TIMEOUT.max(self.quinn.rtt() * 3)).max(self.last_probe + PROBE_INTERVAL),
        )
    }

    /// Handles the events of QUIC.
    pub(super) fn poll_quinn(&mut self) {
        while let Some(event) = self.quinn.poll() {
            match event {
                QuinnEvent::Connected => {
                    self.refresh();
                    self.state = SlotState::New;
                }
                QuinnEvent::ConnectionLost { reason } if !self.has_ended() => {
                    self.state = SlotState::Ended(reason_of(&reason, self.quinn.side()));
                }
                QuinnEvent::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                    self.incoming.handle_opened(&mut self.quinn);
                }
                QuinnEvent::Stream(StreamEvent::Readable { id }) => {
                    self.incoming.handle_readable(id);
                }
                _ => {}
            }
        }
    }

    pub(super) fn poll_endpoint_event(&mut self) -> Option<EndpointEvent> {
        self.quinn.poll_endpoint_events()
    }

    /// Returns the next event for the application.
    pub(super) fn poll_output(&mut self, config: &QuicConfig, now: Instant) -> Option<Output> {
        match &mut self.state {
            SlotState::Handshake { .. } | SlotState::Over => return None,
            SlotState::New => {
                self.state = SlotState::Connected;
                self.is_reported = true;
                return Some(Output::Connected);
            }
            // Batches of a peer that violated the protocol are dropped.
            SlotState::Ended(Reason::Violation(_)) if self.has_closed => return self.poll_end(),
            SlotState::Connected | SlotState::Ended(_) => {}
        }
        match self.next_batch(config) {
            Ok(Some((delivery, batch))) => return Some(Output::Batch(delivery, batch)),
            Ok(None) => {}
            Err(violation) => {
                let reason = Reason::violation(violation);
                self.quinn.close(now, VarInt::from_u32(1), reason.to_bytes().into());
                self.state = SlotState::Over;
                self.has_closed = true;
                return Some(Output::Disconnected(reason));
            }
        }
        // Batches that arrived before the end are handed out before it.
        if self.is_paused || !matches!(self.state, SlotState::Ended(_)) {
            return None;
        }
        self.poll_end()
    }

    /// Returns the end of the connection, once.
    fn poll_end(&mut self) -> Option<Output> {
        match mem::replace(&mut self.state, SlotState::Over) {
            SlotState::Ended(reason) if self.is_reported => Some(Output::Disconnected(reason)),
            SlotState::Ended(reason) => Some(Output::Refused(reason)),
            _ => None,
        }
    }

    fn next_batch(
        &mut self,
        config: &QuicConfig,
    ) -> Result<Option<(Delivery, Bytes)>, &'static str> {
        if mem::take(&mut self.was_paused) && !self.is_paused {
            let batch = self.incoming.next_batch(&mut self.quinn, &self.guard, config)?;
            if batch.is_some() {
                return Ok(batch);
            }
        }
        let datagram = self.incoming.next_datagram(&mut self.quinn, &self.guard)?;
        if datagram.is_some() || self.is_paused {
            return Ok(datagram);
        }
        self.incoming.next_batch(&mut self.quinn, &self.guard, config)
    }

    pub(super) fn send(
        &mut self,
        delivery: Delivery,
        batch: &[u8],
        config: &QuicConfig,
        now: Duration,
    ) -> Result<(), NotSentError> {
        if !self.is_connected() {
            return Err(NotSentError::NotConnected(self.id));
        }
        let fragments = delivery.fragments();
        let limit = if fragments { config.max_fragmented } else { self.largest_datagram };
        if batch.len() > limit {
            return Err(NotSentError::TooLarge { size: batch.len(), limit });
        }
        self.unacked_since.get_or_insert(now);
        let sent = self.outgoing.send(&mut self.quinn, delivery, batch, config);
        if !delivery.is_reliable() {
            self.datagram_room = datagram_room(&mut self.quinn);
        }
        sent
    }

    /// Ends a connection that was not reported to the application.
    pub(super) fn refuse(&mut self, now: Instant, reason: Reason) {
        self.quinn.close(now, VarInt::from_u32(0), reason.to_bytes().into());
        self.state = SlotState::Ended(reason);
        self.has_closed = true;
    }

    /// Ends a connection whose peer violated the protocol; the application gets an event.
    fn end(&mut self, now: Instant, reason: Reason) {
        self.quinn.close(now, VarInt::from_u32(1), reason.to_bytes().into());
        self.state = SlotState::Ended(reason);
        self.has_closed = true;
    }

    pub(super) fn close(&mut self, now: Instant, reason: &Reason) {
        if !matches!(self.state, SlotState::Over) {
            let code = u32::from(matches!(reason, Reason::Violation(_)));
            self.quinn.close(now, VarInt::from_u32(code), reason.to_bytes().into());
            self.state = SlotState::Over;
            self.has_closed = true;
        }
    }

    /// Writes the next packets into `buffer`.
    pub(super) fn poll_transmit(
        &mut self,
        now: Instant,
        max_packets: usize,
        buffer: &mut Vec<u8>,
    ) -> Option<quinn_proto::Transmit> {
        self.outgoing.write(&mut self.quinn);
        // A close packet is sent although the window is full.
        let transmit = if !mem::take(&mut self.is_probing) && !self.has_closed {
            self.quinn.poll_transmit(now, max_packets, buffer)
        } else {
            self.window.set_unlimited(true);
            let transmit = self.quinn.poll_transmit(now, 1, buffer);
            self.window.set_unlimited(false);
            transmit
        };
        if let Some(address) = self.new_address {
            let is_there = transmit.as_ref().is_some_and(|sent| sent.destination == address);
            self.guard.handle_sent(is_there);
        }
        transmit
    }

    /// Caches values that QUIC returns only through `&mut`.
    pub(super) fn refresh(&mut self) {
        self.timeout = self.quinn.poll_timeout();
        self.max_datagram = max_datagram(&mut self.quinn);
        self.datagram_room = datagram_room(&mut self.quinn);
        self.largest_datagram = self.largest_datagram.max(self.max_datagram);
    }

    /// Returns the time of the next timer.
    pub(super) fn next_time(&self, epoch: Instant) -> Option<Duration> {
        let timeout = self.timeout.map(|time| time.saturating_duration_since(epoch));
        let until = match self.state {
            SlotState::Handshake { until } => Some(until),
            _ => None,
        };
        timeout.into_iter().chain(until).chain(self.next_probe()).min()
    }

    /// Returns the peer's new address, once it is validated.
    pub(super) fn poll_migration(&mut self) -> Option<SocketAddr> {
        let address = self.quinn.remote_address();
        if address == self.address {
            if self.new_address.take().is_some() {
                self.guard.set_migrating(false);
            }
            return None;
        }
        if self.new_address.replace(address) != Some(address) {
            self.guard.set_migrating(true);
            return None;
        }
        if !self.guard.has_migrated() {
            return None;
        }
        self.new_address = None;
        self.guard.set_migrating(false);
        Some(address)
    }

    /// Drops a connection without a close handshake.
    pub(super) fn abort(&mut self, now: Instant, reason: Reason) {
        self.refuse(now, reason);
        self.quinn.handle_timeout(now + DRAIN_TIME);
    }

    /// Whether the packet that is being sent is the first with the reason of this side's close.
    pub(super) fn is_first_close(&mut self) -> bool {
        self.has_closed && !mem::replace(&mut self.has_sent_close, true)
    }

    /// Whether the address of the other side is validated: its handshake is complete.
    pub(super) fn is_validated(&self) -> bool {
        self.is_connected()
    }

    /// Whether the end was reported to the application.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, SlotState::Over)
    }

    pub(super) fn path(&self, max_fragmented: usize) -> Option<Path> {
        if !self.is_connected() {
            return None;
        }
        let stats = self.quinn.stats();
        let (sent, lost) = (stats.path.sent_packets, stats.path.lost_packets);
        Some(Path {
            max_datagram: self.max_datagram,
            max_fragmented,
            round_trip: stats.path.rtt,
            jitter: self.window.jitter(),
            loss: if sent == 0 { 0.0 } else { lost as f64 / sent as f64 },
            backlog: self.outgoing.backlog(),
            window: Some(usize::try_from(stats.path.cwnd).unwrap_or(usize::MAX)),
            datagram_room: self.datagram_room,
            dropped: self.outgoing.dropped(),
            bytes_sent: stats.udp_tx.bytes,
            bytes_received: stats.udp_rx.bytes,
            packets_sent: stats.udp_tx.datagrams,
            packets_received: stats.udp_rx.datagrams,
        })
    }
}

/// Time after which QUIC has dropped a closed connection.
const DRAIN_TIME: Duration = Duration::from_secs(3600);
/// Smallest number of bytes that a waiting datagram counts for.
const BYTES_PER_DATAGRAM: usize = 256;
/// Time without an ack until the first probe, and between later ones.
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);
const PROBE_INTERVAL: Duration = Duration::from_millis(250);
/// Probes without an ack, after which a connection ends: a minute of them, in which an honest peer
/// that can send acks some.
const MAX_PROBES: u32 = 240;
