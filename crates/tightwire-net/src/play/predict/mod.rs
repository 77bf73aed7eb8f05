//! Prediction: this client steps its own objects ahead of the server, and corrects them.
//!
//! The state after each predicted tick is kept. When the server's state of such a tick arrives, it
//! is compared with the predicted one. If they differ, the objects are set back to the server's
//! state, and the ticks since are replayed with the inputs that were sent. The difference that a
//! player would see as a jump becomes an offset that fades.
//!
//! Both sides round the state to the wire's resolution after each tick. They then start each tick
//! from equal bits, and a simulation that computes the same on both sides is never corrected.

mod blend;
mod config;
mod shown;
mod spawn;
mod stats;
#[cfg(test)]
mod tests;

use tightwire_core::schema::ObjectId;
use tightwire_snapshot::{Protocol, Row, RowBuffer};

use super::frame::{ROOM, RowSet};
use blend::Blends;
pub use config::{PredictConfig, Touch};
pub(super) use spawn::FIRST_PROVISIONAL;
use spawn::Spawns;
use stats::Mispredictions;
pub use stats::{Misprediction, PredictionStats};

/// Number of ticks whose states are kept: a replay is never longer.
const HISTORY_TICKS: usize = 64;

/// The predicted objects of a client.
#[derive(Debug)]
pub(super) struct Prediction {
    protocol: Protocol,
    config: PredictConfig,
    /// Comparison of each group of columns, for each class; an empty list means all.
    compared: Vec<Vec<Comparison>>,
    /// State after each of the last ticks, at its tick modulo [`KEPT`].
    frames: Vec<PredictedTick>,
    /// State of the running step, or after the last one.
    current: RowSet,
    /// The newest predicted tick; `None` before the first step.
    newest: Option<u32>,
    /// Tick of the last kept state; `None` before the first.
    kept: Option<u32>,
    /// Tick of the running step; `None` between steps.
    running: Option<u32>,
    /// The last replayed tick; `None` if there is nothing to replay.
    replayed: Option<u32>,
    /// Ids of the predicted objects, sorted.
    members: Vec<ObjectId>,
    spawns: Spawns,
    /// Number of ticks for which a spawn waits for the server's.
    grace: u32,
    blends: Blends,
    /// Shown states before a correction.
    before: RowSet,
    /// Objects whose prediction began since.
    switched: Vec<ObjectId>,
    /// Fraction of the tick that was shown then.
    fraction: f64,
    /// Newest state before a replay that is only made to check the simulation.
    expected: Option<RowSet>,
    mispredictions: Mispredictions,
    stats: PredictionStats,
    scratch: RowBuffer,
    interpolated: RowBuffer,
    removed: Vec<ObjectId>,
}

/// Comparison of a group of columns with the server's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Comparison {
    /// The group is not predicted.
    Skipped,
    /// With the tolerance of the configuration.
    Configured,
    /// With a tolerance of its own, in codes.
    Within(u32),
}

#[derive(Debug, Default)]
struct PredictedTick {
    tick: Option<u32>,
    /// The step of the tick ended; otherwise the state is the one of the tick before.
    is_predicted: bool,
    frame: RowSet,
}

/// The server's state of a tick.
#[derive(Clone, Copy)]
pub(super) struct Authoritative<'a> {
    pub(super) tick: u32,
    /// Every object that this client owns is as it was at this tick; otherwise some may be older.
    pub(super) is_exact: bool,
    pub(super) objects: &'a dyn ReceivedObjects,
}

/// Age of a received row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RowAge {
    /// The row is that of the snapshot's tick.
    Exact,
    /// The row has just arrived, and the object may have changed since.
    New,
    /// The row may have changed since long ago: the prediction from it is better.
    Old,
}

/// The objects that a client has received.
pub(super) trait ReceivedObjects {
    /// The newest received state of an object that can be predicted.
    fn row(&self, id: ObjectId) -> Option<Row<'_>>;

    /// Age of the row of an object, relative to the tick of the snapshot.
    fn age(&self, id: ObjectId) -> RowAge;

    /// Copies the interpolated state of an object that is shown; returns whether there is one.
    fn show(&self, id: ObjectId, shown: &mut RowBuffer) -> bool;
}

impl Prediction {
    pub(super) fn new(protocol: &Protocol, config: PredictConfig) -> Self {
        Self {
            protocol: protocol.clone(),
            config,
            compared: Vec::new(),
            frames: (0..HISTORY_TICKS)
                .map(|_| PredictedTick { frame: RowSet::with_room(), ..PredictedTick::default() })
                .collect(),
            current: RowSet::with_room(),
            newest: None,
            kept: None,
            running: None,
            replayed: None,
            members: Vec::with_capacity(ROOM),
            spawns: Spawns::default(),
            grace: spawn::MIN_GRACE,
            blends: Blends::new(protocol),
            before: RowSet::with_room(),
            switched: Vec::with_capacity(ROOM),
            fraction: 0.0,
            expected: None,
            mispredictions: Mispredictions::default(),
            stats: PredictionStats::default(),
            scratch: RowBuffer::default(),
            interpolated: RowBuffer::default(),
            removed: Vec::with_capacity(ROOM),
        }
    }

