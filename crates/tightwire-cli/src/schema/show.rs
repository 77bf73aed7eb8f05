//! A schema as a tree, with the bits of every field.

use std::fmt::Write as _;

use tightwire::bytes::Packing;
use tightwire::stream::{Field, Shape};

use super::words;
use crate::source::Source;
use crate::terminal::{Colour, Terminal, counted, safe};

/// One line of the tree.
struct TreeLine {
    bits: String,
    /// Branches of the tree that lead to the line.
    branches: String,
    name: String,
    what: String,
    /// Condition of the field, and its hints for snapshots.
    notes: String,
}

/// Returns the whole text.
pub(super) fn text(source: &Source, terminal: Terminal) -> String {
    let root = source.schema().root();
    let mut lines = Vec::new();
    let name = match root {
        Shape::Struct { name, .. } | Shape::Enum { name, .. } | Shape::Opaque { name, .. } => {
            safe(name)
        }
        _ => "packet".to_owned(),
    };
    add(&mut lines, ["", ""], (name, String::new()), root, false);
    let mut text = head(source);
    let bits = lines.iter().map(|line| line.bits.len()).max().unwrap_or(0).max(4);
    let field = |line: &TreeLine| line.branches.chars().count() + line.name.chars().count();
    let names = lines.iter().map(field).max().unwrap_or(0).max(5);
    let title = format!("  {:>bits$}  {:<names$}  type", "bits", "field");
    let _ = writeln!(text, "{}", terminal.paint(Colour::Dim, &title));
    for line in &lines {
        let room = names - field(line);
        let start = format!("  {:>bits$}  ", line.bits);
        let row = format!(
            "{start}{}{}{:room$}  {}{}",
            terminal.paint(Colour::Dim, &line.branches),
            terminal.paint(Colour::Bold, &line.name),
            "",
            line.what,
            terminal.paint(Colour::Cyan, &line.notes),
        );
        text += row.trim_end();
        text.push('\n');
    }
    text
}

/// Describes the packets, with their worst case.
fn head(source: &Source) -> String {
    let mut text = String::new();
    match source {
        Source::Schema(_) => {}
        Source::Identity(identity) => {
            let packing = match identity.packing() {
                Packing::Bits => "in bits",
                _ => "in whole bytes, which takes more than the bits below",
            };
            let checks = if identity.has_checks() { "with checks" } else { "without checks" };
            let _ = writeln!(
                text,
                "Game {}, version {}, protection {}, {checks}, {packing}; protocol {:016x}",
                quoted(identity.game()),
                quoted(identity.version()),
                identity.protection(),
                identity.id(),
            );
        }
        Source::World(world) => {
            let objects = counted(world.max_objects().into(), "object");
            let classes = match world.classes().len() {
                1 => "one class".to_owned(),
                classes => format!("{classes} classes"),
            };
            let _ = writeln!(text, "Worlds of up to {objects} of {classes}");
        }
    }
    let (min, max) = words::bits(source.schema().root());
    let worst = match max {
        u64::MAX => "no worst case".to_owned(),
        max => format!("at most {} ({})", counted(max.div_ceil(8), "byte"), counted(max, "bit")),
    };
    let _ = writeln!(
        text,
        "A packet takes at least {} ({}), {worst}; fingerprint {:016x}\n",
        counted(min.div_ceil(8), "byte"),
        counted(min, "bit"),
        source.schema().fingerprint(),
    );
    text
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", safe(text))
}

/// Adds the lines of a value. `branch` is drawn before its first line, `below` before the others.
fn add(
    lines: &mut Vec<TreeLine>,
    [branch, below]: [&str; 2],
    (name, notes): (String, String),
    shape: &Shape,
    is_conditional: bool,
) {
    let line = |bits, name, what, notes, branches: &str| TreeLine {
        bits: words::range(bits),
        branches: branches.to_owned(),
        name,
        what,
        notes,
    };
    let mut bits = words::bits(shape);
    if is_conditional {
        bits.0 = 0;
    }
    lines.push(line(bits, name, words::shape(shape), notes, branch));
    match inside(shape) {
        Shape::Struct { fields, .. } => add_fields(lines, below, fields),
        Shape::Enum { variants, .. } if !words::has_names_only(variants) => {
            for (ordinal, variant) in variants.iter().enumerate() {
                let [branch, deeper] = branches(below, ordinal + 1 == variants.len());
                let fields = &variant.fields;
                let max = fields.iter().map(|field| field.shape.max_bits());
                let max = max.fold(0, u64::saturating_add);
                let bits = (words::fields_min_bits(fields), max);
                let what = format!("variant {ordinal}");
                lines.push(line(bits, safe(&variant.name), what, String::new(), &branch));
                add_fields(lines, &deeper, fields);
            }
        }
        _ => {}
    }
}

fn add_fields(lines: &mut Vec<TreeLine>, below: &str, fields: &[Field]) {
    for (place, field) in fields.iter().enumerate() {
        let [branch, deeper] = branches(below, place + 1 == fields.len());
        let mut notes = String::new();
        if let Some(condition) = &field.when {
            let _ = write!(notes, "  when {}", safe(&condition.to_string()));
        }
        let hints = field.hints.to_string();
        if !hints.is_empty() {
            let _ = write!(notes, "  ({})", safe(&hints));
        }
        let (notes, is_conditional) = ((safe(&field.name), notes), field.when.is_some());
        add(lines, [&branch, &deeper], notes, &field.shape, is_conditional);
    }
}

/// Returns the innermost element type of options and arrays.
fn inside(shape: &Shape) -> &Shape {
    match shape {
        Shape::Option(inner) => inside(inner),
        Shape::Array { element, .. } | Shape::List { element, .. } => inside(element),
        shape => shape,
    }
}

fn branches(below: &str, is_last: bool) -> [String; 2] {
    let (branch, deeper) = if is_last { ("└ ", "  ") } else { ("├ ", "│ ") };
    [format!("{below}{branch}"), format!("{below}{deeper}")]
}
