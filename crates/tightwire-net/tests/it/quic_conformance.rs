//! QUIC keeps the promises of every delivery, over every network.

use std::time::{Duration, Instant};

use tightwire::Delivery;
use tightwire::link::LinkConfig;
use tightwire::quic::{
    Certificate, Network, Quic, QuicConfig, SimulatedSocket, Socket, Trust, Udp,
};
use tightwire::transport::conformance::{self, Clock, Options, Pair, Report};
use tightwire::transport::{Connection, Event, Transport};

use crate::common::networks::{self, latency};
use crate::common::seed;
use crate::common::volume::volume;

fn batches() -> u32 {
    volume(1_000, 100_000)
}

fn pair<S: Socket>(
    server: S,
    client: S,
    config: QuicConfig,
    clock: Clock,
) -> Pair<Quic<S>, Quic<S>> {
    let certificate = Certificate::self_signed(["game.example"]).unwrap();
    let trust = Trust::Pinned(vec![certificate.fingerprint()]);
    let address = server.address();
    let server = Quic::listen(server, &certificate, config).unwrap();
    let now = Duration::ZERO;
    let client = Quic::connect(client, address, "game.example", &trust, config, now).unwrap();
    Pair { client, server, clock }
}

fn simulated(link: LinkConfig, seed: u64) -> Pair<Quic<SimulatedSocket>, Quic<SimulatedSocket>> {
    let seed = seed::seed(seed);
    let network = Network::new(link, seed);
    let server = network.socket(([10, 0, 0, 1], 7777).into());
    let client = network.socket(([10, 0, 0, 2], 1000).into());
    let config = QuicConfig {
        seed: Some(seed),
        // Many times what a game sends.
        packets_per_second: 1_000_000,
        // A burst of losses is counted in packets, and an idle connection sends few.
        idle_timeout: Duration::from_secs(60),
        ..QuicConfig::default()
    };
    pair(server, client, config, Clock::jumping())
}

fn judge(name: &str, link: LinkConfig, seed: u64) -> Report {
    let is_perfect = link == LinkConfig { latency: link.latency, ..LinkConfig::default() };
    // The largest batch takes about a minute over the worst of these networks.
    let timeout = Duration::from_secs(300);
    let options =
        Options { batches: batches(), is_perfect, burst: 8, timeout, ..Options::default() };
    let start = Instant::now();
    let report = conformance::run(|| simulated(link, seed), &options);
    let report = report.unwrap_or_else(|broken| panic!("{name}: {broken}"));
    println!("{name}, judged in {:.2} s:\n{report}\n", start.elapsed().as_secs_f64());
    for (delivery, figures) in Delivery::ALL.iter().zip(&report.deliveries) {
        assert_eq!(figures.sent, 2 * u64::from(batches()), "{delivery:?}");
        assert!(figures.arrived > figures.sent / 100, "{delivery:?}");
    }
    report
}

#[test]
fn promises_are_kept_over_a_perfect_link() {
    let report = judge("perfect", LinkConfig::default(), 1);
    assert!(report.deliveries.iter().all(|figures| figures.dropped() == 0));
}

#[test]
fn promises_are_kept_with_5_percent_lost() {
    let report = judge("5 % loss", LinkConfig { loss: 0.05, ..latency() }, 2);
    assert!(report.deliveries[Delivery::Reliable as usize].overtaken > 0);
}

#[test]
fn promises_are_kept_with_20_percent_lost() {
    let report = judge("20 % loss", LinkConfig { loss: 0.2, ..latency() }, 3);
    assert!(report.deliveries[Delivery::Reliable as usize].overtaken > 0);
}

#[test]
fn promises_are_kept_with_loss_in_bursts() {
    judge("bursts", LinkConfig { bursts: networks::bursts(), ..latency() }, 4);
}

#[test]
fn promises_are_kept_with_200_ms_of_jitter() {
    let jitter = Duration::from_millis(200);
    judge("200 ms jitter", LinkConfig { jitter, ..latency() }, 5);
}

#[test]
fn promises_are_kept_with_a_third_duplicated() {
    judge("33 % duplicated", LinkConfig { duplication: 0.33, ..latency() }, 6);
}

#[test]
fn promises_are_kept_with_a_third_out_of_order() {
    let report = judge("33 % reordered", LinkConfig { reordering: 0.33, ..latency() }, 7);
    assert!(report.deliveries[Delivery::Unreliable as usize].overtaken > 0);
    assert!(report.deliveries[Delivery::Reliable as usize].overtaken > 0);
}

#[test]
fn promises_are_kept_with_a_tenth_corrupted() {
    judge("10 % corrupted", LinkConfig { corruption: 0.1, ..latency() }, 8);
}

#[test]
fn promises_are_kept_with_little_bandwidth() {
    judge("4 MB/s", networks::narrow(), 9);
}

#[test]
fn promises_are_kept_with_everything_at_once() {
    judge("everything", networks::everything(), 10);
}

fn real() -> Pair<Quic<Udp>, Quic<Udp>> {
    let server = Udp::server("127.0.0.1:0".parse().unwrap()).unwrap();
    let client = Udp::client(server.address()).unwrap();
    pair(server, client, QuicConfig::default(), Clock::real())
}

