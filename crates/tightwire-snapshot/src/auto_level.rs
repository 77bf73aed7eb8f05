//! The choice between levels for receivers whose level is [`Level::Auto`].
//!
//! One rule for time and bandwidth: a receiver whose bandwidth is short gets `Modeled`, those with
//! the largest need first, as long as the snapshots of the tick take no more than the time of the
//! configuration. No clock measures that time, so that equal calls make equal packets, and a
//! recording replays: it is estimated by the updates that were coded for the last snapshots.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::Range;

use super::bodies::Bodies;
use super::view::View;
use super::{Config, Level, PacketLevel};

/// Whether the bandwidth of a receiver is short, as its last snapshots tell.
#[derive(Clone, Debug, Default)]
pub(super) struct Bandwidth {
    is_short: bool,
    /// Bit set of the last 64 snapshots, the newest lowest: those that the budget cut.
    cut: u64,
    /// Running average of the share of dirty objects that the budget left out, in 1/2^16.
    left_out: u32,
    /// The average when snapshots were last at the level `Packed`, or that of now if it is more. A
    /// receiver that gets `Modeled` keeps the need for which it got it: otherwise two receivers, of
    /// which only one can have it, would take turns.
    need: u32,
    /// Tick of the first snapshot of the receiver, or since a resync; `None` before.
    begun: Option<u32>,
    /// Tick since which all snapshots were small; `None` if the last one was not.
    small_since: Option<u32>,
    /// Tick before which the receiver does not get `Modeled` again, since time was short.
    held_until: u32,
}

/// Dirty objects of a snapshot.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Cut {
    /// Number of objects that the budget left out.
    pub(super) left_out: usize,
    /// Number of objects with those.
    pub(super) wanted: usize,
}

/// A snapshot that was made for a receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct MadeSnapshot {
    pub(super) tick: u32,
    pub(super) level: PacketLevel,
    pub(super) cut: Cut,
    pub(super) bytes: usize,
    pub(super) budget: usize,
}

impl Bandwidth {
    /// Counts a snapshot that was made.
    pub(super) fn record(&mut self, made: MadeSnapshot, ticks_per_second: u32) {
        let MadeSnapshot { tick, level, cut: Cut { left_out, wanted }, bytes, budget } = made;
        let begun = *self.begun.get_or_insert(tick);
        // The first snapshots have the whole world, and are cut at any bandwidth.
        let is_joining = tick.saturating_sub(begun) < ticks_per_second;
        let left_out = if is_joining { 0 } else { left_out };
        self.cut = self.cut << 1 | u64::from(left_out > 0);
        let share = ((left_out as u64) << 16) / wanted.max(1) as u64;
        // The shift is an average over half a second at 60 Hz.
        self.left_out = self.left_out - (self.left_out >> 5) + (share >> 5) as u32;
        let kept = if level == PacketLevel::Packed { 0 } else { self.need };
        self.need = kept.max(self.left_out);
        let cut = self.cut.count_ones();
        let is_small = made.cut.left_out == 0 && bytes < budget / 2;
        self.small_since = is_small.then(|| self.small_since.unwrap_or(tick));
        let small = self.small_since.map_or(0, |since| tick.saturating_sub(since));
        if cut > MAX_CUT {
            self.is_short = true;
        } else if self.is_short && small >= ticks_per_second.saturating_mul(CALM_SECONDS) {
            *self = Self { begun: self.begun, ..Self::default() };
        }
    }

    /// Whether the receiver gets `Modeled`, if there is time.
    fn wants_modeled(&self, tick: u32) -> bool {
        self.is_short && tick >= self.held_until
    }

    /// Handles a resync, after which the receiver gets the whole world again.
    pub(super) fn handle_resync(&mut self) {
        self.begun = None;
    }
}

/// The levels of the snapshots of a tick.
#[derive(Debug, Default)]
pub(super) struct TickLevels {
    /// The levels of this tick are chosen.
    is_chosen: bool,
    sent: Vec<SentBody>,
    groups: Vec<Group>,
}

/// The last body of a receiver.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct SentBody {
    body: u32,
    wish: Wish,
    /// Place of the receiver.
    place: usize,
}

/// The level that a receiver asks for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Wish {
    Packed,
    Modeled,
    ModeledIfTime,
}

/// Receivers that shared their last body, and get `Modeled` if there is time, all or none.
#[derive(Debug)]
struct Group {
    /// The largest need of a receiver.
    need: u32,
    /// No receiver has `Modeled` already. Those that do come first among equal needs, so that they
    /// keep it.
    is_new: bool,
    /// Estimated time that `Modeled` takes beyond `Packed`, in nanoseconds.
    more: u64,
    /// Place of the first receiver: bodies have no order of their own where several threads make them.
    place: usize,
    /// Range of the receivers in [`TickLevels::sent`].
    receivers: Range<usize>,
}

