//! Spawn, despawn, insert, remove and change, on the clients.

use bevy_app::App;
use bevy_ecs::prelude::*;
use bevy_state::state::State;
use bevy_tightwire::prelude::*;
use bevy_tightwire::tightwire::snapshot::Level;

use crate::game::{
    Bullet, Heading, Health, Label, Position, all, count, net, only, positions, seconds,
};

fn game(app: &mut App) {
    app.add_plugins(TightwirePlugins::new("replication", "1.0"));
    app.replicate::<Health>();
    app.replicate::<Label>();
    app.replicate::<(Position, Heading, Bullet)>().interpolate();
    app.replicate::<Position>();
}

#[test]
fn components_appear_change_and_go_with_those_of_the_server() {
    let mut net = net(2, game);
    let server = net.server.world_mut();
    let entity = server.spawn((Replicated, Health(80), Position([1.0, 2.0]))).id();
    let local = server.spawn(Health(1)).id();
    net.run(seconds(1.5));
    for client in &mut net.clients {
        assert_eq!(*client.world().resource::<State<ClientState>>().get(), ClientState::Connected);
        assert_eq!(all::<Health>(client), [Health(80)]);
        assert_eq!(positions(client), [[100, 200]]);
        assert_eq!((count::<Label>(client), count::<Remote>(client)), (0, 1));
    }
    let server = net.server.world_mut();
    assert!(server.get::<Health>(local).is_some());
    server.get_mut::<Health>(entity).unwrap().0 = 79;
    server.entity_mut(entity).insert(Label("Ada".into())).remove::<Position>();
    net.run(seconds(1.0));
    for client in &mut net.clients {
        assert_eq!(all::<Health>(client), [Health(79)]);
        assert_eq!(all::<Label>(client), [Label("Ada".into())]);
        assert_eq!(count::<Position>(client), 0);
    }
    net.server.world_mut().despawn(entity);
    net.run(seconds(1.0));
    for client in &mut net.clients {
        assert_eq!((count::<Health>(client), count::<Remote>(client)), (0, 0));
        assert!(client.world().resource::<EntityMap>().is_empty());
    }
}

#[test]
fn an_entity_without_the_marker_goes_and_comes_back_with_it() {
    let mut net = net(1, game);
    let entity = net.server.world_mut().spawn((Replicated, Health(80))).id();
    net.run(seconds(1.5));
    assert_eq!(count::<Health>(&mut net.clients[0]), 1);
    net.server.world_mut().entity_mut(entity).remove::<Replicated>();
    net.run(seconds(1.0));
    assert_eq!(count::<Health>(&mut net.clients[0]), 0);
    net.server.world_mut().entity_mut(entity).insert(Replicated);
    net.run(seconds(1.0));
    assert_eq!(count::<Health>(&mut net.clients[0]), 1);
}

#[test]
fn a_group_becomes_a_class_of_its_own_and_back() {
    let mut net = net(1, game);
    let (position, heading) = (Position([5.0, 6.0]), Heading(90.0));
    let server = net.server.world_mut();
    let entity = server.spawn((Replicated, position, heading, Bullet, Health(3))).id();
    // Without the rest of its group, a heading is not replicated.
    server.spawn((Replicated, Heading(1.0), Label("lone".into())));
    net.run(seconds(1.5));
    let client = &mut net.clients[0];
    assert_eq!(positions(client), [[500, 600]]);
    assert!((all::<Heading>(client)[0].0 - heading.0).abs() < 0.1);
    assert_eq!((count::<Bullet>(client), count::<Health>(client)), (1, 1));
    assert_eq!(count::<Remote>(client), 2);
    net.server.world_mut().entity_mut(entity).remove::<Bullet>();
    net.run(seconds(1.0));
    let client = &mut net.clients[0];
    assert_eq!(positions(client), [[500, 600]]);
    assert_eq!((count::<Heading>(client), count::<Bullet>(client)), (0, 0));
    assert_eq!(count::<Health>(client), 1);
}

