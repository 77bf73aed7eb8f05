//! Whole messages over the network, and their cost on the wire.

mod end;
mod lanes;
mod messages;
mod overhead;
mod renet2;

use self::renet2::Renet2;
use crate::harness::{Length, median, median_ratio};
use end::Traffic;
use fastrand::Rng;
use lanes::{Kind, Lane, Tightwire};
use messages::{Position, Tally};
use std::time::{Duration, Instant};

pub const NAME: &str = "network";

/// Numbers of clients, and of messages that each sends and receives in a frame.
const WORLDS: [(usize, usize); 5] = [(1, 20), (16, 20), (64, 20), (16, 100), (16, 400)];

/// Client frames in a timed run: some milliseconds.
const CLIENT_FRAMES: usize = 512;

/// The libraries with a number of clients. The others are compared to the first.
struct World {
    clients: usize,
    per_frame: usize,
    lanes: [Box<dyn Lane>; 2],
    /// Messages of a frame: from all clients, and to all clients.
    messages: [Vec<Position>; 2],
}

/// A library with a number of clients and one delivery; times are in nanoseconds per message.
#[derive(Default)]
struct Entry {
    clients: usize,
    per_frame: usize,
    kind: &'static str,
    lane: &'static str,
    cpu: Vec<f64>,
    /// Part of the processor time that the server took.
    server: Vec<f64>,
    wall: Vec<f64>,
    /// Number of messages that arrived in the timed runs.
    arrived: u64,
    traffic: Traffic,
    lost: u64,
}

/// Measures, and prints tables or returns them as JSON.
pub fn run(length: Length, json: bool) -> Vec<String> {
    let (entries, rounds) = measure(length);
    if json {
        let entries = entries.iter().flatten().zip(firsts(&entries)).map(|(entry, first)| {
            format!(
                concat!(
                    r#"{{"packet":"{}","kind":"{}","clients":{},"per_frame":{},"lane":"{}","#,
                    r#""cpu_ns":{:.2},"server_ns":{:.2},"wall_ns":{:.2},"ratio":{:.4},"#,
                    r#""server_ratio":{:.4},"arrived":{},"lost":{},"bytes":{:.3},"#,
                    r#""packets":{:.4}}}"#
                ),
                NAME,
                entry.kind,
                entry.clients,
                entry.per_frame,
                entry.lane,
                median(entry.cpu.clone()),
                median(entry.server.clone()),
                median(entry.wall.clone()),
                median_ratio(&entry.cpu, &first.cpu),
                median_ratio(&entry.server, &first.server),
                entry.arrived,
                entry.lost,
                entry.traffic.bytes as f64 / entry.arrived as f64,
                entry.traffic.packets as f64 / entry.arrived as f64,
            )
        });
        return entries.chain(overhead::json()).collect();
    }
    println!("{NAME}: messages of 16 bytes each way, encrypted, over UDP ({rounds} rounds)");
    println!(
        "{:<17}{:>8}{:>6}  {:<10}{:>10}{:>8}{:>8}{:>11}{:>7}{:>11}{:>9}{:>7}{:>9}{:>5}",
        "per message",
        "clients",
        "each",
        "",
        "arrived",
        "wall ns",
        "cpu ns",
        "per core s",
        "cpu x",
        "server ns",
        "server x",
        "bytes",
        "packets",
        "lost"
    );
    for (entry, first) in entries.iter().flatten().zip(firsts(&entries)) {
        let cpu = median(entry.cpu.clone());
        print!("{:<17}{:>8}{:>6}", entry.kind, entry.clients, entry.per_frame);
        println!(
            "  {:<10}{:>10}{:>8.1}{:>8.1}{:>11.2e}{:>7.2}{:>11.1}{:>9.2}{:>7.2}{:>9.4}{:>5}",
            entry.lane,
            entry.arrived,
            median(entry.wall.clone()),
            cpu,
            1e9 / cpu,
            median_ratio(&entry.cpu, &first.cpu),
            median(entry.server.clone()),
            median_ratio(&entry.server, &first.server),
            entry.traffic.bytes as f64 / entry.arrived as f64,
            entry.traffic.packets as f64 / entry.arrived as f64,
            entry.lost,
        );
    }
    println!();
    overhead::print();
    Vec::new()
}

/// Returns for each entry the one that it is compared to.
fn firsts(entries: &[[Entry; 2]]) -> impl Iterator<Item = &Entry> {
    entries.iter().flat_map(|pair| [&pair[0], &pair[0]])
}

