//! `tightwire snapshot-bench`: size and speed of the snapshots of a recorded scene.

mod arena;
mod classes;
mod cubes;
mod ladder;
mod report;
mod scene;
mod turn;

use std::collections::VecDeque;
use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use tightwire::snapshot::{self, Leaving, Level, ReceiverId};

use classes::{Classes, Hint};
use report::BenchReport;
use scene::{Scene, SceneObject};
use turn::Up;

/// Encodes and decodes every frame of a recorded scene against the frame six before it, verifies
/// the result, and prints bytes and microseconds.
#[derive(Args)]
pub(crate) struct SnapshotBench {
    /// Recording of 901 cubes or an arena; compressed if its name ends in `.zst`.
    file: PathBuf,
    /// Level to measure; by default all.
    #[arg(long)]
    level: Option<LevelName>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
    /// Draws the sizes into this file.
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Measures the scene as if its types did not have these hints.
    #[arg(long, value_name = "HINT", value_delimiter = ',')]
    without: Vec<Hint>,
    /// Turns the scene, in which z points up, so that this axis does.
    #[arg(long, value_name = "AXIS")]
    up: Option<Up>,
    /// Number of frames to measure; by default all.
    #[arg(long, value_name = "NUMBER")]
    frames: Option<usize>,
}

#[derive(Clone, Copy, ValueEnum)]
enum LevelName {
    Packed,
    Modeled,
}

/// Frames up to six before that the receiver has acked when a frame is encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Setting {
    /// Every sixth frame: the baseline of the frame, the baseline of that, and so on.
    Chain,
    /// All frames.
    History,
}

/// Age of the newest acked frame, in frames: 100 ms.
const BEHIND: usize = 6;

/// Bytes and times of a run.
#[derive(Clone, Copy, Default, Debug)]
struct RunTotals {
    packets: usize,
    bytes: usize,
    /// Number of objects that changed within six frames.
    changed: usize,
    encoding: Duration,
    decoding: Duration,
}

impl SnapshotBench {
    pub(crate) fn run(self) -> Result<String, Box<dyn Error>> {
        let mut scene = Scene::read(&self.file)?;
        if let Some(up) = self.up {
            scene.turn(up);
        }
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
        let mut report = BenchReport::new(&self.file, &self.without, self.up, frames, ladder);
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

/// A sender, and a receiver that gets every packet.
struct Pair<'c> {
    classes: &'c Classes,
    sender: snapshot::Sender,
    receiver: snapshot::Receiver,
    id: ReceiverId,
    totals: RunTotals,
}

impl<'c> Pair<'c> {
    fn new(classes: &'c Classes) -> Self {
        let mut sender = snapshot::Sender::new(classes.protocol());
        let id = sender.add_receiver(Leaving::Despawn);
        let receiver = snapshot::Receiver::new(classes.protocol());
        Self { classes, sender, receiver, id, totals: RunTotals::default() }
    }

    /// Sends a frame, and verifies the received objects.
    fn send(
        &mut self,
        frame: usize,
        objects: &mut [(u32, SceneObject)],
    ) -> Result<(), Box<dyn Error>> {
        self.sender.begin_tick(frame as u32 + 1);
        let gone: Vec<_> = self.receiver.objects().map(|(id, _)| id).collect();
        for id in gone {
            if objects.binary_search_by_key(&id.0, |object| object.0).is_err() {
                self.sender.remove(id)?;
            }
        }
        for (id, object) in objects.iter_mut() {
            object.set(self.classes, &mut self.sender, *id)?;
        }
        let start = Instant::now();
        let packet = self.sender.snapshot(self.id, 1 << 20).ok_or("no snapshot")?;
        self.totals.encoding += start.elapsed();
        self.totals.bytes += packet.len();
        self.totals.packets += 1;
        let start = Instant::now();
        let received = black_box(self.receiver.handle_snapshot(black_box(packet)));
        self.totals.decoding += start.elapsed();
        let is_same = received?.is_complete
            && self.receiver.objects().count() == objects.len()
            && objects
                .iter()
                .all(|(id, object)| object.is_at(self.classes, &mut self.receiver, *id));
        if is_same { Ok(()) } else { Err(format!("frame {frame} is not what was sent").into()) }
    }
}

/// Sends every frame, and returns bytes and times.
fn measure(
    scene: &Scene,
    frames: usize,
    classes: &Classes,
    setting: Setting,
) -> Result<RunTotals, Box<dyn Error>> {
    // In a chain, frames six apart do not depend on those between. Six independent pairs run one
    // after the other, so that the times of both settings are those of one sender and one receiver.
    let pairs = match setting {
        Setting::Chain => BEHIND,
        Setting::History => 1,
    };
    let mut total = RunTotals::default();
    for first in 0..pairs {
        let mut pair = Pair::new(classes);
        let mut acks = VecDeque::new();
        for frame in (first..frames).step_by(pairs) {
            pair.totals = RunTotals::default();
            pair.send(frame, &mut scene.objects(frame))?;
            if frame >= scene.first_measured() {
                pair.totals.changed = scene.changed(frame - BEHIND, frame);
                total.add(pair.totals);
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

impl RunTotals {
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
