//! The demo without a browser. It runs on the real clock, over real sockets: the physics needs an
//! optimised build to keep up.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use tightwire::inspect::Capture;
use tightwire::{Wire, snapshot};

use crate::browser::wait_for;
use crate::common::{alone, demo, file, run};

/// The summary of a run that worked.
fn summary(arguments: &[&str]) -> Value {
    let output = run(&[&["--json"], arguments].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Whether a number is there, and within bounds.
#[track_caller]
fn assert_within(value: &Value, name: &str, least: f64, most: f64) {
    let number = value[name].as_f64().unwrap_or(f64::NAN);
    assert!((least..=most).contains(&number), "{name} is {number}: {value:#}");
}

/// Checks the summary of each client, for a run of `seconds` on a network with this loss.
fn check(summary: &Value, clients: usize, seconds: f64, loss: [f64; 2], round_trip: [f64; 2]) {
    assert_within(summary, "seconds", seconds, seconds + 1.0);
    assert_within(summary, "raw_bytes", 8000.0, 10_000.0);
    assert_eq!(summary["clients"].as_array().unwrap().len(), clients);
    for (number, client) in summary["clients"].as_array().unwrap().iter().enumerate() {
        assert_eq!(client["client"], number);
        assert_eq!(client["connected"], true, "{client:#}");
        assert_eq!(client["refused"], 0, "{client:#}");
        assert_eq!(client["disagreements"], 0, "{client:#}");
        assert_within(client, "loss", loss[0], loss[1]);
        assert_within(client, "round_trip_ms", round_trip[0], round_trip[1]);
        assert_within(client, "snapshots", 10.0 * seconds, 60.0 * seconds + 1.0);
        assert_within(client, "snapshot_bytes", 20.0, 1300.0);
        assert_within(client, "error_mm", 0.0, 20.0);
        assert_within(client, "missing_inputs", 0.0, 0.3);
        assert_within(client, "corrected", 0.0, 0.9);
        assert_within(client, "down_bytes_per_second", 1000.0, 100_000.0);
        assert_within(client, "up_bytes_per_second", 1000.0, 100_000.0);
    }
}

#[test]
fn four_clients_have_the_world_of_the_server_and_a_recording_has_it_too() {
    let _alone = alone();
    let file = file("demo.pcapng");
    let summary = summary(&["--seconds", "8", "--no-web", "--record", &file]);
    check(&summary, 4, 8.0, [0.008, 0.035], [95.0, 180.0]);
    assert_within(&summary, "ticks", 240.0, 481.0);
    assert_within(&summary, "cpu_us_per_tick", 100.0, 60_000.0);
    check_recording(&file, 4);
    std::fs::remove_file(file).unwrap();
}

#[test]
fn a_terrible_network_delays_worlds_but_keeps_them_correct() {
    let _alone = alone();
    let faults = ["--loss", "20%", "--bursts", "1%,20%,0.5", "--reordering", "10%"];
    let more =
        ["--duplication", "5%", "--corruption", "2%", "--jitter", "40", "--bandwidth", "200000"];
    let rest = ["--seconds", "6", "--no-web", "--level", "packed", "--clients", "2", "--seed", "7"];
    let summary = summary(&[&faults[..], &more, &rest].concat());
    check(&summary, 2, 6.0, [0.1, 0.4], [100.0, 400.0]);
}

#[test]
fn a_demo_that_is_too_short_for_anybody_to_connect_fails() {
    let output = run(&["--seconds", "0.1", "--clients", "2", "--round-trip", "1000", "--no-web"]);
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("bo did not connect in time"), "{errors}");
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(!table.contains("times less"), "{table}");
}

#[test]
fn a_port_in_use_is_reported_with_advice() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let output = run(&["--port", &port.to_string()]);
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains(&format!("port {port} is in use")), "{errors}");
    assert!(errors.contains("--port 0"), "{errors}");
}

#[test]
fn invalid_options_are_refused() {
    for (arguments, said) in [
        (["--loss", "2"], "from 0% to 100%"),
        (["--clients", "0"], "1..=64"),
        (["--clients", "65"], "1..=64"),
        (["--seconds", "0"], "at least 0.1"),
        (["--bursts", "1%"], "three shares"),
        (["--queue", "9"], "--bandwidth"),
    ] {
        let output = run(&arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(said), "{arguments:?}: {errors}");
    }
}

