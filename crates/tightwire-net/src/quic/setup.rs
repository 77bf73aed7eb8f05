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
use crate::limits::{LimitError, at_least, at_most, below};
use crate::transport::Cause;

/// Reason why a [`Quic`](crate::quic::Quic) endpoint could not be created.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum QuicError {
    /// The certificate or the client's trust cannot be used.
    Certificate(CertificateError),
    /// No connection to this address is possible.
    Address {
        /// Address of the server.
        server: SocketAddr,
        /// The reason.
        reason: Cause,
    },
    /// The socket cannot be opened.
    Socket {
        /// Address of the socket, or of its server.
        address: SocketAddr,
        /// The error of the system.
        reason: Cause,
    },
    /// A limit is invalid, alone or beside another.
    Limit(LimitError),
}

pub(super) fn server(
    certificate: &Certificate,
    config: &QuicConfig,
) -> Result<ServerConfig, QuicError> {
    let mut server = ServerConfig::with_crypto(server_crypto(certificate)?);
    // Validates the limits now; each connection gets its own configuration later.
    server.transport_config(Arc::new(unauthenticated(config, WindowState::default())?));
    // Attempts are decided immediately, so few are buffered.
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
    check(config).map_err(QuicError::Limit)?;
    // Never fails: the check bounds it.
    let idle = IdleTimeout::try_from(config.idle_timeout).ok();
    let keep_alive = Some(config.keep_alive).filter(|interval| *interval != Duration::MAX);
    let mut transport = TransportConfig::default();
    transport
        .max_idle_timeout(idle)
        .keep_alive_interval(keep_alive)
        .initial_rtt(INITIAL_ROUND_TRIP)
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        // Two more streams carry the ordered deliveries.
        .max_concurrent_uni_streams(VarInt::from_u32(config.reliable_streams.saturating_add(2)))
        .stream_receive_window(VarInt::from_u32(config.receive_window))
        .receive_window(VarInt::from_u32(config.receive_window))
        .send_window(config.send_window.into())
        // Without fairness, quinn continues with a stream that it has begun, whatever the priority
        // of others: a large batch would delay small ones for as long as its stream has bytes to
        // send.
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

/// Bytes that an unauthenticated peer can send before they are read. The largest part is its schema
/// description.
const UNAUTHENTICATED_WINDOW: u32 = 32 << 10;
/// Bytes of an unauthenticated connection's handshake that are buffered if they arrive out of
/// order.
const UNAUTHENTICATED_CRYPTO: usize = 8 << 10;

/// Assumed round-trip time until one is measured. A lost first packet is sent again after three of
/// them, then after six, and so on: with the 333 ms of RFC 9002, 15 of 1000 clients on a network
/// that loses a fifth did not connect within 5 seconds.
const INITIAL_ROUND_TRIP: Duration = Duration::from_millis(100);

/// Longest idle timeout. A longer one has no use, and would overflow when QUIC adds it to a time.
const MAX_IDLE_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Refuses limits with which connections would fail without a visible reason.
pub(super) fn check(config: &QuicConfig) -> Result<(), LimitError> {
    let least = |limit, value: usize, least| at_least(limit, value, "", least);
    least("send_datagrams", config.send_datagrams, 4096)?;
    least("receive_datagrams", config.receive_datagrams, 4096)?;
    least("send_window", config.send_window as usize, 16 << 10)?;
    least("receive_window", config.receive_window as usize, 16 << 10)?;
    least("max_connections", config.max_connections, 1)?;
    least("max_per_address", config.max_per_address, 1)?;
    least("max_unauthenticated", config.max_unauthenticated, 1)?;
    least("packets_per_input", config.packets_per_input, 1)?;
    least("packets_per_second", config.packets_per_second as usize, 50)?;
    least("reliable_streams", config.reliable_streams as usize, 1)?;
    at_most("reliable_streams", config.reliable_streams as usize, "", 1 << 16)?;
    at_least("handshake_timeout", config.handshake_timeout, "", Duration::from_millis(1))?;
    let QuicConfig { idle_timeout, keep_alive, .. } = *config;
    at_least("idle_timeout", idle_timeout, "", Duration::from_millis(100))?;
    at_most("idle_timeout", idle_timeout, "", MAX_IDLE_TIMEOUT)?;
    match keep_alive {
        // There is none.
        Duration::MAX => Ok(()),
        _ => below("keep_alive", keep_alive, "`idle_timeout`", idle_timeout),
    }
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
            Self::Address { server, reason } => write!(f, "cannot connect to {server}: {reason}"),
            Self::Socket { address, reason } => {
                write!(f, "cannot open a socket for {address}: {reason}")
            }
            Self::Limit(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for QuicError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Certificate(error) => Some(error),
            Self::Address { reason, .. } | Self::Socket { reason, .. } => reason.source(),
            Self::Limit(error) => Some(error),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use core::error::Error as _;
    use std::io;
    use std::net::UdpSocket;

    use super::*;
    use crate::link::LinkConfig;
    use crate::quic::{Network, Quic};
    use crate::transport::ReconnectError;

    #[test]
    fn limits_that_cannot_work_are_refused_with_both_numbers() {
        let refused = |change: fn(&mut QuicConfig)| {
            let mut config = QuicConfig::default();
            change(&mut config);
            check(&config).map_err(|error| error.to_string()).err().unwrap_or_default()
        };
        assert_eq!(refused(|_| {}), "");
        let texts = [
            refused(|config| config.send_datagrams = 4095),
            refused(|config| config.receive_datagrams = 0),
            refused(|config| config.send_window = 16_383),
            refused(|config| config.receive_window = 0),
            refused(|config| config.max_connections = 0),
            refused(|config| config.max_per_address = 0),
            refused(|config| config.max_unauthenticated = 0),
            refused(|config| config.packets_per_input = 0),
            refused(|config| config.packets_per_second = 49),
            refused(|config| config.reliable_streams = 0),
            refused(|config| config.reliable_streams = 65_537),
            refused(|config| config.handshake_timeout = Duration::ZERO),
            refused(|config| config.idle_timeout = Duration::from_millis(99)),
            refused(|config| config.idle_timeout = Duration::MAX),
            refused(|config| config.keep_alive = config.idle_timeout),
            refused(|config| config.idle_timeout = Duration::from_secs(1)),
        ];
        let expected = [
            "`send_datagrams` is 4095, but must be at least 4096",
            "`receive_datagrams` is 0, but must be at least 4096",
            "`send_window` is 16383, but must be at least 16384",
            "`receive_window` is 0, but must be at least 16384",
            "`max_connections` is 0, but must be at least 1",
            "`max_per_address` is 0, but must be at least 1",
            "`max_unauthenticated` is 0, but must be at least 1",
            "`packets_per_input` is 0, but must be at least 1",
            "`packets_per_second` is 49, but must be at least 50",
            "`reliable_streams` is 0, but must be at least 1",
            "`reliable_streams` is 65537, but must be at most 65536",
            "`handshake_timeout` is 0ns, but must be at least 1ms",
            "`idle_timeout` is 99ms, but must be at least 100ms",
            "`idle_timeout` is 18446744073709551615.999999999s, but must be at most 31536000s",
            "`keep_alive` is 10s, but must be less than 10s (`idle_timeout`)",
            "`keep_alive` is 2s, but must be less than 1s (`idle_timeout`)",
        ];
        assert_eq!(texts, expected);
        assert_eq!(refused(|config| config.keep_alive = Duration::MAX), "", "never");
    }

    #[test]
    fn errors_have_their_cause() {
        let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
        let error = Quic::listen_self_signed(taken.local_addr().unwrap()).unwrap_err();
        let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
        assert_eq!(cause.map(io::Error::kind), Some(io::ErrorKind::AddrInUse));

        let (config, nowhere) = (QuicConfig::default(), ([10, 0, 0, 1], 0).into());
        let network = Network::new(LinkConfig::default(), 1);
        let connect = |config| {
            let socket = network.socket(([10, 0, 0, 2], 1000).into());
            let trust = Trust::Pinned(vec![crate::quic::Fingerprint([0; 32])]);
            Quic::connect(socket, nowhere, "game.example", &trust, config, Duration::ZERO)
        };
        let error = connect(config).unwrap_err();
        assert!(matches!(error, QuicError::Address { .. }), "{error}");
        assert!(error.source().unwrap().is::<quinn_proto::ConnectError>());

        let error = connect(QuicConfig { send_window: 0, ..config }).unwrap_err();
        let limit = error.source().and_then(|cause| cause.downcast_ref::<LimitError>());
        assert_eq!(limit.map(|limit| limit.limit), Some("send_window"));

        let error = ReconnectError::Failed(error.into());
        assert!(error.source().unwrap().is::<QuicError>());

        let error = Certificate::from_der(vec![vec![0; 100]], vec![7; 10]).unwrap_err();
        assert!(matches!(error, CertificateError::Unreadable { .. }), "{error}");
        let pem = Certificate::self_signed(["game.example"]).unwrap();
        let error = Certificate::from_pem(
            &pem.chain_pem(),
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        );
        assert!(error.unwrap_err().source().unwrap().is::<rustls::Error>());
    }
}
