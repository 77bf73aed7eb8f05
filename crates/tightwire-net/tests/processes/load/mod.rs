//! A server process with a crowd of clients, in peace and while somebody floods it.
//!
//! Each client asks twenty times a second, every other time reliably, and the server answers in the
//! frame in which it reads the question. The latency is from `send` at the client to its handler of the
//! answer. The server has sixty frames a second, and a client looks every four milliseconds while it
//! waits, so in peace it is about half a frame and two milliseconds more. The flood comes from a process of
//! its own on the same cores, which sends as fast as it can in the time that the others leave.
#![cfg(target_os = "linux")]

mod crowd;
mod hostile;
mod server;
mod talk;

use std::env;
use std::time::Duration;

use tightwire::quic::Trust;

use crate::alone;
use crate::process::{Process, number, wishes};
use crate::volume::volume;

/// How long everybody talks, in milliseconds.
struct Plan {
    clients: usize,
    warm_up: u32,
    quiet: u32,
    flood: u32,
}

struct Stand {
    server: Process,
    crowd: Process,
    address: String,
}

/// What both sides say about a while.
struct While {
    server: String,
    crowd: String,
}

impl Stand {
    fn new(clients: usize) -> Self {
        let server = Process::start("load::server_process", &clients.to_string());
        let address = server.hear(START);
        let crowd = Process::start("load::crowd_process", &format!("{address} {clients}"));
        assert_eq!(crowd.hear(START), "connected");
        Self { server, crowd, address }
    }

    fn talk(&mut self, name: &str, milliseconds: u32) -> While {
        self.server.tell("begin");
        self.server.hear(START);
        self.crowd.tell(&milliseconds.to_string());
        let crowd = self.crowd.hear(START + Duration::from_millis(milliseconds.into()));
        self.server.tell("end");
        let server = self.server.hear(START);
        println!("{name}\n  clients: {crowd}\n  server:  {server}");
        While { server, crowd }
    }

    fn flooded(&mut self, kind: &str, milliseconds: u32) -> While {
        // It would be on another machine: its packets are to do harm, not the time it takes to make them.
        let wishes = format!("{} {kind}", self.address);
        let mut hostile = Process::start_idle("load::hostile_process", &wishes);
        assert_eq!(hostile.hear(START), "ready");
        let found = self.talk(kind, milliseconds);
        hostile.tell("stop");
        let sent = hostile.hear(START);
        println!("  hostile: {sent}");
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
    let mut stand = Stand::new(plan.clients);
    let warm = stand.talk("warm-up", plan.warm_up);
    let quiet = stand.talk("quiet", plan.quiet);
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
    for kind in KINDS {
        let found = stand.flooded(kind, plan.flood);
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
        assert_eq!(number(&found.crowd, "strange"), 0.0);
        assert_eq!(number(&found.server, "left"), 0.0);
        let grown = number(&found.server, "rss_kib") - number(&warm.server, "rss_kib");
        let most = 4096.0 + 0.1 * number(&warm.server, "rss_kib");
        assert!(grown < most, "memory: {grown} KiB more");
    }
    worst
}

#[test]
fn nothing_is_lost_in_a_crowd_and_a_flood_takes_no_memory() {
    let _alone = alone();
    let quick = Plan { clients: 20, warm_up: 300, quiet: 800, flood: 300 };
    let full = Plan { clients: 100, warm_up: 1000, quiet: 3000, flood: 1500 };
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
    let worst = run(&Plan { clients, warm_up: quiet / 6, quiet, flood: quiet / 3 });
    assert!(worst.iter().all(|&ratio| ratio <= 2.0), "{worst:?}");
}

#[test]
#[ignore = "runs as a process of the other tests"]
fn server_process() {
    let Some(wishes) = wishes() else { return };
    server::run(wishes[0].parse().unwrap());
}

#[test]
#[ignore = "runs as a process of the other tests"]
fn crowd_process() {
    let Some(wishes) = wishes() else { return };
    crowd::run(wishes[0].parse().unwrap(), &trust(&wishes[1]), wishes[2].parse().unwrap());
}

#[test]
#[ignore = "runs as a process of the other tests"]
fn hostile_process() {
    let Some(wishes) = wishes() else { return };
    hostile::run(wishes[0].parse().unwrap(), &trust(&wishes[1]), &wishes[2]);
}

fn trust(fingerprint: &str) -> Trust {
    Trust::Pinned(vec![fingerprint.parse().unwrap()])
}

/// One who only takes time, to know what that alone does; datagrams of nothing, from many ports; such that look like QUIC, and copies; and a client that sends
/// all that it can, and copies of that.
const KINDS: [&str; 4] = ["spinning", "garbage", "forged", "insider"];
const START: Duration = Duration::from_secs(60);
