//! Where the bits went, by field.

use tightwire::Tally;

use super::survey::Survey;

/// What one field took of all packets.
#[derive(serde::Serialize, Clone, PartialEq, Debug)]
pub(crate) struct FieldTotal {
    /// As in `Player.inventory[].count`; in brackets what is no field.
    pub(crate) path: String,
    pub(crate) count: u64,
    pub(crate) bits: f64,
    /// Of all bytes of the capture.
    pub(crate) share: f64,
}

impl FieldTotal {
    /// The bits of one.
    pub(crate) fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.bits / self.count as f64 }
    }
}

/// All fields, those that took the most first; together they are all bits of all datagrams. Only
/// those that are watched, if a field was asked for.
pub(crate) fn fields(tally: &Tally, survey: &Survey, filter: bool) -> Vec<FieldTotal> {
    let all = (survey.bytes * 8) as f64;
    let total = |path: String, count: u64, bits: f64| {
        let share = if all > 0.0 { bits / all } else { 0.0 };
        FieldTotal { path, count, bits, share }
    };
    let mut fields = Vec::new();
    let mut known = 0;
    for place in tally.places().filter(|place| place.count() > 0) {
        known += place.bits();
        if !filter || place.is_watched() {
            fields.push(total(place.path(), place.count(), place.bits() as f64));
        }
    }
    if !filter {
        let accepted = survey.packets - survey.refused;
        let padding = (survey.packet_bytes * 8).saturating_sub(known);
        for (path, count, bits) in [
            ("(protection)", accepted, survey.overhead_bytes * 8),
            ("(padding)", accepted, padding),
            ("(refused)", survey.refused, survey.refused_bytes * 8),
        ] {
            if bits > 0 {
                fields.push(total(path.into(), count, bits as f64));
            }
        }
    }
    fields.sort_by(|a, b| b.bits.total_cmp(&a.bits));
    fields
}
