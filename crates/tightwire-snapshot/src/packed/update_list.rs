//! The objects that a packet updates.
//!
//! Objects of the baseline packet are mostly updated again: the exceptions are listed. Other
//! objects are listed by their ids. Both lists cost by their length, not by the number of objects.

use alloc::vec::Vec;

use crate::update::{ObjectUpdate, UpdateKind, flags_pay_off};
use tightwire_core::schema::ObjectId;
use tightwire_core::stream::{ErrorKind, Stream};

/// The lists of one packet.
#[derive(Debug, Default)]
pub(super) struct UpdateList {
    /// Indices among the objects of the baseline packet that are not updated now, or have
    /// despawned.
    exceptions: Vec<u32>,
    exceptions_despawned: Vec<bool>,
    /// Ids of updated objects that are not in the baseline packet.
    others: Vec<u32>,
    others_despawned: Vec<bool>,
    /// Indices among the updates of objects without a baseline. A state may have expired on the
    /// sender and not on the receiver, so the receiver cannot tell from its own history.
    full: Vec<u32>,
    max_updates: usize,
}

impl UpdateList {
    /// Writes or reads which objects are updated, and the kind of each update. The baseline packet
    /// updates the objects `baseline_ids`.
    #[inline]
    pub(super) fn code<S: Stream>(
        &mut self,
        stream: &mut S,
        list: &mut Vec<ObjectUpdate>,
        mut baseline_ids: &[ObjectId],
        most: usize,
    ) -> Result<(), S::Error> {
        self.reserve(list.len().max(baseline_ids.len()));
        let mut repeats_baseline = false;
        if S::WRITING {
            self.split(list, baseline_ids);
            repeats_baseline = flags_pay_off(list.len() - self.others.len(), baseline_ids.len());
        }
        if !baseline_ids.is_empty() {
            stream.bool(&mut repeats_baseline)?;
        }
        if !repeats_baseline {
            baseline_ids = &[];
            if S::WRITING {
                self.split(list, baseline_ids);
            }
        }
        let start = stream.position();
        ascending(stream, &mut self.exceptions, baseline_ids.len() as u64, baseline_ids.len())?;
        ascending(stream, &mut self.others, 1 << u32::BITS, most)?;
        let is_despawned = |despawned: &Vec<bool>| despawned.contains(&true);
        let mut is_unusual = !self.full.is_empty()
            || is_despawned(&self.exceptions_despawned)
            || is_despawned(&self.others_despawned);
        stream.bool(&mut is_unusual)?;
        if S::READING {
            self.exceptions_despawned.resize(self.exceptions.len(), false);
            self.others_despawned.resize(self.others.len(), false);
        }
        if is_unusual {
            let despawned = self.exceptions_despawned.iter_mut().chain(&mut self.others_despawned);
            for despawned in despawned {
                stream.bool(despawned)?;
            }
        }
        if S::READING
            && let Err(kind) = self.join(list, baseline_ids, most)
        {
            return stream.refuse_at(kind, start);
        }
        self.max_updates = self.max_updates.max(list.len());
        if is_unusual {
            let start = stream.position();
            ascending(stream, &mut self.full, list.len() as u64, list.len())?;
            for &place in &self.full {
                match list.get_mut(place as usize) {
                    Some(update) if update.kind != UpdateKind::Despawn => {
                        update.kind = UpdateKind::Full;
                    }
                    _ => return stream.refuse_at(ErrorKind::OutOfRange, start),
                }
            }
        }
        Ok(())
    }

    /// Reserves room for the largest number of objects of a packet so far, rounded up to a power of
    /// two, so that in time no list has to grow.
    fn reserve(&mut self, updates: usize) {
        self.max_updates = self.max_updates.max(updates).next_power_of_two();
        self.clear();
        for list in [&mut self.exceptions, &mut self.others, &mut self.full] {
            list.reserve(self.max_updates);
        }
        for list in [&mut self.exceptions_despawned, &mut self.others_despawned] {
            list.reserve(self.max_updates);
        }
    }

    fn clear(&mut self) {
        for list in [&mut self.exceptions, &mut self.others, &mut self.full] {
            list.clear();
        }
        for list in [&mut self.exceptions_despawned, &mut self.others_despawned] {
            list.clear();
        }
    }

