//! The terminal view: what was captured, where the bytes went, the first and the last packets, and
//! what was refused.

use std::fmt::Write as _;

use tightwire::Tally;

use super::fields::FieldTotal;
use super::summary::Summary;
use super::survey::Line;
use super::text::{
    Paint, bar, bytes, counted, duration, grouped, shortened, shortened_path, sparkline,
};
use super::values::{Sample, Values};

/// Columns of the whole view.
const WIDTH: usize = 100;

/// Rows of each table, so that all of it fits a screen.
const MAX_KINDS: usize = 6;
const MAX_FIELDS: usize = 10;
const MAX_REASONS: usize = 4;

/// Characters of a bar.
const BAR: usize = 20;

/// The whole view.
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
    let name = shortened_path(&summary.name.escape_debug().to_string(), 48);
    let meaning = shortened(&summary.meaning().to_string(), WIDTH - 4 - name.chars().count());
    let _ = writeln!(text, "{}  {}", paint.strong(&name), paint.faint(&meaning));
    let per_second = survey.bytes as f64 / survey.seconds;
    let mut facts = vec![
        counted(survey.packets, "packet", "packets"),
        bytes(survey.bytes as f64),
        format!("in {}", duration(survey.seconds)),
    ];
    if survey.packets > 1 && per_second.is_finite() {
        facts.push(format!("{}/s", bytes(per_second)));
    }
    if survey.refused > 0 {
        facts.push(paint.refused(&format!("{} refused", grouped(survey.refused))));
    }
    let (no_datagram, other_ports) = summary.passed_over;
    for (count, what) in [(no_datagram, "without a datagram"), (other_ports, "of other ports")] {
        if count > 0 {
            facts.push(format!("{} {what} passed over", grouped(count)));
        }
    }
    if let Some(speed) = summary.speed {
        facts.push(paint.faint(&format!("read at {}/s", bytes(speed))));
    }
    let _ = writeln!(text, "{}", facts.join(" · "));
    for note in &summary.notes {
        let _ = writeln!(text, "{}", paint.refused(note));
    }
    let heights = survey.timeline.totals();
    if heights.len() > 1 {
        let _ = writeln!(text, "{}", paint.numbered(0, &sparkline(&heights, WIDTH)));
    }
}

fn draw_kinds(text: &mut String, summary: &Summary<'_>, paint: Paint) {
    let kinds = summary.survey.kinds(summary.tally());
    if kinds.is_empty() {
        return;
    }
    let heading =
        format!("\n{:<34}{:>12}{:>14}{:>10}{:>8}", "type", "packets", "bytes", "mean", "share");
    let _ = writeln!(text, "{}", paint.faint(&heading));
    for (place, (name, total)) in kinds.iter().take(MAX_KINDS).enumerate() {
        let share = total.bytes as f64 / summary.survey.bytes.max(1) as f64;
        let _ = writeln!(
            text,
            "{:<34}{:>12}{:>14}{:>10.1}{:>7.1}%  {}",
            shortened(name, 33),
            grouped(total.packets),
            grouped(total.bytes),
            total.bytes as f64 / total.packets as f64,
            share * 100.0,
            paint.numbered(place, &bar(share, BAR)),
        );
    }
    draw_rest(text, kinds.len(), MAX_KINDS, "types", paint);
}

fn draw_fields(text: &mut String, fields: &[FieldTotal], paint: Paint) {
    if fields.is_empty() {
        return;
    }
    let heading = format!(
        "\n{:<34}{:>12}{:>14}{:>10}{:>8}",
        "where the bits go", "times", "bits", "mean", "share"
    );
    let _ = writeln!(text, "{}", paint.faint(&heading));
    for (place, field) in fields.iter().take(MAX_FIELDS).enumerate() {
        let _ = writeln!(
            text,
            "{:<34}{:>12}{:>14}{:>10.1}{:>7.1}%  {}",
            shortened_path(&field.path, 33),
            grouped(field.count),
            grouped(field.bits.round() as u64),
            field.mean(),
            field.share * 100.0,
            paint.numbered(place, &bar(field.share, BAR)),
        );
    }
    draw_rest(text, fields.len(), MAX_FIELDS, "fields", paint);
}

