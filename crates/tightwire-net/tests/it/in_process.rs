//! The in-process transport keeps its promises over every network, and the suite that says so can
//! fail.

use std::time::{Duration, Instant};

use tightwire::Delivery;
use tightwire::link::LinkConfig;
use tightwire::transport::conformance::{self, Options, Report};
use tightwire::transport::{Event, InProcess, InProcessConfig, NotSentError, Reason, Transport};

use crate::common::networks::{self, latency};
use crate::common::volume::volume;
use crate::common::{pair, ready_pair};

fn batches() -> u32 {
    volume(3_000, 100_000)
}

fn judge(name: &str, link: LinkConfig, seed: u64) -> Report {
    let mut config = InProcessConfig { link, ..InProcessConfig::default() };
    // With small ones, less has to be sent until they are full.
    let limits = (config.backlog, config.receive_limit);
    (config.backlog, config.receive_limit) = volume((1 << 19, 1 << 19), limits);
    let is_perfect = link == LinkConfig { latency: link.latency, ..LinkConfig::default() };
    let options = Options { batches: batches(), is_perfect, ..Options::default() };
    let start = Instant::now();
    let report = conformance::run(|| pair(config, seed), &options);
    let report = report.unwrap_or_else(|broken| panic!("{name}: {broken}"));
    println!("{name}, judged in {:.2} s:\n{report}\n", start.elapsed().as_secs_f64());
    for (delivery, figures) in Delivery::ALL.iter().zip(&report.deliveries) {
        assert_eq!(figures.sent, 2 * u64::from(batches()), "{delivery:?}");
        assert!(figures.arrived > figures.sent / 100, "{delivery:?}");
    }
    report
}

promises_are_kept!();

#[test]
fn promises_are_kept_over_a_long_way() {
    judge("30 ms", latency(), 1);
}

#[test]
fn the_same_seed_goes_the_same_way() {
    let link = LinkConfig { loss: 0.1, reordering: 0.1, ..latency() };
    let config = InProcessConfig { link, ..InProcessConfig::default() };
    let options = Options { batches: 2000, is_perfect: false, ..Options::default() };
    let run = |seed| conformance::run(|| pair(config, seed), &options).unwrap();
    let first = run(1);
    assert_eq!(run(1), first);
    assert_ne!(run(2).digest, first.digest);
}

#[test]
fn a_clock_that_only_jumps_to_the_next_time_gets_everything_through() {
    let config = InProcessConfig {
        link: LinkConfig { loss: 0.3, jitter: Duration::from_millis(7), ..latency() },
        ..InProcessConfig::default()
    };
    let (mut client, mut server, connection) = ready_pair(config, 11);
    for number in 0..200u8 {
        client.send(connection, Delivery::ReliableOrdered, &[1, 0, number]).unwrap();
    }
    client.handle_output(Duration::ZERO);
    let (mut received, mut steps) = (Vec::new(), 0);
    while received.len() < 200 {
        let now = client.next_time().unwrap().min(server.next_time().unwrap());
        for end in [&mut client, &mut server] {
            end.handle_input(now);
            while let Some(event) = end.poll_event() {
                if let Event::Batch { batch, .. } = event {
                    received.push(batch[2]);
                }
            }
            end.handle_output(now);
        }
        steps += 1;
        assert!(steps < 10_000);
    }
    assert!(received.iter().copied().eq(0..200));
}

#[test]
fn an_idle_connection_lives_and_is_cheap() {
    let config = InProcessConfig { link: latency(), ..InProcessConfig::default() };
    let (mut client, mut server, connection) = ready_pair(config, 12);
    let mut frames = 0;
    loop {
        let now = client.next_time().unwrap().min(server.next_time().unwrap());
        if now > Duration::from_secs(600) {
            break;
        }
        for end in [&mut client, &mut server] {
            end.handle_input(now);
            assert_eq!(end.poll_event(), None);
            end.handle_output(now);
        }
        frames += 1;
    }
    let path = client.path(connection).unwrap();
    println!("10 minutes idle: {frames} frames, {} bytes sent by each end", path.bytes_sent);
    assert!(frames < 2500 && path.packets_sent < 610, "{frames} frames, {path:?}");
    assert_eq!(path.round_trip, Duration::from_millis(60));
    assert_eq!((path.loss, path.backlog, path.dropped), (0.0, 0, 0));
}

#[test]
fn the_path_says_what_the_link_does() {
    let config = InProcessConfig {
        link: LinkConfig { loss: 0.2, duplication: 0.3, ..latency() },
        ..InProcessConfig::default()
    };
    let (mut client, mut server, connection) = ready_pair(config, 13);
    for frame in 0..2000 {
        let now = Duration::from_millis(5 * frame);
        for end in [&mut client, &mut server] {
            end.handle_input(now);
            while end.poll_event().is_some() {}
            for delivery in [Delivery::Unreliable, Delivery::Reliable] {
                end.send(connection, delivery, &[1, 0, 7]).unwrap();
            }
            end.handle_output(now);
        }
    }
    let path = client.path(connection).unwrap();
    println!("{path:?}");
    assert!((0.18..0.22).contains(&path.loss), "{path:?}");
    let round_trip = path.round_trip.as_millis();
    assert!((60..75).contains(&round_trip), "{path:?}");
    assert_eq!(path.packets_sent, client.link_stats().sent);
    assert_eq!(path.packets_received, server.link_stats().delivered);
}

