//! A tank arena: a server and bots over UDP and a bad network. The bots predict their tanks, their
//! shells and the tanks that they touch, and shoot at what they are shown. One loses its connection,
//! and comes back as the same player. `-- --seconds 10` lets them play longer.

use std::time::{Duration, Instant};
use std::{env, error::Error, f32::consts::TAU, iter, thread};

use tightwire::link::LinkConfig;
use tightwire::message::Route;
use tightwire::play::{
    Asset, Client, ClientConfig, ClientEvent, Game, Input, PredictConfig, Scene, Server,
    ServerConfig, ServerEvent, To, Touch,
};
use tightwire::quic::{Conditioned, Quic, QuicConfig, Trust, Udp};
use tightwire::session::OpenToAnyone;
use tightwire::{Delivery, Message, ObjectId, Wire};

type Done = Result<(), Box<dyn Error>>;

// Both sides: objects, input, messages, and one function that moves the world.

#[derive(Wire, Default, Clone)]
struct Tank {
    #[wire(spatial, min = -100.0, max = 100.0, resolution = 0.002)]
    position: [f32; 2],
    #[wire(derivative_of = position, min = -16.0, max = 16.0, resolution = 0.01)]
    velocity: [f32; 2],
    #[wire(range = 0..=100)]
    health: u8,
    // Only the player itself gets to know when it can shoot again.
    #[wire(owner, range = 0..=30)]
    reload: u8,
    #[wire(range = 0..=20)]
    charge: u8,
    // The player's keys: others predict the tank with them.
    #[wire(range = -1..=1)]
    held: [i8; 2],
}

#[derive(Wire, Default, Clone)]
struct Shell {
    #[wire(spatial, min = -200.0, max = 200.0, resolution = 0.002)]
    position: [f32; 2],
    #[wire(min = -64.0, max = 64.0, resolution = 0.02)]
    velocity: [f32; 2],
    #[wire(range = 0..=60)]
    age: u8,
}

#[derive(Wire, Default, Clone)]
struct Drive {
    #[wire(range = -1..=1)]
    push: [i8; 2],
    fire: bool,
    laser: bool,
    #[wire(wraps, min = 0.0, max = TAU, resolution = 0.002)]
    aim: f32,
}

impl Input for Drive {
    // Several frames can fall into one tick: no shot is lost.
    fn merge(&mut self, newer: &Self) {
        let (fire, laser) = (self.fire | newer.fire, self.laser | newer.laser);
        *self = Drive { fire, laser, ..newer.clone() };
    }

    // The server drives on while inputs are missing, and does not shoot.
    fn repeated(&self, _missing: u32) -> Self {
        Drive { fire: false, laser: false, ..self.clone() }
    }
}

#[derive(Wire, Message, Default)]
struct Spark {
    tank: ObjectId,
}

fn game() -> Game<Drive> {
    Game::new("arena", "1.0").object::<Tank>().object::<Shell>().input::<Drive>().message::<Spark>()
}

const RELOAD: u8 = 30; // Ticks from one shell to the next.
const CHARGE: u8 = 20; // Ticks from one laser to the next.
const RADIUS: f32 = 1.5; // Of a tank, in metres.

/// Steps the world by a tick: on the server all objects, on a client those that it predicts.
fn step(scene: &mut Scene<'_, Drive>) {
    let dt = scene.dt();
    scene.for_each::<Tank>(|scene, id, tank| {
        let known = scene.input(id).cloned();
        let drive = known.unwrap_or(Drive { push: tank.held, ..Drive::default() });
        tank.held = drive.push;
        for axis in 0..2 {
            tank.velocity[axis] = 0.95 * tank.velocity[axis] + 0.5 * f32::from(tank.held[axis]);
            tank.position[axis] += tank.velocity[axis] * dt;
        }
        for (_, Tank { position: at, .. }) in scene.near::<Tank>(id, 2.0 * RADIUS) {
            tank.position = [0, 1].map(|axis| 1.1 * tank.position[axis] - 0.1 * at[axis]);
        }
        tank.reload = tank.reload.saturating_sub(1);
        tank.charge =
            if drive.laser && tank.charge == 0 { CHARGE } else { tank.charge.saturating_sub(1) };
        if drive.fire && tank.reload == 0 {
            tank.reload = RELOAD;
            let velocity = direction(drive.aim).map(|axis| 40.0 * axis);
            // On a client it appears at once, and becomes the server's when that arrives.
            let _ = scene.spawn(id, &Shell { position: tank.position, velocity, age: 0 });
        }
    });
    scene.for_each::<Shell>(|scene, id, shell| {
        shell.position = [0, 1].map(|axis| shell.position[axis] + shell.velocity[axis] * dt);
        shell.age += 1;
        if shell.age == 60 {
            scene.remove(id);
        }
    });
}

