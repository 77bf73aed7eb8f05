//! Inputs that have room for few packets, shared by one that floods and others.

use std::time::Duration;

use tightwire::Delivery;
use tightwire::quic::{Quic, QuicConfig, SimulatedSocket};
use tightwire::transport::{Connection, Event, Transport};

use super::test_bed::TestBed;
use crate::common::by_hand::{Level, frames};

/// An honest client that was admitted.
struct Client {
    end: Quic<SimulatedSocket>,
    here: Connection,
    there: Connection,
}

fn admitted(test_bed: &mut TestBed, host: u8) -> Client {
    let address = ([10, 0, 1, host], 1000);
    let mut end = test_bed.honest(address);
    let mut here = None;
    for _ in 0..100 {
        test_bed.now += Duration::from_millis(1);
        end.handle_input(test_bed.now);
        while let Some(event) = end.poll_event() {
            if let Event::Connected { connection, .. } = event {
                here = Some(connection);
            }
        }
        end.handle_output(test_bed.now);
        test_bed.serve();
    }
    let there = test_bed.connections[&address.into()];
    test_bed.server.welcome(there);
    Client { end, here: here.expect("the honest client is connected"), there }
}

/// The flood comes first in the socket each time, and is more than an input has room for until the
/// rate limit of its connection holds.
#[test]
fn one_that_floods_leaves_the_others_their_share_of_an_input() {
    let config = QuicConfig { packets_per_input: 64, ..QuicConfig::default() };
    let mut test_bed = TestBed::new(config);
    let mut clients: Vec<_> = (1..=4).map(|host| admitted(&mut test_bed, host)).collect();
    let (mut peer, flooding) = test_bed.admitted(([10, 0, 0, 2], 1000));
    test_bed.batches.clear();
    let (mut sent, mut arrived, mut latest) = (0, 0, Duration::ZERO);
    for millisecond in 0..1000 {
        test_bed.now += Duration::from_millis(1);
        peer.drive(test_bed.now);
        for _ in 0..200 {
            peer.send(test_bed.now, Level::OneRtt, &frames::ping());
        }
        for (place, client) in clients.iter_mut().enumerate() {
            client.end.handle_input(test_bed.now);
            while client.end.poll_event().is_some() {}
            if millisecond % 16 == 4 * place {
                let now = (test_bed.now.as_nanos() as u64).to_le_bytes();
                let batch = [&[8, 0][..], &now].concat();
                client.end.send(client.here, Delivery::Unreliable, &batch).unwrap();
                sent += 1;
            }
            client.end.handle_output(test_bed.now);
        }
        test_bed.serve();
        for (from, _, batch) in std::mem::take(&mut test_bed.batches) {
            assert!(clients.iter().any(|client| client.there == from));
            let at = Duration::from_nanos(u64::from_le_bytes(batch[2..].try_into().unwrap()));
            latest = latest.max(test_bed.now - at);
            arrived += 1;
        }
    }
    println!("{arrived} of {sent} arrived, the latest after {latest:?}");
    assert_eq!((arrived, &test_bed.ended[..]), (sent, &[][..]));
    assert!(latest <= Duration::from_millis(1), "in the same input or the next: {latest:?}");
    // The connection that floods is served too, up to its limit.
    assert!(test_bed.server.path(flooding).unwrap().packets_received > 4000);
}
