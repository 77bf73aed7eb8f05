//! Inputs, prediction, interpolation, and entities that are spawned in advance.

use bevy_app::{App, FixedUpdate, RunFixedMainLoop, Update};
use bevy_ecs::prelude::*;
use bevy_tightwire::TestNet;
use bevy_tightwire::prelude::*;
use bevy_time::{Fixed, Time};

use crate::game::{Bullet, Health, Position, all, count, net, only, remote, seconds};

#[derive(Wire, Clone, Copy, PartialEq, Debug, Default)]
struct Move {
    #[wire(range = -1..=1)]
    x: i8,
    fire: bool,
}

impl Input for Move {}

/// The keys that the player of an app holds.
#[derive(Resource, Default)]
struct Keys(Move);

/// State that only this side has, and that replays restore.
#[derive(Component, Clone, Default)]
struct Steps(u32);

fn game(app: &mut App) {
    app.add_plugins(TightwirePlugins::new("prediction", "1.0"))
        .insert_resource(Time::<Fixed>::from_hz(60.0))
        .init_resource::<Keys>()
        .add_input::<Move>()
        .rollback::<Steps>()
        .add_observer(|joined: On<Add, ConnectedClient>, mut commands: Commands| {
            let owner = OwnedBy(joined.entity);
            let player = (Position([0.0, 0.0]), Health(100), Controls::<Move>::default());
            commands.spawn((Replicated, owner, player));
        })
        .add_systems(
            RunFixedMainLoop,
            (|keys: Res<Keys>, mut input: ResMut<LocalInput<Move>>| **input = keys.0)
                .in_set(NetworkSet::WriteInput),
        )
        .add_systems(FixedUpdate, (drive, shoot, fly, count_steps).chain());
    app.replicate::<Position>().predict().interpolate();
    app.replicate::<Health>();
    app.replicate::<Bullet>().predict();
}

fn drive(mut players: Query<(&mut Position, &Controls<Move>)>) {
    for (mut position, input) in &mut players {
        position.0[0] = (position.0[0] + 0.1 * f32::from(input.x)).clamp(-400.0, 400.0);
    }
}

fn shoot(
    players: Query<(&Position, &Controls<Move>, &OwnedBy), With<Simulated>>,
    tick: Res<NetTick>,
    mut commands: Commands,
) {
    for (position, input, owner) in &players {
        if input.fire && tick.is_multiple_of(20) {
            commands.spawn((Replicated, *owner, PreSpawned(0), Bullet, *position));
        }
    }
}

type Flying = (With<Bullet>, With<Simulated>);

fn fly(mut bullets: Query<(Entity, &mut Position), Flying>, mut commands: Commands) {
    for (bullet, mut position) in &mut bullets {
        position.0[1] += 0.5;
        if position.0[1] > 30.0 {
            commands.entity(bullet).net_despawn();
        }
    }
}

fn count_steps(mut steps: Query<&mut Steps>) {
    steps.iter_mut().for_each(|mut steps| steps.0 += 1);
}

fn x_of(app: &mut App, entity: Entity) -> f32 {
    app.world().get::<Position>(entity).unwrap().0[0]
}

fn corrections(app: &App) -> (u64, u64) {
    bevy_tightwire::client_stats(app.world())
        .map(|stats| (stats.prediction.mispredicted, stats.prediction.compared))
        .unwrap()
}

