//! Lag compensation, resources, transforms.

use bevy_app::{App, FixedUpdate};
use bevy_ecs::prelude::*;
use bevy_math::{Quat, Vec3};
use bevy_tightwire::prelude::*;
use bevy_transform::components::Transform;

use crate::game::{Bullet, Health, Position, all, count, net, remote, seconds};

#[derive(Resource, Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Round(u16);

/// View of each client, as the server has it.
#[derive(Resource, Default)]
struct SeenBy(Vec<f32>);

fn game(app: &mut App) {
    app.add_plugins(TightwirePlugins::new("extras", "1.0"))
        .init_resource::<SeenBy>()
        .replicate_resource::<Round>()
        .add_systems(FixedUpdate, (advance, look).chain().run_if(has_authority));
    app.replicate::<Position>().interpolate();
    app.replicate_once::<Health>();
    let translation = FloatRange::new(-100.0, 100.0, 0.01);
    app.replicate_as::<Transform, _>(TransformCodec { translation, ..TransformCodec::default() })
        .interpolate();
}

fn advance(mut all: Query<&mut Position>) {
    for mut position in &mut all {
        position.0[0] += 0.1;
    }
}

fn look(
    targets: Query<Entity, With<Position>>,
    clients: Query<Entity, With<ConnectedClient>>,
    lag: LagCompensation,
    mut seen: ResMut<SeenBy>,
) {
    seen.0.clear();
    for client in &clients {
        for target in &targets {
            let past = lag.as_seen_by(client, |past| past.get::<Position>(target)).flatten();
            seen.0.extend(past.map(|past| past.0[0]));
        }
    }
}

#[test]
fn the_server_sees_what_a_client_saw() {
    let mut net = net(1, game);
    net.server.world_mut().spawn((Replicated, Position([0.0, 0.0])));
    net.run(seconds(4.0));
    let now = all::<Position>(&mut net.server)[0].0[0];
    let then = net.server.world().resource::<SeenBy>().0[0];
    // 64 ticks of 0.1: a round trip of 100 ms and the jitter buffer are 6 to 20 ticks.
    assert!((0.5..2.5).contains(&(now - then)), "{now} {then}");
}

#[test]
fn the_past_is_put_into_components_and_back() {
    let mut net = net(2, game);
    net.run(seconds(1.0));
    let [client, other] = crate::visibility::clients(&mut net)[..] else { panic!("two clients") };
    let server = net.server.world_mut();
    // Its own entity is in the present, since a client predicts it.
    let own = server.spawn((Replicated, OwnedBy(client), Position([0.0, 0.0]))).id();
    let target = server.spawn((Replicated, OwnedBy(other), Position([0.0, 0.0]))).id();
    let still = server.spawn((Replicated, Health(7), Position([0.0, 9.0]))).id();
    net.run(seconds(3.0));
    let server = net.server.world_mut();
    server.entity_mut(still).insert(Bullet);
    let newcomer = server.spawn((Replicated, Position([50.0, 0.0]))).id();
    let all = [own, target, still, newcomer];
    let positions = |world: &World| all.map(|entity| *world.get::<Position>(entity).unwrap());
    let present = positions(server);
    let past = server
        .rewound(client, |world| {
            world.get_mut::<Position>(target).unwrap().0[1] = 77.0;
            let past = positions(world);
            // Again, for the other client: its own entity is the target.
            let others = world.rewound(other, |world| positions(world)).unwrap();
            assert_eq!(others[1].0, [past[1].0[0], 77.0]);
            assert!(others[0].0[0] < past[0].0[0]);
            past
        })
        .unwrap();
    assert_eq!(past[0], present[0]);
    let back = present[1].0[0] - past[1].0[0];
    assert!((0.5..2.5).contains(&back), "{back}");
    assert!((0.5..2.5).contains(&(present[2].0[0] - past[2].0[0])), "{past:?} {present:?}");
    assert_eq!(past[3], present[3], "it did not exist");
    assert_eq!(positions(server), present, "bit by bit, and without the change");
    assert_eq!(server.rewound(own, |_| ()), None, "no client");

    // It is as the client saw it when it made the input of this tick, some 100 ms ago.
    net.run(seconds(1.0));
    let seen = remote(&net, 0, target).unwrap();
    let shown = net.clients[0].world().get::<Position>(seen).unwrap().0[0];
    let seen =
        net.server.world_mut().rewound(client, |world| world.get::<Position>(target).unwrap().0[0]);
    assert!((0.0..1.2).contains(&(shown - seen.unwrap())), "{seen:?} {shown}");
}

#[test]
fn resources_and_values_that_are_sent_once() {
    let mut net = net(1, game);
    net.server.insert_resource(Round(3));
    let entity = net.server.world_mut().spawn((Replicated, Health(5))).id();
    net.run(seconds(2.0));
    assert_eq!(net.clients[0].world().get_resource::<Round>(), Some(&Round(3)));
    assert_eq!(all::<Health>(&mut net.clients[0]), [Health(5)]);
    net.server.world_mut().resource_mut::<Round>().0 = 4;
    net.server.world_mut().get_mut::<Health>(entity).unwrap().0 = 6;
    net.run(seconds(1.0));
    assert_eq!(net.clients[0].world().get_resource::<Round>(), Some(&Round(4)));
    assert_eq!(all::<Health>(&mut net.clients[0]), [Health(5)], "only the first value");
}

#[test]
fn transforms_have_a_range_and_a_resolution() {
    let mut net = net(1, game);
    let rotation = Quat::from_rotation_y(1.0);
    let transform = Transform::from_translation(Vec3::new(1.0, -2.0, 99.0)).with_rotation(rotation);
    net.server.world_mut().spawn((Replicated, transform));
    net.run(seconds(2.0));
    let there = all::<Transform>(&mut net.clients[0])[0];
    assert!(there.translation.distance(transform.translation) < 0.02, "{there:?}");
    assert!(there.rotation.angle_between(rotation) < 0.01, "{there:?}");
    assert_eq!(there.scale, Vec3::ONE);
    assert_eq!(count::<Remote>(&mut net.clients[0]), 1);
}
