//! Totals and sample packets of a capture, in memory that does not grow with it.

use std::collections::VecDeque;
use std::net::SocketAddr;

use tightwire::packet::Tally;

use super::capture_identity::CaptureIdentity;
use super::cut::CutTotal;
use super::reading::{CurrentDatagram, Refusal, UNKNOWN};
use super::refusals::Refusals;
use super::timeline::Timeline;

/// A line of the list of packets.
#[derive(serde::Serialize, Clone, PartialEq, Debug)]
pub(crate) struct PacketLine {
    pub(crate) packet: u64,
    pub(crate) time: f64,
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) bytes: usize,
    pub(crate) refused: Option<String>,
}

/// A line before it is formatted: one is made for every packet.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Mark {
    packet: u64,
    time: f64,
    from: SocketAddr,
    to: SocketAddr,
    kind: Option<usize>,
    bytes: usize,
    /// Refusal and packet, which is explained only when the line is shown; `None` if accepted.
    refused: Option<(Refusal, Option<Vec<u8>>)>,
}

/// Totals of one kind of packets.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct KindTotal {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) refused: u64,
}

/// Totals of all packets, with the first and the last packets.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) refused: u64,
    pub(crate) refused_bytes: u64,
    /// Bytes before the packets that were accepted; `packet_bytes` are those of the packets.
    pub(crate) overhead_bytes: u64,
    pub(crate) packet_bytes: u64,
    /// Seconds from the first to the last packet.
    pub(crate) seconds: f64,
    /// Totals by the index of the tally's kinds.
    pub(crate) kinds: Vec<KindTotal>,
    pub(crate) unadmitted: KindTotal,
    pub(crate) refusals: Refusals,
    /// Messages of which the capture has only the beginning.
    pub(crate) cut: CutTotal,
    pub(crate) timeline: Timeline,
    shown: usize,
    first: Vec<Mark>,
    last: VecDeque<Mark>,
}

impl Survey {
    /// Makes a survey that keeps the first and the last `shown` packets.
    pub(crate) fn new(shown: usize) -> Self {
        Self { shown, ..Self::default() }
    }

    pub(crate) fn add(&mut self, seen: &CurrentDatagram<'_>) {
        let bytes = seen.datagram.len() as u64;
        self.packets += 1;
        self.bytes += bytes;
        self.seconds = self.seconds.max(seen.time);
        let total = match seen.kind() {
            Some(kind) => {
                if self.kinds.len() <= kind {
                    self.kinds.resize(kind + 1, KindTotal::default());
                }
                &mut self.kinds[kind]
            }
            None => &mut self.unadmitted,
        };
        total.packets += 1;
        total.bytes += bytes;
        if seen.refused.is_some() {
            total.refused += 1;
            self.refused += 1;
            self.refused_bytes += bytes;
            self.refusals.add(seen);
        } else {
            self.overhead_bytes += seen.overhead() as u64;
            self.packet_bytes += bytes - seen.overhead() as u64;
            self.cut.add(seen);
        }
        self.timeline.add(seen.time, seen.kind(), bytes);
        if self.first.len() < self.shown {
            self.first.push(Mark::of(seen));
        } else if self.shown > 0 {
            if self.last.len() == self.shown {
                self.last.pop_front();
            }
            self.last.push_back(Mark::of(seen));
        }
    }

    /// Returns the first packets.
    pub(crate) fn first(
        &self,
        tally: &Tally,
        identity_of_capture: &CaptureIdentity,
    ) -> Vec<PacketLine> {
        self.first.iter().map(|mark| mark.line(tally, identity_of_capture)).collect()
    }

    /// Returns the last packets, except those among the first.
    pub(crate) fn last(
        &self,
        tally: &Tally,
        identity_of_capture: &CaptureIdentity,
    ) -> Vec<PacketLine> {
        self.last.iter().map(|mark| mark.line(tally, identity_of_capture)).collect()
    }

    /// Returns the kinds of packets that occurred with their names, the most bytes first.
    pub(crate) fn kinds<'t>(&self, tally: &'t Tally) -> Vec<(&'t str, KindTotal)> {
        let names = tally.kinds().iter().map(String::as_str);
        let mut kinds: Vec<_> = names.zip(self.kinds.iter().copied()).collect();
        kinds.push((UNKNOWN, self.unadmitted));
        kinds.retain(|(_, total)| total.packets > 0);
        kinds.sort_by_key(|(_, total)| core::cmp::Reverse(total.bytes));
        kinds
    }
}

impl Mark {
    pub(crate) fn of(seen: &CurrentDatagram<'_>) -> Self {
        Self {
            packet: seen.number,
            time: seen.time,
            from: seen.source,
            to: seen.destination,
            kind: seen.kind(),
            bytes: seen.datagram.len(),
            refused: seen.refused.map(|refused| (refused, seen.packet.map(<[u8]>::to_vec))),
        }
    }

    pub(crate) fn line(&self, tally: &Tally, identity_of_capture: &CaptureIdentity) -> PacketLine {
        let Self { packet, time, from, to, bytes, .. } = *self;
        let kind = self.kind.and_then(|kind| tally.kinds().get(kind));
        let reason = |(refused, packet): &(Refusal, Option<Vec<u8>>)| {
            refused.reason(packet.as_deref(), identity_of_capture)
        };
        let refused = self.refused.as_ref().map(reason);
        PacketLine {
            packet,
            time,
            from,
            to,
            kind: kind.map_or(UNKNOWN, |kind| kind).into(),
            bytes,
            refused,
        }
    }
}
