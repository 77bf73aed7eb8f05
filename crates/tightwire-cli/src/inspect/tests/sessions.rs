//! Captures of sessions: snapshots in their messages, and a message that is longer than a record.

use std::time::Duration;

use tightwire::inspect::{CaptureWriter, Captured, Direction};
use tightwire::link::LinkConfig;
use tightwire::message::{MessengerBuilder, RawMessage};
use tightwire::quic::{Certificate, Network, Packets, Quic, QuicConfig, Socket, Trust};
use tightwire::snapshot::{Leaving, SnapshotPacket};
use tightwire::transport::{Event, InProcess, Transport};
use tightwire::{Client, Server, SessionConfig, SessionEvent};
use tightwire::{Context, Delivery, Message, Wire, snapshot};

use super::inspect;

#[derive(Wire, Default)]
struct Cube {
    #[wire(range = 0..=1000)]
    at: [u16; 2],
}

#[derive(Wire, Message, Default)]
struct Snapshot {
    packet: SnapshotPacket,
}

#[derive(Wire, Message, Default)]
struct Ack {
    ack: Option<snapshot::Ack>,
}

#[derive(Wire, Message, Default)]
struct Level {
    #[wire(max_len = 400_000)]
    tiles: Vec<u8>,
}

#[derive(Default)]
struct Game {
    acks: Vec<snapshot::Ack>,
    snapshots: Vec<Vec<u8>>,
    levels: usize,
}

