//! Whole messages over the network, and what they cost on the wire.

mod end;
mod lanes;
mod messages;
mod overhead;
mod renet2;

use crate::harness::{Length, median, median_ratio};
use end::Traffic;
use fastrand::Rng;
use lanes::{Kind, Lane, PER_PEER, Tightwire};
use messages::{Position, Tally};
use self::renet2::Renet2;
use std::time::{Duration, Instant};

pub const NAME: &str = "network";

const CLIENTS: [usize; 3] = [1, 16, 64];

/// Client frames in what is timed: some milliseconds.
const CLIENT_FRAMES: usize = 512;

/// The libraries with a number of clients. The first is the one that the others are compared to.
struct World {
    clients: usize,
    lanes: [Box<dyn Lane>; 2],
    messages: Vec<Position>,
}

/// A library with a number of clients and one kind of messages; times are per message, in ns.
#[derive(Default)]
struct Entry {
    clients: usize,
    kind: &'static str,
    lane: &'static str,
    cpu: Vec<f64>,
    wall: Vec<f64>,
    /// In what was timed.
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
                    r#"{{"packet":"{}","kind":"{}","clients":{},"lane":"{}","cpu_ns":{:.2},"#,
                    r#""wall_ns":{:.2},"ratio":{:.4},"arrived":{},"lost":{},"bytes":{:.3},"#,
                    r#""packets":{:.4}}}"#
                ),
                NAME,
                entry.kind,
                entry.clients,
                entry.lane,
                median(entry.cpu.clone()),
                median(entry.wall.clone()),
                median_ratio(&entry.cpu, &first.cpu),
                entry.arrived,
                entry.lost,
                entry.traffic.bytes as f64 / entry.arrived as f64,
                entry.traffic.packets as f64 / entry.arrived as f64,
            )
        });
        return entries.chain(overhead::json()).collect();
    }
    println!(
        "{NAME}: 16 bytes a message, {PER_PEER} each way a frame, encrypted ({rounds} rounds)"
    );
    println!(
        "{:<18}{:<9}{:<11}{:>10}{:>9}{:>9}{:>12}{:>8}{:>8}{:>9}{:>6}",
        "per message",
        "clients",
        "",
        "arrived",
        "cpu ns",
        "wall ns",
        "per core s",
        "time x",
        "bytes",
        "packets",
        "lost"
    );
    for (entry, first) in entries.iter().flatten().zip(firsts(&entries)) {
        let cpu = median(entry.cpu.clone());
        println!(
            "{:<18}{:<9}{:<11}{:>10}{:>9.1}{:>9.1}{:>12.2e}{:>8.2}{:>8.2}{:>9.4}{:>6}",
            entry.kind,
            entry.clients,
            entry.lane,
            entry.arrived,
            cpu,
            median(entry.wall.clone()),
            1e9 / cpu,
            median_ratio(&entry.cpu, &first.cpu),
            entry.traffic.bytes as f64 / entry.arrived as f64,
            entry.traffic.packets as f64 / entry.arrived as f64,
            entry.lost,
        );
    }
    println!();
    overhead::print();
    Vec::new()
}

/// For each entry the one that it is compared to.
fn firsts(entries: &[[Entry; 2]]) -> impl Iterator<Item = &Entry> {
    entries.iter().flat_map(|pair| [&pair[0], &pair[0]])
}

fn measure(length: Length) -> (Vec<[Entry; 2]>, usize) {
    let mut worlds = CLIENTS.map(World::new);
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
    fn new(clients: usize) -> Self {
        let mut rng = Rng::with_seed(clients as u64);
        let messages = (0..2 * PER_PEER * clients).map(|_| Position::random(&mut rng)).collect();
        let lanes: [Box<dyn Lane>; 2] =
            [Box::new(Tightwire::new(clients)), Box::new(Renet2::new(clients))];
        let mut world = Self { clients, lanes, messages };
        for lane in &mut world.lanes {
            // A second more, so that both are done with whatever they find out in the beginning.
            let mut left = 60;
            for _ in 0..600 {
                lane.frame(Kind::Unreliable, &mut []);
                left -= usize::from(lane.is_connected() && left > 0);
            }
            assert_eq!(left, 0, "{} does not connect", lane.name());
        }
        world
    }

    fn entries(&self, kind: Kind) -> [Entry; 2] {
        let Self { clients, lanes, .. } = self;
        [0, 1].map(|index| Entry {
            clients: *clients,
            kind: kind.name(),
            lane: lanes[index].name(),
            ..Entry::default()
        })
    }

    fn pass(&mut self, kind: Kind, lane: usize, entry: &mut Entry) {
        let Self { clients, lanes, messages } = self;
        let lane = &mut *lanes[lane];
        let frames = CLIENT_FRAMES / *clients;
        let begin = lane.handled();
        // Not timed, so that the caches are this lane's again, and as much is on its way when the
        // time begins as when it ends.
        let untimed = frames / 4;
        (0..untimed).for_each(|_| lane.frame(kind, messages));

        let (handled, traffic) = (lane.handled(), lane.traffic());
        let (cpu, wall) = (cpu_time(), Instant::now());
        (0..frames).for_each(|_| lane.frame(kind, messages));
        let (cpu, wall) = (cpu_time() - cpu, wall.elapsed());
        let (arrived, traffic) =
            (lane.handled().messages - handled.messages, lane.traffic().since(traffic));

        let mut sent = begin;
        let mut frame = Tally::default();
        messages.iter().for_each(|message| frame.add(message));
        (0..untimed + frames).for_each(|_| sent.join(frame));
        for _ in 0..DRAIN {
            lane.frame(kind, &mut []);
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
        entry.wall.push(wall.as_nanos() as f64 / arrived as f64);
        entry.arrived += arrived;
        entry.traffic.bytes += traffic.bytes;
        entry.traffic.packets += traffic.packets;
        entry.lost += lost;
    }
}

/// Frames in which what was sent has to arrive, also if packets are lost.
const DRAIN: usize = 120;

/// The time that this thread had on a core.
#[cfg(unix)]
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The time, where the other cannot be had.
#[cfg(not(unix))]
fn cpu_time() -> Duration {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}
