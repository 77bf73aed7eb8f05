//! Limits by address, against those who claim the addresses of others, or have many.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tightwire::Delivery;
use tightwire::quic::{Packets, Quic, QuicConfig, SimulatedSocket, Socket};
use tightwire::transport::{Connection, Transport};
use tightwire::transport::{Event, Reason};

use super::test_bed::{Peer, SERVER, TestBed};
use crate::common::by_hand::{Level, frames};

/// Sends bytes from an address that is somebody else's.
pub(super) fn forge(test_bed: &TestBed, from: SocketAddr, bytes: &[u8]) {
    let size = bytes.len();
    let packets = Packets { to: SERVER.into(), from: None, congestion: 0, bytes, size };
    test_bed.network.socket(from).send(test_bed.now, &packets);
}

/// Whether an honest client gets in from here within two seconds.
pub(super) fn connects(
    test_bed: &mut TestBed,
    address: SocketAddr,
) -> Option<(Quic<SimulatedSocket>, Connection)> {
    let mut client = test_bed.honest(address);
    for _ in 0..400 {
        test_bed.now += Duration::from_millis(5);
        client.handle_input(test_bed.now);
        while let Some(event) = client.poll_event() {
            match event {
                Event::Connected { connection, .. } => return Some((client, connection)),
                Event::Disconnected { reason, .. } => {
                    println!("{address}: {reason}");
                    return None;
                }
                _ => {}
            }
        }
        client.handle_output(test_bed.now);
        test_bed.serve();
    }
    None
}

#[test]
fn spoofed_addresses_do_not_use_up_a_victims_limits() {
    for is_admitted in [false, true] {
        let mut test_bed = TestBed::new(QuicConfig::default());
        let victim = SocketAddr::from(([10, 9, 9, 9], 1000));
        let (mut client, here) = connects(&mut test_bed, victim).unwrap();
        client.handle_output(test_bed.now);
        test_bed.serve();
        test_bed.server.welcome(test_bed.connections[&victim]);
        let address = ([10, 0, 0, 2], 1000);
        let (mut peer, _) =
            if is_admitted { test_bed.admitted(address) } else { test_bed.connected(address) };
        test_bed.batches.clear();
        let mut sent = 0;
        for millisecond in 0..5000 {
            test_bed.now += Duration::from_millis(1);
            for _ in 0..20 {
                let bytes = peer.packet(Level::OneRtt, &frames::ping());
                forge(&test_bed, victim, &bytes);
            }
            client.handle_input(test_bed.now);
            while client.poll_event().is_some() {}
            if millisecond % 16 == 0 {
                client.send(here, Delivery::Unreliable, &[1, 0, 7]).unwrap();
                sent += 1;
            }
            client.handle_output(test_bed.now);
            test_bed.serve();
        }
        assert_eq!(test_bed.batches.len(), sent, "of a victim's batches, let in: {is_admitted}");
        assert!(test_bed.server.flooded() > 70_000, "{}", test_bed.server.flooded());
    }
}

/// A peer goes to another address, and shows that it is there.
fn go(test_bed: &mut TestBed, peer: &mut Peer, to: SocketAddr) {
    peer.socket = test_bed.network.socket(to);
    let bytes = peer.packet(Level::OneRtt, &frames::ping());
    forge(test_bed, to, &bytes);
    for _ in 0..50 {
        test_bed.step(&mut [peer]);
        for token in std::mem::take(&mut peer.challenges) {
            peer.send(test_bed.now, Level::OneRtt, &frames::path_response(token));
        }
    }
}

#[test]
fn connections_that_claim_an_address_do_not_keep_its_owner_out() {
    let mut test_bed = TestBed::new(QuicConfig { max_per_address: 4, ..QuicConfig::default() });
    let mut peers = Vec::new();
    for port in 0..4 {
        peers.push(test_bed.admitted(([10, 0, 0, 2], 1000 + port)).0);
    }
    // All at once, and before QUIC finds out that nobody answers there.
    for _ in 0..3 {
        for (port, peer) in peers.iter_mut().enumerate() {
            let bytes = peer.packet(Level::OneRtt, &frames::ping());
            forge(&test_bed, ([10, 9, 9, 9], 2000 + port as u16).into(), &bytes);
        }
        test_bed.step(&mut []);
    }
    assert!(connects(&mut test_bed, ([10, 9, 9, 9], 1000).into()).is_some());
    // They count where they are.
    assert!(connects(&mut test_bed, ([10, 0, 0, 2], 3000).into()).is_none());
    assert_eq!(test_bed.ended, []);
}

