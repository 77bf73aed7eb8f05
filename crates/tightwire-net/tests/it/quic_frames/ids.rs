//! Packets to ids that the server has made, and that no connection has.
//!
//! The server recognises ids of its own by a hash. Anyone that was connected before, or was sent a Retry,
//! knows such ids: they must not lead past the limits of unconnected addresses.

use std::net::SocketAddr;
use std::time::Duration;

use tightwire::Delivery;
use tightwire::quic::{QuicConfig, Socket};
use tightwire::transport::Transport;

use super::addresses::{connects, forge};
use super::test_bed::{Peer, TestBed};
use crate::common::by_hand::{Level, frames};

const ATTACKER: ([u8; 4], u16) = ([10, 0, 0, 2], 1000);
/// Packets of each millisecond of the flood, and its milliseconds.
const PACKETS: usize = 100;
const MILLISECONDS: u64 = 2000;

/// Returns an id of a connection that is over.
fn dead_id(test_bed: &mut TestBed) -> Vec<u8> {
    let (mut peer, connection) = test_bed.connected(([10, 0, 0, 3], 1000));
    let id = peer.destination().to_vec();
    peer.send(test_bed.now, Level::OneRtt, &frames::close());
    test_bed.run(5000, &mut []);
    assert_eq!(test_bed.ended.iter().map(|(ended, _)| *ended).collect::<Vec<_>>(), [connection]);
    test_bed.ended.clear();
    id
}

/// Returns the first packet of a connection, to this id of the server.
fn first_packet(test_bed: &mut TestBed, id: &[u8]) -> Vec<u8> {
    let mut peer = test_bed.peer(ATTACKER);
    peer.set_destination(id);
    let payload = [frames::crypto(0, &[1; 100]), vec![0; 1100]].concat();
    peer.packet(Level::Initial, &payload)
}

/// Sends copies of a packet from an address, while an honest client sends from another; returns the
/// number of packets that the server read, and of its answers to the attacker.
fn flood(test_bed: &mut TestBed, peer: &mut Peer, from: SocketAddr, packet: &[u8]) -> [u64; 2] {
    let victim = SocketAddr::from(([10, 9, 9, 9], 1000));
    let (mut client, here) = connects(test_bed, victim).unwrap();
    client.handle_output(test_bed.now);
    test_bed.serve();
    test_bed.server.welcome(test_bed.connections[&victim]);
    test_bed.batches.clear();
    let before = test_bed.server.flooded();
    let (mut sent, mut answers) = (0, 0);
    for millisecond in 0..MILLISECONDS {
        test_bed.now += Duration::from_millis(1);
        for _ in 0..PACKETS {
            forge(test_bed, from, packet);
        }
        client.handle_input(test_bed.now);
        while client.poll_event().is_some() {}
        if millisecond % 16 == 0 {
            client.send(here, Delivery::Unreliable, &[1, 0, 7]).unwrap();
            sent += 1;
        }
        client.handle_output(test_bed.now);
        test_bed.serve();
        assert_eq!(test_bed.batches.len(), sent, "in the input in which they came");
        peer.socket.receive(test_bed.now, &mut |_| {
            answers += 1;
            true
        });
    }
    assert_eq!((&test_bed.ended[..], &test_bed.refused[..]), (&[][..], &[][..]));
    let dropped = test_bed.server.flooded() - before;
    [PACKETS as u64 * MILLISECONDS - dropped, answers]
}