    /// Compares the groups of columns of each class like this; an empty list means all.
    pub(super) fn with_compared(mut self, compared: Vec<Vec<Comparison>>) -> Self {
        self.compared = compared;
        self
    }

    /// Sets the number of ticks that a lost reliable message takes until its next copy arrives. A
    /// spawn waits for two of them: the snapshots since its tick do not say that the server has
    /// refused it, and an object that vanishes and comes back is worse than one that stays longer.
    pub(super) fn set_retransmission(&mut self, ticks: u32) {
        self.grace = ticks.saturating_mul(2).saturating_add(2).max(spawn::MIN_GRACE);
    }

    /// Drops all predicted state, for a new connection.
    pub(super) fn reset(&mut self) {
        self.frames.iter_mut().for_each(|kept| kept.tick = None);
        self.current.clear();
        (self.newest, self.kept, self.running, self.replayed) = (None, None, None, None);
        self.members.clear();
        self.spawns.clear();
        self.blends.clear();
        self.before.clear();
        self.expected = None;
    }

    /// Begins or ends the prediction of an object. The object gets its state with the next
    /// snapshot.
    pub(super) fn set_member(&mut self, id: ObjectId, is_member: bool) {
        match (self.members.binary_search(&id), is_member) {
            (Err(place), true) => self.members.insert(place, id),
            (Ok(place), false) => drop(self.members.remove(place)),
            _ => {}
        }
    }

    pub(super) fn is_member(&self, id: ObjectId) -> bool {
        self.members.binary_search(&id).is_ok()
    }

    /// Whether the object has a predicted state.
    pub(super) fn is_predicted(&self, id: ObjectId) -> bool {
        self.current.contains(id)
    }

    /// Whether the id is of a predicted spawn that the server has not confirmed yet.
    pub(super) fn is_provisional(&self, id: ObjectId) -> bool {
        id.0 >= FIRST_PROVISIONAL
    }

    pub(super) fn stats(&self) -> PredictionStats {
        self.stats
    }

    pub(super) fn mispredictions(&self) -> impl Iterator<Item = &Misprediction> {
        self.mispredictions.iter()
    }

    /// Number of mispredicted states of objects of a class.
    pub(super) fn mispredicted(&self, class: u16) -> u64 {
        self.mispredictions.count(class)
    }

    /// The state of the running step, or after the last one.
    pub(super) fn frame(&self) -> &RowSet {
        &self.current
    }

    pub(super) fn frame_mut(&mut self) -> &mut RowSet {
        &mut self.current
    }

    /// Compares the server's state with the predicted one, and prepares a replay if they differ.
    /// `fraction` is the shown part of the newest tick.
    pub(super) fn reconcile(&mut self, server: &Authoritative<'_>, fraction: f64) {
        self.finish();
        let Some(newest) = self.newest.filter(|newest| *newest >= server.tick) else {
            return self.follow(server);
        };
        let place = server.tick as usize % HISTORY_TICKS;
        if newest - server.tick >= HISTORY_TICKS as u32 {
            return self.follow(server);
        }
        self.save_shown(server, fraction);
        let kept = &self.frames[place];
        let has_frame = kept.tick == Some(server.tick) && kept.is_predicted;
        let mut frame = core::mem::take(&mut self.frames[place].frame);
        if !has_frame {
            frame.clear();
        }
        let needs_replay = self.correct(&mut frame, has_frame, server);
        self.frames[place] = PredictedTick { tick: Some(server.tick), is_predicted: true, frame };
        self.stats.spawns_unmatched +=
            u64::from(self.spawns.expire(server.tick, self.grace, &mut self.removed));
        self.drop_removed(server, fraction);
        if needs_replay {
            self.begin_replay(server.tick);
        } else if self.config.always_replay {
            self.expected = Some(self.current.clone());
            self.begin_replay(server.tick);
        }
    }

