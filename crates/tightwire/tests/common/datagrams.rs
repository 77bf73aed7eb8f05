//! Datagrams to record, and captures read into memory.

use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tightwire::inspect::{Capture, CaptureError, CaptureWriter, Direction};
use tightwire::packet::{Identity, Protection};
use tightwire::schema::Schema;

use super::rng::Rng;

/// A datagram as given to a writer, and as returned by a capture.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Datagram {
    pub(crate) time: Duration,
    pub(crate) direction: Direction,
    pub(crate) local: SocketAddr,
    pub(crate) peer: SocketAddr,
    pub(crate) bytes: Vec<u8>,
}

impl Datagram {
    pub(crate) fn record<W: Write>(&self, recorder: &mut CaptureWriter<W>) {
        let Self { time, direction, local, peer, bytes } = self;
        recorder.record(*time, *direction, *local, *peer, bytes).unwrap();
    }
}

/// Makes random datagrams, among them empty ones and the longest, in both directions and both
/// versions of IP.
pub(crate) fn datagrams(seed: u64, count: usize) -> Vec<Datagram> {
    let mut rng = Rng::new(seed);
    let datagram = |index: usize| {
        let is_v4 = index.is_multiple_of(2);
        let most = if is_v4 { 65_507 } else { 65_527 };
        let length = match index / 4 % 50 {
            0 => 0,
            1 => most,
            2..10 => rng.below(most + 1),
            _ => rng.below(1200),
        };
        Datagram {
            time: Duration::from_nanos(rng.next() >> rng.below(20)),
            direction: if index % 4 < 2 { Direction::Sent } else { Direction::Received },
            local: address(&mut rng, is_v4),
            peer: address(&mut rng, is_v4),
            bytes: (0..length).map(|_| rng.next() as u8).collect(),
        }
    };
    (0..count).map(datagram).collect()
}

fn address(rng: &mut Rng, is_v4: bool) -> SocketAddr {
    let port = rng.next() as u16;
    let high = rng.next();
    match is_v4 {
        true => (Ipv4Addr::from_bits(high as u32), port).into(),
        false => {
            let bits = u128::from(high) << 64 | u128::from(rng.next());
            (Ipv6Addr::from_bits(bits), port).into()
        }
    }
}

/// Makes three short datagrams.
pub(crate) fn small() -> [Datagram; 3] {
    let time = Duration::new(1_700_000_000, 123_456_789);
    let (local, peer): (SocketAddr, SocketAddr) =
        ("10.0.0.1:7777".parse().unwrap(), "10.0.0.2:4242".parse().unwrap());
    let (local_v6, peer_v6) = ("[2001:db8::1]:7777", "[2001:db8::2]:4242");
    let step = Duration::from_nanos(1);
    [
        Datagram { time, direction: Direction::Received, local, peer, bytes: b"fire".to_vec() },
        Datagram {
            time: time + step,
            direction: Direction::Sent,
            local: local_v6.parse().unwrap(),
            peer: peer_v6.parse().unwrap(),
            bytes: b"boom".to_vec(),
        },
        Datagram {
            time: time + 2 * step,
            direction: Direction::Sent,
            local: local_v6.parse().unwrap(),
            peer: peer_v6.parse().unwrap(),
            bytes: Vec::new(),
        },
    ]
}

/// Returns the identity of packets of four bytes, as most of the small datagrams are.
pub(crate) fn tanks(version: &str) -> Identity {
    Identity::new("tanks", version, Protection::None, Schema::of::<[u8; 4]>())
}

pub(crate) fn record(identity: &Identity, datagrams: &[Datagram]) -> Vec<u8> {
    let mut recorder = CaptureWriter::new(Vec::new(), identity).unwrap();
    for datagram in datagrams {
        datagram.record(&mut recorder);
    }
    recorder.finish().unwrap()
}

/// Returns the first identity, the records with a direction, and the result of the reading.
pub(crate) fn read(file: &[u8]) -> (Option<Identity>, Vec<Datagram>, Result<(), CaptureError>) {
    let mut datagrams = Vec::new();
    let mut capture = match Capture::new(file) {
        Ok(capture) => capture,
        Err(error) => return (None, datagrams, Err(error)),
    };
    let identity = capture.identity().cloned();
    let mut end = Ok(());
    while let Some(record) = capture.next_record() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                end = Err(error);
                continue;
            }
        };
        let Some(direction) = record.direction else { continue };
        datagrams.push(Datagram {
            time: record.time,
            direction,
            local: record.local().unwrap(),
            peer: record.peer().unwrap(),
            bytes: record.datagram.to_vec(),
        });
    }
    (identity, datagrams, end)
}
