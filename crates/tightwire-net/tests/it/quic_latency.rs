//! The age of state when it arrives.

use std::time::Duration;

use tightwire::link::{Bandwidth, LinkConfig};
use tightwire::quic::{Certificate, Network, Quic, QuicConfig, SimulatedSocket, Trust};
use tightwire::transport::{Connection, Event, Transport};
use tightwire::{Client, Context, Delivery, Message, Server, SessionConfig, Wire};

use crate::common::seed;

type End = Quic<SimulatedSocket>;

fn pair(link: LinkConfig, seed: u64) -> (End, End) {
    let seed = seed::seed(seed);
    let network = Network::new(link, seed);
    let address = ([10, 0, 0, 1], 7777).into();
    let certificate = Certificate::self_signed(["game.example"]).unwrap();
    let trust = Trust::Pinned(vec![certificate.fingerprint()]);
    let config = QuicConfig { seed: Some(seed), ..QuicConfig::default() };
    let server = Quic::listen(network.socket(address), &certificate, config).unwrap();
    let socket = network.socket(([10, 0, 0, 2], 1000).into());
    let now = Duration::ZERO;
    let client = Quic::connect(socket, address, "game.example", &trust, config, now).unwrap();
    (client, server)
}

#[derive(Debug)]
struct Ages {
    median: Duration,
    worst: Duration,
    arrived: usize,
}

/// Runs a server that sends 1100 bytes of state 60 times a second for a minute.
fn ages(link: LinkConfig) -> Ages {
    let (mut client, mut server) = pair(link, 1);
    let mut ages = Vec::new();
    let mut to: Option<Connection> = None;
    for millisecond in 0..3600 * 17_u64 {
        let now = Duration::from_millis(millisecond);
        server.handle_input(now);
        while let Some(event) = server.poll_event() {
            if let Event::Connected { connection, .. } = event {
                to = Some(connection);
            }
        }
        if let (Some(to), true) = (to, millisecond % 17 == 0) {
            let mut batch = [0; 1100];
            batch[..8].copy_from_slice(&millisecond.to_le_bytes());
            server.send(to, Delivery::UnreliableSequenced, &batch).unwrap();
        }
        server.handle_output(now);
        client.handle_input(now);
        while let Some(event) = client.poll_event() {
            if let Event::Batch { batch, .. } = event {
                let sent = u64::from_le_bytes(batch[..8].try_into().unwrap());
                ages.push(Duration::from_millis(millisecond - sent));
            }
        }
        client.handle_output(now);
    }
    ages.sort();
    Ages { median: ages[ages.len() / 2], worst: ages[ages.len() - 1], arrived: ages.len() }
}

/// Latency for a round-trip time of 100 ms.
const LATENCY: Duration = Duration::from_millis(50);

#[test]
fn state_age_equals_link_latency_also_under_loss() {
    for (loss, worst) in [(0.0, 50), (0.05, 60), (0.2, 150)] {
        let ages = ages(LinkConfig { latency: LATENCY, loss, ..LinkConfig::default() });
        println!("{loss} lost: {ages:?}");
        assert_eq!(ages.median, LATENCY, "{loss}");
        assert!(ages.worst <= Duration::from_millis(worst), "{ages:?}");
        assert!(ages.arrived as f64 > 3600.0 * (1.0 - loss - 0.03), "{ages:?}");
    }
}

/// The time at which it was sent, in milliseconds.
#[derive(Wire, Message, Default)]
struct Stamp {
    sent: u64,
}

/// A game receives, steps, sends and transmits in one frame. If a session received and transmitted in
/// one call, what is sent after it would wait for the next frame.
#[test]
fn a_message_of_a_session_takes_the_latency_of_the_link_and_no_frame_more() {
    const FRAME: u64 = 17;
    let (client, server) = pair(LinkConfig { latency: LATENCY, ..LinkConfig::default() }, 1);
    let config = SessionConfig::new("arena", "1.0");
    let arrived = |stamp: &Stamp, context: &mut Context<'_, Vec<u64>>| {
        context.state.push(stamp.sent);
    };
    let server = Server::builder(config.clone()).handle(arrived).open_to_anyone().build(server);
    let client = Client::builder(config).handle(arrived).build(client);
    let (mut server, mut client) = (server.unwrap(), client.unwrap());
    let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
    let mut ages = [Vec::new(), Vec::new()];
    for millisecond in 0..20_000 {
        let now = Duration::from_millis(millisecond);
        // Both look at what came in each millisecond, and send as often as a game does.
        let stamp = (millisecond % FRAME == 0).then_some(Stamp { sent: millisecond });
        server.receive(now, &mut to_server);
        if let (Some(stamp), Some(peer)) = (&stamp, server.peers().next()) {
            server.send(peer, stamp, Delivery::Reliable).unwrap();
        }
        if stamp.is_some() {
            server.transmit(now);
        }
        client.receive(now, &mut to_client);
        if let (Some(stamp), Some(_)) = (&stamp, client.server()) {
            client.send(stamp, Delivery::Reliable).unwrap();
        }
        if stamp.is_some() {
            client.transmit(now);
        }
        for (ages, arrived) in ages.iter_mut().zip([&mut to_server, &mut to_client]) {
            ages.extend(arrived.drain(..).map(|sent| Duration::from_millis(millisecond - sent)));
        }
    }
    for ages in &mut ages {
        ages.sort();
        assert!(ages.len() > 1000, "{} arrived", ages.len());
        // The first ones wait for the handshake.
        assert_eq!((ages[0], ages[ages.len() * 9 / 10]), (LATENCY, LATENCY));
    }
}

#[test]
fn jitter_does_not_shrink_the_window() {
    let jitter = Duration::from_millis(200);
    let ages = ages(LinkConfig { latency: LATENCY, jitter, ..LinkConfig::default() });
    println!("jitter of 200 ms: {ages:?}");
    assert!(ages.worst <= LATENCY + jitter + Duration::from_millis(20), "{ages:?}");
    assert!(ages.arrived > 3500, "{ages:?}");
}

#[test]
fn under_low_bandwidth_the_oldest_datagrams_are_dropped() {
    // 66,000 bytes a second are sent. Another congestion controller would fill a queue of 5
    // seconds.
    let bandwidth = Some(Bandwidth { bytes_per_second: 40_000, queue_bytes: 200_000 });
    let ages = ages(LinkConfig { latency: LATENCY, bandwidth, ..LinkConfig::default() });
    println!("40,000 bytes each second: {ages:?}");
    assert!(ages.median < Duration::from_millis(600), "{ages:?}");
    assert!(ages.worst < Duration::from_millis(1200), "{ages:?}");
    // The bandwidth is used.
    assert!(ages.arrived > 2000, "{ages:?}");
}
