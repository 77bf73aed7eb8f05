//! An arena of 32 players and some 200 bullets, over a bad link on a virtual clock.
//!
//! `cargo run --release -p bevy_tightwire --example arena --features test`. Bots drive and shoot; their
//! own tanks and bullets are predicted, those of others interpolated. Prints bytes and corrections.

use std::time::{Duration, Instant};

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_math::Vec2;
use bevy_tightwire::prelude::*;
use bevy_tightwire::{TestNet, client_stats};
use bevy_time::{Fixed, Time};

#[derive(Component, Wire, Clone, Copy, PartialEq, Default)]
struct Position(#[wire(spatial, min = -200.0, max = 200.0, resolution = 0.01)] Vec2);

#[derive(Component, Wire, Clone, Copy, PartialEq, Default)]
struct Velocity(#[wire(min = -40.0, max = 40.0, resolution = 0.02)] Vec2);

#[derive(Component, Wire, Clone, Copy, PartialEq, Default)]
struct Tank {
    #[wire(range = 0..=100)]
    health: u8,
    #[wire(range = 0..=60)]
    reload: u8,
}

/// The tick in which a bullet was shot.
#[derive(Component, Wire, Clone, Copy, PartialEq, Default)]
struct Bullet(u32);

#[derive(Wire, Clone, Copy, PartialEq, Default)]
struct Drive {
    #[wire(range = -1..=1)]
    x: i8,
    #[wire(range = -1..=1)]
    y: i8,
    fire: bool,
}

impl Input for Drive {
    // A shot between two ticks is not lost.
    fn merge(&mut self, newer: &Self) {
        *self = Self { fire: self.fire | newer.fire, ..*newer };
    }
}

const PLAYERS: usize = 32;

fn game(app: &mut App) {
    app.add_plugins(TightwirePlugins::new("arena", "1.0"))
        .insert_resource(Time::<Fixed>::from_hz(60.0))
        .add_input::<Drive>()
        .add_observer(add_tank)
        .add_systems(RunFixedMainLoop, steer.in_set(NetworkSet::WriteInput))
        .add_systems(FixedUpdate, (drive, shoot, fly, hit.run_if(has_authority)).chain());
    app.replicate::<(Position, Velocity, Tank)>().predict().interpolate();
    app.replicate::<(Position, Velocity, Bullet)>().predict().interpolate();
}

fn add_tank(joined: On<Add, ConnectedClient>, tanks: Query<&Tank>, mut commands: Commands) {
    let angle = tanks.iter().count() as f32;
    let position = Position(100.0 * Vec2::from_angle(angle));
    let tank = (position, Velocity::default(), Tank { health: 100, reload: 0 });
    commands.spawn((Replicated, OwnedBy(joined.entity), Controls::<Drive>::default(), tank));
}

fn steer(
    tick: Res<NetTick>,
    own: Query<&Position, With<Owned>>,
    mut input: ResMut<LocalInput<Drive>>,
) {
    let Some(Position(at)) = own.iter().next() else { return };
    let turn = (**tick / 64 + at.x.abs() as u32) % 3;
    let (x, y) = [(1, 1), (-1, 1), (1, -1)][turn as usize];
    **input = Drive { x, y, fire: true };
}

fn drive(
    time: Res<Time>,
    mut tanks: Query<(&mut Position, &mut Velocity, &mut Tank, &Controls<Drive>)>,
) {
    for (mut position, mut velocity, mut tank, input) in &mut tanks {
        let push = Vec2::new(f32::from(input.x), f32::from(input.y));
        velocity.0 = (velocity.0 * 0.95 + push).clamp_length_max(20.0);
        let to = position.0 + velocity.0 * time.delta_secs();
        position.0 = to.clamp(Vec2::splat(-190.0), Vec2::splat(190.0));
        tank.reload = tank.reload.saturating_sub(1);
    }
}

fn shoot(
    tick: Res<NetTick>,
    mut tanks: Query<(&Position, &Velocity, &mut Tank, &Controls<Drive>, &OwnedBy)>,
    mut commands: Commands,
) {
    for (position, velocity, mut tank, input, owner) in &mut tanks {
        if input.fire && tank.reload == 0 {
            tank.reload = 14;
            let speed = Velocity(30.0 * velocity.0.normalize_or(Vec2::X));
            let bullet = (*position, speed, Bullet(**tick));
            commands.spawn((Replicated, *owner, PreSpawned(0), bullet));
        }
    }
}

type Flying = (With<Simulated>, Without<Tank>);

fn fly(
    time: Res<Time>,
    tick: Res<NetTick>,
    mut bullets: Query<(Entity, &mut Position, &Velocity, &Bullet), Flying>,
    mut commands: Commands,
) {
    for (entity, mut position, velocity, bullet) in &mut bullets {
        position.0 += velocity.0 * time.delta_secs();
        if tick.saturating_sub(bullet.0) >= 120 || position.0.abs().max_element() > 195.0 {
            commands.entity(entity).net_despawn();
        }
    }
}

/// Hits, as the shooter saw them.
fn hit(
    bullets: Query<(Entity, &Position, &OwnedBy), With<Bullet>>,
    mut tanks: Query<(Entity, &Position, &OwnedBy, &mut Tank)>,
    lag: LagCompensation,
    mut commands: Commands,
) {
    for (bullet, Position(at), shooter) in &bullets {
        for (target, present, owner, mut tank) in &mut tanks {
            if owner.0 == shooter.0 || present.0.distance(*at) > 10.0 {
                continue;
            }
            let seen = lag.as_seen_by(shooter.0, |past| past.get::<Position>(target)).flatten();
            if seen.unwrap_or(*present).0.distance(*at) < 2.0 {
                tank.health = if tank.health <= 5 { 100 } else { tank.health - 5 };
                commands.entity(bullet).net_despawn();
                break;
            }
        }
    }
}

fn main() {
    let seconds = 3;
    let mut net = TestNet::new(TestNet::bad_link(), 1, PLAYERS, game);
    net.frame = Duration::from_nanos(1_000_000_000 / 60);
    let clock = Instant::now();
    let mut most = 0;
    net.run_with(Duration::from_secs(seconds), |net| {
        let world = net.server.world_mut();
        most = most.max(world.query::<&Bullet>().iter(world).count());
    });
    let (mut bytes, mut corrected, mut compared) = (0, 0, 0);
    for client in &mut net.clients {
        let stats = client_stats(client.world()).unwrap_or_default();
        bytes += stats.snapshot_bytes;
        corrected += stats.prediction.mispredicted;
        compared += stats.prediction.compared;
        let world = client.world_mut();
        assert_eq!(world.query::<&Tank>().iter(world).count(), PLAYERS);
        assert_eq!(world.query_filtered::<&Tank, With<Predicted>>().iter(world).count(), 1);
        assert!(world.query::<&Bullet>().iter(world).count() > 100);
    }
    let rate = bytes / seconds / PLAYERS as u64;
    println!("{PLAYERS} players, up to {most} bullets: {rate} bytes per client and second");
    println!("{seconds} s took {:.1} s", clock.elapsed().as_secs_f32());
    println!("{corrected} of {compared} snapshots corrected");
    assert!(most >= 200, "{most}");
    // Inputs that were lost, and hits, which only the server decides.
    assert!(corrected * 5 < compared, "{corrected} of {compared}");
}
