//! The page: one file with data, scripts and styles, which works from a disk.

use serde::Serialize;
use tightwire::inspect::{XRAY_SCRIPT, XRAY_STYLE};

use super::chosen::{Chosen, ChosenPacket};
use super::summary::{Document, Summary};

#[derive(Serialize)]
struct Data<'a> {
    #[serde(flatten)]
    document: Document<'a>,
    /// Length of a step in seconds, names of the packet kinds, and bytes of each kind by step.
    timeline: Steps<'a>,
    shown: Vec<&'a ChosenPacket>,
}

#[derive(Serialize)]
struct Steps<'a> {
    step: f64,
    names: Vec<&'a str>,
    bytes: Vec<&'a [u64]>,
}

/// Makes the page with its data, scripts and styles.
pub(crate) fn draw(summary: &Summary<'_>, chosen: &Chosen) -> String {
    let timeline = &summary.survey.timeline;
    let data = Data {
        document: summary.document(),
        timeline: Steps {
            step: timeline.step,
            names: summary.tally().kinds().iter().map(String::as_str).collect(),
            bytes: timeline.bytes.iter().map(|step| &step[..]).collect(),
        },
        shown: chosen.packets(),
    };
    // Without a `<`, no text of a packet can end the script element around the data. JSON has `<`
    // only in strings.
    let data = serde_json::to_string(&data).unwrap_or_else(|_| "{}".into()).replace('<', "\\u003c");
    let mut page = String::with_capacity(data.len() + (64 << 10));
    let mut rest = include_str!("../../assets/inspect.html");
    for (mark, part) in [
        ("/* xray.css */", XRAY_STYLE),
        ("/* inspect.css */", include_str!("../../assets/inspect.css")),
        ("{{data}}", &data),
        ("/* xray.js */", XRAY_SCRIPT),
        ("/* inspect.js */", include_str!("../../assets/inspect.js")),
    ] {
        // Each mark is searched behind the one before, so inserted text is never searched.
        let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
        page.push_str(before);
        page.push_str(part);
        rest = after;
    }
    page + rest
}