    /// Sets `frame`, the predicted state of a tick, to the server's state. Returns whether it
    /// changed.
    fn correct(&mut self, frame: &mut RowSet, has_frame: bool, server: &Authoritative<'_>) -> bool {
        let mut is_changed = !has_frame;
        self.stats.compared += u64::from(has_frame && server.is_exact);
        let mut is_mispredicted = false;
        for place in 0..self.members.len() {
            let id = self.members[place];
            let received = server.objects.row(id);
            match (received, frame.get(id)) {
                (Some(received), Some(predicted)) => {
                    let age = server.objects.age(id);
                    if age == RowAge::Old {
                        continue;
                    }
                    let groups = self.compared.get(usize::from(received.class));
                    let tolerance = |place: usize| match groups.and_then(|groups| groups.get(place))
                    {
                        Some(Comparison::Skipped) => None,
                        Some(Comparison::Within(codes)) => Some(*codes),
                        Some(Comparison::Configured) | None => Some(self.config.tolerance),
                    };
                    let group =
                        self.protocol.first_difference_among(received, predicted, tolerance);
                    if received.class == predicted.class && group.is_none() {
                        continue;
                    }
                    // The newest state is the best to go on from, although it may not be the one of
                    // this tick, and then proves nothing.
                    if age == RowAge::Exact {
                        is_mispredicted = true;
                        let mut groups = self.protocol.groups(received.class);
                        let field = group.and_then(|group| groups.nth(group));
                        let field = field.map_or("", |group| group.field);
                        self.mispredictions.push(server.tick, id, field, predicted, received);
                    }
                    frame.set(id, received);
                    is_changed = true;
                }
                // The object spawned, or its prediction began.
                (Some(received), None) => {
                    frame.set(id, received);
                    is_changed = true;
                }
                (None, Some(_))
                    if server.objects.age(id) == RowAge::Exact
                        && !self.spawns.is_younger(id, server.tick) =>
                {
                    frame.remove(id);
                    is_changed = true;
                }
                (None, _) => {}
            }
        }
        self.stats.mispredicted += u64::from(is_mispredicted);
        let mut removed = core::mem::take(&mut self.removed);
        removed.clear();
        // Objects whose prediction has ended.
        let is_over = |id: &ObjectId| !self.is_provisional(*id) && !self.is_member(*id);
        removed.extend(self.current.iter().map(|(id, _)| id).filter(is_over));
        for id in &removed {
            frame.remove(*id);
        }
        self.removed = removed;
        is_changed
    }

    /// Takes over the server's state of a tick that was not predicted yet.
    fn follow(&mut self, server: &Authoritative<'_>) {
        let Self { current, members, .. } = self;
        current.clear();
        for id in members {
            if let Some(row) = server.objects.row(*id) {
                current.set(*id, row);
            }
        }
        self.newest = Some(server.tick);
        self.keep(server.tick);
        self.replayed = None;
    }

    /// Sets the objects back to the state of a tick, from which the ticks since are stepped again.
    fn begin_replay(&mut self, tick: u32) {
        self.current.copy_from(&self.frames[tick as usize % HISTORY_TICKS].frame);
        (self.kept, self.replayed) = (Some(tick), Some(tick));
        if self.newest == Some(tick) {
            self.end_replay();
        }
    }

    /// Begins the next step of a replay, and returns its tick; `None` if nothing is to be
    /// replayed.
    pub(super) fn next_replay(&mut self) -> Option<u32> {
        self.finish();
        let tick = self.replayed?.checked_add(1)?;
        self.stats.replayed_ticks += 1;
        self.replayed = Some(tick);
        self.begin_step(tick);
        Some(tick)
    }

    /// Begins the step of a new tick.
    pub(super) fn begin(&mut self, tick: u32) {
        self.finish();
        self.newest = Some(tick);
        self.begin_step(tick);
    }

    fn begin_step(&mut self, tick: u32) {
        self.running = Some(tick);
        self.spawns.begin(tick);
    }

    /// Ends the running step: its state is kept.
    pub(super) fn finish(&mut self) {
        let Some(tick) = self.running.take() else { return };
        self.keep(tick);
        if self.replayed.is_some() && self.replayed == self.newest {
            self.end_replay();
        }
    }

    /// Takes back the running step, which did not end: the objects stand in its tick.
    pub(super) fn abandon(&mut self) {
        let Some(tick) = self.running else { return };
        match self.kept.and_then(|tick| self.frames.get(tick as usize % HISTORY_TICKS)) {
            Some(kept) => self.current.copy_from(&kept.frame),
            None => self.current.clear(),
        }
        self.stats.unpredicted_ticks += 1;
        self.finish();
        self.frames[tick as usize % HISTORY_TICKS].is_predicted = false;
    }

    fn keep(&mut self, tick: u32) {
        self.kept = Some(tick);
        let kept = &mut self.frames[tick as usize % HISTORY_TICKS];
        (kept.tick, kept.is_predicted) = (Some(tick), true);
        kept.frame.copy_from(&self.current);
        // The copy has no cells of objects that were removed.
        core::mem::swap(&mut kept.frame, &mut self.current);
    }

    /// Gives an object that the running step spawns its id. The same spawn of a replay has the
    /// same id.
    pub(super) fn spawn(&mut self, ordinal: Option<u16>, row: Row<'_>) -> Option<ObjectId> {
        let id = self.spawns.spawn(self.running?, ordinal)?;
        self.current.set(id, row);
        Some(id)
    }

    /// Counts a spawn of the running step that only the server makes.
    pub(super) fn skip_spawn(&mut self, ordinal: Option<u16>) {
        self.spawns.take_ordinal(ordinal);
    }

    /// Gives the object that was predicted to spawn the id of the server's. Returns its
    /// provisional id; `None` if there was no such prediction.
    pub(super) fn handle_match(
        &mut self,
        tick: u32,
        ordinal: u16,
        id: ObjectId,
    ) -> Option<ObjectId> {
        let provisional = self.spawns.handle_match(tick, ordinal, id)?;
        self.current.rename(provisional, id);
        self.frames.iter_mut().for_each(|kept| kept.frame.rename(provisional, id));
        self.before.rename(provisional, id);
        self.blends.rename(provisional, id);
        Some(provisional)
    }
}
