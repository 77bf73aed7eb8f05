//! The connections of an endpoint, without its socket.

use core::mem;
use core::time::Duration;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use crate::message::Delivery;
use quinn_proto::{
    ClientConfig, ConnectionEvent, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint,
    Incoming, ServerConfig, Transmit,
};

use super::acceptor::{Acceptor, ConnectionAttempt, Decision};
use super::congestion::WindowState;
use super::filter::Filter;
use super::flood::{Flood, PacketDecision, Rate};
use super::guard::{Guard, WORK};
use super::slot::{Output, Slot};
use super::socket::Packet;
use super::{Certificate, QuicConfig, QuicError, setup};
use crate::reason::Reason;
use crate::transport::{Connection, LAST_TIME, NotSentError, Path};

/// The connections of an endpoint.
#[derive(Debug)]
pub(super) struct Connections {
    config: QuicConfig,
    endpoint: Endpoint,
    server: Option<Arc<ServerConfig>>,
    /// The `Instant` of `now == 0`, which QUIC needs; only differences matter.
    epoch: Instant,
    now: Duration,
    /// Connections by QUIC's handle, with the generation of each slot.
    slots: Vec<(u32, Option<Slot>)>,
    /// Due time of each slot: connections are large, and visiting all of them each time would take
    /// longer than their work.
    due: Vec<Due>,
    flood: Flood,
    acceptor: Acceptor,
    /// Number of unauthenticated connections, and whether they wait for the application's
    /// welcome.
    unauthenticated: usize,
    holds_unauthenticated: bool,
    frames_read: u64,
    /// Number of inputs so far.
    inputs: u64,
    /// Slots that may have packets to send, or events for the application.
    dirty: Vec<usize>,
    ready: VecDeque<usize>,
    paused: Vec<usize>,
    /// Connections that QUIC has dropped, and that still have events.
    drained: Vec<Slot>,
    refused: VecDeque<(SocketAddr, Reason)>,
    /// Packets of no connection.
    responses: Vec<(Transmit, Vec<u8>)>,
}

/// Due time of a slot, as known since the last output.
#[derive(Clone, Copy, Debug, Default)]
struct Due {
    time: Option<Duration>,
    is_handshaking: bool,
}

impl Connections {
    pub(super) fn new(
        server: Option<(Arc<ServerConfig>, &Certificate)>,
        finds_mtu: bool,
        config: QuicConfig,
    ) -> Self {
        let secrets = setup::Secrets::new(server.as_ref().map(|(_, certificate)| *certificate));
        let endpoint_config = setup::endpoint(&secrets, &config);
        let server = server.map(|(server, _)| server);
        let is_server = server.is_some();
        let first = server.as_deref().and_then(|server| {
            setup::server_for(server, &config, WindowState::default(), Guard::new(true)).ok()
        });
        let endpoint =
            Endpoint::new(Arc::new(endpoint_config), first.map(Arc::new), finds_mtu, None);
        Self {
            config,
            endpoint,
            server,
            epoch: Instant::now(),
            now: Duration::ZERO,
            slots: Vec::new(),
            due: Vec::new(),
            flood: Flood::new(secrets.connection_ids, is_server),
            acceptor: Acceptor::default(),
            unauthenticated: 0,
            holds_unauthenticated: false,
            frames_read: 0,
            inputs: 0,
            dirty: Vec::new(),
            ready: VecDeque::new(),
            paused: Vec::new(),
            drained: Vec::new(),
            refused: VecDeque::new(),
            responses: Vec::new(),
        }
    }

    pub(super) fn connect(
        &mut self,
        client: ClientConfig,
        shared: (WindowState, Guard),
        server: SocketAddr,
        name: &str,
        now: Duration,
    ) -> Result<(), QuicError> {
        let now = self.advance(now);
        let instant = self.instant(now);
        let (handle, quinn) = self
            .endpoint
            .connect(instant, client, server, name)
            .map_err(|error| QuicError::Address { server, reason: error.into() })?;
        self.add(handle, server, quinn, shared);
        Ok(())
    }

