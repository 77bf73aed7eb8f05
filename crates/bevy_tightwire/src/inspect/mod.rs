//! Captures, bytes by component, and a page that shows packets of the running app.

mod page;
mod tap;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bevy_app::{App, Last, Plugin};
use bevy_diagnostic::{Diagnostic, DiagnosticPath, Diagnostics, RegisterDiagnostic};
use bevy_ecs::prelude::*;
use bevy_time::{Real, Time};
use tightwire::inspect::{CaptureWriter, Captured, Xray};
use tightwire::play::GameDescription;
use tightwire::session::SessionConfig;
use tightwire::snapshot::{Config, Protocol, Receiver, Trace, TracePart};

use crate::classes::Replication;
use crate::face::AnyTransport;
use crate::mode;
use crate::registry::Registry;
use page::Page;
use tap::Tap;

/// Shows what the packets of the running app contain: a capture in a file, the bytes of each
/// component, and a page. Games add this plugin while they are developed, after those of this
/// crate; the feature `inspect` has it.
///
/// Each snapshot is decoded a second time, with a trace of its bits: on a client all that it
/// receives, on a server those for the client that connected first.
///
/// The diagnostics are `tightwire/bytes/` with the name of a component: see
/// [`path`](Self::path_of).
///
/// ```
/// use bevy_app::App;
/// use bevy_ecs::prelude::*;
/// use bevy_tightwire::NetInspectPlugin;
/// use bevy_tightwire::prelude::*;
///
/// #[derive(Component, Wire, Default)]
/// struct Health(#[wire(range = 0..=100)] u8);
///
/// let mut app = App::new();
/// app.add_plugins((
///     TightwirePlugins::new("game", "1.0"),
///     NetInspectPlugin { page: Some(0), ..NetInspectPlugin::default() },
/// ));
/// app.replicate::<Health>();
/// app.finish();
/// assert!(app.world().resource::<bevy_tightwire::NetInspection>().page_address().is_some());
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NetInspectPlugin {
    /// File of the capture, which `tightwire inspect` and Wireshark read; `None` without one. Each
    /// server or client that the app becomes overwrites it. The file is not encrypted.
    /// Default: `None`.
    pub capture: Option<PathBuf>,
    /// Port of the page on this machine, at `127.0.0.1`; 0 for any free one, `None` without a page.
    /// Default: `None`.
    pub page: Option<u16>,
}

impl NetInspectPlugin {
    /// Returns the path of the diagnostic with the bytes of a component, by the last part of its
    /// type's name.
    #[must_use]
    pub fn path_of(component: &str) -> DiagnosticPath {
        DiagnosticPath::new(format!("tightwire/bytes/{component}"))
    }
}

impl Plugin for NetInspectPlugin {
    fn build(&self, app: &mut App) {
        let shared = Arc::default();
        let page = self.page.and_then(|port| {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            match Page::serve(address, &shared) {
                Ok(page) => {
                    log::info!("packets are shown at http://{}", page.address());
                    Some(page)
                }
                Err(error) => {
                    log::error!("the page cannot be served at {address}: {error}");
                    None
                }
            }
        });
        let capture = self.capture.clone();
        app.insert_resource(NetInspection { capture, page, shared, published: Duration::ZERO })
            .add_systems(Last, publish);
    }

    fn finish(&self, app: &mut App) {
        let names = app.world().get_resource::<Replication>().map(Replication::names);
        for name in names.unwrap_or_default().into_iter().chain([OTHER.into()]) {
            app.register_diagnostic(Diagnostic::new(Self::path_of(&name)).with_suffix(" bytes"));
        }
    }
}

/// The bytes of a component in the snapshots so far.
#[derive(Clone, PartialEq, Debug)]
pub struct ComponentBytes {
    /// Last part of the name of the component's type; `other` for all that belongs to no component:
    /// headers, lists of entities, presence of components.
    pub name: String,
    /// Bytes, fractional since fields take fractions of bits.
    pub bytes: f64,
}

/// Resource of [`NetInspectPlugin`]: its page, and what it has counted.
#[derive(Resource, Debug)]
pub struct NetInspection {
    capture: Option<PathBuf>,
    page: Option<Page>,
    shared: Arc<Mutex<Shared>>,
    /// Time at which the page got its values last.
    published: Duration,
}

impl NetInspection {
    /// Returns the address of the page; `None` without one.
    #[must_use]
    pub fn page_address(&self) -> Option<SocketAddr> {
        self.page.as_ref().map(Page::address)
    }

    /// Returns the bytes of each component in the snapshots so far, in the order of their names.
    #[must_use]
    pub fn components(&self) -> Vec<ComponentBytes> {
        let counts = lock(&self.shared);
        let bytes = |(name, bits): (&String, &f64)| ComponentBytes {
            name: name.clone(),
            bytes: bits / 8.0,
        };
        counts.bits.iter().map(bytes).collect()
    }
}

/// State that the transport, the systems and the page share.
#[derive(Debug, Default)]
struct Shared {
    /// Bits by component.
    bits: BTreeMap<String, f64>,
    snapshots: u64,
    bytes: u64,
    /// Snapshots that the second decoder could not read.
    unread: u64,
    /// X-ray of a recent snapshot; `None` before the first one.
    xray: Option<Xray>,
    /// The values of the page as JSON.
    page: Texts,
}

