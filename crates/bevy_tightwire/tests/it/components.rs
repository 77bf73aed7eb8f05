//! Kinds of components: optional ones, many, those of `glam`, `Transform`, and resources.

use bevy_app::{App, FixedUpdate};
use bevy_ecs::prelude::*;
use bevy_math::{Quat, Vec2, Vec3};
use bevy_tightwire::TestNet;
use bevy_tightwire::prelude::*;
use bevy_transform::components::Transform;

use crate::game::{Heading, Health, Label, Position, all, count, net, only, remote, seconds};
use crate::visibility::clients;

#[test]
fn an_optional_component_comes_and_goes_without_the_others() {
    fn game(app: &mut App) {
        app.add_plugins(TightwirePlugins::new("optional", "1.0"));
        app.replicate::<(Position, Heading)>().optional::<Health>();
    }
    let mut net = net(1, game);
    let server = net.server.world_mut();
    let body = (Position([1.0, 2.0]), Heading(90.0));
    let entity = server.spawn((Replicated, body)).id();
    // Of the group only: neither alone nor with a part of it.
    server.spawn((Replicated, Health(1)));
    server.spawn((Replicated, Health(2), Position([3.0, 4.0])));
    net.run(seconds(1.5));
    assert_eq!(count::<Remote>(&mut net.clients[0]), 3);
    let has = |net: &mut TestNet| {
        net.run(seconds(1.0));
        let client = &mut net.clients[0];
        assert_eq!((count::<Position>(client), count::<Heading>(client)), (1, 1));
        all::<Health>(client)
    };
    assert_eq!(has(&mut net), []);
    net.server.world_mut().entity_mut(entity).insert(Health(7));
    assert_eq!(has(&mut net), [Health(7)]);
    net.server.world_mut().get_mut::<Health>(entity).unwrap().0 = 8;
    assert_eq!(has(&mut net), [Health(8)]);
    net.server.world_mut().entity_mut(entity).remove::<Health>();
    assert_eq!(has(&mut net), []);
}

#[test]
fn a_group_for_the_owner_is_on_its_client_only() {
    fn game(app: &mut App) {
        app.add_plugins(TightwirePlugins::new("owner only", "1.0"));
        app.replicate::<Label>();
        app.replicate::<(Position, Health)>().owner_only();
    }
    let mut net = net(2, game);
    net.run(seconds(1.0));
    let [first, second] = clients(&mut net)[..] else { panic!("two clients") };
    let group = (Position([1.0, 2.0]), Health(3));
    let entity = (Replicated, Label("one".into()), OwnedBy(first), group);
    let entity = net.server.world_mut().spawn(entity).id();
    // Half of the group is not sent, not even to the owner.
    let half = (Replicated, Label("half".into()), OwnedBy(first), Position([5.0, 6.0]));
    net.server.world_mut().spawn(half);
    let has = |net: &mut TestNet| {
        net.run(seconds(1.0));
        [0, 1].map(|client: usize| {
            let client = &mut net.clients[client];
            assert_eq!(count::<Label>(client), 2);
            (crate::game::positions(client), all::<Health>(client))
        })
    };
    let whole = (vec![[100, 200]], vec![Health(3)]);
    assert_eq!(has(&mut net), [whole.clone(), (vec![], vec![])]);
    net.server.world_mut().entity_mut(entity).insert(OwnedBy(second));
    assert_eq!(has(&mut net), [(vec![], vec![]), whole.clone()]);
    net.server.world_mut().entity_mut(entity).remove::<Health>();
    assert_eq!(has(&mut net), [(vec![], vec![]), (vec![], vec![])]);
    net.server.world_mut().entity_mut(entity).insert(Health(3));
    assert_eq!(has(&mut net), [(vec![], vec![]), whole]);
}

/// One of many components.
#[derive(Component, Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Number<const N: usize>(u8);

/// Calls a function for more numbers than the 32 that one presence mask has.
macro_rules! for_all_numbers {
    ($call:ident $arguments:tt) => {
        for_all_numbers! { $call $arguments:
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19
            20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39
        }
    };
    ($call:ident $arguments:tt: $($number:literal)+) => {
        $($call::<$number> $arguments;)+
    };
}

