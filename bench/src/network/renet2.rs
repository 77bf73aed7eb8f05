//! The same workload over renet2.

use super::end::Traffic;
use super::lanes::{ANY_PORT, FRAME, Kind, Lane};
use super::messages::{Position, SIZE, Tally};
use ::renet2::{
    Bytes, ClientId, ConnectionConfig, DefaultChannel, RenetClient, RenetServer, ServerEvent,
};
use renet2_netcode::{
    ClientAuthentication, ClientSocket, ConnectToken, NETCODE_KEY_BYTES, NativeSocket,
    NetcodeClientTransport, NetcodeServerTransport, NetcodeTransportError, ServerAuthentication,
    ServerSetupConfig, ServerSocket,
};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// renet2 with its default channels over netcode with connect tokens, so that packets are
/// encrypted.
pub struct Renet2 {
    server: RenetServer,
    server_transport: NetcodeServerTransport,
    clients: Vec<(RenetClient, NetcodeClientTransport)>,
    /// Clients in the order in which they connected.
    ids: Vec<ClientId>,
    handled: Tally,
    sent: Arc<Sent>,
}

impl Renet2 {
    pub fn new(clients: usize) -> Self {
        let sent = Arc::new(Sent::default());
        let private_key: [u8; NETCODE_KEY_BYTES] = std::array::from_fn(|place| place as u8);
        let now = Duration::from_secs(1);
        let socket = UdpSocket::bind(ANY_PORT).expect("a socket");
        let address = socket.local_addr().expect("it is bound");
        let config = ServerSetupConfig {
            current_time: now,
            max_token_lifetime: 5,
            max_clients: clients,
            protocol_id: PROTOCOL,
            socket_addresses: vec![vec![address]],
            authentication: ServerAuthentication::Secure { private_key },
        };
        let socket = Counted::new(socket, &sent);
        let server_transport = NetcodeServerTransport::new(config, socket).expect("a server");
        let client = |id| {
            let connect_token = ConnectToken::generate(
                now,
                PROTOCOL,
                300,
                id,
                15,
                0,
                vec![address],
                None,
                &private_key,
            )
            .expect("a token");
            let socket = UdpSocket::bind(ANY_PORT).expect("a socket");
            let transport = NetcodeClientTransport::new(
                now,
                ClientAuthentication::Secure { connect_token },
                Counted::new(socket, &sent),
            );
            (RenetClient::new(channels(), false), transport.expect("a client"))
        };
        let clients = (0..clients as u64).map(client).collect();
        let server = RenetServer::new(channels());
        let (ids, handled) = (Vec::new(), Tally::default());
        Self { server, server_transport, clients, ids, handled, sent }
    }
}

impl Lane for Renet2 {
    fn name(&self) -> &'static str {
        "renet2"
    }

    fn clients(&mut self, kind: Kind, messages: &mut [Position]) {
        let Self { clients, handled, .. } = self;
        let channel = channel(kind);
        let mut messages = messages.chunks_exact((messages.len() / clients.len()).max(1));
        for (client, transport) in clients {
            client.update(FRAME);
            transport.update(FRAME, client).expect("a connection");
            while let Some(bytes) = client.receive_message(channel) {
                handled.add(&read(&bytes));
            }
            write(messages.next().unwrap_or_default(), |message| {
                client.send_message(channel, message);
            });
            transport.send_packets(client).expect("a connection");
        }
    }

    fn server(&mut self, kind: Kind, messages: &mut [Position]) {
        let Self { server, server_transport, ids, handled, .. } = self;
        let channel = channel(kind);
        server.update(FRAME);
        server_transport.update(FRAME, server).expect("connections");
        while let Some(event) = server.get_event() {
            match event {
                ServerEvent::ClientConnected { client_id } => ids.push(client_id),
                other => panic!("{other:?}"),
            }
        }
        for id in &*ids {
            while let Some(bytes) = server.receive_message(*id, channel) {
                handled.add(&read(&bytes));
            }
        }
        let messages = messages.chunks_exact((messages.len() / ids.len().max(1)).max(1));
        for (id, messages) in ids.iter().zip(messages) {
            write(messages, |message| server.send_message(*id, channel, message));
        }
        server_transport.send_packets(server);
    }

    fn is_connected(&self) -> bool {
        self.ids.len() == self.clients.len()
            && self.clients.iter().all(|(client, _)| client.is_connected())
    }

    fn handled(&self) -> Tally {
        self.handled
    }

    fn traffic(&self) -> Traffic {
        let [bytes, packets] = [&self.sent.bytes, &self.sent.packets];
        Traffic { bytes: bytes.load(Ordering::Relaxed), packets: packets.load(Ordering::Relaxed) }
    }
}

