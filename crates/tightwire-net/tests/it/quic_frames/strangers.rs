//! Strangers who send as much as they can, as costly as they can.

use std::time::Duration;

use tightwire::Delivery;
use tightwire::quic::QuicConfig;
use tightwire::transport::{Event, Reason, Transport};

use super::stand::{Peer, Stand};
use crate::common::by_hand::{Level, frames};

/// An honest client that was let in, and strangers: how late its batches come, and the most frames that
/// the server read in a call.
struct Found {
    latest: Duration,
    arrived: u32,
    most_frames: u64,
    frames: u64,
}

fn flood(stand: &mut Stand, peers: &mut [Peer], milliseconds: u32, payload: &[u8]) -> Found {
    let mut client = stand.honest(([10, 0, 1, 1], 1000));
    let mut here = None;
    for _ in 0..100 {
        stand.now += Duration::from_millis(1);
        client.handle_input(stand.now);
        while let Some(event) = client.poll_event() {
            if let Event::Connected { connection, .. } = event {
                here = Some(connection);
            }
        }
        client.handle_output(stand.now);
        stand.serve();
    }
    let here = here.expect("the honest client is connected");
    let there = stand.connections[&([10, 0, 1, 1], 1000).into()];
    stand.server.welcome(there);
    let start = stand.server.frames_read();
    let mut found = Found { latest: Duration::ZERO, arrived: 0, most_frames: 0, frames: 0 };
    for millisecond in 0..milliseconds {
        stand.now += Duration::from_millis(1);
        for peer in peers.iter_mut() {
            peer.drive(stand.now);
            for _ in 0..4 {
                peer.send(stand.now, Level::OneRtt, payload);
            }
        }
        if millisecond % 16 == 0 {
            let sent = (stand.now.as_nanos() as u64).to_le_bytes();
            let batch = [&[8, 0][..], &sent].concat();
            client.send(here, Delivery::Unreliable, &batch).unwrap();
        }
        client.handle_output(stand.now);
        let before = stand.server.frames_read();
        stand.serve();
        found.most_frames = found.most_frames.max(stand.server.frames_read() - before);
        for (_, _, batch) in stand.batches.drain(..).filter(|(from, ..)| *from == there) {
            let sent = Duration::from_nanos(u64::from_le_bytes(batch[2..].try_into().unwrap()));
            found.latest = found.latest.max(stand.now - sent);
            found.arrived += 1;
        }
        client.handle_input(stand.now);
        while client.poll_event().is_some() {}
    }
    found.frames = stand.server.frames_read() - start;
    found
}

#[test]
fn strangers_with_packed_frames_are_disconnected_and_nobody_notices() {
    for count in [5, 20, 60] {
        let mut stand = Stand::new(QuicConfig::default());
        let mut peers: Vec<_> =
            (0..count).map(|port| stand.connected(([10, 0, 0, 2], 1000 + port)).0).collect();
        let empty = frames::stream(0, 0, &[], false);
        let found = flood(&mut stand, &mut peers, 1000, &empty.repeat(1150 / empty.len()));
        println!(
            "{count} strangers: {} frames in a call at most, {} in all",
            found.most_frames, found.frames
        );
        assert_eq!((found.arrived, found.latest), (63, Duration::ZERO));
        assert!(found.most_frames < 10 + 2 * u64::from(count), "{}", found.most_frames);
        let reason = Reason::violation("too many control frames in a packet");
        assert_eq!(stand.ended.len(), usize::from(count));
        assert!(stand.ended.iter().all(|(_, ended)| *ended == reason), "{:?}", stand.ended);
        assert!(peers.iter().all(|peer| peer.told().as_ref() == Some(&reason)));
    }
}

/// Frames that an honest peer could send, as many as fit: they are paid for.
#[test]
fn the_frames_of_strangers_have_a_limit_in_each_second_and_call() {
    let mut stand = Stand::new(QuicConfig::default());
    let mut peers: Vec<_> =
        (0..20).map(|port| stand.connected(([10, 0, 0, 2], 1000 + port)).0).collect();
    let full = frames::datagram(&[0, 0, 0]).repeat(200);
    let found = flood(&mut stand, &mut peers, 2000, &full);
    println!("{} frames in a call at most, {} in all", found.most_frames, found.frames);
    assert_eq!((found.arrived, found.latest), (125, Duration::ZERO));
    // A stranger has 100 packets at once and 50 in a second, and a packet of 200 frames is as 7.
    let each = 2 * (100 + 2 * 50) * 200 / 7;
    assert!(found.frames < 20 * each + 1000, "{}", found.frames);
    assert!(found.most_frames < 20 * 4 * 200 + 100, "{}", found.most_frames);
}
