//! Objects that this client spawned in advance of the server.

use tightwire_core::schema::ObjectId;

/// The first provisional id: the server's ids have 20 bits.
pub(in crate::play) const FIRST_PROVISIONAL: u32 = 1 << 20;

/// Largest number of spawns that wait for the server at once; a game that spawns more sees them
/// when the server's arrive.
const MAX_SPAWNS: usize = 256;

/// Least number of ticks after which a spawn that the server did not confirm is taken back.
pub(super) const MIN_GRACE: u32 = 8;

/// Spawns, each known by its tick and its ordinal in the tick.
#[derive(Debug, Default)]
pub(super) struct Spawns {
    list: Vec<Spawn>,
    /// Number of spawns of the running step so far.
    ordinal: u16,
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct Spawn {
    tick: u32,
    ordinal: u16,
    id: ObjectId,
    is_matched: bool,
}

impl Spawns {
    pub(super) fn clear(&mut self) {
        self.list.clear();
    }

    pub(super) fn begin(&mut self, _tick: u32) {
        self.ordinal = 0;
    }

    /// Returns the id of a spawn of the running step, with the ordinal that the game gives, or the
    /// next one. The same spawn of a replay has the same id.
    pub(super) fn spawn(&mut self, tick: u32, ordinal: Option<u16>) -> Option<ObjectId> {
        let ordinal = self.take_ordinal(ordinal);
        if let Some(spawn) = self.find(tick, ordinal) {
            return Some(spawn.id);
        }
        if self.list.len() == MAX_SPAWNS {
            return None;
        }
        let id = ObjectId(FIRST_PROVISIONAL + self.next);
        self.next = (self.next + 1) % FIRST_PROVISIONAL;
        self.list.push(Spawn { tick, ordinal, id, is_matched: false });
        Some(id)
    }

    /// Returns the ordinal of the next spawn of the running step: the one that the game gives, or
    /// the one after the last.
    pub(super) fn take_ordinal(&mut self, ordinal: Option<u16>) -> u16 {
        let ordinal = ordinal.unwrap_or(self.ordinal);
        self.ordinal = ordinal.saturating_add(1);
        ordinal
    }

    /// Gives a spawn the server's id, and returns its provisional id.
    pub(super) fn handle_match(
        &mut self,
        tick: u32,
        ordinal: u16,
        id: ObjectId,
    ) -> Option<ObjectId> {
        let is_it = |spawn: &&mut Spawn| (spawn.tick, spawn.ordinal) == (tick, ordinal);
        let spawn = self.list.iter_mut().find(is_it).filter(|spawn| !spawn.is_matched)?;
        spawn.is_matched = true;
        Some(core::mem::replace(&mut spawn.id, id))
    }

    /// Whether an object spawned after a tick, in which the server does not have it.
    pub(super) fn is_younger(&self, id: ObjectId, tick: u32) -> bool {
        self.list.iter().any(|spawn| spawn.id == id && spawn.tick > tick)
    }

    /// Forgets the spawns that are `grace` ticks old at a tick of the server. Appends
    /// those that were not confirmed to `removed`, and returns their number.
    pub(super) fn expire(&mut self, tick: u32, grace: u32, removed: &mut Vec<ObjectId>) -> u32 {
        let mut count = 0;
        self.list.retain(|spawn| {
            let is_over = spawn.tick.saturating_add(grace) <= tick;
            if is_over && !spawn.is_matched {
                removed.push(spawn.id);
                count += 1;
            }
            !is_over
        });
        count
    }

    fn find(&self, tick: u32, ordinal: u16) -> Option<&Spawn> {
        self.list.iter().find(|spawn| (spawn.tick, spawn.ordinal) == (tick, ordinal))
    }
}