#[test]
fn an_entity_can_have_more_components_than_a_mask_has_bits() {
    fn register<const N: usize>(app: &mut App) {
        app.replicate::<Number<N>>();
    }
    fn insert<const N: usize>(world: &mut World, entity: Entity, by: u8) {
        world.entity_mut(entity).insert(Number::<N>(by + N as u8));
    }
    fn take<const N: usize>(world: &mut World, entity: Entity) {
        if N.is_multiple_of(3) {
            world.entity_mut(entity).remove::<Number<N>>();
        }
    }
    fn compare<const N: usize>(net: &TestNet, entity: Entity, count: &mut u32) {
        let copy = remote(net, 0, entity).unwrap();
        let here = net.server.world().get::<Number<N>>(entity);
        assert_eq!(net.clients[0].world().get::<Number<N>>(copy), here);
        *count += u32::from(here.is_some());
    }
    fn game(app: &mut App) {
        app.add_plugins(TightwirePlugins::new("many", "1.0"));
        for_all_numbers!(register(app));
    }
    let mut net = net(1, game);
    let entity = net.server.world_mut().spawn(Replicated).id();
    for_all_numbers!(insert(net.server.world_mut(), entity, 100));
    let expect = |net: &mut TestNet, expected| {
        net.run(seconds(1.5));
        let mut count = 0;
        for_all_numbers!(compare(net, entity, &mut count));
        assert_eq!(count, expected);
    };
    expect(&mut net, 40);
    for_all_numbers!(take(net.server.world_mut(), entity));
    expect(&mut net, 26);
    for_all_numbers!(insert(net.server.world_mut(), entity, 200));
    expect(&mut net, 40);
}

/// Vectors and a rotation, whose ranges the derive declares.
#[derive(Component, Wire, Clone, Copy, PartialEq, Debug)]
struct Pose {
    #[wire(min = -10.0, max = 10.0, resolution = 0.01)]
    flat: Vec2,
    #[wire(min = -100.0, max = 100.0, resolution = 0.001)]
    at: Vec3,
    #[wire(smallest_three = 12)]
    turn: Quat,
    exact: Vec3,
}

impl Default for Pose {
    fn default() -> Self {
        Self { flat: Vec2::ZERO, at: Vec3::ZERO, turn: Quat::IDENTITY, exact: Vec3::ZERO }
    }
}

#[test]
fn types_of_glam_are_fields() {
    fn game(app: &mut App) {
        app.add_plugins(TightwirePlugins::new("glam", "1.0"));
        app.replicate::<Pose>();
    }
    let mut net = net(1, game);
    let sent = Pose {
        flat: Vec2::new(-9.876, 5.4321),
        at: Vec3::new(0.1234, -99.9876, 42.0),
        turn: Quat::from_rotation_y(2.0) * Quat::from_rotation_x(-0.5),
        exact: Vec3::new(1e-9, -7.7e20, core::f32::consts::PI),
    };
    net.server.world_mut().spawn((Replicated, sent));
    net.run(seconds(1.5));
    let there = all::<Pose>(&mut net.clients[0])[0];
    assert!(there.flat.distance(sent.flat) < 0.01 && there.flat != sent.flat, "{there:?}");
    assert!(there.at.distance(sent.at) < 0.001, "{there:?}");
    assert!(there.turn.angle_between(sent.turn) < 0.001, "{there:?}");
    assert_eq!(there.exact, sent.exact);
}

#[test]
fn a_transform_moves_turns_and_grows_smoothly() {
    fn game(app: &mut App) {
        app.add_plugins(TightwirePlugins::new("transforms", "1.0"))
            .add_systems(FixedUpdate, fly.run_if(has_authority));
        let translation = FloatRange::new(-100.0, 100.0, 0.01);
        let scale = Some(FloatRange::new(0.0, 4.0, 0.01));
        app.replicate_as::<Transform, _>(TransformCodec { translation, rotation_bits: 12, scale })
            .interpolate();
    }
    fn fly(mut all: Query<&mut Transform>) {
        for mut transform in &mut all {
            transform.translation.x += 0.1;
            transform.rotate_y(0.02);
            transform.scale += 0.01;
        }
    }
    let mut net = net(1, game);
    net.run(seconds(1.0));
    net.server.world_mut().spawn((Replicated, Transform::default()));
    net.run(seconds(1.0));
    let of_client = |net: &mut TestNet| all::<Transform>(&mut net.clients[0])[0];
    let start = of_client(&mut net);
    let (mut before, mut largest, mut frames) = (start, [0.0f32; 3], 0);
    net.run_with(seconds(2.0), |net| {
        let now = of_client(net);
        let step = [
            now.translation.distance(before.translation),
            now.rotation.angle_between(before.rotation),
            now.scale.distance(before.scale),
        ];
        frames += u32::from(step[0] > 0.0);
        largest = core::array::from_fn(|axis| largest[axis].max(step[axis]));
        before = now;
    });
    // A frame of 1/120 s is 0.53 ticks; the shown time is stretched a little.
    assert!(frames > 200, "{frames}");
    assert!(largest[0] < 0.1 && largest[1] < 0.02 && largest[2] < 0.035, "{largest:?}");
    let way = before.translation.x - start.translation.x;
    assert!((12.0..13.5).contains(&way), "{way}");
    assert!((before.scale.x - start.scale.x - way / 10.0).abs() < 0.05, "{before:?}");
    // All of it is of one tick.
    let ticks = before.translation.x / 0.1;
    assert!((before.scale.x - 1.0 - ticks * 0.01).abs() < 0.02, "{before:?}");
}

