//! Sending messages: the contents of batches, and messages of this side to itself.

use std::time::Duration;

use tightwire::bytes::Packing;
use tightwire::message::{DisconnectedError, MessengerConfig, Route, SendError};
use tightwire::{Delivery, PeerId, Stage, Wire};

use crate::common::office::{Chat, Counting, Jump, Level, Score, Side, batches_to};

const DELIVERIES: [Delivery; 5] = [
    Delivery::Unreliable,
    Delivery::UnreliableSequenced,
    Delivery::Reliable,
    Delivery::ReliableOrdered,
    Delivery::ReliableOrderedFragmented,
];

#[test]
fn messages_arrive_in_order_on_every_delivery() {
    for packing in [Packing::Bits, Packing::Bytes] {
        let config = MessengerConfig { packing, ..MessengerConfig::default() };
        let (mut a, mut b) = (Side::new(config), Side::new(config));
        let (to, from) = (a.messenger.add_peer(1200), b.messenger.add_peer(1200));
        for (number, delivery) in DELIVERIES.into_iter().enumerate() {
            a.chat(to, &format!("chat {number}"), delivery);
            let score = Score { points: number as u16 };
            a.messenger.send(to, &score, delivery).unwrap();
            a.messenger.send(to, &Jump, delivery).unwrap();
        }
        let sent = a.end_frame();
        assert_eq!(sent.iter().map(|(_, delivery, _)| *delivery).collect::<Vec<_>>(), DELIVERIES);
        b.frame_with(from, &batches_to(to, &sent));
        let expected: Vec<_> = (0..5)
            .flat_map(|number| [format!("chat {number}"), number.to_string(), "jump".into()])
            .collect();
        assert_eq!(b.log.texts(), expected);
        assert_eq!(b.messenger.faults().total(), 0);
    }
}

#[test]
fn the_header_has_five_bytes_and_that_of_a_batch_two() {
    let mut a = Side::new(MessengerConfig::default());
    let to = a.messenger.add_peer(1200);
    let route = Route::from(Delivery::Reliable).on_channel(3).at(Stage::PreLateUpdate);
    a.messenger.send(to, &Score { points: 300 }, route).unwrap();
    a.messenger.send(to, &Jump, Delivery::Reliable).unwrap();
    let [(_, Delivery::Reliable, batch)] = &a.end_frame()[..] else { panic!("one batch") };
    // Numbers by name: Chat 16, Counting 17, Jump 18, Level 19, Score 20.
    assert_eq!(batch[..], [12, 0, 20, 5, 2, 0, 3, 0x2c, 1, 18, 4, 0, 0, 0]);

    let fragmenting = Delivery::ReliableOrderedFragmented;
    a.messenger.send(to, &Score { points: 300 }, fragmenting).unwrap();
    let [(_, _, batch)] = &a.end_frame()[..] else { panic!("one batch") };
    assert_eq!(batch[..], [9, 0, 0, 0, 20, 4, 2, 0, 0, 0, 0, 0x2c, 1]);
}

#[test]
fn a_batch_holds_as_many_messages_as_fit_and_one_more_makes_two() {
    for mtu in [500, 1200, 1300, 2000] {
        let size = Counting::MAX_BYTES;
        let fit = (mtu - 2) / (5 + size);
        for (count, batches) in [(fit, 1), (fit + 1, 2), (2 * fit, 2), (2 * fit + 1, 3)] {
            let (mut a, mut b) =
                (Side::new(MessengerConfig::default()), Side::new(MessengerConfig::default()));
            let (to, from) = (a.messenger.add_peer(mtu), b.messenger.add_peer(mtu));
            for _ in 0..count {
                a.messenger.send(to, &Counting::default(), Delivery::Unreliable).unwrap();
            }
            let sent = a.end_frame();
            assert_eq!(sent.len(), batches, "{count} messages at {mtu}");
            assert!(sent.iter().all(|(_, _, batch)| batch.len() <= mtu));
            b.frame_with(from, &batches_to(to, &sent));
            assert_eq!(b.log.0.len(), count);
        }
    }
}

#[test]
fn a_full_batch_is_legal() {
    // Two bytes, and one message of exactly the rest.
    let (mut a, mut b) =
        (Side::new(MessengerConfig::default()), Side::new(MessengerConfig::default()));
    let (to, from) = (a.messenger.add_peer(11), b.messenger.add_peer(11));
    a.messenger.send(to, &Counting::default(), Delivery::Unreliable).unwrap();
    let sent = a.end_frame();
    assert_eq!(sent[0].2.len(), 11);
    b.frame_with(from, &batches_to(to, &sent));
    assert_eq!(b.log.texts(), ["counted"]);
}

