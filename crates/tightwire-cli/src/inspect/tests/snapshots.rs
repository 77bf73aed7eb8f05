//! Snapshots within packets are taken apart, where their baselines are in the capture.

use tightwire::{
    Identity, Leaving, Protection, Recorder, SnapshotConfig, SnapshotPacket, SnapshotProtocol,
    SnapshotReceiver, SnapshotSender, Wire, encode, schema,
};

use super::game::record;
use super::inspect;

#[derive(Wire, Default, Clone)]
struct Cube {
    #[wire(spatial, min = -100.0, max = 100.0, resolution = 0.01)]
    position: [f32; 3],
    awake: bool,
}

#[derive(Wire, Default)]
struct Snapshot {
    tick: u32,
    packet: SnapshotPacket,
}

fn protocol() -> SnapshotProtocol {
    SnapshotProtocol::builder(SnapshotConfig::default()).class::<Cube>().build().unwrap()
}

/// So many snapshots of some cubes that move, each of which arrives.
fn datagrams(count: u32) -> Vec<Vec<u8>> {
    let protocol = protocol();
    let mut sender = SnapshotSender::new(&protocol);
    let client = sender.add_receiver(Leaving::Despawn);
    let mut receiver = SnapshotReceiver::new(&protocol);
    let mut datagrams = Vec::new();
    for tick in 1..=count {
        sender.begin_tick(tick);
        for id in 0..5u32 {
            let position = [tick as f32 * 0.3, id as f32, -(tick as f32) * 0.1];
            let mut cube = Cube { position, awake: tick % 3 == id % 3 };
            sender.set(id, &mut cube).unwrap();
        }
        let mut snapshot = Snapshot { tick, packet: SnapshotPacket::default() };
        snapshot.packet.replace(sender.snapshot(client, 1000).unwrap());
        receiver.handle_snapshot(&snapshot.packet.bytes).unwrap();
        sender.handle_ack(client, receiver.ack().unwrap());
        let mut buffer = [0; 2000];
        datagrams.push(encode(&mut snapshot, &mut buffer).unwrap().to_vec());
    }
    datagrams
}

fn capture_of(datagrams: Vec<Vec<u8>>) -> Vec<u8> {
    let identity = Identity::new("cubes", "1", Protection::None, schema::<Snapshot>());
    let mut recorder = Recorder::with_snapshots(Vec::new(), &identity, &protocol()).unwrap();
    // All in one direction: the recorder of the other game alternates.
    for datagram in datagrams {
        record(&mut recorder, [datagram]);
    }
    recorder.finish().unwrap()
}

pub(super) fn session(count: u32) -> Vec<u8> {
    capture_of(datagrams(count))
}

#[test]
fn fields_of_snapshots_have_their_share() {
    let inspected = inspect(&session(40), None, None, 40).unwrap();
    assert_eq!((inspected.json["snapshots"].as_u64(), inspected.ended), (Some(40), None));
    let fields = inspected.json["fields"].as_array().unwrap();
    let bits: f64 = fields.iter().map(|field| field["bits"].as_f64().unwrap()).sum();
    assert!((bits - inspected.json["bytes"].as_f64().unwrap() * 8.0).abs() < 1e-3, "{bits}");
    let paths: Vec<_> = fields.iter().map(|field| field["path"].as_str().unwrap()).collect();
    let position = paths.iter().any(|path| path.starts_with("Snapshot.packet.Cube.position"));
    assert!(position && paths.contains(&"Snapshot.packet.(check)"), "{paths:?}");

    let spans = inspected.xrays[39]["spans"].as_array().unwrap();
    let cube = spans.iter().find(|span| span["path"] == "Cube[3].awake").unwrap();
    assert_eq!(cube["group"], "Cube");
    assert_eq!(cube["value"], (40 % 3 == 3 % 3).to_string());
}

#[test]
fn a_snapshot_without_its_baseline_is_one_span_with_the_reason() {
    let inspected = inspect(&capture_of(datagrams(40).split_off(20)), None, None, 40).unwrap();
    assert_eq!(inspected.json["snapshots"], 0);
    assert_eq!(inspected.json["snapshots_not_read"], 20);
    assert_eq!(inspected.json["refused"], 0);
    let spans = inspected.xrays[0]["spans"].as_array().unwrap();
    let coded = spans.iter().find(|span| span["kind"] == "coded").unwrap();
    let reason = coded["value"].as_str().unwrap();
    assert!(reason.starts_with("its baseline, snapshot "), "{reason}");
    assert!(reason.ends_with(" is not in the capture"), "{reason}");
    assert!(inspected.text.contains("20 of 20 snapshots not taken apart: its baseline"));
}

#[test]
fn a_field_of_snapshots_can_be_asked_for() {
    let inspected = inspect(&session(40), None, Some("Cube.awake"), 0).unwrap();
    let fields = inspected.json["fields"].as_array().unwrap();
    assert_eq!(fields.len(), 1);
    assert_eq!(fields[0]["path"], "Snapshot.packet.Cube.awake");
    let values = &inspected.json["values"];
    assert_eq!(values["first"][0]["path"], "Cube[0].awake");
    assert_eq!(values["numbers"]["max"], 1.0);
    assert_eq!(values["count"], fields[0]["count"]);
}
