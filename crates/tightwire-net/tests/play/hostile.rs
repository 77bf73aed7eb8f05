//! Clients that send what no honest one sends: refused or counted, and nobody else notices.

use tightwire::play::{ClientConfig, ClientEvent, PeerPlayStats, ServerEvent};
use tightwire::transport::Reason;

use crate::arena::{Dice, watch};
use crate::forged::{Forge, Forged, edit};
use crate::game::{Drive, Play, Player, address, link};

/// Lets two honest players play with a hostile one for 20 s. Returns what the server counted of the
/// hostile one, and the reason for which it was closed, if it was.
fn play_with(forge: Forge) -> (PeerPlayStats, Option<Reason>) {
    let mut play = Play::new(link(60, 0, 0.0), 2);
    play.run(10_000, |_| {});
    let quic = play.connect(play.network.socket(address(9)));
    let mut hostile = Player::new(
        ClientConfig { reconnect: false, ..ClientConfig::default() },
        Forged { quic, forge },
    );
    let seen = watch(&mut play);
    let before = play.clients.iter().map(|player| player.client.stats()).collect::<Vec<_>>();
    let mut stats = PeerPlayStats::default();
    for round in 0..40i8 {
        for player in &mut play.clients {
            player.drive = Drive { x: round % 3 - 1, y: 0, fire: round % 5 == 0 };
        }
        hostile.drive = Drive { x: 1 - round % 3, y: 0, fire: false };
        play.run(500, |play| {
            hostile.frame(play.now);
            if let Some(counts) =
                play.server.peers().nth(2).and_then(|peer| play.server.stats(peer))
            {
                stats = counts;
            }
        });
    }
    // Nobody else is affected.
    let seen = seen.lock().unwrap();
    for number in 0..2 {
        let missing = &seen.missing[&play.peer_of(number)];
        assert!(missing.is_empty(), "{missing:?}");
    }
    for (player, before) in play.clients.iter().zip(before) {
        let stats = player.client.stats();
        assert_eq!(stats.prediction.mispredicted, before.prediction.mispredicted);
        assert!(stats.snapshots - before.snapshots > 1150, "{stats:?}");
        let is_jump = |event: &&ClientEvent| matches!(event, ClientEvent::TimeJump(_));
        assert_eq!(player.events.iter().find(is_jump), None);
    }
    let closed = play.events.iter().find_map(|event| match event {
        ServerEvent::Left { reason, .. } | ServerEvent::Lost { reason, .. } => Some(reason.clone()),
        _ => None,
    });
    println!("{closed:?} {stats:?}");
    (stats, closed)
}

#[test]
fn malformed_frames_close_the_connection() {
    let mut dice = Dice::new(3);
    let (stats, closed) = play_with(Box::new(move |body| match dice.below(60) {
        0 => vec![(0..dice.below(40)).map(|_| dice.below(256) as u8).collect()],
        _ => vec![body.to_vec()],
    }));
    assert!(matches!(closed, Some(Reason::Violation { .. })), "{closed:?}");
    assert!(stats.inputs.fresh < 1200);
}

#[test]
fn truncated_and_longer_frames_close_the_connection() {
    for change in [-1isize, 1] {
        let mut count = 0;
        let (_, closed) = play_with(Box::new(move |body| {
            count += 1;
            let mut body = body.to_vec();
            if count == 300 {
                body.resize(body.len().saturating_add_signed(change), 0);
            }
            vec![body]
        }));
        assert!(matches!(closed, Some(Reason::Violation { .. })), "{change}: {closed:?}");
    }
}

#[test]
fn a_flood_is_dropped_and_then_closed() {
    let (stats, closed) = play_with(Box::new(|body| vec![body.to_vec(); 20]));
    assert!(matches!(closed, Some(Reason::Violation { .. })), "{closed:?}");
    assert!(stats.inputs.dropped_flood > 100, "{stats:?}");
}

#[test]
fn inputs_of_the_future_and_the_past_are_dropped_and_counted() {
    let shift = |by: i16| -> Forge {
        Box::new(move |body| {
            vec![edit(body, |header| {
                if let Some(span) = &mut header.inputs {
                    span.newest = span.newest.wrapping_add_signed(by) & 0xfff;
                }
            })]
        })
    };
    let (stats, closed) = play_with(shift(100));
    assert_eq!((stats.inputs.fresh, closed), (0, None), "{stats:?}");
    assert!(stats.inputs.dropped_future > 500, "{stats:?}");
    let (stats, closed) = play_with(shift(-200));
    assert_eq!((stats.inputs.fresh, closed), (0, None), "{stats:?}");
    assert!(stats.inputs.dropped_ancient + stats.inputs.dropped_baseline > 500, "{stats:?}");
}

#[test]
fn revised_inputs_do_not_count() {
    // Each frame is followed by one that gives the inputs to other ticks.
    let (stats, closed) = play_with(Box::new(|body| {
        let revised = edit(body, |header| {
            if let Some(span) = &mut header.inputs {
                span.newest = span.newest.wrapping_sub(1) & 0xfff;
            }
        });
        vec![body.to_vec(), revised]
    }));
    assert_eq!(closed, None);
    assert!(stats.inputs.revised > 30 && stats.inputs.fresh > 1100, "{stats:?}");
}

#[test]
fn acks_of_packets_that_did_not_arrive_are_ignored() {
    let mut dice = Dice::new(4);
    let (stats, closed) = play_with(Box::new(move |body| {
        vec![edit(body, |header| {
            if let Some(view) = &mut header.view {
                view.newest = view.newest.wrapping_add(dice.below(8) as u8);
                (view.all, view.earlier) = (true, 0);
            }
        })]
    }));
    // It plays on; its snapshots are spaced out since few of them count as acked.
    assert_eq!(closed, None);
    assert!(stats.inputs.fresh > 1000, "{stats:?}");
    assert!(stats.snapshots > 100, "{stats:?}");
}
