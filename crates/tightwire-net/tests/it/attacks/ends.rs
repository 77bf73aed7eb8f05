//! Ends of connections, and their leftovers.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;

use tightwire::Delivery;
use tightwire::quic::{Quic, QuicConfig, Trust};
use tightwire::transport::{Connection, Event, NotSentError, Reason, Transport};
use tightwire::{Client, Server};

use super::world::*;
use crate::common::game::{Count, ReceivedMessages, config, messages};
use crate::common::raw::RawPeer;
#[test]
fn a_pause_holds_back_the_batches_of_an_ended_connection() {
    let mut world = World::new(QuicConfig::default());
    let mut client = world.client(ms(0));
    let (here, there, mut now) = connect(&mut world, &mut client, ms(0));
    for number in 0..50 {
        client.send(here, Delivery::Reliable, &[1, 0, number]).unwrap();
    }
    for _ in 0..20 {
        now += ms(5);
        client.handle_input(now);
        client.handle_output(now);
        world.server.handle_input(now);
        world.server.handle_output(now);
    }
    client.close(here, &Reason::Left);
    client.handle_output(now);
    let (mut most, mut all, mut ended) = (0, 0, false);
    for _ in 0..100 {
        now += ms(50);
        world.server.handle_input(now);
        let mut in_this_frame = 0;
        while let Some(event) = world.server.poll_event() {
            match event {
                Event::Batch { .. } => in_this_frame += 1,
                Event::Disconnected { .. } => ended = true,
                other => panic!("{other:?}"),
            }
            world.server.pause(there);
        }
        most = most.max(in_this_frame);
        all += in_this_frame;
        world.server.handle_output(now);
    }
    assert!(ended);
    assert_eq!((all, most), (50, 1), "batches in all, and in one frame in spite of the pause");
}

#[test]
fn reliable_messages_that_arrived_are_handled_though_their_sender_left() {
    let world = World::new(QuicConfig::default());
    let transport = world.client(ms(0));
    let mut client = Client::builder(config()).register(messages).build(transport).unwrap();
    let mut server =
        Server::builder(config()).open_to_anyone().register(messages).build(world.server).unwrap();
    let (mut here, mut there) = (ReceivedMessages::default(), ReceivedMessages::default());
    let mut now = ms(0);
    while client.server().is_none() || server.peers().count() == 0 {
        now += ms(5);
        client.receive(now, &mut here);
        client.transmit(now);
        server.receive(now, &mut there);
        server.transmit(now);
    }
    for number in 0..8000 {
        client.send(&Count(number), Delivery::Reliable).unwrap();
    }
    // The server is busy: it receives, but handles nothing. All messages arrive.
    for _ in 0..40 {
        now += ms(5);
        client.receive(now, &mut here);
        client.transmit(now);
        server.handle_input(now);
        server.transmit(now);
    }
    assert_eq!(client.stats().unwrap().path.backlog, 0);
    client.disconnect(now);
    // Then it goes on, at 20 frames a second.
    for _ in 0..100 {
        now += ms(50);
        server.receive(now, &mut there);
        server.transmit(now);
    }
    assert_eq!(there.counts.len(), 8000);
}

#[test]
fn nothing_comes_of_a_connection_that_was_closed_after_it_had_timed_out() {
    let mut world = World::new(QuicConfig::default());
    let mut client = world.client(ms(0));
    let (here, there, mut now) = connect(&mut world, &mut client, ms(0));
    for number in 0..5 {
        client.send(here, Delivery::Reliable, &[1, 0, number]).unwrap();
    }
    client.handle_output(now);
    // The client is gone, and the server does not poll for a while.
    for _ in 0..30 {
        now += ms(500);
        world.server.handle_input(now);
        world.server.handle_output(now);
    }
    world.server.handle_input(now);
    let first = world.server.poll_event();
    assert!(matches!(first, Some(Event::Batch { .. })), "{first:?}");
    world.server.close(there, &Reason::violation("the first batch was bad"));
    assert_eq!(drain(&mut world.server), Vec::<String>::new());
}

#[test]
fn wrong_calls_at_wrong_times_do_no_harm() {
    let mut world = World::new(QuicConfig::default());
    let nobody = Connection(12345 << 32 | 77);
    world.server.handle_output(ms(0));
    assert_eq!(drain(&mut world.server), Vec::<String>::new());
    world.server.close(nobody, &Reason::Left);
    world.server.pause(nobody);
    let mut client = world.client(ms(0));
    // Before it is connected.
    let early = Connection(0);
    let result = client.send(early, Delivery::Reliable, &[1, 0, 7]);
    assert_eq!(result, Err(NotSentError::NotConnected(early)));
    client.pause(early);
    let (here, there, now) = connect(&mut world, &mut client, ms(0));
    for _ in 0..2 {
        client.close(here, &Reason::Left);
        client.pause(here);
        assert!(client.send(here, Delivery::Unreliable, &[1, 0, 7]).is_err());
        assert_eq!(client.path(here), None);
    }
    client.handle_output(now);
    world.server.handle_input(now + ms(5));
    assert_eq!(drain(&mut world.server).len(), 1);
    assert!(world.server.send(there, Delivery::Reliable, &[1, 0, 7]).is_err());
}

