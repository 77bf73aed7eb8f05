//! Suspended clients and servers.

use std::time::Duration;

use tightwire::play::{ClientEvent, InputKind, ServerEvent};

use crate::game::{Drive, Play, Tank, link};

/// Runs until every client has had its inputs used for two seconds, and returns the milliseconds
/// that took.
fn until_in_step(play: &mut Play) -> u64 {
    let fresh = |play: &Play| {
        let inputs = play.server.inputs();
        inputs.filter(|(_, _, kind)| *kind == InputKind::Fresh).count()
    };
    let (mut elapsed, mut in_step) = (0, 0);
    while in_step < 2000 {
        assert!(elapsed < 60_000, "never in step again");
        play.run(1, |_| {});
        elapsed += 1;
        let all = fresh(play) == play.clients.len();
        in_step = if all { in_step + 1 } else { 0 };
    }
    elapsed - 2000
}

fn jumps(events: &[ClientEvent]) -> usize {
    events.iter().filter(|event| matches!(event, ClientEvent::TimeJump(_))).count()
}

#[test]
fn a_client_that_was_suspended_goes_on_as_the_same_player() {
    for seconds in [1, 10, 60] {
        let mut play = Play::new(link(100, 5, 0.0), 3);
        play.clients[1].drive = Drive { x: 0, y: 0, fire: true };
        play.run(10_000, |_| {});
        let (peers, tanks) = (play.server.peers().collect::<Vec<_>>(), play.tanks().len());
        let mine = play.clients[0].mine.clone();
        let others = play.clients[1].client.stats().prediction;
        play.clients[0].is_suspended = true;
        play.clients[0].events.clear();
        play.run(1000 * seconds, |_| {});
        play.clients[0].is_suspended = false;
        let back = until_in_step(&mut play);
        let events = &play.clients[0].events;
        let lost = play.events.iter().any(|event| matches!(event, ServerEvent::Lost { .. }));
        println!("{seconds} s: in step after {back} ms, lost: {lost}, {} jumps", jumps(events));
        play.run(1000, |_| {});
        assert_eq!(play.server.peers().collect::<Vec<_>>(), peers);
        assert_eq!((play.tanks().len(), &play.clients[0].mine), (tanks, &mine));
        assert_eq!(play.clients[0].client.world().iter::<Tank>().count(), 3);
        if seconds == 1 {
            assert!(!lost && back <= 1000, "{back}");
            assert_eq!(jumps(&play.clients[0].events), 1, "{:?}", play.clients[0].events);
        } else {
            assert!(back <= 3000, "{back}");
        }
        // Nobody else noticed.
        for number in 1..3 {
            let prediction = play.clients[number].client.stats().prediction;
            assert_eq!(prediction.mispredicted, others.mispredicted);
            assert_eq!(jumps(&play.clients[number].events), 0);
            let peer = play.peer_of(number);
            let stats = play.server.stats(peer).unwrap().inputs;
            assert!(stats.repeated + stats.neutral < 20, "{stats:?}");
        }
    }
}

#[test]
fn after_a_suspended_server_all_players_go_on() {
    for seconds in [1, 10, 60] {
        let mut play = Play::new(link(100, 5, 0.0), 3);
        play.run(10_000, |_| {});
        let peers: Vec<_> = play.server.peers().collect();
        let mine: Vec<_> = play.clients.iter().map(|player| player.mine.clone()).collect();
        play.clients.iter_mut().for_each(|player| player.events.clear());
        play.is_server_suspended = true;
        play.run(1000 * seconds, |_| {});
        play.is_server_suspended = false;
        let back = until_in_step(&mut play);
        println!("{seconds} s: in step after {back} ms");
        play.run(1000, |_| {});
        assert_eq!(play.server.peers().collect::<Vec<_>>(), peers);
        for (player, mine) in play.clients.iter().zip(&mine) {
            assert_eq!(&player.mine, mine, "{:?}", player.events);
            assert_eq!(player.client.world().iter::<Tank>().count(), 3);
        }
        assert!(back <= if seconds == 1 { 2000 } else { 6000 }, "{back}");
        assert!(play.now > Duration::from_secs(seconds));
    }
}
