//! Names of fields in Wireshark's filters.

use std::collections::{HashMap, HashSet};

/// Returns one step of a filter in Wireshark's characters: `snapshot_packet` for `SnapshotPacket`.
pub(super) fn step(name: &str) -> String {
    let mut step = String::with_capacity(name.len());
    let mut after_lower = false;
    for char in name.chars() {
        if char.is_ascii_uppercase() && after_lower {
            step.push('_');
        }
        after_lower = char.is_ascii_lowercase() || char.is_ascii_digit();
        step.push(if char.is_ascii_alphanumeric() { char.to_ascii_lowercase() } else { '_' });
    }
    step
}

/// Returns the prefix of a protocol's filters, which begins with a letter.
pub(super) fn filter_name(name: &str) -> String {
    let name = step(name);
    match name.starts_with(|char: char| char.is_ascii_lowercase()) {
        true => name,
        false => format!("tw_{name}"),
    }
}

/// The filters of a schema. Fields of the same name and type share a filter, for example the
/// lengths of nested lists.
#[derive(Debug, Default)]
pub(super) struct Filters {
    taken: HashSet<String>,
    /// Filters by name and type of their fields.
    shared: HashMap<(String, &'static str), String>,
    /// Number of requests by name, so that many equal names do not take quadratic time.
    counts: HashMap<String, u32>,
}

/// First steps of the runtime's own filters.
const TAKEN: [&str; 6] = ["crc32", "data", "expert", "protocol_id", "refused", "undescribed"];

/// Returns the first step of the filters of a packet type.
pub(super) fn root_step(name: &str) -> String {
    let step = step(name);
    if TAKEN.contains(&&*step) { format!("{step}_packet") } else { step }
}

/// Type of fields that never share a filter: the names of their values differ.
pub(super) const ENUM: &str = "enum";

impl Filters {
    /// Returns a filter for a field of this type, as close to `wanted` as possible.
    pub(super) fn take(&mut self, wanted: &str, field_type: &'static str) -> String {
        let key = (wanted.to_owned(), field_type);
        if let Some(shared) = self.shared.get(&key).filter(|_| field_type != ENUM) {
            return shared.clone();
        }
        let count = self.counts.entry(wanted.to_owned()).or_default();
        let filter = loop {
            *count += 1;
            let filter = match *count {
                1 => wanted.to_owned(),
                count => format!("{wanted}_{count}"),
            };
            if self.taken.insert(filter.clone()) {
                break filter;
            }
        };
        self.shared.insert(key, filter.clone());
        filter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_what_wireshark_allows() {
        assert_eq!(step("SnapshotPacket"), "snapshot_packet");
        assert_eq!(step("at_rest"), "at_rest");
        assert_eq!(step("HP"), "hp");
        assert_eq!(step("größe 2"), "gr__e_2");
        assert_eq!(root_step("Data"), "data_packet");
        assert_eq!(filter_name("2D"), "tw_2_d");
        assert_eq!(filter_name(""), "tw_");
    }

    #[test]
    fn fields_of_one_type_share_a_filter_and_others_do_not() {
        let mut filters = Filters::default();
        assert_eq!(filters.take("player.len", "uint32"), "player.len");
        assert_eq!(filters.take("player.len", "uint32"), "player.len");
        assert_eq!(filters.take("player.len", "bool"), "player.len_2");
        assert_eq!(filters.take("player.len", "float"), "player.len_3");
        assert_eq!(filters.take("player.kind", ENUM), "player.kind");
        assert_eq!(filters.take("player.kind", ENUM), "player.kind_2");
    }
}
