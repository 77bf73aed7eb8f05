//! States of the past, for lag compensation.

use super::Sender;
use crate::between::Between;
use crate::history::State;
use crate::interpolate::Sample;
use crate::{Row, RowBuffer};
use tightwire_core::schema::ObjectId;

impl Sender {
    /// Writes the state of an object at a tick of the past, with a fraction, into `row`: as a
    /// [`Playback`](crate::Playback) shows it to a receiver that got a complete snapshot of every
    /// tick. Returns false if the object did not exist then, or if the history does not reach back
    /// so far.
    ///
    /// States that were replaced in the last [`Config::history`](crate::Config::history) ticks are
    /// there, also those of objects that have despawned since.
    ///
    /// ```
    /// use tightwire::{snapshot, Wire};
    /// use tightwire::snapshot::RowBuffer;
    ///
    /// #[derive(Wire, Default, PartialEq, Debug)]
    /// struct Target {
    ///     #[wire(min = 0.0, max = 100.0, resolution = 0.01)]
    ///     place: f32,
    /// }
    ///
    /// let protocol = snapshot::Protocol::builder(snapshot::Config::default()).class::<Target>().build()?;
    /// let mut sender = snapshot::Sender::new(&protocol);
    /// for tick in 1..=10 {
    ///     sender.begin_tick(tick);
    ///     sender.set(7, &Target { place: tick as f32 })?;
    /// }
    /// let mut row = RowBuffer::default();
    /// assert!(sender.row_at(7, 4.5, &mut row));
    /// let past: Target = protocol.value_of(row.row()).unwrap();
    /// assert!((past.place - 4.5).abs() < 0.01);
    /// assert!(!sender.row_at(7, 0.5, &mut row)); // before it spawned
    /// # Ok::<(), Box<dyn core::error::Error>>(())
    /// ```
    pub fn row_at(&self, id: impl Into<ObjectId>, time: f64, row: &mut RowBuffer) -> bool {
        let Some((before, after)) = self.store.around(id.into(), time) else { return false };
        let State { stamp, class, cells: Some(cells) } = before else { return false };
        // The next state held only from the tick before it on: until then nothing changed.
        let rested = after.map(|after| after.stamp.tick.saturating_sub(1));
        let rested = rested.filter(|&rested| rested > stamp.tick);
        let has_begun = rested.is_none_or(|rested| f64::from(rested) <= time);
        let before = Sample { tick: rested.unwrap_or(stamp.tick), cells };
        let between = Between { class, before, after: after.filter(|_| has_begun) };
        between.show(&self.protocol, time, rested.is_some(), |shown: Row<'_>| row.copy_from(shown));
        true
    }
}
