//! Snapshots within packets are decoded where their baselines are in the capture.

use std::ops::ControlFlow;
use std::time::Duration;

use tightwire::inspect::{Capture, CaptureError, CaptureWriter, Direction};
use tightwire::packet::{Identity, Protection};
use tightwire::schema::Schema;
use tightwire::snapshot::{Leaving, Level};
use tightwire::{Wire, encode, snapshot};

use super::super::reading::Reading;
use super::game::record;
use super::{CaptureIdentity, inspect};

#[derive(Wire, Default, Clone)]
struct Cube {
    #[wire(spatial, min = -100.0, max = 100.0, resolution = 0.01)]
    position: [f32; 3],
    awake: bool,
}

#[derive(Wire, Default)]
struct Snapshot {
    tick: u32,
    packet: snapshot::SnapshotPacket,
}

fn protocol() -> snapshot::Protocol {
    let config = snapshot::Config { level: Level::Modeled, ..snapshot::Config::default() };
    snapshot::Protocol::builder(config).class::<Cube>().build().unwrap()
}

/// Returns `count` snapshots of moving cubes, each of them acked.
fn datagrams(count: u32) -> Vec<Vec<u8>> {
    let protocol = protocol();
    let mut sender = snapshot::Sender::new(&protocol);
    let client = sender.add_receiver(Leaving::Despawn);
    let mut receiver = snapshot::Receiver::new(&protocol);
    let mut datagrams = Vec::new();
    for tick in 1..=count {
        sender.begin_tick(tick);
        for id in 0..5u32 {
            let position = [tick as f32 * 0.3, id as f32, -(tick as f32) * 0.1];
            let cube = Cube { position, awake: tick % 3 == id % 3 };
            sender.set(id, &cube).unwrap();
        }
        let mut snapshot = Snapshot { tick, packet: snapshot::SnapshotPacket::default() };
        snapshot.packet.replace(sender.snapshot(client, 1000).unwrap());
        receiver.handle_snapshot(&snapshot.packet.bytes).unwrap();
        sender.handle_ack(client, receiver.ack().unwrap());
        let mut buffer = [0; 2000];
        datagrams.push(encode(&snapshot, &mut buffer).unwrap().to_vec());
    }
    datagrams
}

fn identity() -> Identity {
    Identity::new("cubes", "1", Protection::None, Schema::of::<Snapshot>())
}

