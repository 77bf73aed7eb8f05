//! Predictions that the server refuses, owners that change, and replays.

use std::collections::BTreeMap;

use bevy_app::{App, FixedUpdate, RunFixedMainLoop};
use bevy_ecs::prelude::*;
use bevy_tightwire::TestNet;
use bevy_tightwire::prelude::*;
use bevy_time::{Fixed, Time};

use crate::game::{Bullet, Heading, Position, count, net, only, remote, seconds};
use crate::visibility::clients;

#[derive(Wire, Clone, Copy, PartialEq, Debug, Default)]
struct Move {
    #[wire(range = -1..=1)]
    x: i8,
    fire: bool,
    drop: bool,
    shield: bool,
}

impl Input for Move {}

/// The keys that the player of an app holds.
#[derive(Resource, Default)]
struct Keys(Move);

/// Whether this side refuses to spawn and to despawn bullets.
#[derive(Resource, Default)]
struct Refuses(bool);

/// A predicted component that systems insert and remove.
#[derive(Component, Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Shield;

/// Marks an entity without an owner, which both sides can step.
#[derive(Component, Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Ball;

/// The last result of each tick: whether the player had a shield.
#[derive(Resource, Default)]
struct Shields(BTreeMap<u32, bool>);

/// Ticks that were stepped: for the first time, and all.
#[derive(Resource, Default)]
struct Steps {
    first: Vec<u32>,
    all: Vec<u32>,
}

fn game(app: &mut App) {
    app.add_plugins(TightwirePlugins::new("disputes", "1.0"))
        .insert_resource(Time::<Fixed>::from_hz(60.0))
        .init_resource::<Keys>()
        .init_resource::<Refuses>()
        .init_resource::<Shields>()
        .init_resource::<Steps>()
        .add_input::<Move>()
        .add_systems(
            RunFixedMainLoop,
            (|keys: Res<Keys>, mut input: ResMut<LocalInput<Move>>| **input = keys.0)
                .in_set(NetworkSet::WriteInput),
        )
        .add_systems(FixedUpdate, (drive, shield, shoot, drop_bullets, roll).chain())
        .add_systems(
            FixedUpdate,
            (
                (|mut steps: ResMut<Steps>, tick: Res<NetTick>| steps.first.push(**tick))
                    .run_if(not(is_replaying)),
                |mut steps: ResMut<Steps>, tick: Res<NetTick>| steps.all.push(**tick),
            ),
        );
    app.replicate::<Position>().predict().interpolate();
    app.replicate::<Bullet>().predict();
    app.replicate::<Shield>().predict();
    app.replicate::<Ball>();
}

fn drive(mut players: Query<(&mut Position, &Controls<Move>)>) {
    for (mut position, input) in &mut players {
        position.0[0] += 0.1 * f32::from(input.x);
    }
}

fn shield(
    players: Query<(Entity, &Controls<Move>, Has<Shield>)>,
    tick: Res<NetTick>,
    mut shields: ResMut<Shields>,
    mut commands: Commands,
) {
    for (player, input, has) in &players {
        shields.0.insert(**tick, has);
        // The next state depends on the last one.
        if input.shield && tick.is_multiple_of(5) {
            match has {
                true => commands.entity(player).remove::<Shield>(),
                false => commands.entity(player).insert(Shield),
            };
        }
    }
}

fn shoot(
    players: Query<(&Position, &Controls<Move>, &OwnedBy), With<Simulated>>,
    bullets: Query<(), With<Bullet>>,
    refuses: Res<Refuses>,
    mut commands: Commands,
) {
    for (position, input, owner) in &players {
        if input.fire && !refuses.0 && bullets.is_empty() {
            commands.spawn((Replicated, *owner, PreSpawned(0), Bullet, *position));
        }
    }
}

type Flying = (With<Bullet>, With<Simulated>);

fn drop_bullets(
    players: Query<(&Controls<Move>, &OwnedBy), With<Simulated>>,
    bullets: Query<(Entity, &OwnedBy), Flying>,
    refuses: Res<Refuses>,
    mut commands: Commands,
) {
    for (_, owner) in players.iter().filter(|(input, _)| input.drop && !refuses.0) {
        for (bullet, _) in bullets.iter().filter(|(_, of)| *of == owner) {
            commands.entity(bullet).net_despawn();
        }
    }
}

