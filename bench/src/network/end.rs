//! One side of Tightwire: a messenger over QUIC.

use std::collections::HashMap;
use std::time::Duration;
use tightwire::message::{DisconnectedError, Messenger};
use tightwire::quic::{Certificate, Quic, Socket, Trust};
use tightwire::transport::{Connection, Event, Transport};
use tightwire::{Delivery, Message, PeerId, Stage};

pub use tightwire::quic::QuicConfig;

/// Host name in the certificate.
const HOST: &str = "game.example";

pub struct End<S, C> {
    pub transport: Quic<S>,
    messenger: Messenger<C>,
    pub state: C,
    /// Peers by connection; `connections` is the other direction.
    peers: HashMap<Connection, PeerId>,
    connections: HashMap<PeerId, Connection>,
    /// Peers in the order in which they connected.
    pub ids: Vec<PeerId>,
}

impl<S: Socket, C: Default + 'static> End<S, C> {
    pub fn server(
        socket: S,
        certificate: &Certificate,
        config: QuicConfig,
        messenger: Messenger<C>,
    ) -> Self {
        Self::new(Quic::listen(socket, certificate, config).expect("a server"), messenger)
    }

    pub fn client(
        socket: S,
        server: std::net::SocketAddr,
        certificate: &Certificate,
        config: QuicConfig,
        messenger: Messenger<C>,
    ) -> Self {
        let trust = Trust::Pinned(vec![certificate.fingerprint()]);
        let quic = Quic::connect(socket, server, HOST, &trust, config, Duration::ZERO);
        Self::new(quic.expect("a client"), messenger)
    }

    fn new(transport: Quic<S>, messenger: Messenger<C>) -> Self {
        let (peers, connections) = (HashMap::new(), HashMap::new());
        Self { transport, messenger, state: C::default(), peers, connections, ids: Vec::new() }
    }

    /// Runs the first half of a frame: handles everything received.
    pub fn receive(&mut self, now: Duration) {
        let Self { transport, messenger, state, peers, .. } = self;
        transport.handle_input(now);
        messenger.begin_frame(now);
        let mut newcomers = Vec::new();
        while let Some(event) = transport.poll_event() {
            match event {
                Event::Batch { from, delivery, batch } => {
                    messenger.receive(peers[&from], delivery, batch, now).expect("a batch");
                }
                Event::Connected { connection, .. } => newcomers.push(connection),
                other => panic!("{other:?}"),
            }
        }
        for stage in Stage::ALL {
            messenger.run_stage(stage, state);
        }
        newcomers.into_iter().for_each(|connection| self.add(connection));
        // As a session does: packets grow when the path is known.
        for (connection, peer) in &self.peers {
            let path = self.transport.path(*connection).expect("it is connected");
            self.messenger.set_mtu(*peer, path.max_datagram);
        }
    }

    fn add(&mut self, connection: Connection) {
        // The other side's transport limits what arrives.
        let peer = self.messenger.add_peer(usize::from(u16::MAX));
        self.peers.insert(connection, peer);
        self.connections.insert(peer, connection);
        self.ids.push(peer);
    }

    pub fn send<M: Message>(&mut self, to: PeerId, message: &M, delivery: Delivery) {
        self.messenger.send(to, message, delivery).expect("there is room");
    }

    /// Runs the second half of a frame: transmits everything sent.
    pub fn flush(&mut self, now: Duration) {
        let Self { transport, messenger, connections, .. } = self;
        messenger.end_frame(|peer, delivery, batch| {
            transport.send(connections[&peer], delivery, batch).map_err(|_| DisconnectedError)
        });
        transport.handle_output(now);
    }

    /// Returns the bytes and packets sent on all connections.
    pub fn sent(&self) -> Traffic {
        let paths = self.peers.keys().filter_map(|connection| self.transport.path(*connection));
        paths.fold(Traffic::default(), |all, path| Traffic {
            bytes: all.bytes + path.bytes_sent,
            packets: all.packets + path.packets_sent,
        })
    }
}

pub fn certificate() -> Certificate {
    Certificate::self_signed([HOST]).expect("a certificate")
}

/// UDP packets, and the bytes in them.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Traffic {
    pub bytes: u64,
    pub packets: u64,
}

impl Traffic {
    pub fn since(self, before: Self) -> Self {
        Self { bytes: self.bytes - before.bytes, packets: self.packets - before.packets }
    }
}
