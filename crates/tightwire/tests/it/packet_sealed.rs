//! Sealed datagrams: each is read once, and only with the keys.

use tightwire::packet::{Keys, PacketError, Protection, Protocol};

use crate::common::figures::say;
use crate::common::game::{Packet, Pair, client_keys, server_keys};
use crate::common::rng::Rng;

/// Number of the latest datagrams that may come late.
const WINDOW: usize = 960;

fn pair() -> Pair {
    Pair::new(Protection::Sealed(()))
}

fn sealed(keys: Keys) -> Protocol<Packet> {
    Protocol::new("arena", "1.0", Protection::Sealed(keys))
}

#[test]
fn every_replay_is_refused() {
    let (mut pair, mut rng, mut read) = (pair(), Rng::new(1), Packet::default());
    let sent: Vec<_> = (0..3000).map(|_| pair.sent(&mut Packet::random(&mut rng))).collect();
    for (sequence, datagram) in (0..).zip(&sent) {
        assert_eq!(pair.server.read(datagram, &mut read), Ok(()));
        let refused = Err(PacketError::Replayed { sequence });
        assert_eq!(pair.server.read(datagram, &mut read), refused);
        // And a random one of those before.
        let before = rng.below(sequence as usize + 1);
        let refused = Err(PacketError::Replayed { sequence: before as u64 });
        assert_eq!(pair.server.read(&sent[before], &mut read), refused);
    }
    for (sequence, datagram) in (0..).zip(&sent) {
        let refused = Err(PacketError::Replayed { sequence });
        assert_eq!(pair.server.read(datagram, &mut read), refused);
    }
    let counters = pair.server.counters();
    assert_eq!((counters.read, counters.replayed), (3000, 9000));
    say(&format!("3000 sealed datagrams, each three times more: {counters}"));
}

#[test]
fn datagrams_may_come_in_any_order_within_the_window() {
    let (mut pair, mut rng, mut read) = (pair(), Rng::new(2), Packet::default());
    let mut sent: Vec<_> = (0..10 * WINDOW).map(|_| pair.sent(&mut Packet::KeepAlive)).collect();
    for block in sent.chunks_mut(WINDOW) {
        (1..block.len()).for_each(|place| block.swap(place, rng.below(place + 1)));
    }
    for datagram in &sent {
        assert_eq!(pair.server.read(datagram, &mut read), Ok(()));
    }
}

#[test]
fn a_datagram_that_is_late_beyond_the_window_is_refused() {
    let (mut pair, mut read) = (pair(), Packet::default());
    let sent: Vec<_> = (0..2 * WINDOW).map(|_| pair.sent(&mut Packet::KeepAlive)).collect();
    let mut accepted = 0;
    for newest in 1..sent.len() {
        let mut server = pair.server.sealed(server_keys());
        assert_eq!(server.read(&sent[newest], &mut read), Ok(()));
        let late = server.read(&sent[0], &mut read);
        if newest < WINDOW {
            assert_eq!(late, Ok(()));
            accepted += 1;
        } else {
            assert_eq!(late, Err(PacketError::Replayed { sequence: 0 }));
        }
    }
    let refused = sent.len() - 1 - accepted;
    say(&format!("late by 1 to {accepted}: read; late by more: {refused} of {refused} refused"));
}

#[test]
fn a_forged_number_does_not_move_the_window() {
    let (mut pair, mut read) = (pair(), Packet::default());
    let early = pair.sent(&mut Packet::KeepAlive);
    // As far ahead as possible: 2^63 in ten bytes, and the last number of all.
    for last in [0x01, 0x00] {
        let mut forged = vec![0xff; 9];
        forged.push(last);
        forged.extend_from_slice(&early[1..]);
        assert!(pair.server.read(&forged, &mut read).is_err());
    }
    let mut forged = vec![0x80; 8];
    forged.push(0x7f);
    forged.extend_from_slice(&early[1..]);
    assert_eq!(pair.server.read(&forged, &mut read), Err(PacketError::NotAuthentic));
    assert_eq!(pair.server.read(&early, &mut read), Ok(()));
}

#[test]
fn any_other_key_is_refused() {
    let (mut rng, mut read) = (Rng::new(3), Packet::default());
    let mut pair = pair();
    let datagram = pair.sent(&mut Packet::large());
    let (mut keys, mut refused) = (0, 0);
    let mut refuse = |server_keys: Keys| {
        keys += 1;
        let result = sealed(server_keys).read(&datagram, &mut read);
        refused += usize::from(result == Err(PacketError::NotAuthentic));
    };
    // Every key that differs in one bit, and random ones.
    for bit in 0..256 {
        let mut key = [1; 32];
        key[bit / 8] ^= 1 << (bit % 8);
        refuse(Keys::server(key, [2; 32]));
    }
    for _ in 0..1000 {
        refuse(Keys::server(std::array::from_fn(|_| rng.next() as u8), [2; 32]));
    }
    // The right keys in the wrong places, on the wrong side, and from the wrong side.
    refuse(Keys::server([2; 32], [1; 32]));
    refuse(Keys::client([1; 32], [2; 32]));
    refuse(Keys::client([2; 32], [1; 32]));
    assert_eq!(refused, keys);
    say(&format!("{refused} of {keys} other keys refused"));
    // The other key of the pair is not needed to read.
    assert_eq!(sealed(Keys::server([1; 32], [9; 32])).read(&datagram, &mut read), Ok(()));
}

