//! The cost of a tick of a play server by layer: a world to many receivers over QUIC.

mod scenes;
mod timed;

use crate::counting::live_bytes;
use crate::harness::{Length, median};
use scenes::{Scene, Stage, Steer};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use tightwire::link::LinkConfig;
use tightwire::play::{Client, ClientConfig, Server, ServerConfig};
use tightwire::quic::{Certificate, Network, Quic, QuicConfig, Socket, Trust, Udp};
use tightwire::session::OpenToAnyone;
use timed::{Spent, Timed, TimedSocket};

pub const NAME: &str = "world";

/// Numbers of receivers.
const RECEIVERS: [usize; 4] = [1, 16, 64, 200];

const FRAME: Duration = Duration::from_nanos(1_000_000_000 / 60 + 1);

/// Start of the clock that measures coding.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Ticks before the measured ones: all clients join, and get the world.
const WARM_UP: u32 = 120;

/// Name of the server in its certificate.
const HOST: &str = "game.example";

/// Time of a tick of the server, by layer.
#[derive(Clone, Copy, Default)]
struct Layers {
    /// Changed objects, set by the game.
    set: Duration,
    /// Dirty objects are found and ordered for all receivers, and the sent ones recorded.
    select: Duration,
    /// The dirty objects are coded, for all receivers.
    encode: Duration,
    /// Inputs and acks are read, and the inputs of the tick chosen.
    messages: Duration,
    quic: Duration,
    /// Calls of the socket.
    system: Duration,
}

/// A world with a number of receivers.
struct Entry {
    scene: &'static str,
    network: &'static str,
    receivers: usize,
    ticks: Vec<Layers>,
    /// Bytes of snapshots, and of datagrams, for a receiver in a second.
    payload: u64,
    datagrams: u64,
    /// Heap of the server for each receiver.
    memory: usize,
}

type Host<S> = Server<Steer, Timed<Quic<TimedSocket<S>>>>;
type Guest<S> = Client<Steer, Quic<S>>;

/// Measures, and prints a table or returns it as JSON.
pub fn run(length: Length, json: bool) -> Vec<String> {
    let (receivers, ticks) = match length {
        Length::Rounds(1) => (&RECEIVERS[..1], 10),
        Length::Rounds(_) => (&RECEIVERS[..3], 60),
        Length::Time(_) => (&RECEIVERS[..], 300),
    };
    if !json {
        println!("{NAME}: a play server over QUIC, microseconds of a tick (medians of {ticks})");
        println!(
            "{:<11}{:<11}{:>9}{:>9}{:>9}{:>9}{:>10}{:>9}{:>9}{:>9}{:>13}{:>9}{:>13}",
            "",
            "network",
            "receivers",
            "set",
            "select",
            "encode",
            "messages",
            "quic",
            "system",
            "sum",
            "payload B/s",
            "UDP B/s",
            "KiB/receiver"
        );
    }
    let mut lines = Vec::new();
    for scene in Scene::all() {
        for &receivers in receivers {
            for entry in [simulated(&scene, receivers, ticks), sockets(&scene, receivers, ticks)] {
                match json {
                    true => lines.push(to_json(&entry)),
                    false => print(&entry),
                }
            }
        }
    }
    if !json {
        println!();
    }
    lines
}

/// Measures over a simulated network with a round trip of 100 ms, 10 ms of jitter and 1% loss: each receiver
/// has acked other snapshots.
fn simulated(scene: &Scene, receivers: usize, ticks: u32) -> Entry {
    let latency = Duration::from_millis(50);
    let jitter = Duration::from_millis(10);
    let network =
        Network::new(LinkConfig { latency, jitter, loss: 0.01, ..LinkConfig::default() }, 1);
    let address =
        |number: usize| SocketAddr::from(([10, 0, (number >> 8) as u8, number as u8], 7777));
    measure(scene, "simulated", receivers, ticks, |number| network.socket(address(number)))
}

/// Measures over sockets of this machine.
fn sockets(scene: &Scene, receivers: usize, ticks: u32) -> Entry {
    let any_port = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
    let socket = |number| match number {
        0 => Udp::server(any_port),
        _ => Udp::client(any_port),
    };
    measure(scene, "sockets", receivers, ticks, |number| socket(number).expect("a socket"))
}

