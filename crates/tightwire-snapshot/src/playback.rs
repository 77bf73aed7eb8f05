//! Playback: the world at the shown time.

mod changes;
#[cfg(test)]
mod changes_tests;

use alloc::vec::Vec;
use core::mem::replace;
use core::time::Duration;

use super::between::Between;
use super::clock::Clock;
use super::history::{History, Stamp, State, Versions};
use super::ids::{Entries, Ids};
use super::interpolate::Sample;
use changes::ShownChanges;

use super::{PlaybackIter, Protocol, Received, Receiver, Row};
use tightwire_core::schema::ObjectId;
use tightwire_core::stream::{ReadError, Wire};

/// Bounds of the delay of a [`Playback`].
///
/// ```
/// use std::time::Duration;
/// use tightwire::snapshot::PlaybackConfig;
///
/// let config = PlaybackConfig { min_delay: Duration::from_millis(50), ..PlaybackConfig::default() };
/// assert_eq!(config.max_delay, Duration::from_millis(500));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlaybackConfig {
    /// Least delay behind the sender, apart from the network's latency. Default: 0 s.
    pub min_delay: Duration,
    /// Largest delay behind the sender, apart from the network's latency. One that is less than
    /// `min_delay` counts as `min_delay`: the delay is then fixed. Default: 500 ms.
    pub max_delay: Duration,
}

impl Default for PlaybackConfig {
    fn default() -> Self {
        Self { min_delay: Duration::ZERO, max_delay: Duration::from_millis(500) }
    }
}

/// Shows the world of a [`Receiver`] at a time that passes evenly, however snapshots arrive: a
/// little behind, so that every shown state is between two snapshots.
///
/// Quantised floats and vectors, `wraps`, `spatial` and rotations are interpolated; with a
/// `derivative_of`, along a curve. All other fields are as in the earlier snapshot. The delay
/// follows the jitter of arriving snapshots.
///
/// An object that despawns, or is no longer relevant to the receiver, is extrapolated by its last
/// velocity, for up to half a second, until the tick in which it is gone.
///
/// ```
/// use std::time::Duration;
/// use tightwire::snapshot::{self, Playback, PlaybackConfig};
///
/// let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<bool>().build()?;
/// let mut playback = Playback::new(&protocol, PlaybackConfig::default());
/// playback.advance(Duration::from_secs(1));
/// assert_eq!(playback.time(), None); // nothing has come yet
/// # Ok::<(), tightwire::snapshot::ProtocolError>(())
/// ```
///
/// The guide `replicate_a_world` shows a playback at work.
#[derive(Debug)]
pub struct Playback {
    protocol: Protocol,
    clock: Clock,
    ids: Ids,
    tracks: Vec<Track>,
    free: Vec<u32>,
    history: History,
    newest: Option<u32>,
    /// The newest snapshot is complete.
    is_complete: bool,
    /// Tracks of objects that have despawned, to be freed when the shown time gets there.
    despawned: Vec<u32>,
    /// Age in ticks after which no state is shown any more.
    max_ticks: u32,
    cells: Vec<u32>,
    changes: ShownChanges,
}

#[derive(Clone, Copy, Debug)]
struct Track {
    id: ObjectId,
    versions: Versions,
    /// The state that was shown by the last `advance`, if changes are recorded.
    shown: Versions,
    /// The shown state may change: the track is among the moving ones.
    is_moving: bool,
}

impl Playback {
    /// Creates a playback that shows nothing yet.
    #[must_use]
    pub fn new(protocol: &Protocol, config: PlaybackConfig) -> Self {
        let columns = protocol.classes().iter().map(|class| class.layout.columns.len());
        let bounds = [config.min_delay, config.max_delay.max(config.min_delay)];
        let ticks_per_second = protocol.config().ticks_per_second;
        let max_ticks = (bounds[1].as_secs_f64() * f64::from(ticks_per_second)) as u32;
        Self {
            protocol: protocol.clone(),
            clock: Clock::new(ticks_per_second, bounds),
            ids: Ids::default(),
            tracks: Vec::new(),
            free: Vec::new(),
            history: History::new(columns),
            newest: None,
            is_complete: false,
            despawned: Vec::new(),
            // Time is stretched only a little, so it may be behind for a while.
            max_ticks: max_ticks.saturating_add(ticks_per_second),
            cells: Vec::new(),
            changes: ShownChanges::default(),
        }
    }

    /// Takes over the changes by the newest snapshot of `receiver`, which arrived at `now`. To be
    /// called after each [`handle_snapshot`](Receiver::handle_snapshot).
    pub fn handle_snapshot(&mut self, now: Duration, receiver: &Receiver) {
        let Some(Received { tick, is_complete }) = receiver.newest() else { return };
        self.changes.are_current = false;
        let was_complete = replace(&mut self.is_complete, is_complete);
        let Some(before) = self.newest.replace(tick) else {
            self.clock.handle_tick(now, tick);
            return receiver.rows().for_each(|(id, state)| self.add(id, tick, tick, state));
        };
        if tick <= before {
            return;
        }
        self.clock.handle_tick(now, tick);
        for change in receiver.changes() {
            let despawned = State { stamp: Stamp::default(), class: 0, cells: None };
            // An object that begins to move was at rest until then, if the snapshot before was
            // complete.
            let rested = if was_complete { before } else { 0 };
            self.add(change.id, tick, rested, receiver.state(change.id).unwrap_or(despawned));
        }
        self.free_despawned();
    }

