//! Many connections over one socket.

use core::mem;
use core::time::Duration;
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use quinn_proto::{
    ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, Incoming, ServerConfig, Transmit,
};
use tightwire::Delivery;

use super::congestion::More;
use super::farewell::Farewells;
use super::flood::Flood;
use super::slot::{Output, Slot};
use super::socket::{Packet, Packets, Socket};
use super::{Certificate, QuicConfig, QuicError, Trust, setup};
use crate::reason::Reason;
use crate::transport::{Connection, Event, NotSent, Path, Transport};

/// QUIC over UDP, without a runtime: encrypted, with acknowledgements, and a [`Transport`].
///
/// A server [listens](Self::listen) and a client [connects](Self::connect), over a
/// [`Udp`](crate::Udp) socket or over a simulated [`Network`](crate::Network). docs/WIRE.md says what
/// travels.
///
/// ```
/// use std::time::Duration;
/// use tightwire::{Delivery, LinkConfig};
/// use tightwire_transport::{Certificate, Event, Network, Quic, QuicConfig, Transport, Trust};
///
/// let network = Network::new(LinkConfig::default(), 1);
/// let address = ([10, 0, 0, 1], 7777).into();
/// let certificate = Certificate::self_signed(["game.example"])?;
/// let trust = Trust::Pinned(vec![certificate.fingerprint()]);
/// let config = QuicConfig::default();
/// let mut server = Quic::listen(network.socket(address), &certificate, config)?;
/// let socket = network.socket(([10, 0, 0, 2], 1000).into());
/// let start = Duration::ZERO;
/// let mut client = Quic::connect(socket, address, "game.example", &trust, config, start)?;
///
/// let mut received = None;
/// for frame in 0..100 {
///     let now = Duration::from_millis(16) * frame;
///     client.handle_input(now);
///     let mut connected = None;
///     while let Some(event) = client.poll_event() {
///         if let Event::Connected { connection, .. } = event {
///             connected = Some(connection);
///         }
///     }
///     if let Some(connection) = connected {
///         client.send(connection, Delivery::Reliable, &[3, 0, 1, 2, 3])?;
///     }
///     client.handle_output(now);
///     server.handle_input(now);
///     while let Some(event) = server.poll_event() {
///         if let Event::Batch { batch, .. } = event {
///             received = Some(batch.to_vec());
///         }
///     }
///     server.handle_output(now);
/// }
/// assert_eq!(received, Some(vec![3, 0, 1, 2, 3]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Quic<S> {
    config: QuicConfig,
    socket: S,
    endpoint: Endpoint,
    server: Option<Arc<ServerConfig>>,
    /// What `now == 0` is for QUIC, which needs such a time; only differences matter.
    epoch: Instant,
    now: Duration,
    /// By the number of QUIC's handle, and how often a place was used before.
    slots: Vec<(u32, Option<Slot>)>,
    /// What is due at each place: connections are large, and to look at all of them each time takes
    /// longer than what they have to do.
    due: Vec<Due>,
    flood: Flood,
    /// The places that may have packets to send, or something for the application.
    dirty: Vec<usize>,
    ready: VecDeque<usize>,
    refused: VecDeque<(SocketAddr, Reason)>,
    /// Those that have something to say, and that QUIC has forgotten.
    departed: VecDeque<Slot>,
    paused: Vec<usize>,
    /// How many connections each IP address has, and how many were incomplete.
    addresses: HashMap<IpAddr, usize>,
    handshakes: usize,
    /// Packets of no connection.
    responses: Vec<(Transmit, Vec<u8>)>,
    farewells: Farewells,
    /// Packets that the socket did not take.
    stalled: Option<(Transmit, Vec<u8>)>,
    /// The batch that was handed out last.
    current: Bytes,
    send_buffer: Vec<u8>,
}

/// When something is due at a place, as far as is known since the last output.
#[derive(Clone, Copy, Debug, Default)]
struct Due {
    time: Option<Duration>,
    is_handshaking: bool,
}

impl<S: Socket> Quic<S> {
    /// A server, which takes everybody who comes as far as its limits go.
    ///
    /// # Errors
    ///
    /// [`QuicError`] if the certificate cannot be used.
    pub fn listen(
        socket: S,
        certificate: &Certificate,
        config: QuicConfig,
    ) -> Result<Self, QuicError> {
        let server = setup::server(certificate, &config)?;
        let reset_key = certificate.reset_key();
        Ok(Self::new(socket, Some(Arc::new(server)), Some(&reset_key), config))
    }