#[test]
fn a_transform_stays_within_its_range_and_keeps_the_last_one_that_is_a_number() {
    fn game(app: &mut App) {
        app.add_plugins(TightwirePlugins::new("transforms", "1.0"));
        let translation = FloatRange::new(-10.0, 10.0, 0.01);
        app.replicate_as::<Transform, _>(TransformCodec { translation, ..Default::default() });
    }
    let mut net = net(1, game);
    net.run(seconds(1.0));
    let entity = net.server.world_mut().spawn((Replicated, Transform::from_xyz(1.0, 2.0, 3.0)));
    let entity = entity.id();
    let mut show = |x: f32| {
        net.server.world_mut().get_mut::<Transform>(entity).unwrap().translation.x = x;
        net.run(seconds(1.0));
        all::<Transform>(&mut net.clients[0])[0].translation.x
    };
    assert!((show(9.0) - 9.0).abs() < 0.01);
    assert!((show(11.0) - 10.0).abs() < 0.01);
    assert!((show(f32::NAN) - 10.0).abs() < 0.01);
    assert!((show(-4.0) + 4.0).abs() < 0.01);
}

#[derive(Resource, Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Round(u16);

#[test]
fn a_resource_comes_changes_and_goes_with_that_of_the_server() {
    fn game(app: &mut App) {
        app.add_plugins(TightwirePlugins::new("resources", "1.0")).replicate_resource::<Round>();
    }
    let mut net = net(1, game);
    let round = |net: &mut TestNet| {
        net.run(seconds(1.0));
        net.clients[0].world().get_resource::<Round>().copied()
    };
    assert_eq!(round(&mut net), None);
    net.server.insert_resource(Round(1));
    assert_eq!(round(&mut net), Some(Round(1)));
    net.server.world_mut().resource_mut::<Round>().0 = 2;
    assert_eq!(round(&mut net), Some(Round(2)));
    net.server.world_mut().remove_resource::<Round>();
    assert_eq!(round(&mut net), None);
    // As a client that comes late sees it.
    net.join();
    net.server.insert_resource(Round(3));
    assert_eq!(round(&mut net), Some(Round(3)));
    net.run(seconds(1.0));
    assert_eq!(net.clients[1].world().get_resource::<Round>(), Some(&Round(3)));
    // Systems that read it go on offline.
    net.clients[0].world_mut().commands().disconnect();
    assert_eq!(round(&mut net), Some(Round(3)));
    net.server.world_mut().remove_resource::<Round>();
    net.run(seconds(1.0));
    assert_eq!(net.clients[1].world().get_resource::<Round>(), None);
}

#[derive(Component, Wire, Clone, Copy, PartialEq, Eq, Debug)]
struct Follows(#[entities] Entity);

impl Default for Follows {
    fn default() -> Self {
        Self(Entity::PLACEHOLDER)
    }
}

#[test]
fn a_reference_that_is_removed_while_its_target_is_hidden_goes() {
    fn game(app: &mut App) {
        app.add_plugins(TightwirePlugins::new("references", "1.0"));
        app.replicate::<Follows>().map_entities();
        app.replicate::<Health>();
    }
    let mut net = net(1, game);
    net.run(seconds(1.0));
    let server = net.server.world_mut();
    let target = server.spawn((Replicated, Health(1))).id();
    let follower = server.spawn((Replicated, Health(2), Follows(target))).id();
    net.run(seconds(1.0));
    assert_eq!(count::<Follows>(&mut net.clients[0]), 1);
    net.server.world_mut().entity_mut(target).insert(NetScope(Scope::Room(RoomId(1))));
    net.run(seconds(1.0));
    assert_eq!(count::<Health>(&mut net.clients[0]), 1);
    net.server.world_mut().entity_mut(follower).remove::<Follows>();
    net.run(seconds(1.0));
    assert_eq!(count::<Follows>(&mut net.clients[0]), 0);
    assert_eq!(remote(&net, 0, follower), Some(only::<Health>(&mut net.clients[0])));
}
