//! A captured session, read back by the file alone.

use std::io::{self, Write};
use std::time::Duration;

use tightwire::bytes::Packing;
use tightwire::inspect::Captured;
use tightwire::inspect::{Capture, CaptureWriter, Direction};
use tightwire::link::LinkConfig;
use tightwire::message::{MessengerBuilder, MessengerConfig, RawMessage};
use tightwire::quic::{Network, Quic, QuicConfig};
use tightwire::schema::Dynamic;
use tightwire::snapshot::Leaving;
use tightwire::stream::Value;
use tightwire::transport::InProcess;
use tightwire::{Client, Server, SessionConfig, SessionEvent};
use tightwire::{Context, Delivery, Message, Wire, snapshot};

use crate::common::seed::seed;

#[derive(Wire, Message, Default, Clone, PartialEq, Debug)]
struct Chat {
    #[wire(max_len = 100, check = "chat")]
    text: String,
    loud: bool,
}

#[derive(Wire, Message, Default)]
struct Ack {
    ack: Option<snapshot::Ack>,
}

#[derive(Wire, Message, Default)]
struct Snapshot {
    packet: snapshot::SnapshotPacket,
}

#[derive(Wire, Message, Default)]
struct Level {
    #[wire(max_len = 200_000)]
    data: Vec<u8>,
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Ball {
    #[wire(range = 0..=1000)]
    at: [u16; 2],
    lit: bool,
}

#[derive(Default)]
struct Game {
    received: Vec<Chat>,
    acks: Vec<snapshot::Ack>,
    packets: Vec<Vec<u8>>,
}

fn messages(builder: MessengerBuilder<Game>) -> MessengerBuilder<Game> {
    builder
        .handle(|chat: &Chat, context: &mut Context<'_, Game>| {
            context.state.received.push(chat.clone());
        })
        .handle(|ack: &Ack, context: &mut Context<'_, Game>| context.state.acks.extend(ack.ack))
        .handle(|snapshot: &Snapshot, context: &mut Context<'_, Game>| {
            context.state.packets.push(snapshot.packet.bytes.clone());
        })
        .handle(|_: &Level, _: &mut Context<'_, Game>| {})
}

fn config(packing: Packing) -> SessionConfig {
    let messenger = MessengerConfig { packing, ..MessengerConfig::default() };
    let unix_start = Duration::from_secs(1_700_000_000);
    SessionConfig { unix_start, messenger, ..SessionConfig::new("arena", "1.0") }
}

fn ball(id: u32, tick: u32) -> Ball {
    Ball { at: [((tick * 3 + id * 40) % 1000) as u16, 500], lit: (tick + id).is_multiple_of(20) }
}

const BALLS: u32 = 10;

/// Sent and received messages of the client, and the capture of the server's transport.
struct Played {
    file: Vec<u8>,
    said: Vec<Chat>,
    /// The newest world of the client.
    world: Vec<Option<Ball>>,
    cut: u64,
    not_recorded: u64,
    recorded: u64,
}

fn play(packing: Packing) -> Played {
    let protocol =
        snapshot::Protocol::builder(snapshot::Config::default()).class::<Ball>().build().unwrap();
    let link =
        LinkConfig { latency: Duration::from_millis(20), loss: 0.1, ..LinkConfig::default() };
    let quic = QuicConfig { seed: Some(seed(5)), ..QuicConfig::default() };
    let (client_end, server_end) = Quic::pair(&Network::new(link, seed(5)), quic).unwrap();
    let builder = Server::builder(config(packing)).register(messages).open_to_anyone();
    let identity = builder.capture_identity().unwrap();
    let recorder = CaptureWriter::with_snapshots(Vec::new(), &identity, &protocol).unwrap();
    let local = "127.0.0.1:7777".parse().unwrap();
    let captured = Captured::new(server_end, recorder, local, config(packing).unix_start);
    let mut server = builder.build(captured).unwrap();
    let mut client = Client::builder(config(packing)).register(messages).build(client_end).unwrap();

    let (mut at_server, mut at_client) = (Game::default(), Game::default());
    let mut sender = snapshot::Sender::new(&protocol);
    let mut receiver = snapshot::Receiver::new(&protocol);
    let (mut peers, mut said) = (Vec::new(), Vec::new());
    for tick in 1..=240u32 {
        let now = Duration::from_millis(16) * tick;
        server.receive(now, &mut at_server);
        server.transmit(now);
        while let Some(event) = server.poll_event() {
            if let SessionEvent::Connected { peer, .. } = event {
                peers.push((peer, sender.add_receiver(Leaving::Despawn)));
                let level = Level { data: vec![7; 100_000] };
                let fragmented = Delivery::ReliableOrderedFragmented;
                server.send(peer, &level, fragmented).unwrap();
                let level = Level { data: vec![8; 1000] };
                server.send(peer, &level, fragmented).unwrap();
            }
        }
        sender.begin_tick(tick);
        for id in 0..BALLS {
            sender.set(id, &ball(id, tick)).unwrap();
        }
        for (peer, receiver) in &peers {
            for ack in at_server.acks.drain(..) {
                sender.handle_ack(*receiver, ack);
            }
            let mut message = Snapshot::default();
            message.packet.replace(sender.snapshot(*receiver, 900).unwrap());
            server.send(*peer, &message, Delivery::Unreliable).unwrap();
        }

        client.receive(now, &mut at_client);
        client.transmit(now);
        while client.poll_event().is_some() {}
        for packet in at_client.packets.drain(..) {
            let _ = receiver.handle_snapshot(&packet);
        }
        if client.server().is_some() && tick < 200 {
            let ack = Ack { ack: receiver.ack() };
            client.send(&ack, Delivery::Unreliable).unwrap();
            if tick.is_multiple_of(10) {
                let chat = Chat { text: format!("tick {tick}"), loud: tick > 100 };
                client.send(&chat, Delivery::ReliableOrdered).unwrap();
                said.push(chat);
            }
        }
    }
    assert_eq!(at_server.received, said);
    assert!(said.len() > 10);
    let transport = server.transport();
    assert!(transport.error().is_none());
    Played {
        file: transport.file(Vec::clone),
        said,
        world: (0..BALLS).map(|id| receiver.get(id)).collect(),
        cut: transport.cut(),
        not_recorded: transport.not_recorded(),
        recorded: transport.recorded(),
    }
}

fn field<'d>(tree: &'d Dynamic, name: &str) -> Option<&'d Dynamic> {
    let Dynamic::Struct { fields, .. } = tree else { return None };
    fields.iter().find(|(field, _)| &**field == name).map(|(_, value)| value)
}