fn messages(builder: MessengerBuilder<Game>) -> MessengerBuilder<Game> {
    builder
        .handle(|ack: &Ack, context: &mut Context<'_, Game>| context.state.acks.extend(ack.ack))
        .handle(|snapshot: &Snapshot, context: &mut Context<'_, Game>| {
            context.state.snapshots.push(snapshot.packet.bytes.clone());
        })
        .handle(|_: &Level, context: &mut Context<'_, Game>| context.state.levels += 1)
}

/// Returns the capture of the server's transport, and the number of snapshots that were sent.
fn session(level: usize) -> (Vec<u8>, u64) {
    let config = SessionConfig::new("arena", "1.0");
    let modeled =
        snapshot::Config { level: snapshot::Level::Modeled, ..snapshot::Config::default() };
    let protocol = snapshot::Protocol::builder(modeled).class::<Cube>().build().unwrap();
    let (client_end, server_end) = InProcess::pair();
    let builder = Server::builder(config.clone()).register(messages).open_to_anyone();
    let identity = builder.capture_identity().unwrap();
    let recorder = CaptureWriter::with_snapshots(Vec::new(), &identity, &protocol).unwrap();
    let local = "127.0.0.1:7777".parse().unwrap();
    let captured = Captured::new(server_end, recorder, local, config.unix_start);
    let mut server = builder.build(captured).unwrap();
    let mut client = Client::builder(config).register(messages).build(client_end).unwrap();

    let (mut at_server, mut at_client) = (Game::default(), Game::default());
    let mut sender = snapshot::Sender::new(&protocol);
    let mut receiver = snapshot::Receiver::new(&protocol);
    let (mut peers, mut sent) = (Vec::new(), 0);
    for tick in 1..=200u32 {
        let now = Duration::from_millis(16) * tick;
        server.receive(now, &mut at_server);
        while let Some(event) = server.poll_event() {
            if let SessionEvent::Connected { peer, .. } = event {
                peers.push((peer, sender.add_receiver(Leaving::Despawn)));
                let level = Level { tiles: vec![7; level] };
                server.send(peer, &level, Delivery::ReliableOrderedFragmented).unwrap();
            }
        }
        sender.begin_tick(tick);
        for id in 0..10u32 {
            sender.set(id, &Cube { at: [(tick * 3 + id) as u16, 500] }).unwrap();
        }
        for (peer, view) in &peers {
            for ack in at_server.acks.drain(..) {
                sender.handle_ack(*view, ack);
            }
            let mut message = Snapshot::default();
            message.packet.replace(sender.snapshot(*view, 900).unwrap());
            server.send(*peer, &message, Delivery::Unreliable).unwrap();
            sent += 1;
        }
        server.transmit(now);

        client.receive(now, &mut at_client);
        while client.poll_event().is_some() {}
        for packet in at_client.snapshots.drain(..) {
            receiver.handle_snapshot(&packet).unwrap();
        }
        if client.server().is_some() {
            client.send(&Ack { ack: receiver.ack() }, Delivery::Unreliable).unwrap();
        }
        client.transmit(now);
    }
    assert_eq!((at_client.levels, receiver.get::<Cube>(3).is_some()), (1, true));
    (server.transport().file(Vec::clone), sent)
}

#[test]
fn snapshots_in_messages_are_taken_apart() {
    let (file, sent) = session(1000);
    let inspected = inspect(&file, None, None, 0).unwrap();
    assert_eq!(inspected.json["snapshots"], sent);
    assert_eq!(inspected.json["snapshots_not_read"], 0);
    assert_eq!((&inspected.json["refused"], inspected.ended), (&0.into(), None));
    let fields = inspected.json["fields"].as_array().unwrap();
    let is_cell = |field: &&serde_json::Value| {
        field["path"].as_str().unwrap().starts_with("Message.Snapshot.packet.Cube.at")
    };
    assert!(fields.iter().any(|field| is_cell(&field)), "{fields:?}");
    assert_eq!(inspected.json["cut_messages"], 0);
}

#[test]
fn a_message_that_is_too_long_for_a_record_is_shown_with_what_is_missing() {
    let (file, _) = session(300_000);
    let inspected = inspect(&file, None, None, 1000).unwrap();
    assert_eq!(inspected.json["refused"], 0);
    assert_eq!(inspected.json["snapshots_not_read"], 0);
    assert_eq!(inspected.json["cut_messages"], 1);
    // The length of the list takes three bytes, the header of the record seven.
    let missing = 300_003 - (RawMessage::MAX_RECORDED - 7);
    assert_eq!(inspected.json["missing_bytes"], missing);
    let value_of = "1 message too long for the capture (1 Level), which has their beginning: ";
    assert!(inspected.text.contains(value_of), "{}", inspected.text);
    let types = inspected.json["types"].as_array().unwrap();
    assert!(types.iter().any(|of| of["name"] == RawMessage::CUT), "{types:?}");
    // The x-ray has its bytes.
    let spans = inspected.xrays.iter().flat_map(|xray| xray["spans"].as_array().unwrap());
    let mut paths = spans.filter_map(|span| span["path"].as_str());
    assert!(paths.any(|path| path == "Message.cut message.beginning"));
}

/// Returns the packets of a connection over QUIC, as they are on the wire.
fn encrypted() -> Vec<Vec<u8>> {
    let network = Network::new(LinkConfig::default(), 1);
    let [server, client, relay] = [1, 2, 3].map(|host| ([10, 0, 0, host], 7777).into());
    let certificate = Certificate::self_signed(["game.example"]).unwrap();
    let (trust, config) = (Trust::Pinned(vec![certificate.fingerprint()]), QuicConfig::default());
    let mut there = Quic::listen(network.socket(server), &certificate, config).unwrap();
    let socket = network.socket(client);
    let mut here =
        Quic::connect(socket, relay, "game.example", &trust, config, Duration::ZERO).unwrap();
    let mut relay = network.socket(relay);
    let (mut seen, mut connection) = (Vec::new(), None);
    for frame in 1..60 {
        let now = Duration::from_millis(16) * frame;
        here.handle_input(now);
        while let Some(event) = here.poll_event() {
            if let Event::Connected { connection: new, .. } = event {
                connection = Some(new);
            }
        }
        if let Some(connection) = connection {
            here.send(connection, Delivery::Unreliable, &[3, 0, 1, 2, 3]).unwrap();
        }
        here.handle_output(now);
        there.handle_input(now);
        while there.poll_event().is_some() {}
        there.handle_output(now);
        let mut passed = Vec::new();
        relay.receive(now, &mut |packet| {
            passed.push((packet.from, packet.bytes.to_vec()));
            true
        });
        for (from, bytes) in passed {
            let to = if from == client { server } else { client };
            let size = bytes.len();
            relay.send(now, &Packets { to, from: None, congestion: 0, bytes: &bytes, size });
            seen.push(bytes);
        }
    }
    assert!(connection.is_some() && seen.len() > 60, "{} packets", seen.len());
    seen
}

#[test]
fn encrypted_packets_of_the_port_of_the_game_are_not_called_refused() {
    let builder = Server::<Game, InProcess>::builder(SessionConfig::new("arena", "1.0"));
    let identity = builder.register(messages).capture_identity().unwrap();
    let mut recorder = CaptureWriter::new(Vec::new(), &identity).unwrap();
    let (server, client) = ("10.0.0.1:7777".parse().unwrap(), "10.0.0.2:7777".parse().unwrap());
    let encrypted = encrypted();
    // A record of the session itself, and one whose number belongs to no message.
    let records = [vec![16, 4, 1, 0, 0, 0], vec![77, 4, 1, 0, 0, 0]];
    for (number, datagram) in (0..).zip(encrypted.iter().chain(&records)) {
        let time = Duration::from_millis(1_700_000_000_000 + number);
        recorder.record(time, Direction::Received, server, client, datagram).unwrap();
    }
    let inspected = inspect(&recorder.finish().unwrap(), None, None, 10).unwrap();
    assert_eq!(inspected.json["no_records"], encrypted.len());
    assert_eq!((&inspected.json["packets"], &inspected.json["refused"]), (&2.into(), &1.into()));
    let said = format!("{} that are encrypted or of another program skipped", encrypted.len());
    assert!(inspected.text.contains(&said), "{}", inspected.text);
}
