//! One pass over a capture: every datagram is counted by the schema and handed to a callback.

use std::io::Read;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::time::Duration;

use tightwire::inspect::{Capture, CaptureError};
use tightwire::packet::{PacketError, Tally};
use tightwire::snapshot;
use tightwire::stream::{ReadError, Trace};

use super::capture_identity::CaptureIdentity;
use super::snapshots::Snapshots;
use crate::source::is_session;

/// A capture that is being read.
pub(crate) struct Reading<R> {
    capture: Capture<R>,
    identity_of_capture: CaptureIdentity,
    tally: Tally,
    /// UDP port that datagrams must come from or go to; `None` for all datagrams.
    port: Option<u16>,
    number: u64,
    began: Option<Duration>,
    other_ports: u64,
    /// The packets are records of a session, and the number of datagrams that are none.
    is_session: bool,
    no_records: u64,
    snapshots: Snapshots,
}

/// The current datagram.
#[derive(Clone, Copy)]
pub(crate) struct CurrentDatagram<'a> {
    /// Number of the datagram, from 1, in the order of the file.
    pub(crate) number: u64,
    /// Seconds since the first datagram.
    pub(crate) time: f64,
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
    pub(crate) datagram: &'a [u8],
    /// Packet without its protection; `None` if the protection refused the datagram.
    pub(crate) packet: Option<&'a [u8]>,
    pub(crate) refused: Option<Refusal>,
    pub(crate) tally: &'a Tally,
    pub(crate) identity_of_capture: &'a CaptureIdentity,
    pub(crate) snapshots: &'a Snapshots,
}

/// Reason why a datagram was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// Refused by the protection.
    Gate(PacketError),
    /// Refused by a field of the packet.
    Field(ReadError),
}

impl Refusal {
    /// Describes the refusal in a sentence, with the field of the packet.
    pub(crate) fn reason(
        self,
        packet: Option<&[u8]>,
        identity_of_capture: &CaptureIdentity,
    ) -> String {
        match self {
            Self::Gate(refused) => refused.to_string(),
            Self::Field(error) => {
                let trace = packet.map(|packet| identity_of_capture.identity().explain(packet));
                let value_of =
                    trace.and_then(|trace| trace.refusal().map(|value_of| value_of.to_string()));
                value_of.unwrap_or_else(|| error.to_string())
            }
        }
    }
}

impl<R: Read> Reading<R> {
    pub(crate) fn new(
        capture: Capture<R>,
        identity_of_capture: CaptureIdentity,
        port: Option<u16>,
    ) -> Self {
        let tally = Tally::new(identity_of_capture.identity());
        let protocol = protocol_in(&capture);
        let snapshots = Snapshots::new(protocol, identity_of_capture.identity().schema(), &tally);
        Self {
            capture,
            is_session: is_session(identity_of_capture.identity()),
            identity_of_capture,
            tally,
            port,
            number: 0,
            began: None,
            other_ports: 0,
            no_records: 0,
            snapshots,
        }
    }

    /// Decodes snapshots by another capture's description, if it has one.
    pub(crate) fn take_snapshots_of<S: Read>(&mut self, other: &Capture<S>) {
        if other.snapshots().is_some() || other.snapshots_error().is_some() {
            let schema = self.identity_of_capture.identity().schema();
            self.snapshots = Snapshots::new(protocol_in(other), schema, &self.tally);
        }
    }

    /// Leaves snapshots as bytes.
    pub(crate) fn without_snapshots(mut self) -> Self {
        self.snapshots = Snapshots::none();
        self
    }

    /// Limits the number of snapshots that are decoded.
    pub(crate) fn take_apart(&mut self, most: u64) {
        self.snapshots.most = most;
    }

    /// Keeps the values of this field.
    pub(crate) fn watch(&mut self, field: &str) {
        self.tally.watch(field);
        self.snapshots.watch(field);
    }

