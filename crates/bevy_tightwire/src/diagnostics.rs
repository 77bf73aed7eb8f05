//! Diagnostics of the connection, by `bevy_diagnostic`.

use bevy_app::{App, Last, Plugin};
use bevy_diagnostic::{Diagnostic, DiagnosticPath, Diagnostics, RegisterDiagnostic};
use bevy_ecs::prelude::*;

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
    /// Bytes of the snapshots that a server has sent, to all clients.
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

fn measure(
    client: Option<Res<'_, NetClient>>,
    server: Option<Res<'_, NetServer>>,
    clients: Query<'_, '_, &ConnectedClient>,
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
        let stats = clients.iter().filter_map(|client| server.0.stats(client.peer?));
        let bytes: u64 = stats.map(|stats| stats.snapshot_bytes).sum();
        diagnostics.add_measurement(&NetDiagnosticsPlugin::BYTES_OUT, || bytes as f64);
    }
}
