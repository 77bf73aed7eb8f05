//! Servers and clients that come, go, are killed and start again, over a network that is bad and
//! changes.
#![cfg(target_os = "linux")]

mod crowd;
mod network;
mod random;
mod server;
mod traffic;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use crowd::Destination;
use network::BadNetwork;
use random::Random;
use tightwire::quic::Trust;

use crate::alone;
use crate::process::{Process, arguments, number};
use crate::seed::seed;
use crate::volume::volume;

struct Plan {
    time: Duration,
    crowds: usize,
    clients: usize,
    idle_timeout: Duration,
}

struct TestBed {
    plan: Plan,
    folder: PathBuf,
    random: Random,
    /// `IP:port fingerprint`, the same for all servers.
    address: String,
    server: Process,
    network: BadNetwork,
    crowds: Vec<Process>,
    /// Last totals of ended processes.
    totals: BTreeMap<String, f64>,
    /// The longest that it took until everybody was there again.
    longest: Duration,
    warm: f64,
}

impl TestBed {
    fn new(plan: Plan, seed: u64) -> Self {
        let name = format!("tightwire-soak-{}-{seed}", std::process::id());
        let folder = env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let server = start_server(&folder, "127.0.0.1:0", &plan);
        let address = server.read_line(START);
        let network = BadNetwork::new(address.split_once(' ').unwrap().0.parse().unwrap(), seed);
        let mut test_bed = Self {
            plan,
            folder,
            random: Random::new(seed),
            address,
            server,
            network,
            crowds: Vec::new(),
            totals: BTreeMap::new(),
            longest: Duration::ZERO,
            warm: 0.0,
        };
        for _ in 0..test_bed.plan.crowds {
            let crowd = test_bed.start_crowd();
            test_bed.crowds.push(crowd);
        }
        test_bed
    }

    fn start_crowd(&mut self) -> Process {
        let fingerprint = self.address.split_once(' ').unwrap().1;
        let (address, clients) = (self.network.address, self.plan.clients);
        let (idle, seed) = (self.plan.idle_timeout.as_millis(), self.random.below(u64::MAX));
        let arguments = format!("{address} {fingerprint} {idle} {clients} {seed}");
        Process::start("soak::crowd_process", &arguments)
    }

    /// Sends an order to all clients, and sums up their reports.
    fn order_all(&mut self, order: &str) -> [f64; 2] {
        let mut sums = [0.0; 2];
        for crowd in &mut self.crowds {
            crowd.send_line(order);
            let line = crowd.read_line(START);
            sums[0] += number(&line, "present");
            sums[1] += number(&line, "away");
        }
        sums
    }

    fn ask_server(&mut self) -> String {
        self.server.send_line("status");
        self.server.read_line(START)
    }

    fn remember(&mut self, who: &str, line: &str) {
        for (name, value) in line.split(' ').filter_map(|part| part.split_once('=')) {
            let total = self.totals.entry(format!("{who} {name}")).or_default();
            *total += value.parse::<f64>().unwrap();
        }
    }

    fn kill_crowd(&mut self, index: usize) {
        let mut crowd = self.crowds.remove(index);
        crowd.send_line("status");
        let line = crowd.read_line(START);
        self.remember("clients", &line);
        crowd.kill();
    }

    fn restart_server(&mut self) {
        let line = self.ask_server();
        self.remember("server", &line);
        self.server.kill();
        let down = if self.random.below(2) == 0 {
            // The clients hear that this is another one.
            Duration::from_millis(200)
        } else {
            // They hear nothing.
            self.plan.idle_timeout + Duration::from_millis(500)
        };
        thread::sleep(down);
        let address = self.address.split_once(' ').unwrap().0;
        self.server = start_server(&self.folder, address, &self.plan);
        assert_eq!(self.server.read_line(START), self.address, "the same as before");
    }

    /// Waits until exactly the expected clients are connected.
    fn settle(&mut self, what: &str) {
        let begin = Instant::now();
        let expected = (self.crowds.len() * self.plan.clients) as f64;
        loop {
            let [present, _] = self.order_all("stay");
            let server = self.ask_server();
            if present == expected && number(&server, "peers") == expected {
                self.warm = number(&server, "rss_kib").max(self.warm);
                break;
            }
            let line = format!("{present} of {expected} after {:?}: {server}", begin.elapsed());
            assert!(begin.elapsed() < BOUND, "{what}: {line}");
            thread::sleep(Duration::from_millis(50));
        }
        println!("{what}: everybody is there after {:.1} s", begin.elapsed().as_secs_f64());
        self.longest = self.longest.max(begin.elapsed());
    }

    fn run(&mut self) {
        let (begin, mut disturbances) = (Instant::now(), 0);
        self.settle("start");
        while begin.elapsed() < self.plan.time || disturbances < 3 {
            self.order_all("roam");
            let while_ = self.random.milliseconds(500, 4000).min(self.plan.time / 10);
            thread::sleep(while_);
            // Each kind in turn, and a short run has all.
            match disturbances % 3 {
                0 => {
                    let index = self.random.below(self.crowds.len() as u64) as usize;
                    self.kill_crowd(index);
                    let crowd = self.start_crowd();
                    self.crowds.push(crowd);
                    self.settle("clients were killed");
                }
                1 => {
                    // The first time all are there, so that all of them have to notice.
                    if disturbances == 1 {
                        self.settle("before the server is killed");
                    }
                    // Memory is that of the server which is there at the end.
                    self.warm = 0.0;
                    self.restart_server();
                    self.settle("the server was killed");
                }
                _ => {
                    thread::sleep(while_);
                    self.settle("clients came and went");
                }
            }
            disturbances += 1;
        }
    }