    /// A client, which connects to a server at this address that has a certificate for this name.
    ///
    /// # Errors
    ///
    /// [`QuicError`] if address, name or trust cannot be used.
    pub fn connect(
        socket: S,
        server: SocketAddr,
        name: &str,
        trust: &Trust,
        config: QuicConfig,
        now: Duration,
    ) -> Result<Self, QuicError> {
        let more = More::default();
        let client = setup::client(trust, &config, more.clone())?;
        let mut quic = Self::new(socket, None, None, config);
        let now = quic.advance(now);
        let instant = quic.instant(now);
        let (handle, quinn) = quic
            .endpoint
            .connect(instant, client, server, name)
            .map_err(|error| QuicError::Address { server, why: error.to_string() })?;
        quic.add(handle, server, quinn, more);
        Ok(quic)
    }

    fn new(
        socket: S,
        server: Option<Arc<ServerConfig>>,
        reset_key: Option<&[u8; 32]>,
        config: QuicConfig,
    ) -> Self {
        let endpoint_config = setup::endpoint(reset_key, &config);
        let finds_mtu = socket.finds_mtu();
        let endpoint = Endpoint::new(Arc::new(endpoint_config), server.clone(), finds_mtu, None);
        Self {
            config,
            socket,
            endpoint,
            server,
            epoch: Instant::now(),
            now: Duration::ZERO,
            slots: Vec::new(),
            due: Vec::new(),
            flood: Flood::new(config.packets_per_second),
            dirty: Vec::new(),
            ready: VecDeque::new(),
            refused: VecDeque::new(),
            departed: VecDeque::new(),
            paused: Vec::new(),
            addresses: HashMap::new(),
            handshakes: 0,
            responses: Vec::new(),
            farewells: Farewells::default(),
            stalled: None,
            current: Bytes::new(),
            send_buffer: Vec::new(),
        }
    }

    /// Where it receives.
    pub fn address(&self) -> SocketAddr {
        self.socket.address()
    }

    /// The packets that were dropped unread, since their sender sent too many.
    pub fn flooded(&self) -> u64 {
        self.flood.dropped
    }

    fn instant(&self, now: Duration) -> Instant {
        self.epoch + now
    }

    /// Time only goes forward, and not further than times can be told.
    fn advance(&mut self, now: Duration) -> Duration {
        self.now = self.now.max(now.min(LAST_TIME));
        self.now
    }

    fn add(
        &mut self,
        handle: ConnectionHandle,
        address: SocketAddr,
        quinn: quinn_proto::Connection,
        more: More,
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
        *slot = Some(Slot::new(id, address, quinn, more, until));
        self.handshakes += 1;
        *self.addresses.entry(address.ip()).or_default() += 1;
        self.flood.add(address, self.now);
        self.mark(place);
    }

    /// QUIC has forgotten a connection: its place can be used again.
    fn remove(&mut self, place: usize) {
        let Some((generation, slot)) = self.slots.get_mut(place) else { return };
        let Some(slot) = slot.take() else { return };
        *generation = generation.wrapping_add(1);
        self.due[place] = Due::default();
        self.leave(slot.address);
        if !slot.is_over() {
            self.departed.push_back(slot);
        }
    }

    /// An address has one connection less.
    fn leave(&mut self, address: SocketAddr) {
        self.flood.remove(address);
        let Some(count) = self.addresses.get_mut(&address.ip()) else { return };
        *count -= 1;
        if *count == 0 {
            self.addresses.remove(&address.ip());
        }
    }

    fn slot(&mut self, place: usize) -> Option<&mut Slot> {
        self.slots.get_mut(place)?.1.as_mut()
    }

    fn place_of(&self, connection: Connection) -> Option<usize> {
        let place = connection.0 as u32 as usize;
        let slot = self.slots.get(place)?.1.as_ref()?;
        (slot.id == connection).then_some(place)
    }

    /// Something happened to a connection.
    fn mark(&mut self, place: usize) {
        if let Some((_, Some(slot))) = self.slots.get_mut(place) {
            slot.mark(place, &mut self.dirty, &mut self.ready);
        }
    }

