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

struct TestBed {
    network: Network,
    certificate: Certificate,
    config: QuicConfig,
    server: End,
    now: Duration,
    /// Events of the server, as text.
    events: Vec<String>,
    connections: Vec<Connection>,
}

struct Player {
    end: End,
    events: Vec<String>,
}

impl TestBed {
    fn new(config: QuicConfig) -> Self {
        let latency = Duration::from_millis(10);
        let network = Network::new(LinkConfig { latency, ..LinkConfig::default() }, 1);
        let certificate = Certificate::self_signed(["game.example"]).unwrap();
        let server = Quic::listen(network.socket(address(1)), &certificate, config).unwrap();
        let (events, connections) = (Vec::new(), Vec::new());
        Self { network, certificate, config, server, now: Duration::ZERO, events, connections }
    }

    fn connect(&self, host: u8, port: u16) -> Player {
        let socket = self.network.socket(([10, 0, 0, host], port).into());
        let trust = Trust::Pinned(vec![self.certificate.fingerprint()]);
        let end = Quic::connect(socket, address(1), "game.example", &trust, self.config, self.now);
        Player { end: end.unwrap(), events: Vec::new() }
    }

    fn run(&mut self, milliseconds: u32, players: &mut [&mut Player]) {
        for _ in 0..milliseconds {
            self.now += Duration::from_millis(1);
            for player in &mut *players {
                player.end.handle_input(self.now);
                while let Some(event) = player.end.poll_event() {
                    player.events.push(in_words(&event));
                }
                player.end.handle_output(self.now);
            }
            self.server.handle_input(self.now);
            while let Some(event) = self.server.poll_event() {
                if let Event::Connected { connection, .. } = event {
                    self.connections.push(connection);
                }
                self.events.push(in_words(&event));
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
        let mut test_bed = TestBed::new(config);
        let [mut first, mut second] = [1, 2].map(|port| test_bed.connect(2, port));
        test_bed.run(100, &mut [&mut first, &mut second]);
        let mut third = test_bed.connect(2, 3);
        test_bed.run(100, &mut [&mut first, &mut second, &mut third]);
        assert_eq!(first.events, ["connected"]);
        assert_eq!(third.events, [format!("disconnected: {busy}")]);
        assert_eq!(
            test_bed.events,
            ["connected".into(), "connected".into(), format!("refused: {busy}")]
        );

        // There is room again, and at another address there was.
        let connection = test_bed.connections[0];
        test_bed.server.close(connection, &Reason::kicked("for another"));
        let mut fourth = test_bed.connect(2, 4);
        let mut fifth = test_bed.connect(3, 5);
        test_bed.run(2000, &mut [&mut second, &mut third]);
        test_bed.run(300, &mut [&mut first, &mut second, &mut fourth, &mut fifth]);
        let events = [&fourth.events[0], &fifth.events[0]].map(|event| event == "connected");
        let is_by_address = config.max_per_address == 2;
        assert!(events[0] || events[1], "one has the place that became free");
        assert_eq!(events[0] && events[1], is_by_address);
        assert_eq!(first.events[1], "disconnected: kicked: for another");
    }
}

#[test]
fn unanswered_handshakes_do_not_keep_others_out() {
    let config = QuicConfig { max_handshakes: 4, ..QuicConfig::default() };
    let mut test_bed = TestBed::new(config);
    // Each sends its first packet and then vanishes.
    for port in 1..=50 {
        let mut ghost = test_bed.connect(3, port);
        ghost.end.handle_output(test_bed.now);
    }
    let mut honest = test_bed.connect(2, 1);
    test_bed.run(300, &mut [&mut honest]);
    assert_eq!(honest.events, ["connected"]);
    test_bed.run(6000, &mut [&mut honest]);
    let timed_out = format!("refused: {}", Reason::TimedOut);
    let ghosts = test_bed.events.iter().filter(|event| **event == timed_out).count();
    assert_eq!(ghosts, 4, "{:?}", test_bed.events);
    assert_eq!(honest.events, ["connected"]);
}

#[test]
fn vanished_clients_time_out_and_idle_ones_do_not() {
    let mut test_bed = TestBed::new(QuicConfig::default());
    let [mut idle, mut gone] = [1, 2].map(|port| test_bed.connect(2, port));
    test_bed.run(100, &mut [&mut idle, &mut gone]);
    test_bed.run(9000, &mut [&mut idle]);
    assert_eq!(test_bed.events, ["connected"; 2]);
    test_bed.run(2000, &mut [&mut idle]);
    assert_eq!(test_bed.events[2..], [format!("disconnected: {}", Reason::TimedOut)]);
    // The client that was away gets the reason too.
    test_bed.run(2000, &mut [&mut gone]);
    assert!(gone.events[1].starts_with("disconnected"), "{:?}", gone.events);
    test_bed.run(60_000, &mut [&mut idle]);
    assert_eq!(idle.events, ["connected"]);
}

#[test]
fn a_restarted_server_reports_unknown_connections() {
    let mut test_bed = TestBed::new(QuicConfig::default());
    let mut player = test_bed.connect(2, 1);
    test_bed.run(100, &mut [&mut player]);
    let socket = test_bed.network.socket(address(1));
    test_bed.server = Quic::listen(socket, &test_bed.certificate, test_bed.config).unwrap();
    test_bed.run(3000, &mut [&mut player]);
    assert_eq!(player.events[1..], [format!("disconnected: {}", Reason::Forgotten)]);
}

#[test]
fn connecting_to_no_server_times_out() {
    let mut test_bed = TestBed::new(QuicConfig::default());
    test_bed.network.set_config(LinkConfig { loss: 1.0, ..LinkConfig::default() });
    let mut player = test_bed.connect(2, 1);
    test_bed.run(6000, &mut [&mut player]);
    assert_eq!(player.events, [format!("disconnected: {}", Reason::TimedOut)]);
}

#[test]
fn a_client_whose_answers_are_lost_times_out_instead_of_leaving() {
    // A server sends its reason only to a validated address, as after a retry.
    let mut test_bed = TestBed::new(QuicConfig { max_handshakes: 0, ..QuicConfig::default() });
    let mut client = test_bed.connect(2, 1000);
    // The server's answer is in flight, which completes the handshake for the client alone.
    test_bed.run(40, &mut [&mut client]);
    for _ in 0..6000 {
        test_bed.run(1, &mut []);
        // No packet of it reaches the server any more.
        client.end.handle_input(test_bed.now);
        while let Some(event) = client.end.poll_event() {
            client.events.push(in_words(&event));
        }
    }
    let timed_out = "timed out: nothing was received from the other side";
    assert_eq!(client.events, ["connected".into(), format!("disconnected: {timed_out}")]);
    assert_eq!(test_bed.events, [format!("refused: {timed_out}")]);
}

#[test]
fn a_flood_does_not_delay_other_clients() {
    let mut test_bed = TestBed::new(QuicConfig::default());
    let mut player = test_bed.connect(2, 1);
    test_bed.run(100, &mut [&mut player]);
    let mut flooder = test_bed.network.socket(([10, 0, 0, 3], 1).into());
    let mut received = 0;
    for _ in 0..1000 {
        let garbage = [0x45; 1200];
        for _ in 0..100 {
            let to = address(1);
            let packets =
                Packets { to, from: None, congestion: 0, bytes: &garbage, size: garbage.len() };
            flooder.send(test_bed.now, &packets);
        }
        let connection = test_bed.connections[0];
        test_bed.server.send(connection, Delivery::Unreliable, &[1, 0, 7]).unwrap();
        test_bed.run(1, &mut [&mut player]);
        received += player.events.drain(..).filter(|event| event == "3 bytes").count();
    }
    println!("of 100,000 packets {} were dropped unread", test_bed.server.flooded());
    assert!(received > 980, "{received}");
    assert!(test_bed.server.flooded() > 98_000);
}
