//! The helper for tests of games.

use std::time::Duration;

use bevy_app::App;
use bevy_ecs::prelude::*;
use bevy_tightwire::TestNet;
use bevy_tightwire::prelude::*;
use bevy_time::{Real, Time};

use crate::game::{Heading, Health, Label, Position, net, remote, seconds};
use crate::visibility::clients;

#[derive(Component, Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Secret(u8);

/// A component with a scope of its own.
#[derive(Component, Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Rank(u8);

#[derive(Wire, Clone, Copy, PartialEq, Debug, Default)]
struct NoKeys;

impl Input for NoKeys {}

fn game(app: &mut App) {
    app.add_plugins(TightwirePlugins::new("test net", "1.0")).add_input::<NoKeys>();
    app.replicate::<Health>();
    app.replicate::<Heading>();
    app.replicate::<Position>().predict();
    app.replicate_once::<Label>();
    app.replicate::<Secret>().owner_only();
    app.replicate::<Rank>().scope(Scope::Team(TeamId(1)));
    app.replicate_as::<ChildOf, _>(RelationCodec);
}

/// A network at rest, with an entity of everybody, one of the second client, and one that is hidden
/// from the first.
fn at_rest() -> (TestNet, [Entity; 3]) {
    let mut net = net(2, game);
    net.run(seconds(1.0));
    let [_, second] = clients(&mut net)[..] else { panic!("two clients") };
    let server = net.server.world_mut();
    server.entity_mut(second).insert(ClientRooms(vec![RoomId(1)]));
    let label = Label("Ada".into());
    let one = server.spawn((Replicated, Health(80), Heading(0.05), label, Rank(3))).id();
    let own = (Secret(5), Position([1.234, 5.678]), Controls::<NoKeys>::default());
    let own = server.spawn((Replicated, OwnedBy(second), own, ChildOf(one))).id();
    let hidden = NetScope(Scope::Room(RoomId(1)));
    let hidden = server.spawn((Replicated, hidden, Health(7))).id();
    // Only the first value of it is sent.
    net.run(seconds(1.0));
    net.server.world_mut().get_mut::<Label>(one).unwrap().0 = "Bob".into();
    net.run(seconds(1.0));
    (net, [one, own, hidden])
}

#[test]
fn worlds_at_rest_are_equal() {
    let (mut net, [_, own, _]) = at_rest();
    net.assert_equal_worlds();
    // Within the tolerance of a prediction, and no further.
    let copy = remote(&net, 1, own).unwrap();
    net.clients[1].world_mut().get_mut::<Position>(copy).unwrap().0[0] += 0.015;
    net.assert_equal_worlds();
}

/// Returns the text by which a comparison fails after a change.
fn difference(change: impl FnOnce(&mut TestNet, [Entity; 3])) -> String {
    let (mut net, entities) = at_rest();
    change(&mut net, entities);
    let compare = std::panic::AssertUnwindSafe(|| net.assert_equal_worlds());
    let error = std::panic::catch_unwind(compare).unwrap_err();
    error.downcast_ref::<String>().unwrap().clone()
}

#[test]
fn a_difference_is_named() {
    fn copy(net: &mut TestNet, client: usize, entity: Entity) -> EntityWorldMut<'_> {
        let copy = remote(net, client, entity).unwrap();
        net.clients[client].world_mut().entity_mut(copy)
    }
    let text = difference(|net, [one, ..]| {
        copy(net, 0, one).insert(Health(79));
    });
    assert!(text.starts_with("client 0: `it::game::Health` of entity "), "{text}");
    assert!(text.contains("the server has the cells [80]") && text.ends_with("[79]"), "{text}");
    let text = difference(|net, [one, ..]| {
        copy(net, 1, one).remove::<Heading>();
    });
    assert!(text.starts_with("client 1: ") && text.ends_with(" none"), "{text}");
    let text = difference(|net, [one, ..]| {
        copy(net, 1, one).remove::<Label>();
    });
    assert!(text.contains("Label"), "also what is sent once: {text}");
    let text = difference(|net, [_, own, _]| {
        copy(net, 0, own).insert(Secret(5));
    });
    assert!(text.contains("Secret") && text.contains("server has none"), "{text}");
    let text = difference(|net, [_, own, _]| {
        copy(net, 1, own).remove::<Secret>();
    });
    assert!(text.contains("Secret") && text.ends_with("none"), "{text}");
    let text = difference(|net, [_, own, _]| {
        copy(net, 1, own).remove::<ChildOf>();
    });
    assert!(text.contains("ChildOf"), "{text}");
    let text = difference(|net, [_, own, _]| {
        copy(net, 1, own).get_mut::<Position>().unwrap().0[0] += 0.05;
    });
    assert!(text.contains("Position"), "{text}");
    let text = difference(|net, [.., hidden]| {
        copy(net, 1, hidden).insert(Health(6));
    });
    assert!(text.contains("Health"), "where it is there: {text}");
    let text = difference(|net, [_, own, _]| copy(net, 0, own).despawn());
    assert!(text.contains("none") || text.contains("remote entities"), "{text}");
    let text = difference(|net, _| {
        net.clients[0].world_mut().spawn(Remote);
    });
    assert!(text.contains("3 remote entities for 2 objects"), "{text}");
    let text = difference(|net, _| {
        net.server.world_mut().spawn((Replicated, Health(1)));
    });
    assert!(text.contains("no object yet"), "{text}");
    let text = difference(|net, _| {
        net.server.world_mut().spawn((Replicated, Health(1)));
        net.run(seconds(0.02));
    });
    assert!(text.contains("is missing"), "{text}");
    let text = difference(|net, _| net.join());
    assert_eq!(text, "client 2: it is not connected");
}

#[test]
fn the_clocks_of_all_apps_go_on_by_the_frame() {
    let mut net = net(1, game);
    // The first frame of an app begins its clock.
    net.run(net.frame);
    let clocks = |net: &TestNet| {
        [&net.server, &net.clients[0]].map(|app| app.world().resource::<Time<Real>>().elapsed())
    };
    for frame in [8, 20, 5] {
        net.frame = Duration::from_millis(frame);
        let before = clocks(&net);
        net.run(seconds(1.0));
        let after = clocks(&net);
        assert_eq!([0, 1].map(|app| after[app] - before[app]), [seconds(1.0); 2], "{frame}");
    }
}