#[test]
fn migrated_connections_count_for_their_new_address() {
    let mut test_bed = TestBed::new(QuicConfig { max_per_address: 4, ..QuicConfig::default() });
    let (mut peers, there) = (Vec::new(), [10, 0, 0, 3]);
    for port in 0..6 {
        let (mut peer, _) = test_bed.admitted(([10, 0, 0, 2], 1000 + port));
        go(&mut test_bed, &mut peer, (there, 1000 + port).into());
        peers.push(peer);
    }
    test_bed.run(20, &mut peers.iter_mut().collect::<Vec<_>>());
    let reasons: Vec<_> = test_bed.ended.iter().map(|(_, reason)| reason.clone()).collect();
    assert_eq!(reasons, [Reason::Busy, Reason::Busy], "two of six are too many");
    let stay: Vec<_> = peers.iter().map(|peer| peer.closed.is_none()).collect();
    assert_eq!(stay, [true, true, true, true, false, false]);
    // There is room where they were.
    assert!(connects(&mut test_bed, ([10, 0, 0, 2], 3000).into()).is_some());
}

/// An admitted client sends four times as much as it may, and is at another port every 20 ms or so: less
/// than the time in which its packets are counted.
#[test]
fn hopping_between_two_ports_evades_neither_rate_limit_nor_silence() {
    for is_hopping in [false, true] {
        let mut test_bed = TestBed::new(QuicConfig::default());
        let ports = [1000, 1001].map(|port| SocketAddr::from(([10, 0, 0, 2], port)));
        let (mut peer, connection) = test_bed.admitted(ports[0]);
        test_bed.run(200, &mut [&mut peer]);
        let (before, start) = (test_bed.server.frames_read(), test_bed.now);
        let mut hops = 0;
        for hop in 1..=100 {
            if is_hopping {
                // Quietly, until the server knows that it is there.
                peer.socket = test_bed.network.socket(ports[hop % 2]);
                peer.send(test_bed.now, Level::OneRtt, &frames::ping());
                let mut wait = 20;
                while wait > 0 {
                    test_bed.step(&mut [&mut peer]);
                    wait -= 1;
                    for token in std::mem::take(&mut peer.challenges) {
                        peer.send(test_bed.now, Level::OneRtt, &frames::path_response(token));
                        (hops, wait) = (hops + 1, 3);
                    }
                }
            }
            for _ in 0..10 {
                for _ in 0..36 {
                    peer.send(test_bed.now, Level::OneRtt, &frames::ping());
                }
                test_bed.step(&mut [&mut peer]);
            }
        }
        let seconds = (test_bed.now - start).as_secs_f64();
        let read = test_bed.server.frames_read() - before;
        let silences = test_bed.silences.load(Ordering::Relaxed);
        println!(
            "{read} frames in {seconds:.1} s, {hops} times at another port, {silences} silences; {:?}",
            test_bed.ended
        );
        assert!(!is_hopping || hops >= 60, "{hops}");
        assert!((read as f64) < 1000.0 + 4000.0 * seconds + 1000.0, "{read}");
        assert!(silences > 0, "is hopping: {is_hopping}");
        assert!(test_bed.ended.iter().all(|(ended, _)| *ended == connection));
    }
}

#[test]
fn half_open_connections_keep_no_client_out() {
    let config = QuicConfig { max_connections: 300, ..QuicConfig::default() };
    let mut test_bed = TestBed::new(config);
    let before = test_bed.memory;
    let mut half_open = Vec::new();
    let mut got_in = 0;
    for round in 0..10 {
        for host in 0..20 {
            for port in 0..4 {
                let mut peer = test_bed.peer(([10, 1, 0, host], 1000 + 4 * round + port));
                peer.stops_half_way = true;
                half_open.push(peer);
            }
        }
        for _ in 0..20 {
            test_bed.now += Duration::from_millis(5);
            half_open.iter_mut().rev().take(160).for_each(|peer| peer.drive(test_bed.now));
            test_bed.serve();
        }
        let address = SocketAddr::from(([10, 2, 0, round as u8], 1000));
        if let Some((client, _)) = connects(&mut test_bed, address) {
            drop(client);
            got_in += 1;
        }
    }
    let answered = half_open.iter().filter(|peer| peer.has_answer()).count();
    let memory = test_bed.most_memory - before;
    println!("{answered} of 800 half open, {got_in} of 10 newcomers got in, {memory} bytes");
    assert_eq!(got_in, 10);
    assert!(answered > 300, "{answered}");
    assert!(memory < 256 * (96 << 10), "{memory} bytes for those who go no further");
}
