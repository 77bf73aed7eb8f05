use std::time::Duration;

use tightwire::bytes::Packing;
use tightwire::message::{
    FaultCounters, MessageError, Messenger, MessengerConfig, PeerStats, Route,
};
use tightwire::{Context, Delivery, Message, PeerId, Stage, Wire};

/// Checks batches of a hostile peer. The first byte chooses the packing. Each batch follows a
/// control byte and a length byte. The control byte has the delivery; its highest bit corrects the
/// size field of the batch, and the next one runs the stages afterwards.
pub(crate) fn messages(data: &[u8]) {
    let Some((&packing, mut rest)) = data.split_first() else { return };
    let packing = if packing % 2 == 0 { Packing::Bits } else { Packing::Bytes };
    // Limits small enough to be reached.
    let limits = MessengerConfig {
        receive_queue: 24,
        peer_messages: 20,
        batch_messages: 20,
        max_fragmented: 300,
        send_queue: 3,
        ..MessengerConfig::default()
    };
    let mut room = Room::new(MessengerConfig { packing, ..limits });
    let mut batch = Vec::new();
    while let [control, length, others @ ..] = rest {
        let (bytes, others) = others.split_at(others.len().min(usize::from(*length)));
        rest = others;
        let delivery = DELIVERIES[usize::from(control % 64) % DELIVERIES.len()];
        batch.clear();
        batch.extend_from_slice(bytes);
        if control & 0x80 != 0 {
            fix_size(delivery, &mut batch);
        }
        room.throw(delivery, &batch);
        if control & 0x40 != 0 {
            room.frame();
        }
    }
    room.frame();
    room.frame();
}

pub(crate) const DELIVERIES: [Delivery; 5] = [
    Delivery::Unreliable,
    Delivery::UnreliableSequenced,
    Delivery::Reliable,
    Delivery::ReliableOrdered,
    Delivery::ReliableOrderedFragmented,
];

/// Corrects the size field of a batch, if there is room for one.
pub(crate) fn fix_size(delivery: Delivery, batch: &mut [u8]) {
    let space = if delivery.fragments() { 4 } else { 2 };
    if let Some(content) = batch.len().checked_sub(space) {
        batch[..space].copy_from_slice(&(content as u32).to_le_bytes()[..space]);
    }
}

#[derive(Wire, Message, Default, Clone, PartialEq, Debug)]
pub(crate) struct Chat {
    #[wire(max_len = 60)]
    text: String,
}

#[derive(Wire, Message, Default, Clone, PartialEq, Debug)]
pub(crate) struct Goods {
    #[wire(range = 0..=40)]
    owner: Option<u8>,
    #[wire(max_len = 20)]
    items: Vec<u16>,
}

#[derive(Wire, Message, Default, Clone, PartialEq, Debug)]
pub(crate) struct Walk {
    tick: u16,
    #[wire(range = -100..=100)]
    stick: [i8; 2],
    runs: bool,
}

#[derive(Wire, Message, Default, Clone, PartialEq, Debug)]
pub(crate) struct Jump;

#[derive(Wire, Message, Default, Clone, PartialEq, Debug)]
pub(crate) struct Level {
    #[wire(max_len = 3000)]
    data: Vec<u8>,
}

/// A message with a number but without a handler.
#[derive(Wire, Message, Default, Clone, PartialEq, Debug)]
pub(crate) struct Secret {
    code: u32,
}

/// A message of any type.
#[derive(Clone, PartialEq, Debug)]
enum AnyMessage {
    Chat(Chat),
    Goods(Goods),
    Walk(Walk),
    Jump(Jump),
    Level(Level),
}

/// Account of the handled messages.
struct HandledMessages {
    good: PeerId,
    /// Messages of the good peer in each frame; `place` is the number of those handled in this one.
    expected: Vec<(Route, AnyMessage)>,
    place: usize,
    /// Number of messages passed to handlers, in all.
    handled: u64,
}

type Batches = Vec<(Delivery, Vec<u8>)>;

/// A messenger with a hostile peer and a good one, which sends the same messages in each frame.
pub(crate) struct Room {
    messenger: Messenger<HandledMessages>,
    handled_messages: HandledMessages,
    config: MessengerConfig,
    hostile: PeerId,
    good: PeerId,
    greeting: Batches,
    /// Number of messages and batch faults that are expected.
    outcomes: u64,
    /// Messages that were refused when they arrived, for a malformed binding.
    early: u64,
    /// Number of the hostile peer's messages that were queued before this frame.
    received: u64,
}

impl Room {
    pub(crate) fn new(config: MessengerConfig) -> Self {
        let mut messenger = messenger(config);
        let (hostile, good) = (messenger.add_peer(MTU), messenger.add_peer(MTU));
        let (message, greeting) = greeting(config.packing);
        // A stable sort: within a stage, messages come in the order of sending.
        let mut expected = message;
        expected.sort_by_key(|(route, _)| route.stage);
        let handled_messages = HandledMessages { good, expected, place: 0, handled: 0 };
        Self {
            messenger,
            handled_messages,
            config,
            hostile,
            good,
            greeting,
            outcomes: 0,
            early: 0,
            received: 0,
        }
    }

