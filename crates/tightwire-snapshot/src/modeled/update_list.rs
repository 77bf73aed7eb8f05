//! The objects that a packet updates.
//!
//! Each object of the baseline packet has a flag, whose probability depends on how much the object
//! was changing. Other objects are listed by their ids: those up to the largest id that was ever
//! updated, then new ones above it.

use alloc::vec::Vec;

use super::plan::ClassTables;
use super::range_coder::Coder;
use super::state::{ModelState, code_bit};
use crate::update::{
    AckedState, AckedStates, Baseline, ObjectUpdate, UpdateKind, repeats_baseline,
};
use tightwire_core::schema::ObjectId;
use tightwire_core::stream::ErrorKind;

/// Indices of the updates' tables in the state.
#[derive(Clone, Debug)]
pub(super) struct UpdateListPlan {
    classes: usize,
    /// Bits of a class index.
    class_bits: u32,
    repeats_baseline: usize,
    repeated: usize,
    kind: usize,
    has_next: usize,
    gap: usize,
    class: usize,
}

/// The updates of a packet, and the positions of their objects in the baseline.
pub(super) struct CodedUpdateList<'a> {
    pub(super) list: &'a mut Vec<ObjectUpdate>,
    pub(super) positions: &'a mut Vec<AckedPosition>,
    pub(super) classes: &'a [ClassTables],
    /// Largest number of updates.
    pub(super) max_objects: usize,
}

/// Baseline position of an updated object: `place` is its space and coordinates, or `None` if the
/// object has no position.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckedPosition {
    pub(super) id: ObjectId,
    pub(super) place: Option<(u32, [i64; 3])>,
}

impl CodedUpdateList<'_> {
    /// Records the baseline position of an object. The order of coding depends on positions, and
    /// looking up the baseline again would be slow.
    fn record_position(&mut self, id: ObjectId, class: u16, acked: &AckedStates<'_>) {
        let class = self.classes.get(usize::from(class));
        let newest = acked.as_slice().first();
        let place = class.zip(newest).and_then(|(class, newest)| class.place(newest.cells));
        self.positions.push(AckedPosition { id, place });
    }
}

/// Limit of the samples that an adaptive probability is averaged over.
const MEMORY: u32 = 127;

impl UpdateListPlan {
    pub(super) fn new(state: &mut ModelState, classes: usize) -> Self {
        let class_bits = usize::BITS - classes.saturating_sub(1).leading_zeros();
        Self {
            classes,
            class_bits,
            repeats_baseline: state.add_bits(1),
            repeated: state.add_bits(classes * 16 * 4),
            kind: state.add_bits(3 * 2),
            has_next: state.add_bits(2 * 16),
            gap: state.add_bits(2 * 33 * 4),
            class: state.add_bits(1 << class_bits),
        }
    }

