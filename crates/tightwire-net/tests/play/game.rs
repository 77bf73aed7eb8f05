//! A small game of tanks, and a simulated network to play it on.

use std::net::SocketAddr;
use std::time::Duration;

use tightwire::link::LinkConfig;
use tightwire::play::{
    Client, ClientConfig, ClientEvent, Game, Input, ObjectConfig, Scene, Server, ServerConfig,
    ServerEvent, Tick,
};
use tightwire::quic::{Certificate, Network, Quic, QuicConfig, SimulatedSocket, Socket, Trust};
use tightwire::schema::ObjectId;
use tightwire::session::{Admit, OpenToAnyone};
use tightwire::transport::Transport;
use tightwire::{Message, PeerId, Wire};

#[derive(Wire, Default, Clone, PartialEq, Debug)]
pub(crate) struct Tank {
    #[wire(spatial, min = -200.0, max = 200.0, resolution = 0.002)]
    pub(crate) position: [f32; 2],
    #[wire(derivative_of = position, min = -16.0, max = 16.0, resolution = 0.01)]
    pub(crate) velocity: [f32; 2],
    #[wire(range = 0..=100)]
    pub(crate) health: u8,
    #[wire(range = 0..=30)]
    pub(crate) reload: u8,
    /// The keys that the player holds down: clients that do not know its inputs step with them.
    #[wire(range = -1..=1)]
    pub(crate) held: [i8; 2],
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
pub(crate) struct Bullet {
    #[wire(spatial, min = -200.0, max = 200.0, resolution = 0.002)]
    pub(crate) position: [f32; 2],
    #[wire(derivative_of = position, min = -64.0, max = 64.0, resolution = 0.02)]
    pub(crate) velocity: [f32; 2],
    #[wire(range = 0..=120)]
    pub(crate) age: u8,
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
pub(crate) struct Drive {
    #[wire(range = -1..=1)]
    pub(crate) x: i8,
    #[wire(range = -1..=1)]
    pub(crate) y: i8,
    pub(crate) fire: bool,
}

impl Input for Drive {
    fn merge(&mut self, newer: &Self) {
        *self = Drive { fire: self.fire | newer.fire, ..newer.clone() };
    }
}

#[derive(Wire, Message, Default, Clone, PartialEq, Debug)]
pub(crate) struct Chat {
    #[wire(max_len = 100)]
    pub(crate) text: String,
}

pub(crate) fn game() -> Game<Drive> {
    Game::new("arena", "1.0")
        .object::<Tank>()
        .object_with::<Bullet>(ObjectConfig { predict: true, ..ObjectConfig::default() })
        .input::<Drive>()
        .message::<Chat>()
}

/// Steps the game: the same function on both sides.
pub(crate) fn step(scene: &mut Scene<'_, Drive>) {
    let dt = scene.dt();
    scene.for_each::<Tank>(|scene, id, tank| {
        // A client does not know the inputs of others: their keys stay as they are.
        let known = scene.input(id).map(|drive| ([drive.x, drive.y], drive.fire));
        let (held, fire) = known.unwrap_or((tank.held, false));
        tank.held = held;
        for (axis, push) in held.into_iter().enumerate() {
            let speed = &mut tank.velocity[axis];
            *speed = (*speed * 0.9 + 1.2 * f32::from(push)).clamp(-15.0, 15.0);
            if speed.abs() < 0.1 {
                *speed = 0.0;
            }
            tank.position[axis] = (tank.position[axis] + *speed * dt).clamp(-190.0, 190.0);
        }
        for (_, other) in scene.near::<Tank>(id, CONTACT) {
            let [x, y] = [0, 1].map(|axis| tank.position[axis] - other.position[axis]);
            let distance = x.hypot(y).max(0.1);
            let push = 0.5 * (CONTACT - distance).max(0.0) / distance;
            tank.position = [tank.position[0] + push * x, tank.position[1] + push * y];
        }
        tank.reload = tank.reload.saturating_sub(1);
        if fire && tank.reload == 0 {
            tank.reload = 30;
            let bullet = Bullet { position: tank.position, velocity: [30.0, 0.0], age: 0 };
            let _ = scene.spawn(id, &bullet);
        }
    });
    scene.for_each::<Bullet>(|scene, id, bullet| {
        bullet.position[0] += bullet.velocity[0] * dt;
        bullet.age += 1;
        if bullet.age >= 60 {
            scene.remove(id);
        }
    });
}

/// Distance at which two tanks touch.
pub(crate) const CONTACT: f32 = 3.0;

pub(crate) type Simulated = Quic<SimulatedSocket>;

/// A server and clients, all polled each millisecond unless a test does otherwise.
pub(crate) struct Play {
    pub(crate) now: Duration,
    pub(crate) network: Network,
    pub(crate) server: Server<Drive, Simulated>,
    pub(crate) clients: Vec<Player>,
    pub(crate) events: Vec<ServerEvent>,
    /// Sees the server after the step of each tick.
    pub(crate) on_tick: OnTick,
    pub(crate) is_server_suspended: bool,
    trust: Trust,
    quic: QuicConfig,
}

pub(crate) type OnTick = Box<dyn FnMut(&mut Server<Drive, Simulated>, Tick)>;

pub(crate) struct Player<T = Simulated> {
    pub(crate) client: Client<Drive, T>,
    pub(crate) drive: Drive,
    pub(crate) mine: Vec<ObjectId>,
    pub(crate) events: Vec<ClientEvent>,
    pub(crate) is_suspended: bool,
}

pub(crate) const SERVER: ([u8; 4], u16) = ([10, 0, 0, 1], 7777);

pub(crate) fn address(number: usize) -> SocketAddr {
    ([10, 0, 1, number as u8], 1000).into()
}

/// A link with this round-trip time, jitter in milliseconds, and loss.
pub(crate) fn link(round_trip: u64, jitter: u64, loss: f64) -> LinkConfig {
    LinkConfig {
        latency: Duration::from_millis(round_trip / 2),
        jitter: Duration::from_millis(jitter),
        loss,
        ..LinkConfig::default()
    }
}

impl Play {
    pub(crate) fn new(link: LinkConfig, clients: usize) -> Self {
        Self::with(link, clients, ServerConfig::default(), ClientConfig::default())
    }

