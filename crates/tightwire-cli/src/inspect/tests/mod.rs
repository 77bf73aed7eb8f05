//! `inspect` on captures that a recorder makes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod game;
mod hostile;
mod page;
mod snapshots;
mod speed;
mod totals;
mod views;

use std::ops::ControlFlow;

use tightwire::{Capture, CaptureError};

use super::chosen::Chosen;
use super::meaning::Meaning;
use super::reading::Reading;
use super::survey::Survey;
use super::text::Paint;
use super::values::Values;
use super::{Shown, page as html, view};

/// What a capture shows.
struct Inspected {
    text: String,
    json: serde_json::Value,
    page: String,
    /// Why it was not read to its end.
    ended: Option<String>,
    /// Of every packet, as JSON.
    xrays: Vec<serde_json::Value>,
}

/// All views of a capture by its own identity, or by this meaning, or by this field alone.
fn inspect(
    file: &[u8],
    meaning: Option<Meaning>,
    field: Option<&str>,
    most_xrays: usize,
) -> Result<Inspected, String> {
    let capture = Capture::new(file).map_err(|error| error.to_string())?;
    let own = capture.identity().cloned().map(Meaning::of_identity);
    let meaning = meaning.or(own).ok_or("no identity")?;
    let mut reading = Reading::new(capture, meaning, None);
    if let Some(field) = field {
        reading.watch(field);
    }
    let values = field.map(|_| Values::new(6));
    let mut shown = Shown { survey: Survey::new(3), values, chosen: Chosen::new(most_xrays) };
    let mut xrays = Vec::new();
    let ended = reading.each::<CaptureError>(|seen| {
        shown.add(&seen);
        if xrays.len() < most_xrays {
            let xray = seen.xray();
            assert_covers(&xray);
            xrays.push(serde_json::to_value(&xray).unwrap());
        }
        Ok(ControlFlow::Continue(()))
    });
    let ended = ended.err().map(|error| error.to_string());
    let mut summary = shown.whole("arena.pcapng", &reading);
    summary.notes.extend(ended.clone());
    Ok(Inspected {
        text: view::draw(&summary, Paint::PLAIN),
        json: serde_json::to_value(summary.document()).unwrap(),
        page: html::draw(&summary, &shown.chosen),
        ended,
        xrays,
    })
}

/// Spans are in order, do not overlap, and leave nothing out.
fn assert_covers(xray: &crate::xray::Xray) {
    let mut at = 0.0;
    for span in &xray.spans {
        assert!((span.start - at).abs() < 1e-3 && span.bits >= 0.0, "{at}: {span:?}");
        at = span.start + span.bits;
    }
    assert!((at - xray.bits as f64).abs() < 1e-3, "{at} of {}", xray.bits);
}
