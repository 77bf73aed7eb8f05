//! Which messages there are: their numbers, their handlers, and what a handler can do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common {
    pub(crate) mod office;
}

use common::office::{Chat, Counting, Jump, Level, Log, Score, builder};
use tightwire::{
    Context, Delivery, Message, Messenger, MessengerConfig, PeerId, RegistryError, Route,
    SendError, Stage, Wire,
};

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
fn a_registry_that_makes_no_sense_is_refused() {
    let refused = builder(MessengerConfig::default()).send_only::<Whisper>().build().unwrap_err();
    assert_eq!(refused, RegistryError::SameName("Chat"));
    let sentence = "two messages are called Chat: give one `#[message(name = \"…\")]`";
    assert_eq!(refused.to_string(), sentence);
    let config = MessengerConfig { send_queue: 0, ..MessengerConfig::default() };
    assert!(matches!(builder(config).build(), Err(RegistryError::Config(_))));
    let config = MessengerConfig { channels: 257, ..MessengerConfig::default() };
    assert!(matches!(builder(config).build(), Err(RegistryError::Config(_))));
}

#[test]
fn what_cannot_be_sent_is_said() {
    let mut messenger =
        Messenger::<Log>::builder(MessengerConfig::default()).send_only::<Jump>().build().unwrap();
    let (to, mut log) = (messenger.add_peer(1200), Log::default());
    let refused = messenger.send(&mut log, to, &mut Chat::default(), Delivery::Reliable);
    assert_eq!(refused, Err(SendError::NotRegistered { message: "Chat" }));
    let refused = messenger.send(&mut log, PeerId::LOCAL, &mut Jump, Delivery::Reliable);
    assert_eq!(refused, Err(SendError::NotHandled { message: "Jump" }));
    let route = Route::from(Delivery::Reliable).on_channel(16);
    let refused = messenger.send(&mut log, to, &mut Jump, route);
    assert_eq!(refused, Err(SendError::UnknownChannel { message: "Jump", channel: 16 }));
}

#[test]
fn a_handler_can_answer_and_send_to_itself() {
    /// Counts down, one message at a time.
    #[derive(Wire, Message, Default)]
    struct Countdown {
        left: u8,
    }
    let handler = |message: &Countdown, context: &mut Context<'_, Vec<u8>>| {
        context.state.push(message.left);
        if let Some(left) = message.left.checked_sub(1) {
            let sender = context.sender();
            context.send(sender, &mut Countdown { left }, Delivery::Reliable).unwrap();
            // A handler is not called while it runs.
            assert_eq!(context.state.last(), Some(&message.left));
        }
    };
    let mut messenger =
        Messenger::builder(MessengerConfig::default()).handle(handler).build().unwrap();
    let mut seen = Vec::new();
    messenger.run_stage(Stage::Update, &mut seen);
    messenger
        .send(&mut seen, PeerId::LOCAL, &mut Countdown { left: 5 }, Delivery::Reliable)
        .unwrap();
    assert_eq!(seen, [5]);
    messenger.run_stage(Stage::Update, &mut seen);
    assert_eq!(seen, [5, 4, 3, 2, 1, 0]);

    // One that never stops is stopped.
    let forever = |_: &Jump, context: &mut Context<'_, usize>| {
        *context.state += 1;
        context.send(PeerId::LOCAL, &mut Jump, Delivery::Reliable).unwrap();
    };
    let config = MessengerConfig { receive_queue: 100, ..MessengerConfig::default() };
    let mut messenger = Messenger::builder(config).handle(forever).build().unwrap();
    let mut count = 0;
    messenger.run_stage(Stage::Update, &mut count);
    messenger.send(&mut count, PeerId::LOCAL, &mut Jump, Delivery::Reliable).unwrap();
    messenger.run_stage(Stage::Update, &mut count);
    assert_eq!(count, 101);
}
