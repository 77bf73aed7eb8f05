//! Messages and events, over the wire and in loopback.

use bevy_app::{App, FixedUpdate, Update};
use bevy_ecs::prelude::*;
use bevy_tightwire::TestNet;
use bevy_tightwire::prelude::*;

use crate::game::{Health, count, net, only, remote, seconds};

#[derive(Message, Wire, Clone, PartialEq, Eq, Debug, Default)]
struct Say {
    #[wire(max_len = 20)]
    text: String,
}

#[derive(Message, Wire, Clone, PartialEq, Eq, Debug, Default)]
struct Boom(u8);

#[derive(Message, Wire, Clone, Copy, PartialEq, Eq, Debug, bevy_ecs::entity::MapEntities)]
struct Target(#[entities] Entity);

impl Default for Target {
    fn default() -> Self {
        Self(Entity::PLACEHOLDER)
    }
}

#[derive(Message, Wire, Clone, Copy, PartialEq, Eq, Debug, bevy_ecs::entity::MapEntities)]
struct Aim(#[entities] Entity);

impl Default for Aim {
    fn default() -> Self {
        Self(Entity::PLACEHOLDER)
    }
}

#[derive(Event, Wire, Clone, PartialEq, Eq, Debug, Default)]
struct Knock(u8);

#[derive(Event, Wire, Clone, PartialEq, Eq, Debug, Default)]
struct Opened(u8);

/// Everything that an app has seen.
#[derive(Resource, Default)]
struct Seen {
    said: Vec<(Entity, String)>,
    booms: Vec<u8>,
    targets: Vec<Entity>,
    knocks: Vec<(Entity, u8)>,
    opened: Vec<u8>,
}

fn game(app: &mut App) {
    app.add_plugins(TightwirePlugins::new("messages", "1.0"))
        .init_resource::<Seen>()
        .add_client_message::<Say>(Delivery::ReliableOrdered)
        .add_server_message::<Boom>(Delivery::ReliableOrdered)
        .add_mapped_server_message::<Target>(Delivery::Reliable)
        .add_mapped_client_message::<Aim>(Delivery::Reliable)
        .add_client_event::<Knock>(Delivery::Reliable)
        .add_server_event::<Opened>(Delivery::Reliable)
        .add_observer(|knock: On<FromClient<Knock>>, mut seen: ResMut<Seen>| {
            seen.knocks.push((knock.client, knock.message.0));
        })
        .add_observer(|opened: On<Opened>, mut seen: ResMut<Seen>| seen.opened.push(opened.0))
        .add_systems(Update, read);
    app.replicate::<Health>();
}

fn read(
    mut said: MessageReader<FromClient<Say>>,
    mut booms: MessageReader<Boom>,
    mut targets: MessageReader<Target>,
    mut aims: MessageReader<FromClient<Aim>>,
    mut seen: ResMut<Seen>,
) {
    seen.said.extend(said.read().map(|say| (say.client, say.text.clone())));
    seen.booms.extend(booms.read().map(|boom| boom.0));
    seen.targets.extend(targets.read().map(|target| target.0));
    seen.targets.extend(aims.read().map(|aim| aim.message.0));
}

fn seen(app: &App) -> &Seen {
    app.world().resource()
}

#[test]
fn messages_go_both_ways_and_name_their_client() {
    let mut net = net(2, game);
    net.run(seconds(1.0));
    for (number, client) in net.clients.iter_mut().enumerate() {
        client.world_mut().write_message(Say { text: format!("client {number}") });
    }
    net.run(seconds(1.0));
    let said = &seen(&net.server).said;
    let mut texts: Vec<_> = said.iter().map(|(_, text)| text.clone()).collect();
    texts.sort();
    assert_eq!(texts, ["client 0", "client 1"]);
    let first = said.iter().find(|(_, text)| text == "client 0").unwrap().0;
    assert!(net.server.world().get::<ConnectedClient>(first).is_some());

    let server = net.server.world_mut();
    server.write_message(ToClients::all(Boom(1)));
    server.write_message(ToClients::one(first, Boom(2)).now());
    server.write_message(ToClients::except(first, Boom(3)));
    net.run(seconds(1.0));
    let mut booms = seen(&net.clients[0]).booms.clone();
    booms.sort_unstable();
    assert_eq!(booms, [1, 2]);
    assert_eq!(seen(&net.clients[1]).booms, [1, 3]);
    assert!(seen(&net.server).booms.is_empty(), "a dedicated server has no player");
}

#[test]
fn events_go_both_ways() {
    let mut net = net(2, game);
    net.run(seconds(1.0));
    net.clients[1].world_mut().commands().client_trigger(Knock(7));
    net.server.world_mut().commands().server_trigger(ToClients::all(Opened(8)));
    net.run(seconds(1.0));
    let knocks = &seen(&net.server).knocks;
    assert_eq!(knocks.iter().map(|knock| knock.1).collect::<Vec<_>>(), [7]);
    assert!(net.clients.iter().all(|client| seen(client).opened == [8]));
}

#[test]
fn entities_in_messages_are_mapped_and_waited_for() {
    let mut net = net(1, game);
    net.run(seconds(1.0));
    // The message is sent with the entity, and may overtake it.
    let entity = net.server.world_mut().spawn((Replicated, Health(1))).id();
    net.run(seconds(0.02));
    net.server.world_mut().write_message(ToClients::all(Target(entity)).now());
    net.run(seconds(1.0));
    let there = remote(&net, 0, entity).unwrap();
    assert_eq!(seen(&net.clients[0]).targets, [there]);
    assert!(net.clients[0].world().get::<Health>(there).is_some());

    net.clients[0].world_mut().resource_mut::<Seen>().targets.clear();
    net.clients[0].world_mut().write_message(Aim(there));
    net.run(seconds(0.5));
    assert_eq!(seen(&net.server).targets, [entity]);
}

#[test]
fn a_message_in_step_comes_with_the_state_of_its_tick() {
    fn stepping(app: &mut App) {
        game(app);
        app.add_systems(
            FixedUpdate,
            (|mut all: Query<&mut Health>, mut booms: MessageWriter<ToClients<Boom>>| {
                for mut health in &mut all {
                    health.0 = (health.0 + 1) % 100;
                    if health.0.is_multiple_of(10) {
                        booms.write(ToClients::all(Boom(health.0)));
                    }
                }
            })
            .run_if(has_authority),
        );
        app.add_systems(Update, |all: Query<&Health>, mut booms: MessageReader<Boom>| {
            for boom in booms.read() {
                // A frame of 8 ms may be up to one tick further.
                let ahead = (100 + all.single().unwrap().0 - boom.0) % 100;
                assert!(ahead <= 1, "{ahead}");
            }
        });
    }
    let mut net = net(1, stepping);
    net.server.world_mut().spawn((Replicated, Health(1)));
    net.run(seconds(3.0));
    assert!(seen(&net.clients[0]).booms.len() > 10);
}

#[test]
fn the_local_player_is_a_client_in_every_mode_but_on_a_dedicated_server() {
    fn offline() -> App {
        let mut app = App::new();
        game(&mut app);
        app.finish();
        app.cleanup();
        app.update();
        app
    }
    let hosted = || {
        let mut net = TestNet::hosted(TestNet::bad_link(), 1, 1, game);
        net.run(seconds(1.0));
        net
    };
    let (mut single, mut host) = (offline(), hosted());
    for app in [&mut single, &mut host.server] {
        let local = only::<LocalClient>(app);
        assert_eq!(app.world().get::<ConnectedClient>(local).unwrap().peer, None);
        let world = app.world_mut();
        world.write_message(Say { text: "here".into() });
        world.write_message(ToClients::all(Boom(5)));
        world.write_message(ToClients {
            to: Recipients::Remote,
            when: When::Now,
            message: Boom(6),
        });
        world.commands().client_trigger(Knock(9));
        world.commands().server_trigger(ToClients::all(Opened(4)));
        (0..3).for_each(|_| app.update());
        let seen = seen(app);
        assert_eq!(seen.said, [(local, "here".into())]);
        assert_eq!((&seen.booms[..], &seen.opened[..]), (&[5][..], &[4][..]));
        assert_eq!(seen.knocks, [(local, 9)]);
    }
    host.run(seconds(1.0));
    let mut booms = seen(&host.clients[0]).booms.clone();
    booms.sort_unstable();
    assert_eq!((booms, count::<ConnectedClient>(&mut host.server)), (vec![5, 6], 2));
}
