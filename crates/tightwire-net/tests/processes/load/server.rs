//! The process under test.

use std::fs;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use tightwire::PeerId;
use tightwire::quic::{Certificate, Quic, QuicConfig, Udp};
use tightwire::{Server, SessionConfig, SessionEvent};

use super::traffic::{Answer, Ask, Traffic, config, gate, messages};
use crate::process::{cpu_time, orders, print_line, resident};

/// A server for so many clients, and a few more: `receive` each millisecond, `tick` sixty times a
/// second.
pub(crate) fn run(clients: usize) {
    let orders = orders();
    let certificate = Certificate::self_signed(["localhost"]).unwrap();
    let socket = Udp::server("127.0.0.1:0".parse().unwrap()).unwrap();
    // Everybody comes from one address here.
    let most = clients + 100;
    let limits =
        QuicConfig { max_connections: most, max_per_address: most, ..QuicConfig::default() };
    let transport = Quic::listen(socket, &certificate, limits).unwrap();
    let mut server = Server::builder(SessionConfig { max_clients: most, ..config() })
        .register(messages)
        .with_tokens(gate())
        .build(transport)
        .unwrap();
    print_line(&format!("{} {}", server.transport().address(), certificate.fingerprint()));

    let start = Instant::now();
    let mut traffic = Traffic::new(start);
    // The crowd comes first.
    let mut crowd = Vec::new();
    let mut next_tick = Duration::ZERO;
    let mut before = Counts::default();
    let (mut left, mut unexpected_peers) = (0, 0);
    loop {
        let now = start.elapsed();
        if now >= next_tick {
            server.receive(now, &mut traffic);
            server.transmit(now);
            next_tick = (next_tick + TICK).max(now);
        } else {
            server.handle_input(now);
        }
        while let Some(event) = server.poll_event() {
            match event {
                SessionEvent::Connected { peer, .. } if crowd.len() < clients => crowd.push(peer),
                SessionEvent::Connected { .. } => unexpected_peers += 1,
                SessionEvent::Disconnected { peer, .. } => {
                    left += u64::from(peer.is_some_and(|peer| crowd.contains(&peer)));
                }
                _ => {}
            }
        }
        if orders.try_recv().is_ok() {
            let counts = Counts::new(&server, &crowd, now);
            let line = counts.since(&before, crowd.len());
            print_line(&format!(
                "{line} crowd={} left={left} unexpected_peers={unexpected_peers}",
                crowd.len()
            ));
            before = counts;
        }
        let pause = (now + MILLISECOND).min(next_tick).saturating_sub(start.elapsed());
        thread::sleep(pause);
    }
}

/// Totals so far.
#[derive(Default)]
struct Counts {
    at: Duration,
    cpu: Duration,
    received: u64,
    sent: u64,
    /// Discarded by the messenger, by the session for one who is slow, by the transport for the
    /// same reason, in its queue, and unread by it; and by the system, which had no room for them.
    dropped: [u64; 6],
    bytes: [u64; 2],
}

impl Counts {
    fn new(server: &Server<Traffic, Quic<Udp>>, crowd: &[PeerId], at: Duration) -> Self {
        let messenger = server.messenger();
        let mut counts = Self {
            at,
            cpu: cpu_time(),
            received: messenger.message_stats::<Ask>().unwrap().handled,
            sent: messenger.message_stats::<Answer>().unwrap().sent.messages,
            ..Self::default()
        };
        counts.dropped[0] = messenger.faults().total();
        counts.dropped[4] = server.transport().flooded();
        counts.dropped[5] = dropped_by_system(server.transport().address());
        for report in crowd.iter().filter_map(|&peer| server.stats(peer)) {
            counts.dropped[1] += report.batches_dropped;
            counts.dropped[2] += report.stats.batches_lost;
            counts.dropped[3] += report.path.dropped;
            counts.bytes[0] += report.path.bytes_received;
            counts.bytes[1] += report.path.bytes_sent;
        }
        counts
    }

    fn since(&self, before: &Self, clients: usize) -> String {
        let each = clients as f64 * (self.at - before.at).as_secs_f64();
        let [faults, slow, lost, queue, flooded, system] =
            [0, 1, 2, 3, 4, 5].map(|at| self.dropped[at] - before.dropped[at]);
        let [bytes_in, bytes_out] =
            [0, 1].map(|at| (self.bytes[at] - before.bytes[at]) as f64 / each);
        format!(
            "seconds={:.1} received={} sent={} faults={faults} batches_dropped={slow} \
             batches_lost={lost} path_dropped={queue} flooded={flooded} system={system} cpu_us={:.1} \
             cpu_share={:.2} bytes_in={bytes_in:.0} bytes_out={bytes_out:.0} rss_kib={} \
             peak_kib={}",
            (self.at - before.at).as_secs_f64(),
            self.received - before.received,
            self.sent - before.sent,
            (self.cpu - before.cpu).as_secs_f64() * 1e6 / each,
            (self.cpu - before.cpu).as_secs_f64() / (self.at - before.at).as_secs_f64(),
            resident(),
            take_peak(),
        )
    }
}

/// Returns the most resident memory since the last call, in KiB.
fn take_peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak = line.trim().trim_end_matches(" kB").parse().unwrap();
    fs::write("/proc/self/clear_refs", "5").unwrap();
    peak
}

/// The packets for a socket of this machine for which its buffer had no room.
fn dropped_by_system(address: SocketAddr) -> u64 {
    let table = fs::read_to_string("/proc/net/udp").unwrap();
    let port = format!(":{:04X}", address.port());
    let line = table
        .lines()
        .find(|line| line.split_whitespace().nth(1).is_some_and(|local| local.ends_with(&port)));
    line.and_then(|line| line.split_whitespace().last()).map_or(0, |count| count.parse().unwrap())
}

const TICK: Duration = Duration::from_nanos(1_000_000_000 / 60);
const MILLISECOND: Duration = Duration::from_millis(1);
