//! Registration of messages: their numbers, their handlers, and the abilities of a handler.

use tightwire::message::{Messenger, MessengerConfig, RegistryError, Route, SendError, SentTo};
use tightwire::{Context, Delivery, Message, PeerId, Stage, Wire};

use crate::common::office::{Chat, Counting, Jump, Level, Log, Score, Side, batches_to, builder};

#[test]
fn numbers_do_not_depend_on_the_order_of_registration() {
    let forwards = builder(MessengerConfig::default()).build().unwrap();
    let backwards = Messenger::<Log>::builder(MessengerConfig::default())
        .send_only::<Score>()
        .send_only::<Counting>()
        .send_only::<Level>()
        .send_only::<Chat>()
        .send_only::<Jump>()
        .build()
        .unwrap();
    let names = |messenger: &Messenger<Log>| -> Vec<_> {
        messenger.messages().map(|(number, name, _)| (number, name)).collect()
    };
    let expected = [(16, "Chat"), (17, "Counting"), (18, "Jump"), (19, "Level"), (20, "Score")];
    assert_eq!(names(&forwards), expected);
    assert_eq!(names(&backwards), expected);
    let [forwards, backwards] = [forwards, backwards].map(|side| side.schema().unwrap());
    assert_eq!(forwards.fingerprint(), backwards.fingerprint());
    assert!(forwards.diff(&backwards).is_empty());
}

#[derive(Wire, Message, Default)]
#[message(name = "Chat")]
struct Whisper;

#[test]
fn an_invalid_registry_is_refused() {
    let refused = builder(MessengerConfig::default()).send_only::<Whisper>().build().unwrap_err();
    assert_eq!(refused, RegistryError::SameName("Chat"));
    let sentence = "two messages are named Chat: rename one by `#[message(name = \"…\")]`";
    assert_eq!(refused.to_string(), sentence);
    let config = MessengerConfig { send_queue: 0, ..MessengerConfig::default() };
    assert!(matches!(builder(config).build(), Err(RegistryError::Limit(_))));
    let config = MessengerConfig { channels: 257, ..MessengerConfig::default() };
    assert!(matches!(builder(config).build(), Err(RegistryError::Limit(_))));
}

#[test]
fn unsendable_messages_are_refused_with_an_error() {
    let mut messenger =
        Messenger::<Log>::builder(MessengerConfig::default()).send_only::<Jump>().build().unwrap();
    let (to, mut log) = (messenger.add_peer(1200), Log::default());
    let refused = messenger.send(to, &Chat::default(), Delivery::Reliable);
    assert_eq!(refused, Err(SendError::NotRegistered { message: "Chat" }));
    let refused = messenger.send_local(&mut log, &Jump, Delivery::Reliable);
    assert_eq!(refused, Err(SendError::NotHandled { message: "Jump" }));
    let route = Route::from(Delivery::Reliable).on_channel(16);
    let refused = messenger.send(to, &Jump, route);
    assert_eq!(refused, Err(SendError::UnknownChannel { message: "Jump", channel: 16 }));
}

#[test]
fn a_blocked_peer_gets_only_its_backlog() {
    let mut side = Side::new(MessengerConfig::default());
    let peers = [(); 2].map(|()| side.messenger.add_peer(1200));
    let all = |side: &mut Side, delivery| side.messenger.broadcast(None, &Jump, delivery).unwrap();
    assert_eq!(all(&mut side, Delivery::Reliable).sent, 2);
    side.messenger.set_blocked(peers[1], true);
    for delivery in Delivery::ALL {
        let sent = all(&mut side, delivery);
        assert_eq!((sent.sent, sent.refused), (1, 1));
        assert_eq!(sent.first_error, Some(SendError::Blocked(peers[1])));
        let sent = side.messenger.send(peers[1], &Jump, delivery);
        let sentence = "peer 1 is blocked: its backlog is at the limit; retry later";
        assert_eq!(sent.unwrap_err().to_string(), sentence);
    }
    assert_eq!(batches_to(peers[1], &side.end_frame()).len(), 1);
    side.messenger.set_blocked(peers[1], false);
    assert_eq!(all(&mut side, Delivery::Reliable).sent, 2);
    let jumps = |peer| {
        side.messenger.peer_message_stats(peer).find(|stats| stats.message == "Jump").unwrap().sent
    };
    assert_eq!((jumps(peers[0]).messages, jumps(peers[1]).messages), (7, 2));
    assert_eq!(side.messenger.peer_stats(peers[1]).unwrap().sent, jumps(peers[1]));
}

