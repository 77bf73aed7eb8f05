//! A server and its clients over UDP on this machine, in one thread.

use super::end::{End, QuicConfig, Traffic, certificate};
use super::messages::{Position, Tally};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;
use tightwire::message::{Messenger, MessengerConfig};
use tightwire::quic::Udp;
use tightwire::{Context, Delivery};

pub const FRAME: Duration = Duration::from_nanos(1_000_000_000 / 60);

pub const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Delivery of the messages.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    Unreliable,
    ReliableOrdered,
}

impl Kind {
    pub const ALL: [Self; 2] = [Self::Unreliable, Self::ReliableOrdered];

    pub fn name(self) -> &'static str {
        match self {
            Self::Unreliable => "unreliable",
            Self::ReliableOrdered => "reliable ordered",
        }
    }

    fn delivery(self) -> Delivery {
        match self {
            Self::Unreliable => Delivery::Unreliable,
            Self::ReliableOrdered => Delivery::ReliableOrdered,
        }
    }
}

pub trait Lane {
    fn name(&self) -> &'static str;
    /// Runs a frame of all clients at the next time: they handle received messages and send theirs.
    fn clients(&mut self, kind: Kind, messages: &mut [Position]);
    /// Runs the server's frame at the same time, with its messages for all clients.
    fn server(&mut self, kind: Kind, messages: &mut [Position]);
    fn is_connected(&self) -> bool;
    /// Returns the tally of all handled messages.
    fn handled(&self) -> Tally;
    /// Returns the traffic that all sides sent.
    fn traffic(&self) -> Traffic;
}

/// Messengers over QUIC.
pub struct Tightwire {
    now: Duration,
    server: End<Udp, Tally>,
    clients: Vec<End<Udp, Tally>>,
}

impl Tightwire {
    pub fn new(clients: usize) -> Self {
        let certificate = certificate();
        let config = QuicConfig::default();
        let messenger = || {
            // There is no back pressure here, so a late frame must have room beside the next.
            let limits = MessengerConfig::default();
            let limits =
                MessengerConfig { receive_queue: 1 << 16, peer_messages: 1 << 14, ..limits };
            Messenger::builder(limits)
                .handle(|position: &Position, context: &mut Context<'_, Tally>| {
                    context.state.add(position);
                })
                .build()
                .expect("one message")
        };
        let socket = Udp::server(ANY_PORT).expect("a socket");
        let server = End::server(socket, &certificate, config, messenger());
        let address = server.transport.address();
        let client = |_| {
            let socket = Udp::client(address).expect("a socket");
            End::client(socket, address, &certificate, config, messenger())
        };
        Self { now: Duration::ZERO, server, clients: (0..clients).map(client).collect() }
    }
}

impl Lane for Tightwire {
    fn name(&self) -> &'static str {
        "tightwire"
    }

    fn clients(&mut self, kind: Kind, messages: &mut [Position]) {
        let Self { now, clients, .. } = self;
        *now += FRAME;
        let mut messages = messages.chunks_exact_mut((messages.len() / clients.len()).max(1));
        for client in clients {
            client.receive(*now);
            for message in messages.next().into_iter().flatten() {
                client.send(client.ids[0], message, kind.delivery());
            }
            client.flush(*now);
        }
    }

    fn server(&mut self, kind: Kind, messages: &mut [Position]) {
        let Self { now, server, clients } = self;
        server.receive(*now);
        let messages = messages.chunks_exact_mut((messages.len() / clients.len()).max(1));
        for (index, messages) in messages.enumerate() {
            let to = server.ids[index];
            messages.iter_mut().for_each(|message| server.send(to, message, kind.delivery()));
        }
        server.flush(*now);
    }

    fn is_connected(&self) -> bool {
        self.server.ids.len() == self.clients.len()
            && self.clients.iter().all(|client| client.ids.len() == 1)
    }

    fn handled(&self) -> Tally {
        let mut all = self.server.state;
        self.clients.iter().for_each(|client| all.join(client.state));
        all
    }

    fn traffic(&self) -> Traffic {
        self.clients.iter().chain([&self.server]).fold(Traffic::default(), |all, end| {
            let sent = end.sent();
            Traffic { bytes: all.bytes + sent.bytes, packets: all.packets + sent.packets }
        })
    }
}
