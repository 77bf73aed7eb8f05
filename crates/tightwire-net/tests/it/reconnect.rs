//! A client that connects again, over the simulated network.

use std::time::Duration;

use tightwire::Delivery;
use tightwire::link::{Bandwidth, LinkConfig};
use tightwire::quic::{Network, Quic, QuicConfig};
use tightwire::recording::{Recorder, Replay};
use tightwire::token::TokenError;
use tightwire::transport::{Connection, Event, Reason, ReconnectError, Transport};
use tightwire::{Client, SessionConfig, SessionEvent};

use crate::common::arena::{
    Arena, Door, Simulated, Transcript, client, key, quic, server, session_config, token,
};
use crate::common::networks::latency;

const MINUTE: Duration = Duration::from_secs(60);

type Game = Arena<Simulated, Simulated>;

fn lossy() -> LinkConfig {
    LinkConfig { loss: 0.1, ..latency() }
}

/// The client connects again with this token, as soon as it knows why its connection ended.
fn reconnect(arena: &mut Game, reason: &Reason, token: &[u8]) {
    let ends = arena.clients[0].1.reasons().len();
    arena.run(MINUTE, |arena| arena.clients[0].1.reasons().last() == Some(reason));
    assert!(arena.clients[0].1.reasons().len() >= ends);
    let now = arena.now;
    arena.clients[0].0.reconnect(token, now).unwrap();
}

#[test]
fn a_client_that_was_kicked_comes_again_and_has_its_messages() {
    for seed in 0..5 {
        let (mut arena, _door) = quic(lossy(), seed, 1, 20);
        arena.run(MINUTE, Arena::is_done);
        let (first, now) = (arena.transcript.peers()[0], arena.now);
        let too_early = arena.clients[0].0.reconnect(&token(&key(), 2), now);
        assert_eq!(too_early, Err(ReconnectError::Connected));
        let long = arena.clients[0].0.reconnect(&[0; 3000], now);
        assert_eq!(long, Err(ReconnectError::TokenTooLong { size: 3000, limit: 2048 }));

        arena.server.as_mut().unwrap().kick(first, "come again");
        reconnect(&mut arena, &Reason::kicked("come again"), &token(&key(), 2));
        arena.run(MINUTE, |arena| arena.transcript.peers().len() == 2);
        let second = arena.transcript.peers()[1];
        assert_ne!(first, second);
        // Numbers begin again, and the server is another peer for the client, too.
        (arena.transcript.rounds, arena.clients[0].1.rounds) = (0, 0);
        arena.run(MINUTE, |arena: &Game| {
            let all = |numbers: Option<&Vec<u32>>| numbers.is_some_and(|all| all.len() == 20);
            let (client, transcript) = &arena.clients[0];
            (2..5).all(|delivery| {
                let answers = |server| all(transcript.numbers.get(&(server, "answer", delivery)));
                all(arena.transcript.numbers.get(&(second, "ask", delivery)))
                    && client.server().is_some_and(answers)
            })
        });
        arena.check();
    }
}

#[test]
fn a_token_that_was_used_is_refused_and_the_next_one_is_not() {
    let (mut arena, _door) = quic(lossy(), 1, 1, 0);
    arena.run(MINUTE, |arena| arena.transcript.peers().len() == 1);
    let (used, fresh) = (token(&key(), 2), token(&key(), 3));
    let now = arena.now;
    arena.clients[0].0.disconnect(now);
    reconnect(&mut arena, &Reason::Left, &used);
    arena.run(MINUTE, |arena| arena.transcript.peers().len() == 2);
    arena.run(MINUTE, |arena| arena.clients[0].0.server().is_some());
    let peer = arena.transcript.peers()[1];
    arena.server.as_mut().unwrap().kick(peer, "come again");
    reconnect(&mut arena, &Reason::kicked("come again"), &used);
    reconnect(&mut arena, &Reason::Token(TokenError::Used), &fresh);
    arena.run(MINUTE, |arena| arena.transcript.peers().len() == 3);
}

#[test]
fn a_client_can_reconnect_without_a_limit_when_there_is_no_server() {
    let (mut arena, _door) = quic(latency(), 3, 1, 0);
    arena.run(MINUTE, |arena| arena.clients[0].0.server().is_some());
    arena.server = None;
    for tries in 1..5 {
        arena.run(MINUTE, |arena| arena.clients[0].1.reasons() == vec![Reason::TimedOut; tries]);
        let now = arena.now;
        arena.clients[0].0.reconnect(&token(&key(), 2), now).unwrap();
    }
    assert_eq!(arena.clients[0].1.events.len(), 5, "one connection, and its ends");
}

