//! A recorded session of a server and a client, on a virtual clock: every message of it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::time::Duration;

use tightwire::inspect::Captured;
use tightwire::inspect::{Capture, CaptureWriter};
use tightwire::link::LinkConfig;
use tightwire::message::MessengerBuilder;
use tightwire::quic::{Network, Quic, QuicConfig};
use tightwire::snapshot::Leaving;
use tightwire::{Client, Server, SessionConfig, SessionEvent};
use tightwire::{Context, Delivery, Message, PeerId, Wire, snapshot};

use super::agreement::assert_agrees;
use super::tshark::{dissected, write_dissector};
use crate::common::Folder;
use crate::support::seed;

#[derive(Wire, Default, Clone)]
struct Cube {
    #[wire(spatial, min = -32.0, max = 32.0, resolution = 0.002)]
    position: [f32; 3],
    #[wire(smallest_three = 9)]
    rotation: [f32; 4],
    awake: bool,
}

#[derive(Wire, Message, Default, Clone)]
struct Input {
    #[wire(range = -100..=100)]
    stick: [i8; 2],
    jump: bool,
    ack: Option<snapshot::Ack>,
}

#[derive(Wire, Message, Default, Clone)]
struct Chat {
    #[wire(max_len = 60)]
    text: String,
}

#[derive(Wire, Message, Default)]
struct Snapshot {
    packet: snapshot::SnapshotPacket,
}

#[derive(Default)]
struct Inbox {
    acks: Vec<(PeerId, snapshot::Ack)>,
    snapshots: Vec<Vec<u8>>,
}

fn messages(builder: MessengerBuilder<Inbox>) -> MessengerBuilder<Inbox> {
    builder
        .handle(|input: &Input, context: &mut Context<'_, Inbox>| {
            let sender = context.sender();
            context.state.acks.extend(input.ack.map(|ack| (sender, ack)));
        })
        .handle(|_: &Chat, _: &mut Context<'_, Inbox>| {})
        .handle(|snapshot: &Snapshot, context: &mut Context<'_, Inbox>| {
            context.state.snapshots.push(snapshot.packet.bytes.clone());
        })
}

/// Four seconds of 60 ticks over a link that loses packets, recorded by the server.
fn record(file: &str, seed: u64) {
    let snapshots =
        snapshot::Config { level: snapshot::Level::Modeled, ..snapshot::Config::default() };
    let protocol = snapshot::Protocol::builder(snapshots).class::<Cube>().build().unwrap();
    let link =
        LinkConfig { latency: Duration::from_millis(30), loss: 0.05, ..LinkConfig::default() };
    let quic = QuicConfig { seed: Some(seed), ..QuicConfig::default() };
    let (client_end, server_end) = Quic::pair(&Network::new(link, seed), quic).unwrap();
    let config = SessionConfig {
        unix_start: Duration::from_secs(1_700_000_000),
        ..SessionConfig::new("cubes", "1.0")
    };
    let builder = Server::builder(config.clone()).register(messages).open_to_anyone();
    let identity = builder.capture_identity().unwrap();
    let file = BufWriter::new(File::create(file).unwrap());
    let recorder = CaptureWriter::with_snapshots(file, &identity, &protocol).unwrap();
    let local = "127.0.0.1:7777".parse().unwrap();
    let captured = Captured::new(server_end, recorder, local, config.unix_start);
    let mut server = builder.build(captured).unwrap();
    let mut client = Client::builder(config).register(messages).build(client_end).unwrap();

    let (mut at_server, mut at_client) = (Inbox::default(), Inbox::default());
    let mut sender = snapshot::Sender::new(&protocol);
    let mut receiver = snapshot::Receiver::new(&protocol);
    let mut peer = None;
    for tick in 1..=240_u32 {
        let now = Duration::from_millis(16) * tick;
        server.receive(now, &mut at_server);
        server.transmit(now);
        while let Some(event) = server.poll_event() {
            if let SessionEvent::Connected { peer: connected, .. } = event {
                peer = Some((connected, sender.add_receiver(Leaving::Despawn)));
            }
        }
        sender.begin_tick(tick);
        for id in 0..40 {
            sender.set(id, &cube(id, tick)).unwrap();
        }
        if let Some((peer, view)) = peer {
            for (_, ack) in at_server.acks.drain(..) {
                sender.handle_ack(view, ack);
            }
            let mut message = Snapshot::default();
            message.packet.replace(sender.snapshot(view, 900).unwrap());
            server.send(peer, &message, Delivery::Unreliable).unwrap();
        }
        client.receive(now, &mut at_client);
        client.transmit(now);
        while client.poll_event().is_some() {}
        for packet in at_client.snapshots.drain(..) {
            let _ = receiver.handle_snapshot(&packet);
        }
        if client.server().is_some() {
            let stick = [(tick % 100) as i8, -50];
            let input = Input { stick, jump: tick % 3 == 0, ack: receiver.ack() };
            client.send(&input, Delivery::Unreliable).unwrap();
            if tick % 20 == 0 {
                let chat = Chat { text: format!("tick {tick}: ä") };
                client.send(&chat, Delivery::ReliableOrdered).unwrap();
            }
        }
    }
    assert_eq!(server.transport().error().map(ToString::to_string), None);
}

fn cube(id: u32, tick: u32) -> Cube {
    let turn = (tick + id * 17) as f32 * 0.02;
    let position = [turn.cos() * 20.0, turn.sin() * 20.0, id as f32 * 0.5];
    let rotation = [0.0, 0.0, (turn / 2.0).sin(), (turn / 2.0).cos()];
    Cube { position, rotation, awake: (tick + id).is_multiple_of(2) }
}

#[test]
fn every_message_of_a_recorded_session_is_read_as_the_library_reads_it() {
    let folder = Folder::new("dissector-recorded");
    let [file, lua] = ["session.pcapng", "game.lua"].map(|name| folder.file(name));
    record(&file, seed(5));

    write_dissector(&lua, &["--schema", &file, "--name", "cubes"]);
    let items = dissected(&lua, &file, "cubes");
    let mut capture = Capture::new(File::open(&file).unwrap()).unwrap();
    let identity = capture.identity().unwrap().clone();
    let (mut items, mut counts) = (items.iter(), BTreeMap::<_, usize>::new());
    while let Some(record) = capture.next_record() {
        let (record, item) = (record.unwrap(), items.next().unwrap().as_ref().unwrap());
        assert_agrees(&identity, "cubes", record.datagram, item);
        assert_eq!(item.show("cubes.refused"), None);
        for message in ["snapshot", "input", "chat"] {
            let is_it = item.show(&format!("cubes.message.{message}")).is_some();
            *counts.entry(message).or_default() += usize::from(is_it);
        }
    }
    assert_eq!(items.next(), None);
    assert!(counts["snapshot"] > 200 && counts["input"] > 150 && counts["chat"] > 8, "{counts:?}");
}