#[test]
fn a_component_that_is_not_changed_is_not_marked_as_changed() {
    #[derive(Resource, Default)]
    struct Changes(u32);
    fn game_with_count(app: &mut App) {
        game(app);
        app.init_resource::<Changes>().add_systems(
            bevy_app::Update,
            |changed: Query<(), Changed<Health>>, mut changes: ResMut<Changes>| {
                changes.0 += changed.iter().count() as u32;
            },
        );
        // Marks the component as changed in each tick, but changes nothing.
        app.add_systems(bevy_app::FixedUpdate, |mut all: Query<&mut Health, With<Simulated>>| {
            all.iter_mut().for_each(|mut health| health.set_changed());
        });
    }
    let mut net = net(1, game_with_count);
    let entity = net.server.world_mut().spawn((Replicated, Health(80), Label("x".into()))).id();
    net.run(seconds(2.0));
    assert_eq!(net.clients[0].world().resource::<Changes>().0, 1);
    net.server.world_mut().get_mut::<Health>(entity).unwrap().0 = 3;
    net.run(seconds(1.0));
    assert_eq!(net.clients[0].world().resource::<Changes>().0, 2);
    let change = {
        let server = net.server.world_mut();
        server.query::<Ref<Label>>().single(server).unwrap().last_changed()
    };
    let added = {
        let server = net.server.world_mut();
        server.query::<Ref<Label>>().single(server).unwrap().added()
    };
    assert_eq!(change, added, "replication marks nothing as changed");
}

#[test]
fn a_client_that_comes_late_or_leaves_gets_and_loses_everything() {
    let mut net = net(0, game);
    let server = net.server.world_mut();
    server.spawn_batch((0..50).map(|number| (Replicated, Health(number))));
    net.run(seconds(0.5));
    let first = only_health(&mut net.server, 7);
    net.server.world_mut().get_mut::<Health>(first).unwrap().0 = 99;
    net.server.world_mut().entity_mut(first).insert(Label("changed before".into()));
    net.join();
    net.run(seconds(1.5));
    let client = &mut net.clients[0];
    assert_eq!(count::<Health>(client), 50);
    let entity = only::<Label>(client);
    assert_eq!(client.world().get::<Health>(entity), Some(&Health(99)));

    client.world_mut().commands().disconnect();
    net.run(seconds(1.0));
    let client = &mut net.clients[0];
    assert_eq!((count::<Remote>(client), count::<Health>(client)), (0, 0));
    assert_eq!(*client.world().resource::<NetMode>(), NetMode::Offline);
    assert_eq!(count::<ConnectedClient>(&mut net.server), 0);
}

#[test]
#[should_panic = "add `TightwirePlugins`"]
fn a_test_without_the_plugin_says_so() {
    let _ = net(1, |app| drop(app.replicate::<Health>()));
}

/// A component that is not replicated, and decides which others are.
#[derive(Component)]
struct Player;

#[test]
fn filters_decide_by_the_other_components_of_an_entity() {
    fn filtered(app: &mut App) {
        app.add_plugins(TightwirePlugins::new("filters", "1.0"));
        app.replicate::<Label>();
        app.replicate::<Health>().only_if::<With<Player>>();
        app.replicate::<(Position, Heading)>().only_if::<Without<Player>>();
    }
    let mut net = net(1, filtered);
    let server = net.server.world_mut();
    let body = (Position([1.0, 2.0]), Heading(90.0));
    let one = server.spawn((Replicated, Label("one".into()), Health(1), body)).id();
    let other = server.spawn((Replicated, Label("other".into()), Health(2), body, Player)).id();
    let has = |net: &bevy_tightwire::TestNet, entity: Entity| {
        let copy = crate::game::remote(net, 0, entity).unwrap();
        let copy = net.clients[0].world().entity(copy);
        assert_eq!(copy.contains::<Position>(), copy.contains::<Heading>());
        assert!(copy.contains::<Label>());
        (copy.get::<Health>().map(|health| health.0), copy.contains::<Position>())
    };
    net.run(seconds(1.5));
    assert_eq!((has(&net, one), has(&net, other)), ((None, true), (Some(2), false)));
    let server = net.server.world_mut();
    server.entity_mut(one).insert(Player);
    server.entity_mut(other).remove::<Player>();
    net.run(seconds(1.0));
    assert_eq!((has(&net, one), has(&net, other)), ((Some(1), false), (None, true)));
    // A change of what is filtered out is sent once it passes.
    net.server.world_mut().get_mut::<Health>(other).unwrap().0 = 9;
    net.run(seconds(1.0));
    assert_eq!(has(&net, other), (None, true));
    net.server.world_mut().entity_mut(other).insert(Player);
    net.run(seconds(1.0));
    assert_eq!(has(&net, other), (Some(9), false));
}

