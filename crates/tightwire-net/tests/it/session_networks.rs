//! Whole sessions over bad networks.

use std::time::Duration;

use tightwire::SessionConfig;
use tightwire::link::LinkConfig;
use tightwire::quic::QuicConfig;
use tightwire::recording::{Recorder, Replay};
use tightwire::session::PeerReport;
use tightwire::token::{TokenError, TokenKey};
use tightwire::transport::{Reason, Transport};

use crate::common::arena::{
    Arena, Door, SERVER, Transcript, address, in_process, key, quic, quic_with, server,
    server_frame, session_config, token,
};
use crate::common::networks::{bursts, everything, latency};
use crate::common::volume::volume;

const CLIENTS: usize = 3;
fn count() -> u32 {
    volume(100, 1000)
}
const MINUTE: Duration = Duration::from_secs(60);

fn networks() -> [(&'static str, LinkConfig); 9] {
    [
        ("perfect", LinkConfig::default()),
        ("30 ms", latency()),
        ("5 % loss", LinkConfig { loss: 0.05, ..latency() }),
        ("20 % loss", LinkConfig { loss: 0.2, ..latency() }),
        ("bursts", LinkConfig { bursts: bursts(), ..latency() }),
        ("200 ms jitter", LinkConfig { jitter: Duration::from_millis(200), ..latency() }),
        ("33 % duplicated", LinkConfig { duplication: 0.33, ..latency() }),
        ("33 % reordered", LinkConfig { reordering: 0.33, ..latency() }),
        ("everything", everything()),
    ]
}

/// Plays an arena until it is done, and returns the server's report of each client.
fn play<S: Transport, C: Transport>(name: &str, arena: &mut Arena<S, C>) -> Vec<PeerReport> {
    let clients = arena.clients.len();
    let connected = arena.run(MINUTE, |arena| arena.transcript.peers().len() == clients);
    let said = arena.run(5 * MINUTE, Arena::is_done);
    // No message comes twice.
    let end = arena.now + Duration::from_secs(1);
    arena.run(MINUTE, |arena| arena.now >= end);
    let unreliable = arena.check();
    assert!(arena.transcript.reasons().is_empty(), "{name}: {:?}", arena.transcript.events);
    let server = arena.server.as_ref().unwrap();
    assert_eq!(server.messenger().faults().total(), 0);
    let reports: Vec<_> =
        arena.transcript.peers().iter().map(|peer| server.stats(*peer).unwrap()).collect();
    let share = unreliable as f64 / (6 * clients * arena.plan.1 as usize) as f64;
    let path = reports[0].path;
    println!(
        "{name}: connected after {connected:?}, {} of each delivery said within {said:?}, {:.1} % of \
         the unreliable ones transcript; round trip {:?}, jitter {:?}, loss {:.1} %",
        arena.plan.1,
        share * 100.0,
        path.round_trip,
        path.jitter,
        path.loss * 100.0
    );
    assert!(share > 0.3, "{name}: {share}");
    reports
}

fn check_reports(name: &str, link: LinkConfig, reports: &[PeerReport]) {
    for report in reports {
        let path = report.path;
        let (least, most) = (2 * link.latency, 2 * (link.latency + link.jitter));
        // An answer waits for the next frames of both sides; an overtaken packet takes twice its
        // time.
        let more =
            Duration::from_millis(40) + if link.reordering > 0.0 { least } else { least / 2 };
        assert!((least..=most + more).contains(&path.round_trip), "{name}: {:?}", path.round_trip);
        let is_plain = link == LinkConfig { loss: link.loss, ..latency() };
        if is_plain {
            // Four standard deviations of the measured loss.
            let spread = 4.0 * (link.loss / path.packets_sent as f64).sqrt() + 0.001;
            assert!((path.loss - link.loss).abs() < spread, "{name}: {} {spread}", path.loss);
        }
        if link.jitter > Duration::ZERO {
            // Independent latencies vary by a quarter of their range on average.
            let range = link.jitter / 20..=link.jitter;
            assert!(range.contains(&path.jitter), "{name}: {:?}", path.jitter);
        } else if link.reordering == 0.0 {
            assert!(path.jitter < Duration::from_millis(10), "{name}: {:?}", path.jitter);
        }
        let sum = |of: fn(&tightwire::message::PeerMessageStats) -> tightwire::message::Traffic| {
            let each = report.messages.iter().map(of);
            each.fold((0, 0), |(messages, bytes), one| (messages + one.messages, bytes + one.bytes))
        };
        let (sent, received) = (report.stats.sent, report.stats.received);
        assert_eq!(sum(|of| of.sent), (sent.messages, sent.bytes));
        assert_eq!(sum(|of| of.received), (received.messages, received.bytes));
        assert!(path.bytes_received > received.bytes && path.bytes_sent > sent.bytes);
        assert_eq!(report.batches_dropped, 0);
    }
}

#[test]
fn deliveries_keep_their_promises_over_quic() {
    for (seed, (name, link)) in networks().into_iter().enumerate() {
        let (mut arena, door) = quic(link, seed as u64, CLIENTS, count());
        let reports = play(name, &mut arena);
        check_reports(name, link, &reports);
        if link.reordering == 0.0 {
            for (number, report) in (1..).zip(&reports) {
                let stats = door.network.stats(SERVER.into(), address(number));
                let lost = stats.lost as f64 / stats.sent as f64;
                let reported = report.path.loss;
                assert!((reported - lost).abs() < 0.02, "{name}: {reported}, but {lost} were lost");
            }
        }
    }
}

#[test]
fn corruption_is_loss_over_quic() {
    let link = LinkConfig { corruption: 0.1, ..latency() };
    let (mut arena, _) = quic(link, 1, CLIENTS, count());
    let reports = play("10 % corrupted", &mut arena);
    assert!(reports.iter().all(|report| (0.05..0.17).contains(&report.path.loss)), "{reports:?}");
}

#[test]
fn deliveries_keep_their_promises_in_process() {
    let mut arena = in_process(count());
    let reports = play("in process", &mut arena);
    let path = reports[0].path;
    assert_eq!(
        (path.round_trip, path.loss, path.backlog, path.dropped),
        (Duration::ZERO, 0.0, 0, 0)
    );
    let received = arena.transcript.numbers.values().chain(arena.clients[0].1.numbers.values());
    assert!(received.into_iter().all(|numbers| numbers.len() == count() as usize));
}

#[test]
fn the_same_seed_is_the_same_session() {
    let run = |seed| {
        let (mut arena, _) = quic(everything(), seed, CLIENTS, 100);
        // With some seeds a client does not get through.
        arena.run(2 * MINUTE, |arena| arena.now >= MINUTE);
        arena.digest()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn all_clients_connect_at_20_percent_loss() {
    let rounds = volume(40, 1000);
    let mut times = Vec::new();
    for seed in 0..rounds {
        let link = LinkConfig { loss: 0.2, ..latency() };
        let (mut arena, _) = quic(link, seed, 1, 0);
        while arena.transcript.events.is_empty() || arena.clients[0].1.events.is_empty() {
            arena.step();
        }
        if arena.clients[0].0.server().is_some() {
            times.push(arena.now);
        }
    }
    times.sort_unstable();
    let at = |share: f64| times[(share * (times.len() - 1) as f64) as usize];
    println!(
        "{} of {rounds} connected: half within {:?}, 99 % within {:?}, all within {:?}",
        times.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    );
    // A few in thousands take longer than the timeout.
    assert!(times.len() as u64 >= rounds - rounds / 200, "{} of {rounds}", times.len());
}

/// Long timeouts: these tests are not about handshakes, of which a few in thousands take longer
/// with a loss of a fifth.
fn patient() -> QuicConfig {
    QuicConfig { handshake_timeout: MINUTE, idle_timeout: MINUTE, ..QuicConfig::default() }
}

#[test]
fn both_ends_get_the_same_reason_under_heavy_loss() {
    let newer = SessionConfig { version: "1.1".into(), ..session_config() };
    let other = TokenKey::from_bytes([8; 32]);
    let here = Reason::mismatch("version: \"1.0\" here, \"1.1\" there");
    let there = Reason::mismatch("version: \"1.1\" here, \"1.0\" there");
    let forged = Reason::Token(TokenError::NotGenuine);
    let rounds = volume(4, 40);
    let mut lost = 0;
    for seed in 0..rounds {
        for loss in [0.0, 0.05, 0.2] {
            let link = LinkConfig { loss, ..latency() };
            let (mut arena, mut door) = quic_with(patient(), link, seed, (1, 10));
            arena.join(&mut door, session_config(), &token(&other, 5));
            arena.join(&mut door, newer.clone(), &token(&key(), 6));
            arena.join(&mut door, session_config(), &[]);
            let is_over = |arena: &Arena<_, _>| {
                let has_ended = |(_, transcript): &(_, Transcript)| transcript.reasons().len() == 1;
                arena.transcript.reasons().len() == 3 && arena.clients[1..].iter().all(has_ended)
            };
            let time = arena.run(MINUTE, is_over);
            let reasons = |client: usize| arena.clients[client].1.reasons();
            let missing = Reason::Token(TokenError::Missing);
            let mut is_known = true;
            let ours = arena.transcript.reasons();
            for (client, expected, of_server) in
                [(1, &forged, &forged), (2, &there, &here), (3, &missing, &missing)]
            {
                let found = reasons(client);
                // A handshake may take longer than a minute, or all packets with the reason be lost.
                if loss == 0.2 && found == [Reason::TimedOut] {
                    lost += 1;
                    is_known = false;
                    continue;
                }
                assert_eq!(found, std::slice::from_ref(expected), "{seed} {loss}");
                assert!(ours.contains(of_server), "{ours:?}");
            }
            assert!(!is_known || time < Duration::from_secs(20), "{time:?}");
            // The accepted client does not notice.
            assert_eq!(reasons(0), []);
        }
    }
    assert!(lost <= rounds / 40, "{lost} clients of {rounds} rounds timed out instead");
}

#[test]
fn kicked_clients_get_the_reason_under_heavy_loss() {
    let rounds = volume(10, 100);
    let mut forgotten = 0;
    for seed in 0..rounds {
        for is_idle in [false, true] {
            let link = LinkConfig { loss: 0.2, ..latency() };
            let count = if is_idle { 5 } else { 1000 };
            let (mut arena, _) = quic_with(patient(), link, seed, (2, count));
            arena.run(MINUTE, |arena| arena.transcript.peers().len() == 2);
            let end = arena.now + Duration::from_secs(3);
            arena.run(MINUTE, |arena| arena.now >= end);
            let peer = arena.transcript.peers()[0];
            arena.server.as_mut().unwrap().kick(peer, "enough");
            let time = arena.run(MINUTE, |arena| !arena.clients[0].1.reasons().is_empty());
            let reason = arena.clients[0].1.reasons();
            assert_eq!(arena.transcript.reasons(), [Reason::kicked("enough")]);
            assert!(arena.clients[1].1.reasons().is_empty());
            forgotten += u32::from(reason != [Reason::kicked("enough")]);
            assert!(time < Duration::from_secs(4), "{time:?}");
        }
    }
    assert_eq!(forgotten, 0);
}

#[test]
fn vanished_clients_time_out() {
    for loss in [0.0, 0.2] {
        let link = LinkConfig { loss, ..latency() };
        let idle = QuicConfig::default().idle_timeout;
        let (mut arena, _) = quic(link, 1, CLIENTS, 100);
        arena.run(MINUTE, Arena::is_done);
        let gone = arena.transcript.peers()[CLIENTS - 1];
        drop(arena.clients.pop());
        let time = arena.run(MINUTE, |arena| !arena.transcript.reasons().is_empty());
        assert_eq!(arena.transcript.reasons(), [Reason::TimedOut]);
        let server = arena.server.as_ref().unwrap();
        assert!(server.stats(gone).is_none() && server.peers().count() == CLIENTS - 1);
        println!("a client that vanished timed out after {time:?}");
        // A last packet of this side counts too.
        let more = QuicConfig::default().keep_alive + Duration::from_millis(500);
        let range = idle - Duration::from_millis(500)..idle + more;
        assert!(range.contains(&time), "{time:?}");

        // The other clients are idle, and stay.
        let end = arena.now + MINUTE;
        arena.run(2 * MINUTE, |arena| arena.now >= end);
        assert_eq!(arena.transcript.reasons().len(), 1);

        drop(arena.server.take());
        let all = |arena: &Arena<_, _>| {
            arena
                .clients
                .iter()
                .all(|(_, transcript): &(_, Transcript)| !transcript.reasons().is_empty())
        };
        let time = arena.run(MINUTE, all);
        println!("a server that vanished timed out after {time:?}");
        assert!(range.contains(&time), "{time:?}");
        for (_, transcript) in &arena.clients {
            assert_eq!(transcript.reasons(), [Reason::TimedOut]);
        }
    }
}

#[test]
fn a_recorded_server_over_a_bad_network_replays_to_the_same_state() {
    let plan = (CLIENTS, 200);
    let (mut door, transport) = Door::new(everything(), QuicConfig::default(), 3);
    let recorder = Recorder::new(transport, Vec::new(), &session_config()).unwrap();
    let mut arena = Arena {
        server: Some(server(session_config(), recorder)),
        transcript: Transcript::default(),
        clients: Vec::new(),
        now: Duration::ZERO,
        plan,
    };
    for number in 1..=CLIENTS as u64 {
        arena.join(&mut door, session_config(), &token(&key(), number));
    }
    arena.join(&mut door, session_config(), &token(&TokenKey::from_bytes([8; 32]), 9));
    // One client disconnects, one vanishes, and none is left when the server stops.
    let is_done = |arena: &Arena<_, _>| {
        arena.transcript.numbers.values().filter(|numbers| numbers.len() >= 200).count()
            >= 3 * CLIENTS
    };
    arena.run(5 * MINUTE, is_done);
    arena.clients[0].0.disconnect(arena.now);
    drop(arena.clients.remove(1));
    arena.run(MINUTE, |arena| arena.transcript.reasons().len() >= 3);
    let live = arena.server.as_ref().unwrap();
    assert_eq!(live.transport().error(), None);
    let file = live.transport().file(Vec::clone);

    let replay = Replay::new(&file[..]).unwrap();
    let mut again = server(replay.config(SessionConfig::default()), replay);
    let mut transcript = Transcript::default();
    while let Some(step) = again.transport_mut().next_step() {
        server_frame(&mut again, &mut transcript, step.receive_at, plan);
    }
    assert!(again.transport_mut().error().is_none(), "{:?}", again.transport_mut().error());
    assert_eq!(transcript.digest, arena.transcript.digest);
    assert_eq!(transcript.events, arena.transcript.events);
    println!("{} bytes recorded, {} events, the same state", file.len(), transcript.events.len());
    let stats = door.network.stats(address(1), SERVER.into());
    assert!(stats.lost > 0 && stats.corrupted > 0, "{stats:?}");
}
