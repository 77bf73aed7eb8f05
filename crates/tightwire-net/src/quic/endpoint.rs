//! The QUIC endpoint: many connections over one socket.
//!
//! `quinn-proto` owns no socket and no clock: `Quic` drives it over any [`Socket`], so that the
//! same code runs over UDP and over a simulated network on a virtual clock.

use core::mem;
use core::time::Duration;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::message::Delivery;
use bytes::Bytes;
use quinn_proto::{ServerConfig, Transmit};

use super::close_repeater::CloseRepeater;
use super::congestion::WindowState;
use super::connections::Connections;
use super::guard::{Guard, WORK};
use super::slot::Output;
use super::socket::{Packets, Socket};
use super::{Certificate, Fingerprint, QuicConfig, QuicError, Trust, setup};
use crate::reason::Reason;
use crate::transport::{
    Connection, Event, NotSentError, Path, ReconnectError, Transport, TransportLimits,
};

/// QUIC over UDP, without an async runtime: an encrypted and reliable [`Transport`].
///
/// A server [listens](Self::listen) and a client [connects](Self::connect), over a
/// [`Udp`](crate::quic::Udp) socket or over a simulated [`Network`](crate::quic::Network).
/// docs/WIRE.md describes the packets.
///
/// ```
/// use std::time::Duration;
/// use tightwire::Delivery;
/// use tightwire::link::LinkConfig;
/// use tightwire::quic::{Certificate, Network, Quic, QuicConfig, Trust};
/// use tightwire::transport::{Event, Transport};
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
    socket: S,
    connections: Connections,
    close_repeater: CloseRepeater,
    /// Packets that the socket did not take, to be sent again; `None` if there are none.
    stalled: Option<(Transmit, Vec<u8>)>,
    /// The last batch that was handed out.
    current: Bytes,
    send_buffer: Vec<u8>,
    /// Whether the socket supports filters: assumed until it refuses one.
    has_filter: bool,
    /// The server that a client connects to; `None` for a server.
    remote: Option<Remote>,
    /// Fingerprint of a server's own certificate; `None` for a client.
    fingerprint: Option<Fingerprint>,
}

/// The server that a client connects to.
#[derive(Debug)]
struct Remote {
    address: SocketAddr,
    name: String,
    trust: Trust,
}

impl<S: Socket> Quic<S> {
    /// Creates a server, which accepts all connections up to its limits.
    ///
    /// # Errors
    ///
    /// [`QuicError`] if the certificate or a limit cannot be used.
    pub fn listen(
        socket: S,
        certificate: &Certificate,
        config: QuicConfig,
    ) -> Result<Self, QuicError> {
        let server = Arc::new(setup::server(certificate, &config)?);
        let mut quic = Self::new(socket, Some((server, certificate)), config);
        quic.fingerprint = Some(certificate.fingerprint());
        Ok(quic)
    }

    /// Creates a client, which connects to a server at this address that has a certificate for this
    /// name.
    ///
    /// # Errors
    ///
    /// [`QuicError`] if address, name, trust or a limit cannot be used.
    pub fn connect(
        socket: S,
        server: SocketAddr,
        name: &str,
        trust: &Trust,
        config: QuicConfig,
        now: Duration,
    ) -> Result<Self, QuicError> {
        let mut quic = Self::new(socket, None, config);
        let remote = Remote { address: server, name: name.into(), trust: trust.clone() };
        quic.connections.connect_to(&remote, now)?;
        quic.remote = Some(remote);
        Ok(quic)
    }

    fn new(
        socket: S,
        server: Option<(Arc<ServerConfig>, &Certificate)>,
        config: QuicConfig,
    ) -> Self {
        Self {
            connections: Connections::new(server, socket.finds_mtu(), config),
            socket,
            close_repeater: CloseRepeater::default(),
            stalled: None,
            current: Bytes::new(),
            send_buffer: Vec::new(),
            has_filter: true,
            remote: None,
            fingerprint: None,
        }
    }

    /// Returns the local address.
    pub fn address(&self) -> SocketAddr {
        self.socket.address()
    }

    /// Returns the fingerprint of a server's certificate, which its clients can
    /// [pin](Trust::Pinned); `None` for a client.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.fingerprint
    }

    /// Returns the number of packets that were dropped unread, since their sender sent too many or
    /// did not know the secret id of its connection. It does not count packets that the operating
    /// system drops by its [`Filter`](crate::quic::Filter).
    pub fn flooded(&self) -> u64 {
        self.connections.flooded()
    }

    /// Returns the number of QUIC frames that were read: the work that remote peers cause, as they
    /// choose how many frames a packet has.
    pub fn frames_read(&self) -> u64 {
        self.connections.frames_read()
    }

    /// Sends the packets of one connection. Returns `false` if the socket takes no more.
    fn transmit(&mut self, place: usize, now: Duration) -> bool {
        let instant = self.connections.instant(now);
        let max_packets = self.socket.max_packets();
        let mut buffer = mem::take(&mut self.send_buffer);
        let mut is_sent = true;
        while is_sent {
            buffer.clear();
            let Some(slot) = self.connections.slot(place) else { break };
            let Some(transmit) = slot.poll_transmit(instant, max_packets, &mut buffer) else {
                break;
            };
            if slot.is_first_close() {
                self.close_repeater.add(packets(&transmit, &buffer), now);
            }
            is_sent = self.socket.send(now, &packets(&transmit, &buffer));
            if !is_sent {
                self.stalled = Some((transmit, mem::take(&mut buffer)));
            }
        }
        self.send_buffer = buffer;
        is_sent
    }

    /// Sends the packets that the socket did not take before, and those that belong to no
    /// connection. Returns `false` if the socket takes no more.
    fn transmit_rest(&mut self, now: Duration) -> bool {
        if let Some((transmit, bytes)) = self.stalled.take()
            && !self.socket.send(now, &packets(&transmit, &bytes))
        {
            self.stalled = Some((transmit, bytes));
            return false;
        }
        self.close_repeater.send(&mut self.socket, now);
        for (transmit, bytes) in self.connections.take_responses() {
            // A response that the socket does not take is dropped: the client retransmits its
            // packet.
            let _ = self.socket.send(now, &packets(&transmit, &bytes));
        }
        true
    }
}

