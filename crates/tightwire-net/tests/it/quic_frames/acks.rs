//! Peers that withhold acks, and stay by sending other packets.

use std::time::Duration;

use tightwire::Delivery;
use tightwire::quic::QuicConfig;
use tightwire::transport::{Reason, Transport};

use super::test_bed::TestBed;
use crate::common::by_hand::{Level, frames};

/// The packets that a peer acks.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Acks {
    None,
    /// The oldest one that is not acked, once a second.
    Oldest,
}

const STEP: Duration = Duration::from_millis(10);

#[test]
fn withheld_acks_take_little_memory() {
    for acks in [Acks::None, Acks::Oldest] {
        let mut test_bed = TestBed::new(QuicConfig::default());
        let (mut peer, connection) = test_bed.admitted(([10, 0, 0, 2], 1000));
        peer.acknowledges = false;
        let (before, begin) = (test_bed.memory, test_bed.now);
        let (mut frame, mut next) = (0, 0);
        while test_bed.ended.is_empty() && test_bed.now < Duration::from_secs(400) {
            test_bed.now += STEP;
            peer.drive(test_bed.now);
            if frame % 10 == 0 {
                peer.send(test_bed.now, Level::OneRtt, &frames::ping());
            }
            if frame % 100 == 0 {
                // Refused once the window is full.
                let _ = test_bed.send(connection, Delivery::Unreliable, &[0; 100]);
                if acks == Acks::Oldest
                    && let Some(oldest) = peer.received_from(next)
                {
                    peer.send(test_bed.now, Level::OneRtt, &frames::ack(oldest, 0, &[]));
                    next = oldest + 1;
                }
            }
            frame += 1;
            test_bed.serve();
        }
        let (time, memory) = (test_bed.now - begin, test_bed.most_memory - before);
        println!("acks {acks:?}: {time:?}, {memory} bytes");
        assert!(memory < 600_000, "{memory}");
        if acks == Acks::None {
            let reason = Reason::violation("packets are not acknowledged");
            assert_eq!(test_bed.ended, [(connection, reason)]);
            assert!(time < Duration::from_secs(70), "{time:?}");
        }
    }
}

#[test]
fn peers_that_ack_stay() {
    let mut test_bed = TestBed::new(QuicConfig::default());
    let address = ([10, 0, 0, 3], 1000).into();
    let mut client = test_bed.honest(address);
    for frame in 0..12_000_u32 {
        test_bed.now += STEP;
        client.handle_input(test_bed.now);
        while client.poll_event().is_some() {}
        client.handle_output(test_bed.now);
        if frame % 100 == 0
            && let Some(connection) = test_bed.connections.get(&address)
        {
            let connection = *connection;
            test_bed.server.welcome(connection);
            test_bed.send(connection, Delivery::Unreliable, &[0; 100]).unwrap();
        }
        test_bed.serve();
    }
    assert_eq!((test_bed.connections.len(), &test_bed.ended[..]), (1, &[][..]));
}
