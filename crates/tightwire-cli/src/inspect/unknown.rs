//! The error for a requested field that no packet has.

use std::cmp::Reverse;

use tightwire::packet::Tally;

use super::fields::{FieldTotal, all_paths};
use super::snapshots::Snapshots;

/// Maximum number of similar fields in the error.
const MAX_NAMED: usize = 4;

/// Maximum number of compared characters: names may be of any length.
const MAX_COMPARED: usize = 64;

/// Returns the error if no field was found; `None` otherwise.
pub(crate) fn unknown(
    asked: &str,
    found: &[FieldTotal],
    tally: &Tally,
    snapshots: &Snapshots,
) -> Option<String> {
    if !found.is_empty() {
        return None;
    }
    if tally.packets() == 0 {
        return Some(format!("no field `{asked}`: the capture has no packet that could be read"));
    }
    let mut paths = all_paths(tally, snapshots);
    let count = paths.len();
    paths.sort_by_cached_key(|path| (Reverse(has_part(asked, path)), distance(asked, path)));
    paths.truncate(MAX_NAMED);
    let more = if count > paths.len() { ", …" } else { "" };
    Some(format!("no field `{asked}` in any packet: there are {}{more}", paths.join(", ")))
}

/// Returns whether the path contains the requested name, or the name contains the path's last step.
fn has_part(asked: &str, path: &str) -> bool {
    let (asked, path) = (asked.to_lowercase(), path.to_lowercase());
    let last = last_steps(&path, 1);
    path.contains(&asked) || (last.len() > 2 && asked.contains(&last))
}

/// Returns the edit distance between the requested name and as many of the path's last steps.
fn distance(asked: &str, path: &str) -> usize {
    let path = last_steps(path, asked.split('.').count());
    let letters = |text: &str| -> Vec<char> {
        text.chars().flat_map(char::to_lowercase).take(MAX_COMPARED).collect()
    };
    let (asked, path) = (letters(asked), letters(&path));
    let mut row: Vec<usize> = (0..=path.len()).collect();
    for (place, letter) in asked.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = place + 1;
        for (column, other) in path.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[path.len()]
}

fn last_steps(path: &str, count: usize) -> String {
    let steps: Vec<_> = path.split('.').collect();
    steps[steps.len().saturating_sub(count)..].join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_differ_are_counted_in_the_last_steps() {
        assert_eq!(distance("Player.health", "Message.Player.health"), 0);
        assert_eq!(distance("helth", "Message.Player.health"), 1);
        assert_eq!(distance("", "health"), 6);
    }
}