/// Velocity in units per second.
#[derive(Component, Wire, Clone, Copy, PartialEq, Debug, Default)]
struct Velocity(#[wire(min = -100.0, max = 100.0, resolution = 0.1)] [f32; 2]);

/// Turns 20 bodies that fly in circles, and returns the bytes that a client received.
fn bytes_of_flight(register: fn(&mut App)) -> u64 {
    let mut net = net(1, register);
    net.server.add_systems(
        bevy_app::FixedUpdate,
        |mut all: Query<(&mut Position, &mut Velocity)>| {
            for (number, (mut position, mut velocity)) in (0u8..).zip(&mut all) {
                let [x, y] = velocity.0;
                let (sin, cos) = (0.02 + 0.003 * f32::from(number)).sin_cos();
                velocity.0 = [x * cos - y * sin, x * sin + y * cos];
                position.0 =
                    core::array::from_fn(|axis| position.0[axis] + velocity.0[axis] / 64.0);
            }
        },
    );
    let body =
        |number: u8| (Position([f32::from(number), 0.0]), Velocity([30.0, f32::from(number)]));
    net.server.world_mut().spawn_batch((0..20).map(move |number| (Replicated, body(number))));
    net.run(seconds(4.0));
    assert_eq!(count::<Velocity>(&mut net.clients[0]), 20);
    bevy_tightwire::client_stats(net.clients[0].world()).unwrap().snapshot_bytes
}

#[test]
fn a_velocity_that_is_declared_as_one_saves_bytes() {
    let plain = bytes_of_flight(|app| {
        app.add_plugins(TightwirePlugins::new("flight", "1.0"));
        app.replicate::<(Position, Velocity)>();
    });
    let declared = bytes_of_flight(|app| {
        app.add_plugins(TightwirePlugins::new("flight", "1.0"));
        app.replicate::<(Position, Velocity)>().derivative::<Velocity, Position>();
    });
    println!("{declared} bytes of {plain}");
    assert!(declared < plain, "{declared} of {plain}");
}

#[test]
fn groups_that_move_in_their_own_ways_take_fewer_bytes_than_loose_components() {
    /// Flies 40 bodies with all components of a group, beside 40 entities with some of them that move
    /// in another way.
    fn bytes(register: fn(&mut App)) -> u64 {
        let mut net = net(1, register);
        net.server.add_systems(
            bevy_app::FixedUpdate,
            |mut all: Query<(&mut Position, &mut Heading, Has<Bullet>)>, tick: Res<NetTick>| {
                for (number, (mut position, mut heading, is_bullet)) in (0u8..).zip(&mut all) {
                    let number = f32::from(number);
                    // No two bodies and no two ticks are alike.
                    let noise = (**tick as f32 * (1.7 + number * 0.13)).sin();
                    if is_bullet {
                        position.0[0] += 0.3;
                        position.0[1] += 0.1;
                    } else {
                        position.0[0] += 3.0 * noise;
                        position.0[1] -= 2.0 * noise * noise;
                        heading.0 = (180.0 + 90.0 * noise) % 360.0;
                    }
                }
            },
        );
        let body = |number: u8| (Position([f32::from(number), 0.0]), Heading(90.0));
        let server = net.server.world_mut();
        server.spawn_batch((0..40).map(move |number| (Replicated, body(number), Bullet)));
        server.spawn_batch((0..40).map(move |number| (Replicated, body(number))));
        net.run(seconds(4.0));
        let client = &mut net.clients[0];
        assert_eq!((count::<Bullet>(client), count::<Heading>(client)), (40, 80));
        bevy_tightwire::client_stats(client.world()).unwrap().snapshot_bytes
    }
    fn plugins(app: &mut App, level: Level) {
        let mut server = TightwireServerPlugin::new("groups", "1.0");
        server.config.snapshot.level = level;
        app.add_plugins((server, TightwireClientPlugin::new("groups", "1.0")));
        app.replicate::<Position>();
        app.replicate::<Heading>();
        app.replicate::<Bullet>();
    }
    fn group(app: &mut App) {
        app.replicate::<(Position, Heading, Bullet)>();
    }
    let packed = [
        bytes(|app| plugins(app, Level::Packed)),
        bytes(|app| {
            plugins(app, Level::Packed);
            group(app);
        }),
    ];
    let modeled = [
        bytes(|app| plugins(app, Level::Modeled)),
        bytes(|app| {
            plugins(app, Level::Modeled);
            group(app);
        }),
    ];
    println!("alone and as a group: packed {packed:?}, modeled {modeled:?} bytes");
    assert!(packed[1] < 9 * packed[0] / 10, "{packed:?}");
    // The model learns how an object moves, whatever its class.
    assert!(modeled[1] < 21 * modeled[0] / 20 && modeled[0] < packed[1], "{modeled:?}");
}

fn only_health(app: &mut App, health: u8) -> Entity {
    let world = app.world_mut();
    let mut all = world.query::<(Entity, &Health)>();
    all.iter(world).find(|(_, has)| has.0 == health).unwrap().0
}
