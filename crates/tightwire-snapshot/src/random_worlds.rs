//! Random classes, baselines and updates, for the tests of every level.

#[path = "../../tightwire/tests/common/seed.rs"]
mod seed;
#[path = "../../tightwire/tests/common/volume.rs"]
mod volume;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::layout::{Column, Derivative, Group, Kind, Layout};
use super::protocol::Protocol;
use super::update::{AckedState, Baseline, ObjectUpdates, UpdateKind, visit_acked_states};
use tightwire_core::schema::ObjectId;

pub(super) use seed::seed;
pub(super) use volume::volume;

pub(super) struct Rng(pub(super) u64);

impl Rng {
    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 16) % end
    }

    pub(super) fn is_one_in(&mut self, chances: u64) -> bool {
        self.below(chances) == 0
    }
}

pub(super) fn any_layout(rng: &mut Rng) -> Layout {
    let (mut columns, mut groups, mut presence) = (Vec::new(), Vec::<Group>::new(), Vec::new());
    let mut velocity = None;
    for index in 0..1 + rng.below(45) as usize {
        let first = columns.len();
        let mut column = |max| columns.push(Column { max });
        let mut derivative = None;
        let kind = match rng.below(6) {
            0 | 1 => Kind::Category,
            2 => Kind::Rotation { max: (8 << rng.below(18)) - 2 },
            3 => Kind::Raw,
            _ => {
                let (components, wraps) = (1 + rng.below(4) as usize, rng.is_one_in(4));
                Kind::Number { components, wraps }
            }
        };
        match kind {
            Kind::Category => column(1 + rng.below([1, 9][index % 2]) as u32),
            Kind::Rotation { max } => [3, max, max, max].into_iter().for_each(column),
            Kind::Raw => column(u32::MAX >> rng.below(32)),
            Kind::Number { components, .. } => {
                let same = velocity.filter(|(_, count)| *count == components);
                derivative = same.filter(|_| rng.is_one_in(2)).map(|(group, _)| Derivative {
                    group,
                    scale: rng.next() as i64 >> rng.below(63),
                    zero: rng.next() as i64 >> rng.below(63),
                });
                velocity = Some((index, components));
                (0..components).for_each(|_| column(u32::MAX >> rng.below(32)));
            }
        }
        let mut condition = None;
        for group in &groups {
            if group.kind == Kind::Category && rng.is_one_in(20) {
                condition = Some((group.first, rng.below(2) as u32));
            }
        }
        presence.push(condition);
        let is_position = matches!(kind, Kind::Number { components: 1..=3, .. });
        let has_position = groups.iter().any(|group| group.spatial);
        let spatial = is_position && !has_position && rng.is_one_in(2);
        let reference = spatial && rng.is_one_in(3);
        let (space, origin) = (rng.below(2), rng.below(1 << 33) as i64);
        let is_continuous = false;
        groups.push(Group {
            first,
            kind,
            is_continuous,
            spatial,
            space,
            origin,
            unit: Default::default(),
            reference,
            audience: Default::default(),
            derivative,
        });
    }
    Layout::of_groups(columns, groups, &presence)
}

/// Changes an object: some groups a little, some far, most not at all.
pub(super) fn mutate(rng: &mut Rng, layout: &Layout, cells: &mut [u32], all: bool) {
    for (index, group) in layout.groups.iter().enumerate() {
        let far = all || rng.is_one_in(30);
        if far || rng.is_one_in(3) {
            for column in group.columns() {
                let max = u64::from(layout.columns[column].max);
                let near = (u64::from(cells[column]) + rng.below(20)).saturating_sub(9).min(max);
                cells[column] = if far { rng.below(max + 1) } else { near } as u32;
            }
        }
        if !layout.is_present(index, cells) {
            cells[group.columns()].fill(0);
        }
    }
}

/// A class, and baseline states with their ages, newest first.
pub(super) type ObjectBaseline = (u16, Vec<(u32, Vec<u32>)>);

/// A baseline.
#[derive(Default)]
pub(super) struct FakeBaseline {
    pub(super) objects: BTreeMap<u32, ObjectBaseline>,
    pub(super) before: Vec<ObjectId>,
}

impl Baseline for FakeBaseline {
    fn find<'k>(&'k self, id: ObjectId, each: impl FnMut(AckedState<'k>) -> bool) -> Option<u16> {
        self.acked_states(0, id, each)
    }

