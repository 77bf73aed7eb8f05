//! The columns and groups of an input type.

use std::fmt;
use std::ops::Range;

/// Columns of an input's row, and the groups in which they change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct InputLayout {
    maxima: Vec<u32>,
    groups: Vec<Range<usize>>,
}

/// Reason why a type cannot be an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum InputLayoutError {
    /// The type has more columns than 64.
    TooManyColumns {
        /// Columns of the type.
        columns: usize,
    },
    /// The groups overlap, are out of order or empty, or reach beyond the columns.
    Groups,
}

impl InputLayout {
    /// Largest number of columns of an input, which bounds the work and memory per peer.
    pub(crate) const MAX_COLUMNS: usize = 64;

    /// Creates a layout from the largest cell of each column and the groups of columns, ascending
    /// and disjoint. A column in no group is always 0.
    pub(crate) fn new(
        maxima: Vec<u32>,
        groups: Vec<Range<usize>>,
    ) -> Result<Self, InputLayoutError> {
        let columns = maxima.len();
        if columns > Self::MAX_COLUMNS {
            return Err(InputLayoutError::TooManyColumns { columns });
        }
        let mut end = 0;
        for group in &groups {
            if group.start < end || group.is_empty() || group.end > columns {
                return Err(InputLayoutError::Groups);
            }
            end = group.end;
        }
        Ok(Self { maxima, groups })
    }

    /// Number of columns.
    pub(crate) fn columns(&self) -> usize {
        self.maxima.len()
    }

    /// Number of bits of an input without its flags.
    #[cfg(test)]
    pub(crate) fn whole_bits(&self) -> u64 {
        let columns = self.groups.iter().flat_map(|group| &self.maxima[group.clone()]);
        columns.map(|&max| u64::from(u32::BITS - max.leading_zeros())).sum()
    }

    pub(super) fn groups(&self) -> &[Range<usize>] {
        &self.groups
    }

    pub(super) fn max(&self, column: usize) -> u32 {
        self.maxima[column]
    }
}

impl fmt::Display for InputLayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TooManyColumns { columns } => write!(
                f,
                "the input type has {columns} numbers, and an input has at most {}: send fewer, or \
                 send the others as messages",
                InputLayout::MAX_COLUMNS
            ),
            Self::Groups => f.write_str("the groups of the input type are not ascending ranges"),
        }
    }
}

impl std::error::Error for InputLayoutError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_that_cannot_be_coded_is_refused() {
        let layout = |columns, groups: &[Range<usize>]| {
            InputLayout::new(vec![1; columns], groups.to_vec()).map(|_| ())
        };
        assert_eq!(layout(64, &[0..1, 5..64]), Ok(()));
        assert_eq!(layout(65, &[]), Err(InputLayoutError::TooManyColumns { columns: 65 }));
        for groups in [&[0..2, 1..3][..], &[2..3, 0..1], &[0..1, 1..1], &[0..1, 3..5]] {
            assert_eq!(layout(4, groups), Err(InputLayoutError::Groups), "{groups:?}");
        }
    }

    #[test]
    fn a_whole_input_has_the_bits_of_the_columns_in_groups() {
        let layout = InputLayout::new(vec![2, 0, 255, u32::MAX, 7], vec![0..3, 3..4]);
        assert_eq!(layout.map(|layout| layout.whole_bits()), Ok(2 + 8 + 32));
    }
}