    /// Whether all connections ended and both sides know the reason.
    pub(super) fn have_ended(&self) -> bool {
        let mut slots = self.slots.iter().filter_map(|(_, slot)| slot.as_ref());
        self.drained.is_empty() && slots.all(Slot::is_over)
    }

    pub(super) fn config(&self) -> &QuicConfig {
        &self.config
    }

    pub(super) fn flooded(&self) -> u64 {
        self.flood.dropped
    }

    pub(super) fn frames_read(&self) -> u64 {
        self.frames_read
    }

    /// Returns the filter that the socket should use from now on; `None` if it has not changed.
    pub(super) fn filter(&mut self) -> Option<Filter> {
        self.flood.filter(self.now)
    }

    pub(super) fn instant(&self, now: Duration) -> Instant {
        self.epoch + now
    }

    /// Clamps `now` to be monotonic and below `LAST_TIME`.
    pub(super) fn advance(&mut self, now: Duration) -> Duration {
        self.now = self.now.max(now.min(LAST_TIME));
        self.now
    }

    fn add(
        &mut self,
        handle: ConnectionHandle,
        address: SocketAddr,
        quinn: quinn_proto::Connection,
        shared: (WindowState, Guard),
    ) {
        let place = handle.0;
        if self.slots.len() <= place {
            self.slots.resize_with(place + 1, || (0, None));
            self.due.resize(place + 1, Due::default());
        }
        let until = self.now.saturating_add(self.config.handshake_timeout);
        self.due[place] = Due { time: Some(until), is_handshaking: true };
        let (generation, slot) = &mut self.slots[place];
        let id = Connection(u64::from(*generation) << 32 | place as u64);
        let new = slot.insert(Slot::new(id, address, quinn, shared, until, &self.config));
        self.unauthenticated += usize::from(!new.is_welcome);
        self.flood.ids.issue(place, &mut new.ids);
        self.flood.add(address);
        self.mark(place);
    }

    /// Frees the slot of a connection that QUIC has dropped.
    fn remove(&mut self, place: usize) {
        let Some((generation, slot)) = self.slots.get_mut(place) else { return };
        let Some(mut slot) = slot.take() else { return };
        *generation = generation.wrapping_add(1);
        self.due[place] = Due::default();
        self.flood.remove(slot.address);
        self.flood.ids.forget(place, &slot.ids);
        self.acceptor.remove(&mut slot);
        self.unauthenticated -= usize::from(!slot.is_welcome);
        if !slot.is_over() {
            self.drained.push(slot);
        }
    }

    pub(super) fn slot(&mut self, place: usize) -> Option<&mut Slot> {
        self.slots.get_mut(place)?.1.as_mut()
    }

    fn index_of(&self, connection: Connection) -> Option<usize> {
        let place = connection.0 as u32 as usize;
        let slot = self.slots.get(place)?.1.as_ref()?;
        (slot.id == connection).then_some(place)
    }

    /// Marks a connection as dirty and ready.
    fn mark(&mut self, place: usize) {
        if let Some((_, Some(slot))) = self.slots.get_mut(place) {
            slot.mark(place, &mut self.dirty, &mut self.ready);
        }
    }

    pub(super) fn begin_input(&mut self, now: Duration) -> Duration {
        self.inputs += 1;
        for place in mem::take(&mut self.paused) {
            if let Some(slot) = self.slot(place) {
                slot.resume();
            }
            self.mark(place);
        }
        self.drained.iter_mut().for_each(Slot::resume);
        self.advance(now)
    }