#[test]
fn a_session_is_read_back_by_the_file_alone() {
    for packing in [Packing::Bits, Packing::Bytes] {
        let played = play(packing);
        let mut capture = Capture::new(&played.file[..]).unwrap();
        let identity = capture.identity().unwrap().clone();
        let described = capture.snapshots().unwrap();
        let protocol = snapshot::Protocol::from_description(described).unwrap();
        let packets = identity.packets();

        // As the client would have received it without loss.
        let mut receiver = snapshot::Receiver::new(&protocol);
        let (mut received, mut levels, mut snapshots, mut records) = (Vec::new(), 0, 0, 0);
        let (mut last, mut cuts) = (Duration::ZERO, Vec::new());
        while let Some(record) = capture.next_record() {
            let record = record.unwrap();
            records += 1;
            assert!(record.time >= last && record.time > config(packing).unix_start);
            last = record.time;
            assert_eq!(record.local(), Some("127.0.0.1:7777".parse().unwrap()));
            assert!(record.peer().unwrap().to_string().starts_with("10.0."));
            let packet = packets.packet_in(record.datagram).unwrap();
            let tree = identity.decode(packet).unwrap();
            assert_eq!(identity.explain(packet).failure(), None);
            if let Some(chat) = field(&tree, "Chat") {
                assert_eq!(record.direction, Some(Direction::Received));
                received.push((
                    field(chat, "text").unwrap().to_string(),
                    field(chat, "loud").unwrap().to_string(),
                ));
            } else if let Some(snapshot) = field(&tree, "Snapshot") {
                assert_eq!(record.direction, Some(Direction::Sent));
                let bytes = field(field(snapshot, "packet").unwrap(), "bytes").unwrap();
                let Dynamic::Value(Value::Bytes(bytes)) = bytes else { panic!("{bytes:?}") };
                receiver.handle_snapshot(bytes).unwrap();
                snapshots += 1;
            } else if field(&tree, "Level").is_some() {
                levels += 1;
            } else if let Some(cut) = field(&tree, RawMessage::CUT) {
                // A level too, whose header takes a few bytes.
                assert_eq!(record.datagram.len(), 5 + RawMessage::MAX_RECORDED);
                let Some(Dynamic::Value(Value::Number(bytes))) = field(cut, "bytes") else {
                    panic!("{cut}")
                };
                cuts.push(bytes.to_string());
                let Some(Dynamic::Value(Value::Bytes(beginning))) = field(cut, "beginning") else {
                    panic!("{cut}")
                };
                assert_eq!(beginning.last(), Some(&7));
            } else {
                assert!(field(&tree, "Ack").is_some(), "{tree}");
            }
        }
        let said: Vec<_> = played
            .said
            .iter()
            .map(|chat| (format!("{:?}", chat.text), chat.loud.to_string()))
            .collect();
        assert_eq!(received, said);
        assert_eq!(records, played.recorded);
        assert!(snapshots > 200);
        // One is too long for a datagram: 18 bits of the length, padding, and the data itself.
        assert_eq!((levels, played.cut, played.not_recorded), (1, 1, 0));
        let header = if packing == Packing::Bits { 3 } else { 4 };
        assert_eq!(cuts, [(100_000 + header).to_string()]);

        // The last snapshot that was sent is of the last tick; the client is a latency behind.
        for id in 0..BALLS {
            let expected = ball(id, 240);
            let mut buffer = [0; 64];
            let packet = tightwire::encode(&expected, &mut buffer).unwrap();
            let expected = protocol.class_schema(0).unwrap().decode(packet).unwrap();
            assert!(receiver.get_dynamic(id).is_some());
            let tick = receiver.newest().unwrap().tick;
            if tick == 240 {
                assert_eq!(receiver.get_dynamic(id), Some(expected));
            } else {
                assert!(tick >= 239, "{tick}");
            }
            assert!(played.world[id as usize].is_some());
        }
    }
}

