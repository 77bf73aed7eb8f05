//! Snapshots within packets: decoded against their baselines, for each flow on its own.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use tightwire::packet::Tally;
use tightwire::schema::{Dynamic, Schema};
use tightwire::snapshot;
use tightwire::stream::{Shape, Value};

use tightwire::inspect::{family, kind_of};

/// Maximum number of flows at a time: each has a world and its history, which are 10 MB for the 900
/// cubes of the demo.
const MAX_FLOWS: usize = 64;

/// Snapshots of other flows after which a flow counts as ended, and its place is free. With fewer,
/// too many flows at a time would evict each other, and none could be decoded.
const SILENCE: u64 = 8 * MAX_FLOWS as u64;

/// Sequence numbers behind the newest from which a keyframe counts as one of a restarted sender: no
/// honest network delays a snapshot for so long.
const MAX_LATE: u64 = 96;

/// Maximum number of fields of a schema that may contain snapshots.
const MAX_PLACES: usize = 32;

/// Maximum number of rows in the totals; a description from a file may have any number of fields.
const MAX_TOTALS: usize = 4096;

/// Name of the type whose bytes are a snapshot.
const SNAPSHOT: &str = "SnapshotPacket";

/// Decoder of the snapshots in a capture.
pub(crate) struct Snapshots {
    /// Snapshot protocol, or the reason why there is none.
    protocol: Result<snapshot::Protocol, String>,
    /// Name of the packets' type.
    root: String,
    /// Paths of the fields that may contain a snapshot.
    places: Vec<String>,
    flows: Vec<Flow>,
    /// Number of snapshots so far; at most `most` of them are decoded.
    count: u64,
    pub(crate) most: u64,
    trace: snapshot::Trace,
    /// Snapshot in the last packet; `None` if it had none.
    last: Option<LastSnapshot>,
    /// Steps of the requested field; `None` for all fields.
    filter: Option<Vec<String>>,
    pub(crate) totals: SnapshotTotals,
}

/// Snapshots from one address to another.
struct Flow {
    source: SocketAddr,
    destination: SocketAddr,
    receiver: snapshot::Receiver,
    /// Sequence number of the newest snapshot.
    newest: u64,
    /// Number of snapshots of all flows at this flow's last one.
    last_seen_at: u64,
}

#[derive(Clone, Debug)]
struct LastSnapshot {
    place: usize,
    length: usize,
    refused: Option<String>,
}

/// The snapshot in a packet.
#[derive(Clone, Copy)]
pub(crate) struct DecodedSnapshot<'a> {
    /// Path of the field with the snapshot, without the packet's name: `Snapshot.packet.bytes`.
    pub(crate) path: &'a str,
    /// Length of the snapshot, in bytes.
    pub(crate) length: usize,
    /// Trace of the snapshot, or the reason why it could not be decoded.
    pub(crate) trace: Result<&'a snapshot::Trace, &'a str>,
}

/// Totals over all snapshots.
#[derive(Debug, Default)]
pub(crate) struct SnapshotTotals {
    /// Bits by path below the packet.
    pub(crate) fields: BTreeMap<String, FieldBits>,
    pub(crate) decoded: u64,
    /// Number of snapshots that could not be decoded; `reason` is that of the first.
    pub(crate) not_decoded: u64,
    pub(crate) reason: Option<String>,
}

/// Bits of one field over all snapshots.
#[derive(Debug, Default)]
pub(crate) struct FieldBits {
    pub(crate) bits: f64,
    pub(crate) count: u64,
    /// Name that decides the colour, the same as in x-rays.
    pub(crate) colour: String,
}

impl Snapshots {
    /// Makes a decoder that decodes no snapshots.
    pub(crate) fn none() -> Self {
        Self::with(Err(String::new()), String::new(), Vec::new())
    }

    /// Makes a decoder for packets of this schema.
    pub(crate) fn new(
        protocol: Result<snapshot::Protocol, String>,
        schema: &Schema,
        tally: &Tally,
    ) -> Self {
        let mut places = Vec::new();
        find_places(schema.root(), &mut String::new(), &mut places);
        let root = tally.place(0).map_or(String::new(), |packet| packet.path());
        Self::with(protocol, root, places)
    }

    fn with(
        protocol: Result<snapshot::Protocol, String>,
        root: String,
        places: Vec<String>,
    ) -> Self {
        Self {
            protocol,
            root,
            places,
            flows: Vec::new(),
            count: 0,
            most: u64::MAX,
            trace: snapshot::Trace::new(),
            last: None,
            filter: None,
            totals: SnapshotTotals::default(),
        }
    }

