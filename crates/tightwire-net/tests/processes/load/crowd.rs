//! Many clients, each with a socket of its own, in two threads of one process.

use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use tightwire::quic::{Quic, QuicConfig, Trust, Udp};
use tightwire::{Client, SessionEvent};

use super::traffic::{Traffic, config, messages, token};
use crate::process::{orders, print_line};

/// Connects `count` clients. For each order, they send for the ordered milliseconds.
pub(crate) fn run(address: SocketAddr, trust: &Trust, clients: usize) {
    let orders = orders();
    let (said, results) = mpsc::channel();
    let groups: Vec<_> = (0..THREADS)
        .map(|thread| {
            let (order, ordered) = mpsc::channel();
            let (said, trust) = (said.clone(), trust.clone());
            let count = clients / THREADS;
            thread::spawn(move || Group::new(address, trust, count, thread).run(&ordered, &said));
            order
        })
        .collect();
    let gather = || {
        let mut all = Traffic::new(Instant::now());
        for _ in 0..THREADS {
            let traffic: Traffic = results.recv().unwrap();
            all.latencies.extend(&traffic.latencies);
            all.unexpected += traffic.unexpected;
            all.dropped += traffic.dropped;
            for at in 0..2 {
                all.asked[at] += traffic.asked[at];
                all.answered[at] += traffic.answered[at];
            }
        }
        all
    };
    let _ = gather();
    print_line("connected");
    for order in orders {
        let milliseconds = order.parse().unwrap();
        for group in &groups {
            group.send(Duration::from_millis(milliseconds)).unwrap();
        }
        let mut all = gather();
        all.latencies.sort_unstable();
        let at = |share: f64| {
            let last = all.latencies.len().saturating_sub(1) as f64;
            all.latencies.get((last * share) as usize).copied().unwrap_or(0) as f64 / 1000.0
        };
        let Traffic { asked, answered, unexpected, dropped, .. } = &all;
        print_line(&format!(
            "reliable={} answered={} unreliable={} answered_too={} unexpected={unexpected} dropped={dropped} \
             median_ms={:.2} p99_ms={:.2} worst_ms={:.2}",
            asked[0],
            answered[0],
            asked[1],
            answered[1],
            at(0.5),
            at(0.99),
            at(1.0),
        ));
    }
}

struct Group {
    address: SocketAddr,
    trust: Trust,
    start: Instant,
    clients: Vec<One>,
    count: usize,
}

struct One {
    client: Client<Traffic, Quic<Udp>>,
    traffic: Traffic,
    is_connected: bool,
    next_ask: Duration,
    last_tick: Duration,
}

impl Group {
    fn new(address: SocketAddr, trust: Trust, count: usize, thread: usize) -> Self {
        // The threads look at different times.
        thread::sleep(ROUND * thread as u32 / THREADS as u32);
        Self { address, trust, start: Instant::now(), clients: Vec::new(), count }
    }

    fn run(mut self, orders: &Receiver<Duration>, said: &Sender<Traffic>) {
        while self.clients.len() < self.count || self.clients.iter().any(|one| !one.is_connected) {
            let connecting = self.clients.iter().filter(|one| !one.is_connected).count();
            if connecting < 10 && self.clients.len() < self.count {
                self.connect();
            }
            self.round(false);
        }
        said.send(Traffic::new(self.start)).unwrap();
        loop {
            let Ok(time) = orders.try_recv() else {
                self.round(false);
                continue;
            };
            let (begin, count) = (self.start.elapsed(), self.clients.len() as u32);
            for (index, one) in self.clients.iter_mut().enumerate() {
                one.traffic.reset();
                one.next_ask = begin + BETWEEN * index as u32 / count;
            }
            while self.start.elapsed() < begin + time {
                self.round(true);
            }
            let patience = self.start.elapsed() + PATIENCE;
            let is_waiting =
                |group: &Self| group.clients.iter().any(|one| one.traffic.waiting() > 0);
            while is_waiting(&self) && self.start.elapsed() < patience {
                self.round(false);
            }
            // The last that need not come.
            let is_waiting =
                |group: &Self| group.clients.iter().any(|one| one.traffic.is_waiting());
            let patience = self.start.elapsed() + UNRELIABLE_PATIENCE;
            while is_waiting(&self) && self.start.elapsed() < patience {
                self.round(false);
            }
            let mut all = Traffic::new(self.start);
            for One { traffic, client, .. } in &self.clients {
                let report = client.stats().unwrap();
                all.dropped += report.path.dropped + report.batches_dropped;
                all.dropped += client.messenger().faults().total();
                all.latencies.extend(&traffic.latencies);
                all.unexpected += traffic.unexpected;
                for at in 0..2 {
                    all.asked[at] += traffic.asked[at];
                    all.answered[at] += traffic.answered[at];
                }
            }
            said.send(all).unwrap();
        }
    }

    fn connect(&mut self) {
        let socket = Udp::client(self.address).unwrap();
        let (limits, now) = (QuicConfig::default(), self.start.elapsed());
        let transport =
            Quic::connect(socket, self.address, "localhost", &self.trust, limits, now).unwrap();
        let client = Client::builder(config()).register(messages).token(&token());
        let client = client.build(transport).unwrap();
        self.clients.push(One {
            client,
            traffic: Traffic::new(self.start),
            is_connected: false,
            next_ask: now,
            last_tick: now,
        });
    }

    /// Everybody who has something to do or to expect does it.
    fn round(&mut self, asks: bool) {
        let begin = self.start.elapsed();
        for one in &mut self.clients {
            let now = self.start.elapsed();
            let asks = asks && now >= one.next_ask;
            let is_busy = asks || !one.is_connected || one.traffic.is_waiting();
            if !is_busy && now < one.last_tick + BETWEEN / 4 {
                continue;
            }
            if asks {
                let (ask, delivery) = one.traffic.ask();
                one.client.send(&ask, delivery).unwrap();
                one.next_ask = (one.next_ask + BETWEEN).max(now.saturating_sub(BETWEEN));
            }
            one.client.receive(now, &mut one.traffic);
            one.client.transmit(now);
            one.last_tick = now;
            match one.client.poll_event() {
                Some(SessionEvent::Connected { .. }) => one.is_connected = true,
                Some(event) => panic!("{event:?}"),
                None => {}
            }
        }
        thread::sleep((begin + ROUND).saturating_sub(self.start.elapsed()));
    }
}

const THREADS: usize = 2;
/// Twenty questions each second.
const BETWEEN: Duration = Duration::from_millis(50);
/// A client looks once a frame.
const ROUND: Duration = Duration::from_millis(16);
/// For the last answers.
const PATIENCE: Duration = Duration::from_secs(10);
/// For the last answers that may be lost.
const UNRELIABLE_PATIENCE: Duration = Duration::from_secs(1);
