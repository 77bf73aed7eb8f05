//! `tightwire snapshot-cost`: cost of a tick by the number of receivers, objects and changes.

mod play;
mod single;

use std::collections::VecDeque;
use std::error::Error;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use tightwire::snapshot::{Leaving, Level, ReceiverId, SnapshotRequest};
use tightwire::{Wire, snapshot};

/// Measures the sender's cost of a tick: setting changed objects, and a snapshot for each receiver.
/// Times depend on this machine and this moment: compare lines, not runs.
#[derive(Args)]
pub(crate) struct SnapshotCost {
    /// Number of measured ticks per line, after as many to warm up.
    #[arg(long, default_value_t = 120)]
    ticks: u32,
    /// Sections to print; by default all.
    #[arg(long, value_name = "SECTION", value_delimiter = ',')]
    only: Vec<Section>,
}

/// A part of the output.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Section {
    /// A tick by the number of receivers.
    Receivers,
    /// All receivers at once, and one by one.
    AtOnce,
    /// Packets that are too small for all changes.
    SmallPackets,
    /// Receivers that withhold acks.
    Withheld,
    /// A tick by the number of objects.
    Objects,
    /// A play server.
    Play,
    /// A class with 20 optional parts.
    Optional,
    /// Setting objects that changed, and such that did not.
    Set,
}

#[derive(Wire, Default)]
struct Ball {
    #[wire(spatial, min = -512.0, max = 512.0, resolution = 0.002)]
    position: [f32; 3],
    #[wire(smallest_three = 9)]
    rotation: [f32; 4],
    at_rest: bool,
}

/// Delay of acks, in ticks.
const BEHIND: usize = 6;

/// A world in which some objects always move.
#[derive(Clone, Copy)]
struct Case {
    level: Level,
    objects: u32,
    moving: u32,
    receivers: usize,
    /// Whether packets are lost, different ones for each receiver, so that no two receivers have
    /// the same baseline.
    loses: bool,
    /// Other objects move in other ticks, so that in time all do.
    in_turn: bool,
    acks: Acks,
    /// The bytes of a packet.
    budget: usize,
    /// Packets of all receivers are made at once, on all cores, and not one by one.
    at_once: bool,
}

/// Packets that a receiver acks.
#[derive(Clone, Copy)]
enum Acks {
    All,
    None,
    /// One packet of this many.
    One(u32),
}

impl SnapshotCost {
    pub(crate) fn run(self) -> Result<String, Box<dyn Error>> {
        let mut text = String::new();
        for level in [Level::Packed, Level::Modeled] {
            let case = Case {
                level,
                objects: 1000,
                moving: 100,
                receivers: 1,
                loses: false,
                in_turn: false,
                acks: Acks::All,
                budget: 1 << 22,
                at_once: false,
            };
            for section in Section::value_variants() {
                if !self.only.is_empty() && !self.only.contains(section) {
                    continue;
                }
                match section {
                    Section::Receivers => self.receivers(case, &mut text)?,
                    Section::AtOnce => self.at_once(case, &mut text)?,
                    Section::SmallPackets => self.small_packets(case, &mut text)?,
                    Section::Withheld => self.withheld(case, &mut text)?,
                    Section::Objects => self.objects(case, &mut text)?,
                    Section::Play => self.play(case, &mut text)?,
                    Section::Optional => single::optional(self.ticks, level, &mut text)?,
                    // No level codes anything here.
                    Section::Set if level == Level::Modeled => single::set(self.ticks, &mut text)?,
                    Section::Set => {}
                }
            }
            writeln!(text)?;
        }
        Ok(text)
    }

    /// Measures ticks by the number of receivers.
    fn receivers(&self, case: Case, text: &mut String) -> Result<(), Box<dyn Error>> {
        let level = case.level;
        writeln!(text, "{level:?}: 1,000 objects of which 100 move; microseconds of a tick")?;
        let one = self.measure(case)?;
        for receivers in [1, 16, 64] {
            let together = self.measure(Case { receivers, ..case })?;
            let apart = self.measure(Case { receivers, loses: true, ..case })?;
            writeln!(
                text,
                "  {receivers:>6} receivers  {:>9.1} with the same baseline ({:.2} of one)  {:>9.1} each with its own ({:.2})",
                micros(together),
                ratio(together, one),
                micros(apart),
                ratio(apart, one),
            )?;
        }
        Ok(())
    }

