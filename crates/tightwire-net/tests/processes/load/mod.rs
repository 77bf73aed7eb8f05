//! A server process with a crowd of clients, in peace and while somebody floods it.
//!
//! Each client asks twenty times a second, every other time reliably, and the server answers in the
//! frame in which it reads the question. The latency is from `send` at the client to its handler of the
//! answer. The server has sixty frames a second, and a client looks every sixteen milliseconds, so in peace
//! it is about half a frame of each. All admitted clients have connect tokens. The flood comes from a process
//! of its own on the same cores, which sends as fast as it can in the time that the others leave.
#![cfg(target_os = "linux")]

mod by_hand;
mod crowd;
mod hostile;
mod server;
mod traffic;

use std::env;
use std::time::Duration;

use tightwire::quic::Trust;

use by_hand::Group;

use crate::alone;
use crate::process::{Process, arguments, number};
use crate::volume::volume;

/// Duration of the traffic, in milliseconds.
struct Plan {
    clients: usize,
    warm_up: u32,
    quiet: u32,
    flood: u32,
    kinds: &'static [&'static str],
}

struct TestBed {
    server: Process,
    crowd: Process,
    address: String,
    /// Clients beside the crowd that the server admitted so far.
    admitted: f64,
}

/// Results of an interval.
struct Interval {
    server: String,
    crowd: String,
    /// The memory that those take who flood, in KiB, as the limits say.
    allowed: f64,
}

impl TestBed {
    fn new(clients: usize) -> Self {
        let server = Process::start("load::server_process", &clients.to_string());
        let address = server.read_line(START);
        let crowd = Process::start("load::crowd_process", &format!("{address} {clients}"));
        assert_eq!(crowd.read_line(START), "connected");
        Self { server, crowd, address, admitted: 0.0 }
    }

    fn measure(&mut self, name: &str, milliseconds: u32) -> Interval {
        self.server.send_line("begin");
        self.server.read_line(START);
        self.crowd.send_line(&milliseconds.to_string());
        let crowd = self.crowd.read_line(START + Duration::from_millis(milliseconds.into()));
        self.server.send_line("end");
        let server = self.server.read_line(START);
        println!("{name}\n  clients: {crowd}\n  server:  {server}");
        Interval { server, crowd, allowed: 0.0 }
    }

    fn flooded(&mut self, kind: &str, milliseconds: u32) -> Interval {
        // It would be on another machine: its packets are to do harm, not the time it takes to make
        // them.
        let arguments = format!("{} {kind}", self.address);
        let mut hostile = Process::start_idle("load::hostile_process", &arguments);
        assert_eq!(hostile.read_line(START), "ready");
        let mut found = self.measure(kind, milliseconds);
        hostile.send_line("stop");
        let sent = hostile.read_line(START);
        println!("  hostile: {sent}");
        if is_by_hand(kind) {
            for group in Group::all(kind) {
                let each = if group.is_admitted { ADMITTED_KIB } else { UNAUTHENTICATED_KIB };
                // Half-open connections are opened again and again, up to their limit of 256.
                let count = if group.is_half_open() { 256 } else { group.count };
                found.allowed += each * f64::from(count);
                let attacks = if group.is_half_open() { "connections" } else { "datagrams" };
                assert!(number(&sent, attacks) > f64::from(group.count), "{kind}: no attack");
                // The server counts admitted clients beside the crowd.
                let is_in = number(&found.server, "unexpected_peers") > self.admitted;
                assert!(is_in || !group.is_admitted, "{kind}: no client was admitted");
            }
        }
        self.admitted = number(&found.server, "unexpected_peers");
        if kind == "garbage" && cfg!(target_os = "linux") {
            // The system had dropped it before.
            let [read, sent] = [number(&found.server, "flooded"), number(&sent, "datagrams")];
            assert!(read < 0.01 * sent, "{read} of {sent} were read");
        }
        found
    }
}

