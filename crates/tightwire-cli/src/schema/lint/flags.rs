//! Advice on adjacent bools.

use tightwire::bytes::Packing;
use tightwire::stream::{Field, Op, Shape};

use super::{Linter, Saving};
use crate::terminal::safe;

/// Number of adjacent bools from which advice is given without a capture.
const MANY: usize = 8;

/// Number of adjacent bools from which a capture decides whether one flag before them pays.
pub(super) const SOME: usize = 3;

impl Linter<'_> {
    /// Advises on adjacent bools, and returns whether there was any advice.
    pub(super) fn flags(&mut self, run: &[Field]) -> bool {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { return false };
        let before = self.advice.len();
        let count = run.len() as u64;
        let names = format!("{} to {}", safe(&first.name), safe(&last.name));
        let name = format!(".{}", safe(&first.name));
        self.step(&name, |lint| match lint.packing {
            Packing::Bytes if count > 1 => {
                let bytes = count.div_ceil(8).next_power_of_two();
                let what = format!(
                    "{count} bools take a byte each, {names}: as flags of one number with \
                     `bits = {count}` they take {} in all",
                    crate::terminal::counted(bytes, "byte")
                );
                lint.advise("flags", what, Saving::Always(8 * count.saturating_sub(bytes)));
            }
            Packing::Bits => lint.packed_flags(count, &names),
            _ => {}
        });
        self.advice.len() > before
    }

    fn packed_flags(&mut self, count: u64, names: &str) {
        let advice =
            "put a bool in front that says whether any is true, and the others behind `when`";
        let observed = self.seen.and_then(|seen| seen.flags(&self.path));
        match observed {
            Some(flags) if flags.count >= super::statistics::ENOUGH => {
                let share = flags.all_false as f64 / flags.count as f64;
                let saves = count as f64 - (1.0 + (1.0 - share) * count as f64);
                let what = format!(
                    "{count} bools, {names}, are all false in {:.0}% of this capture: {advice}",
                    share * 100.0
                );
                if saves > 0.5 {
                    self.advise("flags", what, Saving::OnAverage(saves));
                }
            }
            _ if count as usize >= MANY => {
                let what = format!("{count} bools, {names}: if mostly none is true, {advice}");
                self.advise("flags", what, Saving::UpTo(count - 1));
            }
            _ => {}
        }
    }
}

/// Returns the runs of adjacent bools that are always sent.
pub(super) fn runs(fields: &[Field]) -> impl Iterator<Item = &[Field]> {
    let is_flag =
        |field: &Field| field.when.is_none() && matches!(field.shape, Shape::Op(Op::Bool));
    let runs = fields.chunk_by(move |a, b| is_flag(a) && is_flag(b));
    runs.filter(move |run| run.first().is_some_and(is_flag))
}
