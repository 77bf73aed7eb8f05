//! Summary of a capture, for all views.

use serde::Serialize;
use tightwire::packet::Tally;

use super::capture_identity::CaptureIdentity;
use super::fields::{FieldTotal, fields};
use super::reading::Skipped;
use super::refusals::RefusalGroup;
use super::snapshots::Snapshots;
use super::survey::{KindTotal, PacketLine, Survey};
use super::values::{FieldValues, Numbers, Sample};

/// The data collected from a capture, and how the capture was read.
pub(crate) struct Summary<'a> {
    /// Name of the file.
    pub(crate) name: &'a str,
    pub(crate) identity_of_capture: &'a CaptureIdentity,
    pub(crate) tally: &'a Tally,
    pub(crate) snapshots: &'a Snapshots,
    pub(crate) survey: &'a Survey,
    /// Number of packets without a datagram, and of datagrams of other ports.
    pub(crate) skipped: Skipped,
    /// Reading speed in bytes of the file per second; `None` if it was not measured.
    pub(crate) speed: Option<f64>,
    /// Further remarks, for example why the file was not read to its end.
    pub(crate) notes: Vec<String>,
    /// Values of the requested field; `None` if no field was requested.
    pub(crate) values: Option<&'a FieldValues>,
}

impl Summary<'_> {
    pub(crate) fn identity_of_capture(&self) -> &CaptureIdentity {
        self.identity_of_capture
    }

    pub(crate) fn tally(&self) -> &Tally {
        self.tally
    }

    /// Returns the bits by field.
    pub(crate) fn fields(&self) -> Vec<FieldTotal> {
        fields(self.tally, self.snapshots, self.survey, self.values.is_some())
    }

    /// Makes the JSON document.
    pub(crate) fn document(&self) -> Document<'_> {
        let Self { survey, tally, .. } = self;
        let identity = self.identity_of_capture.identity();
        let kind = |&(name, total): &(&'_ str, KindTotal)| KindDocument {
            name: name.into(),
            packets: total.packets,
            bytes: total.bytes,
            refused: total.refused,
        };
        let samples = self.values.map(|values| values.samples(tally));
        Document {
            capture: self.name,
            game: identity.game(),
            version: identity.version(),
            protection: identity.protection().to_string(),
            counted: self.identity_of_capture.counted(),
            packets: survey.packets,
            bytes: survey.bytes,
            seconds: survey.seconds,
            refused: survey.refused,
            cut_messages: survey.cut.messages,
            missing_bytes: survey.cut.missing_bytes,
            skipped: self.skipped.no_datagram,
            other_ports: self.skipped.other_ports,
            no_records: self.skipped.no_records,
            read_bytes_per_second: self.speed,
            notes: &self.notes,
            types: survey.kinds(tally).iter().map(kind).collect(),
            fields: self.fields(),
            refusals: survey.refusals.sorted(),
            snapshots: self.snapshots.totals.decoded,
            snapshots_not_read: self.snapshots.totals.not_decoded,
            snapshots_not_read_because: self.snapshots.totals.reason.as_deref(),
            first: survey.first(tally, self.identity_of_capture),
            last: survey.last(tally, self.identity_of_capture),
            values: self.values.zip(samples).map(|(values, [first, last])| ValuesDocument {
                count: values.count,
                numbers: values.numbers(),
                first,
                last,
            }),
        }
    }
}

/// The summary as JSON.
#[derive(Serialize)]
pub(crate) struct Document<'a> {
    capture: &'a str,
    game: &'a str,
    version: &'a str,
    protection: String,
    /// Description of the counted packets and bytes.
    counted: &'static str,
    packets: u64,
    bytes: u64,
    seconds: f64,
    refused: u64,
    /// Messages of which the capture has only the beginning, and their missing bytes.
    cut_messages: u64,
    missing_bytes: u64,
    skipped: u64,
    other_ports: u64,
    /// Datagrams of a session's port that are not records of the session, for example encrypted
    /// ones.
    #[serde(skip_serializing_if = "is_zero")]
    no_records: u64,
    read_bytes_per_second: Option<f64>,
    notes: &'a [String],
    types: Vec<KindDocument>,
    fields: Vec<FieldTotal>,
    refusals: Vec<&'a RefusalGroup>,
    /// Number of decoded snapshots within packets; `snapshots_not_read` is the number of the
    /// others.
    snapshots: u64,
    snapshots_not_read: u64,
    snapshots_not_read_because: Option<&'a str>,
    first: Vec<PacketLine>,
    last: Vec<PacketLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<ValuesDocument>,
}

#[derive(Serialize)]
struct KindDocument {
    name: String,
    packets: u64,
    bytes: u64,
    refused: u64,
}

#[derive(Serialize)]
struct ValuesDocument {
    count: u64,
    numbers: Option<Numbers>,
    first: Vec<Sample>,
    last: Vec<Sample>,
}

/// Whether a count is zero, so that the document leaves it out.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
