//! Tolerances of predictions, rounding, and interpolation by a function of the game.

use bevy_app::{App, FixedUpdate};
use bevy_ecs::prelude::*;
use bevy_tightwire::TestNet;
use bevy_tightwire::prelude::*;
use bevy_time::{Fixed, Time};

use crate::game::{Position, net, only, seconds};

/// A height in whole metres on the wire.
#[derive(Component, Wire, Clone, Copy, PartialEq, Debug, Default)]
struct Height(#[wire(min = -1000.0, max = 1000.0, resolution = 1.0)] f32);

#[derive(Wire, Clone, Copy, PartialEq, Debug, Default)]
struct NoKeys;

impl Input for NoKeys {}

/// A game in which both sides move everything without any input.
fn game(app: &mut App) {
    app.add_plugins(TightwirePlugins::new("precision", "1.0"))
        .insert_resource(Time::<Fixed>::from_hz(60.0))
        .add_input::<NoKeys>()
        .add_observer(|joined: On<Add, ConnectedClient>, mut commands: Commands| {
            let owner = OwnedBy(joined.entity);
            let player = (Position([0.0, 0.0]), Height(0.0), Controls::<NoKeys>::default());
            commands.spawn((Replicated, owner, player));
        })
        .add_systems(FixedUpdate, drift);
}

fn drift(mut all: Query<(&mut Position, &mut Height), With<Simulated>>) {
    for (mut position, mut height) in &mut all {
        // No multiple of the resolution, so that both sides round differently unless they start
        // from equal bits.
        position.0[0] = position.0[0] * 0.999 + 0.0137;
        height.0 += 0.3;
    }
}

fn mispredicted(app: &App) -> (u64, u64) {
    let stats = bevy_tightwire::client_stats(app.world()).unwrap().prediction;
    (stats.mispredicted, stats.compared)
}

/// Moves the player of the only client on the server, and returns whether the client is corrected.
fn is_corrected(net: &mut TestNet, by: f32) -> bool {
    let player = only::<OwnedBy>(&mut net.server);
    net.run(seconds(1.0));
    let (before, _) = mispredicted(&net.clients[0]);
    net.server.world_mut().get_mut::<Position>(player).unwrap().0[1] += by;
    net.run(seconds(1.0));
    mispredicted(&net.clients[0]).0 > before
}

#[test]
fn a_difference_within_the_tolerance_of_its_component_is_not_corrected() {
    fn tolerant(app: &mut App) {
        game(app);
        app.replicate::<Position>().predict().tolerance(100);
        app.replicate::<Height>();
    }
    let mut net = net(1, tolerant);
    net.run(seconds(1.5));
    let own = only::<Owned>(&mut net.clients[0]);
    assert!(!is_corrected(&mut net, 0.9), "90 codes");
    assert_eq!(net.clients[0].world().get::<Position>(own).unwrap().0[1], 0.0);
    assert!(is_corrected(&mut net, 0.5), "140 codes together");
    let position = net.clients[0].world().get::<Position>(own).unwrap();
    assert!((position.0[1] - 1.4).abs() < 0.02, "{position:?}");
}

#[test]
fn both_sides_that_round_are_never_corrected() {
    fn rounded(app: &mut App) {
        game(app);
        app.replicate::<Position>().predict().rounded().tolerance(0);
        app.replicate::<Height>();
    }
    fn exact(app: &mut App) {
        game(app);
        app.replicate::<Position>().predict().tolerance(0);
        app.replicate::<Height>();
    }
    let mut counts = Vec::new();
    for (kind, is_rounded) in [(rounded as fn(&mut App), true), (exact, false)] {
        let mut net = net(1, kind);
        let mut equal = 0;
        net.run_with(seconds(5.0), |net| {
            // A value of the rounded component is one of the wire form.
            let world = net.server.world_mut();
            for position in world.query::<&Position>().iter(world) {
                let codes = f64::from(position.0[0] + 500.0) / 0.01;
                equal += u32::from((codes - codes.round()).abs() < 0.01);
            }
        });
        let (mispredicted, compared) = mispredicted(&net.clients[0]);
        assert!(compared > 150, "{compared}");
        assert_eq!(equal > 400, is_rounded, "{equal}");
        counts.push(mispredicted);
    }
    // Without rounding, the client starts from the rounded state, and the server does not.
    assert!(counts[0] == 0 && counts[1] > 3, "{counts:?}");
}

#[test]
fn a_function_of_the_game_interpolates_finer_than_the_resolution() {
    fn smooth(app: &mut App) {
        game(app);
        app.replicate::<Position>();
        app.replicate::<Height>()
            .predict()
            .interpolate_with(|from, to, part| Height(from.0 + part * (to.0 - from.0)));
    }
    fn stepped(app: &mut App) {
        game(app);
        app.replicate::<Position>();
        app.replicate::<Height>().predict().interpolate();
    }
    // Two clients: the first one's own entity is predicted, that of the second interpolated.
    let largest_steps = |kind: fn(&mut App)| {
        let mut net = net(2, kind);
        net.run(seconds(2.0));
        let own = only::<Owned>(&mut net.clients[0]);
        let world = net.clients[0].world_mut();
        let mut others = world.query_filtered::<Entity, (With<Remote>, Without<Owned>)>();
        let other = others.single(world).unwrap();
        let mut before = [own, other].map(|entity| *world.get::<Height>(entity).unwrap());
        let start = before;
        let mut largest = [0.0f32; 2];
        net.run_with(seconds(2.0), |net| {
            let world = net.clients[0].world();
            let now = [own, other].map(|entity| *world.get::<Height>(entity).unwrap());
            for place in 0..2 {
                largest[place] = largest[place].max((now[place].0 - before[place].0).abs());
            }
            before = now;
        });
        for place in 0..2 {
            // 0.3 in each of 60 ticks a second.
            let way = before[place].0 - start[place].0;
            assert!((34.0..38.0).contains(&way), "{way}");
        }
        largest
    };
    // A frame is half a tick: 0.15 metres of the own entity, and of the other one half of the metre
    // by which its rounded height grows in some ticks. The shown time is stretched a little.
    let [own, other] = largest_steps(smooth);
    assert!(own < 0.2 && other < 0.6, "{own} {other}");
    let [own, other] = largest_steps(stepped);
    assert!(own > 0.9 && other > 0.9, "{own} {other}");
}
