//! Limits of connections, and connections that time out.

use std::net::SocketAddr;
use std::time::Duration;

use tightwire::Delivery;
use tightwire::link::LinkConfig;
use tightwire::quic::{
    Certificate, Network, Packets, Quic, QuicConfig, SimulatedSocket, Socket, Trust,
};
use tightwire::transport::{Connection, Event, Reason, Transport};

type End = Quic<SimulatedSocket>;

struct Stand {
    network: Network,
    certificate: Certificate,
    config: QuicConfig,
    server: End,
    now: Duration,
    /// Events of the server, as text.
    said: Vec<String>,
    connections: Vec<Connection>,
}

struct Player {
    end: End,
    said: Vec<String>,
}

impl Stand {
    fn new(config: QuicConfig) -> Self {
        let latency = Duration::from_millis(10);
        let network = Network::new(LinkConfig { latency, ..LinkConfig::default() }, 1);
        let certificate = Certificate::self_signed(["game.example"]).unwrap();
        let server = Quic::listen(network.socket(address(1)), &certificate, config).unwrap();
        let (said, connections) = (Vec::new(), Vec::new());
        Self { network, certificate, config, server, now: Duration::ZERO, said, connections }
    }

    fn connect(&self, host: u8, port: u16) -> Player {
        let socket = self.network.socket(([10, 0, 0, host], port).into());
        let trust = Trust::Pinned(vec![self.certificate.fingerprint()]);
        let end = Quic::connect(socket, address(1), "game.example", &trust, self.config, self.now);
        Player { end: end.unwrap(), said: Vec::new() }
    }

    fn run(&mut self, milliseconds: u32, players: &mut [&mut Player]) {
        for _ in 0..milliseconds {
            self.now += Duration::from_millis(1);
            for player in &mut *players {
                player.end.handle_input(self.now);
                while let Some(event) = player.end.poll_event() {
                    player.said.push(in_words(&event));
                }
                player.end.handle_output(self.now);
            }
            self.server.handle_input(self.now);
            while let Some(event) = self.server.poll_event() {
                if let Event::Connected { connection, .. } = event {
                    self.connections.push(connection);
                }
                self.said.push(in_words(&event));
            }
            self.server.handle_output(self.now);
        }
    }
}

fn address(host: u8) -> SocketAddr {
    ([10, 0, 0, host], 7777).into()
}

fn in_words(event: &Event<'_>) -> String {
    match event {
        Event::Connected { .. } => "connected".into(),
        Event::Disconnected { reason, .. } => format!("disconnected: {reason}"),
        Event::Refused { reason, .. } => format!("refused: {reason}"),
        Event::Batch { batch, .. } => format!("{} bytes", batch.len()),
        other => format!("{other:?}"),
    }
}

#[test]
fn a_server_takes_as_many_as_it_may_in_all_and_from_one_address() {
    let busy = Reason::Busy;
    for config in [
        QuicConfig { max_connections: 2, ..QuicConfig::default() },
        QuicConfig { max_per_address: 2, ..QuicConfig::default() },
    ] {
        let mut stand = Stand::new(config);
        let [mut first, mut second] = [1, 2].map(|port| stand.connect(2, port));
        stand.run(100, &mut [&mut first, &mut second]);
        let mut third = stand.connect(2, 3);
        stand.run(100, &mut [&mut first, &mut second, &mut third]);
        assert_eq!(first.said, ["connected"]);
        assert_eq!(third.said, [format!("disconnected: {busy}")]);
        assert_eq!(
            stand.said,
            ["connected".into(), "connected".into(), format!("refused: {busy}")]
        );

        // There is room again, and at another address there was.
        let connection = stand.connections[0];
        stand.server.close(connection, &Reason::kicked("for another"));
        let mut fourth = stand.connect(2, 4);
        let mut fifth = stand.connect(3, 5);
        stand.run(2000, &mut [&mut second, &mut third]);
        stand.run(300, &mut [&mut first, &mut second, &mut fourth, &mut fifth]);
        let said = [&fourth.said[0], &fifth.said[0]].map(|said| said == "connected");
        let is_by_address = config.max_per_address == 2;
        assert!(said[0] || said[1], "one has the place that became free");
        assert_eq!(said[0] && said[1], is_by_address);
        assert_eq!(first.said[1], "disconnected: kicked: for another");
    }
}

