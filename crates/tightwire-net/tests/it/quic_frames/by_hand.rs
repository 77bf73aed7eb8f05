//! The hand-written peer speaks QUIC as the server does, or its floods would prove nothing.

use tightwire::Delivery;
use tightwire::quic::QuicConfig;
use tightwire::transport::{Reason, Transport};

use super::test_bed::TestBed;
use crate::common::by_hand::{Level, frames};

#[test]
fn frames_by_hand_arrive() {
    let mut test_bed = TestBed::new(QuicConfig::default());
    let (mut peer, connection) = test_bed.connected(([10, 0, 0, 2], 1000));
    // The second half of a batch before the first, and one in a datagram.
    peer.send(test_bed.now, Level::OneRtt, &frames::stream(0, 2, &[0, 7], true));
    peer.send(test_bed.now, Level::OneRtt, &frames::datagram(&[0, 1, 0, 9]));
    test_bed.run(2, &mut [&mut peer]);
    assert_eq!(test_bed.batches, [(connection, Delivery::Unreliable, vec![1, 0, 9])]);
    peer.send(test_bed.now, Level::OneRtt, &frames::stream(0, 0, &[2, 1], false));
    test_bed.run(2, &mut [&mut peer]);
    assert_eq!(test_bed.batches[1], (connection, Delivery::Reliable, vec![1, 0, 7]));
    // And in the other direction.
    test_bed.server.send(connection, Delivery::ReliableOrdered, &[2, 0, 5, 6]).unwrap();
    test_bed.run(2, &mut [&mut peer]);
    assert_eq!(peer.streams.values().collect::<Vec<_>>(), [&[3, 2, 0, 5, 6]]);
    assert_eq!((peer.closed, test_bed.ended.len()), (None, 0));
}

#[test]
fn a_peer_by_hand_shows_where_it_is_if_it_is_asked_to() {
    let mut test_bed = TestBed::new(QuicConfig { max_handshakes: 0, ..QuicConfig::default() });
    let (mut peer, _) = test_bed.connected(([10, 0, 0, 2], 1000));
    test_bed.run(3000, &mut [&mut peer]);
    assert_eq!((peer.closed, test_bed.ended.len()), (None, 0), "it answers and stays");
}

#[test]
fn frames_that_there_are_not_end_the_connection() {
    for payload in [&[0x21][..], &[0x40, 0x21], &[]] {
        let mut test_bed = TestBed::new(QuicConfig::default());
        let (mut peer, connection) = test_bed.connected(([10, 0, 0, 2], 1000));
        peer.send(test_bed.now, Level::OneRtt, payload);
        test_bed.run(3, &mut [&mut peer]);
        let [(ended, reason)] = &test_bed.ended[..] else { panic!("{:?}", test_bed.ended) };
        assert_eq!(*ended, connection);
        if payload.is_empty() {
            assert!(matches!(reason, Reason::Failed(text) if text.contains("QUIC error")));
        } else {
            assert_eq!(*reason, Reason::violation("unknown frame type"));
            assert_eq!(
                peer.close_reason().as_ref(),
                Some(reason),
                "both ends have the same reason"
            );
        }
    }
}