fn measure<S: Socket>(
    scene: &Scene,
    network: &'static str,
    receivers: usize,
    ticks: u32,
    socket: impl Fn(usize) -> S,
) -> Entry {
    let quic = || QuicConfig {
        seed: Some(1),
        max_connections: receivers + 1,
        max_per_address: receivers + 1,
        max_unauthenticated: receivers + 1,
        max_handshakes: receivers + 1,
        ..QuicConfig::default()
    };
    let certificate = Certificate::self_signed([HOST]).expect("a certificate");
    let (in_socket, in_transport) = (Spent::default(), Spent::default());
    let own = TimedSocket { socket: socket(0), spent: in_socket.clone() };
    let address = own.address();
    let transport = Quic::listen(own, &certificate, quic()).expect("a server");
    let transport = Timed { transport, spent: in_transport.clone() };
    let mut config = ServerConfig::default();
    config.session.max_clients = receivers;
    let mut server: Host<S> =
        scene.game().serve(config, OpenToAnyone::default(), transport).expect("a server");
    let trust = Trust::Pinned(vec![certificate.fingerprint()]);
    let connect = |number| {
        let socket = socket(number);
        let end = Quic::connect(socket, address, HOST, &trust, quic(), Duration::ZERO);
        let end = end.expect("a client");
        scene.game().connect(ClientConfig::default(), &[], end).expect("a client")
    };
    let mut clients: Vec<Guest<S>> = (1..=receivers).map(connect).collect();
    server.set_clock(|| START.elapsed());
    let (mut entry, mut stage, mut before) = (
        Entry {
            scene: scene.name,
            network,
            receivers,
            ticks: Vec::new(),
            payload: 0,
            datagrams: 0,
            memory: 0,
        },
        Stage::default(),
        (0, 0),
    );
    for tick in 1..=WARM_UP + ticks {
        let now = FRAME * tick;
        if tick == WARM_UP + 1 {
            before = (sent(&server), in_socket.bytes());
        }
        let layers = serve(&mut server, now, tick, scene, &mut stage, [&in_transport, &in_socket]);
        if tick > WARM_UP {
            entry.ticks.push(layers);
        }
        for (place, client) in clients.iter_mut().enumerate() {
            client.receive(now);
            while client.poll_event().is_some() {}
            client.input(&Steer::at(tick, place));
            while client.next_step().is_some() {}
            client.send(now);
        }
    }
    assert_eq!(server.peers().count(), receivers, "all clients have joined");
    for client in &clients {
        let stats = client.stats();
        let arrived = stats.snapshots + u64::from(WARM_UP);
        assert!(arrived > u64::from(ticks) && stats.snapshots_refused == 0, "{stats:?}");
    }
    let per_second = |bytes: u64| bytes * 60 / u64::from(ticks) / receivers as u64;
    entry.payload = per_second(sent(&server) - before.0);
    entry.datagrams = per_second(in_socket.bytes() - before.1);
    let live = live_bytes();
    drop(server);
    entry.memory = live.saturating_sub(live_bytes()) / receivers;
    entry
}

fn sent<S: Socket>(server: &Host<S>) -> u64 {
    server.peers().filter_map(|peer| server.stats(peer)).map(|stats| stats.snapshot_bytes).sum()
}

/// Runs a tick of the server. `inside` has the time in the transport, and that in the socket.
fn serve<S: Socket>(
    server: &mut Host<S>,
    now: Duration,
    tick: u32,
    scene: &Scene,
    stage: &mut Stage,
    inside: [&Spent; 2],
) -> Layers {
    let [transport, socket] = inside.map(Spent::time);
    let start = Instant::now();
    server.receive(now);
    while server.poll_event().is_some() {}
    server.begin_tick(now);
    let received = start.elapsed();
    let receiving = inside[0].time() - transport;
    let start = Instant::now();
    scene.set(&mut server.world(), tick, stage);
    let set = start.elapsed();
    let (before_send, coded) = (inside[0].time(), server.coding_time());
    let start = Instant::now();
    server.send(now);
    let sent = start.elapsed();
    let sending = inside[0].time() - before_send;
    let system = inside[1].time() - socket;
    let encode = server.coding_time() - coded;
    Layers {
        set,
        select: sent.saturating_sub(sending + encode),
        encode,
        messages: received.saturating_sub(receiving),
        quic: (receiving + sending).saturating_sub(system),
        system,
    }
}

/// Returns the medians of the layers in microseconds.
fn medians(entry: &Entry) -> [f64; 6] {
    let layers: [fn(&Layers) -> Duration; 6] = [
        |tick| tick.set,
        |tick| tick.select,
        |tick| tick.encode,
        |tick| tick.messages,
        |tick| tick.quic,
        |tick| tick.system,
    ];
    layers.map(|layer| {
        median(entry.ticks.iter().map(|tick| 1e6 * layer(tick).as_secs_f64()).collect())
    })
}

fn print(entry: &Entry) {
    let layers = medians(entry);
    let [set, select, encode, messages, quic, system] = layers;
    println!(
        "{:<11}{:<11}{:>9}{set:>9.1}{select:>9.1}{encode:>9.1}{messages:>10.1}{quic:>9.1}{system:>9.1}{:>9.1}{:>13}{:>9}{:>13}",
        entry.scene,
        entry.network,
        entry.receivers,
        layers.iter().sum::<f64>(),
        entry.payload,
        entry.datagrams,
        entry.memory / 1024
    );
}

fn to_json(entry: &Entry) -> String {
    let [set, select, encode, messages, quic, system] = medians(entry);
    format!(
        concat!(
            r#"{{"packet":"{}","scene":"{}","network":"{}","receivers":{},"set_us":{:.2},"#,
            r#""select_us":{:.2},"encode_us":{:.2},"messages_us":{:.2},"quic_us":{:.2},"system_us":{:.2},"#,
            r#""payload_per_second":{},"datagram_bytes_per_second":{},"memory":{}}}"#
        ),
        NAME,
        entry.scene,
        entry.network,
        entry.receivers,
        set,
        select,
        encode,
        messages,
        quic,
        system,
        entry.payload,
        entry.datagrams,
        entry.memory
    )
}