    /// Handles a packet; returns its work, where [`WORK`] is that of an ordinary one.
    pub(super) fn handle_packet(&mut self, packet: &Packet<'_>) -> u32 {
        let (now, instant) = (self.now, self.instant(self.now));
        let owner = match self.flood.admit(packet.from, packet.bytes, now) {
            PacketDecision::Drop => return DROPPED,
            PacketDecision::Read => None,
            PacketDecision::Connection(place) => Some(place),
        };
        if owner.is_some_and(|place| !self.takes_packet(place, packet.from)) {
            return DROPPED;
        }
        let mut answer = Vec::new();
        // A buffer for each packet: QUIC keeps parts of packets, and accounts for the bytes of a
        // packet, not for those of the buffer that it was split from.
        let bytes = packet.bytes.into();
        let ecn = EcnCodepoint::from_bits(packet.congestion);
        match self.endpoint.handle(instant, packet.from, packet.to, ecn, bytes, &mut answer) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                let place = handle.0;
                if owner != Some(place) && !self.takes_packet(place, packet.from) {
                    return DROPPED;
                }
                return self.handle_packet_of(place, event);
            }
            // Decided immediately: QUIC buffers few attempts.
            Some(DatagramEvent::NewConnection(incoming)) => self.handle_attempt(incoming, instant),
            Some(DatagramEvent::Response(transmit)) => self.respond(transmit, answer),
            None => {}
        }
        self.flood.ids.discard();
        // The id was one that the peer has retired, which can be that of a new connection again.
        if let Some(slot) = owner.and_then(|place| self.slot(place)) {
            slot.bucket.charge(RETIRED_ID);
            slot.share.charge(WORK);
        }
        WORK
    }

    /// Whether a connection takes a packet, by its limits. The connection id decides which one, and
    /// not the source address, which can be spoofed.
    fn takes_packet(&mut self, place: usize, from: SocketAddr) -> bool {
        let Some((_, Some(slot))) = self.slots.get_mut(place) else { return true };
        let rate = if slot.is_welcome && !slot.has_ended() {
            Rate::of(self.config.packets_per_second)
        } else {
            Rate::of_unauthenticated(self.unauthenticated)
        };
        // No connection takes the whole of an input, so that the packets of the others, which wait
        // behind its packets in the socket, are read in the same input or the next.
        let most = self.config.packets_per_input.div_ceil(INPUT_SHARE);
        let most = u32::try_from(most).unwrap_or(u32::MAX).saturating_mul(WORK);
        if self.server.is_some() && !slot.share.has_left(self.inputs, most) {
            self.flood.handle_dropped(None, rate);
            return false;
        }
        let is_taken = slot.bucket.take(rate, self.now);
        if !is_taken {
            let is_from_there = from == slot.address && slot.is_validated();
            self.flood.handle_dropped(is_from_there.then_some(slot.address), rate);
        }
        is_taken
    }

    /// Handles a packet that its connection takes.
    fn handle_packet_of(&mut self, place: usize, event: ConnectionEvent) -> u32 {
        let times = (self.now, self.instant(self.now));
        let Some((_, Some(slot))) = self.slots.get_mut(place) else { return WORK };
        let work = slot.handle_packet(event, times, &self.config);
        slot.bucket.charge(work.units.saturating_sub(WORK) as f32 / WORK as f32);
        slot.share.charge(work.units.max(WORK));
        slot.mark(place, &mut self.dirty, &mut self.ready);
        self.frames_read += work.frames;
        work.units.max(WORK)
    }

    fn handle_attempt(&mut self, incoming: Incoming, now: Instant) {
        let mut answer = Vec::new();
        let connections = self.endpoint.open_connections();
        let address = incoming.remote_address();
        let decision = self.acceptor.decide(
            ConnectionAttempt::from(&incoming),
            connections,
            &self.config,
            self.now,
        );
        if let Decision::Replace(connection) = decision {
            self.evict(connection);
        }
        match decision {
            Decision::Ignore => self.endpoint.ignore(incoming),
            Decision::Refuse => {
                let response = self.endpoint.refuse(incoming, &mut answer);
                self.respond(response, answer);
                // Repeated refusals are reported about once a frame.
                if self.refused.len() < 64 {
                    self.refused.push_back((canonical(address), Reason::Busy));
                }
            }
            Decision::Retry => {
                if let Ok(response) = self.endpoint.retry(incoming, &mut answer) {
                    self.respond(response, answer);
                }
            }
            Decision::Accept | Decision::Replace(_) => {
                let is_validated = incoming.remote_address_validated();
                let (window, guard) = (WindowState::default(), Guard::new(true));
                let server = self.server.as_ref().and_then(|server| {
                    setup::server_for(server, &self.config, window.clone(), guard.clone()).ok()
                });
                match self.endpoint.accept(incoming, now, &mut answer, server.map(Arc::new)) {
                    Ok((handle, quinn)) => {
                        self.add(handle, address, quinn, (window, guard));
                        if let Some((_, Some(slot))) = self.slots.get_mut(handle.0) {
                            self.acceptor.add(slot, is_validated, self.now);
                        }
                    }
                    Err(error) => {
                        if let Some(response) = error.response {
                            self.respond(response, answer);
                        }
                    }
                }
            }
        }
    }

    /// Adds a packet of no connection to the next output. Beyond a limit it is dropped: a flood of
    /// first packets would otherwise fill the memory of an application that pauses its output.
    fn respond(&mut self, transmit: Transmit, bytes: Vec<u8>) {
        if self.responses.len() < MAX_RESPONSES {
            self.responses.push((transmit, bytes));
        }
    }

    /// Evicts a connection immediately: an ordinary close takes a second.
    fn evict(&mut self, connection: Connection) {
        let instant = self.instant(self.now);
        let Some(place) = self.index_of(connection) else { return };
        if let Some(slot) = self.slot(place) {
            slot.abort(instant, Reason::Busy);
        }
        self.exchange_events(place);
    }

    /// Handles expired timers.
    pub(super) fn end_input(&mut self) {
        let (now, instant) = (self.now, self.instant(self.now));
        let mut handshakes = 0;
        for place in 0..self.due.len() {
            let Due { time, is_handshaking } = self.due[place];
            handshakes += usize::from(is_handshaking);
            if time.is_none_or(|time| time > now) {
                continue;
            }
            let Some((_, Some(slot))) = self.slots.get_mut(place) else { continue };
            if slot.timeout.is_some_and(|timeout| timeout <= instant) {
                slot.handle_timeout(instant);
                self.mark(place);
            } else if slot.handle_time(now, instant) || slot.handle_probe_timeout(now, instant) {
                self.mark(place);
            }
        }
        self.acceptor.set_handshakes(handshakes);
        for index in 0..self.dirty.len() {
            self.exchange_events(self.dirty[index]);
        }
    }

    /// Exchanges events between a connection and the endpoint.
    fn exchange_events(&mut self, place: usize) {
        loop {
            let Some((_, Some(slot))) = self.slots.get_mut(place) else { return };
            slot.poll_quinn();
            let Some(event) = slot.poll_endpoint_event() else { break };
            let is_drained = event.is_drained();
            if let Some(answer) = self.endpoint.handle_event(ConnectionHandle(place), event) {
                slot.handle_event(answer);
                self.flood.ids.issue(place, &mut slot.ids);
            }
            if is_drained {
                self.remove(place);
                return;
            }
        }
        let instant = self.instant(self.now);
        let Some((_, Some(slot))) = self.slots.get_mut(place) else { return };
        let mut has_room = true;
        let before = slot.address;
        if let Some(address) = slot.poll_migration() {
            has_room = self.acceptor.handle_migration(slot, address, &self.config);
            self.flood.migrate(before, address);
        }
        if !has_room || !self.acceptor.handle_progress(slot, &self.config) {
            slot.refuse(instant, Reason::Busy);
        }
    }

    pub(super) fn take_responses(&mut self) -> Vec<(Transmit, Vec<u8>)> {
        mem::take(&mut self.responses)
    }

    pub(super) fn take_dirty(&mut self) -> Vec<usize> {
        mem::take(&mut self.dirty)
    }

    pub(super) fn return_dirty(&mut self, mut dirty: Vec<usize>) {
        dirty.append(&mut self.dirty);
        self.dirty = dirty;
    }

    /// Updates a connection after all or some of its packets were sent.
    pub(super) fn refresh(&mut self, place: usize, is_sent: bool) {
        self.exchange_events(place);
        if let Some((_, Some(slot))) = self.slots.get_mut(place) {
            slot.refresh();
            slot.is_dirty = !is_sent;
            let time = slot.next_time(self.epoch);
            self.due[place] = Due { time, is_handshaking: slot.is_handshaking() };
        }
    }

    pub(super) fn poll_refused(&mut self) -> Option<(SocketAddr, Reason)> {
        self.refused.pop_front()
    }

    /// Returns the next event of a connection for the application.
    pub(super) fn poll_output(&mut self) -> Option<(Connection, SocketAddr, Output)> {
        self.poll_drained().or_else(|| self.poll_ready())
    }

    fn poll_drained(&mut self) -> Option<(Connection, SocketAddr, Output)> {
        let instant = self.instant(self.now);
        let Self { drained, config, .. } = self;
        let found = drained.iter_mut().find_map(|slot| {
            let output = slot.poll_output(config, instant)?;
            Some((slot.id, canonical(slot.address), output))
        });
        drained.retain(|slot| !slot.is_over());
        found
    }

    fn poll_ready(&mut self) -> Option<(Connection, SocketAddr, Output)> {
        let instant = self.instant(self.now);
        while let Some(&place) = self.ready.front() {
            if let Some((_, Some(slot))) = self.slots.get_mut(place) {
                if let Some(output) = slot.poll_output(&self.config, instant) {
                    let found = (slot.id, canonical(slot.address), output);
                    if !self.holds_unauthenticated {
                        self.welcome(found.0);
                    }
                    // Reading opens the flow control window, which the other side must learn.
                    self.mark(place);
                    return Some(found);
                }
                slot.is_ready = false;
            }
            self.ready.pop_front();
        }
        None
    }

    pub(super) fn send(
        &mut self,
        to: Connection,
        delivery: Delivery,
        batch: &[u8],
    ) -> Result<(), NotSentError> {
        let place = self.index_of(to).ok_or(NotSentError::NotConnected(to))?;
        let Some((_, Some(slot))) = self.slots.get_mut(place) else {
            return Err(NotSentError::NotConnected(to));
        };
        slot.send(delivery, batch, &self.config, self.now)?;
        self.mark(place);
        Ok(())
    }

    pub(super) fn pause(&mut self, connection: Connection) {
        if let Some(slot) = self.drained.iter_mut().find(|slot| slot.id == connection) {
            slot.pause();
        }
        let Some(place) = self.index_of(connection) else { return };
        if let Some(slot) = self.slot(place)
            && slot.pause()
        {
            self.paused.push(place);
        }
    }

    pub(super) fn hold_unauthenticated(&mut self) {
        self.holds_unauthenticated = true;
    }

    pub(super) fn welcome(&mut self, connection: Connection) {
        let Some(place) = self.index_of(connection) else { return };
        if let Some((_, Some(slot))) = self.slots.get_mut(place)
            && slot.welcome(&self.config)
        {
            self.unauthenticated -= 1;
            self.acceptor.handle_welcome(connection);
            self.mark(place);
        }
    }

    pub(super) fn close(&mut self, connection: Connection, reason: &Reason) {
        self.drained.retain(|slot| slot.id != connection);
        let instant = self.instant(self.now);
        let Some(place) = self.index_of(connection) else { return };
        if let Some(slot) = self.slot(place) {
            slot.close(instant, reason);
        }
        self.mark(place);
    }

    pub(super) fn path(&self, connection: Connection) -> Option<Path> {
        let (_, slot) = self.slots.get(self.index_of(connection)?)?;
        slot.as_ref()?.path(self.config.max_fragmented)
    }

    pub(super) fn next_time(&self) -> Option<Duration> {
        let is_waiting = !self.ready.is_empty()
            || !self.dirty.is_empty()
            || !self.paused.is_empty()
            || !self.drained.is_empty()
            || !self.refused.is_empty();
        if is_waiting {
            return Some(self.now);
        }
        self.due.iter().filter_map(|due| due.time).min()
    }
}

/// Divisor of the packets of an input that one connection can have read. By default that is a little
/// more than the burst of its rate limit, which is what limits it then.
const INPUT_SHARE: usize = 4;

/// Packets that one to a retired id counts for, beside itself: it may begin a connection, which is
/// refused after about ten microseconds.
const RETIRED_ID: f32 = 7.0;

/// Largest number of packets of no connection that wait for the next output: those of a quarter of a
/// second, at the limit of unconnected addresses.
const MAX_RESPONSES: usize = 1024;

/// Work of a packet that is dropped unread.
const DROPPED: u32 = WORK / 8;

/// Converts an IPv4-mapped address of a dual-stack socket to IPv4.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
