//! `inspect` on recorded captures.
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

use super::all_views::AllViews;
use super::capture_identity::CaptureIdentity;

/// Views of a capture.
struct Inspected {
    text: String,
    json: serde_json::Value,
    page: String,
    ended: Option<String>,
    xrays: Vec<serde_json::Value>,
}

/// Makes all views of a capture with its own identity, or with `identity_of_capture` if given. With
/// `field`, the views are of this field alone.
fn inspect(
    file: &[u8],
    identity_of_capture: Option<CaptureIdentity>,
    field: Option<&str>,
    most_xrays: usize,
) -> Result<Inspected, String> {
    let view = AllViews::of(file, identity_of_capture, field, most_xrays)?;
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