/// The flood's worst ratios of the median and of the 99th percentile.
fn run(plan: &Plan) -> [f64; 2] {
    let mut test_bed = TestBed::new(plan.clients);
    let warm = test_bed.measure("warm-up", plan.warm_up);
    let quiet = test_bed.measure("quiet", plan.quiet);
    let asked = number(&quiet.crowd, "reliable") + number(&quiet.crowd, "unreliable");
    let talked = f64::from(plan.quiet) / 1000.0 * plan.clients as f64 * 20.0;
    assert!(asked > 0.9 * talked, "{asked} of {talked}");
    // What the system dropped is none of ours, on a machine that is too busy for so many.
    let answered = number(&quiet.crowd, "answered_too") + number(&quiet.server, "system");
    assert!(answered >= number(&quiet.crowd, "unreliable"), "{answered}");
    assert_eq!(number(&quiet.crowd, "dropped"), 0.0);
    for name in ["received", "sent"] {
        let count = number(&quiet.server, name);
        assert!(count + number(&quiet.server, "system") >= asked && count <= asked, "{name}");
    }
    for name in ["faults", "batches_dropped", "batches_lost", "path_dropped", "flooded"] {
        assert_eq!(number(&quiet.server, name), 0.0, "{name}");
    }

    let mut worst = [0.0, 0.0];
    let mut all = vec![quiet];
    for &kind in plan.kinds {
        let found = test_bed.flooded(kind, plan.flood);
        for (at, name) in ["median_ms", "p99_ms"].into_iter().enumerate() {
            let ratio = number(&found.crowd, name) / number(&all[0].crowd, name);
            println!("  {name}: {ratio:.2} times that of the quiet time");
            if kind != "spinning" {
                worst[at] = ratio.max(worst[at]);
            }
        }
        all.push(found);
    }
    for found in &all {
        assert_eq!(number(&found.crowd, "reliable"), number(&found.crowd, "answered"));
        assert_eq!(number(&found.crowd, "unexpected"), 0.0);
        assert_eq!(number(&found.server, "left"), 0.0);
        let grown = number(&found.server, "peak_kib") - number(&warm.server, "rss_kib");
        let most = 4096.0 + 0.1 * number(&warm.server, "rss_kib") + found.allowed;
        assert!(grown < most, "memory: {grown} KiB more");
    }
    // When they have gone, all of it is free.
    std::thread::sleep(Duration::from_secs(12));
    let after = test_bed.measure("afterwards", plan.warm_up);
    let left = number(&after.server, "rss_kib") - number(&warm.server, "rss_kib");
    println!("  {left} KiB more than before all floods");
    assert!(left < 8192.0 + 0.1 * number(&warm.server, "rss_kib"), "memory: {left} KiB are left");
    worst
}

#[test]
fn nothing_is_lost_in_a_crowd_and_a_flood_takes_no_memory() {
    let _alone = alone();
    let kinds = &["spinning", "garbage", "forged", "insider", "packed-5+let-in-fragments-1"];
    let quick = Plan { clients: 20, warm_up: 300, quiet: 800, flood: 300, kinds };
    let full = Plan { clients: 100, warm_up: 1000, quiet: 3000, flood: 1500, kinds: &KINDS };
    run(&volume(quick, full));
}

/// As above, with a thousand, for two minutes; and a flood makes nobody's answers twice as late.
#[test]
#[ignore = "two minutes, and a machine that does nothing else: ./ci.sh load"]
fn full() {
    let _alone = alone();
    let seconds = env::var("TIGHTWIRE_LOAD_SECONDS").map_or(60, |text| text.parse().unwrap());
    let quiet = seconds * 1000;
    let clients = env::var("TIGHTWIRE_LOAD_CLIENTS").map_or(1000, |text| text.parse().unwrap());
    let flood = quiet / 3;
    let worst = run(&Plan { clients, warm_up: quiet / 6, quiet, flood, kinds: &KINDS });
    assert!(worst.iter().all(|&ratio| ratio <= 2.0), "{worst:?}");
}

#[test]
#[ignore = "runs as a process of the other tests"]
fn server_process() {
    let Some(arguments) = arguments() else { return };
    server::run(arguments[0].parse().unwrap());
}

#[test]
#[ignore = "runs as a process of the other tests"]
fn crowd_process() {
    let Some(arguments) = arguments() else { return };
    crowd::run(arguments[0].parse().unwrap(), &trust(&arguments[1]), arguments[2].parse().unwrap());
}

#[test]
#[ignore = "runs as a process of the other tests"]
fn hostile_process() {
    let Some(arguments) = arguments() else { return };
    let (address, kind) = (arguments[0].parse().unwrap(), &arguments[2]);
    if is_by_hand(kind) {
        by_hand::run(address, kind);
    } else {
        hostile::run(address, &trust(&arguments[1]), kind);
    }
}

/// Whether a kind is of peers that speak QUIC by hand: their number is in the name.
fn is_by_hand(kind: &str) -> bool {
    kind.contains('-')
}

fn trust(fingerprint: &str) -> Trust {
    Trust::Pinned(vec![fingerprint.parse().unwrap()])
}

/// Kinds of hostile processes. First: one that only takes processor time, as a control; garbage
/// from many ports; forged QUIC packets and copies; an admitted client that sends all that it can,
/// and copies. Then peers with their own QUIC: unauthenticated ones with packed frames, with
/// harmless frames, with streams far ahead, with fragments, and half-open from many addresses; an
/// admitted one with each; and an admitted one among unauthenticated ones.
const KINDS: [&str; 21] = [
    "spinning",
    "garbage",
    "forged",
    "insider",
    "packed-5",
    "packed-20",
    "packed-60",
    "filled-20",
    "ahead-20",
    "fragments-5",
    "fragments-20",
    "fragments-60",
    "half-open-20",
    "let-in-packed-1",
    "let-in-filled-1",
    "let-in-ahead-1",
    "let-in-fragments-1",
    "let-in-fragments-5",
    "packed-20+let-in-packed-1",
    "fragments-20+let-in-fragments-1",
    "half-open-20+let-in-filled-1",
];
/// Most memory of an unauthenticated peer, and of an admitted one in QUIC, in KiB: 0.5 and 7.0 MB in
/// docs/RELIABILITY.md.
const UNAUTHENTICATED_KIB: f64 = 500_000.0 / 1024.0;
const ADMITTED_KIB: f64 = 7_000_000.0 / 1024.0;
const START: Duration = Duration::from_secs(60);
