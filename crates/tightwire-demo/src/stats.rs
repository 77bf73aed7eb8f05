//! Statistics of the last second, for the page.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde::Serialize;
use tightwire::Wire;
use tightwire::link::LinkStats;
use tightwire::play::{InputStats, PeerPlayStats};

use super::game::{Cube, Player};
use super::live::Controls;
use super::shared::{Shared, lock};
use super::tally::{ServerTally, Tally, Traffic};
use super::world::CUBES;

/// Statistics that the page shows.
#[derive(Debug, Serialize)]
pub(super) struct Stats {
    seconds: f64,
    clients: u32,
    shown_client: u32,
    tick: u32,
    pub(super) down: Vec<Rate>,
    pub(super) up: Vec<Rate>,
    fields: Vec<Rate>,
    pub(super) round_trip_ms: f64,
    pub(super) loss: f64,
    snapshots_in_flight: u32,
    pub(super) snapshot_bytes: f64,
    raw_bytes: u64,
    memory_bytes: u64,
    pub(super) ratio: f64,
    snapshots_per_second: f64,
    changed_objects: f64,
    playback_delay_ms: f64,
    lead_ms: f64,
    margin_ms: f64,
    /// Share of ticks whose input was not there in time.
    missing_inputs: f64,
    corrections_per_second: f64,
    replayed_per_second: f64,
    /// Largest visible correction of the client's own cube.
    correction_mm: f64,
    is_steered: bool,
    pub(super) error_mm: f64,
    refused: u64,
    pub(super) disagreements: u64,
    pub(super) cpu_us_per_tick: f64,
    controls: Controls,
    chat: Vec<String>,
}

/// Traffic of one kind.
#[derive(Debug, Serialize)]
pub(super) struct Rate {
    name: String,
    pub(super) bytes_per_second: f64,
}

/// Counters of the last second.
#[derive(Debug, Default)]
pub(super) struct LastSecond {
    samples: VecDeque<Sample>,
}

#[derive(Debug)]
struct Sample {
    time: Duration,
    server: ServerTally,
    clients: Vec<Tally>,
}

impl LastSecond {
    /// Adds the current counters, and drops those older than a second.
    pub(super) fn look(&mut self, shared: &Shared) {
        let clients = shared.clients.iter().map(|link| {
            let mut tally = lock(&link.tally);
            let copy = tally.clone();
            tally.correction = 0.0;
            copy
        });
        let clients = clients.collect();
        let (time, server) = (shared.now(), lock(&shared.server).clone());
        self.samples.push_back(Sample { time, server, clients });
        while self.samples.len() > 2 && time - self.samples[1].time >= Duration::from_secs(1) {
            self.samples.pop_front();
        }
    }

    /// Returns the statistics of the shown client between the oldest and the newest counters.
    pub(super) fn stats(&self, shared: &Shared) -> Option<Stats> {
        let controls = shared.live.controls();
        let (before, now) = (self.samples.front()?, self.samples.back()?);
        let shown = controls.shown_client as usize;
        let (from, to) = (before.clients.get(shown)?, now.clients.get(shown)?);
        let passed = (now.time - before.time).as_secs_f64().max(0.01);
        let snapshots = (to.snapshots - from.snapshots) as f64;
        let each = |sum: u64| if snapshots > 0.0 { sum as f64 / snapshots } else { 0.0 };
        let snapshot_bytes = each(to.snapshot_bytes - from.snapshot_bytes);
        let (raw_bytes, memory_bytes) = whole(shared.clients.len());
        let ticks = (now.server.ticks - before.server.ticks) as f64;
        let errors = to.errors - from.errors;
        let growth = |of: fn(&Tally) -> u64| of(to).saturating_sub(of(from)) as f64;
        let corrections = self.samples.iter().filter_map(|sample| sample.clients.get(shown));
        let largest = corrections.map(|tally| f64::from(tally.correction)).fold(0.0, f64::max);
        Some(Stats {
            seconds: now.time.as_secs_f64(),
            clients: shared.clients.len() as u32,
            shown_client: controls.shown_client,
            tick: now.server.tick,
            down: rates(from, to, passed, |both| both.down),
            up: rates(from, to, passed, |both| both.up),
            fields: fields(from, to, passed),
            round_trip_ms: to.round_trip.as_secs_f64() * 1000.0,
            loss: loss(&from.link, &to.link),
            snapshots_in_flight: peer(now, shown).in_flight,
            snapshot_bytes,
            raw_bytes,
            memory_bytes,
            ratio: if snapshot_bytes > 0.0 { raw_bytes as f64 / snapshot_bytes } else { 0.0 },
            snapshots_per_second: snapshots / passed,
            changed_objects: each(to.changed - from.changed),
            playback_delay_ms: to.playback_delay_ms,
            lead_ms: to.lead_ms,
            margin_ms: to.margin_ms,
            missing_inputs: missing_inputs(&peer(before, shown).inputs, &peer(now, shown).inputs),
            corrections_per_second: growth(|tally| tally.prediction.mispredicted) / passed,
            replayed_per_second: growth(|tally| tally.prediction.replayed_ticks) / passed,
            correction_mm: largest * 1000.0,
            is_steered: to.is_steered,
            error_mm: mean(to.error_mm - from.error_mm, errors),
            refused: to.refused + now.server.refused,
            disagreements: to.disagreements,
            cpu_us_per_tick: mean(
                (now.server.cpu_time - before.server.cpu_time).as_secs_f64() * 1e6,
                ticks as u64,
            ),
            controls,
            chat: to.chat.iter().cloned().collect(),
        })
    }
}