/// A disk that is full after this many bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_does_not_stop_the_session() {
    let (client_end, server_end) = InProcess::pair();
    let builder = Server::builder(config(Packing::Bits)).register(messages).open_to_anyone();
    let recorder = CaptureWriter::new(Full(3_000), &builder.capture_identity().unwrap()).unwrap();
    let local = "127.0.0.1:7777".parse().unwrap();
    let captured = Captured::new(server_end, recorder, local, Duration::ZERO);
    let mut server = builder.build(captured).unwrap();
    let mut client =
        Client::builder(config(Packing::Bits)).register(messages).build(client_end).unwrap();
    let (mut at_server, mut at_client) = (Game::default(), Game::default());
    for tick in 1..=200u32 {
        let now = Duration::from_millis(16) * tick;
        server.receive(now, &mut at_server);
        server.transmit(now);
        client.receive(now, &mut at_client);
        client.transmit(now);
        if client.server().is_some() && tick < 190 {
            let chat = Chat { text: "x".repeat(90), loud: false };
            client.send(&chat, Delivery::Reliable).unwrap();
        }
    }
    assert!(at_server.received.len() > 150);
    let transport = server.transport();
    assert_eq!(transport.error().unwrap().kind(), io::ErrorKind::StorageFull);
    assert!(transport.recorded() > 0);
    assert_eq!(transport.recorded() + transport.not_recorded(), at_server.received.len() as u64);
}
