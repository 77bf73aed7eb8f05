//! What the groups of a class are called.

use alloc::string::String;
use alloc::vec::Vec;

/// A path of more characters is cut: a schema from outside can ask for a thousand that are much longer
/// than itself.
const MAX_PATH: usize = 255;

/// The path of each group within the class, as in `inventory[3].count`. Groups that follow one
/// another may be of the same field: the parts of a text, a bit that says whether there is a value.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Fields {
    paths: Vec<String>,
    /// The field of each group.
    of_groups: Vec<usize>,
}

impl Fields {
    /// The place of the field with this path, which is the last one or a new one.
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

    /// The place of the field that a group is of.
    pub(crate) fn of_group(&self, group: usize) -> usize {
        self.of_groups.get(group).copied().unwrap_or_default()
    }

    pub(crate) fn path(&self, field: usize) -> &str {
        self.paths.get(field).map_or("", |path| path)
    }
}