#[test]
fn handlers_kick_each_peer_once_and_only_peers() {
    let kick = |_: &Jump, context: &mut Context<'_, Vec<PeerId>>| {
        for peer in context.state.clone() {
            context.kick(peer, "jumped");
        }
    };
    let mut messenger =
        Messenger::builder(MessengerConfig::default()).handle(kick).build().unwrap();
    let peers = [(); 3].map(|()| messenger.add_peer(1200));
    messenger.remove_peer(peers[1]);
    let mut state = [&peers[..], &[PeerId::LOCAL]].concat();
    messenger.run_stage(Stage::Update, &mut state);
    for _ in 0..2 {
        messenger.send_local(&mut state, &Jump, Delivery::Reliable).unwrap();
    }
    // A kicked peer that was removed before the poll is not returned.
    messenger.remove_peer(peers[2]);
    assert_eq!(messenger.poll_kick(), Some((peers[0], "jumped".into())));
    assert_eq!(messenger.poll_kick(), None);
}

#[test]
fn a_handler_can_answer_and_send_to_itself() {
    /// A message that counts down, one message at a time.
    #[derive(Wire, Message, Default)]
    struct Countdown {
        left: u8,
    }
    let handler = |message: &Countdown, context: &mut Context<'_, Vec<u8>>| {
        context.state.push(message.left);
        if let Some(left) = message.left.checked_sub(1) {
            let sender = context.sender();
            context.send(sender, &Countdown { left }, Delivery::Reliable).unwrap();
            // A handler is not called while it runs.
            assert_eq!(context.state.last(), Some(&message.left));
        }
    };
    let mut messenger =
        Messenger::builder(MessengerConfig::default()).handle(handler).build().unwrap();
    let mut seen = Vec::new();
    messenger.run_stage(Stage::Update, &mut seen);
    messenger.send_local(&mut seen, &Countdown { left: 5 }, Delivery::Reliable).unwrap();
    assert_eq!(seen, [5]);
    messenger.run_stage(Stage::Update, &mut seen);
    assert_eq!(seen, [5, 4, 3, 2, 1, 0]);

    // An endless sequence is stopped.
    let forever = |_: &Jump, context: &mut Context<'_, usize>| {
        *context.state += 1;
        context.send(PeerId::LOCAL, &Jump, Delivery::Reliable).unwrap();
    };
    let config =
        MessengerConfig { receive_queue: 100, batch_messages: 100, ..MessengerConfig::default() };
    let mut messenger = Messenger::builder(config).handle(forever).build().unwrap();
    let mut count = 0;
    messenger.run_stage(Stage::Update, &mut count);
    messenger.send_local(&mut count, &Jump, Delivery::Reliable).unwrap();
    messenger.run_stage(Stage::Update, &mut count);
    assert_eq!(count, 101);
}

/// Sent to this side, which handles it at once, and to a peer that cannot take it.
#[test]
fn a_message_that_this_side_has_handled_counts_as_sent() {
    #[derive(Wire, Message, Default)]
    struct Map {
        #[wire(max_len = 4000)]
        tiles: Vec<u8>,
    }
    struct Game {
        peer: PeerId,
        maps: usize,
        sent: Option<Result<SentTo, SendError>>,
    }
    let order = |_: &Jump, context: &mut Context<'_, Game>| {
        let recipients = [PeerId::LOCAL, context.state.peer];
        let map = Map { tiles: vec![7; 4000] };
        let sent = context.send_to(recipients, &map, Delivery::ReliableOrderedFragmented);
        context.state.sent = Some(sent);
    };
    let config = MessengerConfig { max_fragmented: 1000, ..MessengerConfig::default() };
    let mut messenger = Messenger::builder(config)
        .handle(order)
        .handle(|_: &Map, context: &mut Context<'_, Game>| context.state.maps += 1)
        .build()
        .unwrap();
    let mut game = Game { peer: messenger.add_peer(1200), maps: 0, sent: None };
    messenger.run_stage(Stage::Update, &mut game);
    messenger.send_local(&mut game, &Jump, Delivery::Reliable).unwrap();
    let sent = game.sent.unwrap().unwrap();
    assert_eq!((game.maps, sent.sent, sent.refused), (1, 1, 1));
    assert!(matches!(sent.first_error, Some(SendError::TooLarge { message: "Map", .. })));
}