#[test]
fn one_key_for_both_directions_is_still_two_streams() {
    let mut client = sealed(Keys::client([7; 32], [7; 32]));
    let mut server = sealed(Keys::server([7; 32], [7; 32]));
    let (mut sent, mut answered, mut read) = ([0; 1000], [0; 1000], Packet::default());
    let sent = client.write(&Packet::large(), &mut sent).unwrap();
    let answered = server.write(&Packet::large(), &mut answered).unwrap();
    // The same sequence number and the same packet, under another nonce.
    assert_eq!(sent[0], answered[0]);
    let same = sent[1..].iter().zip(&answered[1..]).filter(|(a, b)| a == b).count();
    assert!(same < 20, "{same} of {} bytes", sent.len());
    // A datagram that is reflected to its sender is refused.
    assert_eq!(client.read(sent, &mut read), Err(PacketError::NotAuthentic));
    assert_eq!(client.read(answered, &mut read), Ok(()));
    assert_eq!(server.read(sent, &mut read), Ok(()));
}

#[test]
fn another_protocol_under_the_same_keys_is_refused() {
    let mut read = Packet::default();
    let datagram = pair().sent(&mut Packet::KeepAlive);
    for (game, version, checks) in
        [("arena", "1.1", false), ("duel", "1.0", false), ("arena", "1.0", true)]
    {
        let server = Protocol::<Packet>::new(game, version, Protection::Sealed(server_keys()));
        let mut server = if checks { server.with_checks() } else { server };
        assert_eq!(server.read(&datagram, &mut read), Err(PacketError::NotAuthentic));
    }
}

#[test]
fn no_number_is_used_twice_whatever_is_called_in_between() {
    let mut client = sealed(client_keys());
    let mut buffer = [0; Protocol::<Packet>::MAX_BYTES];
    let mut numbers = Vec::new();
    for round in 0..100 {
        if round == 50 {
            client = client.with_checks();
        }
        // Refused writes, in between.
        assert!(client.write(&Packet::large(), &mut [0; 3]).is_err());
        let bad = Packet::Input { sequence: 0, x: 127, y: 0, fire: false };
        assert!(client.write(&bad, &mut buffer).is_err());
        numbers.push(client.write(&Packet::KeepAlive, &mut buffer).unwrap()[0]);
    }
    assert_eq!(numbers, (0..100).collect::<Vec<u8>>());
}

#[test]
fn each_peer_has_its_own_seal() {
    let mut read = Packet::default();
    let mut buffer = [0; Protocol::<Packet>::MAX_BYTES];
    let game = Protocol::<Packet>::new("arena", "1.0", Protection::Id);
    let first = sealed(client_keys());
    assert_ne!(game.identity().id(), first.identity().id());
    for peer in 0..50 {
        let mut client = first.sealed(Keys::client([peer; 32], [100 + peer; 32]));
        let mut server = game.sealed(Keys::server([peer; 32], [100 + peer; 32]));
        assert_eq!(client.identity(), first.identity());
        assert_eq!(server.identity(), first.identity());
        let datagram = client.write(&Packet::KeepAlive, &mut buffer).unwrap();
        assert_eq!(server.read(datagram, &mut read), Ok(()));
        assert_eq!(datagram[0], 0);
    }
}

#[test]
fn keys_are_not_printed() {
    let mut client = sealed(client_keys());
    let mut buffer = [0; Protocol::<Packet>::MAX_BYTES];
    client.write(&Packet::Chat { text: "secret text".into() }, &mut buffer).unwrap();
    let printed = format!("{client:?} {:?}", client_keys());
    assert!(printed.contains("Keys(secret)") && printed.contains("arena"), "{printed}");
    assert!(!printed.contains("1, 1") && !printed.contains("secret text"), "{printed}");
}

#[test]
fn nothing_is_left_of_the_last_packet_after_a_refusal() {
    let (mut pair, mut read) = (pair(), Packet::default());
    let datagram = pair.sent(&mut Packet::large());
    pair.server.read(&datagram, &mut read).unwrap();
    assert!(!pair.server.unsealed(&datagram).is_empty());
    for refused in [&datagram[..], &datagram[..3], &[9; 40]] {
        assert!(pair.server.read(refused, &mut read).is_err());
        assert!(pair.server.unsealed(refused).is_empty());
    }
}
