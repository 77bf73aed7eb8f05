//! Step functions that fail, and those that read what they should not.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use tightwire::play::{ClientConfig, PredictConfig, ServerConfig};

use crate::game::{Drive, Play, Tank, link, step};

#[test]
fn a_step_that_panics_is_taken_back_and_not_predicted() {
    let mut play = Play::new(link(60, 0, 0.0), 1);
    play.clients[0].drive = Drive { x: 1, y: 0, fire: false };
    play.run(3000, |_| {});
    let id = play.clients[0].mine[0];
    let player = &mut play.clients[0];
    let mut panics = 0;
    for _ in 0..40 {
        play.now += Duration::from_millis(1);
        player.client.receive(play.now);
        player.client.input(&player.drive);
        let before = player.client.world().get::<Tank>(id).unwrap();
        let failed = catch_unwind(AssertUnwindSafe(|| {
            while let Some(mut scene) = player.client.next_step() {
                // Some objects are far away already when it fails.
                scene.for_each::<Tank>(|_, _, tank| tank.position[0] += 50.0);
                assert!(panics > 0, "the step function fails");
                step(&mut scene);
            }
        }));
        if failed.is_err() {
            panics += 1;
            while let Some(mut scene) = player.client.next_step() {
                step(&mut scene);
            }
            let after = player.client.world().get::<Tank>(id).unwrap();
            assert!((after.position[0] - before.position[0]).abs() < 1.0, "{before:?} {after:?}");
            player.client.send(play.now);
            break;
        }
        player.client.send(play.now);
    }
    assert_eq!(panics, 1);
    play.run(2000, |_| {});
    let stats = play.clients[0].client.stats().prediction;
    assert_eq!((stats.unpredicted_ticks, stats.snaps), (1, 0), "{stats:?}");
    assert_eq!(stats.mispredicted, 0, "{stats:?}");
}

#[test]
fn always_replay_finds_nothing_in_a_simulation_of_the_scene_alone() {
    let predict = PredictConfig { always_replay: true, ..PredictConfig::default() };
    let config = ClientConfig { predict, ..ClientConfig::default() };
    let mut play = Play::with(link(100, 0, 0.0), 2, ServerConfig::default(), config);
    play.run(5000, |_| {});
    for round in 0..20i8 {
        for player in &mut play.clients {
            player.drive = Drive { x: round % 3 - 1, y: (round + 1) % 3 - 1, fire: round % 4 == 0 };
        }
        play.run(500, |_| {});
    }
    for player in &play.clients {
        let stats = player.client.stats().prediction;
        println!("{stats:?}");
        assert!(stats.replayed_ticks > 2000, "{stats:?}");
        assert_eq!((stats.replays_differing, stats.mispredicted), (0, 0), "{stats:?}");
    }
}