fn roll(mut balls: Query<&mut Position, (With<Ball>, With<Simulated>)>) {
    for mut position in &mut balls {
        position.0[1] += 0.1;
    }
}

fn keys(app: &mut App) -> &mut Move {
    &mut app.world_mut().resource_mut::<Keys>().into_inner().0
}

/// A network with clients, of which the first owns a player, the returned entity.
fn start(clients_count: usize) -> (TestNet, Entity) {
    let mut net = net(clients_count, game);
    net.run(seconds(1.0));
    let owner = OwnedBy(clients(&mut net)[0]);
    let player = (Replicated, owner, Position([0.0, 0.0]), Controls::<Move>::default());
    let player = net.server.world_mut().spawn(player).id();
    net.run(seconds(1.5));
    (net, player)
}

fn corrections(app: &App) -> u64 {
    bevy_tightwire::client_stats(app.world()).unwrap().prediction.mispredicted
}

#[test]
fn a_spawn_that_the_server_refuses_is_taken_back() {
    let (mut net, _) = start(1);
    net.server.insert_resource(Refuses(true));
    let map = |net: &TestNet| net.clients[0].world().resource::<EntityMap>().len();
    let before = (map(&net), net.clients[0].world().entities().count_spawned());
    keys(&mut net.clients[0]).fire = true;
    net.run(seconds(0.1));
    keys(&mut net.clients[0]).fire = false;
    assert_eq!(count::<Bullet>(&mut net.clients[0]), 1, "in advance");
    net.run(seconds(1.0));
    assert_eq!(count::<Bullet>(&mut net.clients[0]), 0);
    assert_eq!(before, (map(&net), net.clients[0].world().entities().count_spawned()));
    // The next one is not refused.
    net.server.insert_resource(Refuses(false));
    keys(&mut net.clients[0]).fire = true;
    net.run(seconds(1.0));
    let bullet = only::<Bullet>(&mut net.server);
    assert_eq!(remote(&net, 0, bullet), Some(only::<Bullet>(&mut net.clients[0])));
}

#[test]
fn a_despawn_that_the_server_refuses_is_taken_back() {
    let (mut net, _) = start(2);
    keys(&mut net.clients[0]).fire = true;
    net.run(seconds(0.5));
    keys(&mut net.clients[0]).fire = false;
    net.run(seconds(0.5));
    let bullet = only::<Bullet>(&mut net.clients[0]);
    net.server.insert_resource(Refuses(true));
    keys(&mut net.clients[0]).drop = true;
    net.run(seconds(0.06));
    keys(&mut net.clients[0]).drop = false;
    assert_eq!(count::<Bullet>(&mut net.clients[0]), 0, "hidden at once");
    net.run(seconds(1.0));
    assert_eq!(only::<Bullet>(&mut net.clients[0]), bullet, "shown again, the same entity");
    assert!(net.clients[0].world().get::<Predicted>(bullet).is_some());
    let there = only::<Bullet>(&mut net.server);
    assert_eq!(remote(&net, 0, there), Some(bullet));
    // And one that it does not refuse.
    net.server.insert_resource(Refuses(false));
    keys(&mut net.clients[0]).drop = true;
    net.run(seconds(1.0));
    assert_eq!(count::<Bullet>(&mut net.server) + count::<Bullet>(&mut net.clients[1]), 0);
    assert!(net.clients[0].world().get_entity(bullet).is_err(), "no longer hidden, but gone");
}

#[test]
fn a_despawn_of_an_entity_that_the_client_does_not_predict_is_that_of_the_server() {
    let (mut net, _) = start(1);
    let ball = net.server.world_mut().spawn((Replicated, Ball, Position([0.0, 0.0]))).id();
    net.run(seconds(1.0));
    let copy = remote(&net, 0, ball).unwrap();
    net.clients[0].world_mut().commands().entity(copy).net_despawn();
    net.run(seconds(0.5));
    assert!(net.clients[0].world().get::<Ball>(copy).is_some());
    net.server.world_mut().commands().entity(ball).net_despawn();
    net.run(seconds(0.5));
    assert!(net.clients[0].world().get_entity(copy).is_err());
}