    pub(crate) fn with(
        link: LinkConfig,
        clients: usize,
        server: ServerConfig,
        client: ClientConfig,
    ) -> Self {
        let mut play = Self::gated(link, server, OpenToAnyone::default());
        for _ in 0..clients {
            play.join(client.clone());
        }
        play
    }

    /// A server with a gate, and without clients.
    pub(crate) fn gated(
        link: LinkConfig,
        server: ServerConfig,
        gate: impl Admit + 'static,
    ) -> Self {
        let network = Network::new(link, 7);
        let certificate = Certificate::self_signed(["game.example"]).unwrap();
        let trust = Trust::Pinned(vec![certificate.fingerprint()]);
        let quic = QuicConfig { seed: Some(7), ..QuicConfig::default() };
        let listening = Quic::listen(network.socket(SERVER.into()), &certificate, quic).unwrap();
        let server = game().serve(server, gate, listening).unwrap();
        let now = Duration::ZERO;
        let (events, players) = (Vec::new(), Vec::new());
        let (on_tick, is_server_suspended): (OnTick, _) = (Box::new(|_, _| ()), false);
        Self {
            now,
            network,
            server,
            clients: players,
            events,
            on_tick,
            is_server_suspended,
            trust,
            quic,
        }
    }

    pub(crate) fn join(&mut self, config: ClientConfig) {
        self.join_with(config, &[]);
    }

    pub(crate) fn join_with(&mut self, config: ClientConfig, token: &[u8]) {
        let socket = self.network.socket(address(self.clients.len() + 1));
        self.clients.push(Player::with_token(config, token, self.connect(socket)));
    }

    /// Connects to the server from a socket.
    pub(crate) fn connect<S: Socket>(&self, socket: S) -> Quic<S> {
        let (to, name) = (SERVER.into(), "game.example");
        Quic::connect(socket, to, name, &self.trust, self.quic, self.now).unwrap()
    }

    /// Runs for a time; `each` sees the play after each millisecond.
    pub(crate) fn run(&mut self, milliseconds: u64, mut each: impl FnMut(&mut Self)) {
        for _ in 0..milliseconds {
            self.now += Duration::from_millis(1);
            self.serve();
            for player in &mut self.clients {
                player.frame(self.now);
            }
            each(self);
        }
    }

    /// A frame of the server.
    pub(crate) fn serve(&mut self) {
        if self.is_server_suspended {
            return;
        }
        let server = &mut self.server;
        server.receive(self.now);
        while let Some(event) = server.poll_event() {
            match &event {
                ServerEvent::Joined { peer, .. } => {
                    let number = server.peers().position(|other| other == *peer).unwrap();
                    spawn_tank(server, *peer, number);
                }
                ServerEvent::Left { peer, .. } => server.world().remove_owned(*peer),
                _ => {}
            }
            self.events.push(event);
        }
        while let Some(tick) = server.begin_tick(self.now) {
            step(&mut server.scene());
            (self.on_tick)(server, tick);
        }
        server.send(self.now);
    }

    /// The peer that a client is to the server: they join in any order.
    pub(crate) fn peer_of(&mut self, client: usize) -> PeerId {
        let tank = self.clients[client].mine[0];
        self.server.world().owner(tank).unwrap()
    }

    pub(crate) fn tanks(&mut self) -> Vec<(ObjectId, Tank)> {
        self.server.world().iter::<Tank>().collect()
    }
}

fn spawn_tank(server: &mut Server<Drive, Simulated>, peer: PeerId, number: usize) {
    let position = [-100.0 + 20.0 * number as f32, 10.0 * number as f32];
    let tank = Tank { position, health: 100, ..Tank::default() };
    let mut world = server.world();
    let id = world.spawn(&tank).unwrap();
    world.set_owner(id, Some(peer));
}

impl<T: Transport> Player<T> {
    pub(crate) fn new(config: ClientConfig, transport: T) -> Self {
        Self::with_token(config, &[], transport)
    }

    pub(crate) fn with_token(config: ClientConfig, token: &[u8], transport: T) -> Self {
        let client = game().connect(config, token, transport).unwrap();
        let drive = Drive::default();
        Self { client, drive, mine: Vec::new(), events: Vec::new(), is_suspended: false }
    }

    /// A frame of a client.
    pub(crate) fn frame(&mut self, now: Duration) {
        if self.is_suspended {
            return;
        }
        self.client.receive(now);
        while let Some(event) = self.client.poll_event() {
            match &event {
                ClientEvent::Mine { id } => self.mine.push(*id),
                ClientEvent::NotMine { id } => self.mine.retain(|mine| mine != id),
                ClientEvent::Connected { .. } => self.mine.clear(),
                _ => {}
            }
            self.events.push(event);
        }
        self.client.input(&self.drive);
        while let Some(mut scene) = self.client.next_step() {
            step(&mut scene);
        }
        self.client.send(now);
    }
}