    /// Receives a batch of the hostile peer.
    pub(crate) fn throw(&mut self, delivery: Delivery, batch: &[u8]) {
        let (messages, is_whole) = walk(delivery, batch, &self.config);
        let before = self.messenger.faults().malformed;
        let result = self.messenger.receive(self.hostile, delivery, batch, Duration::ZERO);
        self.early += self.messenger.faults().malformed - before;
        self.outcomes += match result.map_err(|refused| refused.fault) {
            // The whole batch is refused, and none of its messages counts.
            Err(MessageError::PeerLimit) => 1,
            result => {
                assert_eq!(result.is_ok(), is_whole, "{result:?}");
                messages + u64::from(!is_whole)
            }
        };
    }

    /// Ends a frame in which the good peer sent last.
    pub(crate) fn frame(&mut self) {
        for (delivery, batch) in &self.greeting {
            let result = self.messenger.receive(self.good, *delivery, batch, Duration::ZERO);
            assert_eq!(result, Ok(()));
        }
        let waiting = self.stats(self.hostile).received.messages - self.received;
        assert!(waiting <= self.config.peer_messages as u64, "{waiting} messages wait");
        for stage in Stage::ALL {
            self.messenger.run_stage(stage, &mut self.handled_messages);
        }
        let mut batches = 0;
        self.messenger.end_frame(|_, _, batch| {
            batches += usize::from(!batch.is_empty());
            Ok(())
        });
        assert!(batches <= self.config.send_queue);
        assert_eq!(
            self.handled_messages.place,
            self.handled_messages.expected.len(),
            "the good peer was not handled_messages"
        );
        self.handled_messages.place = 0;
        self.check_counters();
    }

    fn stats(&self, peer: PeerId) -> PeerStats {
        self.messenger.peer_stats(peer).unwrap()
    }

    /// Checks that every message was queued or refused, and every queued one handled or refused.
    fn check_counters(&mut self) {
        let faults = self.messenger.faults();
        let (hostile, good) = (self.stats(self.hostile), self.stats(self.good));
        let late = faults.malformed + faults.handler - self.early;
        assert_eq!(self.outcomes, hostile.received.messages + faults.total() - late);
        assert_eq!((hostile.refused, good.refused), (faults.total(), 0));
        let received = hostile.received.messages + good.received.messages;
        let by_type = self.messenger.messages().map(|(_, _, stats)| stats);
        let (queued, handled) = by_type.fold((0, 0), |(queued, handled), stats| {
            (queued + stats.received.messages, handled + stats.handled)
        });
        assert_eq!((queued, handled), (received, received - late));
        assert_eq!(self.handled_messages.handled, received - (faults.malformed - self.early));
        self.received = hostile.received.messages;
    }
}

#[allow(dead_code)] // For crates/tightwire/tests/it/messages_hostile.rs alone.
impl Room {
    /// Returns the good peer's batches of a frame: valid ones, to be mutated.
    pub(crate) fn greeting(&self) -> &Batches {
        &self.greeting
    }

    /// Returns batches of messages with every string and list at its maximum length.
    pub(crate) fn longest(&self) -> Batches {
        let packing = self.config.packing;
        let mut sender = messenger(MessengerConfig { packing, ..MessengerConfig::default() });
        let to = sender.add_peer(MTU);
        let _received = HandledMessages { good: to, expected: Vec::new(), place: 0, handled: 0 };
        let route = Delivery::ReliableOrderedFragmented;
        let chat = Chat { text: "x".repeat(60) };
        let goods = Goods { owner: None, items: vec![7; 20] };
        let level = Level { data: vec![7; 3000] };
        sender.send(to, &chat, route).unwrap();
        sender.send(to, &goods, route).unwrap();
        sender.send(to, &level, route).unwrap();
        batches(&mut sender)
    }

    pub(crate) fn faults(&self) -> FaultCounters {
        self.messenger.faults()
    }

    /// Returns the number of messages passed to handlers.
    pub(crate) fn handled(&self) -> u64 {
        self.handled_messages.handled
    }
}

/// Returns the number of complete messages in a batch, and whether the batch has nothing else.
fn walk(delivery: Delivery, batch: &[u8], config: &MessengerConfig) -> (u64, bool) {
    let (wide, limit) = if delivery.fragments() { (4, config.max_fragmented) } else { (2, MTU) };
    let size = |bytes: &[u8]| {
        bytes[..wide].iter().rev().fold(0, |size, byte| size << 8 | usize::from(*byte))
    };
    if batch.len() > limit || batch.len() <= wide || size(batch) != batch.len() - wide {
        return (0, false);
    }
    let (mut rest, mut messages) = (&batch[wide..], 0);
    while !rest.is_empty() {
        let header = wide + 3;
        if rest.len() < header || rest.len() - header < size(&rest[2..]) {
            return (messages, false);
        }
        rest = &rest[header + size(&rest[2..])..];
        messages += 1;
    }
    (messages, true)
}