    /// Decodes the snapshot in the tally's last packet, if the packet has one.
    pub(crate) fn read(
        &mut self,
        tally: Option<&Tally>,
        source: SocketAddr,
        destination: SocketAddr,
    ) {
        self.last = None;
        if self.places.is_empty() {
            return;
        }
        let Some(tree) = tally.and_then(Tally::last) else { return };
        let places = self.places.iter().enumerate();
        let found =
            places.into_iter().find_map(|(place, path)| Some((place, bytes_at(tree, path)?)));
        let Some((place, bytes)) = found else { return };
        let refused = self.receive(bytes, source, destination).err();
        let (path, totals) = (&self.places[place], &mut self.totals);
        match &refused {
            None => totals.add(path, &self.trace),
            Some(reason) => {
                totals.not_decoded += 1;
                totals.reason.get_or_insert_with(|| reason.clone());
            }
        }
        self.last = Some(LastSnapshot { place, length: bytes.len(), refused });
    }

    fn receive(
        &mut self,
        bytes: &[u8],
        source: SocketAddr,
        destination: SocketAddr,
    ) -> Result<(), String> {
        let protocol = self.protocol.as_ref().map_err(Clone::clone)?;
        if self.count >= self.most {
            let most = self.most;
            return Err(format!("only the first {most} are: --snapshots chooses how many"));
        }
        self.count += 1;
        let is_it = |flow: &Flow| (flow.source, flow.destination) == (source, destination);
        let at = match self.flows.iter().position(is_it) {
            Some(at) => at,
            None => {
                if self.flows.len() == MAX_FLOWS {
                    let silent =
                        self.flows.iter().enumerate().min_by_key(|(_, flow)| flow.last_seen_at);
                    let silent = silent.map_or(0, |(at, _)| at);
                    if self.count - self.flows[silent].last_seen_at <= SILENCE {
                        return Err(format!(
                            "snapshots of more than {MAX_FLOWS} flows at a time are not read: choose \
                             one with --port"
                        ));
                    }
                    self.flows.swap_remove(silent);
                }
                let receiver = snapshot::Receiver::new(protocol);
                self.flows.push(Flow { source, destination, receiver, newest: 0, last_seen_at: 0 });
                self.flows.len() - 1
            }
        };
        let Self { flows, trace, .. } = self;
        let flow = &mut flows[at];
        flow.last_seen_at = self.count;
        let mut received = flow.receiver.handle_snapshot_traced(bytes, trace);
        let is_late = received == Err(snapshot::ReceiveError::Late)
            && value_of(trace, snapshot::TracePart::Baseline).as_deref() == Some("none")
            && number_of(trace).is_some_and(|number| number + MAX_LATE < flow.newest);
        if is_late || matches!(received, Err(snapshot::ReceiveError::OtherSender { .. })) {
            flow.receiver = snapshot::Receiver::new(protocol);
            flow.newest = 0;
            received = flow.receiver.handle_snapshot_traced(bytes, trace);
        }
        match (received, value_of(trace, snapshot::TracePart::Baseline)) {
            (Ok(_), _) => {
                flow.newest = number_of(trace).unwrap_or(flow.newest);
                Ok(())
            }
            (Err(snapshot::ReceiveError::UnknownBaseline), Some(baseline))
                if !baseline.is_empty() =>
            {
                Err(format!("its baseline, snapshot {baseline}, is not in the capture"))
            }
            (Err(snapshot::ReceiveError::UnknownBaseline), _) => {
                Err("its baseline is not in the capture".into())
            }
            (Err(error), _) => Err(error.to_string()),
        }
    }

    /// Restricts values and totals to fields whose path contains these steps.
    pub(crate) fn watch(&mut self, steps: &str) {
        self.filter = Some(steps.split('.').map(|step| name_of(step).into()).collect());
    }

    /// Returns the path of a field in the totals with the packet's name in front.
    pub(crate) fn whole_path(&self, path: &str) -> String {
        format!("{}.{path}", self.root)
    }

    /// Returns whether the field with this whole path was requested; true if no field was.
    pub(crate) fn is_wanted(&self, path: &str) -> bool {
        let Some(filter) = &self.filter else { return true };
        let steps: Vec<_> = path.split('.').map(name_of).collect();
        steps.windows(filter.len()).any(|window| window.iter().eq(filter))
    }

    /// Returns path and value of each requested field in the last snapshot.
    pub(crate) fn watched(&self) -> Vec<(String, String)> {
        let Some(DecodedSnapshot { path, trace: Ok(trace), .. }) = self.last() else {
            return Vec::new();
        };
        if self.filter.is_none() {
            return Vec::new();
        }
        let packet = self.whole_path(path.strip_suffix(".bytes").unwrap_or(path));
        let fields = trace.spans().filter(|span| span.part == snapshot::TracePart::Field);
        let fields = fields.filter_map(|span| {
            let (class, field) = (span.class, span.field);
            let id = span.object?;
            let dot = if field.is_empty() { "" } else { "." };
            self.is_wanted(&format!("{packet}.{class}{dot}{field}"))
                .then(|| (format!("{class}[{id}]{dot}{field}"), span.value()))
        });
        fields.collect()
    }

