//! The order in which groups are coded.

use alloc::vec;
use alloc::vec::Vec;

use super::Group;
use super::condition::Guard;

/// A group in the order of the declaration.
pub(super) struct Draft {
    pub(super) group: Group,
    pub(super) guard: Option<usize>,
    pub(super) field: usize,
}

/// The groups, and the guard and the field of each.
pub(super) type Ordered = (Vec<Group>, (Vec<Option<usize>>, Vec<usize>));

/// Returns the groups in the order of the declaration, except that a position comes after its
/// velocity. Where conditions forbid that, the position loses its derivative.
pub(super) fn ordered(mut drafts: Vec<Draft>, guards: &[Guard], columns: usize) -> Ordered {
    let needed = needed(&drafts, guards, columns);
    let mut places: Vec<Option<usize>> = vec![None; drafts.len()];
    let mut order = Vec::new();
    while order.len() < drafts.len() {
        let is_waiting = |draft: usize| places[draft].is_none();
        let lacks = |draft: usize| {
            let derivative = drafts[draft].group.derivative;
            derivative.filter(|derivative| is_waiting(derivative.group))
        };
        let is_free = |draft: usize| !needed[draft].iter().any(|&before| is_waiting(before));
        let mut waiting = (0..drafts.len()).filter(|&draft| is_waiting(draft));
        match waiting.clone().find(|&draft| is_free(draft) && lacks(draft).is_none()) {
            Some(draft) => {
                places[draft] = Some(order.len());
                order.push(draft);
            }
            // All remaining groups wait for another. Conditions alone, which look back, cannot
            // cause that.
            None => match waiting.find(|&draft| is_free(draft)) {
                Some(draft) => drafts[draft].group.derivative = None,
                None => break,
            },
        }
    }
    let in_order = |&draft: &usize| {
        let Draft { mut group, guard, field } = drafts[draft];
        if let Some(derivative) = &mut group.derivative {
            derivative.group = places[derivative.group].unwrap_or_default();
        }
        (group, (guard, field))
    };
    order.iter().map(in_order).unzip()
}

/// Returns for each group the groups that its presence depends on.
fn needed(drafts: &[Draft], guards: &[Guard], columns: usize) -> Vec<Vec<usize>> {
    let mut group_of = vec![None; columns];
    for (index, draft) in drafts.iter().enumerate() {
        group_of[draft.group.columns()].fill(Some(index));
    }
    // By group and not by guard: a list of empty elements has many guards, and no groups.
    let needed_by = |draft: &Draft| {
        let mut found = Vec::new();
        let mut next = draft.guard;
        while let Some(guard) = next.and_then(|guard| guards.get(guard)) {
            guard.test.columns(&mut found);
            next = guard.outer;
        }
        let mut groups: Vec<_> = found.iter().filter_map(|&column| group_of[column]).collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    };
    drafts.iter().map(needed_by).collect()
}
