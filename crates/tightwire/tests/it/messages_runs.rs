//! Adjacent messages of a batch with the same header: each is admitted, read and handled on its
//! own.

use std::time::Duration;

use tightwire::message::{Messenger, MessengerConfig};
use tightwire::{Context, Delivery, Message, PeerId, Stage, Wire};

/// A message that is handled if it is true.
#[derive(Wire, Message, Default)]
struct Flag(bool);

fn messenger(limits: MessengerConfig) -> (Messenger<Vec<bool>>, PeerId) {
    let handler = |flag: &Flag, context: &mut Context<'_, Vec<bool>>| {
        context.state.push(flag.0);
        if flag.0 { Ok(()) } else { Err("it is false") }
    };
    let mut messenger = Messenger::builder(limits).handle(handler).build().unwrap();
    let from = messenger.add_peer(1200);
    (messenger, from)
}

/// Returns a batch of flags with these bodies.
fn batch(bodies: &[u8]) -> Vec<u8> {
    let mut batch = (bodies.len() as u16 * 6).to_le_bytes().to_vec();
    bodies.iter().for_each(|body| batch.extend_from_slice(&[16, 4, 1, 0, 0, *body]));
    batch
}

#[test]
fn a_failed_message_does_not_affect_later_messages() {
    let (mut messenger, from) = messenger(MessengerConfig::default());
    let bytes = batch(&[1, 1, 0x80, 1, 0, 1]);
    messenger.receive(from, Delivery::Unreliable, &bytes, Duration::ZERO).unwrap();
    let mut flags = Vec::new();
    messenger.run_stage(Stage::Update, &mut flags);
    assert_eq!(flags, [true, true, true, false, true]);
    let faults = messenger.faults();
    assert_eq!((faults.malformed, faults.handler, faults.total()), (1, 1, 2));
    let stats = messenger.message_stats::<Flag>().unwrap();
    assert_eq!((stats.received.messages, stats.received.bytes), (6, 36));
    assert_eq!((stats.handled, stats.refused), (4, 2));
    assert_eq!(messenger.peer_stats(from).unwrap().received, stats.received);
}

#[test]
fn as_many_are_taken_as_have_room() {
    let bytes = batch(&[1; 10]);
    let small =
        MessengerConfig { receive_queue: 4, batch_messages: 4, ..MessengerConfig::default() };
    let (mut one, from) = messenger(small);
    one.receive(from, Delivery::Unreliable, &bytes, Duration::ZERO).unwrap();
    assert_eq!((one.room(from), one.faults().queue_full), (0, 6));

    let small =
        MessengerConfig { peer_messages: 3, batch_messages: 3, ..MessengerConfig::default() };
    let (mut other, from) = messenger(small);
    other.receive(from, Delivery::Unreliable, &bytes, Duration::ZERO).unwrap();
    assert_eq!((other.room(from), other.faults().peer_limit), (0, 7));

    for (messenger, room) in [(&mut one, 4), (&mut other, 3)] {
        let mut flags = Vec::new();
        messenger.run_stage(Stage::Update, &mut flags);
        assert_eq!((flags.len(), messenger.room(from)), (room, room));
    }
}

#[test]
fn messages_of_removed_peers_take_no_room() {
    let limits =
        MessengerConfig { receive_queue: 12, batch_messages: 12, ..MessengerConfig::default() };
    let (mut messenger, gone) = messenger(limits);
    let stays = messenger.add_peer(1200);
    for from in [gone, stays] {
        let bytes = batch(&[1; 6]);
        messenger.receive(from, Delivery::Unreliable, &bytes, Duration::ZERO).unwrap();
    }
    assert_eq!(messenger.room(stays), 0);
    messenger.remove_peer(gone);
    assert_eq!(messenger.room(stays), 6);
    let mut flags = Vec::new();
    messenger.run_stage(Stage::Update, &mut flags);
    assert_eq!((flags.len(), messenger.room(stays)), (6, 12));
}

#[test]
fn a_batch_that_ends_within_one_is_taken_up_to_it() {
    let (mut messenger, from) = messenger(MessengerConfig::default());
    let mut bytes = batch(&[1; 4]);
    bytes.pop();
    bytes[0] -= 1;
    assert!(messenger.receive(from, Delivery::Unreliable, &bytes, Duration::ZERO).is_err());
    let mut flags = Vec::new();
    messenger.run_stage(Stage::Update, &mut flags);
    assert_eq!(flags, [true; 3]);
}