#[test]
fn a_silent_end_is_timed_out_and_a_network_can_be_changed() {
    let (mut client, mut server, connection) = ready_pair(InProcessConfig::default(), 14);
    server.set_link(LinkConfig { loss: 1.0, ..LinkConfig::default() });
    let mut ends = Vec::new();
    for frame in 0..400 {
        let now = Duration::from_millis(50 * frame);
        for (name, end) in [("client", &mut client), ("server", &mut server)] {
            end.handle_input(now);
            while let Some(event) = end.poll_event() {
                ends.push((name, now.as_millis(), format!("{event:?}")));
            }
            end.handle_output(now);
        }
    }
    let disconnected =
        format!("{:?}", Event::Disconnected { connection, reason: Reason::TimedOut });
    // The client tells it to the server, which has heard everything.
    assert_eq!(ends, [("client", 10_000, disconnected.clone()), ("server", 10_000, disconnected)]);
    assert_eq!(
        client.send(connection, Delivery::Reliable, &[1, 0, 7]),
        Err(NotSentError::NotConnected(connection))
    );
    assert!(server.link_stats().lost > 0);
}

#[test]
fn unreliable_batches_that_nobody_polls_are_dropped_the_oldest_first() {
    let config = InProcessConfig { receive_limit: 10_000, ..InProcessConfig::default() };
    let (mut client, mut server, connection) = ready_pair(config, 15);
    for number in 0..1000u16 {
        let [low, high] = number.to_le_bytes();
        client.send(connection, Delivery::Unreliable, &[2, 0, low, high]).unwrap();
    }
    client.handle_output(Duration::ZERO);
    server.handle_input(Duration::ZERO);
    let mut received = Vec::new();
    while let Some(event) = server.poll_event() {
        let Event::Batch { batch, .. } = event else { panic!("{event:?}") };
        received.push(u16::from_le_bytes([batch[2], batch[3]]));
    }
    assert!(received.len() > 100 && received.len() < 200, "{}", received.len());
    let first = 1000 - received.len() as u16;
    assert!(received.iter().copied().eq(first..1000));
    assert_eq!(server.path(connection).unwrap().dropped, u64::from(first));
}

#[test]
fn what_was_sent_in_the_frame_of_the_close_has_its_chance() {
    let (mut client, mut server, connection) = ready_pair(InProcessConfig::default(), 16);
    client.send(connection, Delivery::ReliableOrdered, &[1, 0, 7]).unwrap();
    client.close(connection, &Reason::Left);
    client.handle_output(Duration::ZERO);
    server.handle_input(Duration::ZERO);
    let delivery = Delivery::ReliableOrdered;
    let batch: &[u8] = &[1, 0, 7];
    assert_eq!(server.poll_event(), Some(Event::Batch { from: connection, delivery, batch }));
    let reason = Reason::Left;
    assert_eq!(server.poll_event(), Some(Event::Disconnected { connection, reason }));
    // Both know of each other that it is over, and nothing is left to do.
    server.handle_output(Duration::ZERO);
    client.handle_input(Duration::ZERO);
    assert_eq!((client.next_time(), server.next_time()), (None, None));
}

#[test]
fn the_ends_can_be_in_different_threads() {
    let (mut client, mut server) = InProcess::pair(InProcessConfig::default(), 17);
    // Time stands still: whoever is later for the other thread's sake is not late.
    let now = Duration::ZERO;
    let server = std::thread::spawn(move || {
        loop {
            server.handle_input(now);
            while let Some(event) = server.poll_event() {
                if let Event::Disconnected { reason, .. } = event {
                    server.handle_output(now);
                    return reason;
                }
            }
            server.handle_output(now);
            std::thread::yield_now();
        }
    });
    client.handle_input(now);
    let Some(Event::Connected { connection, .. }) = client.poll_event() else { panic!() };
    client.close(connection, &Reason::ShuttingDown);
    client.handle_output(now);
    assert_eq!(server.join().unwrap(), Reason::ShuttingDown);
}

#[test]
fn an_idle_connection_survives_bursts_of_loss() {
    let config = InProcessConfig {
        link: LinkConfig { bursts: networks::bursts(), loss: 0.1, ..latency() },
        ..InProcessConfig::default()
    };
    for seed in 0..50 {
        let (mut client, mut server, _) = ready_pair(config, seed);
        loop {
            let now = client.next_time().unwrap().min(server.next_time().unwrap());
            if now > Duration::from_secs(600) {
                break;
            }
            for end in [&mut client, &mut server] {
                end.handle_input(now);
                assert_eq!(end.poll_event(), None, "seed {seed}, {now:?}");
                end.handle_output(now);
            }
        }
    }
}
