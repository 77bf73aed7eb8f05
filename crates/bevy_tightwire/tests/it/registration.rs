//! Registrations that several plugins of a game make, that are wrong, or that differ between sides.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_tightwire::TestNet;
use bevy_tightwire::prelude::*;
use bevy_time::{Fixed, Time, TimeUpdateStrategy};
use tightwire::transport::InProcess;

use crate::game::{Heading, Health, Position, count, net, seconds};

#[derive(Resource, Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Round(u16);

#[derive(Message, Wire, Clone, PartialEq, Eq, Debug, Default)]
struct Say(u8);

#[derive(Message, Wire, Clone, PartialEq, Eq, Debug, Default)]
struct Boom(u8);

#[derive(Wire, Clone, Copy, PartialEq, Debug, Default)]
struct Move(#[wire(range = -1..=1)] i8);

impl Input for Move {}

/// Numbers of the messages that arrived, and reasons for which connections ended.
#[derive(Resource, Default)]
struct Log {
    numbers: Vec<u8>,
    reasons: Vec<String>,
}

/// Registers what a plugin of the game has.
fn register(app: &mut App) {
    app.add_input::<Move>()
        .add_client_message::<Say>(Delivery::ReliableOrdered)
        .add_server_message::<Boom>(Delivery::ReliableOrdered)
        .replicate_resource::<Round>();
    app.replicate::<Position>().predict();
    app.replicate::<Health>();
}

fn game(app: &mut App) {
    register(app);
    app.add_plugins(TightwirePlugins::new("registration", "1.0")).init_resource::<Log>();
    app.add_systems(
        Update,
        |mut said: MessageReader<FromClient<Say>>,
         mut booms: MessageReader<Boom>,
         mut ends: MessageReader<Disconnected>,
         mut log: ResMut<Log>| {
            log.numbers.extend(said.read().map(|say| say.0));
            log.numbers.extend(booms.read().map(|boom| boom.0));
            log.reasons.extend(ends.read().map(|end| end.reason.clone()));
        },
    );
}

#[test]
fn what_two_plugins_register_is_registered_once() {
    fn twice(app: &mut App) {
        game(app);
        register(app);
    }
    let mut net = TestNet::new(TestNet::bad_link(), 7, 1, twice);
    net.server.insert_resource(Round(1));
    net.run(seconds(1.5));
    assert_eq!(count::<Remote>(&mut net.clients[0]), 1, "one entity for the resource");
    net.server.world_mut().resource_mut::<Round>().0 = 2;
    net.server.world_mut().write_message(ToClients::all(Boom(3)));
    net.clients[0].world_mut().write_message(Say(4));
    net.run(seconds(1.0));
    let (server, client) = (net.server.world(), net.clients[0].world());
    assert_eq!(client.resource::<Round>(), &Round(2));
    assert_eq!(client.resource::<Log>().numbers, [3]);
    assert_eq!(server.resource::<Log>().numbers, [4]);
}

/// A component whose rows would be too large.
#[derive(Component, Wire, Clone, Debug, Default)]
struct Pixels(#[wire(max_len = 2000)] Vec<u32>);

fn game_with_pixels(app: &mut App) {
    game(app);
    app.replicate::<Pixels>();
}

#[test]
#[should_panic = "the largest field is `0` with 2001"]
fn a_test_with_a_component_that_is_too_large_says_so() {
    let _ = net(1, game_with_pixels);
}

#[test]
fn an_app_with_a_component_that_is_too_large_stays_offline() {
    TestNet::print_warnings();
    let mut app = App::new();
    game_with_pixels(&mut app);
    app.finish();
    app.cleanup();
    let (end, _) = InProcess::pair();
    app.world_mut().commands().serve(end, OpenToAnyone::default());
    app.update();
    assert_eq!(*app.world().resource::<NetMode>(), NetMode::Offline, "and not without components");
}

/// A registration of one side, and a name in the reason for which the other refuses it.
type Other = (fn(&mut App), &'static str);

#[test]
fn sides_that_registered_other_things_refuse_each_other_by_their_names() {
    fn app(more: fn(&mut App)) -> App {
        let mut app = App::new();
        game(&mut app);
        more(&mut app);
        let frame = std::time::Duration::from_millis(8);
        app.insert_resource(TimeUpdateStrategy::ManualDuration(frame));
        app.finish();
        app.cleanup();
        app
    }
    let others: [Other; 6] = [
        (|app| drop(app.replicate::<Heading>()), "rest.Heading"),
        (|app| drop(app.replicate::<Health>().owner_only()), "rest.Health"),
        (|app| drop(app.replicate::<(Position, Health)>()), "Health+Position"),
        (|app| _ = app.add_server_message::<Say>(Delivery::Reliable), "Say"),
        (|app| _ = app.replicate_resource::<Wind>(), "Wind"),
        (|app| _ = app.insert_resource(Time::<Fixed>::from_hz(60.0)), "ticks_per_second"),
    ];
    for (more, name) in others {
        let (mut server, mut client) = (app(|_| ()), app(more));
        let (here, there) = InProcess::pair();
        server.world_mut().commands().serve(here, OpenToAnyone::default());
        client.world_mut().commands().connect(there, &[]);
        for _ in 0..60 {
            server.update();
            client.update();
        }
        let reasons = &client.world().resource::<Log>().reasons;
        assert!(reasons.len() == 1 && reasons[0].contains(name), "{name}: {reasons:?}");
        assert_eq!(count::<ConnectedClient>(&mut server), 0);
    }
}

#[derive(Resource, Wire, Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Wind(u8);
