//! `tightwire snapshot-bench`: how small and how fast snapshots of a recorded scene are.

mod arena;
mod classes;
mod cubes;
mod ladder;
mod report;
mod scene;

use std::collections::VecDeque;
use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use tightwire::snapshot::{self, Leaving, Level, ReceiverId};

use classes::{Classes, Hint};
use report::Report;
use scene::{Scene, Thing};

/// Encodes and decodes every frame of a recorded scene, each against the frame six before it, checks
/// that it comes out as it was, and prints how many bytes and microseconds that takes.
#[derive(Args)]
pub(crate) struct SnapshotBench {
    /// The recording: 901 cubes, or an arena; compressed if it ends in `.zst`.
    file: PathBuf,
    /// One level instead of all.
    #[arg(long)]
    level: Option<LevelName>,
    /// For a program, as JSON.
    #[arg(long)]
    json: bool,
    /// Also draws the sizes, into this file.
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Measures the scene as if its types did not have these hints.
    #[arg(long, value_name = "HINT", value_delimiter = ',')]
    without: Vec<Hint>,
    /// Only so many frames.
    #[arg(long, value_name = "NUMBER")]
    frames: Option<usize>,
}

#[derive(Clone, Copy, ValueEnum)]
enum LevelName {
    Packed,
    Modeled,
}

/// What the receiver has when a frame is encoded, of the frames up to six before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Setting {
    /// Every sixth: what the frame six before was relative to, and so on.
    Chain,
    /// All of them.
    History,
}

/// How far back the newest frame is that the sender knows to have arrived: 100 ms.
const BEHIND: usize = 6;

/// What a run took.
#[derive(Clone, Copy, Default, Debug)]
struct Taken {
    packets: usize,
    bytes: usize,
    /// Objects that are not as they were six frames before.
    changed: usize,
    encoding: Duration,
    decoding: Duration,
}

impl SnapshotBench {
    pub(crate) fn run(self) -> Result<String, Box<dyn Error>> {
        let scene = Scene::read(&self.file)?;
        let frames = self.frames.unwrap_or(usize::MAX).min(scene.frames());
        if frames <= scene.first_measured() {
            return Err(format!(
                "{frames} frames: at least {} are needed",
                scene.first_measured() + 1
            )
            .into());
        }
        let levels = match self.level {
            Some(LevelName::Packed) => vec![Level::Packed],
            Some(LevelName::Modeled) => vec![Level::Modeled],
            None => vec![Level::Packed, Level::Modeled],
        };
        let ladder = ladder::sizes(&scene, frames);
        let mut report = Report::new(&self.file, &self.without, frames, ladder);
        for level in levels {
            let config = snapshot::Config { level, ..snapshot::Config::default() };
            let types = scene.classes(snapshot::Protocol::builder(config)).build()?;
            let classes = Classes::new(types, &self.without)?;
            for setting in [Setting::Chain, Setting::History] {
                report.add(level, setting, measure(&scene, frames, &classes, setting)?);
            }
        }
        if let Some(file) = self.plot {
            std::fs::write(file, report.plot())?;
        }
        Ok(if self.json { report.json() } else { report.table() })
    }
}

/// A sender and a receiver that get every packet.
struct Pair<'c> {
    classes: &'c Classes,
    sender: snapshot::Sender,
    receiver: snapshot::Receiver,
    id: ReceiverId,
    taken: Taken,
}

impl<'c> Pair<'c> {
    fn new(classes: &'c Classes) -> Self {
        let mut sender = snapshot::Sender::new(classes.protocol());
        let id = sender.add_receiver(Leaving::Despawn);
        let receiver = snapshot::Receiver::new(classes.protocol());
        Self { classes, sender, receiver, id, taken: Taken::default() }
    }

    /// Sends a frame, and checks that it arrives as it is.
    fn send(&mut self, frame: usize, objects: &mut [(u32, Thing)]) -> Result<(), Box<dyn Error>> {
        self.sender.begin_tick(frame as u32 + 1);
        let gone: Vec<_> = self.receiver.objects().map(|(id, _)| id).collect();
        for id in gone {
            if objects.binary_search_by_key(&id.0, |object| object.0).is_err() {
                self.sender.remove(id)?;
            }
        }
        for (id, thing) in objects.iter_mut() {
            thing.set(self.classes, &mut self.sender, *id)?;
        }
        let start = Instant::now();
        let packet = self.sender.snapshot(self.id, 1 << 20).ok_or("no snapshot")?;
        self.taken.encoding += start.elapsed();
        self.taken.bytes += packet.len();
        self.taken.packets += 1;
        let start = Instant::now();
        let received = black_box(self.receiver.handle_snapshot(black_box(packet)));
        self.taken.decoding += start.elapsed();
        let is_same = received?.is_complete
            && self.receiver.objects().count() == objects.len()
            && objects.iter().all(|(id, thing)| thing.is_at(self.classes, &mut self.receiver, *id));
        if is_same { Ok(()) } else { Err(format!("frame {frame} is not what was sent").into()) }
    }
}

/// Sends every frame.
fn measure(
    scene: &Scene,
    frames: usize,
    classes: &Classes,
    setting: Setting,
) -> Result<Taken, Box<dyn Error>> {
    // Frames six apart know nothing of those between: six pairs that have nothing in common, one after
    // the other, so that the times of both settings are those of one sender and one receiver.
    let pairs = match setting {
        Setting::Chain => BEHIND,
        Setting::History => 1,
    };
    let mut total = Taken::default();
    for first in 0..pairs {
        let mut pair = Pair::new(classes);
        let mut acks = VecDeque::new();
        for frame in (first..frames).step_by(pairs) {
            pair.taken = Taken::default();
            pair.send(frame, &mut scene.objects(frame))?;
            if frame >= scene.first_measured() {
                pair.taken.changed = scene.changed(frame - BEHIND, frame);
                total.add(pair.taken);
            }
            acks.push_back(pair.receiver.ack());
            if acks.len() == BEHIND / pairs
                && let Some(Some(ack)) = acks.pop_front()
            {
                pair.sender.handle_ack(pair.id, ack);
            }
        }
    }
    Ok(total)
}

impl Taken {
    fn add(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.changed += other.changed;
        self.encoding += other.encoding;
        self.decoding += other.decoding;
    }

    fn bytes_per_frame(&self) -> f64 {
        self.bytes as f64 / self.packets as f64
    }
}