    /// Codes which objects are updated. A decoder fills the list with updates that have no cells
    /// yet.
    pub(super) fn code<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut ModelState,
        baseline: &impl Baseline,
        update_list: &mut CodedUpdateList<'_>,
    ) -> Result<(), ErrorKind> {
        update_list.positions.clear();
        let mut baseline_ids = baseline.baseline_ids();
        if !baseline_ids.is_empty() {
            let repeats_baseline = !C::DECODES && repeats_baseline(update_list.list, baseline_ids);
            if !code_bit(coder, &mut state.bits[self.repeats_baseline], MEMORY, repeats_baseline) {
                baseline_ids = &[];
            }
        }
        self.code_repeated(coder, state, baseline, update_list, baseline_ids)?;
        let repeated = update_list.positions.len();
        let mut listed = [(update_list.list.len(), repeated); 2];
        for beyond in [false, true] {
            self.code_unrepeated(
                coder,
                state,
                (baseline, baseline_ids),
                update_list,
                repeated,
                beyond,
            )?;
            if !beyond {
                listed[1] = (update_list.list.len(), update_list.positions.len());
            }
        }
        if C::DECODES {
            merge(update_list.list, listed.map(|(updates, _)| updates), |update| update.id);
        }
        merge(update_list.positions, listed.map(|(_, positions)| positions), |acked| acked.id);
        if let Some(last) = update_list.list.last() {
            state.last_id = state.last_id.max(Some(last.id.0));
        }
        Ok(())
    }

    /// Codes the objects that the baseline packet updates.
    fn code_repeated<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut ModelState,
        baseline: &impl Baseline,
        update_list: &mut CodedUpdateList<'_>,
        baseline_ids: &[ObjectId],
    ) -> Result<(), ErrorKind> {
        let (mut at, mut last) = (0, 0);
        let mut acked = AckedStates::default();
        for &id in baseline_ids {
            acked.clear();
            let mut wanted = None;
            if !C::DECODES {
                wanted = find_update(update_list.list, &mut at, id);
            }
            // A writer knows the places of objects that it updates.
            let each = |state| acked.push(state);
            let acked_class = match wanted {
                Some(_) => baseline.acked_states(at, id, each),
                None => baseline.find(id, each),
            };
            let Some(acked_class) = acked_class else { continue };
            let class = usize::from(acked_class).min(self.classes - 1);
            let context = (class * 16 + activity(acked.as_slice())) * 4 + last;
            let slot = &mut state.bits[self.repeated + context];
            let is_updated = code_bit(coder, slot, MEMORY, wanted.is_some());
            last = (last * 2 + usize::from(is_updated)) & 3;
            if is_updated {
                let wanted = (id, wanted);
                self.code_kind(coder, state, update_list.list, wanted, Some(acked_class), 0)?;
                update_list.record_position(id, acked_class, &acked);
            }
        }
        Ok(())
    }

    /// Codes the objects that the baseline packet does not update.
    fn code_unrepeated<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut ModelState,
        (baseline, baseline_ids): (&impl Baseline, &[ObjectId]),
        update_list: &mut CodedUpdateList<'_>,
        repeated: usize,
        beyond: bool,
    ) -> Result<(), ErrorKind> {
        let mut acked = AckedStates::default();
        let first_beyond = state.last_id.map_or(Some(0), |last| last.checked_add(1));
        let mut next = match (beyond, first_beyond) {
            (false, _) => Some(0),
            (true, first) => first,
        };
        let is_beyond = |id: ObjectId| first_beyond.is_some_and(|first| id.0 >= first);
        let (mut at, mut count, mut coded) = (0, 0, 0);
        let given = if C::DECODES { 0 } else { update_list.list.len() };
        loop {
            // Both lists are in the order of ids.
            while at < given {
                let id = update_list.list[at].id;
                while coded < repeated && update_list.positions[coded].id < id {
                    coded += 1;
                }
                let is_coded = coded < repeated && update_list.positions[coded].id == id;
                if is_beyond(id) == beyond && !is_coded {
                    break;
                }
                at += 1;
            }
            let place = at;
            let wanted = (at < given).then(|| update_list.list[at]);
            let slot = &mut state.bits[self.has_next + usize::from(beyond) * 16 + count];
            if !code_bit(coder, slot, MEMORY, wanted.is_some()) {
                return Ok(());
            }
            count = (count + 1).min(15);
            at += 1;
            let start = next.ok_or(ErrorKind::OutOfRange)?;
            let gaps = self.gap + usize::from(beyond) * 33 * 4;
            let gap = wanted.map_or(0, |update| update.id.0.wrapping_sub(start));
            let gap = code_gap(coder, &mut state.bits[gaps..gaps + 33 * 4], gap);
            let id = ObjectId(start.checked_add(gap).ok_or(ErrorKind::OutOfRange)?);
            next = id.0.checked_add(1);
            // A malformed packet must not grow the list beyond what its bytes can code, nor update
            // an object twice.
            if !coder.is_sound() {
                return Err(ErrorKind::UnexpectedEnd);
            }
            let is_full = C::DECODES && update_list.list.len() >= update_list.max_objects;
            acked.clear();
            let class = baseline.acked_states(place, id, |state| acked.push(state));
            let is_repeated =
                C::DECODES && class.is_some() && baseline_ids.binary_search(&id).is_ok();
            if is_beyond(id) != beyond || is_repeated || is_full {
                return Err(ErrorKind::OutOfRange);
            }
            let context = 1 + usize::from(beyond);
            self.code_kind(coder, state, update_list.list, (id, wanted), class, context)?;
            if let Some(class) = class {
                update_list.record_position(id, class, &acked);
            }
        }
    }

    /// Codes the kind of an update, and the class of a full state.
    fn code_kind<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut ModelState,
        list: &mut Vec<ObjectUpdate>,
        (id, wanted): (ObjectId, Option<ObjectUpdate>),
        acked_class: Option<u16>,
        context: usize,
    ) -> Result<(), ErrorKind> {
        let is = |kind| wanted.is_some_and(|update| update.kind == kind);
        let slots = self.kind + context * 2;
        let kind = if code_bit(coder, &mut state.bits[slots], MEMORY, is(UpdateKind::Delta)) {
            UpdateKind::Delta
        } else if code_bit(coder, &mut state.bits[slots + 1], MEMORY, is(UpdateKind::Full)) {
            UpdateKind::Full
        } else {
            UpdateKind::Despawn
        };
        let class = wanted.map_or(0, |update| update.class);
        let class = match kind {
            UpdateKind::Full => self.code_class(coder, state, class)?,
            UpdateKind::Delta => acked_class.ok_or(ErrorKind::OutOfRange)?,
            UpdateKind::Despawn => 0,
        };
        if C::DECODES {
            list.push(ObjectUpdate { id, class, kind, start: 0, columns: 0 });
        }
        Ok(())
    }

    fn code_class<C: Coder>(
        &self,
        coder: &mut C,
        state: &mut ModelState,
        class: u16,
    ) -> Result<u16, ErrorKind> {
        let mut node = 1;
        for place in (0..self.class_bits).rev() {
            let bit = class >> place & 1 != 0;
            let bit = code_bit(coder, &mut state.bits[self.class + node], 60, bit);
            node = node * 2 + usize::from(bit);
        }
        let class = node - (1 << self.class_bits);
        if class < self.classes { Ok(class as u16) } else { Err(ErrorKind::OutOfRange) }
    }
}