#[test]
fn those_who_do_not_answer_make_room_and_keep_nobody_out() {
    let config = QuicConfig { max_handshakes: 4, ..QuicConfig::default() };
    let mut stand = Stand::new(config);
    // Each sends its first packet and then vanishes.
    for port in 1..=50 {
        let mut ghost = stand.connect(3, port);
        ghost.end.handle_output(stand.now);
    }
    let mut honest = stand.connect(2, 1);
    stand.run(300, &mut [&mut honest]);
    assert_eq!(honest.said, ["connected"]);
    stand.run(6000, &mut [&mut honest]);
    let timed_out = format!("refused: {}", Reason::TimedOut);
    let ghosts = stand.said.iter().filter(|said| **said == timed_out).count();
    assert_eq!(ghosts, 4, "{:?}", stand.said);
    assert_eq!(honest.said, ["connected"]);
}

#[test]
fn who_vanishes_times_out_and_who_is_idle_does_not() {
    let mut stand = Stand::new(QuicConfig::default());
    let [mut idle, mut gone] = [1, 2].map(|port| stand.connect(2, port));
    stand.run(100, &mut [&mut idle, &mut gone]);
    stand.run(9000, &mut [&mut idle]);
    assert_eq!(stand.said, ["connected"; 2]);
    stand.run(2000, &mut [&mut idle]);
    assert_eq!(stand.said[2..], [format!("disconnected: {}", Reason::TimedOut)]);
    // The client that was away gets the reason too.
    stand.run(2000, &mut [&mut gone]);
    assert!(gone.said[1].starts_with("disconnected"), "{:?}", gone.said);
    stand.run(60_000, &mut [&mut idle]);
    assert_eq!(idle.said, ["connected"]);
}

#[test]
fn a_server_that_was_started_again_says_that_it_forgot() {
    let mut stand = Stand::new(QuicConfig::default());
    let mut player = stand.connect(2, 1);
    stand.run(100, &mut [&mut player]);
    let socket = stand.network.socket(address(1));
    stand.server = Quic::listen(socket, &stand.certificate, stand.config).unwrap();
    stand.run(3000, &mut [&mut player]);
    assert_eq!(player.said[1..], [format!("disconnected: {}", Reason::Forgotten)]);
}

#[test]
fn nobody_connects_to_where_nobody_is() {
    let mut stand = Stand::new(QuicConfig::default());
    stand.network.set_config(LinkConfig { loss: 1.0, ..LinkConfig::default() });
    let mut player = stand.connect(2, 1);
    stand.run(6000, &mut [&mut player]);
    assert_eq!(player.said, [format!("disconnected: {}", Reason::TimedOut)]);
}

#[test]
fn a_client_whose_answers_are_lost_is_told_that_it_timed_out_and_not_that_it_left() {
    // A server sends its reason only to a validated address, as after a retry.
    let mut stand = Stand::new(QuicConfig { max_handshakes: 0, ..QuicConfig::default() });
    let mut client = stand.connect(2, 1000);
    // The server's answer is in flight, which completes the handshake for the client alone.
    stand.run(40, &mut [&mut client]);
    for _ in 0..6000 {
        stand.run(1, &mut []);
        // No packet of it reaches the server any more.
        client.end.handle_input(stand.now);
        while let Some(event) = client.end.poll_event() {
            client.said.push(in_words(&event));
        }
    }
    let timed_out = "timed out: nothing came from the other side";
    assert_eq!(client.said, ["connected".into(), format!("disconnected: {timed_out}")]);
    assert_eq!(stand.said, [format!("refused: {timed_out}")]);
}

#[test]
fn one_who_floods_does_not_keep_the_others_waiting() {
    let mut stand = Stand::new(QuicConfig::default());
    let mut player = stand.connect(2, 1);
    stand.run(100, &mut [&mut player]);
    let mut flooder = stand.network.socket(([10, 0, 0, 3], 1).into());
    let mut heard = 0;
    for _ in 0..1000 {
        let garbage = [0x45; 1200];
        for _ in 0..100 {
            let to = address(1);
            let packets =
                Packets { to, from: None, congestion: 0, bytes: &garbage, size: garbage.len() };
            flooder.send(stand.now, &packets);
        }
        let connection = stand.connections[0];
        stand.server.send(connection, Delivery::Unreliable, &[1, 0, 7]).unwrap();
        stand.run(1, &mut [&mut player]);
        heard += player.said.drain(..).filter(|said| said == "3 bytes").count();
    }
    println!("of 100,000 packets {} were dropped unread", stand.server.flooded());
    assert!(heard > 980, "{heard}");
    assert!(stand.server.flooded() > 98_000);
}