#[test]
fn an_entity_of_nobody_is_predicted_while_the_game_says_so() {
    let (mut net, _) = start(1);
    let ball = net.server.world_mut().spawn((Replicated, Ball, Position([0.0, 0.0]))).id();
    net.run(seconds(1.0));
    let copy = remote(&net, 0, ball).unwrap();
    // Ticks by which the client is ahead of the server.
    let ahead = |net: &TestNet| {
        let y = |app: &App, entity| app.world().get::<Position>(entity).unwrap().0[1];
        (y(&net.clients[0], copy) - y(&net.server, ball)) / 0.1
    };
    assert!((-25.0..-5.0).contains(&ahead(&net)), "interpolated: {}", ahead(&net));
    let predict = |net: &mut TestNet, is_predicted| {
        net.clients[0].world_mut().commands().entity(copy).net_predict(is_predicted);
        net.run(seconds(1.0));
        net.clients[0].world().get::<Predicted>(copy).is_some()
    };
    assert!(predict(&mut net, true));
    assert!((2.0..15.0).contains(&ahead(&net)), "predicted: {}", ahead(&net));
    assert_eq!(corrections(&net.clients[0]), 0);
    assert!(net.clients[0].world().get::<Owned>(copy).is_none());
    assert!(!predict(&mut net, false));
    assert!((-25.0..-5.0).contains(&ahead(&net)), "interpolated again: {}", ahead(&net));

    // What only this side predicted goes with the prediction.
    assert!(predict(&mut net, true));
    net.clients[0].add_systems(
        FixedUpdate,
        |balls: Query<Entity, (With<Ball>, With<Simulated>)>, mut commands: Commands| {
            for ball in &balls {
                commands.entity(ball).insert(Shield);
            }
        },
    );
    net.run(seconds(0.5));
    assert!(net.clients[0].world().get::<Shield>(copy).is_some());
    assert!(!predict(&mut net, false));
    assert!(net.clients[0].world().get::<Shield>(copy).is_none());
}

#[test]
fn another_owner_predicts_the_entity_from_then_on() {
    let (mut net, player) = start(2);
    let all = clients(&mut net);
    let copies = [0, 1].map(|client| remote(&net, client, player).unwrap());
    // Each presses another key.
    keys(&mut net.clients[0]).x = 1;
    keys(&mut net.clients[1]).x = -1;
    net.run(seconds(1.0));
    let roles = |net: &TestNet| {
        [0, 1].map(|client: usize| {
            let copy = net.clients[client].world().entity(copies[client]);
            let has = [copy.contains::<Owned>(), copy.contains::<Predicted>()];
            let has = [has[0], has[1], copy.contains::<Simulated>()];
            assert!(has.iter().all(|one| *one == copy.contains::<Controls<Move>>()), "{has:?}");
            has[0]
        })
    };
    let x = |app: &App, entity| app.world().get::<Position>(entity).unwrap().0[0];
    assert_eq!(roles(&net), [true, false]);
    assert!(x(&net.server, player) > 2.0);
    for (owner, expected) in [(1, [false, true]), (0, [true, false])] {
        net.server.world_mut().entity_mut(player).insert(OwnedBy(all[owner]));
        net.run(seconds(1.0));
        assert_eq!(roles(&net), expected);
        // The new owner's keys are obeyed, at once on its client.
        let before = x(&net.server, player);
        let corrected = corrections(&net.clients[owner]);
        net.run(seconds(1.0));
        let moved = x(&net.server, player) - before;
        let direction = [1.0, -1.0][owner];
        assert!((5.0..7.0).contains(&(moved * direction)), "{moved}");
        let [own, other] = [owner, 1 - owner].map(|one| x(&net.clients[one], copies[one]));
        let lead = (own - x(&net.server, player)) * direction;
        let lag = (x(&net.server, player) - other) * direction;
        assert!(lead > 0.2 && lag > 0.4, "{lead} {lag}");
        assert!(corrections(&net.clients[owner]) <= corrected + 2, "only a lost input");
    }
    // Without an owner, nobody holds its keys.
    net.server.world_mut().entity_mut(player).remove::<OwnedBy>();
    net.run(net.frame * 2);
    let before = x(&net.server, player);
    net.run(seconds(0.5));
    assert_eq!(x(&net.server, player), before);
    assert_eq!(roles(&net), [false, false]);
}