const PROTOCOL: u64 = 7;

fn channels() -> ConnectionConfig {
    ConnectionConfig::from_shared_channels(DefaultChannel::config())
}

fn channel(kind: Kind) -> u8 {
    match kind {
        Kind::Unreliable => DefaultChannel::Unreliable.into(),
        Kind::ReliableOrdered => DefaultChannel::ReliableOrdered.into(),
    }
}

/// Writes all messages into one allocation: cheaper than one for each.
fn write(messages: &[Position], mut send: impl FnMut(Bytes)) {
    let mut all = Vec::with_capacity(messages.len() * SIZE);
    messages.iter().for_each(|message| all.extend_from_slice(&message.to_bytes()));
    let all = Bytes::from(all);
    (0..messages.len()).for_each(|index| send(all.slice(index * SIZE..(index + 1) * SIZE)));
}

fn read(bytes: &[u8]) -> Position {
    let bytes: &[u8; SIZE] = bytes.try_into().expect("16 bytes");
    Position::from_bytes(bytes)
}

/// Traffic that was sent: renet2's own counters leave out the overhead of netcode.
#[derive(Debug, Default)]
struct Sent {
    bytes: AtomicU64,
    packets: AtomicU64,
}

/// renet2's UDP socket, with counters.
#[derive(Debug)]
struct Counted {
    socket: NativeSocket,
    sent: Arc<Sent>,
}

/// Sets the socket's buffers to the sizes of Tightwire's; otherwise only renet2 would lose packets.
#[cfg(unix)]
fn widen(socket: &UdpSocket) {
    use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_send_buffer_size};
    set_socket_recv_buffer_size(socket, 4 << 20).expect("a size");
    set_socket_send_buffer_size(socket, 1 << 20).expect("a size");
}

#[cfg(not(unix))]
fn widen(_: &UdpSocket) {}

impl Counted {
    fn new(socket: UdpSocket, sent: &Arc<Sent>) -> Self {
        widen(&socket);
        Self { socket: NativeSocket::new(socket).expect("a socket"), sent: sent.clone() }
    }

    /// Counts a packet. No other thread changes the counters between load and store.
    fn count(&self, bytes: usize) {
        let Sent { bytes: all, packets } = &*self.sent;
        all.store(all.load(Ordering::Relaxed) + bytes as u64, Ordering::Relaxed);
        packets.store(packets.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

impl ServerSocket for Counted {
    fn is_encrypted(&self) -> bool {
        ServerSocket::is_encrypted(&self.socket)
    }

    fn is_reliable(&self) -> bool {
        ServerSocket::is_reliable(&self.socket)
    }

    fn addr(&self) -> std::io::Result<SocketAddr> {
        ServerSocket::addr(&self.socket)
    }

    fn is_closed(&mut self) -> bool {
        false
    }

    fn close(&mut self) {}

    fn connection_denied(&mut self, _: SocketAddr) {}

    fn connection_accepted(&mut self, _: u64, _: SocketAddr) {}

    fn disconnect(&mut self, _: SocketAddr) {}

    fn preupdate(&mut self) {}

    fn try_recv(&mut self, buffer: &mut [u8]) -> std::io::Result<(usize, SocketAddr)> {
        ServerSocket::try_recv(&mut self.socket, buffer)
    }

    fn postupdate(&mut self) {}

    fn send(&mut self, address: SocketAddr, packet: &[u8]) -> Result<(), NetcodeTransportError> {
        self.count(packet.len());
        ServerSocket::send(&mut self.socket, address, packet)
    }
}

impl ClientSocket for Counted {
    fn is_encrypted(&self) -> bool {
        ClientSocket::is_encrypted(&self.socket)
    }

    fn is_reliable(&self) -> bool {
        ClientSocket::is_reliable(&self.socket)
    }

    fn addr(&self) -> std::io::Result<SocketAddr> {
        ClientSocket::addr(&self.socket)
    }

    fn is_closed(&mut self) -> bool {
        false
    }

    fn close(&mut self) {}

    fn preupdate(&mut self) {}

    fn try_recv(&mut self, buffer: &mut [u8]) -> std::io::Result<(usize, SocketAddr)> {
        ClientSocket::try_recv(&mut self.socket, buffer)
    }

    fn postupdate(&mut self) {}

    fn send(&mut self, address: SocketAddr, packet: &[u8]) -> Result<(), NetcodeTransportError> {
        self.count(packet.len());
        ClientSocket::send(&mut self.socket, address, packet)
    }
}
