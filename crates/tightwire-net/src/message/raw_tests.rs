//! Messages that are known by name and schema.

use core::time::Duration;

use tightwire_core::Wire;
use tightwire_core::schema::Schema;

use super::{
    Bound, Delivery, Message, Messenger, MessengerConfig, PeerId, RegistryError, Route, SendError,
};

#[derive(Wire, Message, Default, PartialEq, Debug)]
#[message(name = "game::Score")]
struct Score {
    points: u16,
}

#[derive(Wire, Message, Default)]
struct Jump;

fn typed() -> (Messenger<()>, PeerId) {
    let builder = Messenger::builder(MessengerConfig::default()).queue::<Jump>().queue::<Score>();
    let mut messenger = builder.build().unwrap();
    let peer = messenger.add_peer(1200);
    (messenger, peer)
}

fn raw() -> (Messenger<()>, PeerId) {
    let builder = Messenger::builder(MessengerConfig::default());
    let builder = builder.queue_raw("game::Score", Schema::of::<Score>()).queue::<Jump>();
    let mut messenger = builder.build().unwrap();
    let peer = messenger.add_peer(1200);
    (messenger, peer)
}

/// Moves the batches of one messenger to another, as from this peer of it.
fn carry(from: &mut Messenger<()>, to: &mut Messenger<()>, peer: PeerId) {
    from.end_frame(|_, delivery, batch| {
        to.receive(peer, delivery, batch, Duration::ZERO).unwrap();
        Ok(())
    });
}

#[test]
fn a_side_with_the_type_and_one_without_understand_each_other() {
    let ((mut one, peer), (mut two, peer_too)) = (typed(), raw());
    assert_eq!(one.id(), two.id());
    assert_eq!(one.capture_schema(), two.capture_schema());
    let number = two.number_of("game::Score").unwrap();

    two.send_raw(peer_too, number, &[44, 1], Route::from(Delivery::Reliable).at_tick(7)).unwrap();
    carry(&mut two, &mut one, peer);
    let received = one.drain::<Score>().next().unwrap();
    assert_eq!(received.message, Score { points: 300 });
    assert_eq!(received.route.bound, Some(Bound::Tick(7)));

    for points in [1, 2, 3] {
        one.send(peer, &Score { points }, Delivery::Reliable).unwrap();
    }
    carry(&mut one, &mut two, peer_too);
    let mut bodies = Vec::new();
    let mut drain = two.drain_raw(number);
    while let Some(received) = drain.next_ref() {
        bodies.push((received.sender, received.message.to_vec()));
    }
    assert_eq!(bodies, [1, 2, 3].map(|points| (peer_too, vec![points, 0])));
    assert_eq!(two.room(peer_too), 512);
    let stats = two.messages().find(|(found, ..)| *found == number).unwrap().2;
    assert_eq!((stats.sent.messages, stats.received.messages, stats.handled), (1, 3, 3));
}

#[test]
fn a_message_without_a_type_waits_for_its_tick() {
    let (mut messenger, _) = raw();
    let number = messenger.number_of("game::Score").unwrap();
    let hold = Duration::from_secs(2);
    let route = Route::from(Delivery::Reliable).at_tick(9);
    messenger.send_raw(PeerId::LOCAL, number, &[1, 0], route).unwrap();
    messenger.send_raw(PeerId::LOCAL, number, &[2, 0], Delivery::Reliable).unwrap();
    let mut drain = messenger.drain_raw(number);
    assert_eq!(drain.next_ready_ref(hold, |_, _| false).unwrap().message, [2, 0]);
    assert!(drain.next_ready_ref(hold, |_, _| false).is_none());
    assert_eq!(drain.next_ready_ref(hold, |_, _| true).unwrap().message, [1, 0]);
}

#[test]
fn numbers_of_types_are_not_sent_or_drained_as_bytes() {
    let (mut messenger, peer) = raw();
    let jump = messenger.number_of("Jump").unwrap();
    for number in [jump, 0, 255] {
        let sent = messenger.send_raw(peer, number, &[], Delivery::Reliable);
        assert!(matches!(sent, Err(SendError::NotRegistered { .. })));
        assert!(messenger.drain_raw(number).next_ref().is_none());
    }
    assert_eq!(messenger.number_of("Duck"), None);
}

#[test]
fn a_body_that_is_too_long_is_refused_by_the_sender() {
    let (mut messenger, peer) = raw();
    let number = messenger.number_of("game::Score").unwrap();
    let sent = messenger.send_raw(peer, number, &[0; 1200], Delivery::Reliable);
    assert!(matches!(sent, Err(SendError::TooLarge { size: 1200, limit: 1193, .. })), "{sent:?}");
}

#[test]
fn a_name_is_registered_once() {
    let builder = Messenger::<()>::builder(MessengerConfig::default());
    let twice = builder.queue_raw("a", Schema::of::<u8>()).queue_raw("a", Schema::of::<u8>());
    assert_eq!(twice.build().err(), Some(RegistryError::Twice("a")));
    let builder = Messenger::<()>::builder(MessengerConfig::default());
    let both = builder.queue_raw("game::Score", Schema::of::<u16>()).queue::<Score>();
    assert_eq!(both.build().err(), Some(RegistryError::SameName("game::Score")));
}