    /// Compares packets that are made at once with packets one by one: the fastest of alternating
    /// runs, since other programs slow down only the one that they run beside.
    fn at_once(&self, case: Case, text: &mut String) -> Result<(), Box<dyn Error>> {
        let level = case.level;
        writeln!(text, "{level:?}: the packets of 64 receivers, all at once")?;
        for (loses, about) in [(true, "each with its own baseline"), (false, "with the same")] {
            let one = Case { receivers: 64, loses, ..case };
            let [mut one_by_one, mut at_once] = [Duration::MAX; 2];
            for _ in 0..self.ticks.div_ceil(24) {
                one_by_one = one_by_one.min(self.measure(one)?);
                at_once = at_once.min(self.measure(Case { at_once: true, ..one })?);
            }
            writeln!(
                text,
                "    {:>9.1} {about}, {:.1} one by one ({:.2} times as fast)",
                micros(at_once),
                micros(one_by_one),
                ratio(one_by_one, at_once),
            )?;
        }
        Ok(())
    }

    /// Measures packets that have no room for all changes.
    fn small_packets(&self, case: Case, text: &mut String) -> Result<(), Box<dyn Error>> {
        let level = case.level;
        writeln!(text, "{level:?}: the same in packets of 300 bytes, which are too small")?;
        let small = Case { budget: 300, ..case };
        let one = self.measure(small)?;
        let together = self.measure(Case { receivers: 16, ..small })?;
        writeln!(
            text,
            "      16 receivers  {:>9.1} with the same baseline ({:.2} of one)",
            micros(together),
            ratio(together, one)
        )?;
        Ok(())
    }

    /// Measures ticks by the number of objects.
    fn objects(&self, case: Case, text: &mut String) -> Result<(), Box<dyn Error>> {
        let level = case.level;
        for (moving, about) in [(Some(100), "of which 100 move"), (None, "of which 1% move")] {
            writeln!(text, "{level:?}: one receiver, objects {about}")?;
            for objects in [1_000, 10_000, 50_000] {
                let moving = moving.unwrap_or(objects / 100);
                let taken = self.measure(Case { objects, moving, ..case })?;
                writeln!(
                    text,
                    "  {objects:>6} objects    {:>9.1}, {:.3} for each that moves",
                    micros(taken),
                    micros(taken) / f64::from(moving),
                )?;
            }
        }
        Ok(())
    }

    /// Measures a play server, by its calls, beside the same snapshots without one.
    fn play(&self, case: Case, text: &mut String) -> Result<(), Box<dyn Error>> {
        let level = case.level;
        let receivers = play::PEERS;
        let alone = play::alone(self.ticks, level)?;
        writeln!(text, "{level:?}: {receivers} peers of a play server, in packets of 1,200 bytes")?;
        writeln!(
            text,
            "    {:>9.1} for the snapshots and their acks alone, all objects relevant",
            micros(alone)
        )?;
        for (radius, about) in [(None, "all objects relevant"), (Some(64.0), "those within 64 m")] {
            let parts = play::measure(self.ticks, level, radius)?;
            writeln!(
                text,
                "    {:>9.1} for play with {about} ({:.2}): {:.1} to receive inputs and acks, {:.1} to begin the tick, {:.1} to set objects, {:.1} to send relevancy, budgets and snapshots of {} bytes",
                micros(parts.sum()),
                ratio(parts.sum(), alone),
                micros(parts.receive),
                micros(parts.begin),
                micros(parts.set),
                micros(parts.send),
                parts.bytes,
            )?;
        }
        Ok(())
    }

    /// Measures receivers that withhold acks.
    fn withheld(&self, case: Case, text: &mut String) -> Result<(), Box<dyn Error>> {
        let level = case.level;
        for (in_turn, about) in [(false, "the same 180"), (true, "180 in turn")] {
            let honest = Case { objects: 900, moving: 180, in_turn, ..case };
            let all = self.measure(honest)?;
            writeln!(text, "{level:?}: one receiver, 900 objects of which {about} move")?;
            writeln!(text, "    {:>9.1} if it acknowledges every packet", micros(all))?;
            for (acks, about) in [(Acks::None, "none"), (Acks::One(95), "one of 95")] {
                let taken = self.measure(Case { acks, ..honest })?;
                writeln!(
                    text,
                    "    {:>9.1} if it acknowledges {about} ({:.2})",
                    micros(taken),
                    ratio(taken, all)
                )?;
            }
        }
        Ok(())
    }

