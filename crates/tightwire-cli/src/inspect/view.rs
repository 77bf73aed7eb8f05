//! The terminal view: totals, bytes by field, the first and the last packets, and refusals.

use std::fmt::Write as _;

use tightwire::packet::Tally;

use super::fields::FieldTotal;
use super::reading::Skipped;
use super::snapshots::DecodedSnapshot;
use super::summary::Summary;
use super::survey::PacketLine;
use super::text::{Paint, bytes, duration, shortened_path, sparkline};
use super::values::{FieldValues, Numbers, Sample};
use crate::terminal::{bar, counted, cut, safe, thousands};

/// Maximum number of rows of each table, so that the view fits a screen.
const MAX_KINDS: usize = 6;
const MAX_FIELDS: usize = 10;
const MAX_REASONS: usize = 4;

/// Maximum number of spans that are drawn for a snapshot.
const MAX_SPANS: usize = 400;

/// Maximum width of a bar, in characters.
const BAR: usize = 20;

/// Width of a table's numbers, in characters.
const NUMBERS: usize = 44;

/// Draws the whole view.
pub(crate) fn draw(summary: &Summary<'_>, paint: Paint) -> String {
    let mut text = String::new();
    draw_heading(&mut text, summary, paint);
    draw_kinds(&mut text, summary, paint);
    draw_fields(&mut text, &summary.fields(), paint);
    match summary.values {
        Some(values) => draw_values(&mut text, values, summary.tally(), paint),
        None => draw_packets(&mut text, summary, paint),
    }
    draw_refused(&mut text, summary, paint);
    text
}

fn draw_heading(text: &mut String, summary: &Summary<'_>, paint: Paint) {
    let survey = summary.survey;
    let name = shortened_path(&safe(summary.name), paint.width().min(96) / 2);
    let identity_of_capture = cut(
        &summary.identity_of_capture().to_string(),
        paint.width().saturating_sub(4 + name.chars().count()),
    );
    let _ = writeln!(text, "{}  {}", paint.strong(&name), paint.faint(&identity_of_capture));
    let _ = writeln!(text, "{}", draw_facts(summary, paint));
    let _ = writeln!(text, "{}", paint.faint(summary.identity_of_capture().counted()));
    let totals = &summary.snapshots.totals;
    if let Some(reason) = &totals.reason {
        let _ = writeln!(
            text,
            "{}",
            paint.refused(&format!(
                "{} of {} not decoded: {}",
                thousands(totals.not_decoded),
                counted(totals.decoded + totals.not_decoded, "snapshot"),
                safe(reason)
            ))
        );
    }
    let cut = &survey.cut;
    if cut.messages > 0 {
        let kinds = cut.kinds(summary.identity_of_capture().identity().schema());
        let kinds: Vec<_> = kinds
            .iter()
            .map(|(name, count)| format!("{} {}", thousands(*count), safe(name)))
            .collect();
        let value_of = format!(
            "{} too long for the capture ({}), which has their beginning: {} missing",
            counted(cut.messages, "message"),
            cut_list(&kinds),
            bytes(cut.missing_bytes as f64)
        );
        let _ = writeln!(text, "{}", paint.refused(&value_of));
    }
    for note in &summary.notes {
        let _ = writeln!(text, "{}", paint.refused(note));
    }
    let heights = survey.timeline.totals();
    if heights.len() > 1 {
        let _ = writeln!(text, "{}", paint.numbered(0, &sparkline(&heights, paint.width())));
    }
}

/// The first of a list.
fn cut_list(items: &[String]) -> String {
    match items.get(..MAX_KINDS) {
        Some(first) if first.len() < items.len() => format!("{}, …", first.join(", ")),
        _ => items.join(", "),
    }
}

/// Draws the totals in a line.
pub(crate) fn draw_facts(summary: &Summary<'_>, paint: Paint) -> String {
    let survey = summary.survey;
    let per_second = survey.bytes as f64 / survey.seconds;
    let mut facts = vec![
        counted(survey.packets, "packet"),
        bytes(survey.bytes as f64),
        format!("in {}", duration(survey.seconds)),
    ];
    if survey.packets > 1 && per_second.is_finite() {
        facts.push(format!("{}/s", bytes(per_second)));
    }
    if survey.refused > 0 {
        facts.push(paint.refused(&format!("{} refused", thousands(survey.refused))));
    }
    let Skipped { no_datagram, other_ports, no_records } = summary.skipped;
    for (count, what) in [
        (no_datagram, "without a datagram"),
        (other_ports, "of other ports"),
        (no_records, "that are encrypted or of another program"),
    ] {
        if count > 0 {
            facts.push(format!("{} {what} skipped", thousands(count)));
        }
    }
    if let Some(speed) = summary.speed {
        facts.push(paint.faint(&format!("read at {}/s", bytes(speed))));
    }
    facts.join(" · ")
}

