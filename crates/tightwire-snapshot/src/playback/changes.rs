//! The changes of the shown world from one frame to the next.

use alloc::vec::Vec;
use core::mem::take;

use super::Playback;
use crate::history::{Stamp, State};
use crate::{ChangeKind, ObjectChange};

/// The changes by the last `advance`, and the tracks that may change by the next one.
#[derive(Debug, Default)]
pub(super) struct ShownChanges {
    pub(super) are_recorded: bool,
    /// No snapshot came since the last `advance`: the recorded states are those that are shown.
    pub(super) are_current: bool,
    /// Tracks whose shown state may change, each once: those with a version that is not yet shown.
    pub(super) moving: Vec<u32>,
    list: Vec<ObjectChange>,
    /// The shown time of the last `advance`.
    time: Option<f64>,
}

impl ShownChanges {
    /// Makes room for the changes of `tracks` objects, so that in time no list has to grow.
    pub(super) fn reserve(&mut self, tracks: usize) {
        if self.are_recorded {
            self.moving.reserve(tracks.saturating_sub(self.moving.len()));
            self.list.reserve((2 * tracks).saturating_sub(self.list.len()));
        }
    }
}

impl Playback {
    /// Records the changes of shown objects, for [`shown_changes`](Self::shown_changes). Each
    /// [`advance`](Self::advance) then computes the shown states of the objects that move, and a
    /// later read takes them from there.
    #[must_use]
    pub fn with_changes(mut self) -> Self {
        self.changes.are_recorded = true;
        self.changes.reserve(self.tracks.len());
        for track in 0..self.tracks.len() as u32 {
            self.tracks[track as usize].is_moving = true;
            self.changes.moving.push(track);
        }
        self
    }

    /// Returns the objects whose shown states the last [`advance`](Self::advance) changed, in no
    /// particular order; empty without [`with_changes`](Self::with_changes). An object that
    /// despawned and spawned again meanwhile is here twice, in this order.
    ///
    /// Objects at rest cost nothing, so a program that shows a large world updates only what is
    /// here.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tightwire::snapshot::{self, ChangeKind, Leaving, Playback, PlaybackConfig};
    ///
    /// let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<u16>().build()?;
    /// let (mut sender, mut receiver) = (snapshot::Sender::new(&protocol), snapshot::Receiver::new(&protocol));
    /// let client = sender.add_receiver(Leaving::Despawn);
    /// let mut playback = Playback::new(&protocol, PlaybackConfig::default()).with_changes();
    /// let mut seen = Vec::new();
    /// for tick in 1..=60 {
    ///     sender.begin_tick(tick);
    ///     if tick % 20 == 0 {
    ///         sender.set(7, &(tick as u16))?;
    ///     }
    ///     receiver.handle_snapshot(sender.snapshot(client, 1000).unwrap())?;
    ///     sender.handle_ack(client, receiver.ack().unwrap());
    ///     let now = Duration::from_secs(1) * tick / 60;
    ///     playback.handle_snapshot(now, &receiver);
    ///     playback.advance(now);
    ///     seen.extend(playback.shown_changes().iter().map(|change| (change.kind, playback.get::<u16>(7))));
    /// }
    /// assert_eq!(seen, [(ChangeKind::Spawned, Some(20)), (ChangeKind::Changed, Some(40))]);
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    #[must_use]
    pub fn shown_changes(&self) -> &[ObjectChange] {
        &self.changes.list
    }

    /// Updates the shown states of the moving tracks, and lists those that changed.
    pub(super) fn record_changes(&mut self) {
        let Some(time) = self.clock.time() else { return };
        self.changes.list.clear();
        let mut moving = take(&mut self.changes.moving);
        moving.retain(|&track| {
            self.record_change(track, time);
            let track = &mut self.tracks[track as usize];
            let newest = self.history.newest(track.versions);
            track.is_moving = newest.is_some_and(|newest| f64::from(newest.stamp.tick) > time);
            track.is_moving
        });
        self.changes.moving = moving;
        self.changes.time = Some(time);
        self.changes.are_current = true;
    }

    fn record_change(&mut self, track: u32, time: f64) {
        let mut cells = take(&mut self.cells);
        cells.clear();
        let class = self.show_track(track, |row| {
            cells.extend_from_slice(row.cells);
            row.class
        });
        let was_gone = self.was_gone(track, time);
        let track = &mut self.tracks[track as usize];
        let before = self.history.newest(track.shown);
        let before = before.and_then(|before| Some((before.class, before.cells?)));
        let change = |class, kind| ObjectChange { id: track.id, class, kind };
        let list = &mut self.changes.list;
        let is_changed = match (before, class) {
            (None, None) => false,
            (None, Some(class)) => {
                list.push(change(class, ChangeKind::Spawned));
                true
            }
            (Some((class, _)), None) => {
                list.push(change(class, ChangeKind::Despawned));
                true
            }
            (Some((before, _)), Some(class)) if was_gone => {
                list.push(change(before, ChangeKind::Despawned));
                list.push(change(class, ChangeKind::Spawned));
                true
            }
            (Some(before), Some(class)) => {
                let is_changed = before != (class, &cells[..]);
                if is_changed {
                    list.push(change(class, ChangeKind::Changed));
                }
                is_changed
            }
        };
        if is_changed {
            self.history.retain(&mut track.shown, |_, _| false);
            if let Some(class) = class {
                self.history.push(&mut track.shown, Stamp::default(), class, Some(&cells));
            }
        }
        self.cells = cells;
    }

    /// Whether the object of a track was gone at some time since the last `advance`.
    fn was_gone(&self, track: u32, time: f64) -> bool {
        let Some(before) = self.changes.time else { return false };
        let tick = |state: &State<'_>| f64::from(state.stamp.tick);
        let versions = self.tracks[track as usize].versions;
        let since = self.history.iter(versions).skip_while(|state| tick(state) > time);
        since.take_while(|state| tick(state) > before).any(|state| state.cells.is_none())
    }
}
