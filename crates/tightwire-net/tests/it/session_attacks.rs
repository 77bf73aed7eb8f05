//! Unauthenticated peers, hasty applications and odd limits against a session.

use std::time::Duration;

use tightwire::Delivery;
use tightwire::message::{InternalBatch, MessengerConfig, SendError};
use tightwire::transport::{Connection, Reason, Transport};
use tightwire::{Server, SessionConfig};

use crate::common::game::{Count, ReceivedMessages, client, config, messages, server, settle};
use crate::common::net::Net;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn repeated_schema_requests_do_not_disconnect() {
    let net = Net::default();
    let (mut server, mut client) = (server(config(), &net), client("7", &net));
    settle(&mut server, &mut [&mut client], 0);
    let peer = server.connected()[0];
    for millis in (16..3000).step_by(16) {
        // In two frames, before the first answer: requests are answered once a second.
        if millis < 40 {
            server.session.request_schema(peer);
        }
        server.tick(millis);
        client.tick(millis);
    }
    assert_eq!(server.reasons(), Vec::<String>::new());
    assert_eq!(client.reasons(), Vec::<String>::new());
}

#[test]
fn a_client_that_asks_for_the_schema_twice_stays_connected() {
    let net = Net::default();
    let (mut server, mut client) = (server(config(), &net), client("7", &net));
    settle(&mut server, &mut [&mut client], 0);
    for millis in (16..3000).step_by(16) {
        if millis < 40 {
            client.session.request_schema();
        }
        client.tick(millis);
        server.tick(millis);
    }
    assert_eq!(client.reasons(), Vec::<String>::new());
}

#[test]
fn a_server_without_a_limit_of_clients_takes_one() {
    let net = Net::default();
    let config = SessionConfig { max_clients: usize::MAX, ..config() };
    let (mut server, mut client) = (server(config, &net), client("7", &net));
    settle(&mut server, &mut [&mut client], 0);
    assert_eq!(client.connected().len(), 1);
}

/// A transport that does not tell its limits before there is a connection.
#[test]
fn differing_limits_are_no_protocol_violation() {
    let net = Net::default();
    let messenger = MessengerConfig { max_fragmented: 2 << 20, ..MessengerConfig::default() };
    let mut server = server(SessionConfig { messenger, ..config() }, &net);
    let mut client = client("7", &net);
    settle(&mut server, &mut [&mut client], 0);
    // No client that could send too much connects, and both sides get the reason.
    let [said] = &client.reasons()[..] else { panic!("{:?}", client.reasons()) };
    assert!(said.contains("max_fragmented: the transport carries 1048576 bytes"), "{said}");
    assert_eq!(client.connected().len(), 0);
}

#[test]
fn limits_that_make_no_sense_are_errors_and_no_panics() {
    for extreme in [0, 1, usize::MAX] {
        for field in 0..6 {
            let mut config = config();
            let limits = &mut config.messenger;
            *[
                &mut limits.channels,
                &mut limits.max_fragmented,
                &mut limits.batch_messages,
                &mut limits.send_queue,
                &mut limits.receive_queue,
                &mut limits.peer_messages,
            ][field] = extreme;
            let built = std::panic::catch_unwind(|| {
                let net = Net::default();
                let builder = Server::<ReceivedMessages, _>::builder(config).open_to_anyone();
                builder.register(messages).build(net.server()).is_ok()
            });
            assert!(built.is_ok(), "field {field} of {extreme}");
        }
    }
}

#[test]
fn events_that_nobody_polls_take_bounded_memory() {
    let net = Net::default();
    let mut server = server(config(), &net);
    for millis in 0..20_000 {
        let mut stranger = net.client();
        let connection = Connection(stranger.connection.unwrap());
        stranger.send(connection, Delivery::Unreliable, &[1, 0, 7]).unwrap();
        server.session.receive(ms(millis), &mut server.received);
        server.session.transmit(ms(millis));
        stranger.close(connection, &Reason::Left);
        net.forget_the_closed();
    }
    let waiting = std::iter::from_fn(|| server.session.poll_event()).count();
    assert!(waiting <= 4096, "{waiting} events wait");
}

