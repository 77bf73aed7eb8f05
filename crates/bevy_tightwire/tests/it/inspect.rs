//! Captures, bytes by component, and the page of a running app.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use bevy_app::{App, FixedUpdate};
use bevy_diagnostic::{DiagnosticsPlugin, DiagnosticsStore};
use bevy_ecs::prelude::*;
use bevy_tightwire::prelude::*;
use bevy_tightwire::{NetInspectPlugin, NetInspection, client_stats};
use tightwire::inspect::{Capture, Direction};

use crate::browser::{Browser, Graphics};
use crate::game::{Health, Position, net, seconds};

/// File of the capture of an app.
#[derive(Resource, Clone)]
struct File(PathBuf);

fn game(app: &mut App) {
    static APPS: AtomicU32 = AtomicU32::new(0);
    let number = APPS.fetch_add(1, Ordering::Relaxed);
    let name = format!("bevy_tightwire-{}-{number}.pcapng", std::process::id());
    let file = std::env::temp_dir().join(name);
    app.add_plugins((
        TightwirePlugins::new("inspect", "1.0"),
        DiagnosticsPlugin,
        NetInspectPlugin { capture: Some(file.clone()), page: Some(0) },
    ))
    .insert_resource(File(file))
    .add_systems(FixedUpdate, advance.run_if(has_authority));
    app.replicate::<Position>();
    app.replicate::<Health>();
}

fn advance(mut all: Query<(&mut Position, &mut Health)>, tick: Res<NetTick>) {
    for (mut position, mut health) in &mut all {
        position.0[0] = (tick.cast_signed() % 300) as f32;
        health.0 = (**tick / 64 % 100) as u8;
    }
}

/// Asks the page of an app.
fn get(app: &App, path: &str) -> String {
    let address = app.world().resource::<NetInspection>().page_address().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_browser_shows_the_page_of_the_running_app() {
    let mut net = net(1, game);
    net.server.world_mut().spawn((Replicated, Position([0.0, 0.0]), Health(1)));
    net.run(seconds(3.0));
    let address = net.clients[0].world().resource::<NetInspection>().page_address().unwrap();
    let mut browser = Browser::start(Graphics::Plain);
    browser.resize(1000, 900);
    browser.open(&format!("http://{address}/"));
    let snapshots = "parseInt(document.getElementById('state').textContent)";
    browser.wait_until(&format!("{snapshots} > 20"), 20);
    browser.wait_until("document.querySelectorAll('#xray *').length > 20", 20);
    let components =
        "[...document.querySelectorAll('#components td:first-child')].map(one => one.textContent)";
    let components = browser.text(&format!("{components}.sort().join()"));
    assert_eq!(components, "Health,Position,other");
    // The game goes on, and so does the page: its first line is that of the most bytes.
    let before = browser.number(snapshots);
    let rate = "parseInt(document.querySelector('#components td:nth-child(3)').textContent)";
    let start = std::time::Instant::now();
    while !(browser.number(snapshots) > before && browser.number(&format!("{rate} || 0")) > 0.0) {
        assert!(start.elapsed() < seconds(20.0), "the page stands still");
        net.run(seconds(0.5));
        std::thread::sleep(seconds(0.1));
    }
    assert!(browser.text("document.getElementById('xray').textContent").contains("Position"));
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    browser.screenshot(&folder.join("bevy_inspect.png"), true);
    // The browser loads everything from the app, and nothing is wider than a phone.
    assert_eq!(browser.problems(), [""; 0]);
    browser.prefer("dark");
    browser.resize(390, 800);
    let width = browser.number("document.documentElement.scrollWidth");
    browser.screenshot(&folder.join("bevy_inspect_phone.png"), true);
    assert!(width <= 390.0, "{width}");
}

#[test]
fn packets_are_counted_by_component_captured_and_shown() {
    let mut net = net(2, game);
    net.server.world_mut().spawn((Replicated, Position([0.0, 0.0]), Health(1)));
    net.run(seconds(4.0));
    let received = client_stats(net.clients[0].world()).unwrap().snapshot_bytes as f64;
    for app in [&net.server, &net.clients[0]] {
        let counted = app.world().resource::<NetInspection>().components();
        let bytes = |name: &str| counted.iter().find(|one| one.name == name).unwrap().bytes;
        assert!(bytes("Position") > bytes("Health") && bytes("Health") > 1.0, "{counted:?}");
        let sum: f64 = counted.iter().map(|one| one.bytes).sum();
        // A server also counts lost packets, and those on their way; a client none that came late.
        assert!((0.9..1.2).contains(&(sum / received)), "{sum} {received}");
        let diagnostics = app.world().resource::<DiagnosticsStore>();
        let diagnostic = diagnostics.get(&NetInspectPlugin::path_of("Position")).unwrap();
        assert_eq!(diagnostic.value(), Some(bytes("Position")));

        assert!(get(app, "/").contains("/inspect.js"));
        assert!(get(app, "/xray.js").contains("drawXray"));
        assert!(get(app, "/stats.json").contains("\"Position\""));
        let xray = get(app, "/xray.json");
        assert!(xray.contains("200 OK") && xray.contains(".Position"), "{xray}");
    }

    let files = [&net.server, &net.clients[0], &net.clients[1]]
        .map(|app| app.world().resource::<File>().0.clone());
    // The captures end with their apps.
    drop(net);
    for (file, direction) in
        files.iter().zip([Direction::Sent, Direction::Received, Direction::Received])
    {
        let mut capture = Capture::new(std::fs::File::open(file).unwrap()).unwrap();
        let identity = capture.identity().unwrap().clone();
        let mut snapshots = 0;
        while let Some(record) = capture.next_record() {
            let record = record.unwrap();
            let text = identity.decode(identity.packet_in(record.datagram).unwrap()).unwrap();
            if text.to_string().contains("tightwire.Snapshot") {
                assert_eq!(record.direction, Some(direction));
                snapshots += 1;
            }
        }
        assert!(snapshots > 100, "{snapshots}");
        std::fs::remove_file(file).unwrap();
    }
}
