//! From the sender to the handlers: through messengers, or with a buffer per message.

use super::messages::{Any, Chat, Input, Read, Score, Spawn, Tally};
use std::time::Duration;
use tightwire::message::{Messenger, MessengerConfig};
use tightwire::{Context, Delivery, Stage};

/// Number of messages to a peer in a frame.
pub const PER_PEER: usize = 8;

pub trait Lane {
    fn name(&self) -> &'static str;
    /// Runs a frame: the sender's messages to its peers are sent and handled. There are
    /// [`PER_PEER`] messages for each peer.
    fn frame(&mut self, messages: &mut [Any]);
    /// Returns the bytes that were transferred in the last frame.
    fn bytes(&self) -> usize;
    fn tally(&self) -> Tally;
}

/// Two messengers with the same number of peers: one sends to all of them, the other receives from
/// all of them.
pub struct Tightwire {
    sender: Messenger<Tally>,
    receiver: Messenger<Tally>,
    peers: Vec<tightwire::PeerId>,
    bytes: usize,
    tally: Tally,
}

pub fn messenger(peers: usize) -> Messenger<Tally> {
    let limits = MessengerConfig::default();
    let receive_queue = limits.batch_messages.max(PER_PEER * peers);
    let config = MessengerConfig { receive_queue, ..limits };
    Messenger::builder(config)
        .handle(|input: &Input, context: &mut Context<'_, Tally>| context.state.input(input))
        .handle(|chat: &Chat, context: &mut Context<'_, Tally>| {
            context.state.chat(chat.from, &chat.text);
        })
        .handle(|score: &Score, context: &mut Context<'_, Tally>| context.state.score(score))
        .handle(|spawn: &Spawn, context: &mut Context<'_, Tally>| context.state.spawn(spawn))
        .build()
        .expect("four messages")
}

impl Tightwire {
    pub fn new(peers: usize) -> Self {
        let (mut sender, mut receiver) = (messenger(peers), messenger(peers));
        let ids = |messenger: &mut Messenger<Tally>| -> Vec<_> {
            (0..peers).map(|_| messenger.add_peer(1200)).collect()
        };
        let peers = ids(&mut sender);
        // A batch to a peer of one is a batch from the same peer of the other.
        assert!(peers == ids(&mut receiver));
        Self { sender, receiver, peers, bytes: 0, tally: Tally::default() }
    }
}

impl Lane for Tightwire {
    fn name(&self) -> &'static str {
        "tightwire"
    }

    fn frame(&mut self, messages: &mut [Any]) {
        let Self { sender, receiver, peers, bytes, tally } = self;
        let now = Duration::ZERO;
        sender.begin_frame(now);
        for (to, messages) in peers.iter().zip(messages.chunks_exact_mut(PER_PEER)) {
            for message in messages {
                let route = Delivery::ReliableOrdered;
                let sent = match message {
                    Any::Input(input) => sender.send(*to, input, route),
                    Any::Chat(chat) => sender.send(*to, chat, route),
                    Any::Score(score) => sender.send(*to, score, route),
                    Any::Spawn(spawn) => sender.send(*to, spawn, route),
                };
                sent.expect("there is room");
            }
        }
        receiver.begin_frame(now);
        *bytes = 0;
        sender.end_frame(|peer, delivery, batch| {
            *bytes += batch.len();
            receiver.receive(peer, delivery, batch, now).expect("a batch");
            Ok(())
        });
        for stage in Stage::ALL {
            receiver.run_stage(stage, tally);
        }
        receiver.end_frame(|_, _, _| Ok(()));
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}

/// Length of a buffer in bytes, more than any of the messages takes.
const BUFFER: usize = 64;

/// A library that writes one message to one buffer. All buffers are reused.
pub trait Library {
    const NAME: &'static str;

    fn write(&mut self, message: &Any, buffer: &mut [u8; BUFFER]) -> usize;

    fn read<'a>(&mut self, bytes: &'a [u8]) -> Read<'a>;
}

/// bitcode, by derive, with one reused `Buffer` per direction.
#[derive(Default)]
pub struct Bitcode {
    encoder: bitcode::Buffer,
    decoder: bitcode::Buffer,
}

impl Library for Bitcode {
    const NAME: &'static str = "bitcode";

    fn write(&mut self, message: &Any, buffer: &mut [u8; BUFFER]) -> usize {
        let bytes = self.encoder.encode(message);
        buffer[..bytes.len()].copy_from_slice(bytes);
        bytes.len()
    }

    fn read<'a>(&mut self, bytes: &'a [u8]) -> Read<'a> {
        self.decoder.decode(bytes).expect("bitcode reads")
    }
}

/// postcard, by serde's derive, directly into the buffer.
#[derive(Default)]
pub struct Postcard;

impl Library for Postcard {
    const NAME: &'static str = "postcard";

    fn write(&mut self, message: &Any, buffer: &mut [u8; BUFFER]) -> usize {
        postcard::to_slice(message, buffer).expect("postcard writes").len()
    }

    fn read<'a>(&mut self, bytes: &'a [u8]) -> Read<'a> {
        postcard::from_bytes(bytes).expect("postcard reads")
    }
}

/// Writes all messages of a frame, hands them over, and reads them.
#[derive(Default)]
pub struct OneByOne<L> {
    library: L,
    buffers: Vec<([u8; BUFFER], usize)>,
    tally: Tally,
}

impl<L: Library> Lane for OneByOne<L> {
    fn name(&self) -> &'static str {
        L::NAME
    }

    fn frame(&mut self, messages: &mut [Any]) {
        let Self { library, buffers, tally } = self;
        buffers.resize(messages.len(), ([0; BUFFER], 0));
        for (message, (buffer, size)) in messages.iter().zip(&mut *buffers) {
            *size = library.write(message, buffer);
        }
        for (buffer, size) in std::hint::black_box(&*buffers) {
            match library.read(&buffer[..*size]) {
                Read::Input(input) => tally.input(&input),
                Read::Chat(chat) => tally.chat(chat.from, chat.text),
                Read::Score(score) => tally.score(&score),
                Read::Spawn(spawn) => tally.spawn(&spawn),
            }
        }
    }

    fn bytes(&self) -> usize {
        self.buffers.iter().map(|(_, size)| size).sum()
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}