#[test]
fn an_own_entity_moves_at_once_and_others_follow_smoothly() {
    let mut net = net(2, game);
    net.run(seconds(2.5));
    let own = only::<Owned>(&mut net.clients[0]);
    let client = net.clients[0].world();
    assert!(client.get::<Predicted>(own).is_some() && client.get::<Controls<Move>>(own).is_some());
    assert_eq!(count::<Controls<Move>>(&mut net.clients[0]), 1, "only the owner has inputs");
    assert_eq!(count::<Predicted>(&mut net.clients[0]), 1);
    let id = net.clients[0].world().resource::<EntityMap>().id(own).unwrap();
    let other = net.clients[1].world().resource::<EntityMap>().entity(id).unwrap();

    net.clients[0].world_mut().resource_mut::<Keys>().0.x = 1;
    let start = x_of(&mut net.clients[0], own);
    net.run(seconds(0.06));
    assert!(x_of(&mut net.clients[0], own) > start, "in two ticks");
    assert_eq!(x_of(&mut net.clients[1], other), start, "the way is 100 ms");
    let (mut before, mut largest) = (None, 0.0f32);
    net.run_with(seconds(2.0), |net| {
        let x = x_of(&mut net.clients[1], other);
        if let Some(before) = before.replace(x) {
            largest = largest.max(x - before);
        }
    });
    // 6 units a second are 0.05 in a frame.
    assert!(largest > 0.0 && largest < 0.12, "{largest}");
    let (mispredicted, compared) = corrections(&net.clients[0]);
    assert!(compared > 100, "{compared}");
    // Only a lost input can be a misprediction.
    assert!(mispredicted <= 6, "{mispredicted} of {compared}");

    net.clients[0].world_mut().resource_mut::<Keys>().0.x = 0;
    net.run(seconds(1.5));
    let there = net.server.world_mut();
    let mut players = there.query::<(&Position, &OwnedBy)>();
    let furthest = players.iter(there).map(|(position, _)| position.0[0]).fold(0.0, f32::max);
    let here = x_of(&mut net.clients[0], own);
    assert!((furthest - here).abs() < 0.03, "{furthest} {here}");
    assert!((furthest - x_of(&mut net.clients[1], other)).abs() < 0.03);
}

#[test]
fn on_a_perfect_link_there_are_no_corrections() {
    let mut net = TestNet::new(TestNet::perfect_link(), 1, 1, game);
    net.run(seconds(2.0));
    net.clients[0].world_mut().resource_mut::<Keys>().0.x = 1;
    net.run(seconds(3.0));
    let (mispredicted, compared) = corrections(&net.clients[0]);
    assert!(mispredicted == 0 && compared > 100, "{mispredicted} of {compared}");
    // Nor of what is spawned and despawned in advance.
    net.clients[0].world_mut().resource_mut::<Keys>().0.fire = true;
    net.run(seconds(2.0));
    assert!(count::<Bullet>(&mut net.clients[0]) > 2);
    let (mispredicted, compared) = corrections(&net.clients[0]);
    assert!(mispredicted == 0 && compared > 200, "{mispredicted} of {compared}");
}

#[test]
fn the_server_corrects_and_the_ticks_since_are_replayed() {
    let mut net = net(1, game);
    net.run(seconds(2.5));
    let own = only::<Owned>(&mut net.clients[0]);
    net.clients[0].world_mut().entity_mut(own).insert(Steps(0));
    net.clients[0].world_mut().resource_mut::<Keys>().0.x = 1;
    net.run(seconds(1.0));
    // The server moves the player, which the client cannot know.
    let player = only::<OwnedBy>(&mut net.server);
    let (before, _) = corrections(&net.clients[0]);
    net.server.world_mut().get_mut::<Position>(player).unwrap().0 = [-50.0, 9.0];
    net.run(seconds(1.0));
    let (after, _) = corrections(&net.clients[0]);
    assert!(after > before);
    let position = *net.clients[0].world().get::<Position>(own).unwrap();
    assert!((-46.0..-41.0).contains(&position.0[0]), "{position:?}");
    assert!((position.0[1] - 9.0).abs() < 0.05, "{position:?}");
    // Two seconds at 60 Hz: replays count no tick twice.
    let steps = net.clients[0].world().get::<Steps>(own).unwrap().0;
    assert!((110..=130).contains(&steps), "{steps}");
}

#[test]
fn a_correction_fades_where_the_player_sees_it() {
    let mut net = net(1, game);
    net.run(seconds(2.5));
    let own = only::<Owned>(&mut net.clients[0]);
    let player = only::<OwnedBy>(&mut net.server);
    net.server.world_mut().get_mut::<Position>(player).unwrap().0[1] = 1.0;
    let (mut before, mut largest, mut between) = (0.0, 0.0f32, 0);
    net.run_with(seconds(1.5), |net| {
        let y = net.clients[0].world().get::<Position>(own).unwrap().0[1];
        largest = largest.max((y - before).abs());
        between += u32::from((0.05..0.95).contains(&y));
        before = y;
    });
    assert!(corrections(&net.clients[0]).0 > 0);
    assert!((before - 1.0).abs() < 0.02, "{before}");
    // Without an offset that fades, it would jump by 1 in a frame.
    assert!(largest < 0.3 && between > 8, "{largest} in {between} frames");
}

