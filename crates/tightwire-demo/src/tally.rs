//! What the threads count. Everything grows from the beginning: who looks twice knows what was between.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tightwire::link::LinkStats;
use tightwire::session::PeerReport;

/// What a client counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// When it connected, and why it is not connected any more.
    pub(super) connected: Option<Duration>,
    pub(super) ended: Option<String>,
    /// By the name of the message.
    pub(super) messages: BTreeMap<&'static str, Both>,
    /// The bytes of packets with the headers of QUIC, UDP and IP.
    pub(super) packets: Both,
    /// What connecting took of them.
    pub(super) greeting: Option<Both>,
    pub(super) link: LinkStats,
    pub(super) round_trip: Duration,
    pub(super) playback_delay: Duration,
    pub(super) snapshots: u64,
    pub(super) snapshot_bytes: u64,
    /// Those after which the worlds were compared.
    pub(super) compared: u64,
    /// Objects that were not as in the world of the server.
    pub(super) disagreements: u64,
    /// Objects that a snapshot changed.
    pub(super) changed: u64,
    /// Packets and messages that should not have come.
    pub(super) refused: u64,
    /// The first of them.
    pub(super) refusal: Option<String>,
    /// How far what is shown is from the world of the server at that time, and how often that was measured.
    pub(super) error_mm: f64,
    pub(super) errors: u64,
    /// The bits of snapshots, by class and field.
    pub(super) fields: BTreeMap<String, f64>,
    pub(super) chat: VecDeque<String>,
}

/// Bytes that came to a client, and that it sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Both {
    pub(super) down: u64,
    pub(super) up: u64,
}

impl Tally {
    /// How its connection is doing.
    pub(super) fn handle_report(&mut self, report: &PeerReport) {
        for stats in &report.messages {
            let both = Both { down: stats.received.bytes, up: stats.sent.bytes };
            self.messages.insert(stats.message, both);
        }
        let path = &report.path;
        self.packets = Both {
            down: path.bytes_received + UDP_AND_IP * path.packets_received,
            up: path.bytes_sent + UDP_AND_IP * path.packets_sent,
        };
        self.greeting.get_or_insert(self.packets);
        self.round_trip = path.round_trip;
    }

    /// Something should not have come.
    pub(super) fn refuse(&mut self, why: impl ToString) {
        self.refused += 1;
        self.refusal.get_or_insert_with(|| why.to_string());
    }

    /// The newest lines are kept.
    pub(super) fn hear(&mut self, line: String) {
        if self.chat.len() == CHAT_LINES {
            self.chat.pop_front();
        }
        self.chat.push_back(line);
    }
}

/// What the server counts.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerTally {
    /// How many there were: fewer than the number of the newest if there was no time for some.
    pub(super) ticks: u64,
    /// The newest.
    pub(super) tick: u32,
    pub(super) busy: Duration,
    /// Snapshots that are on their way to each client, or lost.
    pub(super) in_flight: Vec<u32>,
    pub(super) refused: u64,
    pub(super) refusal: Option<String>,
}

/// The headers of a UDP packet over IPv4.
const UDP_AND_IP: u64 = 28;

const CHAT_LINES: usize = 8;