#[test]
fn a_change_of_delivery_closes_the_batch() {
    let mut a = Side::new(MessengerConfig::default());
    let to = a.messenger.add_peer(1200);
    a.chat(to, "first", Delivery::Reliable);
    a.chat(to, "second", Delivery::Reliable);
    a.chat(to, "third", Delivery::Unreliable);
    let sent = a.end_frame();
    let deliveries: Vec<_> = sent.iter().map(|(_, delivery, _)| *delivery).collect();
    assert_eq!(deliveries, [Delivery::Reliable, Delivery::Unreliable]);

    // Channels and stages do not.
    for channel in 0..3 {
        let route = Route::from(Delivery::Reliable).on_channel(channel);
        a.messenger.send(to, &Jump, route.at(Stage::FixedUpdate)).unwrap();
    }
    assert_eq!(a.end_frame().len(), 1);
}

#[test]
fn small_giant_small_keeps_its_order_on_a_delivery_that_fragments() {
    let (mut a, mut b) =
        (Side::new(MessengerConfig::default()), Side::new(MessengerConfig::default()));
    let (to, from) = (a.messenger.add_peer(1200), b.messenger.add_peer(1200));
    let fragmenting = Delivery::ReliableOrderedFragmented;
    let giant = Level { data: vec![7; 500_000] };
    a.chat(to, "before", fragmenting);
    a.messenger.send(to, &giant, fragmenting).unwrap();
    a.chat(to, "after", fragmenting);
    let sent = a.end_frame();
    b.frame_with(from, &batches_to(to, &sent));
    assert_eq!(b.log.texts(), ["before", "level of 500000", "after"]);
}

#[test]
fn nothing_reaches_the_transport_before_the_end_of_the_frame() {
    let mut a = Side::new(MessengerConfig::default());
    let to = a.messenger.add_peer(200);
    for _ in 0..32 {
        a.chat(to, "hello", Delivery::Reliable);
        a.chat(to, "hello", Delivery::Unreliable);
    }
    a.run_all();
    // The only way out is the argument of `end_frame`.
    let stats = a.messenger.peer_stats(to).unwrap();
    assert_eq!((stats.sent.messages, stats.batches_sent), (64, 0));
    assert_eq!(a.end_frame().len(), 64);
    assert_eq!(a.messenger.peer_stats(to).unwrap().batches_sent, 64);
    assert_eq!(a.end_frame(), [], "and once");
}

#[test]
fn a_message_that_is_too_large_leaves_the_batch_as_it_was() {
    let mut a = Side::new(MessengerConfig::default());
    let to = a.messenger.add_peer(109);
    a.chat(to, "before", Delivery::Reliable);
    // The maximum size of small types decides, not the length of the text.
    let chat = Chat { text: "short".into() };
    assert_eq!(Chat::MAX_BYTES, 102);
    let refused = a.messenger.send(to, &chat, Delivery::Reliable);
    assert_eq!(refused, Ok(()), "a batch of its own");
    let level = Level { data: vec![1; 100] };
    let refused = a.messenger.send(to, &level, Delivery::Reliable).unwrap_err();
    let expected = SendError::TooLarge {
        message: "Level",
        delivery: Delivery::Reliable,
        size: 103,
        limit: 102,
    };
    assert_eq!(refused, expected);
    let sentence = "Level takes 103 bytes, but Reliable carries at most 102: make it smaller, or \
                    use a delivery that fragments";
    assert_eq!(refused.to_string(), sentence);
    let sent = a.end_frame();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0].2.len(), 2 + 5 + 7);
}

#[test]
fn the_limit_of_a_delivery_that_fragments_is_configured() {
    let config = MessengerConfig { max_fragmented: 10_000, ..MessengerConfig::default() };
    let mut a = Side::new(config);
    let to = a.messenger.add_peer(1200);
    let fragmenting = Delivery::ReliableOrderedFragmented;
    let level = |length| Level { data: vec![1; length] };
    // 4 bytes before the batch, 7 before the message, 3 for the length of the list.
    let largest = level(10_000 - 14);
    a.messenger.send(to, &largest, fragmenting).unwrap();
    let refused = a.messenger.send(to, &level(10_000 - 13), fragmenting);
    let expected =
        SendError::TooLarge { message: "Level", delivery: fragmenting, size: 9_990, limit: 9_989 };
    assert_eq!(refused, Err(expected));
    assert_eq!(a.end_frame()[0].2.len(), 10_000);
}