impl Group {
    /// The first group is the first to get `Modeled`.
    fn order(&self) -> (Reverse<u32>, bool, u64, usize) {
        (Reverse(self.need), self.is_new, self.more, self.place)
    }
}

impl TickLevels {
    /// Begins a tick, whose levels are not chosen yet.
    pub(super) fn begin_tick(&mut self) {
        self.is_chosen = false;
    }

    /// Chooses the levels of this tick, if that was not done yet.
    pub(super) fn choose(
        &mut self,
        config: &Config,
        tick: u32,
        views: &mut [Option<Box<View>>],
        bodies: &Bodies,
    ) {
        if core::mem::replace(&mut self.is_chosen, true) {
            return;
        }
        self.sent.clear();
        for (place, view) in views.iter_mut().enumerate() {
            let Some(view) = view else { continue };
            let body = view.newest_body();
            let wish = match view.level {
                Level::Modeled => Wish::Modeled,
                Level::Auto if view.bandwidth.wants_modeled(tick) => Wish::ModeledIfTime,
                Level::Auto | Level::Packed => Wish::Packed,
            };
            if wish == Wish::Packed || body.is_none() {
                view.packet_level = view.level.first();
            }
            self.sent.extend(body.map(|body| SentBody { body, wish, place }));
        }
        self.sent.sort_unstable();
        let time = u64::try_from(config.snapshot_time.as_nanos()).unwrap_or(u64::MAX);
        let mut left = time.saturating_sub(self.find_groups(views, bodies));
        for group in &self.groups {
            let rest = left.checked_sub(group.more);
            left = rest.unwrap_or(left);
            for sent in &self.sent[group.receivers.clone()] {
                let Some(view) = &mut views[sent.place] else { continue };
                if rest.is_some() {
                    view.packet_level = PacketLevel::Modeled;
                } else if view.packet_level == PacketLevel::Modeled {
                    view.packet_level = PacketLevel::Packed;
                    view.bandwidth.held_until = tick.saturating_add(config.ticks_per_second);
                }
            }
        }
    }

    /// Finds the groups of receivers that get `Modeled` if there is time, in the order in which they
    /// get it, and returns the estimated time of the tick if none does, in nanoseconds.
    fn find_groups(&mut self, views: &[Option<Box<View>>], bodies: &Bodies) -> u64 {
        self.groups.clear();
        let (mut time, mut end) = (0u64, 0);
        for shared in self.sent.chunk_by(|one, other| one.body == other.body) {
            let updates = bodies.get(shared[0].body).work();
            let [packed, modeled] =
                [PACKED_NANOS, MODELED_NANOS].map(|nanos| updates.saturating_mul(nanos));
            let count = |wish| shared.iter().filter(|sent| sent.wish == wish).count();
            let others = [count(Wish::Packed), count(Wish::Modeled)].map(|count| count > 0);
            let wanting = count(Wish::ModeledIfTime);
            end += shared.len();
            let receivers = end - wanting..end;
            // Each level is coded once, for all that share it.
            let is_packed = others[0] || wanting > 0;
            let base = u64::from(is_packed) * packed + u64::from(others[1]) * modeled;
            time = time.saturating_add(base);
            if wanting == 0 {
                continue;
            }
            let more = u64::from(!others[1]) * modeled;
            let less = u64::from(!others[0]) * packed;
            let members = &self.sent[receivers.clone()];
            let view = |sent: &SentBody| views[sent.place].as_deref();
            let needs = members.iter().filter_map(view).map(|view| view.bandwidth.need);
            let is_packed = |view: &View| view.packet_level == PacketLevel::Packed;
            self.groups.push(Group {
                need: needs.max().unwrap_or(0),
                is_new: members.iter().filter_map(view).all(is_packed),
                more: more.saturating_sub(less),
                place: members[0].place,
                receivers,
            });
        }
        self.groups.sort_unstable_by_key(Group::order);
        time
    }
}

/// Most of the last 64 snapshots that are cut while bandwidth is not short: something that happens
/// once, such as an explosion, is no lack of bandwidth, though its changes may take a few packets.
const MAX_CUT: u32 = 3;

/// Time of small snapshots after which bandwidth is not short any more, in seconds.
const CALM_SECONDS: u32 = 5;

/// Estimated time of an update at each level, in nanoseconds.
const PACKED_NANOS: u64 = 200;
const MODELED_NANOS: u64 = 1_200;

#[cfg(test)]
mod tests;
