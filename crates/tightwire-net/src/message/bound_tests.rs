//! Messages that are bound to a tick or an object.

use core::time::Duration;

use tightwire_core::Wire;

use super::{
    Bound, Context, Delivery, Message, MessageError, Messenger, MessengerConfig, PeerId,
    RawMessage, ReceivedMessage, Route, SendError, Stage, messages_in,
};

#[derive(Wire, Message, Default, Clone, PartialEq, Debug)]
struct Spark {
    size: u16,
}

#[derive(Wire, Message, Default, Clone, PartialEq, Debug)]
struct Text {
    #[wire(max_len = 2000)]
    text: String,
}

const HOLD: Duration = Duration::from_secs(2);

fn messenger() -> (Messenger<()>, PeerId) {
    let builder = Messenger::builder(MessengerConfig::default()).queue::<Spark>().queue::<Text>();
    let mut messenger = builder.build().unwrap();
    let peer = messenger.add_peer(1200);
    (messenger, peer)
}

/// Sends messages to a peer that sends them back, in the batches of one frame.
fn echo<M: Message>(messenger: &mut Messenger<()>, peer: PeerId, messages: &[(M, Route)]) {
    for (message, route) in messages {
        messenger.send(peer, message, *route).unwrap();
    }
    let mut batches = Vec::new();
    messenger.end_frame(|_, delivery, batch| {
        batches.push((delivery, batch.to_vec()));
        Ok(())
    });
    let now = messenger.now;
    for (delivery, batch) in batches {
        messenger.receive(peer, delivery, &batch, now).unwrap();
    }
}

fn at(tick: u32) -> Route {
    Route::from(Delivery::Reliable).at_tick(tick)
}

/// Drains the messages that are ready at a shown tick: their sizes, and whether each is overdue.
fn shown(messenger: &mut Messenger<()>, tick: u32) -> Vec<(u16, bool)> {
    let is_ready = |_, bound: Bound| bound.tick_near(tick).is_some_and(|of| of <= tick);
    let mut taken = Vec::new();
    while let Some(spark) = messenger.drain::<Spark>().next_ready(HOLD, is_ready) {
        taken.push((spark.message.size, spark.is_overdue));
    }
    taken
}

#[test]
fn a_binding_is_on_the_wire_in_front_of_the_body() {
    let (mut messenger, peer) = messenger();
    let spark = Spark { size: 0x0102 };
    messenger.send(peer, &spark, at(0x3_1234)).unwrap();
    let object = Route::from(Delivery::Reliable).with_object(0xf_2345.into()).at(Stage::PreUpdate);
    messenger.send(peer, &spark, object.on_channel(2)).unwrap();
    let mut sent = Vec::new();
    messenger.end_frame(|_, _, batch| {
        sent.extend_from_slice(batch);
        Ok(())
    });
    let bytes = [
        &[19, 0][..],
        &[16, 0x44, 4, 0, 0, 0x34, 0x12, 2, 1],
        &[16, 0x83, 5, 0, 2, 0x45, 0x23, 0x0f, 2, 1],
    ];
    assert_eq!(sent, bytes.concat());

    let read: Result<Vec<RawMessage<'_>>, _> = messages_in(&sent, Delivery::Reliable).collect();
    let read = read.unwrap();
    assert_eq!((read[0].stage, read[0].bound), (4, Some(Bound::Tick(0x1234))));
    assert_eq!((read[1].stage, read[1].bound), (3, Some(Bound::Object(0xf_2345.into()))));
    assert_eq!((read[0].body, read[1].body), (&[2, 1][..], &[2, 1][..]));
}

