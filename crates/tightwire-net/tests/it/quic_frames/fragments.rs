//! Streams in pieces of a byte, with gaps between them.

use std::time::Duration;

use tightwire::quic::QuicConfig;
use tightwire::transport::Reason;

use super::test_bed::{Peer, TestBed};
use crate::common::by_hand::{Level, frames};
use crate::common::volume::volume;

/// Sends pieces of a byte at every second offset, in turn for this many streams.
struct Fragments {
    streams: u64,
    next: u64,
}

impl Fragments {
    fn payload(&mut self, count: usize) -> Vec<u8> {
        let mut payload = Vec::new();
        for _ in 0..count {
            let (index, round) = (self.next % self.streams, self.next / self.streams);
            payload.extend(frames::stream(index, 1 + 2 * round, &[7], false));
            self.next += 1;
        }
        payload
    }
}

/// Returns the peak memory for each peer, and the memory that is left when they have gone.
fn attack(
    test_bed: &mut TestBed,
    peers: &mut [Peer],
    streams: u64,
    per_packet: usize,
) -> (i64, i64) {
    let (before, count) = (test_bed.memory, peers.len() as i64);
    test_bed.most_memory = before;
    let mut all: Vec<_> = peers.iter().map(|_| Fragments { streams, next: 0 }).collect();
    for _ in 0..volume(300, 3000).max(3000 / peers.len()) {
        for (peer, fragments) in peers.iter_mut().zip(&mut all) {
            peer.drive(test_bed.now);
            for _ in 0..3 {
                let payload = fragments.payload(per_packet);
                peer.send(test_bed.now, Level::OneRtt, &payload);
            }
        }
        test_bed.step(&mut []);
    }
    let most = test_bed.most_memory - before;
    // They vanish without a packet.
    test_bed.paused.clear();
    for _ in 0..200 {
        test_bed.now += Duration::from_millis(100);
        test_bed.serve();
    }
    (most / count, (test_bed.memory - before) / count)
}

#[test]
fn memory_of_unauthenticated_fragments_is_bounded_and_freed() {
    for (streams, per_packet) in [(8, 150), (8, 20), (2, 150), (1, 1)] {
        let mut test_bed = TestBed::new(QuicConfig::default());
        let mut peers: Vec<_> =
            (0..30).map(|host| test_bed.connected(([10, 0, 2, host], 1000)).0).collect();
        let (most, left) = attack(&mut test_bed, &mut peers, streams, per_packet);
        println!(
            "strangers, {streams} streams, {per_packet} in a packet: {most} bytes, {left} left"
        );
        assert!(most < 512 << 10, "{most} bytes for a stranger");
        assert!(left < 4096, "{left} bytes are left of each");
    }
}

#[test]
fn too_many_unauthenticated_streams_end_the_connection() {
    let mut test_bed = TestBed::new(QuicConfig::default());
    let (mut peer, _) = test_bed.connected(([10, 0, 0, 2], 1000));
    peer.send(test_bed.now, Level::OneRtt, &frames::stream(8, 0, &[2], false));
    test_bed.run(3, &mut [&mut peer]);
    let [(_, Reason::Failed(text))] = &test_bed.ended[..] else { panic!("{:?}", test_bed.ended) };
    assert!(text.contains("QUIC error 0x4"), "{text}");
    // A welcome peer may have them.
    let (mut peer, connection) = test_bed.admitted(([10, 0, 0, 3], 1000));
    peer.send(test_bed.now, Level::OneRtt, &frames::stream(1000, 0, &[2, 0, 0], true));
    test_bed.run(3, &mut [&mut peer]);
    assert_eq!(test_bed.batches.len(), 1);
    assert_eq!(test_bed.batches[0].0, connection);
}

#[test]
fn a_packet_of_streams_far_ahead_takes_no_memory() {
    for is_admitted in [false, true] {
        let mut test_bed = TestBed::new(QuicConfig::default());
        let (mut peer, _) = match is_admitted {
            true => test_bed.admitted(([10, 0, 0, 2], 1000)),
            false => test_bed.connected(([10, 0, 0, 2], 1000)),
        };
        let before = test_bed.memory;
        let ahead = |at: u64| frames::stream(100_000 * at, 0, &[2], true);
        let payload: Vec<u8> = (1..=120).flat_map(ahead).collect();
        peer.send(test_bed.now, Level::OneRtt, &payload);
        let memory = allocation_counter::measure(|| test_bed.run(3, &mut [&mut peer]));
        println!("streams far ahead: {} bytes at most, let in: {is_admitted}", memory.bytes_max);
        assert!(memory.bytes_max < 256 << 10, "{} bytes", memory.bytes_max);
        assert!(test_bed.memory - before < 64 << 10, "{} bytes", test_bed.memory - before);
        assert!(matches!(&test_bed.ended[..], [(_, Reason::Failed(_))]), "{:?}", test_bed.ended);
    }
}

#[test]
fn memory_of_an_authenticated_peer_is_bounded_and_freed() {
    let config = QuicConfig::default();
    let documented = i64::from(config.receive_window) * 5 / 2 + (1 << 20) + 2 * 1024 * 1600;
    for (streams, per_packet) in [(1020, 150), (1020, 10), (60, 150), (2, 150), (2, 1)] {
        for is_paused in [false, true] {
            let mut test_bed = TestBed::new(config);
            let (peer, connection) = test_bed.admitted(([10, 0, 0, 2], 1000));
            if is_paused {
                test_bed.paused.push(connection);
            }
            let (most, left) = attack(&mut test_bed, &mut [peer], streams, per_packet);
            println!(
                "let in, {streams} streams, {per_packet} in a packet, paused: {is_paused}: {most} \
                 bytes, {left} left, {:?}",
                test_bed.ended,
            );
            assert!(most < documented, "{most} bytes, where {documented} are documented");
            assert!(left < 4096, "{left} bytes are left");
        }
    }
}
