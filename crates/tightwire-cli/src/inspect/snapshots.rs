//! Snapshots within packets: read against the ones before them, for each flow by itself.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use tightwire::packet::Tally;
use tightwire::schema::{Dynamic, Schema};
use tightwire::snapshot;
use tightwire::stream::{Shape, Value};

use tightwire::inspect::{family, kind_of};

/// Flows whose snapshots are read at a time: each has a world and its history, which are 10 MB for the
/// 900 cubes of the demo.
const MAX_FLOWS: usize = 64;

/// After so many snapshots of others a flow has ended, and its place is for another one. With fewer, too
/// many flows at a time would take the places from each other, and none of them be read.
const SILENCE: u64 = 8 * MAX_FLOWS as u64;

/// A snapshot without a base that is so far behind is of a sender that began anew: no honest network
/// holds one back for so long.
const MAX_LATE: u64 = 96;

/// Fields that a schema can have snapshots in.
const MAX_PLACES: usize = 32;

/// Rows of the totals; a description from outside may have any number of fields.
const MAX_TOTALS: usize = 4096;

/// The type whose bytes are a snapshot.
const SNAPSHOT: &str = "SnapshotPacket";

/// Reads the snapshots of a capture.
pub(crate) struct Snapshots {
    /// Or why there is none.
    protocol: Result<snapshot::Protocol, String>,
    /// The name of all packets.
    root: String,
    /// Where in a packet a snapshot can be.
    places: Vec<String>,
    flows: Vec<Flow>,
    /// Snapshots so far, and how many of them are taken apart.
    count: u64,
    pub(crate) most: u64,
    trace: snapshot::Trace,
    /// Of the last packet.
    last: Option<Last>,
    /// The steps of the field that was asked for.
    filter: Option<Vec<String>>,
    pub(crate) totals: SnapshotTotals,
}

/// Snapshots from one address to another.
struct Flow {
    source: SocketAddr,
    destination: SocketAddr,
    receiver: snapshot::Receiver,
    /// The number of the newest snapshot, as it says itself.
    newest: u64,
    /// How many snapshots of all flows there were when it had its last one.
    heard: u64,
}

#[derive(Clone, Debug)]
struct Last {
    place: usize,
    length: usize,
    refused: Option<String>,
}

/// The snapshot in a packet.
#[derive(Clone, Copy)]
pub(crate) struct SeenSnapshot<'a> {
    /// The field of the packet that holds it, without the packet's name: `Snapshot.packet.bytes`.
    pub(crate) path: &'a str,
    /// Its bytes.
    pub(crate) length: usize,
    /// What its bits are for, if it could be read.
    pub(crate) trace: Result<&'a snapshot::Trace, &'a str>,
}

/// What snapshots took.
#[derive(Debug, Default)]
pub(crate) struct SnapshotTotals {
    /// By the path below the packet.
    pub(crate) fields: BTreeMap<String, FieldBits>,
    pub(crate) decoded: u64,
    /// Those that were not, and why the first was not.
    pub(crate) not_decoded: u64,
    pub(crate) reason: Option<String>,
}

/// What one field took of all snapshots.
#[derive(Debug, Default)]
pub(crate) struct FieldBits {
    pub(crate) bits: f64,
    pub(crate) count: u64,
    /// What its colour is by, the same as in x-rays.
    pub(crate) colour: String,
}

impl Snapshots {
    /// That looks for none.
    pub(crate) fn none() -> Self {
        Self::with(Err(String::new()), String::new(), Vec::new())
    }

    /// Of packets with this schema.
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