    /// Some leave, some are killed, and nothing is left of them.
    fn end(mut self, seed: u64) {
        self.kill_crowd(0);
        let begin = Instant::now();
        let clients = (self.crowds.len() * self.plan.clients) as f64;
        while self.order_all("leave")[1] != clients {
            assert!(begin.elapsed() < BOUND, "they should leave");
            thread::sleep(Duration::from_millis(50));
        }
        let mut since = vec![("clients", begin.elapsed())];
        let line = loop {
            let line = self.ask_server();
            for name in ["peers", "links"] {
                let is_new = since.iter().all(|(other, _)| *other != name);
                if is_new && number(&line, name) == 0.0 {
                    since.push((name, begin.elapsed()));
                }
            }
            let is_empty =
                ["peers", "links", "received"].map(|name| number(&line, name)) == [0.0; 3];
            if is_empty {
                break line;
            }
            assert!(begin.elapsed() < BOUND, "{line}");
            thread::sleep(Duration::from_millis(50));
        };
        println!("everybody had left, and when: {since:.1?}");
        let rss = number(&line, "rss_kib");
        self.remember("server", &line);
        while !self.crowds.is_empty() {
            self.kill_crowd(0);
        }
        let _ = fs::remove_dir_all(&self.folder);
        let Self { totals, warm, longest, network, plan, .. } = self;
        let passed = network.end();
        println!("seed {seed}, {} processes of {} clients", plan.crowds, plan.clients);
        println!("the longest until everybody was there: {:.1} s", longest.as_secs_f64());
        println!("the server's memory: {warm} KiB with everybody, {rss} KiB with nobody");
        println!(
            "network, {} routes, {} changes: {:?}",
            passed.routes, passed.changes, passed.stats
        );
        for (name, total) in &totals {
            if !["present", "away", "rss_kib", "peers", "links", "received"]
                .iter()
                .any(|no| name.ends_with(no))
            {
                println!("{name:>24} {total:>10}");
            }
        }
        for none in ["clients lost", "clients wrong", "clients other_ends", "server wrong"] {
            assert_eq!(totals[none], 0.0, "{none}");
        }
        for none in ["server faults", "server other_ends"] {
            assert_eq!(totals[none], 0.0, "{none}");
        }
        // Clients of a server that was killed notice; and so does a server whose clients were.
        let noticed = totals["clients timed_out"] + totals["clients forgotten"];
        assert!(noticed >= (plan.crowds * plan.clients) as f64, "{noticed}");
        assert!(totals["server timed_out"] >= plan.clients as f64);
        assert!(rss < warm + 4096.0 + warm / 10.0, "memory: {warm} KiB, and {rss} KiB at the end");
    }
}

fn start_server(folder: &std::path::Path, address: &str, plan: &Plan) -> Process {
    let idle = plan.idle_timeout.as_millis();
    Process::start("soak::server_process", &format!("{} {address} {idle}", folder.display()))
}

fn run(plan: Plan) {
    let seed = seed(1);
    let mut test_bed = TestBed::new(plan, seed);
    test_bed.run();
    test_bed.end(seed);
}

#[test]
fn killed_processes_are_noticed_without_loss_or_leaks() {
    let _alone = alone();
    let (seconds, clients) = volume((3, 3), (10, 5));
    let (time, idle_timeout) = (Duration::from_secs(seconds), Duration::from_secs(2));
    run(Plan { time, crowds: 2, clients, idle_timeout });
}

/// The same with more, for ten minutes.
#[test]
#[ignore = "ten minutes: ./ci.sh soak"]
fn full() {
    let _alone = alone();
    let seconds = env::var("TIGHTWIRE_SOAK_SECONDS").map_or(600, |text| text.parse().unwrap());
    let (time, idle_timeout) = (Duration::from_secs(seconds), Duration::from_secs(5));
    run(Plan { time, crowds: 4, clients: 8, idle_timeout });
}

#[test]
#[ignore = "runs as a process of the other tests"]
fn server_process() {
    let Some(arguments) = arguments() else { return };
    let idle = Duration::from_millis(arguments[2].parse().unwrap());
    server::run(arguments[0].as_ref(), arguments[1].parse().unwrap(), idle);
}

#[test]
#[ignore = "runs as a process of the other tests"]
fn crowd_process() {
    let Some(arguments) = arguments() else { return };
    let destination = Destination {
        address: arguments[0].parse().unwrap(),
        trust: Trust::Pinned(vec![arguments[1].parse().unwrap()]),
        idle_timeout: Duration::from_millis(arguments[2].parse().unwrap()),
    };
    crowd::run(&destination, arguments[3].parse().unwrap(), arguments[4].parse().unwrap());
}

const START: Duration = Duration::from_secs(60);
/// Until everybody is there, or nobody: a few timeouts, on a machine that may be busy.
const BOUND: Duration = Duration::from_secs(45);