/// Returns the widths of a table's names and bars, in characters: bars are shorter where there is
/// little room.
fn columns(paint: Paint) -> (usize, usize) {
    let bar = paint.width().saturating_sub(80).min(BAR);
    let gap = if bar > 0 { 2 } else { 0 };
    (paint.width().saturating_sub(NUMBERS + gap + bar).clamp(10, 60), bar)
}

/// Draws the bar at the end of a row, if there is room.
fn bar_behind(share: f64, width: usize, place: usize, paint: Paint) -> String {
    match width {
        0 => String::new(),
        _ => format!("  {}", paint.numbered(place, &bar(share, width))),
    }
}

fn draw_kinds(text: &mut String, summary: &Summary<'_>, paint: Paint) {
    let kinds = summary.survey.kinds(summary.tally());
    if kinds.is_empty() {
        return;
    }
    let (name_width, bar_width) = columns(paint);
    let heading = format!(
        "\n{:<name_width$}{:>12}{:>14}{:>10}{:>8}",
        "type", "packets", "bytes", "mean", "share"
    );
    let _ = writeln!(text, "{}", paint.faint(&heading));
    for (place, (name, total)) in kinds.iter().take(MAX_KINDS).enumerate() {
        let share = total.bytes as f64 / summary.survey.bytes.max(1) as f64;
        let _ = writeln!(
            text,
            "{:<name_width$}{:>12}{:>14}{:>10.1}{:>7.1}%{}",
            cut(name, name_width - 1),
            thousands(total.packets),
            thousands(total.bytes),
            total.bytes as f64 / total.packets as f64,
            share * 100.0,
            bar_behind(share, bar_width, place, paint),
        );
    }
    draw_rest(text, kinds.len(), MAX_KINDS, ("type", "types"), paint);
}

fn draw_fields(text: &mut String, fields: &[FieldTotal], paint: Paint) {
    if fields.is_empty() {
        return;
    }
    let (name_width, bar_width) = columns(paint);
    let heading = format!(
        "\n{:<name_width$}{:>12}{:>14}{:>10}{:>8}",
        cut("where the bits go", name_width),
        "times",
        "bits",
        "mean",
        "share"
    );
    let _ = writeln!(text, "{}", paint.faint(&heading));
    for (place, field) in fields.iter().take(MAX_FIELDS).enumerate() {
        let _ = writeln!(
            text,
            "{:<name_width$}{:>12}{:>14}{:>10.1}{:>7.1}%{}",
            shortened_path(&field.path, name_width - 1),
            thousands(field.count),
            thousands(field.bits.round() as u64),
            field.mean(),
            field.share * 100.0,
            bar_behind(field.share, bar_width, place, paint),
        );
    }
    draw_rest(text, fields.len(), MAX_FIELDS, ("field", "fields"), paint);
}

fn draw_rest(text: &mut String, all: usize, drawn: usize, names: (&str, &str), paint: Paint) {
    if let Some(more @ 1..) = all.checked_sub(drawn) {
        let name = if more == 1 { names.0 } else { names.1 };
        let _ = writeln!(text, "{}", paint.faint(&format!("… {more} more {name}")));
    }
}

fn draw_packets(text: &mut String, summary: &Summary<'_>, paint: Paint) {
    let (survey, identity_of_capture) = (summary.survey, summary.identity_of_capture());
    let (first, last) = (
        survey.first(summary.tally(), identity_of_capture),
        survey.last(summary.tally(), identity_of_capture),
    );
    if first.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{}", paint.faint(&line_heading(paint)));
    for line in &first {
        let _ = writeln!(text, "{}", draw_line(line, paint));
    }
    let between = summary.survey.packets - (first.len() + last.len()) as u64;
    if between > 0 {
        let more = format!("… {} more", thousands(between));
        let _ = writeln!(text, "{}", paint.faint(&more));
    }
    for line in &last {
        let _ = writeln!(text, "{}", draw_line(line, paint));
    }
}

fn draw_values(text: &mut String, values: &FieldValues, tally: &Tally, paint: Paint) {
    let [first, last] = values.samples(tally);
    let _ = write!(text, "\n{}", counted(values.count, "value"));
    if let Some(Numbers { count, min, max, mean }) = values.numbers() {
        let which = match count == values.count {
            true => String::new(),
            false => counted(count, "number") + " ",
        };
        let _ = write!(text, ": {which}from {min} to {max}, mean {mean:.3}");
    }
    text.push('\n');
    if first.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{}", paint.faint(&value_heading(paint)));
    for sample in &first {
        let _ = writeln!(text, "{}", draw_value(sample, paint));
    }
    let between = values.count - (first.len() + last.len()) as u64;
    if between > 0 {
        let more = format!("… {} more", thousands(between));
        let _ = writeln!(text, "{}", paint.faint(&more));
    }
    for sample in &last {
        let _ = writeln!(text, "{}", draw_value(sample, paint));
    }
}