    fn acked_states<'k>(
        &'k self,
        _: usize,
        id: ObjectId,
        each: impl FnMut(AckedState<'k>) -> bool,
    ) -> Option<u16> {
        let (class, states) = self.objects.get(&id.0)?;
        let mut states = states.iter().map(|(age, cells)| AckedState { age: *age, cells });
        visit_acked_states(states.next()?, None, states, each);
        Some(*class)
    }

    fn baseline_ids(&self) -> &[ObjectId] {
        &self.before
    }
}

pub(super) const MAX_OBJECTS: usize = 40;

/// Updates of random objects, some with a baseline; every kind of change occurs with every
/// baseline with which it can.
pub(super) fn random_updates(
    rng: &mut Rng,
    protocol: &Protocol,
    baseline: &FakeBaseline,
    into: &mut ObjectUpdates,
) {
    into.clear();
    for place in 0..MAX_OBJECTS as u32 {
        // Ids at both ends of their range.
        let id =
            ObjectId(if place % 2 == 0 { place } else { u32::MAX - MAX_OBJECTS as u32 + place });
        let acked = baseline.objects.get(&id.0);
        let kind = match rng.below(20) {
            0 => UpdateKind::Despawn,
            1 => UpdateKind::Full,
            2..10 if acked.is_some() => UpdateKind::Delta,
            _ => continue,
        };
        let fresh_class = rng.below(protocol.classes().len() as u64) as u16;
        let class =
            acked.filter(|_| kind == UpdateKind::Delta).map_or(fresh_class, |acked| acked.0);
        let layout = &protocol.classes()[usize::from(class)].layout;
        let mut cells = match (kind, acked) {
            (UpdateKind::Delta, Some((_, states))) => states[0].1.clone(),
            _ => vec![0; layout.columns.len()],
        };
        if kind != UpdateKind::Despawn {
            mutate(rng, layout, &mut cells, kind == UpdateKind::Full);
        }
        into.push(id, class, kind, &cells);
    }
    into.list.sort_by_key(|update| update.id);
}

/// Updates the baseline by the updates.
pub(super) fn apply(rng: &mut Rng, baseline: &mut FakeBaseline, updates: &ObjectUpdates) {
    baseline.before = updates.list.iter().map(|update| update.id).collect();
    for (_, states) in baseline.objects.values_mut() {
        let later = rng.below(9) as u32;
        states.iter_mut().for_each(|(age, _)| *age += later);
    }
    for update in &updates.list {
        let Some(cells) = updates.cells_of(update) else {
            baseline.objects.remove(&update.id.0);
            continue;
        };
        let object = baseline.objects.entry(update.id.0).or_default();
        if update.kind == UpdateKind::Full {
            *object = (update.class, Vec::new());
        }
        let age = 1 + rng.below(9) as u32;
        object.1.iter_mut().for_each(|(old, _)| *old = (*old).max(age));
        object.1.insert(0, (age, cells.to_vec()));
        object.1.truncate(3);
    }
}

/// Returns the updates with their cells, independent of the order of cells in memory.
pub(super) fn contents(
    updates: &ObjectUpdates,
) -> Vec<(ObjectId, u16, UpdateKind, Option<&[u32]>)> {
    let contents = |update| (update, updates.cells_of(update));
    let list = updates.list.iter().map(contents);
    list.map(|(update, cells)| (update.id, update.class, update.kind, cells)).collect()
}

/// Returns a packet that is cut short, random, or has a few wrong bits.
pub(super) fn damaged(rng: &mut Rng, packet: &[u8]) -> Vec<u8> {
    let mut bytes = packet.to_vec();
    match rng.below(4) {
        0 => bytes.truncate(rng.below(packet.len() as u64 + 1) as usize),
        1 => bytes = (0..rng.below(200)).map(|_| rng.next() as u8).collect(),
        _ if bytes.is_empty() => {}
        _ => {
            for _ in 0..=rng.below(3) {
                let place = rng.below(bytes.len() as u64) as usize;
                bytes[place] ^= 1 << rng.below(8);
            }
        }
    }
    bytes
}

/// Asserts that each object is updated once, and its cells are in the range of its class.
pub(super) fn assert_in_order_and_range(protocol: &Protocol, updates: &ObjectUpdates) {
    assert!(updates.list.is_sorted_by(|a, b| a.id < b.id));
    for update in &updates.list {
        let Some(cells) = updates.cells_of(update) else { continue };
        let columns = &protocol.classes()[usize::from(update.class)].layout.columns;
        assert_eq!(cells.len(), columns.len());
        assert!(cells.iter().zip(columns).all(|(cell, column)| *cell <= column.max));
    }
}
