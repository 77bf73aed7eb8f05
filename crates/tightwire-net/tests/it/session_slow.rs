//! A client that does not keep up, over QUIC: its cost for the server, and its end.

use std::time::Duration;

use tightwire::Delivery;
use tightwire::SessionConfig;
use tightwire::message::SendError;
use tightwire::quic::QuicConfig;
use tightwire::transport::Reason;

use crate::common::arena::{Arena, STEP, World, quic};

const MINUTE: Duration = Duration::from_secs(60);
/// Bytes that are sent reliably in a frame.
const LENGTH: usize = 15_000;

/// Way in which a client does not keep up.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Slow {
    /// The client receives until it has no room, and handles nothing.
    NotHandling,
    /// The client does not read its socket.
    NotReceiving,
}

/// Runs until the server disconnects the client, and returns the server's peak memory for it.
fn overwhelm(slow: Slow) -> u64 {
    let (mut arena, _) = quic(crate::common::networks::latency(), 1, 2, 0);
    arena.run(MINUTE, |arena| arena.transcript.peers().len() == 2);
    let end = arena.now + Duration::from_secs(1);
    arena.run(MINUTE, |arena| arena.now >= end);
    let [peer, good] = arena.transcript.peers()[..] else {
        panic!("{:?}", arena.transcript.events)
    };
    let (mut client, mut client_heard) = arena.clients.remove(0);
    let start = arena.now;
    let (mut live, mut most, mut sent) = (0_i64, 0_u64, 0);
    let (mut dropping, mut blocked, mut backlog) = (None, None, 0);
    while arena.transcript.reasons().is_empty() {
        assert!(arena.now - start < MINUTE);
        arena.now += STEP;
        let now = arena.now;
        for (client, transcript) in &mut arena.clients {
            client.receive(now, transcript);
            client.transmit(now);
        }
        if slow == Slow::NotHandling {
            client.handle_input(now);
            client.transmit(now);
        }
        let Arena { server, transcript, .. } = &mut arena;
        let server = server.as_mut().unwrap();
        let info = allocation_counter::measure(|| {
            server.receive(now, transcript);
            server.transmit(now);
            for to in [peer, good] {
                let small = World { number: sent, data: vec![sent as u8; 30] };
                let large = World { number: sent, data: vec![sent as u8; LENGTH] };
                let unreliable = server.send(to, &small, Delivery::Unreliable);
                let reliable = server.send(to, &large, Delivery::ReliableOrderedFragmented);
                if to == good {
                    unreliable.unwrap();
                    reliable.unwrap();
                } else if matches!(reliable, Err(SendError::Blocked(_))) {
                    blocked.get_or_insert(now - start);
                } else if blocked.is_none() {
                    reliable.unwrap();
                }
            }
        });
        sent += 1;
        most = most.max((live + info.bytes_max as i64) as u64);
        live += info.bytes_current;
        if let Some(report) = server.stats(peer) {
            backlog = backlog.max(report.path.backlog);
            if report.batches_dropped > 0 {
                dropping.get_or_insert(now - start);
            }
        }
        transcript.events.extend(std::iter::from_fn(|| server.poll_event()));
    }
    let ended = arena.now - start;
    let (dropping, blocked) = (dropping.unwrap(), blocked.unwrap());
    println!(
        "{slow:?}: unreliable ones dropped after {dropping:?}, refused after {blocked:?}, the end after \
         {ended:?}; at most {backlog} bytes waited, and the server took {most}"
    );
    assert_eq!(arena.transcript.reasons(), [Reason::TooSlow]);
    assert!(dropping < blocked, "{dropping:?}, {blocked:?}");
    let config = SessionConfig::default();
    assert!(ended - blocked >= config.stall_timeout, "{blocked:?}, {ended:?}");
    assert!(ended - blocked <= config.stall_timeout + 2 * STEP, "{blocked:?}, {ended:?}");
    assert!(backlog <= config.max_backlog + 2 * (LENGTH + 100), "{backlog}");

    // Both ends get the reason, as soon as the client reads its socket.
    let until = arena.now + Duration::from_secs(1);
    while arena.now < until {
        arena.step();
        client.receive(arena.now, &mut client_heard);
        client.transmit(arena.now);
        client_heard.events.extend(std::iter::from_fn(|| client.poll_event()));
    }
    assert_eq!(client_heard.reasons(), [Reason::TooSlow]);
    let (_, transcript) = &arena.clients[0];
    let fragmented = Delivery::ReliableOrderedFragmented as usize;
    let large = transcript.numbers.iter().find(|((_, _, delivery), _)| *delivery == fragmented);
    assert!(large.unwrap().1.iter().copied().eq(0..sent), "nobody else is harmed");
    most
}

#[test]
fn a_client_that_handles_nothing_costs_no_more_than_the_limits_say() {
    let most = overwhelm(Slow::NotHandling);
    let (session, quic) = (SessionConfig::default(), QuicConfig::default());
    // Unacked data in QUIC, and the messages of the frame before and of this one; and the backlog
    // until more is refused.
    let good = quic.send_window as usize + quic.send_datagrams + 2 * LENGTH;
    let slow = session.max_backlog + good;
    assert!(most < (slow + good) as u64, "{most}, where the limits are {slow} and {good}");
}

#[test]
fn a_client_gets_its_end_after_an_outage() {
    overwhelm(Slow::NotReceiving);
}
