//! Rows as a receiver gets them: with neutral values in the fields that only the owner, or only
//! others, get.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Audience, Group, Kind, Layout};

impl Layout {
    /// Whether the class has groups for this audience.
    pub(crate) fn has_audience(&self, audience: Audience) -> bool {
        self.groups.iter().any(|group| group.audience == audience)
    }

    /// Copies a row, with neutral values in the groups for `hidden`: zero or the number of the range
    /// that is nearest to it, false, the first variant, none, no text, no elements, no rotation.
    pub(crate) fn mask(&self, cells: &[u32], hidden: Audience, masked: &mut Vec<u32>) {
        masked.clear();
        masked.extend_from_slice(cells);
        for (place, group) in self.groups.iter().enumerate() {
            if group.audience == hidden {
                // Groups are after those that their presence depends on.
                let is_present = self.is_present(place, masked);
                for (component, column) in group.columns().enumerate() {
                    let neutral = self.neutral(group, component, column);
                    if let Some(cell) = masked.get_mut(column) {
                        *cell = if is_present { neutral } else { 0 };
                    }
                }
            }
        }
    }

    fn neutral(&self, group: &Group, component: usize, column: usize) -> u32 {
        let max = self.columns.get(column).map_or(0, |column| column.max);
        match group.kind {
            Kind::Category | Kind::Raw => 0,
            // The cast saturates.
            Kind::Number { .. } => libm::round(group.unit.zero) as u32,
            Kind::Rotation { .. } if component == 0 => 3,
            Kind::Rotation { max } => max / 2,
        }
        .min(max)
    }

    /// Returns the path of a group that would reveal a restricted group to other receivers, since
    /// its presence depends on the restricted one; `None` if there is no such group.
    pub(super) fn betrayed(&self) -> Option<String> {
        let mut audiences = alloc::vec![Audience::All; self.columns.len()];
        for group in &self.groups {
            audiences[group.columns()].fill(group.audience);
        }
        let mut found = Vec::new();
        let place = self.groups.iter().enumerate().position(|(place, group)| {
            found.clear();
            let mut next = self.presence.get(place).copied().flatten();
            while let Some(guard) = next.and_then(|guard| self.guards.get(guard)) {
                guard.test.columns(&mut found);
                next = guard.outer;
            }
            found.iter().any(|&column| {
                !matches!(audiences.get(column), None | Some(Audience::All))
                    && audiences.get(column) != Some(&group.audience)
            })
        })?;
        Some(self.fields.path(self.fields.of_group(place)).to_string())
    }
}
