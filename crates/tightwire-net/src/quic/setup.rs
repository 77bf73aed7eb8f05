//! Configuration of `quinn-proto`.

use core::fmt;
use core::time::Duration;
use std::net::SocketAddr;
use std::sync::Arc;

use quinn_proto::{
    ClientConfig, ConnectionIdGenerator, EndpointConfig, IdleTimeout, ServerConfig,
    TransportConfig, VarInt,
};
use ring::hmac;

use super::certificate::{client_crypto, server_crypto};
use super::congestion::{WindowFactory, WindowState};
use super::guard::{Guard, GuardedClient, GuardedServer, UNAUTHENTICATED_STREAMS};
use super::ids::{ConnectionIds, KeyedHash};
use super::{Certificate, CertificateError, QuicConfig, Trust};
use crate::limits::{LimitError, at_least};

/// Reason why a [`Quic`](crate::quic::Quic) endpoint could not be created.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum QuicError {
    /// The certificate or the client's trust cannot be used.
    Certificate(CertificateError),
    /// No connection to this address is possible.
    Address {
        /// Address of the server.
        server: SocketAddr,
        /// The reason.
        why: String,
    },
    /// The socket cannot be opened.
    Socket {
        /// Address of the socket, or of its server.
        address: SocketAddr,
        /// The error of the system.
        why: String,
    },
    /// A limit is invalid.
    Config(&'static str),
    /// A limit is too small.
    Limit(LimitError),
}

pub(super) fn server(
    certificate: &Certificate,
    config: &QuicConfig,
) -> Result<ServerConfig, QuicError> {
    let mut server = ServerConfig::with_crypto(server_crypto(certificate)?);
    // Each connection gets one of its own; this is to say now what is wrong with it.
    server.transport_config(Arc::new(unauthenticated(config, WindowState::default())?));
    // They are answered at once, and wait for nobody.
    server.max_incoming(64).incoming_buffer_size(16 << 10).incoming_buffer_size_total(1 << 20);
    Ok(server)
}

/// Returns the configuration of a server for one connection, or for packets before there is one.
pub(super) fn server_for(
    server: &ServerConfig,
    config: &QuicConfig,
    window: WindowState,
    guard: Guard,
) -> Result<ServerConfig, QuicError> {
    let mut server = server.clone();
    server.transport_config(Arc::new(unauthenticated(config, window)?));
    server.crypto = Arc::new(GuardedServer { inner: server.crypto, guard });
    Ok(server)
}

pub(super) fn client(
    trust: &Trust,
    config: &QuicConfig,
    window: WindowState,
    guard: Guard,
) -> Result<ClientConfig, QuicError> {
    let inner = client_crypto(trust)?;
    let mut client = ClientConfig::new(Arc::new(GuardedClient { inner, guard }));
    client.transport_config(Arc::new(transport(config, window)?));
    Ok(client)
}

/// Secrets of one endpoint.
pub(super) struct Secrets {
    /// Key of stateless resets, from which clients of a restarted server learn that it does not
    /// know them; `None` for a client.
    reset: Option<[u8; 32]>,
    pub(super) connection_ids: ConnectionIds,
}

impl Secrets {
    /// Derives the secrets: the same each time for a server with a certificate.
    pub(super) fn new(certificate: Option<&Certificate>) -> Self {
        let hash = match certificate {
            Some(certificate) => {
                let [a, b, c, d, e, f, g, h, i, j, k, l, ..] =
                    certificate.secret_for("connection ids");
                let factors = [[e, f, g, h], [i, j, k, l]].map(u32::from_le_bytes);
                KeyedHash::new(u32::from_le_bytes([a, b, c, d]), factors)
            }
            None => KeyedHash::random(),
        };
        let reset = certificate.map(|certificate| certificate.secret_for("stateless resets"));
        Self { reset, connection_ids: ConnectionIds::new(hash) }
    }
}

pub(super) fn endpoint(secrets: &Secrets, config: &QuicConfig) -> EndpointConfig {
    let mut endpoint = match &secrets.reset {
        Some(key) => EndpointConfig::new(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, key))),
        None => EndpointConfig::default(),
    };
    let ids = secrets.connection_ids.clone();
    endpoint.cid_generator(move || -> Box<dyn ConnectionIdGenerator> { Box::new(ids.clone()) });
    if let Some(seed) = config.seed {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        endpoint.rng_seed(Some(bytes));
    }
    endpoint
}

