//! Playback of snapshots that arrive unevenly, late, or never.

use std::time::Duration;

use tightwire::snapshot::{Level, Playback, PlaybackConfig};

use super::game::{Big, Game, Thing, config, protocol, thing};
use super::values::Random;

/// With a budget objects take turns: one that moves evenly and is updated every few snapshots is
/// shown moving evenly, if the delay is long enough for the next update to arrive.
#[test]
fn playback_is_even_when_objects_take_turns() {
    let config = config(Level::Packed);
    let mut game = Game::new(config);
    let delay = Duration::from_millis(400);
    let mut playback =
        Playback::new(&protocol(config), PlaybackConfig { min_delay: delay, max_delay: delay });
    let (mut largest, mut before): (f32, Option<f32>) = (0.0, None);
    for tick in 1..=300u32 {
        game.begin();
        for id in 0..60u32 {
            let mut object = thing(tick * 60 + id);
            object.position = [tick as f32, id as f32, 0.0];
            game.sender.set(id, &object).unwrap();
        }
        game.exchange(120);
        let now = Duration::from_secs(1) / 60 * tick;
        playback.handle_snapshot(now, &game.receiver);
        playback.advance(now);
        if tick > 100 {
            let shown = playback.get::<Thing>(30).unwrap().position[0];
            largest = largest.max(shown - before.unwrap_or(shown));
            before = Some(shown);
        }
    }
    // One unit a tick.
    assert!(largest < 2.0, "a step of {largest} in one frame, instead of 1");
}

/// The sender pauses for five seconds (a stall, a level that loads): a second after it goes on,
/// playback is behind it again, and not seconds ahead of the newest snapshot.
#[test]
fn playback_recovers_from_a_pause_of_the_sender() {
    let config = config(Level::Packed);
    let mut game = Game::new(config);
    let mut playback = Playback::new(&protocol(config), PlaybackConfig::default());
    let mut ahead = 0;
    for frame in 1..=1800u32 {
        let now = Duration::from_secs(1) / 60 * frame;
        if !(300..600).contains(&frame) {
            game.begin();
            game.sender.set(1, &thing(frame)).unwrap();
            game.exchange(500);
            playback.handle_snapshot(now, &game.receiver);
        }
        playback.advance(now);
        if frame > 660 {
            ahead += u32::from(playback.time().unwrap() > f64::from(game.tick));
        }
    }
    assert_eq!(ahead, 0, "frames with nothing to interpolate to, from a second after the pause on");
}

/// Whatever the configuration: no panic.
#[test]
fn a_very_long_delay_is_no_panic() {
    let config = config(Level::Packed);
    let delay = PlaybackConfig { min_delay: Duration::MAX, max_delay: Duration::MAX };
    let playback = Playback::new(&protocol(config), delay);
    assert!(playback.delay() > Duration::from_secs(1));
}

/// Objects despawn and come again within the delay of the playback, clocks go back or jump, and
/// sometimes nobody looks.
#[test]
fn playback_survives_odd_clocks_and_respawns() {
    let config = config(Level::Packed);
    let mut game = Game::new(config);
    let mut playback = Playback::new(&protocol(config), PlaybackConfig::default());
    let random = &mut Random::new(77);
    let mut shown = 0;
    for tick in 1..=3000u32 {
        game.begin();
        for id in 0..20u32 {
            match random.below(6) {
                0 => game.sender.remove(id).unwrap(),
                1 => game.sender.set(id, &Big::default()).unwrap(),
                2 => game.sender.set(id, &thing(tick + id)).unwrap(),
                _ => {}
            }
        }
        game.exchange(5000);
        let now = Duration::from_secs(100) + Duration::from_secs(1) / 60 * tick;
        playback.handle_snapshot(now, &game.receiver);
        match random.below(50) {
            0 => playback.advance(Duration::ZERO),
            1 => {}
            _ => playback.advance(now),
        }
        let objects: Vec<_> = playback.objects().collect();
        shown += objects.len();
        for (id, class) in objects {
            let is_there = match class {
                0 => playback.get::<Thing>(id).is_some(),
                _ => playback.get::<Big>(id).is_some(),
            };
            assert!(is_there);
        }
    }
    assert!(shown > 3000);
}
