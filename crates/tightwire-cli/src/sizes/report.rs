//! The sizes as a table, a plot and JSON.

use std::fmt::Write as _;

use serde_json::json;

use super::input::MeasuredWorld;
use super::ladder::SizeRow;
use crate::svg::{Bar, bar_plot};
use crate::terminal::{Colour, Terminal, bar, counted, thousands, wrapped};

pub(super) struct SizeReport {
    pub(super) input: MeasuredWorld,
    pub(super) ladder: Vec<SizeRow>,
    /// Length of the schema in bytes, which is sent once.
    pub(super) schema_bytes: usize,
}

impl SizeReport {
    /// Returns the bytes of the first representation.
    fn most(&self) -> f64 {
        let first = self.ladder.iter().find_map(|rung| rung.bytes.as_ref().ok());
        first.map_or(1.0, |&bytes| bytes as f64)
    }

    fn objects(&self) -> usize {
        self.input.world.objects().len()
    }

    fn per_object(&self, bytes: usize) -> f64 {
        bytes as f64 / self.objects().max(1) as f64
    }

    fn title(&self) -> String {
        let classes = match self.input.schema.classes().len() {
            1 => "one class".to_owned(),
            classes => format!("{classes} classes"),
        };
        format!("{}: {} of {classes}", self.input.name, counted(self.objects() as u64, "object"))
    }

    pub(super) fn table(&self, terminal: Terminal) -> String {
        let mut text = self.title();
        let _ = writeln!(
            text,
            ". Its schema is sent once: {}.\n",
            counted(self.schema_bytes as u64, "byte")
        );
        let head = format!("{:<21} {:>9} {:>11} {:>8}", "", "bytes", "per object", "of XML");
        let _ = writeln!(text, "{}", terminal.paint(Colour::Dim, &head));
        for rung in &self.ladder {
            let bytes = match &rung.bytes {
                Ok(bytes) => *bytes,
                Err(_) => {
                    let _ = writeln!(text, "{:<21} {:>9}", rung.name, "-");
                    continue;
                }
            };
            let share = bytes as f64 / self.most();
            let colour = if rung.is_delta { Colour::Green } else { Colour::Blue };
            let width = terminal.width().saturating_sub(54).clamp(8, 60);
            let _ = writeln!(
                text,
                "{:<21} {:>9} {:>11.1} {:>7.1}%  {}",
                rung.name,
                thousands(bytes as u64),
                self.per_object(bytes),
                share * 100.0,
                terminal.paint(colour, &bar(share, width)),
            );
        }
        text.push('\n');
        self.notes().iter().for_each(|note| text += &wrapped(note, 0, terminal.width()));
        text
    }

    /// Returns remarks on the numbers.
    fn notes(&self) -> Vec<String> {
        let mut notes = vec![format!("The deltas are against {}.", self.input.before)];
        let deltas: Vec<_> = self.ladder.iter().filter(|rung| rung.is_delta).collect();
        let reasons = deltas.iter().filter_map(|rung| rung.bytes.as_ref().err());
        for reason in reasons {
            let note = format!("There is none: {reason}.");
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        if let [packed, modeled] = deltas[..]
            && let (Ok(packed), Ok(modeled)) = (&packed.bytes, &modeled.bytes)
            && modeled >= packed
        {
            notes.push(
                "Entropy coding learns from what was sent before: of so few objects in one state, \
                 next to nothing."
                    .to_owned(),
            );
        }
        notes
    }

    pub(super) fn plot(&self) -> String {
        let measured = self.ladder.iter().filter_map(|rung| {
            let bytes = *rung.bytes.as_ref().ok()?;
            let share = bytes as f64 / self.most() * 100.0;
            Some(Bar {
                label: rung.name.to_owned(),
                value: bytes as f64,
                text: format!("{} ({share:.1}%)", thousands(bytes as u64)),
                is_ours: rung.is_delta || rung.name == "bits",
            })
        });
        bar_plot(&format!("{}, bytes", self.title()), &measured.collect::<Vec<_>>())
    }

    pub(super) fn json(&self) -> String {
        let rung = |rung: &SizeRow| match &rung.bytes {
            Ok(bytes) => json!({
                "name": rung.name,
                "bytes": bytes,
                "bytes_per_object": self.per_object(*bytes),
                "relative": *bytes as f64 / self.most(),
            }),
            Err(reason) => json!({"name": rung.name, "bytes": null, "reason": reason}),
        };
        let report = json!({
            "world": self.input.name,
            "objects": self.objects(),
            "classes": self.input.schema.classes().len(),
            "schema_bytes": self.schema_bytes,
            "deltas_against": self.input.before,
            "ladder": self.ladder.iter().map(rung).collect::<Vec<_>>(),
        });
        format!("{report:#}\n")
    }
}
