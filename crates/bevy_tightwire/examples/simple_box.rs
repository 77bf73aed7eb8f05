//! Boxes that players move, predicted and interpolated, over encrypted UDP.
//!
//! ```sh
//! # Prints its fingerprint.
//! cargo run -p bevy_tightwire --example simple_box server 127.0.0.1:7777
//! cargo run -p bevy_tightwire --example simple_box client 127.0.0.1:7777 FINGERPRINT
//! cargo run -p bevy_tightwire --example simple_box host 127.0.0.1:7777
//! # A server and two bots.
//! cargo run -p bevy_tightwire --example simple_box
//! ```
//!
//! It has no window, and bots press the keys; the folder `window` beside `examples` has one.

use std::error::Error;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bevy_app::{AppExit, ScheduleRunnerPlugin, prelude::*};
use bevy_ecs::prelude::*;
use bevy_math::Vec2;
use bevy_tightwire::prelude::*;
use bevy_tightwire::tightwire::quic::Udp;
use bevy_time::{Fixed, Real, Time};

type Failure = Box<dyn Error + Send + Sync>;

#[derive(Component, Wire, Clone, Copy, PartialEq, Default, Debug)]
pub(crate) struct Position(
    #[wire(spatial, min = -1000.0, max = 1000.0, resolution = 0.05)] pub(crate) Vec2,
);

#[derive(Component, Wire, Clone, Copy, PartialEq, Default)]
pub(crate) struct Tint(pub(crate) [u8; 3]);

#[derive(Wire, Clone, Copy, PartialEq, Default)]
pub(crate) struct Move {
    #[wire(range = -1..=1)]
    pub(crate) x: i8,
    #[wire(range = -1..=1)]
    pub(crate) y: i8,
}

impl Input for Move {}

/// The game itself, with or without a window.
pub(crate) fn game(app: &mut App) {
    app.add_plugins(TightwirePlugins::new("simple_box", "1.0"))
        .insert_resource(Time::<Fixed>::from_hz(60.0))
        .add_input::<Move>()
        .add_observer(add_player)
        .add_systems(FixedUpdate, movement);
    app.replicate::<Position>().predict().interpolate();
    app.replicate::<Tint>();
}

/// The game without a window.
fn app() -> App {
    let mut app = App::new();
    game(&mut app);
    app.add_plugins(ScheduleRunnerPlugin::run_loop(Duration::from_micros(8333)))
        .add_systems(RunFixedMainLoop, press_keys.in_set(NetworkSet::WriteInput));
    app.finish();
    app.cleanup();
    app
}

fn add_player(joined: On<Add, ConnectedClient>, players: Query<&Tint>, mut commands: Commands) {
    let n = players.iter().count() as u8;
    let position = Position(Vec2::new(f32::from(n) * 50.0, 0.0));
    let tint = Tint([n.wrapping_mul(90), 200, 120]);
    let owner = OwnedBy(joined.entity);
    commands.spawn((Replicated, owner, Controls::<Move>::default(), position, tint));
}

/// A bot that runs in a square.
fn press_keys(time: Res<Time<Real>>, mut input: ResMut<LocalInput<Move>>) {
    let directions = [(1, 0), (0, 1), (-1, 0), (0, -1)];
    let (x, y) = directions[time.elapsed().as_secs() as usize % 4];
    **input = Move { x, y };
}

/// The same system on the server, on the owner's client in advance, and in single player.
fn movement(mut boxes: Query<(&mut Position, &Controls<Move>)>) {
    for (mut position, input) in &mut boxes {
        let step = 3.0 * Vec2::new(f32::from(input.x), f32::from(input.y));
        position.0 = (position.0 + step).clamp(Vec2::splat(-1000.0), Vec2::splat(1000.0));
    }
}

fn draw(boxes: Query<(Entity, &Position, Has<Owned>), Changed<Position>>) {
    for (entity, Position(at), is_own) in &boxes {
        println!("{entity} at {:.1}, {:.1}{}", at.x, at.y, if is_own { " (own)" } else { "" });
    }
}

fn main() -> Result<AppExit, Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut app = app();
    match start(&mut app.world_mut().commands(), &arguments)? {
        true => Ok(app.add_systems(Update, draw).run()),
        false => show_bots().map(|()| AppExit::Success),
    }
}

/// Becomes what the arguments say; returns whether they say anything.
pub(crate) fn start(commands: &mut Commands, arguments: &[String]) -> Result<bool, Failure> {
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["server", address] => {
            commands.serve(listen(address.parse()?)?, OpenToAnyone::default());
        }
        ["host", address] => commands.host(listen(address.parse()?)?, OpenToAnyone::default()),
        ["client", address, fingerprint] => {
            let (address, fingerprint) = (address.parse()?, fingerprint.parse()?);
            commands.connect(Quic::connect_pinned(address, fingerprint, Duration::ZERO)?, &[]);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn listen(address: SocketAddr) -> Result<Quic<Udp>, Failure> {
    let quic = Quic::listen_self_signed(address)?;
    println!("listens at {}, fingerprint {}", quic.address(), quic.fingerprint().ok_or("none")?);
    Ok(quic)
}

/// Runs a server and two clients for two seconds, in one process.
fn show_bots() -> Result<(), Failure> {
    let quic = listen(([127, 0, 0, 1], 0).into())?;
    let (address, fingerprint) = (quic.address(), quic.fingerprint().ok_or("no certificate")?);
    let mut apps = [app(), app(), app()];
    apps[0].world_mut().commands().serve(quic, OpenToAnyone::default());
    for client in &mut apps[1..] {
        let quic = Quic::connect_pinned(address, fingerprint, Duration::ZERO)?;
        client.world_mut().commands().connect(quic, &[]);
    }
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(2) {
        apps.iter_mut().for_each(App::update);
        std::thread::sleep(Duration::from_millis(4));
    }
    for client in &mut apps[1..] {
        let world = client.world_mut();
        let boxes: Vec<_> = world.query::<&Position>().iter(world).collect();
        println!("{boxes:?}");
        assert!(boxes.len() == 2 && boxes.iter().all(|position| position.0.y > 10.0));
        assert_eq!(world.query_filtered::<(), With<Predicted>>().iter(world).count(), 1);
    }
    Ok(())
}
