//! The cost of the plugin, printed: `cargo test --release -- cost --nocapture`.

use std::time::{Duration, Instant};

use bevy_app::{App, FixedUpdate};
use bevy_ecs::prelude::*;
use bevy_tightwire::TestNet;
use bevy_tightwire::prelude::*;

use crate::game::{Heading, Health, Position, count, seconds};

fn change(mut all: Query<&mut Health>) {
    for mut health in all.iter_mut().step_by(100) {
        health.0 = (health.0 + 1) % 100;
    }
}

fn game(app: &mut App) {
    app.add_plugins(TightwirePlugins::new("cost", "1.0"))
        .add_systems(FixedUpdate, change.run_if(has_authority));
    app.replicate::<Health>();
    app.replicate::<Position>();
    app.replicate::<Heading>();
}

/// Returns the mean time of an update of the server.
fn measure(net: &mut TestNet, updates: u32) -> Duration {
    let clock = Instant::now();
    (0..updates).for_each(|_| net.server.update());
    clock.elapsed() / updates
}

#[test]
fn ten_thousand_entities_of_which_a_hundred_change() {
    let mut net = TestNet::new(TestNet::perfect_link(), 1, 0, game);
    let world = net.server.world_mut();
    let entity = || (Replicated, Health(1), Position([1.0, 1.0]), Heading(1.0));
    world.spawn_batch((0..10_000).map(|_| entity()));
    let mut without = App::new();
    without.add_plugins(bevy_time::TimePlugin).add_systems(FixedUpdate, change);
    let world = without.world_mut();
    world.spawn_batch((0..10_000).map(|_| (Health(1), Position([1.0, 1.0]), Heading(1.0))));
    without.insert_resource(bevy_time::TimeUpdateStrategy::ManualDuration(net.frame));
    let clock = Instant::now();
    (0..200).for_each(|_| without.update());
    println!("without the plugin: {:?} a frame", clock.elapsed() / 200);
    println!("no client: {:?} a frame", measure(&mut net, 200));
    net = TestNet::new(TestNet::perfect_link(), 1, 1, game);
    net.server.world_mut().spawn_batch((0..10_000).map(|_| entity()));
    net.run(seconds(2.0));
    assert_eq!(count::<Remote>(&mut net.clients[0]), 10_000);
    println!("one client: {:?} a frame", measure(&mut net, 100));
}
