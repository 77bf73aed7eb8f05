//! Limits by address, against those who claim the addresses of others, or have many.

use std::net::SocketAddr;
use std::time::Duration;

use tightwire::Delivery;
use tightwire::quic::{Packets, Quic, QuicConfig, SimulatedSocket, Socket};
use tightwire::transport::{Connection, Transport};
use tightwire::transport::{Event, Reason};

use super::stand::{Peer, SERVER, Stand};
use crate::common::by_hand::{Level, frames};

/// Sends bytes from an address that is somebody else's.
fn forge(stand: &Stand, from: SocketAddr, bytes: &[u8]) {
    let size = bytes.len();
    let packets = Packets { to: SERVER.into(), from: None, congestion: 0, bytes, size };
    stand.network.socket(from).send(stand.now, &packets);
}

/// Whether an honest client gets in from here within two seconds.
fn connects(stand: &mut Stand, address: SocketAddr) -> Option<(Quic<SimulatedSocket>, Connection)> {
    let mut client = stand.honest(address);
    for _ in 0..400 {
        stand.now += Duration::from_millis(5);
        client.handle_input(stand.now);
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
        client.handle_output(stand.now);
        stand.serve();
    }
    None
}

#[test]
fn nobody_uses_up_what_others_have_with_their_address() {
    for is_let_in in [false, true] {
        let mut stand = Stand::new(QuicConfig::default());
        let victim = SocketAddr::from(([10, 9, 9, 9], 1000));
        let (mut client, here) = connects(&mut stand, victim).unwrap();
        client.handle_output(stand.now);
        stand.serve();
        stand.server.welcome(stand.connections[&victim]);
        let address = ([10, 0, 0, 2], 1000);
        let (mut peer, _) =
            if is_let_in { stand.let_in(address) } else { stand.connected(address) };
        stand.batches.clear();
        let mut sent = 0;
        for millisecond in 0..5000 {
            stand.now += Duration::from_millis(1);
            for _ in 0..20 {
                let bytes = peer.packet(Level::OneRtt, &frames::ping());
                forge(&stand, victim, &bytes);
            }
            client.handle_input(stand.now);
            while client.poll_event().is_some() {}
            if millisecond % 16 == 0 {
                client.send(here, Delivery::Unreliable, &[1, 0, 7]).unwrap();
                sent += 1;
            }
            client.handle_output(stand.now);
            stand.serve();
        }
        assert_eq!(stand.batches.len(), sent, "of a victim's batches, let in: {is_let_in}");
        assert!(stand.server.flooded() > 70_000, "{}", stand.server.flooded());
    }
}

/// A peer goes to another address, and shows that it is there.
fn go(stand: &mut Stand, peer: &mut Peer, to: SocketAddr) {
    peer.socket = stand.network.socket(to);
    let bytes = peer.packet(Level::OneRtt, &frames::ping());
    forge(stand, to, &bytes);
    for _ in 0..50 {
        stand.step(&mut [peer]);
        for token in std::mem::take(&mut peer.challenges) {
            peer.send(stand.now, Level::OneRtt, &frames::path_response(token));
        }
    }
}

#[test]
fn connections_that_claim_an_address_do_not_keep_its_owner_out() {
    let mut stand = Stand::new(QuicConfig { max_per_address: 4, ..QuicConfig::default() });
    let mut peers = Vec::new();
    for port in 0..4 {
        peers.push(stand.let_in(([10, 0, 0, 2], 1000 + port)).0);
    }
    // All at once, and before QUIC finds out that nobody answers there.
    for _ in 0..3 {
        for (port, peer) in peers.iter_mut().enumerate() {
            let bytes = peer.packet(Level::OneRtt, &frames::ping());
            forge(&stand, ([10, 9, 9, 9], 2000 + port as u16).into(), &bytes);
        }
        stand.step(&mut []);
    }
    assert!(connects(&mut stand, ([10, 9, 9, 9], 1000).into()).is_some());
    // They count where they are.
    assert!(connects(&mut stand, ([10, 0, 0, 2], 3000).into()).is_none());
    assert_eq!(stand.ended, []);
}

#[test]
fn who_moves_is_counted_where_it_is_then() {
    let mut stand = Stand::new(QuicConfig { max_per_address: 4, ..QuicConfig::default() });
    let (mut peers, there) = (Vec::new(), [10, 0, 0, 3]);
    for port in 0..6 {
        let (mut peer, _) = stand.let_in(([10, 0, 0, 2], 1000 + port));
        go(&mut stand, &mut peer, (there, 1000 + port).into());
        peers.push(peer);
    }
    stand.run(20, &mut peers.iter_mut().collect::<Vec<_>>());
    let reasons: Vec<_> = stand.ended.iter().map(|(_, reason)| reason.clone()).collect();
    assert_eq!(reasons, [Reason::Busy, Reason::Busy], "two of six are too many");
    let stay: Vec<_> = peers.iter().map(|peer| peer.closed.is_none()).collect();
    assert_eq!(stay, [true, true, true, true, false, false]);
    // There is room where they were.
    assert!(connects(&mut stand, ([10, 0, 0, 2], 3000).into()).is_some());
}

#[test]
fn half_open_connections_keep_no_newcomer_out() {
    let config = QuicConfig { max_connections: 300, ..QuicConfig::default() };
    let mut stand = Stand::new(config);
    let before = stand.memory;
    let mut half_open = Vec::new();
    let mut got_in = 0;
    for round in 0..10 {
        for host in 0..20 {
            for port in 0..4 {
                let mut peer = stand.peer(([10, 1, 0, host], 1000 + 4 * round + port));
                peer.stops_half_way = true;
                half_open.push(peer);
            }
        }
        for _ in 0..20 {
            stand.now += Duration::from_millis(5);
            half_open.iter_mut().rev().take(160).for_each(|peer| peer.drive(stand.now));
            stand.serve();
        }
        let address = SocketAddr::from(([10, 2, 0, round as u8], 1000));
        if let Some((client, _)) = connects(&mut stand, address) {
            drop(client);
            got_in += 1;
        }
    }
    let answered = half_open.iter().filter(|peer| peer.has_answer()).count();
    let memory = stand.most_memory - before;
    println!("{answered} of 800 half open, {got_in} of 10 newcomers got in, {memory} bytes");
    assert_eq!(got_in, 10);
    assert!(answered > 300, "{answered}");
    assert!(memory < 256 * (96 << 10), "{memory} bytes for those who go no further");
}