#[test]
fn a_predicted_component_goes_with_the_rest_of_its_group() {
    fn grouped(app: &mut App) {
        app.add_plugins(TightwirePlugins::new("group", "1.0"));
        app.replicate::<(Position, Bullet)>().predict();
        // The entity is predicted without the group too.
        app.replicate::<Heading>().predict();
    }
    let mut net = crate::game::net(1, grouped);
    net.run(seconds(1.0));
    let client = clients(&mut net)[0];
    let group = (Position::default(), Bullet, Heading(1.0));
    let entity = net.server.world_mut().spawn((Replicated, OwnedBy(client), group)).id();
    net.run(seconds(1.0));
    let copy = remote(&net, 0, entity).unwrap();
    assert!(net.clients[0].world().get::<Bullet>(copy).is_some());
    net.server.world_mut().entity_mut(entity).remove::<Position>();
    net.run(seconds(1.0));
    assert!(net.clients[0].world().get::<Bullet>(copy).is_none());
    net.assert_equal_worlds();
    net.server.world_mut().entity_mut(entity).insert(Position([2.0, 3.0]));
    net.run(seconds(1.0));
    assert!(net.clients[0].world().get::<Bullet>(copy).is_some());
    net.assert_equal_worlds();
}

#[test]
fn components_that_a_replay_inserts_and_removes_are_those_of_the_server() {
    let (mut net, player) = start(1);
    let mut frames = 0;
    net.run_with(seconds(6.0), |net| {
        frames += 1;
        keys(&mut net.clients[0]).shield = frames / 70 % 2 == 0;
        // The server moves the player, which the client cannot know: it replays.
        if frames % 50 == 0 {
            net.server.world_mut().get_mut::<Position>(player).unwrap().0[1] += 2.0;
        }
    });
    keys(&mut net.clients[0]).shield = false;
    net.run(seconds(1.0));
    assert!(corrections(&net.clients[0]) >= 10);
    let (here, there) = [&net.server, &net.clients[0]].map(|app| app.world()).into();
    let (Shields(here), Shields(there)) = (here.resource(), there.resource());
    let both = here.iter().filter_map(|(tick, has)| Some((tick, has, there.get(tick)?)));
    // An input that was lost or late is not in the server's tick.
    let equal = both.clone().filter(|(_, here, there)| here == there).count();
    assert!(equal > 300 && equal + 10 > both.count(), "{equal}");
    let changes = |of: &BTreeMap<u32, bool>| {
        let all: Vec<_> = of.values().collect();
        all.windows(2).filter(|pair| pair[0] != pair[1]).count()
    };
    assert!(changes(there) > 20, "{}", changes(there));
    let copy = remote(&net, 0, player).unwrap();
    let has = |app: &App, entity| app.world().get::<Shield>(entity).is_some();
    assert_eq!(has(&net.clients[0], copy), has(&net.server, player));
}

#[test]
fn a_system_that_does_not_run_in_replays_sees_each_tick_once() {
    let (mut net, player) = start(1);
    for _ in 0..5 {
        net.server.world_mut().get_mut::<Position>(player).unwrap().0[1] += 2.0;
        net.run(seconds(0.5));
    }
    let Steps { first, all } = net.clients[0].world().resource();
    let mut once = first.clone();
    once.dedup();
    assert!(first.is_sorted() && once.len() == first.len(), "each tick once");
    let replayed = bevy_tightwire::client_stats(net.clients[0].world()).unwrap().prediction;
    assert!(replayed.replayed_ticks >= 25, "{replayed:?}");
    assert_eq!(all.len() as u64, first.len() as u64 + replayed.replayed_ticks);
    let Steps { first, all } = net.server.world().resource();
    assert_eq!(first, all, "a server replays nothing");
}