#[test]
fn a_capture_shows_the_binding() {
    let (mut messenger, peer) = messenger();
    let schema = messenger.capture_schema().unwrap();
    let object = Route::from(Delivery::Reliable).with_object(70_000.into());
    let mut texts = Vec::new();
    for route in [at(7), object, Delivery::Reliable.into()] {
        messenger.send(peer, &Spark { size: 9 }, route).unwrap();
    }
    messenger.end_frame(|_, delivery, batch| {
        let mut record = Vec::new();
        for message in messages_in(batch, delivery) {
            assert!(message.unwrap().write_record(&mut record));
            texts.push(schema.decode(&record).unwrap().to_string());
        }
        Ok(())
    });
    let begin = "Message { number: 16, stage";
    assert_eq!(
        texts,
        [
            format!("{begin}: 68, size: 4, channel: 0, at_tick: 7, Spark: Spark {{ size: 9 }} }}"),
            format!(
                "{begin}: 132, size: 6, channel: 0, with_object: 70000, Spark: Spark {{ size: 9 }} }}"
            ),
            format!("{begin}: 4, size: 2, channel: 0, Spark: Spark {{ size: 9 }} }}"),
        ]
    );
}

#[test]
fn a_message_waits_for_its_tick_and_others_pass_it() {
    let (mut messenger, peer) = messenger();
    let unbound = Route::from(Delivery::Reliable);
    let sparks =
        [(1, at(102)), (2, unbound), (3, at(100)), (4, unbound), (5, at(101)), (6, at(90))];
    let sparks = sparks.map(|(size, route)| (Spark { size }, route));
    echo(&mut messenger, peer, &sparks);
    assert_eq!(shown(&mut messenger, 99), [(2, false), (4, false), (6, false)]);
    assert_eq!(shown(&mut messenger, 100), [(3, false)]);
    assert_eq!(shown(&mut messenger, 101), [(5, false)]);
    assert_eq!(shown(&mut messenger, 102), [(1, false)]);
    assert_eq!(messenger.room(peer), 512);
}

#[test]
fn a_message_waits_for_its_object() {
    let (mut messenger, peer) = messenger();
    let about = |id: u32| Route::from(Delivery::ReliableOrderedFragmented).with_object(id.into());
    let texts =
        [(Text { text: "spawned".into() }, about(7)), (Text { text: "later".into() }, about(8))];
    echo(&mut messenger, peer, &texts);
    let mut is_there = false;
    for _ in 0..2 {
        let is_ready = |_, bound| is_there && bound == Bound::Object(7.into());
        let text = messenger.drain::<Text>().next_ready(HOLD, is_ready);
        assert_eq!(
            text.map(|text: ReceivedMessage<Text>| text.message.text),
            is_there.then(|| "spawned".into())
        );
        is_there = true;
    }
}

#[test]
fn a_message_that_waits_for_too_long_is_overdue() {
    let (mut messenger, peer) = messenger();
    echo(&mut messenger, peer, &[(Spark { size: 1 }, at(500))]);
    messenger.begin_frame(HOLD - Duration::from_millis(1));
    assert_eq!(shown(&mut messenger, 100), []);
    messenger.begin_frame(HOLD);
    assert_eq!(shown(&mut messenger, 100), [(1, true)]);
}

#[test]
fn the_messages_that_are_held_are_bounded_per_peer() {
    let (mut messenger, hostile) = messenger();
    let honest = messenger.add_peer(1200);
    let sparks: Vec<_> = (0..300).map(|size| (Spark { size }, at(500))).collect();
    // One batch for each message, so that few bytes are held.
    for spark in &sparks {
        echo(&mut messenger, hostile, core::slice::from_ref(spark));
    }
    echo(&mut messenger, honest, &sparks[..1]);
    let overdue: Vec<_> = (256..300).map(|size| (size, true)).collect();
    assert_eq!(shown(&mut messenger, 100), overdue);
    assert_eq!(shown(&mut messenger, 100), []);
    assert!(messenger.can_receive(hostile));
    assert_eq!(shown(&mut messenger, 500).len(), 257);
    // All room is free again.
    for spark in &sparks[..256] {
        echo(&mut messenger, hostile, core::slice::from_ref(spark));
    }
    assert_eq!(shown(&mut messenger, 100), []);
}