    /// Returns the snapshot in the last packet; `None` if it had none.
    pub(crate) fn last(&self) -> Option<DecodedSnapshot<'_>> {
        let LastSnapshot { place, length, refused } = self.last.as_ref()?;
        Some(DecodedSnapshot {
            path: &self.places[*place],
            length: *length,
            trace: refused.as_deref().map_or(Ok(&self.trace), Err),
        })
    }
}

impl SnapshotTotals {
    fn add(&mut self, path: &str, trace: &snapshot::Trace) {
        self.decoded += 1;
        let packet = path.strip_suffix(".bytes").unwrap_or(path);
        for total in trace.totals() {
            let name = match (total.part, total.class, total.field) {
                (snapshot::TracePart::Field, class, "") => class.into(),
                (snapshot::TracePart::Field, class, field) => {
                    format!("{class}.{}", without_numbers(field))
                }
                (snapshot::TracePart::Object, class, _) => format!("{class}.(changes)"),
                (part, ..) => format!("({part})"),
            };
            let mut path = format!("{packet}.{name}");
            if self.fields.len() >= MAX_TOTALS && !self.fields.contains_key(&path) {
                path = format!("{packet}.(others)");
            }
            let field = self.fields.entry(path).or_insert_with(|| FieldBits {
                colour: colour_of(total.part, total.class, total.field),
                ..FieldBits::default()
            });
            field.bits += total.bits;
            field.count += total.spans as u64;
        }
    }

    /// Returns the decoded bits of the snapshots in the field at this path.
    pub(crate) fn bits_in(&self, path: &str) -> f64 {
        let Some(packet) = path.strip_suffix("bytes") else { return 0.0 };
        let within = self.fields.iter().filter(|(field, _)| field.starts_with(packet));
        within.map(|(_, total)| total.bits).sum()
    }
}

/// Returns the name that decides a part's colour, as in x-rays.
fn colour_of(part: snapshot::TracePart, class: &str, field: &str) -> String {
    match (part, kind_of(part)) {
        (snapshot::TracePart::Object, _) => class.into(),
        (snapshot::TracePart::Field, _) => family(&format!("{class}.{field}"), class),
        (_, kind) => kind.into(),
    }
}

/// Returns the value of the first span of this part.
fn value_of(trace: &snapshot::Trace, part: snapshot::TracePart) -> Option<String> {
    trace.spans().find(|span| span.part == part).map(|span| span.value())
}

/// Returns the sequence number of a snapshot.
fn number_of(trace: &snapshot::Trace) -> Option<u64> {
    value_of(trace, snapshot::TracePart::Number)?.split(',').next()?.parse().ok()
}

/// Returns a step of a path without its index.
fn name_of(step: &str) -> &str {
    step.split('[').next().unwrap_or(step)
}

/// Removes the indices from a path: all elements of an array are one field.
pub(crate) fn without_numbers(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    let mut is_inside = false;
    for char in path.chars() {
        is_inside &= char != ']';
        if !(is_inside && char.is_ascii_digit()) {
            text.push(char);
        }
        is_inside |= char == '[';
    }
    text
}

/// Collects the paths of fields that contain at most one snapshot: no elements of lists.
fn find_places(shape: &Shape, path: &mut String, places: &mut Vec<String>) {
    let mut look = |fields: &[tightwire::stream::Field]| {
        for field in fields {
            let length = path.len();
            if length > 0 {
                path.push('.');
            }
            path.push_str(&field.name);
            find_places(&field.shape, path, places);
            path.truncate(length);
        }
    };
    match shape {
        Shape::Struct { name, fields } if **name == *SNAPSHOT => {
            let has_bytes = matches!(fields.as_slice(), [field] if *field.name == *"bytes");
            if has_bytes && places.len() < MAX_PLACES {
                places.push(if path.is_empty() { "bytes".into() } else { format!("{path}.bytes") });
            }
        }
        Shape::Struct { fields, .. } => look(fields),
        Shape::Enum { variants, .. } => variants.iter().for_each(|variant| look(&variant.fields)),
        Shape::Option(inner) => find_places(inner, path, places),
        _ => {}
    }
}

fn bytes_at<'t>(tree: &'t Dynamic, path: &str) -> Option<&'t [u8]> {
    match tree.at(path)?.value()? {
        Value::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_arrays_are_one_field() {
        assert_eq!(without_numbers("cells[12].items[3][0].count2"), "cells[].items[][].count2");
    }
}
