//! New connections, and their source addresses.

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use tightwire::Delivery;
use tightwire::quic::{Certificate, Quic, QuicConfig, Trust};
use tightwire::transport::{Connection, Event, Transport};

use super::world::*;

#[test]
fn clients_connect_during_a_flood_of_first_packets() {
    new_client_in_flood(([10, 9, 9, 9], 1000).into());
}

/// The same, except for the order in which the simulated network delivers packets: by address.
#[test]
fn clients_connect_before_a_flood_of_first_packets() {
    new_client_in_flood(([10, 0, 0, 9], 1000).into());
}

#[test]
fn a_hundred_clients_connect_in_one_frame() {
    let mut world = World::new(QuicConfig::default());
    let mut clients: Vec<_> = (0..100)
        .map(|index| {
            let address = SocketAddr::from(([10, 2, 0, index], 1000));
            world.client_at(address, QuicConfig::default(), ms(0))
        })
        .collect();
    let mut connected = 0;
    for frame in 0..25 {
        let now = ms(20) * frame;
        for client in &mut clients {
            client.handle_input(now);
            connected += drain(client).iter().filter(|event| event.contains("Connected {")).count();
            client.handle_output(now);
        }
        world.server.handle_input(now);
        drain(&mut world.server);
        world.server.handle_output(now);
    }
    assert_eq!(connected, 100);
}

#[test]
fn forged_first_packets_do_not_keep_the_owner_of_their_address_out() {
    let mut world = World::new(QuicConfig::default());
    for (index, bytes) in first_packets(64).iter().enumerate() {
        inject(&world.network, ([10, 9, 9, 9], 2000 + index as u16).into(), bytes, ms(0));
    }
    world.server.handle_input(ms(0));
    world.server.handle_output(ms(0));
    let mut client = world.client(ms(10));
    let mut events = Vec::new();
    for frame in 1..100 {
        let now = ms(10) * frame;
        client.handle_input(now);
        events.append(&mut drain(&mut client));
        client.handle_output(now);
        world.server.handle_input(now);
        drain(&mut world.server);
        world.server.handle_output(now);
    }
    assert!(events.iter().any(|event| event.contains("Connected {")), "{events:?}");
}

#[test]
fn the_addresses_of_one_ipv6_network_count_as_one() {
    let config = QuicConfig { max_per_address: 4, ..QuicConfig::default() };
    let mut world = World::new(config);
    let mut clients: Vec<_> = (0..12)
        .map(|index| {
            let ip: IpAddr = format!("2001:db8::{index}").parse().unwrap();
            world.client_at((ip, 1000).into(), QuicConfig::default(), ms(0))
        })
        .collect();
    let mut connected = 0;
    for frame in 0..50 {
        let now = ms(10) * frame;
        for client in &mut clients {
            client.handle_input(now);
            drain(client);
            client.handle_output(now);
        }
        world.server.handle_input(now);
        let events = drain(&mut world.server);
        connected += events.iter().filter(|event| event.contains("Connected {")).count();
        world.server.handle_output(now);
    }
    assert!(connected <= 4, "{connected}");
}

#[test]
fn forged_packets_with_the_address_of_a_client_do_not_silence_it() {
    let mut world = World::new(QuicConfig::default());
    let mut client = world.client(ms(0));
    let (here, _, mut now) = connect(&mut world, &mut client, ms(0));
    let (mut sent, mut came, mut ended) = (0, 0, None);
    for frame in 0..(12_000 / 16) {
        now += ms(16);
        for _ in 0..200 {
            inject(&world.network, ([10, 9, 9, 9], 1000).into(), &[0x40; 30], now);
        }
        client.handle_input(now);
        drain(&mut client);
        if frame % 10 == 0 && client.send(here, Delivery::Unreliable, &[1, 0, 7]).is_ok() {
            sent += 1;
        }
        client.handle_output(now);
        world.server.handle_input(now);
        while let Some(event) = world.server.poll_event() {
            match event {
                Event::Batch { .. } => came += 1,
                Event::Disconnected { reason, .. } => ended = Some(reason),
                _ => {}
            }
        }
        world.server.handle_output(now);
    }
    assert_eq!(ended, None, "{came} of {sent}");
    assert!(came > sent / 2, "{came} of {sent}");
}

