//! Updates of the keys of packets (RFC 9001, 6), by a peer that updates with each packet.

use std::time::Duration;

use tightwire::quic::QuicConfig;
use tightwire::transport::Reason;

use super::test_bed::TestBed;
use crate::common::by_hand::{Level, frames};

#[test]
fn keys_by_hand_are_updated() {
    let mut test_bed = TestBed::new(QuicConfig::default());
    let (mut peer, _) = test_bed.admitted(([10, 0, 0, 2], 1000));
    for number in 0..5 {
        peer.update_keys();
        peer.send(test_bed.now, Level::OneRtt, &frames::datagram(&[0, 1, 0, number]));
        test_bed.run(50, &mut [&mut peer]);
    }
    let numbers: Vec<_> = test_bed.batches.iter().map(|(_, _, batch)| batch[2]).collect();
    assert_eq!((numbers, test_bed.ended.len()), (vec![0, 1, 2, 3, 4], 0));
}

#[test]
fn two_key_updates_in_one_input_end_the_connection() {
    let mut test_bed = TestBed::new(QuicConfig::default());
    let (mut peer, connection) = test_bed.admitted(([10, 0, 0, 2], 1000));
    for _ in 0..2 {
        peer.update_keys();
        peer.send(test_bed.now, Level::OneRtt, &frames::ping());
    }
    test_bed.run(3, &mut [&mut peer]);
    let [(ended, Reason::Failed(text))] = &test_bed.ended[..] else {
        panic!("{:?}", test_bed.ended)
    };
    assert!(*ended == connection && text.contains("KEY_UPDATE_ERROR"), "{text}");
}

/// A new key takes as long as several packets, so that it counts for as many. QUIC allows one for each
/// packet of the other side.
#[test]
fn key_updates_count_against_the_packet_limit() {
    for is_updating in [false, true] {
        let mut test_bed = TestBed::new(QuicConfig::default());
        let (mut peer, _) = test_bed.admitted(([10, 0, 0, 2], 1000));
        let (mut received, mut updates) = (0, 0);
        for _ in 0..3000 {
            test_bed.now += Duration::from_millis(1);
            peer.drive(test_bed.now);
            if is_updating && peer.received() > received {
                peer.update_keys();
                received = peer.received();
                updates += 1;
            }
            // Below the limit of 4000 a second, with one ack for three of them.
            for _ in 0..2 {
                peer.send(test_bed.now, Level::OneRtt, &frames::ping());
            }
            test_bed.serve();
        }
        let dropped = test_bed.server.flooded();
        println!("{updates} key updates in 3 s: {dropped} of 6000 packets dropped unread");
        assert_eq!((dropped > 0, &test_bed.ended[..]), (is_updating, &[][..]));
        assert!(!is_updating || updates > 1000, "{updates}");
    }
}
