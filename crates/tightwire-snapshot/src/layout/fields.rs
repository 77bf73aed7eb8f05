//! Names of the groups of a class, and the columns of its fields.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use tightwire_core::stream::Name;

/// Limit of a path, in characters: a schema from outside can ask for a thousand paths that are much
/// longer than itself.
const MAX_PATH: usize = 255;

/// Path of each group within the class, as `inventory[3].count`. Adjacent groups may have the same
/// field: the parts of a text, or an option and its value.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Fields {
    paths: Vec<String>,
    /// Index of the field of each group.
    of_groups: Vec<usize>,
    /// Name and columns of each field of the class itself, not of fields within those.
    outermost: Vec<(Name, Range<usize>)>,
}

impl Fields {
    /// Returns the index of the field with this path, which is the last one or a new one.
    pub(super) fn add(&mut self, path: &str) -> usize {
        let path: String = path.chars().take(MAX_PATH).collect();
        if self.paths.last() != Some(&path) {
            self.paths.push(path);
        }
        self.paths.len() - 1
    }

    pub(super) fn set_groups(&mut self, of_groups: Vec<usize>) {
        self.of_groups = of_groups;
    }

    pub(super) fn set_outermost(&mut self, outermost: Vec<(Name, Range<usize>)>) {
        self.outermost = outermost;
    }

    /// Returns the columns of a field of the class itself.
    pub(crate) fn columns_of(&self, name: &str) -> Option<Range<usize>> {
        let found = self.outermost.iter().find(|(field, _)| **field == *name);
        found.map(|(_, columns)| columns.clone())
    }

    /// Returns the index of a group's field.
    pub(crate) fn of_group(&self, group: usize) -> usize {
        self.of_groups.get(group).copied().unwrap_or_default()
    }

    pub(crate) fn path(&self, field: usize) -> &str {
        self.paths.get(field).map_or("", |path| path)
    }
}