    /// Advances the shown time; `now` is of the same clock as for the snapshots.
    pub fn advance(&mut self, now: Duration) {
        self.clock.advance(now);
        if self.changes.are_recorded {
            self.record_changes();
        }
    }

    /// Returns the shown tick, with a fraction; `None` before the first snapshot.
    #[must_use]
    pub fn time(&self) -> Option<f64> {
        self.clock.time()
    }

    /// Returns the delay behind the sender, apart from the network's latency.
    #[must_use]
    pub fn delay(&self) -> Duration {
        let ticks = self.clock.delay() / f64::from(self.protocol.config().ticks_per_second);
        Duration::try_from_secs_f64(ticks).unwrap_or(Duration::MAX)
    }

    /// Iterates over the shown objects in the order of their ids, with the indices of their classes
    /// in the protocol.
    pub fn objects(&self) -> impl Iterator<Item = (ObjectId, u16)> {
        self.ids.iter().filter_map(|(id, track)| Some((id, self.class_at(track)?)))
    }

    /// The objects that are shown and are a `T`, in the order of their ids. One that the sender
    /// sent and that is no `T`, for example text that is not UTF-8, is left out.
    #[must_use]
    pub fn iter<T: Wire + Default + 'static>(&self) -> PlaybackIter<'_, T> {
        PlaybackIter::new(self)
    }

    /// Iterates over the shown objects whose ids are at least `from`, in the order of ids, with the
    /// indices of their classes.
    pub fn objects_from(&self, from: ObjectId) -> impl Iterator<Item = (ObjectId, u16)> {
        self.ids.iter_from(from).filter_map(|(id, track)| Some((id, self.class_at(track)?)))
    }

    /// Passes the shown cells of an object to `read`; `None` if it is not shown.
    pub fn with_row<R>(
        &self,
        id: impl Into<ObjectId>,
        read: impl FnOnce(Row<'_>) -> R,
    ) -> Option<R> {
        self.show(id.into(), read)
    }

    /// Passes the cells that an object had at the last tick before the shown time, which are not
    /// interpolated, to `read`; `None` if it is not shown.
    pub fn with_held_row<R>(
        &self,
        id: impl Into<ObjectId>,
        read: impl FnOnce(Row<'_>) -> R,
    ) -> Option<R> {
        let track = self.ids.get(id.into())?;
        let versions = self.tracks[track as usize].versions;
        let State { class, cells, .. } = before(&self.history, versions, self.clock.time()?)?;
        Some(read(Row { class, cells: cells? }))
    }

    /// Passes the rows between which an object is interpolated to `read`, and the shown fraction of
    /// the way from the first to the second, for programs that interpolate by functions of their
    /// own. Both rows are the same if the next one is not known, or is of another class. `None` if
    /// the object is not shown.
    pub fn with_rows_around<R>(
        &self,
        id: impl Into<ObjectId>,
        read: impl FnOnce(Row<'_>, Row<'_>, f64) -> R,
    ) -> Option<R> {
        let track = self.ids.get(id.into())?;
        let (time, history) = (self.clock.time()?, &self.history);
        let versions = self.tracks[track as usize].versions;
        let State { stamp, class, cells } = before(history, versions, time)?;
        let row = Row { class, cells: cells? };
        let after = history.iter(versions).take_while(|state| f64::from(state.stamp.tick) > time);
        let after = after.last().filter(|after| after.class == class);
        let Some((after, cells)) = after.and_then(|after| Some((after, after.cells?))) else {
            return Some(read(row, row, 0.0));
        };
        let way = f64::from(after.stamp.tick) - f64::from(stamp.tick);
        let fraction = (time - f64::from(stamp.tick)) / way.max(1.0);
        Some(read(row, Row { class, cells }, fraction.clamp(0.0, 1.0)))
    }

    pub(super) fn protocol(&self) -> &Protocol {
        &self.protocol
    }

    /// All tracks of objects, in the order of their ids.
    pub(super) fn entries(&self) -> Entries<'_> {
        self.ids.iter()
    }

    /// The class of the object that a track shows, if it is there.
    pub(super) fn class_at(&self, track: u32) -> Option<u16> {
        let versions = self.tracks[track as usize].versions;
        let state = before(&self.history, versions, self.clock.time()?)?;
        state.cells.map(|_| state.class)
    }

    /// Reads the shown state of an object into `value`; returns whether it exists and is a `T`.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if the sender sent no valid `T`, for example text that is not UTF-8.
    pub fn read<T: Wire + 'static>(
        &self,
        id: impl Into<ObjectId>,
        value: &mut T,
    ) -> Result<bool, ReadError> {
        let shown = self.show(id.into(), |row| self.protocol.read_row(row, value));
        shown.unwrap_or(Ok(false))
    }

