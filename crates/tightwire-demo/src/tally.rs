//! Counters of the threads. All counters only grow: the difference of two reads is what happened
//! between.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tightwire::link::LinkStats;
use tightwire::play::{InputStats, PeerPlayStats, PredictionStats};
use tightwire::session::PeerReport;

/// Counters of a client.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Time at which the client connected; `None` before. `ended` is the reason why the connection
    /// was closed; `None` while it is open.
    pub(super) connected: Option<Duration>,
    pub(super) ended: Option<String>,
    /// Bytes by message name.
    pub(super) messages: BTreeMap<&'static str, Traffic>,
    /// Bytes of packets with the headers of QUIC, UDP and IP.
    pub(super) packets: Traffic,
    /// Bytes of packets when the first report came, most of them for the handshake; `None` before.
    pub(super) handshake: Option<Traffic>,
    pub(super) link: LinkStats,
    pub(super) round_trip: Duration,
    pub(super) playback_delay_ms: f64,
    /// Lead of the input clock over the server, in milliseconds.
    pub(super) lead_ms: f64,
    /// Time from the arrival of the latest input to its tick, in milliseconds.
    pub(super) margin_ms: f64,
    pub(super) time_jumps: u64,
    pub(super) prediction: PredictionStats,
    /// Largest distance since the last sample, in metres, at which the client showed its cube from
    /// the predicted place, since a correction faded.
    pub(super) correction: f32,
    /// The page steers the client's cube, and not the bot.
    pub(super) is_steered: bool,
    pub(super) snapshots: u64,
    pub(super) snapshot_bytes: u64,
    /// Snapshots after which the worlds were compared.
    pub(super) compared: u64,
    /// Objects that differed from the server's world.
    pub(super) disagreements: u64,
    /// Objects that snapshots changed.
    pub(super) changed: u64,
    /// Packets and messages that were refused.
    pub(super) refused: u64,
    /// Reason of the first refusal; `None` if there was none.
    pub(super) refusal: Option<String>,
    /// Sum of the measured distances between shown objects and the server's, in millimetres;
    /// `errors` is the number of measurements.
    pub(super) error_mm: f64,
    pub(super) errors: u64,
    /// Bits of snapshots by class and field.
    pub(super) fields: BTreeMap<String, f64>,
    pub(super) chat: VecDeque<String>,
}

/// Bytes that a client received, and that it sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traffic {
    pub(super) down: u64,
    pub(super) up: u64,
}

impl Tally {
    /// Takes the counters of the client's connection.
    pub(super) fn handle_report(&mut self, report: &PeerReport) {
        for stats in &report.messages {
            let both = Traffic { down: stats.received.bytes, up: stats.sent.bytes };
            self.messages.insert(stats.message, both);
        }
        let path = &report.path;
        self.packets = Traffic {
            down: path.bytes_received + UDP_AND_IP * path.packets_received,
            up: path.bytes_sent + UDP_AND_IP * path.packets_sent,
        };
        self.handshake.get_or_insert(self.packets);
        self.round_trip = path.round_trip;
    }

    /// Counts a refused packet or message.
    pub(super) fn refuse(&mut self, why: impl ToString) {
        self.refused += 1;
        self.refusal.get_or_insert_with(|| why.to_string());
    }

    /// Keeps a line of chat, and drops the oldest.
    pub(super) fn push_chat(&mut self, line: String) {
        if self.chat.len() == CHAT_LINES {
            self.chat.pop_front();
        }
        self.chat.push_back(line);
    }
}

/// Counters of the server.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerTally {
    /// Number of ticks.
    pub(super) ticks: u64,
    /// Number of the newest tick.
    pub(super) tick: u32,
    pub(super) cpu_time: Duration,
    pub(super) clients: Vec<PeerCounts>,
    pub(super) refused: u64,
    pub(super) refusal: Option<String>,
}

/// Counts of a client in the play layer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PeerCounts {
    pub(super) newest: PeerPlayStats,
    /// Counts before its first input, which takes a round trip and is not missing until then.
    pub(super) before_inputs: InputStats,
}

/// Length of the headers of UDP and IPv4, in bytes.
const UDP_AND_IP: u64 = 28;

const CHAT_LINES: usize = 8;