#[derive(Wire, Default)]
struct Snapshot {
    play_header: u16,
    packet: snapshot::SnapshotPacket,
}

/// Fails unless every snapshot in a recording can be read, up to the whole world of each client.
fn check_recording(file: &str, clients: usize) {
    let mut capture = Capture::new(BufReader::new(File::open(file).unwrap())).unwrap();
    let identity = capture.identity().unwrap().clone();
    let protocol = snapshot::Protocol::from_description(capture.snapshots().unwrap()).unwrap();
    let (mut receivers, mut names) = (BTreeMap::new(), BTreeMap::<_, usize>::new());
    while let Some(record) = capture.next_record() {
        let record = record.unwrap();
        let packet = identity.packet_in(record.datagram).unwrap();
        let said = identity.decode(packet).unwrap().to_string();
        let name = said.split(", ").nth(4).unwrap().split(':').next().unwrap().to_string();
        *names.entry(name.clone()).or_default() += 1;
        if name == "tightwire.Snapshot" {
            let snapshot: Snapshot = tightwire::decode(&packet[5..]).unwrap();
            let receiver = receivers
                .entry(record.destination)
                .or_insert_with(|| snapshot::Receiver::new(&protocol));
            receiver.handle_snapshot(&snapshot.packet.bytes).unwrap();
        }
    }
    assert!(names["tightwire.Snapshot"] > 200 && names["tightwire.Input"] > 200, "{names:?}");
    assert_eq!(receivers.len(), clients);
    for receiver in receivers.values() {
        assert_eq!(receiver.objects().count(), 900 + clients);
        assert!(receiver.newest().unwrap().tick > 100);
    }
}

#[test]
fn failing_recordings_are_reported() {
    let output = run(&["--seconds", "1", "--no-web", "--record", "/nowhere/demo.pcapng"]);
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("/nowhere/demo.pcapng: "), "{errors}");
}

/// Requests a path, and returns the response; `None` while the server has none.
fn answer(address: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") || answer.starts_with("HTTP/1.1 503"), "{answer}");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    head.starts_with("HTTP/1.1 200").then(|| body.into())
}

#[cfg(unix)]
#[test]
fn the_page_is_served_until_ctrl_c_ends_everything() {
    let _alone = alone();
    let mut process = demo().args(["--port", "0", "--clients", "2"]).spawn().unwrap();
    let mut errors = process.stderr.take().unwrap();
    let (mut said, mut byte) = (String::new(), [0]);
    while !said.ends_with('\n') {
        errors.read_exact(&mut byte).unwrap();
        said.push(char::from(byte[0]));
    }
    let address = said.trim().rsplit("http://").next().unwrap().to_string();
    assert!(answer(&address, "/").unwrap().contains("<html"));
    let stats = wait_for("the numbers of a snapshot, and of an input", 30, || {
        let stats: Value = serde_json::from_str(&answer(&address, "/stats.json")?).unwrap();
        let is_sent = stats["up"].as_array()?.iter().any(|rate| rate["name"] == "Input");
        (is_sent && !stats["fields"].as_array()?.is_empty()).then_some(stats)
    });
    assert_eq!(stats["clients"], 2);
    assert_within(&stats, "seconds", 0.1, 60.0);
    let names = |list: &str| -> Vec<String> {
        let list = stats[list].as_array().unwrap();
        list.iter().map(|rate| rate["name"].as_str().unwrap().into()).collect()
    };
    assert!(names("down").contains(&"Snapshot".into()), "{stats:#}");
    assert!(names("up").contains(&"Input".into()), "{stats:#}");
    assert!(names("fields").contains(&"Cube.position".into()), "{stats:#}");
    assert_within(&stats, "snapshots_in_flight", 1.0, 60.0);
    let xray = wait_for("an x-ray", 30, || answer(&address, "/xray.json"));
    let xray: Value = serde_json::from_str(&xray).unwrap();
    let spans = xray["spans"].as_array().unwrap();
    assert!(spans.iter().any(|span| span["path"] == "Player[0].position"), "{xray:#}");

    let interrupted = Instant::now();
    let id = process.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = process.wait_with_output().unwrap();
    assert!(interrupted.elapsed() < Duration::from_secs(2), "{:?}", interrupted.elapsed());
    assert!(output.status.success(), "{:?}", output.status);
    assert!(String::from_utf8_lossy(&output.stdout).contains("round trip"));
    assert!(TcpStream::connect(&address).is_err(), "somebody still listens");
}