fn draw_refused(text: &mut String, summary: &Summary<'_>, paint: Paint) {
    let reasons = summary.survey.refusals.sorted();
    if reasons.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{}", paint.faint("refused  first packet  reason"));
    for reason in reasons.iter().take(MAX_REASONS) {
        let first = reason.packets.first().copied().unwrap_or(0);
        let _ = writeln!(
            text,
            "{}  {:>12}  {}",
            paint.refused(&format!("{:>7}", thousands(reason.count))),
            thousands(first),
            cut(&reason.reason, paint.width() - 23),
        );
    }
    let rest: u64 = reasons.iter().skip(MAX_REASONS).map(|reason| reason.count).sum();
    let rest = rest + summary.survey.refusals.others;
    if rest > 0 {
        let more = format!("… {} more for other reasons", thousands(rest));
        let _ = writeln!(text, "{}", paint.faint(&more));
    }
}

/// Draws a snapshot within a packet, field by field.
pub(crate) fn draw_snapshot(snapshot: &DecodedSnapshot<'_>, paint: Paint) -> String {
    let mut text = format!("{}, {} bytes", safe(snapshot.path), snapshot.length);
    let trace = match snapshot.trace {
        Ok(trace) => trace,
        Err(reason) => return format!("{text}: {}\n", paint.refused(&safe(reason))),
    };
    let _ = write!(text, "\n\n{}", paint.faint("        at      bits  field"));
    for (place, span) in trace.spans().take(MAX_SPANS).enumerate() {
        let name = match span.object {
            Some(id) if span.field.is_empty() => format!("{}[{id}]", span.class),
            Some(id) => format!("{}[{id}].{}", span.class, span.field),
            None => format!("({})", span.part),
        };
        let name = format!(
            "{:<40}  {}",
            safe(&name),
            cut(&span.value(), paint.width().saturating_sub(64).max(12))
        );
        let _ = write!(
            text,
            "\n{}  {}",
            paint.faint(&format!("{:>10.2}{:>10.2}", span.start, span.bits)),
            paint.numbered(place, name.trim_end()),
        );
    }
    let rest = trace.spans().len().saturating_sub(MAX_SPANS);
    if rest > 0 {
        let _ = write!(text, "\n{}", paint.faint(&format!("… {rest} more")));
    }
    text + "\n"
}

/// Returns the heading of the list of packets.
pub(crate) fn line_heading(paint: Paint) -> String {
    let way = addresses_width(paint);
    format!(
        "{:>8}  {:>11}  {:<way$}  {:<18}{:>7}",
        "packet", "seconds", "from → to", "type", "bytes"
    )
}

/// Draws a packet of the list.
pub(crate) fn draw_line(line: &PacketLine, paint: Paint) -> String {
    let way = format!("{} → {}", line.from, line.to);
    let width = addresses_width(paint);
    let text = format!(
        "{:>8}  {:>11.4}  {:<width$}  {:<18}{:>7}",
        line.packet,
        line.time,
        cut(&way, width),
        cut(&line.kind, 18),
        thousands(line.bytes as u64),
    );
    let reason = |reason: &String| format!("refused: {reason}");
    match (line.refused.as_ref().map(reason), paint.columns) {
        (None, _) => text,
        (Some(reason), None) => format!("{text}  {}", paint.refused(&reason)),
        // The reason has a line of its own, since it is longer than the rest of this one.
        (Some(reason), Some(_)) => {
            let reason = cut(&reason, paint.width() - 10);
            format!("{text}\n{:10}{}", "", paint.refused(&reason))
        }
    }
}

/// Returns the width of two addresses, in characters.
fn addresses_width(paint: Paint) -> usize {
    paint.width().saturating_sub(50).clamp(10, 43)
}

/// Returns the width of a field in the list of values, in characters.
fn field_width(paint: Paint) -> usize {
    paint.width().saturating_sub(66).clamp(14, 60)
}

/// Returns the heading of the list of values.
pub(crate) fn value_heading(paint: Paint) -> String {
    let field = field_width(paint);
    format!("{:>8}  {:>11}  {:<field$}  value", "packet", "seconds", "field")
}

/// Draws a value of the list.
pub(crate) fn draw_value(sample: &Sample, paint: Paint) -> String {
    let width = field_width(paint);
    let path = shortened_path(&sample.path, width);
    let value = match paint.columns {
        None => sample.value.clone(),
        Some(_) => cut(&sample.value, paint.width().saturating_sub(width + 25)),
    };
    format!("{:>8}  {:>11.4}  {path:<width$}  {value}", sample.packet, sample.time)
}
