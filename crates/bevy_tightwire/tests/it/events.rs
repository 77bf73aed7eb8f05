//! Events that contain entities, the moments at which messages are read, and deliveries that lose.

use bevy_app::{App, FixedUpdate, Update};
use bevy_ecs::entity::MapEntities;
use bevy_ecs::prelude::*;
use bevy_tightwire::TestNet;
use bevy_tightwire::prelude::*;

use crate::game::{Health, count, net, remote, seconds};
use crate::visibility::clients;

/// An event of the server that is bound to an entity.
#[derive(EntityEvent, Wire, MapEntities, Clone, Copy, Debug)]
struct Hit {
    #[event_target]
    #[entities]
    target: Entity,
    damage: u8,
}

impl Default for Hit {
    fn default() -> Self {
        Self { target: Entity::PLACEHOLDER, damage: 0 }
    }
}

/// An event of a client that contains an entity.
#[derive(Event, Wire, MapEntities, Clone, Copy, Debug)]
struct Grab(#[entities] Entity);

impl Default for Grab {
    fn default() -> Self {
        Self(Entity::PLACEHOLDER)
    }
}

#[derive(Message, Wire, Clone, Copy, Debug, Default)]
struct Note(u16);

#[derive(Message, Wire, Clone, Copy, Debug, Default)]
struct Noise(u16);

#[derive(Message, Wire, Clone, Copy, Debug, Default)]
struct Newest(u16);

/// Everything that an app has seen.
#[derive(Resource, Default)]
struct Seen {
    hits: Vec<(Entity, u8)>,
    grabs: Vec<(Entity, Entity)>,
    /// Numbers of notes, with the health that was shown then.
    notes: Vec<(u16, Option<u8>)>,
    noise: Vec<u16>,
    newest: Vec<u16>,
}

fn game(app: &mut App) {
    app.add_plugins(TightwirePlugins::new("events", "1.0"))
        .init_resource::<Seen>()
        .add_mapped_server_event::<Hit>(Delivery::Reliable)
        .add_mapped_client_event::<Grab>(Delivery::Reliable)
        .add_server_message::<Note>(Delivery::ReliableOrdered)
        .add_server_message::<Noise>(Delivery::Unreliable)
        .add_server_message::<Newest>(Delivery::UnreliableSequenced)
        .add_observer(|grab: On<FromClient<Grab>>, mut seen: ResMut<Seen>| {
            seen.grabs.push((grab.client, grab.message.0));
        })
        .add_systems(Update, read);
    app.replicate::<Health>();
}

fn read(
    mut notes: MessageReader<Note>,
    mut noise: MessageReader<Noise>,
    mut newest: MessageReader<Newest>,
    shown: Query<&Health>,
    mut seen: ResMut<Seen>,
) {
    let shown = shown.iter().next().map(|health| health.0);
    seen.notes.extend(notes.read().map(|note| (note.0, shown)));
    seen.noise.extend(noise.read().map(|noise| noise.0));
    seen.newest.extend(newest.read().map(|newest| newest.0));
}

fn seen(app: &App) -> &Seen {
    app.world().resource()
}

/// Observes the hits of one entity.
fn watch(app: &mut App, entity: Entity) {
    app.world_mut().entity_mut(entity).observe(|hit: On<Hit>, mut seen: ResMut<Seen>| {
        seen.hits.push((hit.target, hit.damage));
    });
}

#[test]
fn an_event_finds_its_entity_on_the_other_side() {
    let mut net = net(2, game);
    net.run(seconds(1.0));
    let client = clients(&mut net)[1];
    let server = net.server.world_mut();
    let [one, other] = [1, 2].map(|health| server.spawn((Replicated, Health(health))).id());
    net.run(seconds(1.0));
    let there = remote(&net, 1, one).unwrap();
    watch(&mut net.clients[1], there);
    let event = |target, damage| ToClients::one(client, Hit { target, damage });
    net.server.world_mut().commands().server_trigger(event(one, 7));
    net.server.world_mut().commands().server_trigger(event(other, 8));
    net.clients[1].world_mut().commands().client_trigger(Grab(there));
    net.run(seconds(1.0));
    assert_eq!(seen(&net.clients[1]).hits, [(there, 7)], "only that of its entity");
    assert_eq!(seen(&net.server).grabs, [(client, one)]);

    // It waits for its entity; if that never comes, nothing observes it, and nothing breaks.
    let late = net.server.world_mut().spawn((Replicated, Health(3))).id();
    net.server.world_mut().commands().server_trigger(event(late, 9).now());
    let hidden = (Replicated, Health(4), NetScope(Scope::Room(RoomId(1))));
    let hidden = net.server.world_mut().spawn(hidden).id();
    net.server.world_mut().commands().server_trigger(event(hidden, 10).now());
    net.clients[1].add_observer(|hit: On<Hit>, map: Res<EntityMap>, mut seen: ResMut<Seen>| {
        assert!(hit.target == Entity::PLACEHOLDER || map.id(hit.target).is_some());
        seen.hits.push((hit.target, hit.damage));
    });
    net.run(seconds(3.0));
    let late = remote(&net, 1, late).unwrap();
    assert_eq!(seen(&net.clients[1]).hits[1..], [(late, 9), (Entity::PLACEHOLDER, 10)]);
}

#[test]
fn the_host_observes_events_of_its_own_entities() {
    let mut net = TestNet::hosted(TestNet::bad_link(), 1, 0, game);
    net.run(seconds(0.5));
    let entity = net.server.world_mut().spawn((Replicated, Health(1))).id();
    watch(&mut net.server, entity);
    let event = ToClients::all(Hit { target: entity, damage: 5 });
    net.server.world_mut().commands().server_trigger(event);
    net.server.world_mut().commands().client_trigger(Grab(entity));
    net.run(seconds(0.1));
    assert_eq!(seen(&net.server).hits, [(entity, 5)]);
    assert_eq!(seen(&net.server).grabs[0].1, entity);
}

#[test]
fn a_message_with_an_entity_comes_once_the_client_shows_it() {
    let mut net = net(1, game);
    net.run(seconds(1.0));
    let client = clients(&mut net)[0];
    let hidden = NetScope(Scope::Room(RoomId(1)));
    let entity = net.server.world_mut().spawn((Replicated, Health(50), hidden)).id();
    net.run(seconds(0.1));
    net.server.world_mut().write_message(ToClients::all(Note(1)).with(entity));
    net.run(seconds(1.0));
    assert!(seen(&net.clients[0]).notes.is_empty(), "the client does not have it");
    net.server.world_mut().entity_mut(client).insert(ClientRooms(vec![RoomId(1)]));
    net.run(seconds(1.0));
    assert_eq!(seen(&net.clients[0]).notes, [(1, Some(50))], "with the entity");
    // It is shown already: at once. Or it is spawned in the same frame, and has no object yet.
    net.server.world_mut().write_message(ToClients::all(Note(2)).with(entity));
    net.run(seconds(0.5));
    assert_eq!(seen(&net.clients[0]).notes[1], (2, Some(50)));
    net.server.world_mut().despawn(entity);
    net.run(seconds(1.0));
    let entity = net.server.world_mut().spawn((Replicated, Health(60))).id();
    net.server.world_mut().write_message(ToClients::all(Note(3)).with(entity));
    net.run(seconds(0.5));
    assert_eq!(seen(&net.clients[0]).notes[2], (3, Some(60)));
}

#[test]
fn a_message_at_a_tick_comes_when_the_client_shows_it() {
    fn counting(app: &mut App) {
        game(app);
        app.add_systems(
            FixedUpdate,
            (|mut all: Query<&mut Health>, tick: Res<NetTick>| {
                all.iter_mut().for_each(|mut health| health.0 = (**tick % 100) as u8);
            })
            .run_if(has_authority),
        );
    }
    let mut net = net(1, counting);
    net.server.world_mut().spawn((Replicated, Health(0)));
    net.run(seconds(2.0));
    let tick = **net.server.world().resource::<NetTick>();
    for (number, later) in [(1, 60), (2, 64), (3, 80)] {
        let (to, when) = (Recipients::All, When::At(tick + later));
        net.server.world_mut().write_message(ToClients { to, when, message: Note(number) });
    }
    net.run(seconds(0.5));
    assert!(seen(&net.clients[0]).notes.is_empty(), "they have arrived, and it is too early");
    net.run(seconds(1.5));
    let notes = &seen(&net.clients[0]).notes;
    assert_eq!(notes.iter().map(|note| note.0).collect::<Vec<_>>(), [1, 2, 3]);
    for (&(_, shown), later) in notes.iter().zip([60, 64, 80]) {
        // A frame of 8 ms may be up to one tick further.
        let ahead = (200 + u32::from(shown.unwrap()) - (tick + later) % 100) % 100;
        assert!(ahead <= 1, "{notes:?}");
    }
}

#[test]
fn unreliable_messages_may_be_lost_and_late_ones_of_a_sequence_are_dropped() {
    let mut link = TestNet::bad_link();
    link.reordering = 0.1;
    let mut net = TestNet::new(link, 7, 1, game);
    net.run(seconds(2.0));
    assert_eq!(count::<ConnectedClient>(&mut net.server), 1);
    let mut number = 0;
    net.run_with(seconds(8.0), |net| {
        let server = net.server.world_mut();
        server.write_message(ToClients::all(Noise(number)).now());
        server.write_message(ToClients::all(Newest(number)).now());
        server.write_message(ToClients::all(Note(number)).now());
        number += 1;
    });
    net.run(seconds(2.0));
    let Seen { notes, noise, newest, .. } = seen(&net.clients[0]);
    let sent = usize::from(number);
    assert!(notes.iter().map(|note| note.0).eq(0..number), "reliable: each one, in order");
    // 3% of the packets are lost.
    assert!((9 * sent / 10..sent).contains(&noise.len()), "{} of {sent}", noise.len());
    assert!(newest.is_sorted() && !noise.is_sorted());
    assert!((sent / 2..noise.len()).contains(&newest.len()), "{} of {sent}", newest.len());
}
