//! Modes, states, events of the connection, the order of systems, and transports.

use std::time::Duration;

use bevy_app::Plugins;
use bevy_app::prelude::*;
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::ScheduleConfigs;
use bevy_ecs::system::ScheduleSystem;
use bevy_state::condition::in_state;
use bevy_state::state::{OnEnter, State};
use bevy_tightwire::TestNet;
use bevy_tightwire::prelude::*;
use bevy_time::{Fixed, Time, TimeUpdateStrategy};
use tightwire::link::LinkConfig;
use tightwire::quic::{Network, Quic, QuicConfig, SimulatedSocket};
use tightwire::transport::{InProcess, TransportWrapper};

use crate::game::{Health, all, count, net, only, seconds};

/// Everything that happened in an app, in order.
#[derive(Resource, Default)]
struct Diary(Vec<&'static str>);

fn note(text: &'static str) -> ScheduleConfigs<ScheduleSystem> {
    (move |mut diary: ResMut<Diary>| diary.0.push(text)).into_configs()
}

fn diary(app: &App) -> &[&'static str] {
    &app.world().resource::<Diary>().0
}

/// The last one of these entries of an app's diary.
fn last(app: &App, of: &[&'static str]) -> &'static str {
    diary(app).iter().copied().rfind(|entry| of.contains(entry)).unwrap()
}

const CLIENT: [&str; 3] = ["connecting", "connected", "disconnected"];
const SERVER: [&str; 2] = ["running", "stopped"];

/// Reasons for which connections ended.
#[derive(Resource, Default)]
struct Reasons(Vec<String>);

fn game(app: &mut App) {
    app.add_plugins(TightwirePlugins::new("modes", "1.0"))
        .init_resource::<Diary>()
        .init_resource::<Reasons>()
        .add_systems(OnEnter(ClientState::Connecting), note("connecting"))
        .add_systems(OnEnter(ClientState::Connected), note("connected"))
        .add_systems(OnEnter(ClientState::Disconnected), note("disconnected"))
        .add_systems(OnEnter(ServerState::Running), note("running"))
        .add_systems(OnEnter(ServerState::Stopped), note("stopped"))
        .add_observer(|_: On<Add, ConnectionLost>, mut diary: ResMut<Diary>| diary.0.push("lost"))
        .add_observer(|_: On<Remove, ConnectionLost>, mut diary: ResMut<Diary>| {
            diary.0.push("resumed");
        })
        .add_systems(
            Update,
            |mut ends: MessageReader<Disconnected>, mut reasons: ResMut<Reasons>| {
                reasons.0.extend(ends.read().map(|end| end.reason.clone()));
            },
        );
    app.replicate::<Health>();
}

#[test]
fn states_and_messages_tell_how_the_connection_is() {
    let mut net = net(2, game);
    net.run(seconds(2.0));
    assert_eq!(
        (last(&net.server, &CLIENT), last(&net.server, &SERVER)),
        ("disconnected", "running")
    );
    for client in &net.clients {
        assert_eq!((last(client, &CLIENT), last(client, &SERVER)), ("connected", "stopped"));
        assert!(diary(client).contains(&"connecting"));
    }
    assert_eq!(*net.server.world().resource::<State<ServerState>>().get(), ServerState::Running);
    assert_eq!(count::<ConnectedClient>(&mut net.server), 2);

    // A client is silent for a while, and comes back as the same client.
    let clients: Vec<_> = crate::visibility::clients(&mut net);
    let silent = LinkConfig { loss: 1.0, ..TestNet::bad_link() };
    net.network.set_config(silent);
    net.run(seconds(12.0));
    assert!(diary(&net.server).contains(&"lost"), "{:?}", diary(&net.server));
    assert_eq!(count::<ConnectionLost>(&mut net.server), 2);
    net.network.set_config(TestNet::bad_link());
    net.run(seconds(10.0));
    assert!(diary(&net.server).ends_with(&["resumed", "resumed"]), "{:?}", diary(&net.server));
    assert!(diary(&net.clients[0]).ends_with(&["connecting", "connected"]));
    assert_eq!(count::<ConnectionLost>(&mut net.server), 0);
    assert!(clients.iter().all(|client| net.server.world().get_entity(*client).is_ok()));

    net.server.world_mut().commands().kick(clients[0], "no shouting");
    net.run(seconds(1.0));
    assert_eq!(count::<ConnectedClient>(&mut net.server), 1);
    let reasons = &net.clients[0].world().resource::<Reasons>().0;
    assert!(reasons.len() == 1 && reasons[0].contains("no shouting"), "{reasons:?}");
    assert_eq!(last(&net.clients[0], &CLIENT), "disconnected");
    assert_eq!(*net.clients[0].world().resource::<NetMode>(), NetMode::Offline);

    // A server that stops says so, and plays on alone.
    net.server.world_mut().commands().disconnect();
    net.run(seconds(1.0));
    assert_eq!(last(&net.server, &SERVER), "stopped");
    assert_eq!(*net.server.world().resource::<NetMode>(), NetMode::Offline);
    let reasons = &net.clients[1].world().resource::<Reasons>().0;
    assert!(reasons.len() == 1 && reasons[0].contains("the server has stopped"), "{reasons:?}");
}

#[test]
fn sets_order_the_systems_of_the_game() {
    fn ordered(app: &mut App) {
        use NetworkSet::{Apply, Collect, Input, Receive, Send, WriteInput};
        game(app);
        app.add_systems(PreUpdate, note("received").after(Receive).before(Apply))
            .add_systems(PreUpdate, note("applied").after(Apply))
            .add_systems(RunFixedMainLoop, note("write input").in_set(WriteInput))
            .add_systems(FixedFirst, note("controls").after(Input))
            .add_systems(FixedUpdate, note("step"))
            .add_systems(FixedLast, note("before collect").before(Collect))
            .add_systems(PostUpdate, note("before send").before(Send))
            .add_systems(
                PreUpdate,
                // A new entity can be seen in the frame in which it arrives.
                (|new: Query<&Health, Added<Remote>>, mut diary: ResMut<Diary>| {
                    diary.0.extend(new.iter().map(|_| "an entity"));
                })
                .after(Apply),
            );
    }
    let mut net = net(1, ordered);
    net.run(seconds(2.0));
    net.server.world_mut().spawn((Replicated, Health(1)));
    let clear = |app: &mut App| app.world_mut().resource_mut::<Diary>().0.clear();
    let (before, tick) = (["received", "applied", "write input"], ["controls", "step"]);
    let mut steps = 0;
    let mut arrived = 0;
    for _ in 0..60 {
        clear(&mut net.server);
        clear(&mut net.clients[0]);
        net.run(net.frame);
        for app in [&net.server, &net.clients[0]] {
            let mut entries = diary(app).to_vec();
            arrived += entries.extract_if(.., |entry| *entry == "an entity").count();
            assert_eq!((&entries[..3], entries.last()), (&before[..], Some(&"before send")));
            let ticks = entries[3..entries.len() - 1].chunks(3);
            for step in ticks {
                assert_eq!((&step[..2], &step[2..]), (&tick[..], &["before collect"][..]));
                steps += 1;
            }
        }
    }
    assert_eq!(arrived, 1);
    // Half a second of two apps at 64 Hz.
    assert!((60..70).contains(&steps), "{steps}");
}

#[test]
fn the_tick_rate_is_that_of_fixed_time() {
    #[derive(Resource, Default)]
    struct Steps(u32);
    fn usual(app: &mut App) {
        game(app);
        app.init_resource::<Steps>()
            .add_systems(FixedUpdate, |mut steps: ResMut<Steps>| steps.0 += 1);
    }
    fn slow(app: &mut App) {
        usual(app);
        app.insert_resource(Time::<Fixed>::from_hz(30.0));
    }
    for (kind, hertz) in [(usual as fn(&mut App), 64), (slow, 30)] {
        let mut net = net(1, kind);
        net.run(seconds(2.0));
        let read =
            |app: &App| (app.world().resource::<Steps>().0, **app.world().resource::<NetTick>());
        let before = [&net.server, &net.clients[0]].map(read);
        net.run(seconds(3.0));
        for (app, before) in [&net.server, &net.clients[0]].into_iter().zip(before) {
            let (steps, tick) = read(app);
            assert!((steps - before.0).abs_diff(3 * hertz) <= 3, "{steps} {before:?}");
            assert!((tick - before.1).abs_diff(3 * hertz) <= 3, "{tick} {before:?}");
        }
    }
}

#[test]
fn the_overstep_is_the_part_of_a_tick_that_has_passed() {
    let mut net = net(1, game);
    net.run(seconds(2.0));
    let mut ticks = [const { Vec::new() }; 2];
    net.run_with(seconds(1.0), |net| {
        for (app, ticks) in [&net.server, &net.clients[0]].into_iter().zip(&mut ticks) {
            let fraction = app.world().resource::<Time<Fixed>>().overstep_fraction_f64();
            assert!((0.0..=1.0).contains(&fraction), "{fraction}");
            ticks.push(f64::from(**app.world().resource::<NetTick>()) + fraction);
        }
    });
    // The shown time moves on evenly.
    for ticks in ticks {
        let frame = (ticks[ticks.len() - 1] - ticks[0]) / (ticks.len() - 1) as f64;
        let steps: Vec<_> = ticks.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(steps.iter().all(|step| (step - frame).abs() < 0.1), "{frame} {steps:?}");
    }
}

/// An app with one of the plugins, or both, on a virtual clock.
fn app<M>(plugins: impl Plugins<M>) -> App {
    let mut app = App::new();
    app.add_plugins(plugins)
        .init_resource::<Reasons>()
        .insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_millis(8)))
        .add_systems(
            Update,
            |mut ends: MessageReader<Disconnected>, mut reasons: ResMut<Reasons>| {
                reasons.0.extend(ends.read().map(|end| end.reason.clone()));
            },
        );
    app.replicate::<Health>();
    app.finish();
    app.cleanup();
    app
}

/// Connects a client to a dedicated server through queues in this process.
fn connect(server: &mut App, client: &mut App) {
    let (one, other) = InProcess::pair();
    server.world_mut().commands().serve(other, OpenToAnyone::default());
    client.world_mut().commands().connect(one, &[]);
    update(server, client, 200);
}

/// A transport of the game's own, around another one.
struct Wrapped(Quic<SimulatedSocket>);

impl TransportWrapper for Wrapped {
    type Inner = Quic<SimulatedSocket>;

    fn inner(&self) -> &Self::Inner {
        &self.0
    }

    fn inner_mut(&mut self) -> &mut Self::Inner {
        &mut self.0
    }
}

fn update(server: &mut App, client: &mut App, frames: u32) {
    for _ in 0..frames {
        server.update();
        client.update();
    }
}

#[test]
fn an_app_of_one_side_has_only_the_plugin_of_that_side() {
    #[derive(Resource, Default)]
    struct Serving(u32);
    let server_plugin = TightwireServerPlugin::new("modes", "1.0");
    let mut server = app(server_plugin);
    let mut client = app(TightwireClientPlugin::new("modes", "1.0"));
    server.init_resource::<Serving>().add_systems(
        Update,
        (|mut serving: ResMut<Serving>| serving.0 += 1).run_if(in_state(ServerState::Running)),
    );
    let entity = server.world_mut().spawn((Replicated, Health(42))).id();
    let network = Network::new(TestNet::bad_link(), 1);
    let (one, other) = Quic::pair(&network, QuicConfig::default()).unwrap();
    server.world_mut().commands().serve(Wrapped(other), OpenToAnyone::default());
    client.world_mut().commands().connect(Wrapped(one), &[]);
    update(&mut server, &mut client, 400);
    assert_eq!(all::<Health>(&mut client), [Health(42)]);
    assert_eq!(count::<LocalClient>(&mut server), 0, "no player of its own");
    assert!(server.world().resource::<Serving>().0 > 100);
    server.world_mut().get_mut::<Health>(entity).unwrap().0 = 7;
    update(&mut server, &mut client, 100);
    assert_eq!(all::<Health>(&mut client), [Health(7)]);
    let copy = only::<Health>(&mut client);
    assert!(client.world().get::<Remote>(copy).is_some());
}

#[test]
fn another_version_of_the_game_is_refused_with_the_reason() {
    let mut server = app(TightwirePlugins::new("modes", "1.0"));
    let mut client = app(TightwirePlugins::new("modes", "1.1"));
    connect(&mut server, &mut client);
    let reasons = &client.world().resource::<Reasons>().0;
    assert!(reasons.len() == 1 && reasons[0].contains("1.1"), "{reasons:?}");
    assert_eq!(count::<ConnectedClient>(&mut server), 0);
}
