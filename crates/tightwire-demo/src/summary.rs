//! Summary of a run, as a table or as JSON.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;
use tightwire::link::LinkStats;

use super::game;
use super::shared::{Shared, lock};
use super::stats::{loss, mean, missing_inputs, whole};
use super::tally::{PeerCounts, ServerTally, Tally};

/// Statistics of a whole run.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    seconds: f64,
    clients: Vec<ClientSummary>,
    raw_bytes: u64,
    cpu_us_per_tick: f64,
    ticks: u64,
    /// Failures of the run, one sentence each.
    #[serde(skip)]
    faults: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ClientSummary {
    client: u32,
    connected: bool,
    down_bytes_per_second: f64,
    up_bytes_per_second: f64,
    snapshots: u64,
    snapshot_bytes: f64,
    loss: f64,
    round_trip_ms: f64,
    error_mm: f64,
    /// Share of ticks whose input did not arrive in time.
    missing_inputs: f64,
    /// Share of compared snapshots that corrected the prediction.
    corrected: f64,
    refused: u64,
    disagreements: u64,
}

impl Summary {
    /// Makes the summary of the run so far.
    pub(super) fn new(shared: &Shared) -> Self {
        let now = shared.now();
        let server = lock(&shared.server).clone();
        let tallies: Vec<_> = shared.clients.iter().map(|seat| lock(&seat.tally).clone()).collect();
        let clients = (0..).zip(&tallies).map(|(client, tally)| {
            let peer = server.clients.get(client as usize).copied().unwrap_or_default();
            summary(client, tally, &peer, now)
        });
        Self {
            seconds: rounded(now.as_secs_f64(), 100.0),
            clients: clients.collect(),
            raw_bytes: whole(tallies.len()).0,
            cpu_us_per_tick: rounded(mean(server.cpu_time.as_secs_f64() * 1e6, server.ticks), 10.0),
            ticks: server.ticks,
            faults: faults(&server, &tallies),
        }
    }

    /// Returns the failures of the run, one per line; `None` if there are none.
    pub(super) fn fault(&self) -> Option<String> {
        (!self.faults.is_empty()).then(|| self.faults.join("\n"))
    }

    /// Formats the summary for people.
    pub(super) fn table(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "client    down kB/s  up kB/s  snapshots  bytes each   loss  round trip   error  missing  corrected  \
             refused  disagree"
        );
        for client in &self.clients {
            let kilo = |bytes: f64| bytes / 1000.0;
            let _ = writeln!(
                text,
                "{:<8}{:>11.1}{:>9.1}{:>11}{:>12.1}{:>6.1}%{:>9.0} ms{:>5.1} mm{:>8.2}%{:>10.1}%{:>9}{:>10}",
                game::name(client.client),
                kilo(client.down_bytes_per_second),
                kilo(client.up_bytes_per_second),
                client.snapshots,
                client.snapshot_bytes,
                client.loss * 100.0,
                client.round_trip_ms,
                client.error_mm,
                client.missing_inputs * 100.0,
                client.corrected * 100.0,
                client.refused,
                client.disagreements,
            );
        }
        let sizes = self.clients.iter().map(|client| client.snapshot_bytes);
        let bytes = mean(sizes.sum(), self.clients.len() as u64);
        let _ = writeln!(
            text,
            "\nDown and up include the headers of QUIC, UDP and IP. Error is the mean distance of shown cubes from \
             the server's.\nMissing: inputs that arrived after their tick. Corrected: predictions of the own cube \
             that were wrong, since it\ntouched other cubes, which the client does not simulate.\n\
             {} ticks in {:.1} s, {:.1} ms of CPU time each.",
            self.ticks,
            self.seconds,
            self.cpu_us_per_tick / 1000.0,
        );
        if bytes > 0.0 {
            let ratio = self.raw_bytes as f64 / bytes;
            let whole = self.raw_bytes;
            let _ = writeln!(
                text,
                "The whole world takes {whole} bytes, a snapshot {ratio:.0} times fewer."
            );
        }
        if (self.ticks as f64) < self.seconds * KEEPS_UP {
            text += "This machine did not keep up with 60 ticks a second: the clients got less than they could.\n";
        }
        text
    }
}

fn summary(client: u32, tally: &Tally, peer: &PeerCounts, now: Duration) -> ClientSummary {
    let passed = tally.connected.map_or(0.0, |since| (now - since).as_secs_f64());
    let handshake = tally.handshake.unwrap_or_default();
    let rate = |bytes: u64, before: u64| match passed > 0.0 {
        true => rounded(bytes.saturating_sub(before) as f64 / passed, 10.0),
        false => 0.0,
    };
    ClientSummary {
        client,
        connected: tally.connected.is_some() && tally.ended.is_none(),
        down_bytes_per_second: rate(tally.packets.down, handshake.down),
        up_bytes_per_second: rate(tally.packets.up, handshake.up),
        snapshots: tally.snapshots,
        snapshot_bytes: rounded(mean(tally.snapshot_bytes as f64, tally.snapshots), 10.0),
        loss: rounded(loss(&LinkStats::default(), &tally.link), 10_000.0),
        round_trip_ms: rounded(tally.round_trip.as_secs_f64() * 1000.0, 10.0),
        error_mm: rounded(mean(tally.error_mm, tally.errors), 100.0),
        missing_inputs: rounded(
            missing_inputs(&peer.before_inputs, &peer.newest.inputs),
            100_000.0,
        ),
        corrected: rounded(
            mean(tally.prediction.mispredicted as f64, tally.prediction.compared),
            10_000.0,
        ),
        refused: tally.refused,
        disagreements: tally.disagreements,
    }
}

/// Collects the failures of the run.
fn faults(server: &ServerTally, tallies: &[Tally]) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(why) = &server.refusal {
        faults.push(format!("the server refused {} times: {why}", server.refused));
    }
    for (client, tally) in (0..).zip(tallies) {
        let name = game::name(client);
        match (&tally.connected, &tally.ended) {
            (None, None) => faults.push(format!("{name} did not connect in time")),
            (None, Some(why)) => faults.push(format!("{name} could not connect: {why}")),
            (Some(_), Some(why)) => faults.push(format!("{name} lost the server: {why}")),
            (Some(_), None) if tally.snapshots == 0 => {
                faults.push(format!("{name} had no snapshot"));
            }
            (Some(_), None) => {}
        }
        if let Some(why) = &tally.refusal {
            faults.push(format!("{name} refused {} packets, at first: {why}", tally.refused));
        }
        if tally.disagreements > 0 {
            faults.push(format!("{name} had {} objects wrong", tally.disagreements));
        }
    }
    faults
}

/// Ticks per second below which the server is too slow.
const KEEPS_UP: f64 = 54.0;

/// Rounds to `1 / steps`, the precision of the measurement.
fn rounded(number: f64, steps: f64) -> f64 {
    (number * steps).round() / steps
}
