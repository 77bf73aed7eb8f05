//! Commands of observers and of fixed systems, which run while the network layer is at work.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_tightwire::prelude::*;
use bevy_tightwire::{TestNet, client_stats};
use tightwire::transport::InProcess;

use crate::game::{Health, Position, count, net, only, remote, seconds};

#[derive(Event, Wire, Clone, PartialEq, Eq, Debug, Default)]
struct Knock;

#[derive(Event, Wire, Clone, PartialEq, Eq, Debug, Default)]
struct GameOver;

/// The place where an app gives its command.
#[derive(Resource, Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Place {
    #[default]
    Nowhere,
    Joined,
    Knocked,
    GameOver,
    Arrived,
    Tick,
}

/// Reasons for which connections ended.
#[derive(Resource, Default)]
struct Reasons(Vec<String>);

/// The number of clients that knocked.
#[derive(Resource, Default)]
struct Knocks(u32);

/// A transport for the host.
#[derive(Resource)]
struct Pipe(Option<InProcess>);

fn game(app: &mut App) {
    app.add_plugins(TightwirePlugins::new("commands", "1.0"))
        .init_resource::<Place>()
        .init_resource::<Reasons>()
        .init_resource::<Knocks>()
        .add_client_event::<Knock>(Delivery::Reliable)
        .add_server_event::<GameOver>(Delivery::Reliable)
        .add_observer(
            |joined: On<Add, ConnectedClient>, place: Res<Place>, mut commands: Commands| {
                if *place == Place::Joined {
                    commands.kick(joined.entity, "the server is full");
                }
            },
        )
        .add_observer(knocked)
        .add_observer(|_: On<GameOver>, place: Res<Place>, mut commands: Commands| {
            if *place == Place::GameOver {
                commands.disconnect();
            }
        })
        .add_observer(|_: On<Add, Health>, place: Res<Place>, mut commands: Commands| {
            if *place == Place::Arrived {
                commands.disconnect();
            }
        })
        .add_systems(FixedUpdate, |mut place: ResMut<Place>, mut commands: Commands| {
            if *place == Place::Tick {
                *place = Place::Nowhere;
                commands.disconnect();
            }
        })
        .add_systems(
            Update,
            |mut ends: MessageReader<Disconnected>, mut reasons: ResMut<Reasons>| {
                reasons.0.extend(ends.read().map(|end| end.reason.clone()));
            },
        );
    app.replicate::<Health>();
    app.replicate::<Position>().predict();
}

fn knocked(
    knock: On<FromClient<Knock>>,
    (place, mut knocks): (Res<Place>, ResMut<Knocks>),
    pipe: Option<ResMut<Pipe>>,
    mut commands: Commands,
) {
    knocks.0 += 1;
    match (*place, pipe.and_then(|mut pipe| pipe.0.take())) {
        (Place::Knocked, Some(pipe)) => commands.host(pipe, OpenToAnyone::default()),
        (Place::Knocked, None) => commands.kick(knock.client, "no knocking"),
        _ => {}
    }
}

fn mode(app: &App) -> NetMode {
    *app.world().resource::<NetMode>()
}

#[test]
fn an_observer_can_kick_the_client_that_it_observes() {
    for (place, reason) in [(Place::Joined, "the server is full"), (Place::Knocked, "no knocking")]
    {
        let mut net = net(1, game);
        net.server.insert_resource(place);
        net.run(seconds(1.5));
        net.clients[0].world_mut().commands().client_trigger(Knock);
        net.run(seconds(1.0));
        let reasons = &net.clients[0].world().resource::<Reasons>().0;
        assert!(reasons.len() == 1 && reasons[0].contains(reason), "{reasons:?}");
        assert_eq!(count::<ConnectedClient>(&mut net.server), 0);
    }
}

#[test]
fn a_client_can_leave_wherever_it_gives_the_command() {
    for place in [Place::GameOver, Place::Arrived, Place::Tick] {
        let mut net = net(1, game);
        net.run(seconds(1.0));
        crate::visibility::clients(&mut net);
        net.clients[0].insert_resource(place);
        net.server.world_mut().spawn((Replicated, Health(1)));
        net.server.world_mut().commands().server_trigger(ToClients::all(GameOver));
        net.run(seconds(1.0));
        let client = &mut net.clients[0];
        assert_eq!((mode(client), client_stats(client.world())), (NetMode::Offline, None));
        assert_eq!((count::<LocalClient>(client), count::<Remote>(client)), (1, 0), "{place:?}");
        assert!(client.world().resource::<Reasons>().0.is_empty(), "its own wish");
        assert_eq!(count::<ConnectedClient>(&mut net.server), 0, "{place:?}");
    }
}

#[test]
fn a_fixed_system_can_begin_the_prediction_of_an_entity() {
    fn touching(app: &mut App) {
        game(app);
        app.add_systems(
            FixedUpdate,
            (|balls: Query<Entity, (With<Position>, Without<Predicted>)>,
              mut commands: Commands| {
                balls.iter().for_each(|ball| commands.entity(ball).net_predict(true));
            })
            .run_if(is_connected),
        );
    }
    let mut net = net(1, touching);
    let ball = net.server.world_mut().spawn((Replicated, Position::default())).id();
    net.run(seconds(2.0));
    assert_eq!(only::<Predicted>(&mut net.clients[0]), remote(&net, 0, ball).unwrap());
}

#[test]
fn a_single_player_can_open_the_game_in_an_observer() {
    let mut net = TestNet::new(TestNet::bad_link(), 1, 1, game);
    net.server.world_mut().commands().disconnect();
    let (one, other) = InProcess::pair();
    net.server.insert_resource(Pipe(Some(one))).insert_resource(Place::Knocked);
    net.server.world_mut().commands().client_trigger(Knock);
    net.run(seconds(0.1));
    assert_eq!(mode(&net.server), NetMode::Host);
    net.server.insert_resource(Place::Nowhere);
    net.clients[0].world_mut().commands().connect(other, &[]);
    net.run(seconds(0.5));
    // The host has the messages of the app.
    net.clients[0].world_mut().commands().client_trigger(Knock);
    net.run(seconds(0.5));
    assert_eq!(net.server.world().resource::<Knocks>().0, 2);
}