#[test]
fn a_server_does_not_connect_again() {
    let network = Network::new(LinkConfig::default(), 1);
    let (_, mut server) = Quic::pair(&network, QuicConfig::default()).unwrap();
    assert_eq!(server.reconnect(Duration::ZERO), Err(ReconnectError::Unsupported));
}

/// Polls events, and reconnects after each end.
fn poll<T: Transport>(client: &mut Client<Transcript, T>, now: Duration) -> Vec<SessionEvent> {
    let mut events = Vec::new();
    while let Some(event) = client.poll_event() {
        if let SessionEvent::Disconnected { .. } = event {
            client.reconnect(b"again", now).unwrap();
        }
        events.push(event);
    }
    events
}

#[test]
fn a_recorded_client_that_connects_again_replays_to_the_same_events() {
    let (mut door, transport) = Door::new(lossy(), QuicConfig::default(), 5);
    let mut there = server(session_config(), transport);
    let (first, mut transcript) = (token(&key(), 1), Transcript::default());
    let recorder = Recorder::new(door.enter(Duration::ZERO), Vec::new(), &session_config());
    let mut live = client(session_config(), &first, recorder.unwrap());
    let mut events = Vec::new();
    for frame in 1..400u32 {
        let now = Duration::from_millis(10) * frame;
        live.receive(now, &mut transcript);
        live.transmit(now);
        events.extend(poll(&mut live, now));
        there.receive(now, &mut transcript);
        let peer = there.peers().next().filter(|_| frame == 150);
        peer.into_iter().for_each(|peer| there.kick(peer, "come again"));
        there.transmit(now);
    }
    let refused = Reason::Token(TokenError::NotGenuine);
    let is_refused = |event: &SessionEvent| matches!(event, SessionEvent::Disconnected { reason, .. } if *reason == refused);
    assert!(events.iter().filter(|event| is_refused(event)).count() > 2, "{events:?}");

    let file = live.transport().file(Vec::clone);
    let replay = Replay::new(&file[..]).unwrap();
    let config = replay.config(SessionConfig::default());
    let (mut again, mut replayed) = (client(config, &first, replay), Vec::new());
    while let Some(step) = again.transport_mut().next_step() {
        again.receive(step.receive_at, &mut transcript);
        if let Some(now) = step.transmit_at {
            again.transmit(now);
            replayed.extend(poll(&mut again, now));
        }
    }
    assert!(again.transport_mut().error().is_none());
    assert_eq!(replayed, events);
}

#[test]
fn a_path_tells_its_congestion_window_and_the_room_for_datagrams() {
    let bandwidth = Some(Bandwidth { bytes_per_second: 50_000, queue_bytes: 10_000 });
    let network = Network::new(LinkConfig { bandwidth, ..latency() }, 1);
    let config = QuicConfig { seed: Some(1), ..QuicConfig::default() };
    let (mut client, mut server) = Quic::pair(&network, config).unwrap();
    let mut connection: Option<Connection> = None;
    let (mut windows, mut rooms) = (Vec::new(), Vec::new());
    for frame in 0..600u32 {
        let now = Duration::from_millis(10) * frame;
        client.handle_input(now);
        while let Some(event) = client.poll_event() {
            if let Event::Connected { connection: new, .. } = event {
                connection = Some(new);
            }
        }
        server.handle_input(now);
        while server.poll_event().is_some() {}
        if let Some(connection) = connection {
            let before = client.path(connection).unwrap();
            windows.extend(before.window);
            rooms.push(before.datagram_room);
            // What has room drops nothing.
            if before.datagram_room >= 1000 {
                client.send(connection, Delivery::Unreliable, &[7; 1000]).unwrap();
                let after = client.path(connection).unwrap();
                assert_eq!(after.dropped, 0);
                assert!(after.datagram_room <= before.datagram_room - 1000, "{after:?}");
            }
        }
        client.handle_output(now);
        server.handle_output(now);
    }
    // Twice as much is sent as gets through, so that the room is used up.
    let window = *windows.last().unwrap();
    let is_full = |room: &&usize| **room < 1000;
    println!("window {window}, full {} times", rooms.iter().filter(is_full).count());
    assert!(windows.len() == rooms.len() && (2_000..60_000).contains(&window), "{window}");
    assert!(rooms.iter().filter(is_full).count() > 100, "{rooms:?}");
    assert!(*rooms.iter().max().unwrap() > 15_000, "{rooms:?}");
}
