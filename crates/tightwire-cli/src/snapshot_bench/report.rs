//! The results as text, JSON and a plot.

use std::fmt::Write as _;
use std::path::Path;

use tightwire::snapshot::Level;

use super::classes::Hint;
use super::ladder::BenchRow;
use super::turn::Up;
use super::{RunTotals, Setting};
use crate::svg::{Bar, bar_plot};

pub(super) struct BenchReport {
    scene: String,
    /// Names of the hints that were left out.
    without: Vec<String>,
    /// Axis that points up, if the scene was turned.
    up: Option<Up>,
    frames: usize,
    ladder: Vec<BenchRow>,
    runs: Vec<(Level, Setting, RunTotals)>,
}

impl BenchReport {
    pub(super) fn new(
        file: &Path,
        without: &[Hint],
        up: Option<Up>,
        frames: usize,
        ladder: Vec<BenchRow>,
    ) -> Self {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let scene = name.split('.').next().unwrap_or_default().to_owned();
        let without = without.iter().map(Hint::name).collect();
        Self { scene, without, up, frames, ladder, runs: Vec::new() }
    }

    pub(super) fn add(&mut self, level: Level, setting: Setting, totals: RunTotals) {
        self.runs.push((level, setting, totals));
    }

    pub(super) fn table(&self) -> String {
        let mut text = String::new();
        let changed =
            self.runs.first().map_or(0.0, |(_, _, totals)| totals.per_frame(totals.changed));
        let _ = writeln!(
            text,
            "{}: {} frames, each relative to the one six before; {changed:.1} objects change\n",
            self.title(),
            self.frames
        );
        let _ = writeln!(
            text,
            "{:<40} {:>11} {:>8}   {:>19}   {:>19}",
            "", "bytes/frame", "kbit/s", "encode us/frame,obj", "decode us/frame,obj"
        );
        for (name, bytes) in &self.ladder {
            let _ = writeln!(text, "{name:<40} {bytes:>11.1} {:>8.1}", kilobits(*bytes));
        }
        for (level, setting, totals) in &self.runs {
            let bytes = totals.bytes_per_frame();
            let [encode, decode] = totals.micros();
            let [encode_each, decode_each] = totals.micros_per_object();
            let _ = writeln!(
                text,
                "{:<40} {bytes:>11.1} {:>8.1}   {encode:>11.1} {encode_each:>7.2}   {decode:>11.1} {decode_each:>7.2}",
                name(*level, *setting),
                kilobits(bytes),
            );
        }
        text += "\nEvery frame came out as it was.\n";
        text
    }

    /// Returns the name of the scene, with the axis that points up and the hints that were left out.
    fn title(&self) -> String {
        let mut title = self.scene.clone();
        if let Some(up) = self.up {
            let _ = write!(title, " with {} up", up.name());
        }
        if !self.without.is_empty() {
            let _ = write!(title, " without {}", self.without.join(", "));
        }
        title
    }

    pub(super) fn json(&self) -> String {
        let mut runs = Vec::new();
        for (level, setting, totals) in &self.runs {
            let bytes = totals.bytes_per_frame();
            let [encode, decode] = totals.micros();
            let [encode_each, decode_each] = totals.micros_per_object();
            runs.push(format!(
                "    {{\"level\": \"{}\", \"setting\": \"{}\", \"packets\": {}, \"bytes_per_frame\": {bytes:.3}, \
                 \"kilobits_per_second\": {:.3}, \"changed_objects_per_frame\": {:.3}, \
                 \"encode_microseconds_per_frame\": {encode:.3}, \"decode_microseconds_per_frame\": {decode:.3}, \
                 \"encode_microseconds_per_changed_object\": {encode_each:.4}, \
                 \"decode_microseconds_per_changed_object\": {decode_each:.4}, \"identical\": true}}",
                lowercase(level),
                lowercase(setting),
                totals.packets,
                kilobits(bytes),
                totals.per_frame(totals.changed),
            ));
        }
        let ladder: Vec<_> = self
            .ladder
            .iter()
            .map(|(name, bytes)| {
                format!("    {{\"name\": \"{name}\", \"bytes_per_frame\": {bytes:.3}}}")
            })
            .collect();
        format!(
            "{{\n  \"scene\": \"{}\",\n  \"without\": {:?},\n  \"up\": \"{}\",\n  \"frames\": {},\n  \"ladder\": [\n{}\n  ],\n  \"runs\": [\n{}\n  ]\n}}\n",
            self.scene.escape_default(),
            self.without,
            self.up.map_or("z", Up::name),
            self.frames,
            ladder.join(",\n"),
            runs.join(",\n"),
        )
    }

    /// Draws a bar for each method to send a frame, as SVG.
    pub(super) fn plot(&self) -> String {
        let bar = |label, bytes: f64, is_ours| {
            let text = format!("{bytes:.0}");
            Bar { label, value: bytes, text, is_ours }
        };
        let ladder = self.ladder.iter().map(|(name, bytes)| bar((*name).to_owned(), *bytes, false));
        let runs = self.runs.iter().map(|(level, setting, totals)| {
            bar(name(*level, *setting), totals.bytes_per_frame(), true)
        });
        let title = format!("{}: bytes of a frame, relative to the one six before", self.title());
        bar_plot(&title, &ladder.chain(runs).collect::<Vec<_>>())
    }
}

impl RunTotals {
    fn per_frame(&self, total: usize) -> f64 {
        total as f64 / self.packets as f64
    }

    /// Returns the microseconds to encode and to decode a frame.
    fn micros(&self) -> [f64; 2] {
        [self.encoding, self.decoding].map(|time| time.as_secs_f64() * 1e6 / self.packets as f64)
    }

    /// Returns the microseconds to encode and to decode a changed object.
    fn micros_per_object(&self) -> [f64; 2] {
        self.micros().map(|micros| micros / self.per_frame(self.changed).max(1e-9))
    }
}

fn name(level: Level, setting: Setting) -> String {
    format!("{level:?}, {}", lowercase(&setting))
}

fn lowercase(name: &impl std::fmt::Debug) -> String {
    format!("{name:?}").to_lowercase()
}

fn kilobits(bytes: f64) -> f64 {
    bytes * 60.0 * 8.0 / 1000.0
}
