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
use std::time::{Duration, Instant};

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
    /// The least share of the planned questions that the crowd has to ask: a busy machine lets it
    /// ask fewer.
    least: f64,
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
    kind: String,
    /// Report of those who flood; empty if nobody did.
    hostile: String,
    /// Clients beside the crowd that the server admitted meanwhile.
    admitted: f64,
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
        let kind = name.into();
        Interval { server, crowd, allowed: 0.0, kind, hostile: String::new(), admitted: 0.0 }
    }

    fn flooded(&mut self, kind: &str, milliseconds: u32) -> Interval {
        let arguments = format!("{} {kind}", self.address);
        let mut hostile = Process::start("load::hostile_process", &arguments);
        assert_eq!(hostile.read_line(START), "ready");
        let groups: Vec<_> = if is_by_hand(kind) { Group::all(kind).collect() } else { Vec::new() };
        let admitted = groups.iter().filter(|group| group.is_admitted).map(|group| group.count);
        self.wait_for_admitted(self.admitted + f64::from(admitted.sum::<u32>()), kind);
        // They would be on another machine: their packets are to do harm, not the time it takes to
        // make them. So they get only the processor time that the others leave from now on.
        hostile.send_line("begin");
        assert_eq!(hostile.read_line(START), "begun");
        let mut found = self.measure(kind, milliseconds);
        hostile.send_line("stop");
        let sent = hostile.read_line(START);
        println!("  hostile: {sent}");
        for group in groups {
            let each = if group.is_admitted { ADMITTED_KIB } else { UNAUTHENTICATED_KIB };
            // Half-open connections are opened again and again, up to their limit of 256.
            let count = if group.is_half_open() { 256 } else { group.count };
            found.allowed += each * f64::from(count);
            let attacks = if group.is_half_open() { "connections" } else { "datagrams" };
            assert!(number(&sent, attacks) > f64::from(group.count), "{kind}: no attack");
        }
        let admitted = number(&found.server, "unexpected_peers");
        found.admitted = admitted - self.admitted;
        self.admitted = admitted;
        if kind == "garbage" && cfg!(target_os = "linux") {
            // The system had dropped it before.
            let [read, sent] = [number(&found.server, "flooded"), number(&sent, "datagrams")];
            assert!(read < 0.01 * sent, "{read} of {sent} were read");
        }
        found.hostile = sent;
        found
    }

    /// Waits until the server has admitted as many clients beside the crowd.
    fn wait_for_admitted(&mut self, count: f64, kind: &str) {
        let begin = Instant::now();
        loop {
            self.server.send_line("status");
            let line = self.server.read_line(START);
            if number(&line, "unexpected_peers") >= count {
                return;
            }
            assert!(begin.elapsed() < START, "{kind}: not all were admitted, of {count}: {line}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Prints the tables of docs/RELIABILITY.md: of the quiet time, and of the floods beside it.
fn print_tables(warm: &Interval, all: &[Interval]) {
    let quiet = &all[0];
    let [server, crowd] =
        [&quiet.server, &quiet.crowd].map(|line| move |name: &str| number(line, name));
    let mega = |kib: f64| kib * 1024.0 / 1e6;
    println!("\n| | |\n|---|---|");
    println!(
        "| messages | {} received and {} sent; {} reliable and {} other ones answered |",
        server("received"),
        server("sent"),
        crowd("answered"),
        crowd("answered_too"),
    );
    println!(
        "| processor | {:.0} µs for each client and second: {:.2} of a processor in all |",
        server("cpu_us"),
        server("cpu_share"),
    );
    println!(
        "| wire | {} bytes in and {} out for each client and second |",
        server("bytes_in"),
        server("bytes_out"),
    );
    println!(
        "| memory of the server | {:.1} MB after the warm-up, {:.1} MB after the quiet time |",
        mega(number(&warm.server, "rss_kib")),
        mega(server("rss_kib")),
    );
    println!(
        "| latency, question to answer | median {:.1} ms, 99 of 100 within {:.1} ms |",
        crowd("median_ms"),
        crowd("p99_ms"),
    );
    println!(
        "\n| flood | packets a second | connections | admitted | dropped by the server | processor | median | \
         99th percentile | memory, of at most |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for found in &all[1..] {
        let of = |name| number(&found.crowd, name) / crowd(name);
        let sent = number(&found.hostile, "datagrams");
        let connections = match is_by_hand(&found.kind) {
            true => number(&found.hostile, "connections").to_string(),
            false => String::new(),
        };
        println!(
            "| {} | {:.0} | {connections} | {} | {} | {:.2} | {:.2} | {:.2} | {:.1} of {:.1} MB |",
            found.kind,
            sent / number(&found.server, "seconds"),
            found.admitted,
            number(&found.server, "flooded"),
            number(&found.server, "cpu_share"),
            of("median_ms"),
            of("p99_ms"),
            mega(found.grown(warm)),
            mega(found.most_grown(warm)),
        );
    }
}

impl Interval {
    /// Returns the memory that the server took at most, in KiB, beyond that after the warm-up.
    fn grown(&self, warm: &Self) -> f64 {
        number(&self.server, "peak_kib") - number(&warm.server, "rss_kib")
    }

    /// Returns what it may be: what the limits add up to, and something for the allocator.
    fn most_grown(&self, warm: &Self) -> f64 {
        4096.0 + 0.1 * number(&warm.server, "rss_kib") + self.allowed
    }
}

/// The flood's worst ratios of the median and of the 99th percentile.
fn run(plan: &Plan) -> [f64; 2] {
    let mut test_bed = TestBed::new(plan.clients);
    let warm = test_bed.measure("warm-up", plan.warm_up);
    let quiet = test_bed.measure("quiet", plan.quiet);
    let asked = number(&quiet.crowd, "reliable") + number(&quiet.crowd, "unreliable");
    let talked = f64::from(plan.quiet) / 1000.0 * plan.clients as f64 * 20.0;
    assert!(asked > plan.least * talked, "{asked} of {talked}");
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
    print_tables(&warm, &all);
    for found in &all {
        assert_eq!(number(&found.crowd, "reliable"), number(&found.crowd, "answered"));
        assert_eq!(number(&found.crowd, "unexpected"), 0.0);
        assert_eq!(number(&found.server, "left"), 0.0);
        let (grown, most) = (found.grown(&warm), found.most_grown(&warm));
        assert!(grown < most, "{}: {grown} KiB more, of {most}", found.kind);
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
    let kinds = &["spinning", "garbage", "forged", "insider", "packed-5+admitted-fragments-1"];
    let (clients, least) = (20, 0.2);
    let quick = Plan { clients, warm_up: 300, quiet: 800, flood: 300, kinds, least };
    let (clients, kinds) = (100, &KINDS);
    let full = Plan { clients, warm_up: 1000, quiet: 3000, flood: 1500, kinds, least };
    run(&volume(quick, full));
}

/// As above, with a thousand, for ten minutes; and a flood makes nobody's answers twice as late.
#[test]
#[ignore = "ten minutes, and a machine that does nothing else: ./ci.sh load"]
fn full() {
    let _alone = alone();
    let seconds = env::var("TIGHTWIRE_LOAD_SECONDS").map_or(60, |text| text.parse().unwrap());
    let quiet = seconds * 1000;
    let clients = env::var("TIGHTWIRE_LOAD_CLIENTS").map_or(1000, |text| text.parse().unwrap());
    let flood = quiet / 3;
    let worst = run(&Plan { clients, warm_up: quiet / 6, quiet, flood, kinds: &KINDS, least: 0.9 });
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
/// harmless frames, with streams far ahead, with fragments, with first packets to ids of connections
/// that are over, and half-open from many addresses; an admitted one with each; and an admitted one among unauthenticated ones.
const KINDS: [&str; 22] = [
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
    "first-5",
    "half-open-20",
    "admitted-packed-1",
    "admitted-filled-1",
    "admitted-ahead-1",
    "admitted-fragments-1",
    "admitted-fragments-5",
    "packed-20+admitted-packed-1",
    "fragments-20+admitted-fragments-1",
    "half-open-20+admitted-filled-1",
];
/// Most memory of an unauthenticated peer, and of an admitted one in QUIC, in KiB: 0.5 and 7.0 MB in
/// docs/RELIABILITY.md.
const UNAUTHENTICATED_KIB: f64 = 500_000.0 / 1024.0;
const ADMITTED_KIB: f64 = 7_000_000.0 / 1024.0;
const START: Duration = Duration::from_secs(60);
