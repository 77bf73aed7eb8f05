//! Captures of any bytes: read to the end or to the first error, and recorded again.

use std::io::{ErrorKind, Read};
use std::net::SocketAddr;
use std::time::Duration;

use tightwire::inspect::{Capture, CaptureError, CaptureWriter, Direction};
use tightwire::packet::Identity;
use tightwire::snapshot;

/// Checks the whole input as a file.
pub(crate) fn capture(data: &[u8]) {
    check_capture(data);
}

/// A record that outlives its capture.
#[derive(Clone, PartialEq, Debug)]
struct Owned {
    time: Duration,
    direction: Option<Direction>,
    source: SocketAddr,
    destination: SocketAddr,
    datagram: Vec<u8>,
}

/// Everything read until the end, and the reason of the end.
#[derive(PartialEq, Debug)]
struct Whole {
    /// Identity at the beginning of the file.
    identity: Option<Identity>,
    records: Vec<Owned>,
    skipped: u64,
    end: Option<String>,
}

/// Checks any bytes as a capture, and returns the number of its records.
pub(crate) fn check_capture(file: &[u8]) -> usize {
    let whole = read(file, file.len());
    assert_eq!(read(Sips(file), file.len()), whole, "read in small parts");

    let identity = whole.identity.clone().unwrap_or_default();
    let mut recorder = CaptureWriter::new(Vec::new(), &identity).unwrap();
    let mut expected = Vec::new();
    for record in &whole.records {
        if let Ok(packet) = identity.packet_in(&record.datagram) {
            let is_explained = identity.explain(packet).failure().is_none();
            assert_eq!(identity.decode(packet).is_ok(), is_explained);
        }
        let direction = record.direction.unwrap_or(Direction::Sent);
        let (local, peer) = match direction {
            Direction::Sent => (record.source, record.destination),
            Direction::Received => (record.destination, record.source),
        };
        match recorder.record(record.time, direction, local, peer, &record.datagram) {
            Ok(()) => expected.push(Owned { direction: Some(direction), ..record.clone() }),
            Err(refused) => {
                assert_eq!(refused.kind(), ErrorKind::InvalidInput);
                assert!(record.time > Duration::from_nanos(u64::MAX), "{refused}");
            }
        }
    }
    let again = recorder.finish().unwrap();
    let expected = Whole { identity: Some(identity), records: expected, skipped: 0, end: None };
    assert_eq!(read(&again[..], again.len()), expected);
    whole.records.len()
}

fn read<R: Read>(reader: R, length: usize) -> Whole {
    let mut whole = Whole { identity: None, records: Vec::new(), skipped: 0, end: None };
    let mut capture = match Capture::new(reader) {
        Ok(capture) => capture,
        Err(error) => {
            whole.end = Some(reason(&error, length));
            return whole;
        }
    };
    whole.identity = capture.identity().cloned();
    assert!(whole.identity.is_none() || capture.identity_error().is_none());
    while let Some(record) = capture.next_record() {
        assert_eq!(whole.end, None, "nothing follows an error");
        match record {
            Ok(record) => {
                assert_eq!(record.local().is_some(), record.direction.is_some());
                assert_eq!(record.peer().is_some(), record.direction.is_some());
                whole.records.push(Owned {
                    time: record.time,
                    direction: record.direction,
                    source: record.source,
                    destination: record.destination,
                    datagram: record.datagram.to_vec(),
                });
            }
            Err(error) => whole.end = Some(reason(&error, length)),
        }
    }
    assert!(capture.next_record().is_none(), "the end is the end");
    whole.skipped = capture.skipped();
    if let Some(description) = capture.snapshots() {
        assert!(capture.snapshots_error().is_none());
        if let Ok(protocol) = snapshot::Protocol::from_description(description) {
            assert_eq!(protocol.fingerprint(), description.fingerprint());
        }
    }
    // The smallest packet is 16 bytes in a pcap file, or 44 with a datagram.
    assert!(44 * whole.records.len() + 16 * whole.skipped as usize <= length);
    whole
}

fn reason(error: &CaptureError, length: usize) -> String {
    match error {
        CaptureError::Truncated { at } | CaptureError::Malformed { at, .. } => {
            assert!(*at <= length as u64);
        }
        other => panic!("{other}"),
    }
    error.to_string()
}

/// A reader that returns a few bytes at a time.
struct Sips<'a>(&'a [u8]);

impl Read for Sips<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = buffer.len().min(1 + self.0.len() % 7);
        self.0.read(&mut buffer[..most])
    }
}
