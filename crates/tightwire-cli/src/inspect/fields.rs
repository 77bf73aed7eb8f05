//! Bits of a capture by field.

use tightwire::packet::Tally;

use super::snapshots::{FieldBits, Snapshots};
use super::survey::Survey;
use tightwire::inspect::{family, group_in};

/// Bits of one field over all packets.
#[derive(serde::Serialize, Clone, PartialEq, Debug)]
pub(crate) struct FieldTotal {
    /// Path of the field, as in `Player.inventory[].count`; in brackets if it is no field.
    pub(crate) path: String,
    pub(crate) count: u64,
    pub(crate) bits: f64,
    /// Share of all bytes of the capture.
    pub(crate) share: f64,
    /// Name that decides the colour, the same as in x-rays.
    pub(crate) colour: String,
}

impl FieldTotal {
    /// Returns the mean bits of one occurrence.
    pub(crate) fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.bits / self.count as f64 }
    }
}

/// Collects all fields, the largest first; together they are all bits of all datagrams. With
/// `filter`, only watched fields.
pub(crate) fn fields(
    tally: &Tally,
    snapshots: &Snapshots,
    survey: &Survey,
    filter: bool,
) -> Vec<FieldTotal> {
    let all = (survey.bytes * 8) as f64;
    let total = |path: String, count: u64, bits: f64, colour: String| {
        let share = if all > 0.0 { bits / all } else { 0.0 };
        // Drops the rounding errors of summed fractions.
        FieldTotal { path, count, bits: (bits * 1e3).round() / 1e3, share, colour }
    };
    let mut fields = Vec::new();
    let mut known = 0;
    let root = tally.place(0).map_or(String::new(), |packet| packet.path() + ".");
    for place in tally.places().filter(|place| place.count() > 0) {
        known += place.bits();
        if !filter || place.is_watched() {
            let path = place.path();
            let told_apart =
                path.strip_prefix(&root).map_or(0.0, |path| snapshots.totals.bits_in(path));
            let bits = (place.bits() as f64 - told_apart).max(0.0);
            let colour = match told_apart > 0.0 {
                // The rest is the length of the snapshot.
                true => "header".into(),
                false => family(&path, &group_in(&path)),
            };
            fields.push(total(path, place.count(), bits, colour));
        }
    }
    for (path, FieldBits { bits, count, colour }) in &snapshots.totals.fields {
        let path = snapshots.whole_path(path);
        if snapshots.is_wanted(&path) {
            fields.push(total(path, *count, *bits, colour.clone()));
        }
    }
    let accepted = survey.packets - survey.refused;
    let padding = (survey.packet_bytes * 8).saturating_sub(known);
    for (path, count, bits, colour) in [
        ("(protection)", accepted, survey.overhead_bytes * 8, "header"),
        ("(padding)", accepted, padding, "padding"),
        ("(refused)", survey.refused, survey.refused_bytes * 8, "padding"),
    ] {
        if bits > 0 && snapshots.is_wanted(path) {
            fields.push(total(path.into(), count, bits as f64, colour.into()));
        }
    }
    fields.sort_by(|a, b| b.bits.total_cmp(&a.bits));
    fields
}

/// Returns the paths of all fields in the packets, whatever the filter.
pub(crate) fn all_paths(tally: &Tally, snapshots: &Snapshots) -> Vec<String> {
    let places = tally.places().filter(|place| place.count() > 0).map(|place| place.path());
    let within = snapshots.totals.fields.keys().map(|path| snapshots.whole_path(path));
    places.chain(within).collect()
}
