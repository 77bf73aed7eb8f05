//! Storage of the versions of objects: a state is here from when it is set until it expires.

use alloc::vec;
use alloc::vec::Vec;
use core::mem::replace;

/// Versions of objects: a linked list for each object, the newest first.
///
/// The block of an expired version is reused for the next version of its class, so that a world
/// that neither grows nor changes faster than before allocates nothing.
#[derive(Debug)]
pub(super) struct History {
    /// A block for each version: tick, packet, the next older version, class and cells. They are
    /// adjacent because a lookup needs all of them, and a cache miss for each would be slow.
    words: Vec<u32>,
    /// Number of columns, by class.
    columns: Vec<usize>,
    /// The free blocks of each class: a list like that of an object's versions.
    free: Vec<Versions>,
}

/// An object's list of versions: the block of the newest one, which links to the older ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Versions(u32);

/// Tick and packet of a version.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Stamp {
    pub(super) tick: u32,
    /// Sequence number of the packet that had the version; 0 on the sending side.
    pub(super) packet: u32,
}

/// A version of an object, as it is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct State<'h> {
    pub(super) stamp: Stamp,
    pub(super) class: u16,
    /// `None` if the object is despawned.
    pub(super) cells: Option<&'h [u32]>,
}

impl State<'_> {
    /// Returns the state with the tick of the packet that it was sent in.
    pub(super) fn with_tick(self, tick: u32) -> Self {
        Self { stamp: Stamp { tick, ..self.stamp }, ..self }
    }
}

/// Words of a block before its cells: the tick, the packet, the older version, and the class with
/// the flag [`DESPAWNED`].
const HEAD: usize = 4;
const DESPAWNED: u32 = 1 << 16;
/// Flag of a copy of a version, in the word of the class.
const COPY: u32 = 1 << 17;

/// Tick of a block whose version has expired.
const EXPIRED: u32 = u32::MAX;

/// Alignment of blocks, in words: 2^32 such units are more than the memory of any machine.
const UNIT: usize = 4;

impl History {
    /// Creates an empty history for classes with these numbers of columns.
    pub(super) fn new(columns: impl Iterator<Item = usize>) -> Self {
        let columns: Vec<_> = columns.collect();
        let free = vec![Versions::NONE; columns.len()];
        Self { words: Vec::new(), columns, free }
    }

    /// Adds the newest version; `cells` is `None` if the object is despawned.
    pub(super) fn push(
        &mut self,
        versions: &mut Versions,
        stamp: Stamp,
        class: u16,
        cells: Option<&[u32]>,
    ) {
        let Some((place, columns)) = self.free_block(class) else { return };
        let despawned = if cells.is_some() { 0 } else { DESPAWNED };
        let head = [stamp.tick, stamp.packet, versions.0, u32::from(class) | despawned];
        let words = &mut self.words[place.start()..];
        words[..HEAD].copy_from_slice(&head);
        if let Some(cells) = cells {
            words[HEAD..HEAD + columns].copy_from_slice(cells);
        }
        *versions = place;
    }

    /// Replaces a list by a copy of one version; `cells` is `None` if the object is despawned. The
    /// block of the last copy is used again if the class is the same.
    pub(super) fn set_copy(
        &mut self,
        versions: &mut Versions,
        stamp: Stamp,
        class: u16,
        cells: Option<&[u32]>,
    ) {
        if let Some(([tick, packet, _, link], room)) = self.block_mut(*versions)
            && *link as u16 == class
            && let Some(room) = room.get_mut(..cells.map_or(0, <[u32]>::len))
        {
            (*tick, *packet) = (stamp.tick, stamp.packet);
            *link = u32::from(class) | COPY | if cells.is_some() { 0 } else { DESPAWNED };
            room.copy_from_slice(cells.unwrap_or_default());
            return;
        }
        self.retain(versions, |_, _| false);
        self.push(versions, stamp, class, cells);
        if let Some(([_, _, _, link], _)) = self.block_mut(*versions) {
            *link |= COPY;
        }
    }

    fn block_mut(&mut self, versions: Versions) -> Option<(&mut [u32; HEAD], &mut [u32])> {
        self.words.get_mut(versions.start()..)?.split_first_chunk_mut()
    }

    /// Returns a free block, and the number of its cells.
    fn free_block(&mut self, class: u16) -> Option<(Versions, usize)> {
        let columns = *self.columns.get(usize::from(class))?;
        let free = self.free.get_mut(usize::from(class))?;
        if let Some(&[_, _, next, _]) =
            self.words.get(free.start()..).and_then(<[u32]>::first_chunk::<HEAD>)
        {
            return Some((replace(free, Versions(next)), columns));
        }
        let place = Versions(u32::try_from(self.words.len() / UNIT).ok()?);
        self.words.resize(self.words.len() + (HEAD + columns).next_multiple_of(UNIT), 0);
        Some((place, columns))
    }

