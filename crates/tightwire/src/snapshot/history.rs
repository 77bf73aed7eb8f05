//! What objects were like, for as long as somebody may need it.

use alloc::vec::Vec;

/// No version: the end of a list.
const END: u32 = u32::MAX;

/// Versions of objects: for each object a list, the newest first.
///
/// Versions that are removed leave their memory to the next ones, so that a world that neither grows
/// nor changes faster than before allocates nothing.
#[derive(Debug, Default)]
pub(super) struct History {
    versions: Vec<Version>,
    free: Vec<u32>,
    /// The cells of each class, in blocks of as many as it has columns.
    classes: Vec<Blocks>,
}

/// An object's versions, of which the history knows the rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Versions {
    newest: u32,
}

#[derive(Clone, Copy, Debug)]
struct Version {
    stamp: Stamp,
    class: u16,
    /// None where the object is gone.
    block: Option<u32>,
    older: u32,
}

/// When a version came to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Stamp {
    pub(super) tick: u32,
    /// The packet that it came in; nothing for the side that sends.
    pub(super) packet: u32,
}

/// An object as it was.
#[derive(Clone, Copy, Debug)]
pub(super) struct State<'h> {
    pub(super) stamp: Stamp,
    pub(super) class: u16,
    /// None where the object is gone.
    pub(super) cells: Option<&'h [u32]>,
}

impl State<'_> {
    /// The same, as a packet of this tick told it.
    pub(super) fn told_at(self, tick: u32) -> Self {
        Self { stamp: Stamp { tick, ..self.stamp }, ..self }
    }
}

#[derive(Debug)]
struct Blocks {
    columns: usize,
    cells: Vec<u32>,
    free: Vec<u32>,
}

impl History {
    /// For classes of as many columns as given.
    pub(super) fn new(columns: impl Iterator<Item = usize>) -> Self {
        let blocks = |columns| Blocks { columns, cells: Vec::new(), free: Vec::new() };
        Self { classes: columns.map(blocks).collect(), ..Self::default() }
    }

    /// Adds the newest version; `cells` is none if the object is gone.
    pub(super) fn push(
        &mut self,
        versions: &mut Versions,
        stamp: Stamp,
        class: u16,
        cells: Option<&[u32]>,
    ) {
        let block = match (self.classes.get_mut(usize::from(class)), cells) {
            (Some(blocks), Some(cells)) => Some(blocks.insert(cells)),
            _ => None,
        };
        let version = Version { stamp, class, block, older: versions.newest };
        versions.newest = match self.free.pop() {
            Some(place) => {
                self.versions[place as usize] = version;
                place
            }
            None => {
                self.versions.push(version);
                // All of them may be free at a time: then there is room for that.
                self.free.reserve(self.versions.len());
                self.versions.len() as u32 - 1
            }
        };
    }

    /// The versions, the newest first.
    pub(super) fn iter(&self, versions: Versions) -> impl Iterator<Item = State<'_>> {
        let mut next = versions.newest;
        core::iter::from_fn(move || {
            let version = self.versions.get(next as usize)?;
            next = version.older;
            let blocks = &self.classes[usize::from(version.class)];
            let cells = version.block.map(|block| blocks.cells(block));
            Some(State { stamp: version.stamp, class: version.class, cells })
        })
    }

    /// The newest version.
    pub(super) fn newest(&self, versions: Versions) -> Option<State<'_>> {
        self.iter(versions).next()
    }

    /// The version that held at a tick.
    pub(super) fn at(&self, versions: Versions, tick: u32) -> Option<State<'_>> {
        self.iter(versions).find(|state| state.stamp.tick <= tick)
    }

    /// Keeps the versions for which `keep`, which sees the newest first.
    pub(super) fn retain(
        &mut self,
        versions: &mut Versions,
        mut keep: impl FnMut(Stamp, bool) -> bool,
    ) {
        let (mut newer, mut place) = (END, versions.newest);
        while let Some(&Version { stamp, class, block, older }) = self.versions.get(place as usize)
        {
            if keep(stamp, block.is_some()) {
                newer = place;
            } else {
                if let Some(block) = block {
                    self.classes[usize::from(class)].free.push(block);
                }
                self.free.push(place);
                match self.versions.get_mut(newer as usize) {
                    Some(newer) => newer.older = older,
                    None => versions.newest = older,
                }
            }
            place = older;
        }
    }

    /// Forgets versions that did not hold at `tick` or later.
    pub(super) fn forget_before(&mut self, versions: &mut Versions, tick: u32) {
        let mut found = false;
        self.retain(versions, |stamp, _| {
            let keep = !found;
            found |= stamp.tick <= tick;
            keep
        });
    }
}

