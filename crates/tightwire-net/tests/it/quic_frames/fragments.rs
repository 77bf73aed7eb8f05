//! Streams in pieces of a byte, with gaps between them.

use std::time::Duration;

use tightwire::quic::QuicConfig;
use tightwire::transport::Reason;

use super::stand::{Peer, Stand};
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
fn attack(stand: &mut Stand, peers: &mut [Peer], streams: u64, per_packet: usize) -> (i64, i64) {
    let (before, count) = (stand.memory, peers.len() as i64);
    stand.most_memory = before;
    let mut all: Vec<_> = peers.iter().map(|_| Fragments { streams, next: 0 }).collect();
    for _ in 0..volume(300, 3000).max(3000 / peers.len()) {
        for (peer, fragments) in peers.iter_mut().zip(&mut all) {
            peer.drive(stand.now);
            for _ in 0..3 {
                let payload = fragments.payload(per_packet);
                peer.send(stand.now, Level::OneRtt, &payload);
            }
        }
        stand.step(&mut []);
    }
    let most = stand.most_memory - before;
    // They vanish without a packet.
    stand.paused.clear();
    for _ in 0..200 {
        stand.now += Duration::from_millis(100);
        stand.serve();
    }
    (most / count, (stand.memory - before) / count)
}

#[test]
fn the_memory_of_strangers_who_send_fragments_is_small_and_returned() {
    for (streams, per_packet) in [(8, 150), (8, 20), (2, 150), (1, 1)] {
        let mut stand = Stand::new(QuicConfig::default());
        let mut peers: Vec<_> =
            (0..30).map(|host| stand.connected(([10, 0, 2, host], 1000)).0).collect();
        let (most, left) = attack(&mut stand, &mut peers, streams, per_packet);
        println!(
            "strangers, {streams} streams, {per_packet} in a packet: {most} bytes, {left} left"
        );
        assert!(most < 512 << 10, "{most} bytes for a stranger");
        assert!(left < 4096, "{left} bytes are left of each");
    }
}

#[test]
fn more_streams_than_a_stranger_needs_end_its_connection() {
    let mut stand = Stand::new(QuicConfig::default());
    let (mut peer, _) = stand.connected(([10, 0, 0, 2], 1000));
    peer.send(stand.now, Level::OneRtt, &frames::stream(8, 0, &[2], false));
    stand.run(3, &mut [&mut peer]);
    let [(_, Reason::Failed(text))] = &stand.ended[..] else { panic!("{:?}", stand.ended) };
    assert!(text.contains("QUIC error 0x4"), "{text}");
    // A welcome peer may have them.
    let (mut peer, connection) = stand.let_in(([10, 0, 0, 3], 1000));
    peer.send(stand.now, Level::OneRtt, &frames::stream(1000, 0, &[2, 0, 0], true));
    stand.run(3, &mut [&mut peer]);
    assert_eq!(stand.batches.len(), 1);
    assert_eq!(stand.batches[0].0, connection);
}

#[test]
fn the_memory_of_one_that_was_let_in_is_as_documented_and_returned() {
    let config = QuicConfig::default();
    let documented = i64::from(config.receive_window) * 5 / 2 + (1 << 20) + 2 * 1024 * 1600;
    for (streams, per_packet) in [(1020, 150), (1020, 10), (60, 150), (2, 150), (2, 1)] {
        for is_paused in [false, true] {
            let mut stand = Stand::new(config);
            let (peer, connection) = stand.let_in(([10, 0, 0, 2], 1000));
            if is_paused {
                stand.paused.push(connection);
            }
            let (most, left) = attack(&mut stand, &mut [peer], streams, per_packet);
            println!(
                "let in, {streams} streams, {per_packet} in a packet, paused: {is_paused}: {most} \
                 bytes, {left} left, {:?}",
                stand.ended,
            );
            assert!(most < documented, "{most} bytes, where {documented} are documented");
            assert!(left < 4096, "{left} bytes are left");
        }
    }
}
