//! Markers of the crate and of Bevy: entities that are disabled or cloned, and the end of a spawn.

use bevy_app::App;
use bevy_ecs::entity_disabling::Disabled;
use bevy_ecs::prelude::*;
use bevy_tightwire::prelude::*;
use tightwire::transport::InProcess;

use crate::game::{Health, Label, Position, all, count, net, remote, seconds};

/// The components that observers of a client found on new entities.
#[derive(Resource, Default)]
struct Found(Vec<[bool; 4]>);

fn game(app: &mut App) {
    app.add_plugins(TightwirePlugins::new("markers", "1.0"))
        .init_resource::<Found>()
        .add_observer(find);
    app.replicate::<Health>();
    app.replicate::<Label>();
    app.replicate::<Position>().predict();
}

type Parts = (Has<Health>, Has<Label>, Has<Position>, Has<Owned>);

fn find(added: On<Add, Remote>, all: Query<Parts>, mut found: ResMut<Found>) {
    found.0.push(all.get(added.entity).unwrap().into());
}

fn healths(app: &mut App) -> Vec<u8> {
    let mut all: Vec<_> = all::<Health>(app).iter().map(|health| health.0).collect();
    all.sort_unstable();
    all
}

#[test]
fn a_disabled_entity_is_replicated_as_others_are() {
    let mut net = net(0, game);
    let early = net.server.world_mut().spawn((Replicated, Health(1), Disabled)).id();
    net.join();
    net.run(seconds(1.5));
    let server = net.server.world_mut();
    let one = server.spawn((Replicated, Health(2), Label("one".into()))).id();
    server.spawn((Replicated, Health(3), Disabled));
    net.run(seconds(1.0));
    assert_eq!(healths(&mut net.clients[0]), [1, 2, 3]);
    let mut entity = net.server.world_mut().entity_mut(one);
    entity.insert(Disabled);
    entity.get_mut::<Health>().unwrap().0 = 20;
    entity.remove::<Label>();
    net.run(seconds(1.0));
    assert_eq!(healths(&mut net.clients[0]), [1, 3, 20]);
    assert_eq!(count::<Label>(&mut net.clients[0]), 0);
    net.assert_equal_worlds();

    // Another server knows nothing of the objects of this one.
    net.server.world_mut().commands().disconnect();
    let (here, there) = InProcess::pair();
    net.server.world_mut().commands().serve(here, OpenToAnyone::default());
    net.clients[0].world_mut().commands().connect(there, &[]);
    net.server.world_mut().spawn((Replicated, Health(4)));
    net.run(seconds(0.5));
    assert_eq!(healths(&mut net.clients[0]), [1, 3, 4, 20]);
    net.server.world_mut().despawn(early);
    net.run(seconds(0.5));
    assert_eq!(healths(&mut net.clients[0]), [3, 4, 20]);
}

#[test]
fn a_clone_is_an_entity_of_its_own() {
    let mut net = net(1, game);
    net.run(seconds(1.0));
    let entity = net.server.world_mut().spawn((Replicated, Health(1))).id();
    net.run(seconds(0.5));
    let clone = net.server.world_mut().entity_mut(entity).clone_and_spawn();
    net.server.world_mut().get_mut::<Health>(clone).unwrap().0 = 9;
    net.run(seconds(0.5));
    assert_eq!(healths(&mut net.clients[0]), [1, 9]);
    net.server.world_mut().despawn(clone);
    net.run(seconds(0.5));
    assert_eq!(healths(&mut net.clients[0]), [1]);
    // A client's clone stands for nothing.
    let copy = remote(&net, 0, entity).unwrap();
    let ghost = net.clients[0].world_mut().entity_mut(copy).clone_and_spawn();
    net.server.world_mut().despawn(entity);
    net.run(seconds(0.5));
    assert_eq!(count::<Remote>(&mut net.clients[0]), 0);
    assert_eq!(net.clients[0].world().get::<Health>(ghost), Some(&Health(1)));
}

#[test]
fn the_marker_of_a_remote_entity_comes_after_its_components() {
    let mut net = net(1, game);
    net.run(seconds(1.0));
    let client = crate::visibility::clients(&mut net)[0];
    let whole = (Health(1), Label("whole".into()), Position::default());
    net.server.world_mut().spawn((Replicated, whole.clone()));
    net.server.world_mut().spawn((Replicated, whole, OwnedBy(client)));
    net.run(seconds(1.0));
    let mut found = net.clients[0].world().resource::<Found>().0.clone();
    found.sort_unstable();
    assert_eq!(found, [[true, true, true, false], [true; 4]]);
}
