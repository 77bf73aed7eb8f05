//! Owners, scopes, rooms, teams, and entities that name others.

use bevy_app::App;
use bevy_ecs::prelude::*;
use bevy_math::Vec3;
use bevy_tightwire::prelude::*;

use crate::game::{Health, Label, Position, all, count, net, only, remote, seconds};

#[derive(Component, Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Ammunition(u8);

#[derive(Component, Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Shadow(u8);

/// A component with a scope of its own.
#[derive(Component, Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Orders(u8);

#[derive(Component, Wire, Clone, Copy, PartialEq, Eq, Debug)]
struct Follows(#[entities] Entity);

impl Default for Follows {
    fn default() -> Self {
        Self(Entity::PLACEHOLDER)
    }
}

fn game(app: &mut App) {
    app.add_plugins(TightwirePlugins::new("visibility", "1.0"));
    app.replicate::<Health>();
    app.replicate::<Label>();
    app.replicate::<Position>();
    app.replicate::<Ammunition>().owner_only();
    app.replicate::<Shadow>().except_owner();
    app.replicate::<Orders>().scope(Scope::Team(TeamId(4)));
    app.replicate::<Follows>().map_entities();
    app.replicate_as::<ChildOf, _>(RelationCodec);
    app.replicate_as::<Targets, _>(RelationCodec);
}

/// A relation of the game's own.
#[derive(Component)]
#[relationship(relationship_target = TargetedBy)]
struct Targets(Entity);

#[derive(Component)]
#[relationship_target(relationship = Targets)]
struct TargetedBy(Vec<Entity>);

/// The client entities on the server, in the order of the clients.
pub(crate) fn clients(net: &mut bevy_tightwire::TestNet) -> Vec<Entity> {
    // A handshake whose packets are lost takes some seconds.
    for _ in 0..10 {
        if count::<ConnectedClient>(&mut net.server) < net.clients.len() {
            net.run(seconds(0.5));
        }
    }
    (0..net.clients.len()).map(|client| net.client_entity(client).unwrap()).collect()
}

/// Runs for a second, and returns the labels that each of two clients has.
fn labels(net: &mut bevy_tightwire::TestNet) -> [String; 2] {
    net.run(seconds(1.0));
    [0, 1].map(|client: usize| {
        let client = &mut net.clients[client];
        let mut labels: Vec<_> = all::<Label>(client).into_iter().map(|one| one.0).collect();
        labels.sort();
        labels.join(" ")
    })
}

#[test]
fn components_for_the_owner_and_for_others() {
    let mut net = net(2, game);
    net.run(seconds(1.0));
    let [first, second] = clients(&mut net)[..] else { panic!("two clients") };
    let server = net.server.world_mut();
    let entity =
        server.spawn((Replicated, OwnedBy(first), Health(9), Ammunition(5), Shadow(6))).id();
    net.run(seconds(1.0));
    let has = |net: &mut bevy_tightwire::TestNet, client: usize| {
        let app = &mut net.clients[client];
        (all::<Health>(app).len(), all::<Ammunition>(app), all::<Shadow>(app), count::<Owned>(app))
    };
    assert_eq!(has(&mut net, 0), (1, vec![Ammunition(5)], vec![], 1));
    assert_eq!(has(&mut net, 1), (1, vec![], vec![Shadow(6)], 0));
    net.server.world_mut().entity_mut(entity).insert(OwnedBy(second));
    net.run(seconds(1.0));
    assert_eq!(has(&mut net, 0), (1, vec![], vec![Shadow(6)], 0));
    assert_eq!(has(&mut net, 1), (1, vec![Ammunition(5)], vec![], 1));
    // An owned entity goes with its client.
    net.clients[1].world_mut().commands().disconnect();
    net.run(seconds(1.0));
    assert!(net.server.world().get_entity(entity).is_err());
    assert_eq!(count::<Health>(&mut net.clients[0]), 0);
}

#[test]
fn scopes_rooms_teams_and_distance() {
    let mut net = net(2, game);
    net.run(seconds(1.0));
    let [first, second] = clients(&mut net)[..] else { panic!("two clients") };
    let server = net.server.world_mut();
    server.spawn((Replicated, Label("room".into()), NetScope(Scope::Room(RoomId(3)))));
    server.spawn((Replicated, Label("team".into()), NetScope(Scope::Team(TeamId(4)))));
    server.spawn((Replicated, Label("owner".into()), NetScope(Scope::Owner), OwnedBy(second)));
    let near = (Position([200.0, 0.0]), NetScope(Scope::Near), NetPriority(3));
    server.spawn((Replicated, Label("near".into()), near));
    let moved = server.spawn((Replicated, Label("always".into()))).id();
    server.entity_mut(first).insert(ClientRooms(vec![RoomId(3)]));
    server.entity_mut(second).insert(ClientTeam(TeamId(4)));
    server.entity_mut(first).insert(Viewer(vec![Vec3::ZERO]));
    server.entity_mut(second).insert(Viewer(vec![Vec3::new(150.0, 0.0, 0.0)]));
    net.run(seconds(1.0));
    let labels = |app: &mut App| {
        let mut labels: Vec<_> = all::<Label>(app).into_iter().map(|label| label.0).collect();
        labels.sort();
        labels
    };
    assert_eq!(labels(&mut net.clients[0]), ["always", "room"]);
    assert_eq!(labels(&mut net.clients[1]), ["always", "near", "owner", "team"]);
    let server = net.server.world_mut();
    server.entity_mut(second).insert(ClientRooms(vec![RoomId(3)]));
    server.entity_mut(first).insert(Viewer(vec![Vec3::new(190.0, 0.0, 0.0)]));
    server.entity_mut(first).remove::<ClientRooms>();
    server.entity_mut(moved).insert(NetScope(Scope::Team(TeamId(4))));
    net.run(seconds(1.0));
    assert_eq!(labels(&mut net.clients[0]), ["near"]);
    assert_eq!(labels(&mut net.clients[1]), ["always", "near", "owner", "room", "team"]);
}

#[test]
fn a_component_has_a_scope_of_its_own_that_systems_change() {
    let mut net = net(2, game);
    net.run(seconds(1.0));
    let [first, second] = clients(&mut net)[..] else { panic!("two clients") };
    let server = net.server.world_mut();
    server.entity_mut(second).insert(ClientTeam(TeamId(4)));
    let at = Position([100.0, 0.0]);
    let entity = server.spawn((Replicated, OwnedBy(first), Health(1), Orders(5), at)).id();
    let orders = |net: &mut bevy_tightwire::TestNet| {
        net.run(seconds(1.0));
        assert_eq!(count::<Remote>(&mut net.clients[0]), 1);
        let number = |app: &mut App| all::<Orders>(app).first().map(|orders| orders.0);
        [number(&mut net.clients[0]), number(&mut net.clients[1])]
    };
    assert_eq!(orders(&mut net), [None, Some(5)], "of the team");
    let change = |net: &mut bevy_tightwire::TestNet, scope| {
        let mut entity = net.server.world_mut().entity_mut(entity);
        entity.insert(NetScopeOf::<Orders>::new(scope));
    };
    net.server.world_mut().get_mut::<Orders>(entity).unwrap().0 = 6;
    change(&mut net, Scope::Always);
    assert_eq!(orders(&mut net), [Some(6), Some(6)]);
    change(&mut net, Scope::Owner);
    assert_eq!(orders(&mut net), [Some(6), None]);
    assert_eq!(count::<Owned>(&mut net.clients[0]), 1);
    change(&mut net, Scope::Near);
    let server = net.server.world_mut();
    server.entity_mut(second).insert(Viewer(vec![Vec3::new(150.0, 0.0, 0.0)]));
    server.entity_mut(first).insert(Viewer(vec![Vec3::new(-400.0, 0.0, 0.0)]));
    assert_eq!(orders(&mut net), [None, Some(6)]);
    assert_eq!(count::<Owned>(&mut net.clients[0]), 1, "still the owner of the entity");
    net.server.world_mut().get_mut::<Position>(entity).unwrap().0 = [-350.0, 0.0];
    assert_eq!(orders(&mut net), [Some(6), None], "where its entity is");
    change(&mut net, Scope::Room(RoomId(7)));
    net.server.world_mut().entity_mut(second).insert(ClientRooms(vec![RoomId(7)]));
    assert_eq!(orders(&mut net), [None, Some(6)]);
    net.server.world_mut().entity_mut(entity).remove::<NetScopeOf<Orders>>();

    // An entity that hides takes the component with it, and comes back with it.
    let hidden = NetScope(Scope::Room(RoomId(8)));
    net.server.world_mut().entity_mut(entity).insert(hidden);
    net.server.world_mut().entity_mut(first).insert(ClientRooms(vec![RoomId(8)]));
    assert_eq!(orders(&mut net), [None, None]);
    assert_eq!(count::<Remote>(&mut net.clients[1]), 0);
    net.server.world_mut().entity_mut(entity).remove::<NetScope>();
    assert_eq!(orders(&mut net), [None, Some(6)]);
    net.server.world_mut().entity_mut(entity).remove::<Orders>();
    assert_eq!(orders(&mut net), [None, None]);
    net.server.world_mut().entity_mut(entity).insert(Orders(8));
    assert_eq!(orders(&mut net), [None, Some(8)]);
    net.server.world_mut().despawn(entity);
    net.run(seconds(1.0));
    assert_eq!(count::<Remote>(&mut net.clients[1]) + count::<Orders>(&mut net.clients[1]), 0);
}

#[test]
fn an_entity_of_higher_priority_is_sent_more_often() {
    /// Number of changes of each entity that the client has seen.
    #[derive(Resource, Default)]
    struct Changes(std::collections::HashMap<Entity, u32>);
    fn crowded(app: &mut App) {
        let mut server = TightwireServerPlugin::new("visibility", "1.0");
        // Far too few bytes for all changes.
        server.config.max_rate = 4000;
        app.add_plugins((server, TightwireClientPlugin::new("visibility", "1.0")))
            .init_resource::<Changes>()
            .add_systems(bevy_app::FixedUpdate, jump.run_if(has_authority))
            .add_systems(
                bevy_app::Update,
                |changed: Query<Entity, Changed<Position>>, mut changes: ResMut<Changes>| {
                    for entity in &changed {
                        *changes.0.entry(entity).or_default() += 1;
                    }
                },
            );
        app.replicate::<Position>();
    }
    fn jump(mut all: Query<&mut Position>, tick: Res<NetTick>) {
        for (place, mut position) in (0u32..).zip(&mut all) {
            // No model can learn these numbers.
            let mut number = tick.wrapping_mul(0x9e37_79b9) ^ place.wrapping_mul(0x85eb_ca6b);
            number = (number ^ number >> 15).wrapping_mul(0x2c1b_3c6d);
            number = (number ^ number >> 12).wrapping_mul(0x297a_2d39);
            position.0 = [(number % 997) as f32 - 498.0, (number / 997 % 997) as f32 - 498.0];
        }
    }
    let mut net = net(1, crowded);
    let server = net.server.world_mut();
    server.spawn_batch((0..300).map(|_| (Replicated, Position::default())));
    let favoured: Vec<_> = server
        .spawn_batch((0..5).map(|_| (Replicated, Position::default(), NetPriority(8))))
        .collect();
    net.run(seconds(3.0));
    net.clients[0].insert_resource(Changes::default());
    net.run(seconds(6.0));
    let favoured: Vec<_> = favoured.iter().map(|one| remote(&net, 0, *one).unwrap()).collect();
    let Changes(changes) = net.clients[0].world().resource();
    let mean = |is_favoured: bool| {
        let of = |(entity, count): (&Entity, &u32)| {
            (favoured.contains(entity) == is_favoured).then_some(f64::from(*count))
        };
        let counts: Vec<f64> = changes.iter().filter_map(of).collect();
        counts.iter().sum::<f64>() / counts.len() as f64
    };
    let (favoured, others) = (mean(true), mean(false));
    println!("{favoured} changes of favoured entities, {others} of others");
    // The weight is 8; an entity changes at most once in a snapshot.
    assert!(others > 3.0 && favoured > 3.0 * others, "{favoured} {others}");
}

#[test]
fn children_are_relevant_only_where_their_parent_is() {
    let mut net = net(2, game);
    net.run(seconds(1.0));
    let [first, second] = clients(&mut net)[..] else { panic!("two clients") };
    let server = net.server.world_mut();
    server.entity_mut(first).insert(ClientTeam(TeamId(1)));
    server.entity_mut(second).insert(Viewer(vec![Vec3::new(200.0, 0.0, 0.0)]));
    let team = NetScope(Scope::Team(TeamId(1)));
    let tank = server.spawn((Replicated, Label("tank".into()), team)).id();
    let turret = server.spawn((Replicated, Label("turret".into()), ChildOf(tank))).id();
    // Its position is that in its parent, so the scope of the parent decides.
    let gun = (Label("gun".into()), Position([1.0, 0.0]), Orders(5), ChildOf(turret));
    let gun = server.spawn((Replicated, gun)).id();
    assert_eq!(labels(&mut net), ["gun tank turret", ""]);
    let world = net.clients[0].world();
    let at = |entity| remote(&net, 0, entity).unwrap();
    assert_eq!(world.get::<ChildOf>(at(gun)).unwrap().parent(), at(turret));

    let near = (Position([190.0, 0.0]), NetScope(Scope::Near));
    net.server.world_mut().entity_mut(tank).insert(near);
    assert_eq!(labels(&mut net), ["", "gun tank turret"]);
    net.server.world_mut().get_mut::<Position>(tank).unwrap().0 = [-190.0, 0.0];
    assert_eq!(labels(&mut net), ["", ""]);
    // An owner has its entities wherever their parents are, and what belongs to these.
    net.server.world_mut().entity_mut(turret).insert(OwnedBy(first));
    assert_eq!(labels(&mut net), ["gun turret", ""]);
    net.server.world_mut().entity_mut(turret).remove::<(OwnedBy, ChildOf)>();
    assert_eq!(labels(&mut net), ["gun turret", "gun turret"]);
    // A scope of its own decides as well.
    net.server.world_mut().entity_mut(gun).insert(team);
    assert_eq!(labels(&mut net), ["gun turret", "turret"]);
    // A parent that is not replicated decides nothing, until it is.
    net.server.world_mut().entity_mut(tank).remove::<Replicated>();
    net.server.world_mut().entity_mut(turret).insert(ChildOf(tank));
    assert_eq!(labels(&mut net), ["gun turret", "turret"]);
    net.server.world_mut().entity_mut(tank).insert(Replicated);
    assert_eq!(labels(&mut net), ["", ""]);
    net.server.world_mut().despawn(tank);
    assert_eq!(labels(&mut net), ["", ""]);
}

#[test]
fn references_and_children_are_those_of_the_client() {
    let mut net = net(1, game);
    net.run(seconds(1.0));
    let client = clients(&mut net)[0];
    let server = net.server.world_mut();
    // The first one names an entity that spawns later, and hides for a while.
    let hidden = NetScope(Scope::Team(TeamId(1)));
    let target = server.spawn((Replicated, Label("target".into()), hidden)).id();
    let follower = server.spawn((Replicated, Health(1), Follows(target))).id();
    let parent = server.spawn((Replicated, Label("parent".into()))).id();
    let child = server.spawn((Replicated, Health(2), ChildOf(parent))).id();
    net.run(seconds(1.0));
    let there = |net: &bevy_tightwire::TestNet, entity| remote(net, 0, entity);
    let world = net.clients[0].world();
    let (follower_there, child_there) =
        (there(&net, follower).unwrap(), there(&net, child).unwrap());
    assert!(world.get::<Follows>(follower_there).is_none(), "its target is not there");
    let parent_there = there(&net, parent).unwrap();
    assert_eq!(world.get::<ChildOf>(child_there).unwrap().parent(), parent_there);
    assert_eq!(world.get::<Children>(parent_there).unwrap().len(), 1);

    net.server.world_mut().entity_mut(client).insert(ClientTeam(TeamId(1)));
    net.run(seconds(1.0));
    let target_there = there(&net, target).unwrap();
    let world = net.clients[0].world();
    assert_eq!(world.get::<Follows>(follower_there), Some(&Follows(target_there)));
    // The target is despawned: components that refer to it no longer wait for it.
    net.server.world_mut().despawn(target);
    net.run(seconds(1.0));
    let world = net.clients[0].world();
    assert_eq!(world.get::<Follows>(follower_there), Some(&Follows(Entity::PLACEHOLDER)));
    assert!(only::<Follows>(&mut net.clients[0]) == follower_there);
}

#[test]
fn a_relation_of_the_game_follows_its_target() {
    let mut net = net(1, game);
    net.run(seconds(1.0));
    let server = net.server.world_mut();
    let [first, second] =
        ["first", "second"].map(|name| server.spawn((Replicated, Label(name.into()))).id());
    let turret = server.spawn((Replicated, Health(1), Targets(first))).id();
    // Returns the labels of those that the client sees targeted, and by how many.
    let targeted = |net: &mut bevy_tightwire::TestNet| {
        net.run(seconds(1.0));
        let turret = remote(net, 0, turret).unwrap();
        let world = net.clients[0].world_mut();
        let mut targets = world.query::<(&Label, &TargetedBy)>();
        let targets: Vec<_> =
            targets.iter(world).map(|(label, by)| (label.0.clone(), by.0.clone())).collect();
        assert!(targets.iter().all(|(_, by)| *by == [turret]), "{targets:?}");
        targets.into_iter().map(|(label, _)| label).collect::<Vec<_>>()
    };
    assert_eq!(targeted(&mut net), ["first"]);
    net.server.world_mut().entity_mut(turret).insert(Targets(second));
    assert_eq!(targeted(&mut net), ["second"]);
    net.server.world_mut().entity_mut(turret).remove::<Targets>();
    assert!(targeted(&mut net).is_empty());
}

#[test]
fn a_client_without_a_viewer_sees_from_the_entities_that_it_owns() {
    let mut net = net(2, game);
    net.run(seconds(1.0));
    let [first, second] = clients(&mut net)[..] else { panic!("two clients") };
    let server = net.server.world_mut();
    let own = server.spawn((Replicated, OwnedBy(first), Position([150.0, 0.0]))).id();
    server.spawn((Replicated, OwnedBy(second), Position([-150.0, 0.0])));
    let near = |x, label: &str| (Position([x, 0.0]), Label(label.into()));
    server.spawn((Replicated, near(200.0, "east"), NetScope(Scope::Near)));
    server.spawn((Replicated, near(-200.0, "west"), NetScope(Scope::Near)));
    server.spawn((Replicated, near(210.0, "room"), NetScope(Scope::NearInRoom(RoomId(3)))));
    assert_eq!(labels(&mut net), ["east", "west"]);
    for client in [first, second] {
        net.server.world_mut().entity_mut(client).insert(ClientRooms(vec![RoomId(3)]));
    }
    assert_eq!(labels(&mut net), ["east room", "west"], "in the room, and near");
    net.server.world_mut().get_mut::<Position>(own).unwrap().0 = [-170.0, 0.0];
    assert_eq!(labels(&mut net), ["west", "west"]);
    let viewer = Viewer(vec![Vec3::new(190.0, 0.0, 0.0)]);
    net.server.world_mut().entity_mut(first).insert(viewer);
    assert_eq!(labels(&mut net), ["east room", "west"], "instead of its entity");
}
