//! Memory and sizes at their limits.

use std::time::Duration;

use allocation_counter::measure;
use tightwire::message::{Messenger, MessengerConfig, Route, SendError};
use tightwire::{Context, Delivery, Message, Stage, Wire};

use crate::common::office::{Jump, Level, Side, batches_to};

#[test]
fn a_handler_that_fails_takes_no_memory_unless_somebody_reads_its_error() {
    let handler = |_: &Jump, _: &mut Context<'_, ()>| Err::<(), _>("a sentence of some length");
    let mut messenger =
        Messenger::builder(MessengerConfig::default()).handle(handler).build().unwrap();
    messenger.run_stage(Stage::Update, &mut ());
    let mut fail = || messenger.send_local(&mut (), &Jump, Delivery::Reliable).unwrap();
    let info = measure(|| (0..100).for_each(|_| fail()));
    assert_eq!(info.count_total, 0);
    assert_eq!(messenger.faults().handler, 100);
}

#[test]
fn a_batch_has_no_more_than_its_size_can_say_however_large_the_datagram() {
    for mtu in [100_000, usize::MAX] {
        let config = MessengerConfig {
            batch_messages: 100_000,
            peer_messages: 100_000,
            receive_queue: 100_000,
            ..MessengerConfig::default()
        };
        let (mut a, mut b) = (Side::new(config), Side::new(config));
        let (to, from) = (a.messenger.add_peer(mtu), b.messenger.add_peer(mtu));
        let count = 20_000;
        for _ in 0..count {
            a.messenger.send(to, &Jump, Delivery::Reliable).unwrap();
        }
        let mut level = Level { data: vec![7; 65_600] };
        assert!(a.messenger.send(to, &level, Delivery::Reliable).is_err());
        level.data.truncate(65_000);
        a.messenger.send(to, &level, Delivery::Reliable).unwrap();
        let sent = a.end_frame();
        assert!(sent.iter().all(|(_, _, batch)| batch.len() <= 2 + 0xffff));
        b.frame_with(from, &batches_to(to, &sent));
        assert_eq!((b.log.0.len(), b.messenger.faults().total()), (count + 1, 0));
    }
}

#[test]
fn a_receiver_who_waits_until_there_is_room_loses_nothing() {
    let limits = MessengerConfig {
        batch_messages: 10,
        peer_messages: 25,
        receive_queue: 30,
        max_fragmented: 150,
        ..MessengerConfig::default()
    };
    let (mut a, mut b) = (Side::new(limits), Side::new(limits));
    let (to, from) = (a.messenger.add_peer(120), b.messenger.add_peer(120));
    let others = [(); 3].map(|()| b.messenger.add_peer(120));
    let mut count = 0;
    for round in 0..5 {
        let delivery = Delivery::ALL[round];
        for _ in 0..300 {
            a.messenger.send(to, &Jump, delivery).unwrap();
        }
        a.messenger.send_to([to; 44], &Jump, delivery).unwrap();
        let batches = batches_to(to, &a.end_frame());
        assert_eq!(batches.len(), 35, "of 10 messages each, and the rest");
        for (delivery, batch) in batches {
            if !b.messenger.can_receive(from) {
                b.run_all();
                b.end_frame();
            }
            // The wait is short, whatever the other peers send.
            for other in others {
                if b.messenger.can_receive(other) && b.messenger.room(from) > 20 {
                    b.messenger.receive(other, delivery, &batch, Duration::ZERO).unwrap();
                    count += if batch.len() > 40 { 10 } else { 4 };
                }
            }
            if !b.messenger.can_receive(from) {
                b.run_all();
                b.end_frame();
            }
            assert!(b.messenger.can_receive(from));
            b.messenger.receive(from, delivery, &batch, Duration::ZERO).unwrap();
        }
        b.run_all();
        b.end_frame();
        count += 344;
    }
    assert_eq!((b.log.0.len(), b.messenger.faults().total()), (count, 0));
    b.messenger.remove_peer(from);
    assert_eq!((b.messenger.room(from), b.messenger.can_receive(from)), (0, false));
}

