//! Diagnostics of the connection, by `bevy_diagnostic`.

use bevy_app::{App, Last, Plugin};
use bevy_diagnostic::{Diagnostic, DiagnosticPath, Diagnostics, RegisterDiagnostic};
use bevy_ecs::prelude::*;
use std::collections::HashMap;
use tightwire::PeerId;

use crate::client::NetClient;
use crate::owner::ConnectedClient;
use crate::server::NetServer;

/// Records the state of the connection as diagnostics. Games add this plugin themselves.
///
/// ```
/// use bevy_app::App;
/// use bevy_diagnostic::DiagnosticsPlugin;
/// use bevy_tightwire::NetDiagnosticsPlugin;
///
/// App::new().add_plugins((DiagnosticsPlugin, NetDiagnosticsPlugin));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct NetDiagnosticsPlugin;

impl NetDiagnosticsPlugin {
    /// Round-trip time of a client, in milliseconds.
    pub const ROUND_TRIP: DiagnosticPath = DiagnosticPath::const_new("tightwire/rtt");
    /// Share of a client's packets that were lost, in percent.
    pub const LOSS: DiagnosticPath = DiagnosticPath::const_new("tightwire/loss");
    /// Bytes of the snapshots that a client has received.
    pub const BYTES_IN: DiagnosticPath = DiagnosticPath::const_new("tightwire/bytes_in");
    /// Bytes of the snapshots that a server has sent, to all clients, also to those that have left.
    pub const BYTES_OUT: DiagnosticPath = DiagnosticPath::const_new("tightwire/bytes_out");
    /// Number of snapshots that differed from a client's prediction.
    pub const CORRECTIONS: DiagnosticPath = DiagnosticPath::const_new("tightwire/corrections");
    /// Number of ticks that a client has replayed.
    pub const REPLAYED_TICKS: DiagnosticPath =
        DiagnosticPath::const_new("tightwire/rollback_ticks");
}

impl Plugin for NetDiagnosticsPlugin {
    fn build(&self, app: &mut App) {
        let count = |path| Diagnostic::new(path);
        app.register_diagnostic(Diagnostic::new(Self::ROUND_TRIP).with_suffix("ms"))
            .register_diagnostic(Diagnostic::new(Self::LOSS).with_suffix("%"))
            .register_diagnostic(count(Self::BYTES_IN))
            .register_diagnostic(count(Self::BYTES_OUT))
            .register_diagnostic(count(Self::CORRECTIONS))
            .register_diagnostic(count(Self::REPLAYED_TICKS))
            .add_systems(Last, measure);
    }
}

/// Bytes that a server has sent.
#[derive(Default)]
struct Sent {
    total: u64,
    /// Bytes to each client that is still there.
    by_peer: HashMap<PeerId, u64>,
}

impl Sent {
    fn update(&mut self, now: HashMap<PeerId, u64>) {
        for (peer, bytes) in &now {
            let before = self.by_peer.get(peer).copied().unwrap_or(0);
            // Another server may give the same number to another client, which begins with none.
            self.total += bytes.checked_sub(before).unwrap_or(*bytes);
        }
        self.by_peer = now;
    }
}

fn measure(
    client: Option<Res<'_, NetClient>>,
    server: Option<Res<'_, NetServer>>,
    clients: Query<'_, '_, &ConnectedClient>,
    mut sent: Local<'_, Sent>,
    mut diagnostics: Diagnostics<'_, '_>,
) {
    if let Some(client) = client {
        let stats = client.0.stats();
        if let Some((round_trip, loss)) = client.0.path() {
            diagnostics.add_measurement(&NetDiagnosticsPlugin::ROUND_TRIP, || {
                1e3 * round_trip.as_secs_f64()
            });
            diagnostics.add_measurement(&NetDiagnosticsPlugin::LOSS, || 100.0 * loss);
        }
        let mut count = |path: &DiagnosticPath, count: u64| {
            diagnostics.add_measurement(path, || count as f64);
        };
        count(&NetDiagnosticsPlugin::BYTES_IN, stats.snapshot_bytes);
        count(&NetDiagnosticsPlugin::CORRECTIONS, stats.prediction.mispredicted);
        count(&NetDiagnosticsPlugin::REPLAYED_TICKS, stats.prediction.replayed_ticks);
    }
    if let Some(server) = server {
        let bytes = |peer| Some((peer, server.0.stats(peer)?.snapshot_bytes));
        sent.update(clients.iter().filter_map(|client| bytes(client.peer?)).collect());
        let total = sent.total as f64;
        diagnostics.add_measurement(&NetDiagnosticsPlugin::BYTES_OUT, || total);
    }
}
