//! Speed and memory of totals.

use std::fs::File;
use std::io::BufWriter;
use std::ops::ControlFlow;
use std::path::Path;

use tightwire::inspect::{Capture, CaptureError, CaptureWriter};

use super::super::capture_identity::CaptureIdentity;
use super::super::input::CaptureInput;
use super::super::reading::Reading;
use super::super::survey::Survey;
use super::game::{Packet, encoded, identity, record};

/// `TIGHTWIRE_CAPTURE_MB=1000 cargo test --release -p tightwire-cli speed -- --ignored --nocapture`
#[test]
#[ignore = "writes a large file; the figure is for release builds"]
fn totals_of_a_large_capture_are_counted_at_50_megabytes_a_second() {
    let megabytes = std::env::var("TIGHTWIRE_CAPTURE_MB").map_or(300, |text| text.parse().unwrap());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/large.pcapng");
    let writer = BufWriter::new(File::create(&file).unwrap());
    let mut recorder = CaptureWriter::new(writer, &identity()).unwrap();
    // The same thousand packets again and again: encoding takes longer than reading.
    let some: Vec<_> = (0..1000).map(|number| encoded(Packet::at(number))).collect();
    let mut written = 0u64;
    while written < megabytes * 1_000_000 {
        record(&mut recorder, some.iter().cloned());
        written += some.iter().map(|datagram| datagram.len() as u64 + 76).sum::<u64>();
    }
    drop(recorder.finish().unwrap());

    let (before, began) = (resident(), busy());
    let input = CaptureInput::open(&file).unwrap();
    let progress = input.progress();
    let capture = Capture::new(input).unwrap();
    let mut reading = Reading::new(capture, CaptureIdentity::of_identity(identity()), None);
    let mut survey = Survey::new(3);
    reading
        .each::<CaptureError>(|seen| {
            survey.add(&seen);
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    // Processor time, since other processes may share the core.
    let (busy, grown) = (busy() - began, resident().saturating_sub(before));
    let speed = std::fs::metadata(&file).unwrap().len() as f64 / 1e6 / busy;
    println!(
        "{} packets, {written} bytes: {speed:.0} MB/s of a core, {:.0} MB/s by the clock, {} KiB more memory",
        survey.packets,
        progress.speed() / 1e6,
        grown / 1024
    );
    let _ = std::fs::remove_file(&file);
    assert_eq!(survey.refused, 0);
    assert!(speed >= 50.0 || cfg!(debug_assertions), "{speed} MB/s");
    assert!(grown < 8 << 20, "{grown} bytes");
}

/// Returns the processor time of this process in seconds.
fn busy() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let numbers: Vec<&str> = text.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks = |place: usize| numbers[place].parse::<f64>().unwrap();
    (ticks(11) + ticks(12)) / 100.0
}

/// Returns the resident memory of this process in bytes; 0 where the system does not report it.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}
