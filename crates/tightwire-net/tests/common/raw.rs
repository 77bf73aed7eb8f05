//! A peer that speaks QUIC, and sends anything within.

#[path = "anyone.rs"]
mod anyone;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, Endpoint,
    EndpointConfig, ServerConfig, StreamId, TransportConfig,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tightwire::quic::{Certificate, Packets, Socket};

/// A client that accepts any server's certificate, or a server with one client.
pub(crate) struct RawPeer<S> {
    socket: S,
    endpoint: Endpoint,
    /// Connection; `None` at a server before the first packet.
    quinn: Option<(ConnectionHandle, Connection)>,
    epoch: Instant,
    pub(crate) lost: Option<ConnectionError>,
    pub(crate) is_connected: bool,
}

impl<S: Socket> RawPeer<S> {
    pub(crate) fn connect(socket: S, server: SocketAddr, now: Duration) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(anyone::Anyone))
            .with_no_client_auth();
        tls.alpn_protocols = vec![PROTOCOL.to_vec()];
        let tls = QuicClientConfig::try_from(tls).unwrap();
        let mut config = ClientConfig::new(Arc::new(tls));
        config.transport_config(Arc::new(transport()));
        let mut peer = Self::new(socket, None);
        let connected =
            peer.endpoint.connect(peer.epoch + now, config, server, "game.example").unwrap();
        peer.quinn = Some(connected);
        peer
    }

    pub(crate) fn listen(socket: S, certificate: &Certificate) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let chain = CertificateDer::pem_slice_iter(certificate.chain_pem().as_bytes())
            .collect::<Result<_, _>>()
            .unwrap();
        let key = PrivateKeyDer::from_pem_slice(certificate.secret_key_pem().as_bytes()).unwrap();
        let mut tls = rustls::ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        tls.alpn_protocols = vec![PROTOCOL.to_vec()];
        let tls = QuicServerConfig::try_from(tls).unwrap();
        let mut config = ServerConfig::with_crypto(Arc::new(tls));
        config.transport_config(Arc::new(transport()));
        Self::new(socket, Some(Arc::new(config)))
    }

    fn new(socket: S, server: Option<Arc<ServerConfig>>) -> Self {
        let config = Arc::new(EndpointConfig::default());
        let endpoint = Endpoint::new(config, server, true, Some([7; 32]));
        let epoch = Instant::now();
        Self { socket, endpoint, quinn: None, epoch, lost: None, is_connected: false }
    }

    /// Returns the connection, which a server has after a client connected.
    pub(crate) fn quinn(&mut self) -> &mut Connection {
        &mut self.quinn.as_mut().unwrap().1
    }

    /// Converts a time to QUIC's.
    pub(crate) fn instant(&self, now: Duration) -> Instant {
        self.epoch + now
    }

    /// Handles received packets, and sends pending ones.
    pub(crate) fn drive(&mut self, now: Duration) {
        let instant = self.epoch + now;
        let Self { socket, endpoint, quinn, .. } = self;
        socket.receive(now, &mut |packet| {
            let mut answer = Vec::new();
            let event =
                endpoint.handle(instant, packet.from, None, None, packet.bytes.into(), &mut answer);
            match (event, &mut *quinn) {
                (Some(DatagramEvent::ConnectionEvent(_, event)), Some((_, quinn))) => {
                    quinn.handle_event(event);
                }
                (Some(DatagramEvent::NewConnection(incoming)), None) => {
                    *quinn = endpoint.accept(incoming, instant, &mut answer, None).ok();
                }
                _ => {}
            }
            true
        });
        let Some((handle, quinn)) = quinn else { return };
        if quinn.poll_timeout().is_some_and(|timeout| timeout <= instant) {
            quinn.handle_timeout(instant);
        }
        while let Some(event) = quinn.poll() {
            match event {
                quinn_proto::Event::Connected => self.is_connected = true,
                quinn_proto::Event::ConnectionLost { reason } => self.lost = Some(reason),
                _ => {}
            }
        }
        while let Some(event) = quinn.poll_endpoint_events() {
            if let Some(event) = endpoint.handle_event(*handle, event) {
                quinn.handle_event(event);
            }
        }
        let mut buffer = Vec::new();
        while let Some(transmit) = quinn.poll_transmit(instant, 1, &mut buffer) {
            let bytes = &buffer[..transmit.size];
            let to = transmit.destination;
            let packets = Packets { to, from: None, congestion: 0, bytes, size: bytes.len() };
            socket.send(now, &packets);
            buffer.clear();
        }
    }

    /// Opens a stream with these bytes.
    pub(crate) fn open(&mut self, bytes: &[u8]) -> Option<StreamId> {
        let stream = self.quinn().streams().open(Dir::Uni)?;
        let _ = self.quinn().send_stream(stream).write(bytes);
        Some(stream)
    }

    pub(crate) fn finish(&mut self, stream: StreamId) {
        let _ = self.quinn().send_stream(stream).finish();
    }

    pub(crate) fn datagram(&mut self, bytes: &[u8]) {
        let _ = self.quinn().datagrams().send(bytes.to_vec().into(), true);
    }
}

fn transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport.datagram_send_buffer_size(1 << 20).send_window(16 << 20);
    transport
}

const PROTOCOL: &[u8] = b"tightwire/1";
