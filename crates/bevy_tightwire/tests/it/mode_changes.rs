//! Apps that change their mode while they run.

use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_state::state::State;
use bevy_tightwire::prelude::*;
use bevy_tightwire::{TestNet, client_stats};
use tightwire::transport::InProcess;

use crate::game::{Health, Position, all, count, net, only, seconds};

#[derive(Wire, Clone, Copy, PartialEq, Debug, Default)]
struct Move(#[wire(range = -1..=1)] i8);

impl Input for Move {}

#[derive(Message, Wire, Clone, Copy, Debug, bevy_ecs::entity::MapEntities)]
struct Point(#[entities] Entity);

impl Default for Point {
    fn default() -> Self {
        Self(Entity::PLACEHOLDER)
    }
}

/// Messages that arrived, and frames whose `Update` believed to be in a replay.
#[derive(Resource, Default)]
struct Log {
    points: usize,
    replays: usize,
}

fn game(app: &mut App) {
    app.add_plugins(TightwirePlugins::new("changes", "1.0"))
        .init_resource::<Log>()
        .add_input::<Move>()
        .add_mapped_server_message::<Point>(Delivery::Reliable)
        .add_observer(|joined: On<Add, ConnectedClient>, mut commands: Commands| {
            let player = (Position::default(), Controls::<Move>::default());
            commands.spawn((Replicated, OwnedBy(joined.entity), player));
        })
        .add_systems(FixedUpdate, |mut players: Query<(&mut Position, &Controls<Move>)>| {
            for (mut position, input) in &mut players {
                position.0[0] += 0.1 * f32::from(input.0.0);
            }
        })
        .add_systems(Update, |mut points: MessageReader<Point>, mut log: ResMut<Log>| {
            log.points += points.read().count();
        })
        .add_systems(Update, (|mut log: ResMut<Log>| log.replays += 1).run_if(is_replaying));
    app.replicate::<Position>().predict().interpolate();
    app.replicate::<Health>();
}

fn mode(app: &App) -> NetMode {
    *app.world().resource::<NetMode>()
}

/// Players, own ones, and entities that are simulated.
fn players(app: &mut App) -> [usize; 3] {
    [count::<Position>(app), count::<Owned>(app), count::<Simulated>(app)]
}

#[test]
fn a_player_leaves_and_comes_back_over_the_same_server() {
    let mut net = net(2, game);
    net.run(seconds(2.0));
    crate::visibility::clients(&mut net);
    net.clients[0].insert_resource(LocalInput(Move(1)));
    for is_kicked in [false, true] {
        let client = net.client_entity(0).unwrap();
        match is_kicked {
            true => net.server.world_mut().commands().kick(client, "out"),
            false => net.clients[0].world_mut().commands().disconnect(),
        }
        net.run(seconds(0.5));
        assert_eq!(
            (mode(&net.clients[0]), players(&mut net.clients[0])),
            (NetMode::Offline, [1; 3])
        );
        assert!(all::<Position>(&mut net.clients[0])[0].0[0] > 1.0, "it plays alone");
        assert_eq!(count::<Position>(&mut net.clients[1]), 1);
        net.connect(0);
        net.run(seconds(1.0));
        crate::visibility::clients(&mut net);
        net.run(seconds(1.0));
        assert_eq!(players(&mut net.clients[0]), [2, 1, 1]);
        assert_eq!(count::<Position>(&mut net.clients[1]), 2);
    }
    net.clients[0].insert_resource(LocalInput(Move(0)));
    net.run(seconds(1.5));
    net.assert_equal_worlds();
}

#[test]
fn two_apps_host_for_each_other_in_turn() {
    let mut net = TestNet::new(TestNet::bad_link(), 1, 1, game);
    net.run(seconds(1.0));
    for _ in 0..2 {
        let (one, other) = InProcess::pair();
        net.server.world_mut().commands().host(one, OpenToAnyone::default());
        net.clients[0].world_mut().commands().connect(other, &[]);
        net.run(seconds(0.5));
        assert_eq!((mode(&net.server), mode(&net.clients[0])), (NetMode::Host, NetMode::Client));
        assert_eq!(players(&mut net.server), [2, 1, 2]);
        assert_eq!(players(&mut net.clients[0]), [2, 1, 1]);
        let (one, other) = InProcess::pair();
        net.clients[0].world_mut().commands().host(one, OpenToAnyone::default());
        net.server.world_mut().commands().connect(other, &[]);
        net.run(seconds(0.5));
        assert_eq!((mode(&net.server), mode(&net.clients[0])), (NetMode::Client, NetMode::Host));
        assert_eq!(players(&mut net.server), [2, 1, 1]);
        assert_eq!(players(&mut net.clients[0]), [2, 1, 2]);
    }
    // The last one of several commands of a frame counts.
    let [(one, _), (other, end)] = [InProcess::pair(), InProcess::pair()];
    let mut commands = net.server.world_mut().commands();
    commands.disconnect();
    commands.host(one, OpenToAnyone::default());
    commands.connect(other, &[]);
    net.clients[0].world_mut().commands().serve(end, OpenToAnyone::default());
    net.run(seconds(0.5));
    assert_eq!((mode(&net.server), mode(&net.clients[0])), (NetMode::Client, NetMode::Dedicated));
    let world = net.server.world();
    assert_eq!(*world.resource::<State<ClientState>>().get(), ClientState::Connected);
    assert_eq!(*world.resource::<State<ServerState>>().get(), ServerState::Stopped);
    assert_eq!(players(&mut net.server), [1, 1, 1]);
}

#[test]
fn a_client_simulates_nothing_of_the_world_that_it_had_alone() {
    let mut net = net(1, game);
    net.clients[0].world_mut().commands().disconnect();
    net.run(seconds(0.1));
    let monster = net.clients[0].world_mut().spawn((Replicated, Health(7))).id();
    net.run(seconds(0.1));
    let is_simulated = |net: &TestNet| net.clients[0].world().get::<Simulated>(monster).is_some();
    assert!(is_simulated(&net));
    net.connect(0);
    net.run(seconds(0.1));
    assert!(!is_simulated(&net));
    net.clients[0].world_mut().commands().disconnect();
    net.run(seconds(0.1));
    assert!(is_simulated(&net));
    net.clients[0].world_mut().entity_mut(monster).remove::<Replicated>();
    net.run(seconds(0.1));
    assert!(!is_simulated(&net));
}

#[test]
fn an_app_refuses_the_modes_of_a_plugin_that_it_does_not_have() {
    fn client(app: &mut App) {
        app.add_plugins(TightwireClientPlugin::new("changes", "1.0"));
    }
    fn server(app: &mut App) {
        app.add_plugins(TightwireServerPlugin::new("changes", "1.0"));
    }
    TestNet::print_warnings();
    for (plugin, is_client) in [(client as fn(&mut App), true), (server, false)] {
        let mut app = App::new();
        plugin(&mut app);
        app.finish();
        app.cleanup();
        app.update();
        let [(serving, _), (hosting, _), (connecting, _)] = [(); 3].map(|()| InProcess::pair());
        let mut commands = app.world_mut().commands();
        commands.host(hosting, OpenToAnyone::default());
        match is_client {
            true => commands.serve(serving, OpenToAnyone::default()),
            false => commands.connect(connecting, &[]),
        }
        app.update();
        assert_eq!(mode(&app), NetMode::Offline);
    }
}

#[test]
fn nothing_of_an_earlier_connection_is_left() {
    let mut net = net(1, game);
    net.run(seconds(2.0));
    let own = only::<Owned>(&mut net.clients[0]);
    // A message that waits for its entity.
    let hidden = NetScope(Scope::Room(RoomId(1)));
    let hidden = net.server.world_mut().spawn((Replicated, Health(1), hidden)).id();
    net.run(seconds(0.1));
    net.server.world_mut().write_message(ToClients::all(Point(hidden)).now());
    net.run(seconds(0.3));
    // A predicted despawn, which the server does not confirm any more.
    net.clients[0].world_mut().commands().entity(own).net_despawn();
    net.clients[0].world_mut().commands().disconnect();
    net.server.world_mut().commands().disconnect();
    net.run(seconds(0.1));
    assert!(net.clients[0].world().get_entity(own).is_err());
    let (one, other) = InProcess::pair();
    net.server.world_mut().commands().serve(one, OpenToAnyone::default());
    net.clients[0].world_mut().commands().connect(other, &[]);
    net.run(seconds(2.5));
    assert_eq!(count::<Remote>(&mut net.clients[0]), 1, "its player");
    assert_eq!(net.clients[0].world().resource::<Log>().points, 0);
}

#[test]
fn only_ticks_are_replayed() {
    let mut net = net(1, game);
    net.run(seconds(2.0));
    let player = only::<OwnedBy>(&mut net.server);
    for _ in 0..20 {
        net.server.world_mut().get_mut::<Position>(player).unwrap().0[1] += 1.0;
        net.run(seconds(0.07));
    }
    let stats = client_stats(net.clients[0].world()).unwrap().prediction;
    assert!(stats.replayed_ticks > 50, "{stats:?}");
    assert_eq!(net.clients[0].world().resource::<Log>().replays, 0, "not the frames");
}