impl<S: Socket> Transport for Quic<S> {
    fn handle_input(&mut self, now: Duration) {
        let Self { socket, connections, .. } = self;
        let now = connections.begin_input(now);
        let most = u32::try_from(connections.config().packets_per_input).unwrap_or(u32::MAX);
        let mut left = most.saturating_mul(WORK);
        socket.receive(now, &mut |packet| {
            left = left.saturating_sub(connections.handle_packet(&packet));
            left > 0
        });
        connections.end_input();
        if self.has_filter
            && let Some(filter) = connections.filter()
        {
            self.has_filter = socket.set_filter(&filter);
        }
    }

    fn poll_event(&mut self) -> Option<Event<'_>> {
        if let Some((address, reason)) = self.connections.poll_refused() {
            return Some(Event::Refused { address: Some(address), reason });
        }
        let (connection, address, output) = self.connections.poll_output()?;
        Some(match output {
            Output::Connected => Event::Connected { connection, address: Some(address) },
            Output::Disconnected(reason) => Event::Disconnected { connection, reason },
            Output::Refused(reason) => Event::Refused { address: Some(address), reason },
            Output::Batch(delivery, batch) => {
                self.current = batch;
                Event::Batch { from: connection, delivery, batch: &self.current }
            }
        })
    }

    fn send(
        &mut self,
        to: Connection,
        delivery: Delivery,
        batch: &[u8],
    ) -> Result<(), NotSentError> {
        self.connections.send(to, delivery, batch)
    }

    fn pause(&mut self, connection: Connection) {
        self.connections.pause(connection);
    }

    fn hold_unauthenticated(&mut self) {
        self.connections.hold_unauthenticated();
    }

    fn welcome(&mut self, connection: Connection) {
        self.connections.welcome(connection);
    }

    fn close(&mut self, connection: Connection, reason: &Reason) {
        self.connections.close(connection, reason);
    }

    fn handle_output(&mut self, now: Duration) {
        let now = self.connections.advance(now);
        if !self.transmit_rest(now) {
            return;
        }
        let mut dirty = self.connections.take_dirty();
        let mut is_sent = true;
        dirty.retain(|&place| {
            is_sent = is_sent && self.transmit(place, now);
            self.connections.refresh(place, is_sent);
            !is_sent
        });
        self.connections.return_dirty(dirty);
    }

    fn reconnect(&mut self, now: Duration) -> Result<(), ReconnectError> {
        let Some(remote) = &self.remote else { return Err(ReconnectError::Unsupported) };
        if !self.connections.have_ended() {
            return Err(ReconnectError::Connected);
        }
        let begun = self.connections.connect_to(remote, now);
        begun.map_err(|error| ReconnectError::Failed(error.into()))
    }

    fn limits(&self) -> TransportLimits {
        let QuicConfig { max_connections, max_fragmented, .. } = *self.connections.config();
        TransportLimits {
            max_connections: Some(max_connections),
            max_fragmented: Some(max_fragmented),
        }
    }

    fn path(&self, connection: Connection) -> Option<Path> {
        self.connections.path(connection)
    }

    fn next_time(&self) -> Option<Duration> {
        let times = [
            self.connections.next_time(),
            self.close_repeater.next_time(),
            self.socket.next_time(),
        ];
        times.into_iter().flatten().min()
    }
}

impl Connections {
    /// Begins a connection to a server.
    fn connect_to(&mut self, remote: &Remote, now: Duration) -> Result<(), QuicError> {
        let (window, guard) = (WindowState::default(), Guard::new(false));
        guard.welcome(self.config());
        let client = setup::client(&remote.trust, self.config(), window.clone(), guard.clone())?;
        self.connect(client, (window, guard), remote.address, &remote.name, now)
    }
}

fn packets<'a>(transmit: &Transmit, bytes: &'a [u8]) -> Packets<'a> {
    Packets {
        to: transmit.destination,
        from: transmit.src_ip,
        congestion: transmit.ecn.map_or(0, |ecn| ecn as u8),
        bytes: &bytes[..transmit.size],
        size: transmit.segment_size.unwrap_or(transmit.size),
    }
}