fn capture_of(datagrams: Vec<Vec<u8>>) -> Vec<u8> {
    let mut recorder = CaptureWriter::with_snapshots(Vec::new(), &identity(), &protocol()).unwrap();
    // All datagrams go in one direction: the recorder of the other game alternates.
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
    assert!((bits - inspected.json["bytes"].as_f64().unwrap() * 8.0).abs() < 0.05, "{bits}");
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
    assert!(inspected.text.contains("20 of 20 snapshots not decoded: its baseline"));
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

#[test]
fn every_path_that_is_printed_can_be_asked_for() {
    let file = session(40);
    let all = inspect(&file, None, None, 0).unwrap();
    let fields = all.json["fields"].as_array().unwrap();
    assert!(fields.len() > 5);
    for field in fields {
        let path = field["path"].as_str().unwrap();
        let asked = inspect(&file, None, Some(path), 0).unwrap();
        let found = asked.json["fields"].as_array().unwrap();
        assert!(found.contains(field), "{path}: {found:?}");
    }
    let values = inspect(&file, None, Some("Snapshot.packet.Cube.awake"), 0).unwrap();
    assert!(values.json["values"]["count"].as_u64().unwrap() > 0);
}

#[test]
fn numbers_of_several_fields_are_not_mixed() {
    let inspected = inspect(&session(40), None, Some("Snapshot"), 0).unwrap();
    let values = &inspected.json["values"];
    let fields = inspected.json["fields"].as_array().unwrap();
    let of = |end: &str| {
        let is_it = |field: &&serde_json::Value| field["path"].as_str().unwrap().ends_with(end);
        fields.iter().find(is_it).unwrap()["count"].as_u64().unwrap()
    };
    let counts = [".tick", ".bytes", "Cube.position", "Cube.awake"].map(of);
    assert_eq!(values["count"].as_u64().unwrap(), counts.iter().sum::<u64>());
    assert!(values["numbers"].is_null(), "{values}");
    assert!(!inspected.text.contains(", mean "), "{}", inspected.text);
}

#[test]
fn snapshots_are_read_on_after_a_server_restart() {
    let mut twice = datagrams(150);
    twice.extend(datagrams(30));
    let inspected = inspect(&capture_of(twice), None, None, 0).unwrap();
    assert_eq!(inspected.json["snapshots"], 180);
    assert_eq!(inspected.json["snapshots_not_read"], 0);
}

#[test]
fn duplicated_and_late_snapshots_cause_no_resync() {
    let mut some = datagrams(60);
    let first = some[0].clone();
    some.insert(40, first);
    let inspected = inspect(&capture_of(some), None, None, 0).unwrap();
    assert_eq!(inspected.json["snapshots"], 60);
    assert_eq!(inspected.json["snapshots_not_read"], 1);
}

/// Makes a capture of `count` snapshots to each of `clients` clients, interleaved or one client
/// after the other.
fn to_many(clients: u16, count: u32, in_turn: bool) -> Vec<u8> {
    let mut recorder = CaptureWriter::with_snapshots(Vec::new(), &identity(), &protocol()).unwrap();
    let datagrams = datagrams(count);
    let both = |number: usize| (0..clients).map(move |client| (number, client));
    let mut order: Vec<_> = (0..datagrams.len()).flat_map(both).collect();
    if !in_turn {
        order.sort_by_key(|(_, client)| *client);
    }
    for (time, (number, client)) in order.into_iter().enumerate() {
        let (server, client) = (([10, 0, 0, 1], 7000), ([10, 0, 0, 2], 50_000 + client));
        let (time, datagram) = (Duration::from_millis(time as u64), &datagrams[number]);
        recorder.record(time, Direction::Sent, server.into(), client.into(), datagram).unwrap();
    }
    recorder.finish().unwrap()
}

#[test]
fn snapshots_of_many_clients_are_read() {
    let inspected = inspect(&to_many(64, 5, true), None, None, 0).unwrap();
    assert_eq!(inspected.json["snapshots"], 64 * 5);
}

#[test]
fn a_flow_that_was_silent_for_long_makes_room_for_another() {
    let inspected = inspect(&to_many(70, 10, false), None, None, 0).unwrap();
    assert_eq!(inspected.json["snapshots"], 700);
}

#[test]
fn flows_beyond_the_limit_are_counted_as_not_read() {
    let inspected = inspect(&to_many(80, 5, true), None, None, 0).unwrap();
    assert_eq!(inspected.json["snapshots"], 64 * 5);
    assert_eq!(inspected.json["snapshots_not_read"], 16 * 5);
}

#[test]
fn another_capture_says_what_snapshots_are() {
    let mut recorder = CaptureWriter::new(Vec::new(), &identity()).unwrap();
    for datagram in datagrams(20) {
        record(&mut recorder, [datagram]);
    }
    let (silent, other) = (recorder.finish().unwrap(), session(1));
    let of = |other: Option<&[u8]>| {
        let capture = Capture::new(&silent[..]).unwrap();
        let mut reading = Reading::new(capture, CaptureIdentity::of_identity(identity()), None);
        if let Some(other) = other {
            reading.take_snapshots_of(&Capture::new(other).unwrap());
        }
        reading.each::<CaptureError>(|_| Ok(ControlFlow::Continue(()))).unwrap();
        let totals = &reading.snapshots().totals;
        (totals.decoded, totals.not_decoded)
    };
    assert_eq!(of(None), (0, 20));
    assert_eq!(of(Some(&other)), (20, 0));
}

#[test]
fn only_as_many_are_taken_apart_as_are_asked_for() {
    let file = session(20);
    let capture = Capture::new(&file[..]).unwrap();
    let mut reading = Reading::new(capture, CaptureIdentity::of_identity(identity()), None);
    reading.take_apart(7);
    reading.each::<CaptureError>(|_| Ok(ControlFlow::Continue(()))).unwrap();
    let totals = &reading.snapshots().totals;
    assert_eq!((totals.decoded, totals.not_decoded), (7, 13));
    let reason = totals.reason.as_deref().unwrap_or_default();
    assert_eq!(reason, "only the first 7 are: --snapshots chooses how many");
}