fn messenger(config: MessengerConfig) -> Messenger<HandledMessages> {
    /// Compares without a copy: handlers allocate nothing.
    fn hear(
        context: &mut Context<'_, HandledMessages>,
        is_expected: impl FnOnce(&AnyMessage) -> bool,
    ) {
        let (sender, route) = (context.sender(), context.route());
        context.state.handled += 1;
        if sender == context.state.good {
            let (expected_route, message) = &context.state.expected[context.state.place];
            assert_eq!(*expected_route, route);
            assert!(is_expected(message), "not {message:?}");
            context.state.place += 1;
        }
    }
    Messenger::builder(config)
        .handle(|chat: &Chat, context: &mut Context<'_, HandledMessages>| {
            assert!(chat.text.len() <= 60);
            hear(context, |message| matches!(message, AnyMessage::Chat(other) if other == chat));
        })
        .handle(|goods: &Goods, context: &mut Context<'_, HandledMessages>| {
            assert!(goods.items.len() <= 20 && goods.owner.is_none_or(|owner| owner <= 40));
            hear(context, |message| matches!(message, AnyMessage::Goods(other) if other == goods));
        })
        .handle(|walk: &Walk, context: &mut Context<'_, HandledMessages>| {
            assert!(walk.stick.iter().all(|axis| axis.abs() <= 100));
            hear(context, |message| matches!(message, AnyMessage::Walk(other) if other == walk));
            if walk.tick & 16 != 0 { Err("a tick that is refused") } else { Ok(()) }
        })
        .handle(|_: &Jump, context: &mut Context<'_, HandledMessages>| {
            hear(context, |message| matches!(message, AnyMessage::Jump(_)));
            let sender = context.sender();
            if sender != context.state.good {
                // The queue is soon full, which is an error without consequences.
                let _ = context.send(sender, &Walk::default(), context.route());
            }
        })
        .handle(|level: &Level, context: &mut Context<'_, HandledMessages>| {
            assert!(level.data.len() <= 3000);
            hear(context, |message| matches!(message, AnyMessage::Level(other) if other == level));
        })
        .send_only::<Secret>()
        .build()
        .unwrap()
}

/// Returns messages of all types on all deliveries, and their batches.
fn greeting(packing: Packing) -> (Vec<(Route, AnyMessage)>, Batches) {
    let mut sender = messenger(MessengerConfig { packing, ..MessengerConfig::default() });
    let to = sender.add_peer(MTU);
    let _received = HandledMessages { good: to, expected: Vec::new(), place: 0, handled: 0 };
    let mut all = Vec::new();
    for (number, delivery) in DELIVERIES.into_iter().enumerate() {
        let text = "words ".repeat(number * 2);
        let owner = (number % 2 == 0).then_some(number as u8);
        let goods = Goods { owner, items: (0..number as u16 * 3).collect() };
        let walk = Walk { tick: number as u16, stick: [-100, 100], runs: true };
        let message = [
            AnyMessage::Chat(Chat { text }),
            AnyMessage::Jump(Jump),
            AnyMessage::Goods(goods),
            AnyMessage::Walk(walk),
            AnyMessage::Level(Level { data: vec![number as u8; 10 * number] }),
        ];
        // One type less for each delivery, so that the batches stay small.
        for (place, mut message) in
            message.into_iter().enumerate().filter(|(place, _)| *place != number)
        {
            let stage = Stage::ALL[(number + 3 * place) % 7];
            let route = Route::from(delivery).on_channel(place as u8).at(stage);
            let sent = match &mut message {
                AnyMessage::Chat(chat) => sender.send(to, chat, route),
                AnyMessage::Goods(goods) => sender.send(to, goods, route),
                AnyMessage::Walk(walk) => sender.send(to, walk, route),
                AnyMessage::Jump(jump) => sender.send(to, jump, route),
                AnyMessage::Level(level) => sender.send(to, level, route),
            };
            sent.unwrap();
            all.push((route, message));
        }
    }
    let batches = batches(&mut sender);
    assert_eq!(batches.len(), DELIVERIES.len());
    (all, batches)
}

/// Returns the batches that a side sends at the end of its frame.
fn batches(sender: &mut Messenger<HandledMessages>) -> Batches {
    let mut batches = Vec::new();
    sender.end_frame(|_, delivery, batch| {
        batches.push((delivery, batch.to_vec()));
        Ok(())
    });
    batches
}

const MTU: usize = 1200;
