//! Every view of a capture in memory, for tests and the fuzzer.
#![allow(dead_code, reason = "for those who check `inspect`; it shows one view at a time")]

use std::ops::ControlFlow;

use tightwire::inspect::{Capture, CaptureError};
use tightwire::packet::Identity;

use super::capture_identity::CaptureIdentity;
use super::chosen::Chosen;
use super::reading::Reading;
use super::survey::Survey;
use super::text::Paint;
use super::values::FieldValues;
use super::{Views, page, view};
use tightwire::inspect::Xray;

/// All views of a capture.
pub(crate) struct AllViews {
    pub(crate) text: String,
    pub(crate) json: String,
    pub(crate) page: String,
    /// Error that ended the reading of the capture; `None` at its end.
    pub(crate) ended: Option<String>,
    /// X-rays of the first packets.
    pub(crate) xrays: Vec<Xray>,
}

impl AllViews {
    /// Makes the views of a capture with its own identity, or with `identity_of_capture` if given.
    /// With `field`, the views are of this field alone.
    pub(crate) fn of(
        file: &[u8],
        identity_of_capture: Option<CaptureIdentity>,
        field: Option<&str>,
        most_xrays: usize,
    ) -> Result<Self, String> {
        let capture = Capture::new(file).map_err(|error| error.to_string())?;
        let own = capture.identity().cloned().map(CaptureIdentity::of_identity);
        let identity_of_capture = identity_of_capture.or(own).ok_or("no identity")?;
        let mut reading = Reading::new(capture, identity_of_capture, None);
        if let Some(field) = field {
            reading.watch(field);
        }
        let values = field.map(|_| FieldValues::new(6));
        let mut shown = Views { survey: Survey::new(3), values, chosen: Chosen::new(most_xrays) };
        let mut xrays = Vec::new();
        let ended = reading.each::<CaptureError>(|seen| {
            shown.add(&seen);
            if xrays.len() < most_xrays {
                xrays.push(seen.xray());
            }
            Ok(ControlFlow::Continue(()))
        });
        let ended = ended.err().map(|error| error.to_string());
        let mut summary = shown.whole("arena.pcapng", &reading);
        summary.notes.extend(ended.clone());
        Ok(Self {
            text: view::draw(&summary, Paint::PLAIN),
            json: serde_json::to_string(&summary.document()).unwrap_or_default(),
            page: page::draw(&summary, &shown.chosen),
            ended,
            xrays,
        })
    }

    /// Makes the views with a known identity, without a field and with three x-rays.
    pub(crate) fn with_identity(file: &[u8], identity: Option<Identity>) -> Result<Self, String> {
        Self::of(file, identity.map(CaptureIdentity::of_identity), None, 3)
    }

    /// Returns whether no text of the file is a terminal command or markup, and the x-rays cover
    /// every bit.
    pub(crate) fn is_sound(&self) -> bool {
        let is_harmless = |char: char| char == '\n' || !char.is_control();
        self.text.chars().all(is_harmless)
            && self.page.matches("</script>").count() == 3
            && self.xrays.iter().all(covers)
    }
}

/// Returns whether the spans are in order, do not overlap, and leave no gap.
fn covers(xray: &Xray) -> bool {
    let mut at = 0.0;
    for span in &xray.spans {
        if (span.start - at).abs() > 1e-3 || span.bits < 0.0 {
            return false;
        }
        at = span.start + span.bits;
    }
    (at - xray.bits as f64).abs() < 1e-3
}
