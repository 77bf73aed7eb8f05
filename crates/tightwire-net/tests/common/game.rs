//! A server and its clients, which log what they receive.

use std::collections::BTreeSet;
use std::time::Duration;

use tightwire::message::MessengerBuilder;
use tightwire::session::{Admit, Admitted, ClientBuilder, ServerBuilder};
use tightwire::token::TokenError;
use tightwire::{Client, Server, SessionConfig, SessionEvent};
use tightwire::{Context, Message, PeerId, Wire};

use super::net::{End, Net};

#[derive(Wire, Message, Default, Clone, PartialEq, Debug)]
pub(crate) struct Chat {
    #[wire(max_len = 100)]
    pub(crate) text: String,
}

#[derive(Wire, Message, Default, Clone, PartialEq, Debug)]
pub(crate) struct Count(pub(crate) u32);

#[derive(Wire, Message, Default, Clone, PartialEq, Debug)]
pub(crate) struct Level {
    #[wire(max_len = 1_000_000)]
    pub(crate) data: Vec<u8>,
}

/// Received messages, with their senders.
#[derive(Default, Debug)]
pub(crate) struct ReceivedMessages {
    pub(crate) texts: Vec<(PeerId, String)>,
    pub(crate) counts: Vec<u32>,
}

impl ReceivedMessages {
    pub(crate) fn texts(&self) -> Vec<&str> {
        self.texts.iter().map(|(_, text)| text.as_str()).collect()
    }
}

pub(crate) fn messages(
    builder: MessengerBuilder<ReceivedMessages>,
) -> MessengerBuilder<ReceivedMessages> {
    builder
        .handle(|chat: &Chat, context: &mut Context<'_, ReceivedMessages>| {
            let sender = context.sender();
            if chat.text == "kick me" {
                context.kick(sender, "as you wish");
            }
            context.state.texts.push((sender, chat.text.clone()));
        })
        .handle(|count: &Count, context: &mut Context<'_, ReceivedMessages>| {
            context.state.counts.push(count.0);
        })
        .handle(|level: &Level, context: &mut Context<'_, ReceivedMessages>| {
            let text = format!("level of {}", level.data.len());
            context.state.texts.push((context.sender(), text));
        })
}

pub(crate) fn config() -> SessionConfig {
    SessionConfig { unix_start: Duration::ZERO, seed: 7, ..SessionConfig::new("arena", "1.0") }
}

/// Tokens that are numbers, each redeemed once.
#[derive(Default)]
pub(crate) struct Numbers(BTreeSet<Vec<u8>>);

impl Admit for Numbers {
    fn check(&mut self, token: &[u8], _: Duration) -> Result<Admitted, TokenError> {
        if token.is_empty() {
            return Err(TokenError::Missing);
        }
        if self.0.contains(token) {
            return Err(TokenError::Used);
        }
        let text = std::str::from_utf8(token).map_err(|_| TokenError::NotGenuine)?;
        let client = text.parse().map_err(|_| TokenError::NotGenuine)?;
        Ok(Admitted { client, user_data: token.to_vec() })
    }

    fn redeem(&mut self, token: &[u8], _: Duration) -> Result<(), TokenError> {
        self.0.insert(token.to_vec());
        Ok(())
    }
}

/// A side with its received messages and events.
pub(crate) struct Side<S> {
    pub(crate) session: S,
    pub(crate) received: ReceivedMessages,
    pub(crate) events: Vec<SessionEvent>,
}

pub(crate) type ServerSide = Side<Server<ReceivedMessages, End>>;
pub(crate) type ClientSide = Side<Client<ReceivedMessages, End>>;

impl<S> Side<S> {
    pub(crate) fn new(session: S) -> Self {
        Self { session, received: ReceivedMessages::default(), events: Vec::new() }
    }

    /// Returns the reasons of all disconnections and refusals.
    pub(crate) fn reasons(&self) -> Vec<String> {
        let reason = |event: &SessionEvent| match event {
            SessionEvent::Disconnected { reason, .. } | SessionEvent::Refused { reason, .. } => {
                Some(reason.to_string())
            }
            _ => None,
        };
        self.events.iter().filter_map(reason).collect()
    }

    pub(crate) fn connected(&self) -> Vec<PeerId> {
        let peer = |event: &SessionEvent| match event {
            SessionEvent::Connected { peer, .. } => Some(*peer),
            _ => None,
        };
        self.events.iter().filter_map(peer).collect()
    }
}

impl ServerSide {
    pub(crate) fn tick(&mut self, millis: u64) {
        self.session.receive(Duration::from_millis(millis), &mut self.received);
        self.session.transmit(Duration::from_millis(millis));
        self.events.extend(std::iter::from_fn(|| self.session.poll_event()));
    }

    pub(crate) fn chat(&mut self, to: PeerId, text: &str, route: tightwire::Delivery) {
        let chat = Chat { text: text.into() };
        self.session.send(to, &chat, route).unwrap();
    }
}

impl ClientSide {
    pub(crate) fn tick(&mut self, millis: u64) {
        self.session.receive(Duration::from_millis(millis), &mut self.received);
        self.session.transmit(Duration::from_millis(millis));
        self.events.extend(std::iter::from_fn(|| self.session.poll_event()));
    }

    pub(crate) fn chat(&mut self, text: &str, route: tightwire::Delivery) {
        let chat = Chat { text: text.into() };
        self.session.send(&chat, route).unwrap();
    }
}

pub(crate) fn server_of(builder: ServerBuilder<ReceivedMessages, End>, net: &Net) -> ServerSide {
    Side::new(builder.register(messages).build(net.server()).unwrap())
}

pub(crate) fn client_of(builder: ClientBuilder<ReceivedMessages, End>, net: &Net) -> ClientSide {
    Side::new(builder.register(messages).build(net.client()).unwrap())
}

pub(crate) fn server(config: SessionConfig, net: &Net) -> ServerSide {
    server_of(Server::builder(config).with_tokens(Numbers::default()), net)
}

pub(crate) fn client(token: &str, net: &Net) -> ClientSide {
    client_of(Client::builder(config()).token(token.as_bytes()), net)
}

/// Runs a few frames, all at the same time.
pub(crate) fn settle(server: &mut ServerSide, clients: &mut [&mut ClientSide], millis: u64) {
    for _ in 0..4 {
        server.tick(millis);
        clients.iter_mut().for_each(|client| client.tick(millis));
    }
}
