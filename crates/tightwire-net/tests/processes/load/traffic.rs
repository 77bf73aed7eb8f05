//! Test traffic between the server and the crowd.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tightwire::SessionConfig;
use tightwire::message::{MessengerBuilder, SendError};
use tightwire::token::{Claims, TokenGate, TokenKey};
use tightwire::{Context, Delivery, Message, Wire};

/// A client asks, each time with another number.
#[derive(Wire, Message, Default, Clone)]
pub(crate) struct Ask {
    pub(crate) number: u32,
}

/// The server answers the same way.
#[derive(Wire, Message, Default, Clone)]
pub(crate) struct Answer {
    pub(crate) number: u32,
}

/// Traffic state of one side.
pub(crate) struct Traffic {
    start: Instant,
    next: u32,
    /// Unanswered requests, with time and delivery.
    open: BTreeMap<u32, (Duration, Delivery)>,
    /// Latencies, in microseconds.
    pub(crate) latencies: Vec<u32>,
    /// Numbers of requests and responses: reliable, and other.
    pub(crate) asked: [u64; 2],
    pub(crate) answered: [u64; 2],
    /// Number of unrequested or repeated responses.
    pub(crate) unexpected: u64,
    /// Number of dropped batches of this side, since it connected.
    pub(crate) dropped: u64,
}

impl Traffic {
    pub(crate) fn new(start: Instant) -> Self {
        Self {
            start,
            next: 0,
            open: BTreeMap::new(),
            latencies: Vec::new(),
            asked: [0; 2],
            answered: [0; 2],
            unexpected: 0,
            dropped: 0,
        }
    }

    /// The next question, every other one reliable.
    pub(crate) fn ask(&mut self) -> (Ask, Delivery) {
        self.next += 1;
        let delivery = DELIVERIES[self.next as usize % 2];
        self.open.insert(self.next, (self.start.elapsed(), delivery));
        self.asked[self.next as usize % 2] += 1;
        (Ask { number: self.next }, delivery)
    }

    /// Returns the number of reliable requests without a response.
    pub(crate) fn waiting(&self) -> usize {
        self.open.values().filter(|(_, delivery)| *delivery == DELIVERIES[0]).count()
    }

    /// Whether an answer may be on its way.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.open.is_empty()
    }

    /// Begins to count again.
    pub(crate) fn reset(&mut self) {
        *self = Self { next: self.next, ..Self::new(self.start) };
    }
}

const DELIVERIES: [Delivery; 2] = [Delivery::ReliableOrdered, Delivery::Unreliable];

fn on_ask(ask: &Ask, context: &mut Context<'_, Traffic>) -> Result<(), SendError> {
    let (sender, route) = (context.sender(), context.route());
    context.send(sender, &Answer { number: ask.number }, route)
}

fn on_answer(answer: &Answer, context: &mut Context<'_, Traffic>) {
    let traffic = &mut *context.state;
    match traffic.open.remove(&answer.number) {
        Some((asked, _)) => {
            traffic.latencies.push((traffic.start.elapsed() - asked).as_micros() as u32);
            traffic.answered[answer.number as usize % 2] += 1;
        }
        None => traffic.unexpected += 1,
    }
}

pub(crate) fn messages(builder: MessengerBuilder<Traffic>) -> MessengerBuilder<Traffic> {
    builder.handle(on_ask).handle(on_answer)
}

pub(crate) fn config() -> SessionConfig {
    SessionConfig::new("load", "1.0")
}

/// Returns the server's gate, whose key all processes know: there is no backend.
pub(crate) fn gate() -> TokenGate {
    TokenGate::new(vec![TokenKey::from_bytes(KEY)], "load")
}

/// Returns a connect token, for one connection.
pub(crate) fn token() -> Vec<u8> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let claims = Claims::new(1, "load", now, Duration::from_secs(600));
    TokenKey::from_bytes(KEY).mint(&claims).unwrap().as_bytes().to_vec()
}

const KEY: [u8; 32] = [7; 32];