#[test]
fn a_client_with_another_address_stays_and_is_counted_there() {
    let config = QuicConfig { max_per_address: 1, ..QuicConfig::default() };
    let mut world = World::new(config);
    let addresses = [9, 8].map(|ip| SocketAddr::from(([10, 9, 9, ip], 1000)));
    let place = Rc::new(RefCell::new(0));
    let sockets = addresses.map(|address| world.network.socket(address));
    let socket = Moving { sockets, place: place.clone() };
    let trust = Trust::Pinned(vec![world.certificate.fingerprint()]);
    let quic = QuicConfig::default();
    let mut client =
        Quic::connect(socket, SERVER.into(), "game.example", &trust, quic, ms(0)).unwrap();
    let (mut here, mut came, mut now) = (None, 0, ms(0));
    let mut run = |client: &mut Quic<Moving>,
                   world: &mut World,
                   here: &mut Option<Connection>,
                   came: &mut u32| {
        for _ in 0..50 {
            now += ms(10);
            client.handle_input(now);
            while let Some(event) = client.poll_event() {
                match event {
                    Event::Connected { connection, .. } => *here = Some(connection),
                    other => panic!("{other:?}"),
                }
            }
            if let Some(here) = *here {
                client.send(here, Delivery::Reliable, &[1, 0, 7]).unwrap();
            }
            client.handle_output(now);
            world.server.handle_input(now);
            while let Some(event) = world.server.poll_event() {
                match event {
                    Event::Batch { .. } => *came += 1,
                    Event::Disconnected { reason, .. } => panic!("{reason}"),
                    _ => {}
                }
            }
            world.server.handle_output(now);
        }
        now
    };
    run(&mut client, &mut world, &mut here, &mut came);
    *place.borrow_mut() = 1;
    let before = came;
    let now = run(&mut client, &mut world, &mut here, &mut came);
    assert!(came > before + 30, "{before} {came}");
    // The old address is free, the new one is not.
    let mut connect = |ip, port| {
        let address = SocketAddr::from(([10, 9, 9, ip], port));
        let mut other = world.client_at(address, QuicConfig::default(), now);
        let mut events = Vec::new();
        for frame in 1..50 {
            let now = now + ms(10) * frame;
            other.handle_input(now);
            events.append(&mut drain(&mut other));
            other.handle_output(now);
            world.server.handle_input(now);
            drain(&mut world.server);
            world.server.handle_output(now);
        }
        events
    };
    let (old, new) = (connect(9, 5000), connect(8, 5000));
    assert!(old.len() == 1 && old[0].starts_with("Connected"), "{old:?}");
    assert!(new.len() == 1 && new[0].contains("Busy"), "{new:?}");
}

#[test]
fn an_ipv4_client_of_a_server_for_both_has_its_ipv4_address() {
    use tightwire::quic::Udp;
    let Ok(socket) = Udp::server("[::]:0".parse().unwrap()) else { return };
    let certificate = Certificate::self_signed(["game.example"]).unwrap();
    let mut server = Quic::listen(socket, &certificate, QuicConfig::default()).unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], server.address().port()));
    let trust = Trust::Pinned(vec![certificate.fingerprint()]);
    let start = std::time::Instant::now();
    let mut client = Quic::connect(
        Udp::client(address).unwrap(),
        address,
        "game.example",
        &trust,
        QuicConfig::default(),
        start.elapsed(),
    )
    .unwrap();
    // A machine with much other work may take seconds for a handshake.
    while start.elapsed() < ms(20_000) {
        let now = start.elapsed();
        client.handle_input(now);
        drain(&mut client);
        client.handle_output(now);
        server.handle_input(now);
        if let Some(Event::Connected { address, .. }) = server.poll_event() {
            assert!(address.unwrap().is_ipv4(), "{address:?}");
            return;
        }
        server.handle_output(now);
        std::thread::sleep(ms(2));
    }
    panic!("not connected");
}