    fn receive(&mut self, now: Duration) {
        let instant = self.instant(now);
        let Self { socket, endpoint, flood, responses, slots, dirty, ready, .. } = self;
        let mut newcomers = Vec::new();
        let mut left = self.config.packets_per_input;
        socket.receive(now, &mut |packet: Packet<'_>| {
            left = left.saturating_sub(1);
            if flood.admits(packet.from, now) {
                let mut answer = Vec::new();
                // Memory of its own for each: QUIC keeps parts of packets, and counts as memory what
                // the packet has, not what it was cut from.
                let bytes = packet.bytes.into();
                let ecn = EcnCodepoint::from_bits(packet.congestion);
                match endpoint.handle(instant, packet.from, packet.to, ecn, bytes, &mut answer) {
                    // At once: such events are large, and to collect them is to copy them.
                    Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                        if let Some((_, Some(slot))) = slots.get_mut(handle.0) {
                            slot.handle_packet(event, now);
                            slot.mark(handle.0, dirty, ready);
                        }
                    }
                    Some(DatagramEvent::NewConnection(incoming)) => newcomers.push(incoming),
                    Some(DatagramEvent::Response(transmit)) => responses.push((transmit, answer)),
                    None => {}
                }
            }
            left > 0
        });
        for incoming in newcomers {
            self.handle_newcomer(incoming, instant);
        }
    }

    fn handle_newcomer(&mut self, incoming: Incoming, now: Instant) {
        let address = incoming.remote_address();
        let mut answer = Vec::new();
        let same = self.addresses.get(&address.ip()).copied().unwrap_or(0);
        let is_full = self.endpoint.open_connections() >= self.config.max_connections;
        if is_full || same >= self.config.max_per_address {
            let response = self.endpoint.refuse(incoming, &mut answer);
            self.responses.push((response, answer));
            // Those who come again and again are told only once a frame or so.
            if self.refused.len() < 64 {
                self.refused.push_back((address, Reason::Busy));
            }
            return;
        }
        if self.handshakes >= self.config.max_handshakes && incoming.may_retry() {
            if let Ok(response) = self.endpoint.retry(incoming, &mut answer) {
                self.responses.push((response, answer));
            }
            return;
        }
        let more = More::default();
        let server = self.server.as_ref();
        let server = server.and_then(|of| setup::server_for(of, &self.config, more.clone()).ok());
        match self.endpoint.accept(incoming, now, &mut answer, server.map(Arc::new)) {
            Ok((handle, quinn)) => self.add(handle, address, quinn, more),
            Err(error) => {
                if let Some(response) = error.response {
                    self.responses.push((response, answer));
                }
            }
        }
    }

    /// What a connection and the endpoint have to tell each other.
    fn settle(&mut self, place: usize) {
        loop {
            let Some((_, Some(slot))) = self.slots.get_mut(place) else { return };
            slot.poll_quinn();
            let Some(event) = slot.poll_endpoint_event() else { break };
            let is_drained = event.is_drained();
            if let Some(answer) = self.endpoint.handle_event(ConnectionHandle(place), event) {
                slot.handle_event(answer);
            }
            if is_drained {
                self.remove(place);
                return;
            }
        }
        let Some((_, Some(slot))) = self.slots.get_mut(place) else { return };
        let (before, address) = (slot.address, slot.remote_address());
        if before != address {
            slot.address = address;
            self.leave(before);
            *self.addresses.entry(address.ip()).or_default() += 1;
            self.flood.add(address, self.now);
        }
    }

    fn transmit(&mut self, place: usize, now: Duration) -> bool {
        let instant = self.instant(now);
        let max_packets = self.socket.max_packets();
        let mut buffer = mem::take(&mut self.send_buffer);
        let mut is_sent = true;
        while is_sent {
            buffer.clear();
            let Some((_, Some(slot))) = self.slots.get_mut(place) else { break };
            let Some(transmit) = slot.poll_transmit(instant, max_packets, &mut buffer) else {
                break;
            };
            if slot.has_closed() {
                self.farewells.add(transmit.destination, &buffer[..transmit.size], now);
            }
            is_sent = send(&mut self.socket, now, &transmit, &buffer);
            if !is_sent {
                self.stalled = Some((transmit, mem::take(&mut buffer)));
            }
        }
        self.send_buffer = buffer;
        is_sent
    }

    /// Sends what belongs to no connection, and what the socket did not take before.
    fn transmit_rest(&mut self, now: Duration) -> bool {
        if let Some((transmit, bytes)) = self.stalled.take()
            && !send(&mut self.socket, now, &transmit, &bytes)
        {
            self.stalled = Some((transmit, bytes));
            return false;
        }
        self.farewells.send(&mut self.socket, now);
        for (transmit, bytes) in self.responses.drain(..) {
            // They are answers to packets: who does not get one asks again.
            let _ = send(&mut self.socket, now, &transmit, &bytes);
        }
        true
    }

    /// Turns what a connection has into an event.
    fn event(&mut self, connection: Connection, address: SocketAddr, output: Output) -> Event<'_> {
        match output {
            Output::Connected => Event::Connected { connection, address: Some(address) },
            Output::Disconnected(reason) => Event::Disconnected { connection, reason },
            Output::Refused(reason) => Event::Refused { address: Some(address), reason },
            Output::Batch(delivery, batch) => {
                self.current = batch;
                Event::Batch { from: connection, delivery, batch: &self.current }
            }
        }
    }

    fn poll_departed(&mut self) -> Option<(Connection, SocketAddr, Output)> {
        let instant = self.instant(self.now);
        while let Some(slot) = self.departed.front_mut() {
            slot.is_paused = false;
            if let Some(output) = slot.poll_output(&self.config, instant) {
                return Some((slot.id, slot.address, output));
            }
            self.departed.pop_front();
        }
        None
    }

    fn poll_ready(&mut self) -> Option<(Connection, SocketAddr, Output)> {
        let instant = self.instant(self.now);
        while let Some(&place) = self.ready.front() {
            if let Some((_, Some(slot))) = self.slots.get_mut(place) {
                if let Some(output) = slot.poll_output(&self.config, instant) {
                    let found = (slot.id, slot.address, output);
                    // What was read makes room, which the other side must be told.
                    self.mark(place);
                    return Some(found);
                }
                slot.is_ready = false;
            }
            self.ready.pop_front();
        }
        None
    }
}