fn transport(config: &QuicConfig, window: WindowState) -> Result<TransportConfig, QuicError> {
    check(config)?;
    let idle = IdleTimeout::try_from(config.idle_timeout)
        .map_err(|_| QuicError::Config("`idle_timeout` is longer than QUIC can express"))?;
    // QUIC adds it to the time; one that is longer never comes.
    let keep_alive = Some(config.keep_alive).filter(|pause| *pause < Duration::from_secs(86400));
    let mut transport = TransportConfig::default();
    transport
        .max_idle_timeout(Some(idle))
        .keep_alive_interval(keep_alive)
        .initial_rtt(INITIAL_ROUND_TRIP)
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        // The ordered ones are two more.
        .max_concurrent_uni_streams(VarInt::from_u32(config.reliable_streams.saturating_add(2)))
        .stream_receive_window(VarInt::from_u32(config.receive_window))
        .receive_window(VarInt::from_u32(config.receive_window))
        .send_window(config.send_window.into())
        // Without it, QUIC goes on with the stream that it has begun whatever the priority of others:
        // a large batch would hold up small ones for as long as its stream has bytes to send.
        .send_fairness(true)
        .datagram_receive_buffer_size(Some(config.receive_datagrams))
        .datagram_send_buffer_size(config.send_datagrams)
        .congestion_controller_factory(Arc::new(WindowFactory { state: window }));
    Ok(transport)
}

/// Returns the limits of a connection until it is welcome.
fn unauthenticated(config: &QuicConfig, window: WindowState) -> Result<TransportConfig, QuicError> {
    let mut transport = transport(config, window)?;
    let streams = UNAUTHENTICATED_STREAMS.min(config.reliable_streams.saturating_add(2));
    transport
        .max_concurrent_uni_streams(VarInt::from_u32(streams))
        .receive_window(VarInt::from_u32(config.receive_window.min(UNAUTHENTICATED_WINDOW)))
        .crypto_buffer_size(UNAUTHENTICATED_CRYPTO);
    Ok(transport)
}

/// Bytes that an unauthenticated peer can send before they are read; its description is most of
/// them.
const UNAUTHENTICATED_WINDOW: u32 = 32 << 10;
/// Bytes of the handshake of an unauthenticated connection that can come out of order.
const UNAUTHENTICATED_CRYPTO: usize = 8 << 10;

/// Assumed round-trip time until one is measured. A lost first packet is sent again after three of
/// them, then after six, and so on: with the 333 ms of RFC 9002, 15 of 1000 clients on a network
/// that loses a fifth did not connect within 5 seconds.
const INITIAL_ROUND_TRIP: Duration = Duration::from_millis(100);

/// Refuses limits with which nothing would work, without a visible reason.
fn check(config: &QuicConfig) -> Result<(), QuicError> {
    let least = |limit, value, least| at_least(limit, value, "", least).map_err(QuicError::Limit);
    least("send_datagrams", config.send_datagrams, 4096)?;
    least("receive_datagrams", config.receive_datagrams, 4096)?;
    least("send_window", config.send_window as usize, 16 << 10)?;
    least("receive_window", config.receive_window as usize, 16 << 10)?;
    least("max_unauthenticated", config.max_unauthenticated, 1)?;
    least("packets_per_input", config.packets_per_input, 1)?;
    least("packets_per_second", config.packets_per_second as usize, 50)?;
    least("reliable_streams", config.reliable_streams as usize, 1)?;
    if config.idle_timeout < Duration::from_millis(100) {
        return Err(QuicError::Config("`idle_timeout` must be at least 100 ms"));
    }
    if config.reliable_streams > 1 << 16 {
        return Err(QuicError::Config("`reliable_streams` must be at most 65536"));
    }
    Ok(())
}

impl From<CertificateError> for QuicError {
    fn from(error: CertificateError) -> Self {
        Self::Certificate(error)
    }
}

impl fmt::Display for QuicError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificate(error) => error.fmt(f),
            Self::Address { server, why } => write!(f, "cannot connect to {server}: {why}"),
            Self::Socket { address, why } => {
                write!(f, "cannot open a socket for {address}: {why}")
            }
            Self::Config(wrong) => f.write_str(wrong),
            Self::Limit(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for QuicError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Certificate(error) => Some(error),
            _ => None,
        }
    }
}