#[test]
fn a_value_that_is_not_allowed_leaves_the_batch_as_it_was() {
    let mut a = Side::new(MessengerConfig::default());
    let peers: Vec<_> = (0..3).map(|_| a.messenger.add_peer(1200)).collect();
    a.chat(peers[0], "before", Delivery::Reliable);
    let expected = "Score was not sent: Score.points at bit 0: 2000 is not in 0..=1000";
    let bad = Score { points: 2000 };
    let sent = a.messenger.send(peers[0], &bad, Delivery::Reliable);
    assert_eq!(sent.unwrap_err().to_string(), expected);
    // Also a value that would have opened a batch, which is then of any delivery.
    let sent = a.messenger.send(peers[0], &bad, Delivery::Unreliable);
    assert_eq!(sent.unwrap_err().to_string(), expected);
    let to_all = a.messenger.send_to(peers.clone(), &bad, Delivery::Reliable);
    assert_eq!(to_all.unwrap_err().to_string(), expected);
    a.chat(peers[0], "after", Delivery::ReliableOrdered);
    let deliveries: Vec<_> = a.end_frame().iter().map(|(_, delivery, _)| *delivery).collect();
    assert_eq!(deliveries, [Delivery::Reliable, Delivery::ReliableOrdered]);
}

#[test]
fn serialize_is_called_once_for_however_many() {
    let mut a = Side::new(MessengerConfig::default());
    let peers: Vec<_> = (0..10).map(|_| a.messenger.add_peer(1200)).collect();
    a.messenger.begin_frame(Duration::ZERO);
    a.messenger.run_stage(Stage::Update, &mut a.log);

    let local = Counting::default();
    a.messenger.send_local(&mut a.log, &local, Delivery::Reliable).unwrap();
    assert_eq!((local.count(), a.log.texts()), (1, vec!["counted"]), "checked, and not written");

    let one = Counting::default();
    a.messenger.send(peers[0], &one, Delivery::Reliable).unwrap();
    assert_eq!(one.count(), 1);

    let many = Counting::default();
    let recipients = peers.iter().copied().chain([PeerId::LOCAL]);
    let sent = a.messenger.send_to(recipients, &many, Delivery::Reliable).unwrap();
    assert_eq!((sent.sent, sent.refused, many.count()), (11, 0, 1));
    assert_eq!(a.log.0.len(), 1, "without the state of the application, this side must wait");
    a.messenger.run_stage(Stage::Update, &mut a.log);
    assert_eq!(a.log.0.len(), 2);

    let later = Counting::default();
    let route = Route::from(Delivery::Reliable).at(Stage::PostLateUpdate);
    let recipients = [PeerId::LOCAL, peers[1], peers[2]];
    a.messenger.send_to(recipients, &later, route).unwrap();
    assert_eq!(later.count(), 1, "for this side's queue and for both peers");

    let all = Counting::default();
    let sent = a.messenger.broadcast(Some(peers[3]), &all, Delivery::Reliable);
    assert_eq!((sent.unwrap().sent, all.count()), (9, 1));
}

#[test]
fn a_local_message_that_is_handled_at_once_is_in_its_range() {
    let mut a = Side::new(MessengerConfig::default());
    a.messenger.run_stage(Stage::Update, &mut a.log);
    let refused = a.messenger.send_local(&mut a.log, &Score { points: 10_001 }, Delivery::Reliable);
    assert!(matches!(refused, Err(SendError::NotWritten { message: "Score", .. })), "{refused:?}");
    assert_eq!(a.log.texts(), [""; 0]);
}

#[test]
fn local_messages_are_handled_now_later_or_in_the_next_frame() {
    // The running stage, the stage of the message, and when it is handled.
    let stages = [Stage::EarlyUpdate, Stage::Update, Stage::PostLateUpdate];
    for current in stages {
        for target in stages {
            let mut a = Side::new(MessengerConfig::default());
            a.messenger.begin_frame(Duration::ZERO);
            let run = |a: &mut Side, range: &[Stage]| {
                range.iter().for_each(|stage| a.messenger.run_stage(*stage, &mut a.log));
            };
            let (before, after) = Stage::ALL.split_at(current as usize + 1);
            run(&mut a, before);
            let route = Route::from(Delivery::Reliable).at(target);
            a.messenger.send_local(&mut a.log, &Jump, route).unwrap();
            let is_now = a.log.0.len() == 1;
            run(&mut a, after);
            let is_in_this_frame = a.log.0.len() == 1;
            assert_eq!(a.end_frame(), []);
            a.messenger.begin_frame(Duration::ZERO);
            a.run_all();
            assert_eq!(a.log.texts(), ["jump"], "once: {current:?}, {target:?}");
            assert_eq!(is_now, target == current, "{current:?}, {target:?}");
            assert_eq!(is_in_this_frame, target >= current, "{current:?}, {target:?}");
        }
    }
}