    /// Fills the lists: `exceptions` among the objects of the baseline packet, `others`, and
    /// `full`.
    fn split(&mut self, list: &[ObjectUpdate], baseline_ids: &[ObjectId]) {
        self.clear();
        for (place, update) in list.iter().enumerate() {
            if update.kind == UpdateKind::Full {
                self.full.push(place as u32);
            }
        }
        let mut updates = list;
        let Self { exceptions, exceptions_despawned, others, others_despawned, .. } = self;
        let mut except = |place, is_despawned| {
            exceptions.push(place as u32);
            exceptions_despawned.push(is_despawned);
        };
        let mut other = |update: &ObjectUpdate| {
            others.push(update.id.0);
            others_despawned.push(update.kind == UpdateKind::Despawn);
        };
        for (place, id) in baseline_ids.iter().enumerate() {
            while let Some((update, rest)) = updates.split_first()
                && update.id < *id
            {
                other(update);
                updates = rest;
            }
            match updates.split_first() {
                Some((update, rest)) if update.id == *id => {
                    updates = rest;
                    if update.kind == UpdateKind::Despawn {
                        except(place, true);
                    }
                }
                _ => except(place, false),
            }
        }
        updates.iter().for_each(other);
    }

    /// The inverse of [`split`](Self::split): at most `most` updates, each id once.
    fn join(
        &self,
        list: &mut Vec<ObjectUpdate>,
        baseline_ids: &[ObjectId],
        most: usize,
    ) -> Result<(), ErrorKind> {
        let skipped = self.exceptions_despawned.iter().filter(|despawned| !**despawned).count();
        if baseline_ids.len() - skipped + self.others.len() > most {
            return Err(ErrorKind::OutOfRange);
        }
        list.clear();
        let mut put = |id, is_despawned| {
            let kind = if is_despawned { UpdateKind::Despawn } else { UpdateKind::Delta };
            list.push(ObjectUpdate { id, class: 0, kind, start: 0, columns: 0 });
        };
        let mut others = self.others.iter().zip(&self.others_despawned).peekable();
        let mut exceptions = self.exceptions.iter().zip(&self.exceptions_despawned).peekable();
        for (place, id) in (0..).zip(baseline_ids) {
            while let Some((other, is_despawned)) = others.next_if(|(other, _)| **other < id.0) {
                put(ObjectId(*other), *is_despawned);
            }
            if others.peek().is_some_and(|(other, _)| **other == id.0) {
                return Err(ErrorKind::NotIncreasing);
            }
            match exceptions.next_if(|(exception, _)| **exception == place) {
                Some((_, false)) => {}
                Some((_, true)) => put(*id, true),
                None => put(*id, false),
            }
        }
        others.for_each(|(other, is_despawned)| put(ObjectId(*other), *is_despawned));
        Ok(())
    }
}

/// Codes a number, small ones in few bits: in unary the number of bits beyond the lowest `low`,
/// then the bits.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn count<S: Stream>(stream: &mut S, value: &mut u32, low: u32) -> Result<(), S::Error> {
    let start = stream.position();
    let shifted = u64::from(*value) + (1 << low);
    let mut beyond = shifted.ilog2() - low;
    if S::WRITING && 2 * beyond + low < u32::BITS {
        // In one step, as most numbers are small.
        let rest = shifted & !(1 << (beyond + low));
        return stream.raw_fitting(&mut ((rest << 1 | 1) << beyond), 2 * beyond + low + 1);
    }
    stream.raw_unary(&mut beyond, u32::BITS)?;
    let width = beyond + low;
    let mut rest = shifted & !(1 << width);
    stream.raw_bits(&mut rest, width)?;
    if S::READING {
        match u32::try_from((rest | 1 << width) - (1 << low)) {
            Ok(read) => *value = read,
            Err(_) => return stream.refuse_at(ErrorKind::OutOfRange, start),
        }
    }
    Ok(())
}

/// Codes at most `most` ascending numbers below `end`, by their distances.
fn ascending<S: Stream>(
    stream: &mut S,
    list: &mut Vec<u32>,
    end: u64,
    most: usize,
) -> Result<(), S::Error> {
    let start = stream.position();
    let mut length = list.len() as u32;
    count(stream, &mut length, 2)?;
    if length as usize > most {
        return stream.refuse_at(ErrorKind::OutOfRange, start);
    }
    let mut low = 0;
    if S::WRITING {
        low = list.last().map_or(0, |last| (last / length).max(1).ilog2().into());
    } else {
        list.clear();
    }
    if length == 0 {
        return Ok(());
    }
    stream.raw_bits(&mut low, 5)?;
    let mut next = 0;
    for index in 0..length as usize {
        let mut distance = 0;
        if S::WRITING {
            distance = (u64::from(list[index]) - next) as u32;
        }
        count(stream, &mut distance, low as u32)?;
        let value = next + u64::from(distance);
        if value >= end {
            return stream.refuse_at(ErrorKind::OutOfRange, start);
        }
        if S::READING {
            // Each number takes at least a bit, so the size of the packet bounds the list.
            list.push(value as u32);
        }
        next = value + 1;
    }
    Ok(())
}