#[test]
fn packets_to_ids_of_no_connection_are_limited_at_any_address() {
    // An input has room for 64 packets, so that an honest client would wait behind the others. Each
    // new connection must validate its address, so that each first packet has an answer.
    let config = QuicConfig { packets_per_input: 64, max_handshakes: 0, ..QuicConfig::default() };
    for is_first in [false, true] {
        for is_admitted in [false, true] {
            let mut test_bed = TestBed::new(config);
            let id = dead_id(&mut test_bed);
            let packet = match is_first {
                true => first_packet(&mut test_bed, &id),
                false => [&[0x40][..], &id, &[7; 100]].concat(),
            };
            let (mut peer, _) = match is_admitted {
                true => test_bed.admitted(ATTACKER),
                false => test_bed.connected(ATTACKER),
            };
            let [read, answers] = flood(&mut test_bed, &mut peer, ATTACKER.into(), &packet);
            println!("first: {is_first}, admitted: {is_admitted}: {read} read, {answers} answers");
            // An unconnected address has 200 packets a second, and 50 of them at once.
            let most = 50 + 200 * MILLISECONDS / 1000;
            assert!((most - 20..=most + 1).contains(&read), "{read}, where {most} are the limit");
            assert!(answers <= most + 20, "{answers}");
        }
    }
}

/// The same with the address of a client, which is not silenced for it.
#[test]
fn spoofed_packets_to_ids_of_no_connection_do_no_harm() {
    let config = QuicConfig { packets_per_input: 64, max_handshakes: 0, ..QuicConfig::default() };
    for is_first in [false, true] {
        let mut test_bed = TestBed::new(config);
        let id = dead_id(&mut test_bed);
        let packet = match is_first {
            true => first_packet(&mut test_bed, &id),
            false => [&[0x40][..], &id, &[7; 100]].concat(),
        };
        let (mut peer, _) = test_bed.connected(ATTACKER);
        let victim = ([10, 9, 9, 9], 1000).into();
        let [read, _] = flood(&mut test_bed, &mut peer, victim, &packet);
        assert!(read <= 51 + 200 * MILLISECONDS / 1000, "{read}");
        assert_eq!(test_bed.silences.load(std::sync::atomic::Ordering::Relaxed), 0);
    }
}

/// An id that its peer has retired is free again, and leads to no connection. It still counts for the
/// connection that had it.
#[test]
fn packets_to_retired_ids_count_for_their_connection() {
    let mut test_bed = TestBed::new(QuicConfig { max_handshakes: 0, ..QuicConfig::default() });
    let (mut peer, connection) = test_bed.connected(ATTACKER);
    let id = peer.destination().to_vec();
    let packet = first_packet(&mut test_bed, &id);
    // The server has issued others, of which the peer uses the second one from now on.
    peer.switch_destination(1);
    peer.send(test_bed.now, Level::OneRtt, &frames::numbers(frames::RETIRE_CONNECTION_ID, &[0]));
    test_bed.run(50, &mut [&mut peer]);
    let [read, answers] = flood(&mut test_bed, &mut peer, ATTACKER.into(), &packet);
    println!("{read} read, {answers} answers");
    assert!(test_bed.server.path(connection).is_some());
    // An unauthenticated connection has 50 packets a second, and each of these counts for eight.
    let most = 100 + 50 * MILLISECONDS / 1000;
    assert!((most / 8 - 5..=most / 8 + 5).contains(&read), "{read}");
    assert!(answers <= read + 20, "{answers}");
}

/// A server that reads and does not send, as one whose socket takes nothing, keeps few answers.
#[test]
fn answers_to_first_packets_wait_in_bounded_memory() {
    let mut test_bed = TestBed::new(QuicConfig { max_handshakes: 0, ..QuicConfig::default() });
    let packet = first_packet(&mut test_bed, &[7; 8]);
    let before = test_bed.memory;
    let mut bytes = 0;
    for millisecond in 0..5000u64 {
        test_bed.now += Duration::from_millis(1);
        for at in 0..4 {
            let host = (4 * millisecond + at) as u8;
            forge(&test_bed, ([10, 0, 4, host], 1000).into(), &packet);
        }
        let now = test_bed.now;
        let measured = allocation_counter::measure(|| test_bed.server.handle_input(now));
        bytes += measured.bytes_current;
    }
    println!("{bytes} bytes of answers");
    assert!(bytes < 512 << 10, "{bytes}");
    test_bed.serve();
    test_bed.serve();
    let left = test_bed.memory + bytes - before;
    assert!(left < 16 << 10, "{left} bytes are left");
}
