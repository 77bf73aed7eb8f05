//! Draining: messages that the application takes instead of a handler.

use std::time::Duration;

use allocation_counter::measure;
use tightwire::message::{Hooks, MessageEvent, Messenger, MessengerConfig, ReceivedMessage, Route};
use tightwire::{Context, Delivery, Message, PeerId, Stage, Wire};

#[derive(Wire, Message, Default, Clone, PartialEq, Debug)]
struct Chat {
    #[wire(max_len = 100)]
    text: String,
}

#[derive(Wire, Message, Default, Clone, PartialEq, Debug)]
struct Input {
    #[wire(range = 0..=100)]
    number: u8,
}

/// A message that is handled.
#[derive(Wire, Message, Default, Clone, PartialEq, Debug)]
struct Jump;

const CHAT: u8 = 16;
const INPUT: u8 = 17;
const JUMP: u8 = 18;

fn messenger(limits: MessengerConfig) -> Messenger<u32> {
    Messenger::builder(limits)
        .queue::<Input>()
        .queue::<Chat>()
        .handle(|_: &Jump, context: &mut Context<'_, u32>| *context.state += 1)
        .build()
        .unwrap()
}

/// Returns a batch of these messages, each of at most one byte: number, stage and body.
fn batch(messages: &[(u8, Stage, &[u8])]) -> Vec<u8> {
    let mut content = Vec::new();
    for (number, stage, body) in messages {
        content.extend_from_slice(&[*number, *stage as u8, body.len() as u8, 0, 3]);
        content.extend_from_slice(body);
    }
    let mut batch = (content.len() as u16).to_le_bytes().to_vec();
    batch.append(&mut content);
    batch
}

fn inputs(numbers: impl IntoIterator<Item = u8>) -> Vec<u8> {
    let bodies: Vec<_> = numbers.into_iter().map(|number| [number]).collect();
    let messages: Vec<_> =
        bodies.iter().map(|body| (INPUT, Stage::Update, body.as_slice())).collect();
    batch(&messages)
}

fn drained(messenger: &mut Messenger<u32>) -> Vec<u8> {
    messenger.drain::<Input>().map(|input| input.message.number).collect()
}

fn at(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

#[test]
fn messages_of_a_type_come_in_order_and_each_with_its_context() {
    let mut messenger = messenger(MessengerConfig::default());
    let (a, b) = (messenger.add_peer(1200), messenger.add_peer(1200));
    let late = Stage::PostLateUpdate;
    let first = batch(&[(INPUT, Stage::Update, &[1]), (JUMP, late, &[]), (INPUT, late, &[2])]);
    messenger.receive(a, Delivery::Reliable, &first, at(5)).unwrap();
    messenger.receive(b, Delivery::Unreliable, &inputs([3]), at(7)).unwrap();

    let received = |input: ReceivedMessage<Input>| {
        (input.message.number, input.sender, input.route, input.received_at)
    };
    let all: Vec<_> = messenger.drain::<Input>().map(received).collect();
    let route = |delivery, stage| Route::from(delivery).on_channel(3).at(stage);
    assert_eq!(
        all,
        [
            (1, a, route(Delivery::Reliable, Stage::Update), at(5)),
            (2, a, route(Delivery::Reliable, late), at(5)),
            (3, b, route(Delivery::Unreliable, Stage::Update), at(7)),
        ]
    );
    assert_eq!(messenger.message_stats::<Input>().unwrap().handled, 3);
    // Handled types are not touched.
    let mut jumps = 0;
    messenger.run_stage(late, &mut jumps);
    assert_eq!(jumps, 1);
}

#[test]
fn stages_leave_drained_messages_in_their_queue() {
    let mut messenger = messenger(MessengerConfig::default());
    let peer = messenger.add_peer(1200);
    messenger.receive(peer, Delivery::Reliable, &inputs([1, 2, 3]), at(0)).unwrap();
    Stage::ALL.into_iter().for_each(|stage| messenger.run_stage(stage, &mut 0));
    messenger.end_frame(|_, _, _| Ok(()));
    assert_eq!(messenger.drain::<Input>().next().unwrap().message.number, 1);
    assert_eq!(messenger.drain::<Chat>().count(), 0);
    // A type that is handled, and one that is not registered.
    assert_eq!(messenger.drain::<Jump>().count(), 0);
    #[derive(Wire, Message, Default)]
    struct Unknown;
    assert_eq!(messenger.drain::<Unknown>().count(), 0);

    messenger.receive(peer, Delivery::Reliable, &inputs([4]), at(0)).unwrap();
    let mut answered = Vec::new();
    while let Some(input) = messenger.drain::<Input>().next() {
        messenger.send(input.sender, &input.message, Delivery::Reliable).unwrap();
        answered.push(input.message.number);
    }
    assert_eq!(answered, [2, 3, 4]);
}

#[test]
fn a_message_to_this_side_waits_to_be_drained() {
    let mut messenger = messenger(MessengerConfig::default());
    messenger.run_stage(Stage::Update, &mut 0);
    messenger.send_local(&mut 0, &Input { number: 1 }, Delivery::Reliable).unwrap();
    messenger.send(PeerId::LOCAL, &Input { number: 2 }, Delivery::Reliable).unwrap();
    assert!(messenger.drain::<Input>().all(|input| input.sender == PeerId::LOCAL));
    assert_eq!(messenger.message_stats::<Input>().unwrap().handled, 2);
}

#[test]
fn malformed_messages_are_refused_and_skipped() {
    let mut messenger = messenger(MessengerConfig::default());
    let peer = messenger.add_peer(1200);
    messenger.receive(peer, Delivery::Reliable, &inputs([1, 101, 127, 2]), at(0)).unwrap();
    let room = messenger.room(peer);
    assert_eq!(drained(&mut messenger), [1, 2]);
    assert_eq!((messenger.faults().malformed, messenger.faults().total()), (2, 2));
    assert_eq!(messenger.peer_stats(peer).unwrap().refused, 2);
    assert_eq!(messenger.room(peer), room + 4);
}

#[test]
fn hooks_see_and_stop_what_is_drained() {
    struct Odd(u32);
    impl Hooks for Odd {
        fn before_handle(&mut self, event: &MessageEvent) -> bool {
            assert_eq!(event.message, "Input");
            self.0 += 1;
            self.0 % 2 == 1
        }
    }
    let mut messenger = Messenger::<u32>::builder(MessengerConfig::default())
        .queue::<Input>()
        .hooks(Odd(0))
        .build()
        .unwrap();
    let peer = messenger.add_peer(1200);
    let messages = [1, 2, 3, 4, 5].map(|number| [number]);
    let messages = messages.each_ref().map(|body| (16, Stage::Update, body.as_slice()));
    messenger.receive(peer, Delivery::Reliable, &batch(&messages), at(0)).unwrap();
    assert_eq!(drained(&mut messenger), [1, 3, 5]);
    assert_eq!(messenger.faults().vetoed, 2);
}

#[test]
fn a_flood_of_undrained_messages_is_refused_without_growth() {
    let limits = MessengerConfig {
        batch_messages: 8,
        peer_messages: 64,
        receive_queue: 200,
        ..MessengerConfig::default()
    };
    let mut messenger = messenger(limits);
    let peers: Vec<_> = (0..5).map(|_| messenger.add_peer(1200)).collect();
    let batch = inputs(0..8);
    let flood = |messenger: &mut Messenger<u32>, frames: usize| {
        for _ in 0..frames {
            for peer in &peers {
                let _ = messenger.receive(*peer, Delivery::Unreliable, &batch, at(0));
            }
            Stage::ALL.into_iter().for_each(|stage| messenger.run_stage(stage, &mut 0));
            messenger.end_frame(|_, _, _| Ok(()));
        }
    };
    flood(&mut messenger, 20);
    // Three peers have as many as each may, and the fourth has the rest.
    assert!(peers.iter().all(|peer| !messenger.can_receive(*peer)));
    let faults = messenger.faults();
    assert_eq!(faults.peer_limit + faults.queue_full, 20 * 5 * 8 - 200);
    let kept = measure(|| flood(&mut messenger, 1000));
    assert_eq!((kept.count_total, kept.bytes_max), (0, 0));

    assert_eq!(drained(&mut messenger).len(), 200);
    assert!(peers.iter().all(|peer| messenger.can_receive(*peer)));
    // The waiting messages of a peer are removed with it.
    flood(&mut messenger, 2);
    messenger.remove_peer(peers[0]);
    assert_eq!(drained(&mut messenger).len(), 4 * 16);
}

#[test]
fn draining_takes_no_memory_in_the_steady_state() {
    let mut messenger = messenger(MessengerConfig::default());
    let peer = messenger.add_peer(1200);
    let chat = Chat { text: "a line of a few dozen letters".into() };
    let mut letters = 0;
    let mut frame = |messenger: &mut Messenger<u32>| {
        messenger.receive(peer, Delivery::Unreliable, &inputs_of_a_frame(), at(0)).unwrap();
        for _ in 0..10 {
            messenger.send(PeerId::LOCAL, &chat, Delivery::Reliable).unwrap();
        }
        assert_eq!(messenger.drain::<Input>().count(), 8);
        let mut chats = messenger.drain::<Chat>();
        while let Some(chat) = chats.next_ref() {
            letters += chat.message.text.len();
        }
        messenger.end_frame(|_, _, _| Ok(()));
    };
    (0..10).for_each(|_| frame(&mut messenger));
    let taken = measure(|| (0..1000).for_each(|_| frame(&mut messenger)));
    assert_eq!(taken.count_total, 0);
    assert_eq!(letters, 1010 * 10 * chat.text.len());
}

/// Returns a batch without allocating.
fn inputs_of_a_frame() -> [u8; 2 + 8 * 6] {
    let mut batch = [0; 2 + 8 * 6];
    batch[0] = 8 * 6;
    for (number, message) in (0..).zip(batch[2..].chunks_mut(6)) {
        message.copy_from_slice(&[INPUT, Stage::Update as u8, 1, 0, 0, number]);
    }
    batch
}

#[test]
fn both_ends_have_the_same_protocol_whichever_drains() {
    let builder = || Messenger::<u32>::builder(MessengerConfig::default());
    let drains = builder().queue::<Chat>().send_only::<Input>().build().unwrap();
    let sends = builder().send_only::<Chat>().queue::<Input>().build().unwrap();
    assert_eq!(drains.id(), sends.id());
    assert_eq!(sends.messages().next().map(|(number, ..)| number), Some(CHAT));
}