fn draw_rest(text: &mut String, all: usize, drawn: usize, what: &str, paint: Paint) {
    if all > drawn {
        let _ = writeln!(text, "{}", paint.faint(&format!("… {} more {what}", all - drawn)));
    }
}

fn draw_packets(text: &mut String, summary: &Summary<'_>, paint: Paint) {
    let (first, last) =
        (summary.survey.first(summary.tally()), summary.survey.last(summary.tally()));
    if first.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{}", paint.faint(&line_heading()));
    for line in &first {
        let _ = writeln!(text, "{}", draw_line(line, paint));
    }
    let between = summary.survey.packets - (first.len() + last.len()) as u64;
    if between > 0 {
        let more = format!("… {} more", grouped(between));
        let _ = writeln!(text, "{}", paint.faint(&more));
    }
    for line in &last {
        let _ = writeln!(text, "{}", draw_line(line, paint));
    }
}

fn draw_values(text: &mut String, values: &Values, tally: &Tally, paint: Paint) {
    let [first, last] = values.samples(tally);
    match values.numbers {
        Some(numbers) => {
            let _ = writeln!(
                text,
                "\n{}: from {} to {}, mean {:.3}",
                counted(numbers.count, "value", "values"),
                numbers.min,
                numbers.max,
                numbers.mean
            );
        }
        None => {
            let _ = writeln!(text, "\n{}", counted(values.count, "value", "values"));
        }
    }
    if first.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{}", paint.faint(&value_heading()));
    for sample in &first {
        let _ = writeln!(text, "{}", draw_value(sample));
    }
    let between = values.count - (first.len() + last.len()) as u64;
    if between > 0 {
        let more = format!("… {} more", grouped(between));
        let _ = writeln!(text, "{}", paint.faint(&more));
    }
    for sample in &last {
        let _ = writeln!(text, "{}", draw_value(sample));
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
            paint.refused(&format!("{:>7}", grouped(reason.count))),
            grouped(first),
            shortened(&reason.reason, WIDTH - 23),
        );
    }
    let rest: u64 = reasons.iter().skip(MAX_REASONS).map(|reason| reason.count).sum();
    let rest = rest + summary.survey.refusals.others;
    if rest > 0 {
        let more = format!("… {} more for other reasons", grouped(rest));
        let _ = writeln!(text, "{}", paint.faint(&more));
    }
}

/// What stands above the list of packets.
pub(crate) fn line_heading() -> String {
    format!("{:>8}  {:>11}  {:<43}  {:<18}{:>7}", "packet", "seconds", "from → to", "type", "bytes")
}

/// A packet of the list.
pub(crate) fn draw_line(line: &Line, paint: Paint) -> String {
    let way = format!("{} → {}", line.from, line.to);
    let text = format!(
        "{:>8}  {:>11.4}  {:<43}  {:<18}{:>7}",
        line.packet,
        line.time,
        shortened(&way, 43),
        shortened(&line.kind, 18),
        grouped(line.bytes as u64),
    );
    match &line.refused {
        Some(reason) => format!("{text}  {}", paint.refused(&format!("refused: {reason}"))),
        None => text,
    }
}

/// What stands above the list of values.
pub(crate) fn value_heading() -> String {
    format!("{:>8}  {:>11}  {:<34}  value", "packet", "seconds", "field")
}

/// A value of the list.
pub(crate) fn draw_value(sample: &Sample) -> String {
    let path = shortened_path(&sample.path, 34);
    format!("{:>8}  {:>11.4}  {path:<34}  {}", sample.packet, sample.time, sample.value)
}