/// The same code runs over simulated sockets; this test shows that real ones carry its packets.
#[test]
fn reliable_batches_arrive_over_real_sockets() {
    const COUNT: u8 = 20;
    let Pair { mut client, mut server, clock } = real();
    // Of one packet, and of many. A batch begins with its size.
    let batch = |number: u8| {
        let body = vec![number; if number.is_multiple_of(2) { 10 } else { 20_000 }];
        [&(body.len() as u32).to_le_bytes()[..], &body].concat()
    };
    let delivery = Delivery::ReliableOrderedFragmented;
    let mut arrived = [0; 2];
    while arrived != [COUNT; 2] {
        assert!(clock.now() < Duration::from_secs(20), "{arrived:?} arrived");
        for (end, arrived) in [&mut client, &mut server].into_iter().zip(&mut arrived) {
            end.handle_input(clock.now());
            let mut connected = None;
            while let Some(event) = end.poll_event() {
                match event {
                    Event::Connected { connection, .. } => connected = Some(connection),
                    Event::Batch { batch: bytes, .. } => {
                        assert!(bytes == batch(*arrived), "batch {arrived}");
                        *arrived += 1;
                    }
                    Event::Disconnected { reason, .. } => panic!("{reason}"),
                    _ => {}
                }
            }
            if let Some(connection) = connected {
                (0..COUNT).for_each(|number| {
                    end.send(connection, delivery, &batch(number)).unwrap();
                });
            }
            end.handle_output(clock.now());
        }
        std::thread::yield_now();
    }
}

#[test]
#[ignore = "a minute of real time: ./ci.sh nightly"]
fn promises_are_kept_over_real_sockets() {
    // A busy machine may lose packets itself.
    let options = Options { batches: 1000, burst: 4, is_perfect: false, ..Options::default() };
    let report = conformance::run(real, &options).unwrap();
    println!("real sockets:\n{report}");
    for figures in &report.deliveries {
        assert!(figures.arrived > figures.sent / 2);
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let link = LinkConfig { loss: 0.1, reordering: 0.1, ..latency() };
    let options = Options { batches: 500, burst: 8, is_perfect: false, ..Options::default() };
    let run = |seed| conformance::run(|| simulated(link, seed), &options).unwrap();
    let first = run(1);
    assert_eq!(run(1), first);
    assert_ne!(run(2).digest, first.digest);
}

/// Runs both ends at each of their due times, until this time. Returns the number of steps, and the
/// events of both, as text.
fn jump(
    Pair { client, server, .. }: &mut Pair<Quic<SimulatedSocket>, Quic<SimulatedSocket>>,
    until: Duration,
) -> (usize, Vec<String>) {
    let (mut steps, mut events) = (0, Vec::new());
    loop {
        let times = client.next_time().into_iter().chain(server.next_time());
        let Some(now) = times.min().filter(|now| *now < until) else { return (steps, events) };
        for end in [&mut *client, &mut *server] {
            end.handle_input(now);
            while let Some(event) = end.poll_event() {
                events.push(format!("{event:?}"));
            }
            end.handle_output(now);
        }
        steps += 1;
        assert!(steps < 100_000, "{now:?}");
    }
}

#[test]
fn a_clock_that_only_jumps_to_the_next_time_gets_everything_through() {
    let jitter = Duration::from_millis(7);
    let mut pair = simulated(LinkConfig { loss: 0.3, jitter, ..latency() }, 11);
    let (_, events) = jump(&mut pair, Duration::from_secs(5));
    assert_eq!(events.iter().filter(|event| event.starts_with("Connected")).count(), 2);
    for number in 0..200u8 {
        let batch = [1, 0, number];
        pair.client.send(Connection(0), Delivery::ReliableOrdered, &batch).unwrap();
    }
    pair.client.handle_output(Duration::from_secs(5));
    let (_, events) = jump(&mut pair, Duration::from_secs(60));
    let expected = (0..200).map(|number| format!("batch: [1, 0, {number}] }}"));
    assert!(events.iter().zip(expected).all(|(event, batch)| event.ends_with(&batch)));
    assert_eq!(events.len(), 200);
}

#[test]
fn an_idle_connection_lives_and_is_cheap() {
    let mut pair = simulated(latency(), 12);
    jump(&mut pair, Duration::from_secs(5));
    let before = pair.client.path(Connection(0)).unwrap();
    let (steps, events) = jump(&mut pair, Duration::from_secs(605));
    assert_eq!(events, [""; 0]);
    let path = pair.client.path(Connection(0)).unwrap();
    let (packets, bytes) =
        (path.packets_sent - before.packets_sent, path.bytes_sent - before.bytes_sent);
    println!("10 minutes idle: {steps} steps, {packets} packets of {bytes} bytes by the client");
    // Each side sends a packet every two seconds, and the other acks it.
    assert!(packets < 1000 && steps < 4000, "{packets} packets, {steps} steps");
    assert_eq!(path.backlog, 0);
}