    /// Returns the shown state of an object, if it exists and is a `T`.
    #[must_use]
    pub fn get<T: Wire + Default + 'static>(&self, id: impl Into<ObjectId>) -> Option<T> {
        let mut value = T::default();
        self.read(id, &mut value).ok()?.then_some(value)
    }

    /// Passes the interpolated state of an object to `with`; `None` if it is not shown.
    fn show<R>(&self, id: ObjectId, with: impl FnOnce(Row<'_>) -> R) -> Option<R> {
        let track = self.ids.get(id)?;
        if !self.changes.are_current {
            return self.show_track(track, with);
        }
        let shown = self.history.newest(self.tracks[track as usize].shown)?;
        Some(with(Row { class: shown.class, cells: shown.cells? }))
    }

    /// Passes the interpolated state of a track's object to `with`; `None` if it is not shown.
    fn show_track<R>(&self, track: u32, with: impl FnOnce(Row<'_>) -> R) -> Option<R> {
        let time = self.clock.time()?;
        let versions = self.tracks[track as usize].versions;
        let history = &self.history;
        let State { stamp, class, cells } = before(history, versions, time)?;
        let after = history.iter(versions).take_while(|state| f64::from(state.stamp.tick) > time);
        let before = Sample { tick: stamp.tick, cells: cells? };
        let between = Between { class, before, after: after.last() };
        Some(between.show(&self.protocol, time, stamp.packet == RESTED, with))
    }

    /// Adds a state of an object at `tick`; the object had its previous state until the tick
    /// `before`.
    fn add(&mut self, id: ObjectId, tick: u32, before: u32, state: State<'_>) {
        let track = match self.ids.get(id) {
            Some(track) => track,
            None if state.cells.is_none() => return,
            None => self.add_track(id),
        };
        let versions = &mut self.tracks[track as usize].versions;
        if let Some(newest) =
            self.history.newest(*versions).filter(|newest| newest.stamp.tick < before)
        {
            self.cells.clear();
            self.cells.extend(newest.cells.iter().copied().flatten());
            let cells = newest.cells.is_some().then_some(&self.cells[..]);
            let class = newest.class;
            self.history.push(versions, Stamp { tick: before, packet: RESTED }, class, cells);
        }
        self.history.push(versions, Stamp { tick, packet: 0 }, state.class, state.cells);
        if state.cells.is_none() {
            self.despawned.push(track);
        }
        if self.changes.are_recorded && !replace(&mut self.tracks[track as usize].is_moving, true) {
            self.changes.moving.push(track);
        }
        let oldest = self.oldest(tick);
        self.history.expire_before(&mut self.tracks[track as usize].versions, oldest);
    }

    /// Returns the oldest tick that may still be shown.
    fn oldest(&self, newest: u32) -> u32 {
        let shown = self.clock.time().map_or(0, |time| time.max(0.0) as u32);
        shown.max(newest.saturating_sub(self.max_ticks))
    }

    fn free_despawned(&mut self) {
        let oldest = self.oldest(self.newest.unwrap_or(0));
        let Self { despawned, tracks, history, ids, free, .. } = self;
        despawned.retain(|&place| {
            let track = &mut tracks[place as usize];
            let newest = history.newest(track.versions);
            let Some(despawned) = newest.filter(|newest| newest.cells.is_none()) else {
                return false;
            };
            // The next `advance` tells of the despawn.
            if despawned.stamp.tick > oldest || track.is_moving || !track.shown.is_empty() {
                return true;
            }
            history.retain(&mut track.versions, |_, _| false);
            ids.remove(track.id);
            free.push(place);
            false
        });
    }

    fn add_track(&mut self, id: ObjectId) -> u32 {
        let none = Versions::NONE;
        let track = Track { id, versions: none, shown: none, is_moving: false };
        let place = match self.free.pop() {
            Some(place) => {
                self.tracks[place as usize] = track;
                place
            }
            None => {
                self.tracks.push(track);
                // All tracks may be free at once; reserved here, so that no list has to grow later.
                self.free.reserve(self.tracks.len());
                self.despawned.reserve(self.tracks.len().saturating_sub(self.despawned.len()));
                self.changes.reserve(self.tracks.len());
                self.tracks.len() as u32 - 1
            }
        };
        self.ids.insert(id, place);
        place
    }
}

/// In place of a packet, marks the state of an object that had not changed for a while. The version
/// that it repeats may have expired.
const RESTED: u32 = 1;

/// Returns the newest state of an object at or before a time.
fn before(history: &History, versions: Versions, time: f64) -> Option<State<'_>> {
    history.iter(versions).find(|state| f64::from(state.stamp.tick) <= time)
}