#[test]
fn each_recipient_has_its_own_mtu_and_those_that_cannot_are_counted() {
    let mut a = Side::new(MessengerConfig::default());
    let peers = [500, 1200, 50, 1300].map(|mtu| a.messenger.add_peer(mtu));
    let gone = a.messenger.add_peer(1200);
    a.messenger.remove_peer(gone);
    let level = Level { data: vec![1; 400] };
    let recipients = peers.into_iter().chain([gone]);
    let sent = a.messenger.send_to(recipients, &level, Delivery::Reliable).unwrap();
    assert_eq!((sent.sent, sent.refused), (3, 2));
    let too_large = SendError::TooLarge {
        message: "Level",
        delivery: Delivery::Reliable,
        size: 403,
        limit: 43,
    };
    assert_eq!(sent.first_error, Some(too_large));
    let to: Vec<_> = a.end_frame().iter().map(|(peer, ..)| *peer).collect();
    assert_eq!(to, [peers[0], peers[1], peers[3]]);
}

#[test]
fn a_full_send_queue_refuses_and_keeps_what_it_has() {
    let config = MessengerConfig { send_queue: 3, ..MessengerConfig::default() };
    let (mut a, mut b) = (Side::new(config), Side::new(config));
    let (to, from) = (a.messenger.add_peer(200), b.messenger.add_peer(200));
    let mut expected = Vec::new();
    for number in 0.. {
        let text = format!("{number:050}");
        let chat = Chat { text: text.clone() };
        match a.messenger.send(to, &chat, Delivery::Reliable) {
            Ok(()) => expected.push(text),
            Err(refused) => {
                assert_eq!(refused, SendError::QueueFull(to));
                break;
            }
        }
    }
    // The last batch still takes messages that fit, and no other delivery.
    a.messenger.send(to, &Jump, Delivery::Reliable).unwrap();
    let refused = a.messenger.send(to, &Jump, Delivery::Unreliable);
    assert_eq!(refused, Err(SendError::QueueFull(to)));
    let sent = a.end_frame();
    assert_eq!(sent.len(), 3);
    b.frame_with(from, &batches_to(to, &sent));
    expected.push("jump".into());
    assert_eq!(b.log.texts(), expected);
    // The next frame starts with empty batches.
    a.chat(to, "again", Delivery::Unreliable);
    assert_eq!(a.end_frame().len(), 1);
}

#[test]
fn a_peer_that_disconnects_while_its_batches_are_sent_disturbs_nobody() {
    let mut a = Side::new(MessengerConfig::default());
    let peers: Vec<_> = (0..3).map(|_| a.messenger.add_peer(1200)).collect();
    for peer in &peers {
        a.chat(*peer, "one", Delivery::Reliable);
        a.chat(*peer, "two", Delivery::Unreliable);
        a.chat(*peer, "three", Delivery::Reliable);
    }
    let mut sent = Vec::new();
    a.messenger.end_frame(|peer, delivery, _| {
        if peer == peers[1] && delivery == Delivery::Unreliable {
            return Err(DisconnectedError);
        }
        sent.push(peer);
        Ok(())
    });
    let expected = [0, 0, 0, 1, 2, 2, 2].map(|place| peers[place]);
    assert_eq!(sent, expected);
    let stats = a.messenger.peer_stats(peers[1]).unwrap();
    assert_eq!((stats.batches_sent, stats.batches_lost), (1, 2));
    a.messenger.remove_peer(peers[1]);
    assert_eq!(a.messenger.peer_stats(peers[1]), None);
    assert_eq!(a.end_frame(), []);
}

#[test]
fn an_id_stays_that_of_the_same_peer() {
    let mut a = Side::new(MessengerConfig::default());
    let first = a.messenger.add_peer(1200);
    a.messenger.remove_peer(first);
    let second = a.messenger.add_peer(1200);
    assert_ne!(first, second);
    let refused = a.messenger.send(first, &Jump, Delivery::Reliable);
    assert_eq!(refused, Err(SendError::UnknownPeer(first)));
    a.messenger.remove_peer(first);
    assert_eq!(a.messenger.peers().collect::<Vec<_>>(), [second]);
    assert_eq!(
        [first, second, PeerId::LOCAL].map(|id| id.to_string()),
        ["peer 0", "peer 0.1", "this side"]
    );
}