#[test]
fn silent_connections_do_not_keep_players_out() {
    let net = Net::default();
    let mut server = server(SessionConfig { max_clients: 8, ..config() }, &net);
    let _strangers: Vec<_> = (0..100).map(|_| net.client()).collect();
    server.tick(0);
    let mut player = client("7", &net);
    settle(&mut server, &mut [&mut player], 100);
    assert_eq!(player.reasons(), Vec::<String>::new());
    assert_eq!(player.connected().len(), 1);
}

#[test]
fn a_session_survives_a_clock_that_goes_back_and_jumps() {
    let net = Net::default();
    let (mut server, mut client) = (server(config(), &net), client("7", &net));
    settle(&mut server, &mut [&mut client], 1_000_000);
    client.chat("one", Delivery::Reliable);
    for millis in [999_000, 0, 5, 100_000_000, 3] {
        settle(&mut server, &mut [&mut client], millis);
        client.chat("more", Delivery::Reliable);
    }
    settle(&mut server, &mut [&mut client], 10);
    assert_eq!(server.received.texts.len(), 6);
}

#[test]
fn one_token_in_two_connections_of_one_tick_lets_one_in() {
    let net = Net::default();
    let mut server = server(config(), &net);
    let (mut one, mut two) = (client("7", &net), client("7", &net));
    one.tick(0);
    two.tick(0);
    settle(&mut server, &mut [&mut one, &mut two], 0);
    assert_eq!(server.connected().len(), 1);
    assert_eq!(two.reasons(), ["the connect token was used already: ask for a new one"]);
}

#[test]
fn batches_wait_in_order_while_the_transport_is_full() {
    let net = Net::default();
    let (mut server, mut client) = (server(config(), &net), client("7", &net));
    settle(&mut server, &mut [&mut client], 0);
    let peer = server.connected()[0];
    net.set_capacity(3000);
    net.stick(1, true);
    let send = |server: &mut crate::common::game::ServerSide, number| {
        let count = Count(number);
        server.session.send(peer, &count, Delivery::ReliableOrdered)
    };
    for number in 0..3000 {
        send(&mut server, number).unwrap();
    }
    server.tick(16);
    assert_eq!(send(&mut server, 9999), Err(SendError::Blocked(peer)));
    server.tick(32);
    net.stick(1, false);
    for millis in (48..1000).step_by(16) {
        client.tick(millis);
        server.tick(millis);
    }
    assert!(
        client.received.counts.iter().copied().eq(0..3000),
        "{:?}",
        client.received.counts.len()
    );
    send(&mut server, 3000).unwrap();
    assert_eq!(server.reasons(), Vec::<String>::new());
}

#[test]
fn a_peer_whose_backlog_does_not_shrink_is_too_slow() {
    let net = Net::default();
    let (mut server, mut client) = (server(config(), &net), client("7", &net));
    settle(&mut server, &mut [&mut client], 0);
    let peer = server.connected()[0];
    net.set_capacity(3000);
    net.stick(1, true);
    for number in 0..3000 {
        let count = Count(number);
        let route = Delivery::ReliableOrdered;
        server.session.send(peer, &count, route).unwrap();
    }
    for millis in (0..4900).step_by(100) {
        server.tick(millis);
    }
    assert_eq!(server.reasons(), Vec::<String>::new());
    server.tick(5300);
    assert_eq!(server.reasons(), [Reason::TooSlow.to_string()]);
}

#[test]
fn answers_that_nobody_asked_for_are_ignored() {
    let net = Net::default();
    let (mut server, mut client) = (server(config(), &net), client("7", &net));
    settle(&mut server, &mut [&mut client], 0);
    let connection = Connection(1);
    let mut batch = Vec::new();
    InternalBatch::write(6, &7_u32, &mut batch).unwrap();
    client.session.transport_mut().send(connection, InternalBatch::DELIVERY, &batch).unwrap();
    settle(&mut server, &mut [&mut client], 16);
    assert_eq!(server.reasons(), Vec::<String>::new());
}