#[test]
fn a_large_buffer_is_not_spent_on_a_smaller_batch() {
    let delivery = Delivery::ReliableOrderedFragmented;
    let handler = |_: &Level, _: &mut Context<'_, ()>| {};
    let mut messenger =
        Messenger::builder(MessengerConfig::default()).handle(handler).build().unwrap();
    let peer = messenger.add_peer(1200);
    let batches = [600_000, 3000, 70_000].map(|length| {
        let mut batch = Vec::new();
        messenger.send(peer, &Level { data: vec![7; length] }, delivery).unwrap();
        messenger.end_frame(|_, _, bytes| {
            batch = bytes.to_vec();
            Ok(())
        });
        batch
    });
    let mut frame = |order: [usize; 3]| {
        for place in order {
            messenger.receive(peer, delivery, &batches[place], Duration::ZERO).unwrap();
        }
        messenger.run_stage(Stage::Update, &mut ());
        messenger.end_frame(|_, _, _| Ok(()));
    };
    frame([0, 1, 2]);
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0], [2, 0, 1]] {
        assert_eq!(measure(|| frame(order)).count_total, 0, "{order:?}");
    }
}

#[test]
fn a_small_message_of_a_type_that_can_be_large_goes_by_every_delivery() {
    #[derive(Wire, Message, Default)]
    struct Level {
        is_new: bool,
        #[wire(max_len = 4_000_000)]
        data: Vec<u8>,
    }
    let of_length = |length| Level { is_new: true, data: vec![7; length] };
    let handler = |level: &Level, context: &mut Context<'_, usize>| {
        *context.state += level.data.len();
    };
    let mut messenger =
        Messenger::builder(MessengerConfig::default()).handle(handler).build().unwrap();
    let (peer, mut sum) = (messenger.add_peer(1200), 0);
    let level = of_length(100);
    let info = measure(|| {
        for delivery in Delivery::ALL {
            messenger.send(peer, &level, delivery).unwrap();
            assert_eq!(messenger.send_to([peer], &level, delivery).unwrap().sent, 1);
            messenger.send_local(&mut sum, &level, delivery).unwrap();
        }
    });
    assert!(info.bytes_max < 1 << 16, "{} bytes", info.bytes_max);
    messenger.run_stage(Stage::Update, &mut sum);
    assert_eq!(sum, 100 * Delivery::ALL.len());

    // A message that does not fit is refused by both for the same size, with advice.
    let level = of_length(1195);
    let refused = messenger.send(peer, &level, Delivery::Reliable).unwrap_err();
    let sent = messenger.send_to([peer], &level, Delivery::Reliable).unwrap();
    assert_eq!((sent.sent, &sent.first_error), (0, &Some(refused.clone())));
    assert_eq!(
        refused.to_string(),
        "Level takes 1198 bytes, but Reliable carries at most 1193: make it smaller, or use a \
         delivery that fragments"
    );
    // A value that is out of range at any size does not get the advice to fragment.
    let level = of_length(4_000_001);
    let refused = messenger.send(peer, &level, Delivery::Reliable).unwrap_err();
    assert!(matches!(refused, SendError::NotWritten { .. }), "{refused}");
    assert_eq!(messenger.send_to([peer], &level, Delivery::Reliable), Err(refused));
    let level = of_length(3_000_000);
    let fragmenting = Delivery::ReliableOrderedFragmented;
    let refused = messenger.send(peer, &level, fragmenting).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "Level takes 3000003 bytes, but ReliableOrderedFragmented carries at most 1048565: make \
         it smaller, or raise `max_fragmented` of both sides"
    );
}

#[test]
fn messages_of_this_side_that_are_handled_leave_no_memory_behind_within_a_frame() {
    let mut side = Side::new(MessengerConfig::default());
    let route = Route::from(Delivery::Reliable).at(Stage::PostLateUpdate);
    // Each takes more than half a buffer, so that each opens one.
    let level = Level { data: vec![7; 1500] };
    let mut send_and_handle = |count: usize| {
        for _ in 0..count {
            side.messenger.run_stage(Stage::Update, &mut side.log);
            side.messenger.send_local(&mut side.log, &level, route).unwrap();
            side.messenger.run_stage(Stage::PostLateUpdate, &mut side.log);
            side.log.0.clear();
        }
    };
    send_and_handle(10);
    // The handler's own log is the only memory, and it is freed again.
    let info = measure(|| send_and_handle(1000));
    assert!(info.bytes_max < 4096, "{} bytes", info.bytes_max);
}
