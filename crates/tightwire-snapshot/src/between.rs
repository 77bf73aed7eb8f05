//! The state of an object at a time between two of its states: as a receiver shows it, and as a
//! sender looks back at it.

use super::history::State;
use super::interpolate::{Sample, extrapolate, interpolate};
use super::scratch::with_scratch;
use super::{Protocol, Row};

/// The states of an object around a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Between<'s> {
    pub(super) class: u16,
    /// The newest state at or before the time.
    pub(super) before: Sample<'s>,
    /// The next state, or despawn; `None` if there is none yet.
    pub(super) after: Option<State<'s>>,
}

impl Between<'_> {
    /// Passes the state at `time` to `with`. An object `is_at_rest` if it did not change in the
    /// tick before it despawns.
    pub(super) fn show<R>(
        self,
        protocol: &Protocol,
        time: f64,
        is_at_rest: bool,
        with: impl FnOnce(Row<'_>) -> R,
    ) -> R {
        let Self { class, before, after } = self;
        let unmoved = Row { class, cells: before.cells };
        let (Some(after), Some(layout)) = (after, protocol.layout(class)) else {
            return with(unmoved);
        };
        match after.cells.filter(|_| after.class == class) {
            // At rest, whatever its velocity says.
            Some(cells) if cells == before.cells => with(unmoved),
            Some(cells) => with_scratch(before.cells.len(), |shown| {
                interpolate(layout, before, Sample { tick: after.stamp.tick, cells }, time, shown);
                with(Row { class, cells: shown })
            }),
            None if is_at_rest => with(unmoved),
            None => with_scratch(before.cells.len(), |shown| {
                let most = f64::from(protocol.config().ticks_per_second) / 2.0;
                extrapolate(layout, before, time, most, shown);
                with(Row { class, cells: shown })
            }),
        }
    }
}