#[test]
fn the_bytes_that_are_held_are_bounded_per_peer() {
    let (mut messenger, peer) = messenger();
    for _ in 0..100 {
        echo(&mut messenger, peer, &[(Text { text: "x".repeat(1000) }, at(500))]);
    }
    let mut overdue = 0;
    while let Some(text) = messenger.drain::<Text>().next_ready(HOLD, |_, _| false) {
        assert!(text.is_overdue);
        overdue += 1;
    }
    // Each batch has 1,011 bytes.
    assert_eq!(overdue, 100 - (64 << 10) / 1011);
    // An ordinary drain takes those that are held, and gives their room back.
    assert_eq!(messenger.drain::<Text>().count(), 100 - overdue);
    for _ in 0..64 {
        echo(&mut messenger, peer, &[(Text { text: "x".repeat(1000) }, at(500))]);
    }
    assert!(messenger.drain::<Text>().next_ready(HOLD, |_, _| false).is_none());
}

#[test]
fn a_handler_gets_a_bound_message_at_once() {
    let handler = |_: &Spark, context: &mut Context<'_, Vec<Option<Bound>>>| {
        let bound = context.bound();
        context.state.push(bound);
    };
    let builder = Messenger::builder(MessengerConfig::default()).handle(handler);
    let mut messenger = builder.build().unwrap();
    let mut bounds = Vec::new();
    messenger.send(PeerId::LOCAL, &Spark { size: 1 }, at(7)).unwrap();
    messenger.run_stage(Stage::Update, &mut bounds);
    messenger.send_local(&mut bounds, &Spark { size: 1 }, at(8)).unwrap();
    assert_eq!(bounds, [Some(Bound::Tick(7)), Some(Bound::Tick(8))]);
}

#[test]
fn a_malformed_binding_is_refused_and_the_next_message_is_not() {
    let (mut messenger, peer) = messenger();
    let next = [16, 4, 2, 0, 0, 9, 0];
    let cases: [&[u8]; 5] = [
        // Too short for a tick, too short for an object, an invalid object id, and an unknown kind.
        &[16, 0x44, 1, 0, 0, 1],
        &[16, 0x84, 2, 0, 0, 1, 2],
        &[16, 0x84, 5, 0, 0, 0, 0, 0x10, 9, 0],
        &[16, 0xc4, 2, 0, 0, 9, 0],
        // No body after the binding.
        &[16, 0x44, 2, 0, 0, 9, 0],
    ];
    for case in cases {
        let batch = [&[(case.len() + next.len()) as u8, 0][..], case, &next].concat();
        messenger.receive(peer, Delivery::Reliable, &batch, Duration::ZERO).unwrap();
        assert_eq!(shown(&mut messenger, 9), [(9, false)], "{case:?}");
    }
    assert_eq!(messenger.peer_stats(peer).unwrap().refused, 5);
}

#[test]
fn an_object_that_nobody_replicates_is_refused_by_the_sender() {
    let (mut messenger, peer) = messenger();
    let object = (1 << 20).into();
    let route = Route::from(Delivery::Reliable).with_object(object);
    let sent = messenger.send(peer, &Spark { size: 1 }, route);
    assert_eq!(sent, Err(SendError::UnknownObject { message: "Spark", object }));
}

#[test]
fn every_binding_survives_packing() {
    for bound in [
        None,
        Some(Bound::Tick(0)),
        Some(Bound::Tick(u16::MAX)),
        Some(Bound::Object(0.into())),
        Some(Bound::Object(Bound::MAX_OBJECT)),
    ] {
        assert_eq!(Bound::unpack(Bound::pack(bound)), bound);
        let mut bytes = [0xff; 4];
        Bound::put(bound, &mut bytes);
        let stage = Bound::stage_byte(bound, Stage::Update);
        assert_eq!(Bound::read(stage, &bytes), Ok::<_, MessageError>(bound));
    }
}