    /// Returns the time of a tick.
    fn measure(&self, case: Case) -> Result<Duration, Box<dyn Error>> {
        let config = snapshot::Config {
            level: case.level,
            max_objects: 100_000,
            ..snapshot::Config::default()
        };
        let protocol = snapshot::Protocol::builder(config).class::<Ball>().build()?;
        let mut sender = snapshot::Sender::new(&protocol);
        let mut receivers: Vec<(ReceiverId, snapshot::Receiver, VecDeque<Option<snapshot::Ack>>)> =
            (0..case.receivers)
                .map(|_| {
                    (
                        sender.add_receiver(Leaving::Despawn),
                        snapshot::Receiver::new(&protocol),
                        VecDeque::new(),
                    )
                })
                .collect();
        let request = |receiver| SnapshotRequest { receiver, budget: case.budget };
        let requests: Vec<_> = receivers.iter().map(|(id, ..)| request(*id)).collect();
        let mut packets = vec![Vec::new(); case.receivers];
        let mut taken = Duration::ZERO;
        for tick in 1..=2 * self.ticks {
            let moving = case.moving_in(tick);
            let start = Instant::now();
            sender.begin_tick(tick);
            for id in moving {
                sender.set(id, &ball(id, tick))?;
            }
            let mut spent = start.elapsed();
            for (id, _, acks) in &mut receivers {
                if acks.len() == BEHIND
                    && let Some(Some(ack)) = acks.pop_front()
                    && match case.acks {
                        Acks::All => true,
                        Acks::None => false,
                        Acks::One(of) => tick % of == 0,
                    }
                {
                    sender.handle_ack(*id, ack);
                }
            }
            let start = Instant::now();
            let mut next = packets.iter_mut();
            let mut keep = |bytes: &[u8]| {
                if let Some(packet) = next.next() {
                    packet.clear();
                    packet.extend_from_slice(bytes);
                }
            };
            if case.at_once {
                sender.snapshot_all(&requests, 0, |_, made| keep(made.bytes));
            } else {
                for request in &requests {
                    let made = sender.snapshot(request.receiver, case.budget);
                    keep(made.ok_or("no snapshot")?);
                }
            }
            spent += start.elapsed();
            for (place, (_, receiver, acks)) in receivers.iter_mut().enumerate() {
                if !case.loses || !is_lost(tick, place) {
                    receiver.handle_snapshot(&packets[place])?;
                }
                acks.push_back(receiver.ack());
            }
            if tick > self.ticks {
                taken += spent;
            }
        }
        Ok(taken / self.ticks)
    }
}

impl Case {
    /// The objects that move in a tick, in the order of their ids.
    fn moving_in(self, tick: u32) -> Vec<u32> {
        let moves = |id: &u32| match self.in_turn {
            true => {
                let first = tick * (self.moving / 20) % self.objects;
                (id + self.objects - first) % self.objects < self.moving
            }
            false => id.is_multiple_of(self.objects / self.moving),
        };
        (0..self.objects).filter(|id| tick == 1 || moves(id)).collect()
    }
}

/// Returns a ball that moves in a circle.
fn ball(id: u32, tick: u32) -> Ball {
    let turn = (tick as f32 + id as f32 * 17.0) * 0.02;
    let (x, y) = ((id % 256) as f32 * 2.0, (id / 256) as f32 * 2.0);
    let position = [x - 256.0 + turn.cos(), y - 256.0 + turn.sin(), 0.5];
    Ball { position, rotation: [0.0, 0.0, (turn / 2.0).sin(), (turn / 2.0).cos()], at_rest: false }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn ratio(time: Duration, other: Duration) -> f64 {
    time.as_secs_f64() / other.as_secs_f64()
}

/// Returns whether a packet is lost: one of eleven, different ones for each receiver.
fn is_lost(tick: u32, place: usize) -> bool {
    let mixed = (tick ^ (place as u32) << 16).wrapping_mul(2_654_435_761);
    (mixed >> 8).is_multiple_of(11)
}