fn measure(length: Length) -> (Vec<[Entry; 2]>, usize) {
    let mut worlds = WORLDS.map(|(clients, per_frame)| World::new(clients, per_frame));
    let mut entries: Vec<[Entry; 2]> = Vec::new();
    for kind in Kind::ALL {
        entries.extend(worlds.iter().map(|world| world.entries(kind)));
    }
    let start = Instant::now();
    let mut rounds = 0;
    while !length.is_reached(rounds, start) {
        let mut pairs = entries.iter_mut();
        for kind in Kind::ALL {
            for (world, pair) in worlds.iter_mut().zip(&mut pairs) {
                for turn in 0..2 {
                    let index = (rounds + turn) % 2;
                    world.pass(kind, index, &mut pair[index]);
                }
            }
        }
        rounds += 1;
    }
    (entries, rounds)
}

impl World {
    fn new(clients: usize, per_frame: usize) -> Self {
        let mut rng = Rng::with_seed(clients as u64);
        let messages = [(); 2]
            .map(|()| (0..per_frame * clients).map(|_| Position::random(&mut rng)).collect());
        let lanes: [Box<dyn Lane>; 2] =
            [Box::new(Tightwire::new(clients)), Box::new(Renet2::new(clients))];
        let mut world = Self { clients, per_frame, lanes, messages };
        for lane in &mut world.lanes {
            // One more second, so that both have finished whatever they do at the start.
            let mut left = 60;
            for _ in 0..600 {
                frame(&mut **lane, Kind::Unreliable, &mut Default::default());
                left -= usize::from(lane.is_connected() && left > 0);
            }
            assert_eq!(left, 0, "{} does not connect", lane.name());
        }
        world
    }

    fn entries(&self, kind: Kind) -> [Entry; 2] {
        let Self { clients, per_frame, lanes, .. } = self;
        [0, 1].map(|index| Entry {
            clients: *clients,
            per_frame: *per_frame,
            kind: kind.name(),
            lane: lanes[index].name(),
            ..Entry::default()
        })
    }

    fn pass(&mut self, kind: Kind, lane: usize, entry: &mut Entry) {
        let Self { clients, lanes, messages, .. } = self;
        let lane = &mut *lanes[lane];
        let frames = CLIENT_FRAMES / *clients;
        let begin = lane.handled();
        // Not timed, to warm up the caches for this lane, and to have as many messages in flight at
        // the start of the timed run as at its end.
        let untimed = frames / 4;
        for _ in 0..untimed {
            frame(lane, kind, messages);
        }

        let (handled, traffic) = (lane.handled(), lane.traffic());
        let (cpu, wall) = (cpu_time(), Instant::now());
        let server: Duration = (0..frames).map(|_| frame(lane, kind, messages)).sum();
        let (cpu, wall) = (cpu_time() - cpu, wall.elapsed());
        let (arrived, traffic) =
            (lane.handled().messages - handled.messages, lane.traffic().since(traffic));

        let mut sent = begin;
        let mut one = Tally::default();
        messages.iter().flatten().for_each(|message| one.add(message));
        (0..untimed + frames).for_each(|_| sent.join(one));
        for _ in 0..DRAIN {
            frame(lane, kind, &mut Default::default());
            if lane.handled() == sent {
                break;
            }
        }
        let lost = sent.messages - lane.handled().messages;
        assert!(
            lane.handled() == sent || (kind == Kind::Unreliable && lost > 0),
            "{}: {} messages did not arrive as they were sent",
            lane.name(),
            kind.name()
        );
        entry.cpu.push(cpu.as_nanos() as f64 / arrived as f64);
        entry.server.push(server.as_nanos() as f64 / arrived as f64);
        entry.wall.push(wall.as_nanos() as f64 / arrived as f64);
        entry.arrived += arrived;
        entry.traffic.bytes += traffic.bytes;
        entry.traffic.packets += traffic.packets;
        entry.lost += lost;
    }
}

/// Runs a frame of all sides, and returns the server's processor time.
fn frame(lane: &mut dyn Lane, kind: Kind, messages: &mut [Vec<Position>; 2]) -> Duration {
    lane.clients(kind, &mut messages[0]);
    let start = cpu_time();
    lane.server(kind, &mut messages[1]);
    cpu_time() - start
}

/// Frames within which all sent messages must arrive, also if packets are lost.
const DRAIN: usize = 120;

/// Returns the processor time of this thread.
#[cfg(unix)]
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Returns the elapsed time, where the processor time is not available.
#[cfg(not(unix))]
fn cpu_time() -> Duration {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}
