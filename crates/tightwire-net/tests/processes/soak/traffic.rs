//! Numbered test traffic: each number once, and in order within an ordered delivery.

use std::collections::{HashMap, HashSet};

use tightwire::SessionConfig;
use tightwire::message::{MessengerBuilder, SendError};
use tightwire::quic::QuicConfig;
use tightwire::{Context, Delivery, Message, PeerId, Wire};

use std::time::Duration;

/// The numbers of a connection begin with one, for each delivery.
#[derive(Wire, Message, Default, Clone)]
pub(crate) struct Call {
    pub(crate) number: u32,
}

/// The server says each number back, with the same delivery.
#[derive(Wire, Message, Default, Clone)]
pub(crate) struct Echo {
    number: u32,
}

/// Numbers received on a connection.
#[derive(Default)]
pub(crate) struct ReceivedNumbers {
    in_order: u32,
    others: HashSet<u32>,
}

/// Traffic state of one side.
#[derive(Default)]
pub(crate) struct Traffic {
    pub(crate) received: HashMap<PeerId, ReceivedNumbers>,
    pub(crate) messages: u64,
    /// Numbers that came twice, or when another should have.
    pub(crate) wrong: u64,
}

impl ReceivedNumbers {
    pub(crate) fn count(&self) -> u32 {
        self.in_order + self.others.len() as u32
    }
}

impl Traffic {
    fn record(&mut self, from: PeerId, number: u32, delivery: Delivery) {
        let received = self.received.entry(from).or_default();
        self.messages += 1;
        let is_right = if delivery == Delivery::ReliableOrdered {
            received.in_order += 1;
            received.in_order == number
        } else {
            received.others.insert(number)
        };
        self.wrong += u64::from(!is_right);
    }
}

pub(crate) const DELIVERIES: [Delivery; 2] = [Delivery::ReliableOrdered, Delivery::Reliable];

fn on_call(call: &Call, context: &mut Context<'_, Traffic>) -> Result<(), SendError> {
    let (from, route) = (context.sender(), context.route());
    context.state.record(from, call.number, route.delivery);
    context.send(from, &Echo { number: call.number }, route)
}

fn on_echo(echo: &Echo, context: &mut Context<'_, Traffic>) {
    let (from, route) = (context.sender(), context.route());
    context.state.record(from, echo.number, route.delivery);
}

pub(crate) fn messages(builder: MessengerBuilder<Traffic>) -> MessengerBuilder<Traffic> {
    builder.handle(on_call).handle(on_echo)
}

pub(crate) fn config() -> SessionConfig {
    SessionConfig { max_clients: 1000, ..SessionConfig::new("soak", "1.0") }
}

/// After this much silence somebody has gone.
pub(crate) fn limits(idle_timeout: Duration) -> QuicConfig {
    QuicConfig {
        max_per_address: 1000,
        idle_timeout,
        keep_alive: idle_timeout / 5,
        ..QuicConfig::default()
    }
}