    /// Calls `look` with each datagram, until the end of the capture or until `look` breaks.
    pub(crate) fn each<E: From<CaptureError>>(
        &mut self,
        mut look: impl FnMut(CurrentDatagram<'_>) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        let Self { capture, identity_of_capture, tally, snapshots, .. } = self;
        while let Some(record) = capture.next_record() {
            let record = record?;
            let (source, destination) = (record.source, record.destination);
            if self.port.is_some_and(|port| port != source.port() && port != destination.port()) {
                self.other_ports += 1;
                continue;
            }
            // On the wire, the port of a game has packets of QUIC, which nobody refused.
            if self.is_session && !is_record(record.datagram) {
                self.no_records += 1;
                continue;
            }
            self.number += 1;
            let began = *self.began.get_or_insert(record.time);
            let packet = identity_of_capture.packet_in(record.datagram);
            let refused = match packet {
                Ok(packet) => tally.count(packet).err().map(Refusal::Field),
                Err(refused) => Some(Refusal::Gate(refused)),
            };
            snapshots.read(refused.is_none().then_some(&*tally), source, destination);
            let seen = CurrentDatagram {
                number: self.number,
                time: seconds(began, record.time),
                source,
                destination,
                datagram: record.datagram,
                packet: packet.ok(),
                refused,
                tally,
                identity_of_capture,
                snapshots,
            };
            if look(seen)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    pub(crate) fn snapshots(&self) -> &Snapshots {
        &self.snapshots
    }

    pub(crate) fn identity_of_capture(&self) -> &CaptureIdentity {
        &self.identity_of_capture
    }

    /// Returns the numbers of packets and datagrams that are not read.
    pub(crate) fn skipped(&self) -> Skipped {
        Skipped {
            no_datagram: self.capture.skipped(),
            other_ports: self.other_ports,
            no_records: self.no_records,
        }
    }
}

/// Numbers of packets that are not read.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Skipped {
    /// Packets without a datagram.
    pub(crate) no_datagram: u64,
    /// Datagrams of other ports.
    pub(crate) other_ports: u64,
    /// Datagrams that are no records of a session: encrypted ones, or of another program.
    pub(crate) no_records: u64,
}

/// Whether a datagram is a message with its header, as a capture of a session has them.
fn is_record(datagram: &[u8]) -> bool {
    let [_, _, low, high, _, body @ ..] = datagram else { return false };
    body.len() == usize::from(u16::from_le_bytes([*low, *high]))
}

impl CurrentDatagram<'_> {
    /// Returns the index of the packet's kind in the tally; `None` if the protection refused the
    /// datagram.
    pub(crate) fn kind(&self) -> Option<usize> {
        self.packet.map(|_| self.tally.kind())
    }

    pub(crate) fn kind_name(&self) -> &str {
        self.kind().and_then(|kind| self.tally.kinds().get(kind)).map_or(UNKNOWN, |name| name)
    }

    /// Returns the trace of the packet; `None` if the protection refused the datagram.
    pub(crate) fn trace(&self) -> Option<Trace> {
        self.packet.map(|packet| self.identity_of_capture.identity().explain(packet))
    }

    /// Returns the reason of the refusal, in a sentence with the field; `None` if the packet was
    /// accepted.
    pub(crate) fn reason(&self) -> Option<String> {
        Some(self.refused?.reason(self.packet, self.identity_of_capture))
    }

    /// Returns the number of bytes before the packet.
    pub(crate) fn overhead(&self) -> usize {
        self.datagram.len() - self.packet.map_or(0, <[u8]>::len)
    }
}

/// Returns the snapshot protocol of a capture, or the reason why there is none.
fn protocol_in<R: Read>(capture: &Capture<R>) -> Result<snapshot::Protocol, String> {
    match (capture.snapshots(), capture.snapshots_error()) {
        (Some(description), _) => {
            snapshot::Protocol::from_description(description).map_err(|error| error.to_string())
        }
        (None, Some(error)) => {
            Err(format!("what the capture says of snapshots is damaged: {error}"))
        }
        (None, None) => Err("the capture does not say what its snapshots are: --schema takes \
                             another one that does"
            .into()),
    }
}

/// Kind of a datagram that the protection refused.
pub(crate) const UNKNOWN: &str = "?";

/// Returns the seconds between two times; negative if `to` is earlier, since captures of several
/// machines are not always in order.
fn seconds(from: Duration, to: Duration) -> f64 {
    match to.checked_sub(from) {
        Some(after) => after.as_secs_f64(),
        None => -from.saturating_sub(to).as_secs_f64(),
    }
}
