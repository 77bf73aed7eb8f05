//! Messengers with logs, and the batches between them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tightwire::message::{DisconnectedError, Messenger, MessengerBuilder, MessengerConfig};
use tightwire::{Context, Delivery, Message, PeerId, Stage, Stream, Target, Wire};

#[derive(Wire, Message, Default, Clone, PartialEq, Debug)]
pub(crate) struct Chat {
    #[wire(max_len = 100)]
    pub(crate) text: String,
}

#[derive(Wire, Message, Default, Clone, PartialEq, Debug)]
pub(crate) struct Score {
    #[wire(range = 0..=1000)]
    pub(crate) points: u16,
}

/// A message of variable length, up to more than a datagram.
#[derive(Wire, Message, Default, Clone, PartialEq, Debug)]
pub(crate) struct Level {
    #[wire(max_len = 1_000_000)]
    pub(crate) data: Vec<u8>,
}

/// A message without fields.
#[derive(Wire, Message, Default, Clone, PartialEq, Debug)]
pub(crate) struct Jump;

/// A message that counts how often it is serialized, in any direction.
#[derive(Message, Default)]
pub(crate) struct Counting {
    serialized: AtomicUsize,
}

impl Counting {
    /// Returns how often the message was serialized.
    pub(crate) fn count(&self) -> usize {
        self.serialized.load(Ordering::Relaxed)
    }
}

impl Wire for Counting {
    const MAX_BITS: u64 = 32;

    fn serialize<S: Stream>(
        this: Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        this.serialized.fetch_add(1, Ordering::Relaxed);
        stream.bits(&mut 7, 32)
    }
}

/// Handled messages in order, with their senders.
#[derive(Default, Debug)]
pub(crate) struct Log(pub(crate) Vec<(PeerId, String)>);

impl Log {
    pub(crate) fn texts(&self) -> Vec<&str> {
        self.0.iter().map(|(_, text)| text.as_str()).collect()
    }
}

/// Registers handlers that log every message. A score above 900 is an error.
pub(crate) fn builder(config: MessengerConfig) -> MessengerBuilder<Log> {
    fn note(context: &mut Context<'_, Log>, text: String) {
        let sender = context.sender();
        context.state.0.push((sender, text));
    }
    Messenger::builder(config)
        .handle(|chat: &Chat, context: &mut Context<'_, Log>| note(context, chat.text.clone()))
        .handle(|score: &Score, context: &mut Context<'_, Log>| {
            if score.points > 900 {
                return Err("nobody has so many points");
            }
            note(context, score.points.to_string());
            Ok(())
        })
        .handle(|level: &Level, context: &mut Context<'_, Log>| {
            note(context, format!("level of {}", level.data.len()));
        })
        .handle(|_: &Jump, context: &mut Context<'_, Log>| note(context, "jump".into()))
        .handle(|_: &Counting, context: &mut Context<'_, Log>| note(context, "counted".into()))
}

/// A messenger with its log.
pub(crate) struct Side {
    pub(crate) messenger: Messenger<Log>,
    pub(crate) log: Log,
}

/// Batches that the transport was given.
pub(crate) type Sent = Vec<(PeerId, Delivery, Vec<u8>)>;

impl Side {
    pub(crate) fn new(config: MessengerConfig) -> Self {
        Self { messenger: builder(config).build().unwrap(), log: Log::default() }
    }

    pub(crate) fn chat(&mut self, to: PeerId, text: &str, delivery: Delivery) {
        let chat = Chat { text: text.into() };
        self.messenger.send(to, &chat, delivery).unwrap();
    }

    /// Ends the frame, over a transport that accepts every batch.
    pub(crate) fn end_frame(&mut self) -> Sent {
        let mut sent = Sent::new();
        self.messenger.end_frame(|peer, delivery, batch| {
            sent.push((peer, delivery, batch.to_vec()));
            Ok::<(), DisconnectedError>(())
        });
        sent
    }

    /// Runs a whole frame with these batches from a peer.
    pub(crate) fn frame_with(&mut self, from: PeerId, batches: &[(Delivery, Vec<u8>)]) -> Sent {
        self.messenger.begin_frame(Duration::ZERO);
        for (delivery, batch) in batches {
            // Refused batches are counted.
            let _ = self.messenger.receive(from, *delivery, batch, Duration::ZERO);
        }
        self.run_all();
        self.end_frame()
    }

    pub(crate) fn run_all(&mut self) {
        for stage in Stage::ALL {
            self.messenger.run_stage(stage, &mut self.log);
        }
    }
}

/// Returns the batches for one peer, as the other side gets them.
pub(crate) fn batches_to(peer: PeerId, sent: &Sent) -> Vec<(Delivery, Vec<u8>)> {
    sent.iter()
        .filter(|(to, ..)| *to == peer)
        .map(|(_, delivery, batch)| (*delivery, batch.clone()))
        .collect()
}
