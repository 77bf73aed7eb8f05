//! A few clients in a process, which come and go as they like.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use tightwire::quic::{Quic, Trust, Udp};
use tightwire::transport::Reason;
use tightwire::{Client, SessionEvent};

use super::random::Random;
use super::traffic::{Call, DELIVERIES, Traffic, config, limits, messages};
use crate::process::{orders, print_line};

/// Server to connect to.
pub(crate) struct Destination {
    pub(crate) address: SocketAddr,
    pub(crate) trust: Trust,
    pub(crate) idle_timeout: Duration,
}

/// Behaviour of the clients.
#[derive(Clone, Copy, PartialEq)]
enum Behaviour {
    Roam,
    Stay,
    Leave,
}

/// Counts of connections.
#[derive(Default)]
struct Counts {
    connected: u32,
    left: u32,
    timed_out: u32,
    forgotten: u32,
    /// Never connected.
    failed: u32,
    other_ends: u32,
    /// Answers that never came.
    lost: u32,
    messages: u64,
    wrong: u64,
}

/// Tells how it goes whenever it gets an order, until it is killed.
pub(crate) fn run(destination: &Destination, clients: usize, seed: u64) {
    let orders = orders();
    let start = Instant::now();
    let mut random = Random::new(seed);
    let mut counts = Counts::default();
    let mut behaviour = Behaviour::Roam;
    let mut all: Vec<_> = (0..clients).map(|_| One::default()).collect();
    loop {
        let now = start.elapsed();
        for one in &mut all {
            one.step(destination, now, behaviour, &mut random, &mut counts);
        }
        if let Ok(order) = orders.try_recv() {
            behaviour = match order.as_str() {
                "roam" => Behaviour::Roam,
                "stay" => Behaviour::Stay,
                "leave" => Behaviour::Leave,
                _ => behaviour,
            };
            let present = all.iter().filter(|one| one.is_present()).count();
            let away = all.iter().filter(|one| one.life.is_none()).count();
            let Counts { connected, left, timed_out, forgotten, failed, .. } = counts;
            print_line(&format!(
                "present={present} away={away} connected={connected} left={left} \
                 timed_out={timed_out} forgotten={forgotten} failed={failed} other_ends={} \
                 lost={} messages={} wrong={}",
                counts.other_ends, counts.lost, counts.messages, counts.wrong,
            ));
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[derive(Default)]
struct One {
    life: Option<Life>,
    /// When it connects again.
    next: Duration,
}

/// One connection, from its beginning to its end.
struct Life {
    client: Client<Traffic, Quic<Udp>>,
    traffic: Traffic,
    is_connected: bool,
    /// Number of batches sent, by delivery.
    sent: [u32; 2],
    next_call: Duration,
    /// When it wants to leave.
    until: Duration,
}

impl One {
    fn is_present(&self) -> bool {
        self.life.as_ref().is_some_and(|life| life.is_connected)
    }

    fn step(
        &mut self,
        destination: &Destination,
        now: Duration,
        behaviour: Behaviour,
        random: &mut Random,
        counts: &mut Counts,
    ) {
        let Some(life) = &mut self.life else {
            if behaviour != Behaviour::Leave && now >= self.next {
                self.life = Some(Life::new(destination, now, random));
            }
            return;
        };
        let leaves =
            behaviour == Behaviour::Leave || (behaviour == Behaviour::Roam && now >= life.until);
        // Who leaves waits for the answers, or does not: they may be lost then.
        let is_rude = behaviour == Behaviour::Roam && life.until.subsec_millis() % 4 == 0;
        if life.is_connected && leaves && !is_rude {
            let expected = life.sent.iter().sum::<u32>();
            let answered =
                life.traffic.received.values().map(|received| received.count()).sum::<u32>();
            let is_late = now >= life.next_call + PATIENCE;
            if answered == expected || is_late {
                counts.lost += expected - answered;
                counts.left += 1;
                self.end(now, random, counts);
                return;
            }
        } else if leaves {
            counts.left += u32::from(life.is_connected);
            self.end(now, random, counts);
            return;
        } else if life.is_connected {
            life.call(now);
        }
        life.client.receive(now, &mut life.traffic);
        life.client.transmit(now);
        match life.client.poll_event() {
            Some(SessionEvent::Connected { .. }) => {
                life.is_connected = true;
                counts.connected += 1;
            }
            Some(SessionEvent::Disconnected { peer, reason }) => {
                match reason {
                    Reason::TimedOut if peer.is_none() => counts.failed += 1,
                    Reason::TimedOut => counts.timed_out += 1,
                    Reason::Forgotten => counts.forgotten += 1,
                    reason => {
                        eprintln!("another end: {reason}");
                        counts.other_ends += 1;
                    }
                }
                self.end(now, random, counts);
            }
            _ => {}
        }
    }

    fn end(&mut self, now: Duration, random: &mut Random, counts: &mut Counts) {
        if let Some(mut life) = self.life.take() {
            life.client.disconnect(now);
            counts.messages += life.traffic.messages;
            counts.wrong += life.traffic.wrong;
        }
        self.next = now + random.milliseconds(50, 1000);
    }
}

impl Life {
    fn new(destination: &Destination, now: Duration, random: &mut Random) -> Self {
        let socket = Udp::client(destination.address).unwrap();
        let limits = limits(destination.idle_timeout);
        let transport = Quic::connect(
            socket,
            destination.address,
            "localhost",
            &destination.trust,
            limits,
            now,
        )
        .unwrap();
        let client = Client::builder(config()).register(messages).build(transport).unwrap();
        let until = now + random.milliseconds(500, 15_000);
        let (traffic, sent) = (Traffic::default(), [0; 2]);
        Self { client, traffic, is_connected: false, sent, next_call: now, until }
    }

    /// Twenty times a second.
    fn call(&mut self, now: Duration) {
        if now < self.next_call {
            return;
        }
        self.next_call = now + Duration::from_millis(50);
        for (delivery, sent) in DELIVERIES.into_iter().zip(&mut self.sent) {
            let call = Call { number: *sent + 1 };
            // It fails only if too much waits already.
            *sent += u32::from(self.client.send(&call, delivery).is_ok());
        }
    }
}

/// For the last answers.
const PATIENCE: Duration = Duration::from_secs(20);