/// Returns the counts of a client in the play layer.
fn peer(sample: &Sample, client: usize) -> PeerPlayStats {
    sample.server.clients.get(client).copied().unwrap_or_default().newest
}

/// Returns the share of ticks between two counts whose input did not arrive in time.
pub(super) fn missing_inputs(from: &InputStats, to: &InputStats) -> f64 {
    let missing = |stats: &InputStats| stats.repeated + stats.neutral;
    let fresh = to.fresh.saturating_sub(from.fresh);
    let missing = missing(to).saturating_sub(missing(from));
    mean(missing as f64, fresh + missing)
}

/// Returns the mean; 0 without values.
pub(super) fn mean(sum: f64, count: u64) -> f64 {
    if count > 0 { sum / count as f64 } else { 0.0 }
}

/// Returns the share of packets that a link lost between two counts.
pub(super) fn loss(from: &LinkStats, to: &LinkStats) -> f64 {
    let lost = (to.lost + to.overflowed) - (from.lost + from.overflowed);
    mean(lost as f64, to.sent - from.sent)
}

/// Returns the bytes of the whole world, as the types pack it and in memory.
pub(super) fn whole(players: usize) -> (u64, u64) {
    let bits = players as u64 * Player::MAX_BITS + CUBES as u64 * Cube::MAX_BITS;
    let memory = players * size_of::<Player>() + CUBES * size_of::<Cube>();
    (bits.div_ceil(8), memory as u64)
}

/// Returns the rates of each message type, and of the transport's overhead.
fn rates(from: &Tally, to: &Tally, passed: f64, of: impl Fn(&Traffic) -> u64) -> Vec<Rate> {
    let rate = |name: &str, bytes: u64| Rate {
        name: name.into(),
        bytes_per_second: bytes as f64 / passed,
    };
    let mut rates = Vec::new();
    let mut messages = 0;
    for (name, both) in &to.messages {
        let bytes = of(both) - from.messages.get(name).map_or(0, &of);
        // Message types of the other direction are not shown.
        if of(both) > 0 {
            rates.push(rate(name, bytes));
        }
        messages += bytes;
    }
    let packets = of(&to.packets) - of(&from.packets);
    rates.push(rate("transport", packets.saturating_sub(messages)));
    rates
}

fn fields(from: &Tally, to: &Tally, passed: f64) -> Vec<Rate> {
    let earlier = |name: &str, fields: &BTreeMap<String, f64>| fields.get(name).copied();
    let rate = |(name, bits): (&String, &f64)| {
        let bits = bits - earlier(name, &from.fields).unwrap_or(0.0);
        Rate { name: name.clone(), bytes_per_second: bits / 8.0 / passed }
    };
    to.fields.iter().map(rate).collect()
}
