//! `inspect` on captures that a recorder makes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;
mod corpus;
mod game;
mod hostile;
mod page;
mod sessions;
mod snapshots;
mod speed;
#[path = "../../../tests/it/support.rs"]
mod support;
mod totals;
mod views;

use super::every_view::EveryView;
use super::meaning::Meaning;

/// What a capture shows.
struct Inspected {
    text: String,
    json: serde_json::Value,
    page: String,
    ended: Option<String>,
    xrays: Vec<serde_json::Value>,
}

/// All views of a capture by its own identity, or by this meaning, or by this field alone.
fn inspect(
    file: &[u8],
    meaning: Option<Meaning>,
    field: Option<&str>,
    most_xrays: usize,
) -> Result<Inspected, String> {
    let view = EveryView::of(file, meaning, field, most_xrays)?;
    assert!(view.is_sound(), "{:?}", view.text);
    let xrays = view.xrays.iter().map(|xray| serde_json::to_value(xray).unwrap());
    Ok(Inspected {
        json: serde_json::from_str(&view.json).unwrap(),
        xrays: xrays.collect(),
        text: view.text,
        page: view.page,
        ended: view.ended,
    })
}