/// Sorts a list of three sorted parts. The second and third begin at `starts`, and are mostly short; those of the
/// third are mostly above all others.
fn merge<T>(list: &mut [T], [second, third]: [usize; 2], id: impl Fn(&T) -> ObjectId) {
    if third - second > MOST_INSERTED {
        list.sort_unstable_by_key(id);
        return;
    }
    for place in second.max(1)..list.len() {
        let inserted = id(&list[place]);
        if id(&list[place - 1]) < inserted {
            continue;
        }
        if place >= third {
            list.sort_unstable_by_key(id);
            return;
        }
        let to = list[..place].partition_point(|other| id(other) < inserted);
        list[to..=place].rotate_right(1);
    }
}

/// Number of entries from which on sorting is faster than inserting one after the other.
const MOST_INSERTED: usize = 16;

/// Finds the update of an object in a list sorted by id. The search begins at `at`, which advances
/// to the first update whose id is not below `id`.
fn find_update(list: &[ObjectUpdate], at: &mut usize, id: ObjectId) -> Option<ObjectUpdate> {
    while list.get(*at).is_some_and(|update| update.id < id) {
        *at += 1;
    }
    list.get(*at).copied().filter(|update| update.id == id)
}

/// Returns the activity of an object: the bit length of the largest difference between a cell's two
/// newest acked values, at most 14; 15 if there are no two acked states.
fn activity(acked: &[AckedState<'_>]) -> usize {
    let [newest, older, ..] = acked else { return 15 };
    // The bits of all differences have the length of the largest one, and are faster to collect.
    let differences = newest.cells.iter().zip(older.cells).map(|(a, b)| {
        let difference = a.wrapping_sub(*b) as i32;
        (difference ^ (difference >> 31)).wrapping_sub(difference >> 31) as u32
    });
    let bits = differences.fold(0, |bits, difference| bits | difference);
    ((u32::BITS - bits.leading_zeros()) as usize).min(14)
}

/// Codes a gap between ids. The bit length and the two bits after the leading one are adaptive; the
/// lower bits have equal probabilities.
fn code_gap<C: Coder>(coder: &mut C, bits: &mut [u32], gap: u32) -> u32 {
    let value = u64::from(gap) + 1;
    let wanted = 63 - value.leading_zeros();
    let mut length = 0;
    while length < 32 && code_bit(coder, &mut bits[length as usize * 4], MEMORY, wanted > length) {
        length += 1;
    }
    let slots = length as usize * 4;
    let mut result = 1u64;
    for place in (0..length).rev() {
        let bit = value >> place & 1 != 0;
        let bit = match length - place {
            1 => code_bit(coder, &mut bits[slots + 1], MEMORY, bit),
            2 => code_bit(coder, &mut bits[slots + 2 + (result & 1) as usize], MEMORY, bit),
            _ => coder.bit(1 << 15, bit),
        };
        result = result << 1 | u64::from(bit);
    }
    (result - 1).min(u64::from(u32::MAX)) as u32
}
