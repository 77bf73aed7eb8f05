//! Shown objects: others move smoothly, own ones in the frame of their tick.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tightwire::schema::ObjectId;

use crate::game::{Drive, Play, Tank, link};
use crate::volume::volume;

/// Positions of an object that the server moves, by tick.
pub(crate) type Track = Arc<Mutex<BTreeMap<u32, [f32; 2]>>>;

/// Spawns an object that runs around a circle at 12 m/s.
pub(crate) fn runner(play: &mut Play, radius: f32) -> (ObjectId, Track) {
    let place = move |tick: u32| {
        let (sin, cos) = (f64::from(tick) * 12.0 / 60.0 / f64::from(radius)).sin_cos();
        // Near the first tanks, and away from all.
        let position = [-60.0 + radius * cos as f32, -50.0 + radius * sin as f32];
        let velocity = [-12.0 * sin as f32, 12.0 * cos as f32];
        Tank { position, velocity, health: 100, ..Tank::default() }
    };
    let id = play.server.world().spawn(&place(0)).unwrap();
    let track = Track::default();
    let kept = track.clone();
    play.on_tick = Box::new(move |server, tick| {
        let mut tank = place(tick.0);
        server.world().set_rounded(id, &mut tank).unwrap();
        kept.lock().unwrap().insert(tick.0, tank.position);
    });
    (id, track)
}

/// Returns where the server had an object at a time between two ticks.
pub(crate) fn at(track: &Track, time: f64) -> Option<[f32; 2]> {
    let track = track.lock().unwrap();
    let (tick, fraction) = (time.floor() as u32, time.fract() as f32);
    let (before, after) = (track.get(&tick)?, track.get(&(tick + 1))?);
    Some([0, 1].map(|axis| before[axis] + fraction * (after[axis] - before[axis])))
}

pub(crate) fn distance(a: [f32; 2], b: [f32; 2]) -> f32 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

#[test]
fn smooth_motion_is_shown_within_twice_the_resolution() {
    for loss in [0.0, 0.03] {
        let mut play = Play::new(link(100, 15, loss), 2);
        let (id, track) = runner(&mut play, 30.0);
        play.run(10_000, |_| {});
        let mut errors = Vec::new();
        play.run(volume(30_000, 300_000), |play| {
            let client = &play.clients[1].client;
            let time = client.shown_time().unwrap();
            let shown = client.world().get::<Tank>(id).unwrap();
            if let Some(real) = at(&track, time) {
                errors.push(distance(shown.position, real));
            }
        });
        errors.sort_by(f32::total_cmp);
        let [p50, p99, p999] = [500, 990, 999].map(|rank| errors[errors.len() * rank / 1000]);
        println!("loss {loss}: p50 {p50:.5} p99 {p99:.5} p99.9 {p999:.5} of {}", errors.len());
        assert!(errors.len() as u64 > volume(29_000, 290_000));
        assert!(p99 <= 2.0 * 0.002, "{p99}");
    }
}

#[test]
fn own_objects_move_in_the_frame_of_their_tick() {
    let mut play = Play::new(link(100, 15, 0.03), 1);
    play.run(10_000, |_| {});
    let id = play.clients[0].mine[0];
    let mut delays = Vec::new();
    for round in 0..40u64 {
        // Not at the same place of a tick each time.
        play.run(1000 + round % 17, |_| {});
        let start = play.clients[0].client.world().get::<Tank>(id).unwrap().position;
        let first = play.clients[0].client.time().input_tick.floor();
        let direction = if round % 2 == 0 { 1 } else { -1 };
        play.clients[0].drive = Drive { x: direction, y: 0, fire: false };
        let mut moved = None;
        play.run(100, |play| {
            let client = &play.clients[0].client;
            let tank = client.world().get::<Tank>(id).unwrap();
            if moved.is_none() && distance(tank.position, start) > 0.003 {
                moved = Some(client.time().input_tick - first);
            }
        });
        delays.push(moved.expect("the tank moves"));
        play.clients[0].drive = Drive::default();
    }
    let most = delays.iter().copied().fold(0.0, f64::max);
    println!("ticks from the input to its motion: {delays:.2?}");
    // The next tick takes the input; its motion is shown from its beginning on.
    assert!(most < 1.5, "{most}");
}
