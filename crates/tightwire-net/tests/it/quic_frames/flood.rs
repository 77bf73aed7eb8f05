//! A flood, and one who is honest meanwhile.

use std::time::Duration;

use tightwire::Delivery;
use tightwire::transport::{Event, Transport};

use super::test_bed::{Peer, TestBed};
use crate::common::by_hand::Level;

/// Results of an honest client during a flood: the latest arrival of its batches, and the most
/// frames that the server read in a call.
pub(crate) struct Found {
    pub(crate) latest: Duration,
    pub(crate) arrived: u32,
    pub(crate) most_frames: u64,
    pub(crate) frames: u64,
    /// The bytes that the server took at most, more than before.
    pub(crate) memory: i64,
}

pub(crate) fn flood(
    test_bed: &mut TestBed,
    peers: &mut [Peer],
    milliseconds: u32,
    payload: &mut dyn FnMut() -> Vec<u8>,
) -> Found {
    let mut client = test_bed.honest(([10, 0, 1, 1], 1000));
    let mut here = None;
    for _ in 0..100 {
        test_bed.now += Duration::from_millis(1);
        client.handle_input(test_bed.now);
        while let Some(event) = client.poll_event() {
            if let Event::Connected { connection, .. } = event {
                here = Some(connection);
            }
        }
        client.handle_output(test_bed.now);
        test_bed.serve();
    }
    let here = here.expect("the honest client is connected");
    let there = test_bed.connections[&([10, 0, 1, 1], 1000).into()];
    test_bed.server.welcome(there);
    let start = test_bed.server.frames_read();
    let before = test_bed.memory;
    test_bed.most_memory = before;
    let mut found =
        Found { latest: Duration::ZERO, arrived: 0, most_frames: 0, frames: 0, memory: 0 };
    for millisecond in 0..milliseconds {
        test_bed.now += Duration::from_millis(1);
        for peer in peers.iter_mut() {
            peer.drive(test_bed.now);
            for _ in 0..4 {
                peer.send(test_bed.now, Level::OneRtt, &payload());
            }
        }
        if millisecond % 16 == 0 {
            let sent = (test_bed.now.as_nanos() as u64).to_le_bytes();
            let batch = [&[8, 0][..], &sent].concat();
            client.send(here, Delivery::Unreliable, &batch).unwrap();
        }
        client.handle_output(test_bed.now);
        let read = test_bed.server.frames_read();
        test_bed.serve();
        found.most_frames = found.most_frames.max(test_bed.server.frames_read() - read);
        for (_, _, batch) in test_bed.batches.drain(..).filter(|(from, ..)| *from == there) {
            let sent = Duration::from_nanos(u64::from_le_bytes(batch[2..].try_into().unwrap()));
            found.latest = found.latest.max(test_bed.now - sent);
            found.arrived += 1;
        }
        client.handle_input(test_bed.now);
        while client.poll_event().is_some() {}
    }
    found.frames = test_bed.server.frames_read() - start;
    found.memory = test_bed.most_memory - before;
    found
}
