//! Limits and times at their extremes.

use std::time::Duration;

use tightwire::Delivery;
use tightwire::link::LinkConfig;
use tightwire::quic::{Certificate, Network, Quic, QuicConfig};
use tightwire::transport::{Connection, InProcess, Reason, Transport};

use super::world::*;
#[test]
fn a_handshake_may_last_for_ever() {
    let config = QuicConfig { handshake_timeout: Duration::MAX, ..QuicConfig::default() };
    let _ = try_limits(config);
}

#[test]
fn a_keep_alive_may_be_never() {
    let _ = try_limits(QuicConfig { keep_alive: Duration::MAX, ..QuicConfig::default() });
}

#[test]
fn a_keep_alive_may_be_always() {
    let _ = try_limits(QuicConfig { keep_alive: Duration::ZERO, ..QuicConfig::default() });
}

#[test]
fn no_packets_each_second_is_an_error_or_works() {
    let _ = try_limits(QuicConfig { packets_per_second: 0, ..QuicConfig::default() });
}

#[test]
fn no_window_is_an_error_or_works() {
    let _ = try_limits(QuicConfig { receive_window: 0, ..QuicConfig::default() });
}

#[test]
fn no_send_window_is_an_error_or_works() {
    let _ = try_limits(QuicConfig { send_window: 0, ..QuicConfig::default() });
}

#[test]
fn no_reliable_streams_is_an_error_or_works() {
    let _ = try_limits(QuicConfig { reliable_streams: 0, ..QuicConfig::default() });
}

#[test]
fn the_largest_limits_work() {
    let most = QuicConfig {
        max_connections: usize::MAX,
        max_per_address: usize::MAX,
        max_handshakes: usize::MAX,
        packets_per_second: u32::MAX,
        packets_per_input: usize::MAX,
        max_fragmented: usize::MAX,
        send_window: u32::MAX,
        receive_window: u32::MAX,
        send_datagrams: usize::MAX,
        receive_datagrams: usize::MAX,
        ..QuicConfig::default()
    };
    assert_eq!(try_limits(most), Ok(()));
}

#[test]
fn an_idle_timeout_of_nothing_is_an_error_or_short() {
    let config = QuicConfig { idle_timeout: Duration::ZERO, ..QuicConfig::default() };
    let certificate = Certificate::self_signed(["game.example"]).unwrap();
    let network = Network::new(LinkConfig::default(), 1);
    let Ok(server) = Quic::listen(network.socket(SERVER.into()), &certificate, config) else {
        return;
    };
    let mut world = World { network, certificate, server };
    let mut client = world.client_at(([10, 9, 9, 9], 1000).into(), config, ms(0));
    let (_, _, mut now) = connect(&mut world, &mut client, ms(0));
    let mut events = Vec::new();
    for _ in 0..600 {
        now += ms(1000);
        world.server.handle_input(now);
        events.append(&mut drain(&mut world.server));
        world.server.handle_output(now);
    }
    assert_eq!(events.len(), 1, "after ten minutes without the client");
}

#[test]
fn quic_survives_the_largest_time() {
    let mut world = World::new(QuicConfig::default());
    let mut client = world.client(ms(0));
    let (here, there, _) = connect(&mut world, &mut client, ms(0));
    let now = Duration::MAX;
    client.handle_input(now);
    let _ = client.send(here, Delivery::Reliable, &[1, 0, 7]);
    client.handle_output(now);
    world.server.handle_input(now);
    drain(&mut world.server);
    let _ = world.server.next_time();
    world.server.close(there, &Reason::Left);
    world.server.handle_output(now);
    let _ = world.server.next_time();
}

#[test]
fn two_ends_in_one_process_survive_the_largest_time() {
    let (mut client, mut server) = InProcess::pair();
    for now in [ms(0), Duration::MAX, ms(5)] {
        for end in [&mut client, &mut server] {
            end.handle_input(now);
            drain(end);
            let _ = end.send(Connection(1), Delivery::Reliable, &[1, 0, 7]);
            end.handle_output(now);
            let _ = end.next_time();
            end.handle_input(now);
        }
    }
    server.close(Connection(1), &Reason::Left);
    server.handle_output(Duration::MAX);
}

#[test]
fn quic_survives_a_clock_that_goes_back() {
    let mut world = World::new(QuicConfig::default());
    let mut client = world.client(ms(100_000));
    let (here, _, _) = connect(&mut world, &mut client, ms(100_000));
    let mut came = 0;
    for now in [50_000, 0, 10, 20, 99_000, 100_500, 100_600, 100_700].map(ms) {
        let _ = client.send(here, Delivery::Reliable, &[1, 0, 7]);
        for _ in 0..3 {
            client.handle_input(now);
            drain(&mut client);
            client.handle_output(now);
            world.server.handle_input(now);
            came += drain(&mut world.server).iter().filter(|event| event.contains("Batch")).count();
            world.server.handle_output(now);
        }
    }
    assert_eq!(came, 8);
}