#[test]
fn a_bullet_that_is_spawned_in_advance_becomes_that_of_the_server() {
    #[derive(Resource, Default)]
    struct Spawned(u32);
    fn counting(app: &mut App) {
        game(app);
        app.init_resource::<Spawned>().add_systems(
            Update,
            |added: Query<(), Added<Bullet>>, mut spawned: ResMut<Spawned>| {
                spawned.0 += added.iter().count() as u32;
            },
        );
    }
    let mut net = net(2, counting);
    net.run(seconds(2.5));
    net.clients[0].world_mut().resource_mut::<Keys>().0.fire = true;
    let mut here = None;
    let mut frames = 0;
    net.run_with(seconds(0.5), |net| {
        frames += 1;
        if here.is_none() && count::<Bullet>(&mut net.clients[0]) > 0 {
            here = Some((frames, only::<Bullet>(&mut net.clients[0])));
            assert_eq!(count::<Bullet>(&mut net.server), 0, "in advance");
            net.clients[0].world_mut().resource_mut::<Keys>().0.fire = false;
        }
    });
    let (_, bullet) = here.unwrap();
    let world = net.clients[0].world();
    assert!(world.get_entity(bullet).is_ok(), "it is still the same entity");
    let id = world.resource::<EntityMap>().id(bullet).unwrap();
    assert!(id.0 < 1 << 20, "the server's id");
    let there = only::<Bullet>(&mut net.server);
    assert_eq!(remote(&net, 0, there), Some(bullet));
    assert_eq!(count::<Bullet>(&mut net.clients[1]), 1);
    let spawned = net.clients[0].world().resource::<Spawned>().0;
    assert!((1..=2).contains(&spawned), "{spawned}");
    // It is despawned by both sides.
    net.run(seconds(1.5));
    for app in [&mut net.server].into_iter().chain(&mut net.clients) {
        assert_eq!(count::<Bullet>(app), 0);
    }
}

#[test]
fn a_host_and_a_single_player_play_with_the_same_systems() {
    let mut single = App::new();
    game(&mut single);
    let frame = std::time::Duration::from_millis(10);
    single.insert_resource(bevy_time::TimeUpdateStrategy::ManualDuration(frame));
    single.finish();
    single.cleanup();
    let mut host = TestNet::hosted(TestNet::bad_link(), 3, 1, game);
    single.world_mut().resource_mut::<Keys>().0.x = 1;
    host.server.world_mut().resource_mut::<Keys>().0.x = 1;
    (0..200).for_each(|_| single.update());
    host.run(seconds(2.0));
    let own = only::<Owned>(&mut single);
    assert!(x_of(&mut single, own) > 10.0);
    let own = only::<Owned>(&mut host.server);
    let x = x_of(&mut host.server, own);
    assert!(x > 10.0);
    assert!(host.server.world().get::<Remote>(own).is_none(), "no copy");
    let seen = remote(&host, 0, own).unwrap();
    assert!((x_of(&mut host.clients[0], seen) - x).abs() < 2.5);
    assert_eq!(all::<Health>(&mut host.clients[0]).len(), 2);
}

#[derive(Component, Wire, Clone, Copy, PartialEq, Eq, Debug)]
struct Shooter(#[entities] Entity);

impl Default for Shooter {
    fn default() -> Self {
        Self(Entity::PLACEHOLDER)
    }
}

type Unsigned = (With<Bullet>, With<Simulated>, Without<Shooter>);

fn sign(
    bullets: Query<(Entity, &OwnedBy), Unsigned>,
    players: Query<(Entity, &OwnedBy), With<Controls<Move>>>,
    mut commands: Commands,
) {
    for (bullet, owner) in &bullets {
        let shooter = players.iter().find(|(_, of)| *of == owner).map(|(player, _)| player);
        commands.entity(bullet).insert(Shooter(shooter.unwrap()));
    }
}

#[test]
fn a_spawn_in_advance_can_contain_an_entity() {
    fn referring(app: &mut App) {
        game(app);
        app.add_systems(FixedUpdate, sign.after(shoot).before(fly));
        app.replicate::<Shooter>().predict().map_entities();
    }
    let mut net = TestNet::new(TestNet::perfect_link(), 1, 1, referring);
    net.run(seconds(2.0));
    let own = only::<Controls<Move>>(&mut net.clients[0]);
    net.clients[0].world_mut().resource_mut::<Keys>().0.fire = true;
    net.run(seconds(2.0));
    let shooters = all::<Shooter>(&mut net.clients[0]);
    assert!(shooters.len() > 2 && shooters.iter().all(|shooter| shooter.0 == own), "{shooters:?}");
    assert_eq!(corrections(&net.clients[0]).0, 0);
}
