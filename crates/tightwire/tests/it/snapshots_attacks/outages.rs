//! Packets and acknowledgements that get lost for long.

use tightwire::snapshot::{self, ChangeKind, Leaving, Level};

use super::game::{Big, Game, LEVELS, config, thing};

/// After 3,000 good packets and a number that got lost: how many of 600 snapshots are refused, and
/// how long the longest of the last 400 is.
fn after_an_outage(outage: u32) -> (usize, usize) {
    let mut game = Game::new(config(Level::Packed));
    for tick in 0..3000 {
        game.begin();
        game.sender.set(7, &thing(tick)).unwrap();
        game.exchange(1000);
    }
    for _ in 0..outage {
        game.begin();
        game.sender.set(7, &thing(game.tick)).unwrap();
        game.sender.snapshot(game.client, 1000).unwrap();
    }
    let (mut refused, mut longest) = (0, 0);
    for tick in 0..600 {
        game.begin();
        game.sender.set(7, &thing(game.tick)).unwrap();
        // Large, and at rest from then on.
        game.sender.set(8, &Big { bytes: [7; 600] }).unwrap();
        let packet = game.sender.snapshot(game.client, 1000).unwrap();
        longest = longest.max(if tick > 200 { packet.len() } else { 0 });
        refused += usize::from(game.receiver.handle_snapshot(packet).is_err());
        game.sender.handle_ack(game.client, game.receiver.ack().unwrap());
    }
    (refused, longest)
}

/// A receiver that acks none of 96 packets is resynced: also after 2,500 packets (42
/// seconds at 60 Hz), when the 12 bits of their numbers could be taken for earlier ones.
#[test]
fn sending_recovers_after_an_outage_of_2500_packets() {
    assert_eq!(after_an_outage(2500).0, 0, "refused of 600");
}

/// After 5,000 lost packets the 12 bits have gone round: with wrong numbers no acknowledgement
/// would count any more, and every snapshot would be in full for ever.
#[test]
fn sending_recovers_after_an_outage_of_5000_packets() {
    let (refused, longest) = after_an_outage(5000);
    assert_eq!(refused, 0);
    assert!(longest < 100, "snapshots of {longest} bytes: keyframes again and again");
}

/// The acks of 100 packets are lost, while every snapshot arrives. The sender starts over with a
/// keyframe, but no object may vanish from the receiver and come back, since none was despawned.
#[test]
fn objects_do_not_flicker_when_only_acknowledgements_are_lost() {
    for level in LEVELS {
        let mut game = Game::new(config(level));
        let mut vanished = 0;
        for tick in 0..600u32 {
            game.begin();
            for id in 0..200 {
                if tick == 0 || tick % 200 == id {
                    game.sender.set(id, &thing(tick * 300 + id)).unwrap();
                }
            }
            let packet = game.sender.snapshot(game.client, 500).unwrap();
            game.receiver.handle_snapshot(packet).unwrap();
            vanished += despawned(&game);
            if !(300..400).contains(&tick) {
                game.sender.handle_ack(game.client, game.receiver.ack().unwrap());
            }
        }
        assert_eq!(vanished, 0, "{level:?}: nothing was removed");
    }
}

/// Acknowledgements get lost for 28 packets, fewer than the 33 that each tells of: nothing that
/// arrived may be taken back.
#[test]
fn losing_a_few_acks_takes_no_state_back() {
    for level in LEVELS {
        let mut game = Game::new(config(level));
        let mut vanished = 0;
        game.begin();
        (0..1000u32).for_each(|id| game.sender.set(id, &thing(id)).unwrap());
        for tick in 1..200u32 {
            game.begin();
            let packet = game.sender.snapshot(game.client, 300).unwrap();
            game.receiver.handle_snapshot(packet).unwrap();
            vanished += despawned(&game);
            if !(2..30).contains(&tick) {
                game.sender.handle_ack(game.client, game.receiver.ack().unwrap());
            }
        }
        assert_eq!(vanished, 0, "{level:?}: nothing was removed");
    }
}

fn despawned(game: &Game) -> usize {
    let changes = game.receiver.changes().iter();
    changes.filter(|change| change.kind == ChangeKind::Despawned).count()
}

/// A receiver keeps the models from the newest baseline on.
#[test]
fn a_baseline_that_goes_back_is_refused_without_effect() {
    for level in LEVELS {
        let mut game = Game::new(config(level));
        let slow = game.sender.add_receiver(Leaving::Despawn);
        for tick in 1..=6 {
            game.begin();
            game.sender.set(7, &thing(tick)).unwrap();
            let packet = game.sender.snapshot(game.client, 1000).unwrap().to_vec();
            let other = game.sender.snapshot(slow, 1000).unwrap().to_vec();
            if tick == 6 {
                let before = game.receiver.newest();
                let refused = game.receiver.handle_snapshot(&other);
                assert_eq!(refused, Err(snapshot::ReceiveError::UnknownBaseline), "{level:?}");
                assert_eq!(game.receiver.newest(), before);
            }
            game.receiver.handle_snapshot(&packet).unwrap();
            let ack = game.receiver.ack().unwrap();
            game.sender.handle_ack(game.client, ack);
            if tick <= 2 {
                game.sender.handle_ack(slow, ack);
            }
        }
    }
}
