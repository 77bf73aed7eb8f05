//! A welcome client that the server does not read at the moment.

use tightwire::quic::QuicConfig;

use super::stand::Stand;
use crate::common::by_hand::{Level, frames};

/// Frames without new data must not take memory, nor make a later call take seconds.
#[test]
fn frames_for_a_paused_peer_take_no_memory_each() {
    for frame in [frames::stream(0, 1, &[], false), frames::stream(0, 1, &[7], false)] {
        let mut stand = Stand::new(QuicConfig::default());
        let (mut peer, connection) = stand.let_in(([10, 0, 0, 2], 1000));
        stand.paused.push(connection);
        peer.send(stand.now, Level::OneRtt, &frames::stream(0, 0, &[2, 1], false));
        stand.run(20, &mut [&mut peer]);
        let before = stand.memory;
        let payload = frame.repeat(16);
        for _ in 0..8_000 {
            for _ in 0..4 {
                peer.send(stand.now, Level::OneRtt, &payload);
            }
            stand.step(&mut [&mut peer]);
        }
        let grown = stand.most_memory - before;
        println!("512,000 frames for a paused peer: {grown} bytes more");
        assert!(grown < 256 << 10, "{grown} bytes for frames that bring nothing");
        assert_eq!(stand.ended, [], "it is not disconnected for repeating itself");
    }
}
