//! Cost of single updates: of a class with optional parts, and of setting objects.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use tightwire::schema::Schema;
use tightwire::snapshot::{Leaving, Level, Row};
use tightwire::stream::{Binary, Condition, Number, Shape};
use tightwire::{Wire, snapshot};

use super::{BEHIND, Ball, ball, ratio};

/// Objects that are updated in each tick.
const OBJECTS: u32 = 200;

/// Optional parts of the class.
const PARTS: u32 = 20;

/// A class with one part, of which the schema with all parts is made.
#[derive(Wire, Default)]
struct Mask {
    mask: u32,
    #[wire(range = 0..=1000)]
    part: u16,
}

/// Prints the time of an update whose parts are guarded by bits of a mask, beside the same parts
/// without guards.
pub(super) fn optional(ticks: u32, level: Level, text: &mut String) -> Result<(), Box<dyn Error>> {
    writeln!(text, "{level:?}: an update of a class with {PARTS} parts, nanoseconds")?;
    for (mask, about) in [(0xf_ffff, "all present"), (0x1_1111, "5 present")] {
        // The fastest of alternating runs, since other programs slow down only some of them.
        let [mut plain, mut guarded] = [[Duration::MAX; 2]; 2];
        for _ in 0..5 {
            for (best, is_guarded) in [(&mut plain, false), (&mut guarded, true)] {
                let taken = updates(ticks, level, is_guarded, mask)?;
                *best = [0, 1].map(|side: usize| best[side].min(taken[side]));
            }
        }
        let each = |time: Duration| time.as_secs_f64() * 1e9 / f64::from(OBJECTS);
        writeln!(
            text,
            "    {about:<12} encode {:>6.1} guarded, {:>6.1} not ({:.2})   decode {:>6.1} guarded, {:>6.1} not ({:.2})",
            each(guarded[0]),
            each(plain[0]),
            ratio(guarded[0], plain[0]),
            each(guarded[1]),
            each(plain[1]),
            ratio(guarded[1], plain[1]),
        )?;
    }
    Ok(())
}

/// Returns the schema of a class with many parts, each of them guarded by a bit, or none.
fn schema(is_guarded: bool) -> Result<Schema, Box<dyn Error>> {
    let mut root = Schema::of::<Mask>().root().clone();
    if let Shape::Struct { fields, .. } = &mut root
        && let Some(part) = fields.pop()
    {
        let number = |number: u32| Condition::Number(Number::Unsigned(number.into()));
        for place in 0..PARTS {
            let mut part = part.clone();
            part.name = format!("part{place}").into();
            let mask = Condition::Field(vec!["mask".into()]);
            let bit = Condition::Binary(Binary::BitAnd, Box::new([mask, number(1 << place)]));
            let is_set = Condition::Binary(Binary::NotEqual, Box::new([bit, number(0)]));
            part.when = is_guarded.then_some(is_set);
            fields.push(part);
        }
    }
    Ok(Schema::new(root)?)
}

/// Returns the times to encode and to decode a packet that updates all objects. Of the parts in
/// `mask`, each object changes every third in a tick; the others are 0.
fn updates(
    ticks: u32,
    level: Level,
    is_guarded: bool,
    mask: u32,
) -> Result<[Duration; 2], Box<dyn Error>> {
    let config = snapshot::Config { level, ..snapshot::Config::default() };
    let builder = snapshot::Protocol::builder(config);
    let protocol = builder.class_of("Parts", schema(is_guarded)?).build()?;
    let mut sender = snapshot::Sender::new(&protocol);
    let mut receiver = snapshot::Receiver::new(&protocol);
    let client = sender.add_receiver(Leaving::Despawn);
    let mut acks = VecDeque::new();
    let mut taken = [Duration::ZERO; 2];
    for tick in 1..=2 * ticks {
        sender.begin_tick(tick);
        for id in 0..OBJECTS {
            let part = |place: u32| {
                let changes = (tick + place + id) / 3;
                (mask >> place & 1) * (changes.wrapping_mul(2_654_435_761) >> 8) % 1001
            };
            let cells: Vec<u32> = [mask].into_iter().chain((0..PARTS).map(part)).collect();
            sender.set_row(id, Row { class: 0, cells: &cells })?;
        }
        let start = Instant::now();
        let packet = sender.snapshot(client, 1 << 22).ok_or("no snapshot")?;
        let encoded = start.elapsed();
        let start = Instant::now();
        receiver.handle_snapshot(packet)?;
        let decoded = start.elapsed();
        if tick > ticks {
            taken = [taken[0] + encoded / ticks, taken[1] + decoded / ticks];
        }
        acks.push_back(receiver.ack());
        if acks.len() == BEHIND
            && let Some(Some(ack)) = acks.pop_front()
        {
            sender.handle_ack(client, ack);
        }
    }
    Ok(taken)
}

/// Prints the time to set an object that changed, and one that did not.
pub(super) fn set(ticks: u32, text: &mut String) -> Result<(), Box<dyn Error>> {
    let config = snapshot::Config::default();
    let protocol = snapshot::Protocol::builder(config).class::<Ball>().build()?;
    let mut sender = snapshot::Sender::new(&protocol);
    let [mut changed, mut unchanged] = [Duration::MAX; 2];
    for tick in 1..=2 * ticks {
        let balls: Vec<_> = (0..OBJECTS).map(|id| ball(id, tick)).collect();
        sender.begin_tick(2 * tick);
        changed = changed.min(set_all(&mut sender, &balls)?);
        sender.begin_tick(2 * tick + 1);
        unchanged = unchanged.min(set_all(&mut sender, &balls)?);
    }
    let each = |time: Duration| time.as_secs_f64() * 1e9 / f64::from(OBJECTS);
    writeln!(
        text,
        "setting an object, nanoseconds: {:.1} if it changed, {:.1} if not ({:.2})",
        each(changed),
        each(unchanged),
        ratio(unchanged, changed),
    )?;
    Ok(())
}

/// Sets all objects, and returns the time.
#[inline(never)]
fn set_all(sender: &mut snapshot::Sender, balls: &[Ball]) -> Result<Duration, Box<dyn Error>> {
    let start = Instant::now();
    for (id, ball) in (0..).zip(balls) {
        sender.set(id, ball)?;
    }
    Ok(start.elapsed())
}