impl<S: Socket> Transport for Quic<S> {
    fn handle_input(&mut self, now: Duration) {
        let now = self.advance(now);
        for place in mem::take(&mut self.paused) {
            if let Some(slot) = self.slot(place) {
                slot.is_paused = false;
            }
            self.mark(place);
        }
        self.receive(now);
        let instant = self.instant(now);
        self.handshakes = 0;
        for place in 0..self.due.len() {
            let Due { time, is_handshaking } = self.due[place];
            self.handshakes += usize::from(is_handshaking);
            if time.is_none_or(|time| time > now) {
                continue;
            }
            let Some((_, Some(slot))) = self.slots.get_mut(place) else { continue };
            if slot.timeout.is_some_and(|timeout| timeout <= instant) {
                slot.handle_timeout(instant);
                self.mark(place);
            } else if slot.handle_time(now, instant) || slot.handle_silence(now) {
                self.mark(place);
            }
        }
        for index in 0..self.dirty.len() {
            self.settle(self.dirty[index]);
        }
    }

    fn poll_event(&mut self) -> Option<Event<'_>> {
        if let Some((address, reason)) = self.refused.pop_front() {
            return Some(Event::Refused { address: Some(address), reason });
        }
        let found = self.poll_departed().or_else(|| self.poll_ready());
        let (connection, address, output) = found?;
        Some(self.event(connection, address, output))
    }

    fn send(&mut self, to: Connection, delivery: Delivery, batch: &[u8]) -> Result<(), NotSent> {
        let place = self.place_of(to).ok_or(NotSent::NotConnected(to))?;
        let Some((_, Some(slot))) = self.slots.get_mut(place) else {
            return Err(NotSent::NotConnected(to));
        };
        slot.send(delivery, batch, &self.config, self.now)?;
        self.mark(place);
        Ok(())
    }

    fn pause(&mut self, connection: Connection) {
        let Some(place) = self.place_of(connection) else { return };
        if let Some(slot) = self.slot(place)
            && !mem::replace(&mut slot.is_paused, true)
        {
            self.paused.push(place);
        }
    }

    fn close(&mut self, connection: Connection, reason: &Reason) {
        let instant = self.instant(self.now);
        let Some(place) = self.place_of(connection) else { return };
        if let Some(slot) = self.slot(place) {
            slot.close(instant, reason);
        }
        self.mark(place);
    }

    fn handle_output(&mut self, now: Duration) {
        let now = self.advance(now);
        if !self.transmit_rest(now) {
            return;
        }
        let mut dirty = mem::take(&mut self.dirty);
        let mut is_sent = true;
        dirty.retain(|&place| {
            is_sent = is_sent && self.transmit(place, now);
            self.settle(place);
            if let Some((_, Some(slot))) = self.slots.get_mut(place) {
                slot.refresh();
                slot.is_dirty = !is_sent;
                let time = slot.next_time(self.epoch);
                self.due[place] = Due { time, is_handshaking: slot.is_handshaking() };
            }
            !is_sent
        });
        dirty.append(&mut self.dirty);
        self.dirty = dirty;
    }

    fn path(&self, connection: Connection) -> Option<Path> {
        let (_, slot) = self.slots.get(self.place_of(connection)?)?;
        slot.as_ref()?.path(self.config.max_fragmented)
    }

    fn next_time(&self) -> Option<Duration> {
        if !self.ready.is_empty() || !self.dirty.is_empty() || !self.departed.is_empty() {
            return Some(self.now);
        }
        let due = self.due.iter().filter_map(|due| due.time);
        due.chain(self.socket.next_time()).chain(self.farewells.next_time()).min()
    }
}

fn send(socket: &mut impl Socket, now: Duration, transmit: &Transmit, bytes: &[u8]) -> bool {
    socket.send(
        now,
        &Packets {
            to: transmit.destination,
            from: transmit.src_ip,
            congestion: transmit.ecn.map_or(0, |ecn| ecn as u8),
            bytes: &bytes[..transmit.size],
            size: transmit.segment_size.unwrap_or(transmit.size),
        },
    )
}

/// A hundred years: what is added to it can still be told.
const LAST_TIME: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