fn direction(angle: f32) -> [f32; 2] {
    [angle.cos(), angle.sin()]
}

/// Whether a ray hits a tank, within 60 m.
fn hits(from: [f32; 2], angle: f32, tank: &Tank) -> bool {
    let [x, y] = [tank.position[0] - from[0], tank.position[1] - from[1]];
    let [cos, sin] = direction(angle);
    let (along, across) = (x * cos + y * sin, y * cos - x * sin);
    (0.0..60.0).contains(&along) && across.abs() < RADIUS
}

/// The server.
struct Host {
    server: Server<Drive, Quic<Udp>>,
    map: Asset,
    lasers: u32,
    hits: u32,
    resumed: u32,
}

impl Host {
    fn frame(&mut self, now: Duration) -> Done {
        let server = &mut self.server;
        server.receive(now);
        while let Some(event) = server.poll_event() {
            match event {
                ServerEvent::Joined { peer, .. } => {
                    server.offer(peer, &self.map)?;
                    let mut world = server.world();
                    let angle = 1.5 * world.iter::<Tank>().count() as f32;
                    let position = direction(angle).map(|axis| 15.0 * axis);
                    let id = world.spawn(&Tank { position, health: 100, ..Tank::default() })?;
                    world.set_owner(id, Some(peer));
                }
                ServerEvent::Left { peer, .. } => server.world().remove_owned(peer),
                ServerEvent::Resumed { .. } => self.resumed += 1,
                event => println!("server: {event:?}"),
            }
        }
        while let Some(tick) = self.server.begin_tick(now) {
            step(&mut self.server.scene());
            self.shoot(tick.0)?;
        }
        self.server.send(now);
        Ok(())
    }

    /// Finds the tanks that lasers hit, where their shooters saw them.
    fn shoot(&mut self, tick: u32) -> Done {
        let world = self.server.world();
        let fired = world.iter::<Tank>().filter(|(_, tank)| tank.charge == CHARGE);
        let fired: Vec<_> = fired.map(|(id, tank)| (id, tank, world.owner(id))).collect();
        for (own, tank, owner) in fired {
            let input = self.server.inputs().find(|(peer, ..)| Some(*peer) == owner);
            let Some((peer, &Drive { aim, .. }, _)) = input else { continue };
            self.lasers += 1;
            let hit = self.server.as_seen_by(peer, |past| {
                let mut others = past.iter::<Tank>().filter(|(id, _)| *id != own);
                others.find(|(_, other)| hits(tank.position, aim, other)).map(|(id, _)| id)
            });
            let Some(id) = hit else { continue };
            self.hits += 1;
            let mut world = self.server.world();
            let Some(mut target) = world.get::<Tank>(id) else { continue };
            target.health = if target.health > 5 { target.health - 5 } else { 100 };
            world.set(id, &target)?;
            // Clients handle it when they show this tick.
            let route = Route::from(Delivery::Unreliable).at_tick(tick);
            self.server.send_message(To::All, &Spark { tank: id }, route)?;
        }
        Ok(())
    }
}

/// A client. A game would draw the view and read a keyboard where the bot thinks.
struct Bot {
    number: u64,
    client: Client<Drive, Quic<Conditioned<Udp>>>,
    tank: Option<ObjectId>,
    sparks: usize,
    map: Vec<u8>,
}

impl Bot {
    fn frame(&mut self, now: Duration) -> Done {
        self.client.receive(now);
        while let Some(event) = self.client.poll_event() {
            match event {
                // The first one is the tank, the others are shells.
                ClientEvent::Mine { id } => self.tank = self.tank.or(Some(id)),
                ClientEvent::AssetOffered(asset) => {
                    self.client.accept_asset(asset.id, self.map.clone())?;
                }
                ClientEvent::Asset { bytes, .. } => self.map = bytes?,
                ClientEvent::Disconnected { reason } => return Err(reason.into()),
                _ => {}
            }
        }
        self.client.input(&self.think(now));
        while let Some(mut scene) = self.client.next_step() {
            step(&mut scene);
        }
        self.sparks += iter::from_fn(|| self.client.poll_message::<Spark>()).count();
        self.client.send(now);
        Ok(())
    }

