//! Unauthenticated peers that send as much as they can, as costly as they can.

use std::time::Duration;

use tightwire::quic::QuicConfig;
use tightwire::transport::Reason;

use super::flood::flood;
use super::test_bed::TestBed;
use crate::common::by_hand::frames;

#[test]
fn unauthenticated_peers_with_packed_frames_are_disconnected() {
    for count in [5, 20, 60] {
        let mut test_bed = TestBed::new(QuicConfig::default());
        let mut peers: Vec<_> =
            (0..count).map(|host| test_bed.connected(([10, 0, 2, host], 1000)).0).collect();
        let empty = frames::stream(0, 0, &[], false);
        let found = flood(&mut test_bed, &mut peers, 1000, &mut || frames::packed(&empty));
        println!(
            "{count} strangers: {} frames in a call at most, {} in all",
            found.most_frames, found.frames
        );
        assert_eq!((found.arrived, found.latest), (63, Duration::ZERO));
        assert!(found.most_frames < 10 + 2 * u64::from(count), "{}", found.most_frames);
        let reason = Reason::violation("too many control frames in a packet");
        assert_eq!(test_bed.ended.len(), usize::from(count));
        assert!(test_bed.ended.iter().all(|(_, ended)| *ended == reason), "{:?}", test_bed.ended);
        assert!(peers.iter().all(|peer| peer.close_reason().as_ref() == Some(&reason)));
    }
}

/// Frames that an honest peer could send, as many as fit: they count against its limit.
#[test]
fn frames_of_unauthenticated_peers_are_limited() {
    let mut test_bed = TestBed::new(QuicConfig::default());
    let mut peers: Vec<_> =
        (0..20).map(|host| test_bed.connected(([10, 0, 2, host], 1000)).0).collect();
    let full = frames::datagram(&[0, 0, 0]).repeat(200);
    let found = flood(&mut test_bed, &mut peers, 2000, &mut || full.clone());
    println!("{} frames in a call at most, {} in all", found.most_frames, found.frames);
    assert_eq!((found.arrived, found.latest), (125, Duration::ZERO));
    // An unauthenticated peer has 100 packets at once and 50 in a second, and a packet of 200
    // frames counts as 7.
    let each = 2 * (100 + 2 * 50) * 200 / 7;
    assert!(found.frames < 20 * each + 1000, "{}", found.frames);
    assert!(found.most_frames < 20 * 4 * 200 + 100, "{}", found.most_frames);
}
