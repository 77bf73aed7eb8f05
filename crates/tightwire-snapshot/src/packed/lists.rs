//! The objects that a packet mentions.
//!
//! Objects of the base are mostly mentioned again: the exceptions are listed. Other objects are
//! listed by their ids. Both lists cost by their length, not by the number of objects.

use alloc::vec::Vec;

use crate::mention::{Change, Mention, is_worth_it};
use tightwire_core::schema::ObjectId;
use tightwire_core::stream::{ErrorKind, Stream};

/// The lists of one packet.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// Indices among the objects of the base that are not mentioned now, or have despawned.
    exceptions: Vec<u32>,
    exceptions_gone: Vec<bool>,
    /// Ids of mentioned objects that are not in the base.
    others: Vec<u32>,
    others_gone: Vec<bool>,
    /// Indices among the mentions of objects without a baseline. A state may have expired on the
    /// sender and not on the receiver, so the receiver cannot tell from its own history.
    fresh: Vec<u32>,
    most_mentions: usize,
}

impl Lists {
    /// Writes or reads which objects are mentioned, and the kind of each mention. The base mentions
    /// the objects `before`.
    #[inline]
    pub(super) fn code<S: Stream>(
        &mut self,
        stream: &mut S,
        list: &mut Vec<Mention>,
        mut before: &[ObjectId],
        most: usize,
    ) -> Result<(), S::Error> {
        self.reserve(list.len().max(before.len()));
        let mut goes_on = false;
        if S::WRITING {
            self.split(list, before);
            goes_on = is_worth_it(list.len() - self.others.len(), before.len());
        }
        if !before.is_empty() {
            stream.bool(&mut goes_on)?;
        }
        if !goes_on {
            before = &[];
            if S::WRITING {
                self.split(list, before);
            }
        }
        let start = stream.position();
        ascending(stream, &mut self.exceptions, before.len() as u64, before.len())?;
        ascending(stream, &mut self.others, 1 << u32::BITS, most)?;
        let is_gone = |gone: &Vec<bool>| gone.contains(&true);
        let mut is_unusual =
            !self.fresh.is_empty() || is_gone(&self.exceptions_gone) || is_gone(&self.others_gone);
        stream.bool(&mut is_unusual)?;
        if S::READING {
            self.exceptions_gone.resize(self.exceptions.len(), false);
            self.others_gone.resize(self.others.len(), false);
        }
        if is_unusual {
            let gone = self.exceptions_gone.iter_mut().chain(&mut self.others_gone);
            for gone in gone {
                stream.bool(gone)?;
            }
        }
        if S::READING
            && let Err(kind) = self.join(list, before, most)
        {
            return stream.refuse_at(kind, start);
        }
        self.most_mentions = self.most_mentions.max(list.len());
        if is_unusual {
            let start = stream.position();
            ascending(stream, &mut self.fresh, list.len() as u64, list.len())?;
            for &place in &self.fresh {
                match list.get_mut(place as usize) {
                    Some(mention) if mention.change != Change::Gone => {
                        mention.change = Change::Fresh;
                    }
                    _ => return stream.refuse_at(ErrorKind::OutOfRange, start),
                }
            }
        }
        Ok(())
    }

    /// Reserves room for the largest number of objects of a packet so far, so that in time no list
    /// has to grow.
    fn reserve(&mut self, mentions: usize) {
        self.most_mentions = self.most_mentions.max(mentions);
        self.clear();
        for list in [&mut self.exceptions, &mut self.others, &mut self.fresh] {
            list.reserve(self.most_mentions);
        }
        for list in [&mut self.exceptions_gone, &mut self.others_gone] {
            list.reserve(self.most_mentions);
        }
    }

    fn clear(&mut self) {
        for list in [&mut self.exceptions, &mut self.others, &mut self.fresh] {
            list.clear();
        }
        for list in [&mut self.exceptions_gone, &mut self.others_gone] {
            list.clear();
        }
    }

    /// Splits the mentions into exceptions and others.
    fn split(&mut self, list: &[Mention], before: &[ObjectId]) {
        self.clear();
        for (place, mention) in list.iter().enumerate() {
            if mention.change == Change::Fresh {
                self.fresh.push(place as u32);
            }
        }
        let mut mentions = list;
        let Self { exceptions, exceptions_gone, others, others_gone, .. } = self;
        let mut except = |place, is_gone| {
            exceptions.push(place as u32);
            exceptions_gone.push(is_gone);
        };
        let mut other = |mention: &Mention| {
            others.push(mention.id.0);
            others_gone.push(mention.change == Change::Gone);
        };
        for (place, id) in before.iter().enumerate() {
            while let Some((mention, rest)) = mentions.split_first()
                && mention.id < *id
            {
                other(mention);
                mentions = rest;
            }
            match mentions.split_first() {
                Some((mention, rest)) if mention.id == *id => {
                    mentions = rest;
                    if mention.change == Change::Gone {
                        except(place, true);
                    }
                }
                _ => except(place, false),
            }
        }
        mentions.iter().for_each(other);
    }

    /// The inverse of [`split`](Self::split): at most `most` mentions, each id once.
    fn join(
        &self,
        list: &mut Vec<Mention>,
        before: &[ObjectId],
        most: usize,
    ) -> Result<(), ErrorKind> {
        let unmentioned = self.exceptions_gone.iter().filter(|gone| !**gone).count();
        if before.len() - unmentioned + self.others.len() > most {
            return Err(ErrorKind::OutOfRange);
        }
        list.clear();
        let mut put = |id, is_gone| {
            let change = if is_gone { Change::Gone } else { Change::Update };
            list.push(Mention { id, class: 0, change, start: 0, columns: 0 });
        };
        let mut others = self.others.iter().zip(&self.others_gone).peekable();
        let mut exceptions = self.exceptions.iter().zip(&self.exceptions_gone).peekable();
        for (place, id) in (0..).zip(before) {
            while let Some((other, is_gone)) = others.next_if(|(other, _)| **other < id.0) {
                put(ObjectId(*other), *is_gone);
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
        others.for_each(|(other, is_gone)| put(ObjectId(*other), *is_gone));
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
        return stream.raw_word(&mut ((rest << 1 | 1) << beyond), 2 * beyond + low + 1);
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