#[test]
fn a_kicked_peer_that_goes_on_gets_no_more_packets_than_it_sends() {
    let mut world = World::new(QuicConfig::default());
    let address = SocketAddr::from(([10, 9, 9, 9], 1000));
    let is_deaf = Rc::new(RefCell::new(false));
    let socket = Deaf { socket: world.network.socket(address), is_deaf: is_deaf.clone() };
    let mut client = RawPeer::connect(socket, SERVER.into(), ms(0));
    let mut connection = None;
    let mut now = ms(0);
    for _ in 0..100 {
        now += ms(2);
        client.drive(now);
        world.server.handle_input(now);
        while let Some(event) = world.server.poll_event() {
            if let Event::Connected { connection: number, .. } = event {
                connection = Some(number);
            }
        }
        world.server.handle_output(now);
    }
    *is_deaf.borrow_mut() = true;
    world.server.close(connection.unwrap(), &Reason::kicked("out"));
    let count = |from: SocketAddr, to: SocketAddr| world.network.stats(from, to).sent;
    let before = [count(address, SERVER.into()), count(SERVER.into(), address)];
    for _ in 0..40 {
        now += ms(2);
        client.datagram(&[0, 1, 0, 7]);
        client.drive(now);
        world.server.handle_input(now);
        drain(&mut world.server);
        world.server.handle_output(now);
    }
    for _ in 0..400 {
        now += ms(10);
        world.server.handle_input(now);
        world.server.handle_output(now);
    }
    let from = count(address, SERVER.into()) - before[0];
    let to = count(SERVER.into(), address) - before[1];
    assert!(to <= from + 16, "{from} packets came, {to} went");
}

#[test]
fn a_peer_cannot_claim_what_only_this_side_can_know() {
    for claim in [Reason::TimedOut, Reason::TooSlow, Reason::Forgotten, Reason::ShuttingDown] {
        let mut world = World::new(QuicConfig::default());
        let mut client = world.client(ms(0));
        let (here, _, mut now) = connect(&mut world, &mut client, ms(0));
        client.close(here, &claim);
        client.handle_output(now);
        now += ms(5);
        world.server.handle_input(now);
        let Some(Event::Disconnected { reason, .. }) = world.server.poll_event() else { panic!() };
        assert_ne!(reason, claim, "the server has to say that the client said so");
    }
}

#[test]
fn a_peer_that_acknowledges_nothing_is_sent_little() {
    let mut world = World::new(QuicConfig::default());
    let address = SocketAddr::from(([10, 9, 9, 9], 1000));
    let is_deaf = Rc::new(RefCell::new(false));
    let socket = Deaf { socket: world.network.socket(address), is_deaf: is_deaf.clone() };
    let mut client = RawPeer::connect(socket, SERVER.into(), ms(0));
    let (mut connection, mut now) = (None, ms(0));
    let mut before = 0;
    for frame in 0..700 {
        now += ms(16);
        if frame < 100 {
            client.drive(now);
        } else if frame == 100 {
            *is_deaf.borrow_mut() = true;
            before = world.network.stats(SERVER.into(), address).sent;
        }
        world.server.handle_input(now);
        while let Some(event) = world.server.poll_event() {
            if let Event::Connected { connection: number, .. } = event {
                connection = Some(number);
            }
        }
        if let Some(connection) = connection {
            for _ in 0..10 {
                let _ = world.server.send(connection, Delivery::Unreliable, &[7; 1000]);
            }
        }
        world.server.handle_output(now);
    }
    let sent = world.network.stats(SERVER.into(), address).sent - before;
    assert!(sent < 300, "{sent} packets of a kilobyte in ten seconds of silence");
}

#[test]
fn a_socket_without_room_loses_nothing_that_is_reliable() {
    let mut world = World::new(QuicConfig::default());
    let is_choked = Rc::new(RefCell::new(false));
    let socket = world.network.socket(([10, 9, 9, 9], 1000).into());
    let socket = Choked { socket, is_choked: is_choked.clone() };
    let trust = Trust::Pinned(vec![world.certificate.fingerprint()]);
    let config = QuicConfig::default();
    let mut client =
        Quic::connect(socket, SERVER.into(), "game.example", &trust, config, ms(0)).unwrap();
    let (mut here, mut sent, mut came) = (None, 0, 0);
    for frame in 0..1500 {
        let now = ms(10) * frame;
        *is_choked.borrow_mut() = (frame / 50) % 3 == 2;
        client.handle_input(now);
        while let Some(event) = client.poll_event() {
            match event {
                Event::Connected { connection, .. } => here = Some(connection),
                other => panic!("{other:?}"),
            }
        }
        if let Some(here) = here.filter(|_| frame < 1000) {
            client.send(here, Delivery::ReliableOrdered, &[1, 0, 7]).unwrap();
            sent += 1;
        }
        client.handle_output(now);
        world.server.handle_input(now);
        came += drain(&mut world.server).iter().filter(|event| event.contains("Batch")).count();
        world.server.handle_output(now);
    }
    assert!(sent > 900);
    assert_eq!(came, sent);
}
