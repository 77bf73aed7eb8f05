//! What the server and the crowd say to each other.

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

/// What one side knows.
pub(crate) struct Talk {
    start: Instant,
    next: u32,
    /// What was asked when, how, and not answered.
    open: BTreeMap<u32, (Duration, Delivery)>,
    /// How long the answers took, in microseconds.
    pub(crate) latencies: Vec<u32>,
    /// How many reliable questions there were, and how many others; and their answers.
    pub(crate) asked: [u64; 2],
    pub(crate) answered: [u64; 2],
    /// Answers to what was not asked, or answered before.
    pub(crate) strange: u64,
    /// What this side has dropped, since it connected.
    pub(crate) dropped: u64,
}

impl Talk {
    pub(crate) fn new(start: Instant) -> Self {
        Self {
            start,
            next: 0,
            open: BTreeMap::new(),
            latencies: Vec::new(),
            asked: [0; 2],
            answered: [0; 2],
            strange: 0,
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

    /// How many questions wait for an answer that must come.
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

fn on_ask(ask: &Ask, context: &mut Context<'_, Talk>) -> Result<(), SendError> {
    let (sender, route) = (context.sender(), context.route());
    context.send(sender, &Answer { number: ask.number }, route)
}

fn on_answer(answer: &Answer, context: &mut Context<'_, Talk>) {
    let talk = &mut *context.state;
    match talk.open.remove(&answer.number) {
        Some((asked, _)) => {
            talk.latencies.push((talk.start.elapsed() - asked).as_micros() as u32);
            talk.answered[answer.number as usize % 2] += 1;
        }
        None => talk.strange += 1,
    }
}

pub(crate) fn messages(builder: MessengerBuilder<Talk>) -> MessengerBuilder<Talk> {
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
