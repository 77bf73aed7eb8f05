//! Names of fields in Wireshark's filters.

use std::collections::HashMap;

/// One step of a filter: what Wireshark allows there, `SnapshotPacket` as `snapshot_packet`.
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

/// What all filters of a protocol begin with: a letter first.
pub(super) fn filter_name(name: &str) -> String {
    let name = step(name);
    match name.starts_with(|char: char| char.is_ascii_lowercase()) {
        true => name,
        false => format!("tw_{name}"),
    }
}

/// The filters of a schema. Two fields share one if they are of one type: the same field in two
/// places has the same name, as the lengths of lists in lists.
#[derive(Debug, Default)]
pub(super) struct Filters {
    types: HashMap<String, &'static str>,
}

/// What the runtime calls its own fields.
const TAKEN: [&str; 11] = [
    "crc32",
    "crc32.status",
    "data",
    "expert",
    "protocol_id",
    "protocol_id.status",
    "refused",
    "refused.reason",
    "refused.field",
    "refused.bit",
    "undescribed",
];

/// The type of fields that belong to one place only: their values have names.
pub(super) const ENUM: &str = "enum";

impl Filters {
    /// A filter like `wanted` for a field of this type.
    pub(super) fn take(&mut self, wanted: &str, field_type: &'static str) -> String {
        let mut filter = wanted.to_owned();
        let mut number = 1;
        loop {
            let is_reserved = TAKEN.contains(&&*filter) || filter.starts_with("expert.");
            match self.types.get(&filter) {
                None if !is_reserved => break,
                Some(taken) if *taken == field_type && field_type != ENUM => return filter,
                _ => {}
            }
            number += 1;
            filter = format!("{wanted}_{number}");
        }
        self.types.insert(filter.clone(), field_type);
        filter
    }
}