    /// Drives around the middle, and shoots at the nearest tank, where it is shown.
    fn think(&self, now: Duration) -> Drive {
        let world = self.client.world();
        let tank = self.tank.and_then(|id| world.get::<Tank>(id));
        let Some(own) = tank else { return Drive::default() };
        let others = world.iter::<Tank>().filter(|(id, _)| Some(*id) != self.tank);
        let ways = others.map(|(_, at)| [0, 1].map(|axis| at.position[axis] - own.position[axis]));
        let nearest = ways.min_by(|a, b| a[0].hypot(a[1]).total_cmp(&b[0].hypot(b[1])));
        let angle = now.as_secs_f32() * if self.number.is_multiple_of(2) { 0.5 } else { -0.5 };
        let radius = 12.0 + 3.0 * self.number as f32;
        let goal = direction(self.number as f32 * 1.5 + angle).map(|axis| radius * axis);
        let push = [0, 1].map(|axis| (goal[axis] - own.position[axis]).clamp(-1.0, 1.0) as i8);
        let aim = nearest.map_or(0.0, |[x, y]| y.atan2(x).rem_euclid(TAU));
        Drive { push, fire: true, laser: nearest.is_some(), aim }
    }
}

fn main() -> Done {
    let given = env::args().skip_while(|argument| argument != "--seconds").nth(1);
    let seconds = given.map_or(Ok(3.0), |seconds| seconds.parse())?;
    let start = Instant::now();
    let quic = Quic::listen_self_signed("127.0.0.1:0".parse()?)?;
    let (address, fingerprint) = (quic.address(), quic.fingerprint().ok_or("no certificate")?);
    let server = game().serve(ServerConfig::default(), OpenToAnyone::default(), quic)?;
    let map = Asset::new("map", vec![7; 20_000]);
    let mut host = Host { server, map, lasers: 0, hits: 0, resumed: 0 };
    let predict = PredictConfig { touch: Some(Touch::default()), ..PredictConfig::default() };
    let mut bots = Vec::new();
    for number in 0..4 {
        // A bad network of 60 ms; without it: `Quic::connect_pinned(address, fingerprint, now)`.
        let latency = Duration::from_millis(30);
        let bad = LinkConfig { latency, loss: 0.02, ..Default::default() };
        let socket = Conditioned::new(Udp::client(address)?, bad, bad, number);
        let trust = Trust::Pinned(vec![fingerprint]);
        // A server that is gone is noticed after 700 ms instead of 10 s: the game is short.
        let [idle_timeout, keep_alive] = [700, 200].map(Duration::from_millis);
        let config = QuicConfig { idle_timeout, keep_alive, ..Default::default() };
        let quic = Quic::connect(socket, address, "localhost", &trust, config, start.elapsed())?;
        let client = game().connect(ClientConfig { predict, ..Default::default() }, &[], quic)?;
        bots.push(Bot { number, client, tank: None, sparks: 0, map: Vec::new() });
    }
    // Each would be a program of its own, with this loop.
    while start.elapsed() < Duration::from_secs_f32(seconds) {
        host.frame(start.elapsed())?;
        for bot in &mut bots {
            // The first one drives through a tunnel for a second.
            let is_away = bot.number == 0 && (0.8..1.8).contains(&start.elapsed().as_secs_f32());
            if !is_away {
                bot.frame(start.elapsed())?;
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
    report(&host, &bots)
}

fn report(host: &Host, bots: &[Bot]) -> Done {
    println!("{} of {} lasers hit what they saw", host.hits, host.lasers);
    for peer in host.server.peers() {
        let stats = host.server.stats(peer).ok_or("no such peer")?;
        let (inputs, missing) = (stats.inputs.fresh, stats.inputs.repeated + stats.inputs.neutral);
        println!("{peer}: {inputs} inputs, {missing} missing");
        assert!(inputs > missing);
    }
    for Bot { number, client, sparks, map, .. } in bots {
        let predicted = client.stats().prediction;
        let (compared, wrong) = (predicted.compared, predicted.mispredicted);
        println!("bot {number}: {wrong} of {compared} predictions corrected, {sparks} sparks");
        assert!(compared > 0 && *sparks > 0 && map.len() == 20_000);
    }
    assert!(host.server.peers().count() == bots.len() && host.resumed > 0);
    assert!(host.hits > 0 && 10 * host.hits >= 9 * host.lasers, "the bots aim well");
    Ok(())
}