    /// Reads the snapshot in the last packet of the tally, if it has one.
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
        self.last = Some(Last { place, length: bytes.len(), refused });
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
                    let silent = self.flows.iter().enumerate().min_by_key(|(_, flow)| flow.heard);
                    let silent = silent.map_or(0, |(at, _)| at);
                    if self.count - self.flows[silent].heard <= SILENCE {
                        return Err(format!(
                            "snapshots of more than {MAX_FLOWS} flows at a time are not read: choose \
                             one with --port"
                        ));
                    }
                    self.flows.swap_remove(silent);
                }
                let receiver = snapshot::Receiver::new(protocol);
                self.flows.push(Flow { source, destination, receiver, newest: 0, heard: 0 });
                self.flows.len() - 1
            }
        };
        let Self { flows, trace, .. } = self;
        let flow = &mut flows[at];
        flow.heard = self.count;
        let mut received = flow.receiver.handle_snapshot_traced(bytes, trace);
        let is_late = received == Err(snapshot::ReceiveError::Late)
            && said(trace, snapshot::TracePart::Base).as_deref() == Some("none")
            && number_of(trace).is_some_and(|number| number + MAX_LATE < flow.newest);
        if is_late || matches!(received, Err(snapshot::ReceiveError::OtherSender { .. })) {
            flow.receiver = snapshot::Receiver::new(protocol);
            flow.newest = 0;
            received = flow.receiver.handle_snapshot_traced(bytes, trace);
        }
        match (received, said(trace, snapshot::TracePart::Base)) {
            (Ok(_), _) => {
                flow.newest = number_of(trace).unwrap_or(flow.newest);
                Ok(())
            }
            (Err(snapshot::ReceiveError::UnknownBase), Some(base)) if !base.is_empty() => {
                Err(format!("its baseline, snapshot {base}, is not in the capture"))
            }
            (Err(snapshot::ReceiveError::UnknownBase), _) => {
                Err("its baseline is not in the capture".into())
            }
            (Err(error), _) => Err(error.to_string()),
        }
    }

    /// Keeps to the fields whose path has these steps.
    pub(crate) fn watch(&mut self, steps: &str) {
        self.filter = Some(steps.split('.').map(|step| name_of(step).into()).collect());
    }

    /// The path of a field of the totals, from the packet's name on.
    pub(crate) fn whole_path(&self, path: &str) -> String {
        format!("{}.{path}", self.root)
    }

    /// Whether the field with this whole path is one that was asked for, if one was.
    pub(crate) fn is_wanted(&self, path: &str) -> bool {
        let Some(filter) = &self.filter else { return true };
        let steps: Vec<_> = path.split('.').map(name_of).collect();
        steps.windows(filter.len()).any(|window| window.iter().eq(filter))
    }

    /// The path and the value of each field of the last snapshot that was asked for.
    pub(crate) fn watched(&self) -> Vec<(String, String)> {
        let Some(SeenSnapshot { path, trace: Ok(trace), .. }) = self.last() else {
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

    /// The snapshot in the last packet.
    pub(crate) fn last(&self) -> Option<SeenSnapshot<'_>> {
        let Last { place, length, refused } = self.last.as_ref()?;
        Some(SeenSnapshot {
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

    /// The bits that are told apart of what is at this path.
    pub(crate) fn bits_in(&self, path: &str) -> f64 {
        let Some(packet) = path.strip_suffix("bytes") else { return 0.0 };
        let within = self.fields.iter().filter(|(field, _)| field.starts_with(packet));
        within.map(|(_, total)| total.bits).sum()
    }
}

/// What the x-ray colours such a field by.
fn colour_of(part: snapshot::TracePart, class: &str, field: &str) -> String {
    match (part, kind_of(part)) {
        (snapshot::TracePart::Object, _) => class.into(),
        (snapshot::TracePart::Field, _) => family(&format!("{class}.{field}"), class),
        (_, kind) => kind.into(),
    }
}

/// What the first span of this part says.
fn said(trace: &snapshot::Trace, part: snapshot::TracePart) -> Option<String> {
    trace.spans().find(|span| span.part == part).map(|span| span.value())
}

/// The number of a snapshot.
fn number_of(trace: &snapshot::Trace) -> Option<u64> {
    said(trace, snapshot::TracePart::Number)?.split(',').next()?.parse().ok()
}

/// A step of a path without an index.
fn name_of(step: &str) -> &str {
    step.split('[').next().unwrap_or(step)
}

/// All elements of an array are one field.
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

/// Those that have at most one snapshot in them: not the elements of lists.
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