impl Default for Versions {
    fn default() -> Self {
        Self::NONE
    }
}

impl Versions {
    /// Of an object that nothing is known of.
    pub(super) const NONE: Self = Self { newest: END };

    pub(super) fn is_empty(self) -> bool {
        self.newest == END
    }
}

impl Blocks {
    fn insert(&mut self, cells: &[u32]) -> u32 {
        let block = self.free.pop().unwrap_or_else(|| {
            let block = self.cells.len() / self.columns.max(1);
            self.cells.resize(self.cells.len() + self.columns, 0);
            self.free.reserve(block + 1);
            block as u32
        });
        let start = block as usize * self.columns;
        self.cells[start..start + self.columns].copy_from_slice(cells);
        block
    }

    fn cells(&self, block: u32) -> &[u32] {
        let start = block as usize * self.columns;
        &self.cells[start..start + self.columns]
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn stamp(tick: u32) -> Stamp {
        Stamp { tick, packet: 0 }
    }

    fn history(ticks: &[u32]) -> (History, Versions) {
        let mut history = History::new([2].into_iter());
        let mut versions = Versions::NONE;
        for &tick in ticks {
            history.push(&mut versions, stamp(tick), 0, Some(&[tick, 7]));
        }
        (history, versions)
    }

    #[test]
    fn an_object_is_what_it_was_at_a_tick() {
        let (history, versions) = history(&[3, 5, 9]);
        let tick_at = |tick| history.at(versions, tick).map(|state| state.stamp.tick);
        assert_eq!(
            [2, 3, 4, 8, 9, 99].map(tick_at),
            [None, Some(3), Some(3), Some(5), Some(9), Some(9)]
        );
        assert_eq!(history.newest(versions).unwrap().cells, Some(&[9, 7][..]));
    }

    #[test]
    fn what_no_tick_needs_is_forgotten_and_its_memory_used_again() {
        let (mut history, mut versions) = history(&[3, 5, 9]);
        history.forget_before(&mut versions, 8);
        let ticks = |history: &History, versions| {
            history.iter(versions).map(|state| state.stamp.tick).collect::<Vec<_>>()
        };
        assert_eq!(ticks(&history, versions), [9, 5]);
        let memory = (history.versions.len(), history.classes[0].cells.len());
        history.push(&mut versions, stamp(11), 0, Some(&[11, 7]));
        assert_eq!(ticks(&history, versions), [11, 9, 5]);
        assert_eq!(memory, (history.versions.len(), history.classes[0].cells.len()));
        history.retain(&mut versions, |stamp, _| stamp.tick != 9);
        assert_eq!(ticks(&history, versions), [11, 5]);
        history.retain(&mut versions, |stamp, _| stamp.tick != 11);
        assert_eq!(ticks(&history, versions), [5]);
    }

    #[test]
    fn gone_is_a_version_without_cells() {
        let (mut history, mut versions) = history(&[3]);
        history.push(&mut versions, stamp(4), 0, None);
        assert!(history.newest(versions).unwrap().cells.is_none());
        assert!(history.at(versions, 3).unwrap().cells.is_some());
    }
}