    /// Returns the number of words that are in use or free.
    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        self.words.len()
    }

    /// Iterates over the versions, the newest first.
    #[inline]
    pub(super) fn iter(&self, versions: Versions) -> impl Iterator<Item = State<'_>> {
        let mut next = versions;
        core::iter::from_fn(move || {
            let (state, older) = self.version(next)?;
            next = older;
            Some(state)
        })
    }

    /// Returns a version, and the list of the older ones.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn version(&self, versions: Versions) -> Option<(State<'_>, Versions)> {
        let block = self.words.get(versions.start()..)?;
        let (&[tick, packet, older, link], cells) = block.split_first_chunk::<HEAD>()?;
        let class = link as u16;
        let cells = cells.get(..*self.columns.get(usize::from(class))?)?;
        let cells = (link & DESPAWNED == 0).then_some(cells);
        Some((State { stamp: Stamp { tick, packet }, class, cells }, Versions(older)))
    }

    /// Whether a version that was added with the packet `packet` has not expired: a block that is
    /// used again is of a later packet, or a copy.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn is_of_packet(&self, version: Versions, packet: u32) -> bool {
        let block = self.words.get(version.start()..).and_then(<[u32]>::first_chunk::<HEAD>);
        block
            .is_some_and(|&[tick, of, _, link]| tick != EXPIRED && of == packet && link & COPY == 0)
    }

    /// Returns the newest version.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn newest(&self, versions: Versions) -> Option<State<'_>> {
        self.version(versions).map(|(state, _)| state)
    }

    /// Returns a version that was the newest one at `tick`; `None` if it has expired. Its block may
    /// have been reused, but only for a version of a later tick.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn unexpired(&self, version: Versions, tick: u32) -> Option<State<'_>> {
        self.newest(version).filter(|state| state.stamp.tick <= tick)
    }

    /// Keeps the versions for which `keep` returns true; the newest is passed first.
    pub(super) fn retain(
        &mut self,
        versions: &mut Versions,
        mut keep: impl FnMut(Stamp, bool) -> bool,
    ) {
        let (mut newer, mut place) = (None, *versions);
        while let Some((State { stamp, class, cells }, older)) = self.version(place) {
            if keep(stamp, cells.is_some()) {
                newer = Some(place);
            } else {
                self.release(place, class);
                match newer {
                    Some(newer) => self.set_older(newer, older),
                    None => *versions = older,
                }
            }
            place = older;
        }
    }

    fn set_older(&mut self, of: Versions, older: Versions) {
        if let Some([_, _, place, _]) = self.words[of.start()..].first_chunk_mut::<HEAD>() {
            *place = older.0;
        }
    }

    /// Frees a block. Its tick becomes the highest one, so that [`unexpired`](Self::unexpired) no
    /// longer finds a version there.
    fn release(&mut self, place: Versions, class: u16) {
        self.words[place.start()] = EXPIRED;
        let next = replace(&mut self.free[usize::from(class)], place);
        self.set_older(place, next);
    }

    /// Drops the newest version.
    pub(super) fn drop_newest(&mut self, versions: &mut Versions) {
        if let Some((State { class, .. }, older)) = self.version(*versions) {
            self.release(*versions, class);
            *versions = older;
        }
    }

    /// Lets the versions expire that are older than this one of `tick`, if that is still there.
    pub(super) fn expire_older(&mut self, version: Versions, tick: u32) {
        let found = self.version(version).filter(|(state, _)| state.stamp.tick == tick);
        if let Some((_, mut older)) = found
            && !older.is_empty()
        {
            self.set_older(version, Versions::NONE);
            self.retain(&mut older, |_, _| false);
        }
    }

    /// Changes the packet of the newest version.
    pub(super) fn set_packet(&mut self, versions: Versions, packet: u32) {
        if let Some(word) = self.words.get_mut(versions.start().wrapping_add(1)) {
            *word = packet;
        }
    }

    /// Lets the versions expire that were replaced at `tick` or before: keeps the newest one of
    /// that tick or earlier.
    pub(super) fn expire_before(&mut self, versions: &mut Versions, tick: u32) {
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
    /// The list of an object without versions.
    pub(super) const NONE: Self = Self(u32::MAX);

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// Index of the first word of the block.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn start(self) -> usize {
        // With 32-bit `usize`, no block in memory wraps, and none is where `NONE` wraps to.
        (self.0 as usize).wrapping_mul(UNIT)
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
    fn versions_are_found_until_they_expire() {
        let (mut history, mut versions) = history(&[3]);
        let first = versions;
        history.push(&mut versions, stamp(5), 0, Some(&[5, 7]));
        let tick_of = |history: &History| history.unexpired(first, 4).map(|state| state.stamp.tick);
        assert_eq!(tick_of(&history), Some(3));
        history.expire_older(versions, 9);
        assert_eq!(tick_of(&history), Some(3), "no version of that tick");
        history.expire_older(versions, 5);
        assert_eq!(tick_of(&history), None);
        history.push(&mut versions, stamp(9), 0, Some(&[9, 7]));
        assert_eq!(tick_of(&history), None, "another one has its place");
        assert_eq!(history.newest(versions).unwrap().cells, Some(&[9, 7][..]));
        history.drop_newest(&mut versions);
        assert_eq!(history.newest(versions).unwrap().cells, Some(&[5, 7][..]));
    }

    #[test]
    fn expired_versions_are_dropped_and_their_blocks_reused() {
        let (mut history, mut versions) = history(&[3, 5, 9]);
        history.expire_before(&mut versions, 8);
        let ticks = |history: &History, versions| {
            history.iter(versions).map(|state| state.stamp.tick).collect::<Vec<_>>()
        };
        assert_eq!(ticks(&history, versions), [9, 5]);
        let memory = history.words.len();
        history.push(&mut versions, stamp(11), 0, Some(&[11, 7]));
        assert_eq!(ticks(&history, versions), [11, 9, 5]);
        assert_eq!(memory, history.words.len());
        history.retain(&mut versions, |stamp, _| stamp.tick != 9);
        assert_eq!(ticks(&history, versions), [11, 5]);
        history.retain(&mut versions, |stamp, _| stamp.tick != 11);
        assert_eq!(ticks(&history, versions), [5]);
    }

    #[test]
    fn a_despawn_is_a_version_without_cells() {
        let (mut history, mut versions) = history(&[3]);
        history.push(&mut versions, stamp(4), 0, None);
        assert!(history.newest(versions).unwrap().cells.is_none());
        assert!(history.iter(versions).nth(1).unwrap().cells.is_some());
    }
}
