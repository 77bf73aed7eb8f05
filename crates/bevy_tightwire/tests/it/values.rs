//! Values that cannot be sent: numbers out of their range, or that are no numbers.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_tightwire::prelude::*;
use bevy_tightwire::{TestNet, client_stats};

use crate::game::{Heading, Health, Label, Position, all, net, remote, seconds};

#[derive(Wire, Clone, Copy, PartialEq, Debug, Default)]
struct Aim {
    #[wire(range = -1..=1)]
    x: i8,
    #[wire(min = -1.0, max = 1.0, resolution = 0.1)]
    y: f32,
}

impl Input for Aim {}

fn game(app: &mut App) {
    app.add_plugins(TightwirePlugins::new("values", "1.0"))
        .add_input::<Aim>()
        .add_observer(|joined: On<Add, ConnectedClient>, mut commands: Commands| {
            let player = (Position::default(), Controls::<Aim>::default());
            commands.spawn((Replicated, OwnedBy(joined.entity), player));
        })
        .add_systems(FixedUpdate, |mut players: Query<(&mut Position, &Controls<Aim>)>| {
            for (mut position, input) in &mut players {
                position.0[0] += 0.1 * f32::from(input.x);
                position.0[1] += 0.5 * input.y;
            }
        });
    app.replicate::<(Position, Heading)>();
    app.replicate::<Position>().predict();
    app.replicate_once::<Health>();
    app.replicate::<Label>();
}

/// The position of an entity as the client has it.
fn shown(net: &TestNet, entity: Entity) -> Option<[i32; 2]> {
    let copy = remote(net, 0, entity)?;
    net.clients[0].world().get::<Position>(copy).map(|position| position.rounded())
}

#[test]
fn a_value_that_cannot_be_sent_leaves_the_previous_one() {
    let mut net = net(1, game);
    net.run(seconds(1.0));
    let text = |length| Label("x".repeat(length));
    let entity = net.server.world_mut().spawn((Replicated, Position([f32::NAN; 2]), text(21))).id();
    net.run(seconds(0.5));
    let copy = remote(&net, 0, entity).unwrap();
    assert_eq!(shown(&net, entity), None);
    assert!(net.clients[0].world().get::<Label>(copy).is_none());
    net.server.world_mut().entity_mut(entity).insert((Position([1e30, 2.0]), text(20)));
    net.run(seconds(0.5));
    assert_eq!(shown(&net, entity), Some([50_000, 200]), "the end of its range");
    net.server.world_mut().entity_mut(entity).insert((Position([f32::INFINITY; 2]), text(999)));
    net.run(seconds(0.5));
    assert_eq!(shown(&net, entity), Some([50_000, 200]));
    assert_eq!(net.clients[0].world().get::<Label>(copy), Some(&text(20)));
    // The same if it completes a group.
    net.server.world_mut().entity_mut(entity).insert(Heading(90.0));
    net.run(seconds(0.5));
    assert_eq!(shown(&net, entity), Some([50_000, 200]));
    assert!(net.clients[0].world().get::<Heading>(copy).is_some());
    net.server.world_mut().entity_mut(entity).insert(Position([3.0, 4.0]));
    net.run(seconds(0.5));
    assert_eq!(shown(&net, entity), Some([300, 400]));
}

#[test]
fn an_entity_whose_group_cannot_be_sent_comes_once_it_can() {
    let mut net = net(1, game);
    net.run(seconds(1.0));
    let invalid = (Position([f32::NAN, 0.0]), Heading(1.0));
    let entity = net.server.world_mut().spawn((Replicated, invalid)).id();
    let other = net.server.world_mut().spawn((Replicated, Position([5.0, 6.0]))).id();
    net.run(seconds(0.5));
    assert_eq!((shown(&net, entity), shown(&net, other)), (None, Some([500, 600])));
    net.server.world_mut().entity_mut(entity).insert(Position([1.0, 2.0]));
    net.server.world_mut().entity_mut(other).insert(Heading(f32::NAN));
    net.run(seconds(0.5));
    assert_eq!((shown(&net, entity), shown(&net, other)), (Some([100, 200]), Some([500, 600])));
    net.server.world_mut().entity_mut(other).insert(Heading(2.0));
    net.run(seconds(0.5));
    net.assert_equal_worlds();
}

#[test]
fn a_value_that_is_sent_once_stays_if_its_entity_becomes_one_of_a_group() {
    let mut net = net(1, game);
    net.run(seconds(1.0));
    let entity = net.server.world_mut().spawn((Replicated, Health(1), Position::default())).id();
    net.run(seconds(0.5));
    let mut change = |health, heading| {
        let mut entity = net.server.world_mut().entity_mut(entity);
        entity.get_mut::<Health>().unwrap().0 = health;
        match heading {
            true => entity.insert(Heading(3.0)),
            false => entity.remove::<Heading>(),
        };
        net.run(seconds(0.5));
        all::<Health>(&mut net.clients[0])
    };
    assert_eq!(change(2, true), [Health(1)]);
    assert_eq!(change(3, false), [Health(1)]);
    // An insertion is sent, also with a change of the group.
    net.server.world_mut().entity_mut(entity).remove::<Health>();
    net.server.world_mut().entity_mut(entity).insert((Health(4), Heading(5.0)));
    net.run(seconds(0.5));
    assert_eq!(all::<Health>(&mut net.clients[0]), [Health(4)]);
}

#[test]
fn an_input_is_the_same_on_both_sides_whatever_it_is() {
    let mut net = TestNet::new(TestNet::perfect_link(), 1, 1, game);
    net.run(seconds(1.0));
    for (x, y) in [(1, 0.1623), (100, 0.5), (-1, f32::NAN), (0, 1e9), (0, 0.0)] {
        net.clients[0].insert_resource(LocalInput(Aim { x, y }));
        net.run(seconds(0.3));
    }
    net.run(seconds(0.5));
    let stats = client_stats(net.clients[0].world()).unwrap().prediction;
    assert!(stats.mispredicted == 0 && stats.compared > 100, "{stats:?}");
    assert!(all::<Position>(&mut net.server)[0].0[1] > 1.0);
    net.assert_equal_worlds();
}
