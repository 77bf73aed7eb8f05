//! Peers that withhold acks, and stay by sending other packets.

use std::time::Duration;

use tightwire::Delivery;
use tightwire::quic::QuicConfig;
use tightwire::transport::Reason;

use super::test_bed::TestBed;
use crate::common::by_hand::{Level, frames};

/// The packets that a peer acks.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Acks {
    All,
    None,
    /// The oldest one that is not acked, once a second.
    Oldest,
}

/// Returns how long a peer stays, of two minutes, and the memory that it takes at the most.
fn stay(acks: Acks) -> (Duration, i64, Option<Reason>) {
    let mut test_bed = TestBed::new(QuicConfig::default());
    let (mut peer, connection) = test_bed.admitted(([10, 0, 0, 2], 1000));
    peer.acknowledges = acks == Acks::All;
    let (before, begin) = (test_bed.memory, test_bed.now);
    let mut acked = 0;
    for number in 0..12_000_u32 {
        test_bed.now += Duration::from_millis(10);
        peer.drive(test_bed.now);
        if number % 10 == 0 {
            peer.send(test_bed.now, Level::OneRtt, &frames::ping());
        }
        if number % 100 == 0 {
            // Refused while the backlog of a peer that acks nothing is full.
            let _ = test_bed.send(connection, Delivery::Unreliable, &[0; 100]);
            if acks == Acks::Oldest {
                peer.send(test_bed.now, Level::OneRtt, &frames::ack(acked, 0, &[]));
                acked += 1;
            }
        }
        test_bed.serve();
        if let Some((_, reason)) = test_bed.ended.first() {
            return (test_bed.now - begin, test_bed.most_memory - before, Some(reason.clone()));
        }
    }
    (test_bed.now - begin, test_bed.most_memory - before, None)
}

#[test]
fn peers_that_ack_no_probe_are_disconnected() {
    let (time, memory, reason) = stay(Acks::All);
    println!("all acks: {time:?}, {memory} bytes");
    assert_eq!(reason, None);
    for acks in [Acks::None, Acks::Oldest] {
        let (time, memory, reason) = stay(acks);
        println!("{acks:?}: {time:?}, {memory} bytes");
        assert_eq!(reason, Some(Reason::violation("packets are not acknowledged")), "{acks:?}");
        assert!(time < Duration::from_secs(70), "{time:?}");
        assert!(memory < 300_000, "{memory}");
    }
}
