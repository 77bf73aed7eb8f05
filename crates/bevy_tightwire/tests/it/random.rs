//! Random operations, replicated to eight clients whose worlds are equal in the end.

mod operations;

use std::collections::HashSet;

use bevy_app::{App, Update};
use bevy_ecs::entity::MapEntities;
use bevy_ecs::prelude::*;
use bevy_tightwire::prelude::*;
use bevy_tightwire::tightwire::ObjectId;
use bevy_tightwire::{TestNet, client_stats};

use self::operations::{Past, Random, operate};
use crate::game::{Bullet, Heading, Health, Label, Position, count, remote, seconds};

#[derive(Component, Wire, Clone, Copy, PartialEq, Eq, Debug)]
struct Follows(#[entities] Entity);

impl Default for Follows {
    fn default() -> Self {
        Self(Entity::PLACEHOLDER)
    }
}

/// A component with a scope of its own.
#[derive(Component, Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Rank(u8);

/// A component for the owner.
#[derive(Component, Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Ammunition(u8);

/// With [`Second`]: both are inserted, changed and removed together, to equal values.
#[derive(Component, Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
struct First(u8);

#[derive(Component, Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Second(u8);

/// Marks the entities of the operations, replicated or not.
#[derive(Component)]
struct Piece;

/// A message of the server that contains an entity.
#[derive(Message, Wire, MapEntities, Clone, Copy, Debug)]
struct Point {
    number: u16,
    #[entities]
    entity: Entity,
}

impl Default for Point {
    fn default() -> Self {
        Self { number: 0, entity: Entity::PLACEHOLDER }
    }
}

/// A message of a client that contains an entity.
#[derive(Message, Wire, MapEntities, Clone, Copy, Debug)]
struct Pick(#[entities] Entity);

impl Default for Pick {
    fn default() -> Self {
        Self(Entity::PLACEHOLDER)
    }
}

/// Messages that an app has received: their numbers, their entities, and the objects for which these
/// stood.
#[derive(Resource, Default)]
struct Pointed(Vec<(u16, Entity, Option<ObjectId>)>);

/// Clients, and the entities that they picked.
#[derive(Resource, Default)]
struct Picked(HashSet<(Entity, Entity)>);

fn register(app: &mut App) {
    app.init_resource::<Pointed>()
        .init_resource::<Picked>()
        .add_mapped_server_message::<Point>(Delivery::Reliable)
        .add_mapped_client_message::<Pick>(Delivery::Reliable)
        .add_systems(Update, (read, never_halves));
    app.replicate::<Health>();
    app.replicate::<Label>();
    app.replicate::<First>();
    app.replicate::<Second>();
    app.replicate::<Position>().interpolate();
    app.replicate::<(Position, Heading)>();
    app.replicate::<(Health, Bullet)>();
    app.replicate::<Follows>().map_entities();
    app.replicate::<Rank>().scope(Scope::Team(TEAM));
    app.replicate::<Ammunition>().owner_only();
    app.replicate_as::<ChildOf, _>(RelationCodec);
}

fn game(app: &mut App) {
    app.add_plugins(TightwirePlugins::new("random", "1.0"));
    register(app);
}

/// The same game, with too few bytes a second for each client.
fn frugal(app: &mut App) {
    let mut server = TightwireServerPlugin::new("random", "1.0");
    server.config.max_rate = 3000;
    app.add_plugins((server, TightwireClientPlugin::new("random", "1.0")));
    register(app);
}

fn read(
    mut points: MessageReader<Point>,
    mut picks: MessageReader<FromClient<Pick>>,
    map: Res<EntityMap>,
    mut pointed: ResMut<Pointed>,
    mut picked: ResMut<Picked>,
) {
    pointed.0.extend(points.read().map(|one| (one.number, one.entity, map.id(one.entity))));
    picked.0.extend(picks.read().map(|pick| (pick.client, pick.message.0)));
}

type Pair<'w> = (Entity, Option<&'w First>, Option<&'w Second>);

/// No frame shows half of an entity, or half of a change.
fn never_halves(pairs: Query<Pair, With<Remote>>) {
    for (entity, first, second) in &pairs {
        let numbers = (first.map(|first| first.0), second.map(|second| second.0));
        assert_eq!(numbers.0, numbers.1, "of {entity}");
    }
}

const TEAM: TeamId = TeamId(1);

/// A client of the server, and whether it is of the team.
#[derive(Clone, Copy)]
struct Receiver {
    number: usize,
    entity: Entity,
    in_team: bool,
}

impl Receiver {
    /// Whether the client gets an entity: its owner does, and others where it has no scope that
    /// excludes them, and its parent has none.
    fn gets(&self, world: &World, entity: Entity) -> bool {
        if world.get::<Replicated>(entity).is_none() {
            return false;
        }
        let parent = world.get::<ChildOf>(entity).map(ChildOf::parent);
        let parent = parent.filter(|parent| world.get::<Replicated>(*parent).is_some());
        let is_own = world.get::<OwnedBy>(entity) == Some(&OwnedBy(self.entity));
        is_own
            || (self.in_team || world.get::<NetScope>(entity).is_none())
                && parent.is_none_or(|parent| self.gets(world, parent))
    }
}

/// Compares a client with the server, entity by entity. Returns the number of equal references.
fn compare(net: &mut TestNet, client: Receiver, entities: &[Entity], past: &Past) -> usize {
    let number = client.number;
    let gets = |entity: &&Entity| client.gets(net.server.world(), **entity);
    let relevant: Vec<_> = entities.iter().filter(gets).copied().collect();
    assert_eq!(count::<Remote>(&mut net.clients[number]), relevant.len(), "client {number}");
    let (here, there) = (net.server.world(), net.clients[number].world());
    assert_eq!(there.resource::<EntityMap>().len(), relevant.len(), "client {number}");
    let is_there = |target: Entity| entities.contains(&target) && client.gets(here, target);
    let mut equal = 0;
    for &entity in &relevant {
        let copy = remote(net, number, entity).unwrap();
        let place = format!("client {number}, entity {entity}");
        assert_eq!(here.get::<Health>(entity), there.get::<Health>(copy), "{place}");
        assert_eq!(here.get::<Label>(entity), there.get::<Label>(copy), "{place}");
        assert_eq!(here.get::<First>(entity), there.get::<First>(copy), "{place}");
        assert_eq!(here.get::<Second>(entity), there.get::<Second>(copy), "{place}");
        let positions = [here.get::<Position>(entity), there.get::<Position>(copy)]
            .map(|position| position.map(|position| position.rounded()));
        assert_eq!(positions[0].is_some(), positions[1].is_some(), "{place}");
        if let [Some(one), Some(other)] = positions {
            let is_near = |axis: usize| one[axis].abs_diff(other[axis]) <= 1;
            assert!(is_near(0) && is_near(1), "{place}: {one:?} {other:?}");
        }
        let is_group =
            here.get::<Heading>(entity).is_some() && here.get::<Position>(entity).is_some();
        assert_eq!(there.get::<Heading>(copy).is_some(), is_group, "{place}");
        let is_bullet =
            here.get::<Bullet>(entity).is_some() && here.get::<Health>(entity).is_some();
        assert_eq!(there.get::<Bullet>(copy).is_some(), is_bullet, "{place}");
        let for_all = here.get::<NetScopeOf<Rank>>(entity).is_some();
        let rank = here.get::<Rank>(entity).filter(|_| client.in_team || for_all);
        assert_eq!(rank, there.get::<Rank>(copy), "{place}");
        let is_own = here.get::<OwnedBy>(entity) == Some(&OwnedBy(client.entity));
        assert_eq!(there.get::<Owned>(copy).is_some(), is_own, "{place}");
        let ammunition = here.get::<Ammunition>(entity).filter(|_| is_own);
        assert_eq!(ammunition, there.get::<Ammunition>(copy), "{place}");

        let shown = there.get::<Follows>(copy).map(|follows| follows.0);
        match here.get::<Follows>(entity).map(|follows| follows.0) {
            None => assert_eq!(shown, None, "{place}"),
            Some(target) if is_there(target) => {
                assert_eq!(shown, remote(net, number, target), "{place}");
                equal += 1;
            }
            // An entity that is hidden is waited for: until then the earlier one stays.
            Some(target) if entities.contains(&target) => {
                let earlier = shown.filter(|shown| there.get_entity(*shown).is_ok());
                if let Some(earlier) = earlier {
                    let was = |old: &&Entity| remote(net, number, **old) == Some(earlier);
                    let old = relevant.iter().find(was).unwrap();
                    assert!(past.followed[&entity].contains(old), "{place}: {old}");
                }
            }
            Some(_) => assert_eq!(shown, Some(Entity::PLACEHOLDER), "{place}"),
        }
        match here.get::<ChildOf>(entity).map(ChildOf::parent) {
            Some(parent) if is_there(parent) => {
                let parent = remote(net, number, parent);
                assert_eq!(there.get::<ChildOf>(copy).map(ChildOf::parent), parent, "{place}");
                equal += 1;
            }
            _ => assert_eq!(there.get::<ChildOf>(copy), None, "{place}"),
        }
    }
    equal
}

/// Sends each entity in messages both ways, between worlds that have come to rest, and compares what
/// was received. Messages that were sent before may have named an entity that nobody had in time.
fn compare_messages(net: &mut TestNet, all: &[Receiver], entities: &[Entity], past: &mut Past) {
    let before = past.pointed.len();
    entities.iter().for_each(|entity| past.point(net.server.world_mut(), *entity));
    for client in &mut net.clients {
        let world = client.world_mut();
        let remote: Vec<_> = world.query_filtered::<Entity, With<Remote>>().iter(world).collect();
        remote.into_iter().for_each(|entity| {
            let _ = world.write_message(Pick(entity));
        });
    }
    net.run(net.frame);
    past.handle_sent(net.server.world());
    // Longer than messages wait for their entities.
    net.run(seconds(3.0));
    let Picked(picked) = net.server.world().resource();
    for client in all {
        let Pointed(pointed) = net.clients[client.number].world().resource();
        assert_eq!(pointed.len(), past.pointed.len(), "client {}", client.number);
        let mut mapped = 0;
        for &(number, entity, id) in pointed {
            let place = format!("client {}, message {number}", client.number);
            let number = usize::from(number);
            assert!(id == past.pointed[number].1 || entity == Entity::PLACEHOLDER, "{place}");
            mapped += usize::from(id.is_some());
            if let Some(target) = number.checked_sub(before).map(|place| entities[place]) {
                let there = remote(net, client.number, target).unwrap_or(Entity::PLACEHOLDER);
                assert_eq!(entity, there, "{place}");
            }
            assert_eq!(id.is_none(), entity == Entity::PLACEHOLDER, "{place}");
        }
        let numbers: HashSet<_> = pointed.iter().map(|(number, ..)| *number).collect();
        assert_eq!(numbers.len(), pointed.len(), "each message once");
        assert!(mapped > before / 2, "{mapped} of {}", pointed.len());
        let gets = |entity: &&Entity| client.gets(net.server.world(), **entity);
        let expected: HashSet<_> = entities.iter().filter(gets).copied().collect();
        let picks = picked.iter().filter(|(of, _)| *of == client.entity);
        assert_eq!(picks.map(|(_, entity)| *entity).collect::<HashSet<_>>(), expected);
    }
}

/// Returns the mean number of bytes of snapshots that a client received.
fn replicates_random_operations(seed: u64, rest: f64, game: fn(&mut App)) -> u64 {
    println!("seed {seed}");
    TestNet::print_warnings();
    let mut net = TestNet::new(TestNet::bad_link(), seed, 8, game);
    net.run(seconds(1.0));
    let clients = crate::visibility::clients(&mut net);
    assert_eq!(clients.len(), 8);
    net.frame = std::time::Duration::from_nanos(1_000_000_000 / 64);
    let (mut random, mut past, mut done) = (Random(seed), Past::default(), 0);
    // The first client is always of the team, the last one never.
    net.server.world_mut().entity_mut(clients[0]).insert(ClientTeam(TEAM));
    while done < 1000 {
        for _ in 0..8 {
            let world = net.server.world_mut();
            done += u32::from(operate(world, &clients, &mut random, &mut past));
        }
        // Some of the clients see what is for the team.
        if random.below(20) == 0 {
            let world = net.server.world_mut();
            let mut client = world.entity_mut(clients[1 + random.below(clients.len() - 2)]);
            match client.contains::<ClientTeam>() {
                true => client.remove::<ClientTeam>(),
                false => client.insert(ClientTeam(TEAM)),
            };
        }
        net.run(seconds(1.0 / 64.0));
        past.handle_sent(net.server.world());
    }
    // A budget takes its time.
    net.run(seconds(rest));
    let world = net.server.world_mut();
    let entities: Vec<_> = world.query_filtered::<Entity, With<Replicated>>().iter(world).collect();
    let all = clients.into_iter().enumerate().map(|(number, entity)| Receiver {
        number,
        entity,
        in_team: world.get::<ClientTeam>(entity).is_some(),
    });
    let all: Vec<_> = all.collect();
    let hidden = entities.iter().filter(|one| !all[7].gets(world, **one)).count();
    net.assert_equal_worlds();
    let equal: usize = all.iter().map(|one| compare(&mut net, *one, &entities, &past)).sum();
    println!("{} entities, {hidden} hidden from one, {equal} references", entities.len());
    assert!(entities.len() > 20 && hidden > 0 && equal > 80, "{equal} {hidden}");
    compare_messages(&mut net, &all, &entities, &mut past);
    let bytes = |app: &App| client_stats(app.world()).unwrap().snapshot_bytes;
    net.clients.iter().map(bytes).sum::<u64>() / 8
}

#[test]
fn a_thousand_random_operations_reach_eight_clients() {
    let seed = std::env::var("TIGHTWIRE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(0);
    let bytes = replicates_random_operations(seed, 2.0, game);
    let few = replicates_random_operations(seed + 1, 4.0, frugal);
    println!("{bytes} bytes, {few} with a budget");
    assert!(few < 4 * bytes / 5, "the budget changes nothing");
}