/// Texts that the page asks for; empty before the first.
#[derive(Debug, Default)]
struct Texts {
    stats: String,
    xray: String,
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A second decoder of snapshots, which counts the bits of components.
struct Decoder {
    receiver: Receiver,
    protocol: Protocol,
    /// In a lock only because a trace is not `Sync`, and a resource has to be.
    trace: Mutex<Trace>,
    shared: Arc<Mutex<Shared>>,
    xrayed: Option<Duration>,
}

impl Decoder {
    fn new(protocol: &Protocol, shared: &Arc<Mutex<Shared>>) -> Self {
        Self {
            receiver: Receiver::new(protocol),
            protocol: protocol.clone(),
            trace: Mutex::new(Trace::new()),
            shared: shared.clone(),
            xrayed: None,
        }
    }

    /// Begins with an empty world, as a new connection does.
    fn start_over(&mut self) {
        self.receiver = Receiver::new(&self.protocol);
    }

    /// Reads a snapshot.
    fn handle_snapshot(&mut self, now: Duration, packet: &[u8]) {
        let trace = self.trace.get_mut().unwrap_or_else(PoisonError::into_inner);
        let read = self.receiver.handle_snapshot_traced(packet, trace);
        let mut shared = lock(&self.shared);
        if read.is_err() {
            shared.unread += 1;
            return;
        }
        shared.snapshots += 1;
        shared.bytes += packet.len() as u64;
        for total in trace.totals() {
            let component = match total.part {
                TracePart::Field => component_of(total.field),
                _ => OTHER,
            };
            match shared.bits.get_mut(component) {
                Some(bits) => *bits += total.bits,
                None => drop(shared.bits.insert(component.into(), total.bits)),
            }
        }
        if self.xrayed.is_none_or(|last| now >= last.saturating_add(BETWEEN_XRAYS)) {
            self.xrayed = Some(now);
            let time = now.as_secs_f64();
            shared.xray = Some(Xray::of_snapshot("Snapshot", time, packet, trace));
        }
    }
}

/// Returns the component of a field: the first step of its path. A presence mask is of no component.
fn component_of(field: &str) -> &str {
    let name = field.split(['.', '[']).next().unwrap_or(field);
    if Replication::is_mask(name) { OTHER } else { name }
}

/// Name of the bits that belong to no component.
const OTHER: &str = "other";

/// Time between x-rays: a person could not read them any faster.
const BETWEEN_XRAYS: Duration = Duration::from_millis(300);

/// Wraps the transport of a server or client that starts, if the app has [`NetInspectPlugin`].
pub(crate) fn wrap(
    world: &World,
    transport: AnyTransport,
    config: &Config,
    session: &SessionConfig,
) -> AnyTransport {
    let Some(inspection) = world.get_resource::<NetInspection>() else { return transport };
    let Some(game) = mode::declare(world) else { return transport };
    let description = match world.resource::<Registry>().input.describe(game, config) {
        Ok(description) => description,
        // The server or client refuses it too, with this reason.
        Err(_) => return transport,
    };
    let decoder = Decoder::new(&description.objects, &inspection.shared);
    let transport: AnyTransport = Box::new(Tap::new(transport, decoder));
    let Some(path) = &inspection.capture else { return transport };
    match open(path, &description) {
        Ok(writer) => {
            let local = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
            Box::new(Captured::new(transport, writer, local, session.unix_start))
        }
        Err(error) => {
            log::error!("the capture {} cannot be written: {error}", path.display());
            transport
        }
    }
}

/// Port of this side in captures: a transport does not tell its own address.
const PORT: u16 = 7777;

fn open(
    path: &PathBuf,
    description: &GameDescription,
) -> std::io::Result<CaptureWriter<BufWriter<File>>> {
    let file = BufWriter::new(File::create(path)?);
    CaptureWriter::with_snapshots(file, &description.identity, &description.objects)
}

/// Records the diagnostics, and gives the page its values.
fn publish(
    mut inspection: ResMut<'_, NetInspection>,
    time: Res<'_, Time<Real>>,
    mut diagnostics: Diagnostics<'_, '_>,
) {
    let now = time.elapsed();
    for (name, bits) in &lock(&inspection.shared).bits {
        diagnostics.add_measurement(&NetInspectPlugin::path_of(name), || bits / 8.0);
    }
    if inspection.page.is_none() || now < inspection.published.saturating_add(BETWEEN_XRAYS) {
        return;
    }
    inspection.published = now;
    let mut shared = lock(&inspection.shared);
    let components: BTreeMap<_, _> =
        shared.bits.iter().map(|(name, bits)| (name, bits / 8.0)).collect();
    let stats = serde_json::json!({
        "seconds": now.as_secs_f64(),
        "snapshots": shared.snapshots,
        "bytes": shared.bytes,
        "unread": shared.unread,
        "components": components,
    });
    let xray = shared.xray.take().and_then(|xray| serde_json::to_string(&xray).ok());
    shared.page.stats = stats.to_string();
    if let Some(xray) = xray {
        shared.page.xray = xray;
    }
}
