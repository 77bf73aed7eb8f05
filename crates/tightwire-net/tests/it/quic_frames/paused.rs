//! A welcome client that the server does not read at the moment.

use tightwire::quic::QuicConfig;

use super::test_bed::TestBed;
use crate::common::by_hand::{Level, frames};

/// Frames without new data must not take memory, nor make a later call take seconds.
#[test]
fn frames_for_a_paused_peer_take_no_memory_each() {
    for frame in [frames::stream(0, 1, &[], false), frames::stream(0, 1, &[7], false)] {
        let mut test_bed = TestBed::new(QuicConfig::default());
        let (mut peer, connection) = test_bed.admitted(([10, 0, 0, 2], 1000));
        test_bed.paused.push(connection);
        peer.send(test_bed.now, Level::OneRtt, &frames::stream(0, 0, &[2, 1], false));
        test_bed.run(20, &mut [&mut peer]);
        let before = test_bed.memory;
        let payload = frame.repeat(16);
        for _ in 0..8_000 {
            for _ in 0..4 {
                peer.send(test_bed.now, Level::OneRtt, &payload);
            }
            test_bed.step(&mut [&mut peer]);
        }
        let grown = test_bed.most_memory - before;
        println!("512,000 frames for a paused peer: {grown} bytes more");
        assert!(grown < 256 << 10, "{grown} bytes for frames that bring nothing");
        assert_eq!(test_bed.ended, [], "it is not disconnected for repeating itself");
    }
}
