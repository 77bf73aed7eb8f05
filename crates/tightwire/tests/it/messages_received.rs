//! Receiving messages: queues, refusals and their counters, and hooks.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tightwire::bytes::Packing;
use tightwire::message::{
    Hooks, MessageError, MessageEvent, Messenger, MessengerConfig, RefusedMessageError, Route,
};
use tightwire::stream::{ErrorKind, ExplainedError, ReadError};
use tightwire::{Context, Delivery, Message, PeerId, Stage, Wire};

use crate::common::office::{Chat, Jump, Log, Score, Side, batches_to, builder};

const CHAT: u8 = 16;
const JUMP: u8 = 18;
const SCORE: u8 = 20;
const UPDATE: u8 = 4;

/// Returns a batch of these messages: number, stage, channel and body.
fn batch(messages: &[(u8, u8, u8, &[u8])]) -> Vec<u8> {
    let mut content = Vec::new();
    for (number, stage, channel, body) in messages {
        content.extend_from_slice(&[*number, *stage, body.len() as u8, 0, *channel]);
        content.extend_from_slice(body);
    }
    let mut batch = (content.len() as u16).to_le_bytes().to_vec();
    batch.append(&mut content);
    batch
}

fn side() -> (Side, PeerId) {
    let mut side = Side::new(MessengerConfig::default());
    let from = side.messenger.add_peer(1200);
    (side, from)
}

/// Returns the fault for which a whole batch is refused.
fn fault(delivery: Delivery, bytes: &[u8]) -> Option<MessageError> {
    let (mut side, from) = side();
    let result = side.messenger.receive(from, delivery, bytes, Duration::ZERO);
    let fault = result.err().map(|refused| refused.fault);
    assert_eq!(side.messenger.faults().total(), u64::from(fault.is_some()));
    fault
}

#[test]
fn a_handler_gets_the_origin_of_a_message() {
    type Handled = (PeerId, Route, Duration, u8, (usize, usize));
    let handler = |_: &Jump, context: &mut Context<'_, Vec<Handled>>| {
        let handled = (
            context.sender(),
            context.route(),
            context.received_at(),
            context.number(),
            context.header_sizes(),
        );
        context.state.push(handled);
    };
    let mut messenger =
        Messenger::builder(MessengerConfig::default()).handle(handler).build().unwrap();
    let (from, mut handled) = (messenger.add_peer(1200), Vec::new());
    let bytes = batch(&[(16, 6, 9, &[])]);
    let time = Duration::from_millis(77);
    messenger.receive(from, Delivery::UnreliableSequenced, &bytes, time).unwrap();
    messenger.run_stage(Stage::Update, &mut handled);
    assert_eq!(handled, []);
    messenger.run_stage(Stage::PostLateUpdate, &mut handled);
    let route = Route::from(Delivery::UnreliableSequenced).on_channel(9).at(Stage::PostLateUpdate);
    assert_eq!(handled, [(from, route, time, 16, (5, 2))]);
}

#[test]
fn a_batch_with_a_wrong_size_is_refused() {
    let reliable = Delivery::Reliable;
    let good = batch(&[(JUMP, UPDATE, 0, &[])]);
    assert_eq!(fault(reliable, &good), None);
    let size = |declared, actual| Some(MessageError::BatchSize { declared, actual });
    let nothing = Some(MessageError::NoMessages);
    assert_eq!(fault(reliable, &[]), nothing);
    assert_eq!(fault(reliable, &[5]), nothing);
    assert_eq!(fault(reliable, &[0, 0]), nothing);
    assert_eq!(fault(reliable, &good[..6]), size(5, 4));
    assert_eq!(fault(reliable, &[good, vec![0]].concat()), size(5, 6));
    assert_eq!(fault(reliable, &[0xff, 0xff, JUMP, UPDATE, 0, 0, 0]), size(0xffff, 5));
    let length = 1201;
    let long = [vec![0xaf, 0x04], vec![0; 1199]].concat();
    let expected = MessageError::BatchTooLong { length, limit: 1200 };
    assert_eq!(fault(reliable, &long), Some(expected));

    let fragmenting = Delivery::ReliableOrderedFragmented;
    for says in [0u32, 1, 1 << 31, u32::MAX, u32::MAX - 3] {
        let bytes = [&says.to_le_bytes()[..], &[JUMP, UPDATE, 0, 0, 0, 0, 0]].concat();
        assert_eq!(fault(fragmenting, &bytes), size(says as usize, 7));
    }
    let bytes = [&7u32.to_le_bytes()[..], &[JUMP, UPDATE, 0, 0, 0, 0, 0]].concat();
    assert_eq!(fault(fragmenting, &bytes), None);
    let length = (1 << 20) + 1;
    let expected = MessageError::BatchTooLong { length, limit: 1 << 20 };
    assert_eq!(fault(fragmenting, &vec![0; length]), Some(expected));
}

#[test]
fn a_message_that_goes_beyond_its_batch_is_refused_and_those_before_it_are_handled() {
    for (size, left) in [(1, 0), (0xffff, 0), (3, 2)] {
        let (mut side, from) = side();
        let mut bytes = batch(&[(JUMP, UPDATE, 0, &[]), (CHAT, UPDATE, 0, &vec![0; left])]);
        bytes[9..11].copy_from_slice(&(size as u16).to_le_bytes());
        let refused =
            side.messenger.receive(from, Delivery::Reliable, &bytes, Duration::ZERO).unwrap_err();
        assert_eq!(refused.fault, MessageError::BeyondBatch { size, left });
        assert_eq!(
            refused.to_string(),
            format!(
                "peer 0: Chat: the message declares {size} bytes, but the batch has {left} left"
            )
        );
        side.run_all();
        assert_eq!(side.log.texts(), ["jump"]);
    }
    // In 32 bits too.
    for size in [1u32, 1 << 31, u32::MAX] {
        let mut bytes = vec![7, 0, 0, 0, JUMP, UPDATE];
        bytes.extend_from_slice(&size.to_le_bytes());
        bytes.push(0);
        let expected = MessageError::BeyondBatch { size: size as usize, left: 0 };
        assert_eq!(fault(Delivery::ReliableOrderedFragmented, &bytes), Some(expected));
    }
    // A header that is cut short.
    let bytes = [4, 0, JUMP, UPDATE, 0, 0];
    let expected = MessageError::BeyondBatch { size: 5, left: 4 };
    assert_eq!(fault(Delivery::Reliable, &bytes), Some(expected));
}

#[test]
fn a_bad_message_does_not_harm_the_next_one() {
    let (mut side, from) = side();
    let good: (u8, u8, u8, &[u8]) = (SCORE, UPDATE, 0, &[7, 0]);
    let bytes = batch(&[
        good,
        (0, UPDATE, 0, &[1, 2, 3]), // an internal number
        good,
        (255, UPDATE, 0, &[]), // an unknown number
        good,
        (SCORE, 7, 0, &[7, 0]), // no such stage
        good,
        (SCORE, UPDATE, 16, &[7, 0]), // no such channel
        good,
        (SCORE, UPDATE, 0, &[7]), // too short
        good,
        (SCORE, UPDATE, 0, &[7, 0, 0]), // too long
        good,
        (SCORE, UPDATE, 0, &[0xff, 3]), // 1023 points
        good,
        (CHAT, UPDATE, 0, &[90, b'a']), // text that ends beyond the message
        good,
        (SCORE, UPDATE, 0, &[0xe7, 3]), // 999 points, which the handler refuses
        good,
    ]);
    side.frame_with(from, &[(Delivery::Reliable, bytes)]);
    assert_eq!(side.log.texts(), ["7"; 10]);
    let faults = side.messenger.faults();
    let counted = (faults.unknown_message, faults.unknown_stage, faults.unknown_channel);
    assert_eq!(counted, (2, 1, 1));
    assert_eq!((faults.malformed, faults.handler, faults.total()), (4, 1, 9));
    assert_eq!(side.messenger.peer_stats(from).unwrap().refused, 9);
    let stats = side.messenger.message_stats::<Score>().unwrap();
    assert_eq!((stats.received.messages, stats.handled, stats.refused), (14, 10, 6));
}

#[test]
fn a_type_that_is_only_sent_is_not_handled() {
    let mut messenger =
        Messenger::<Log>::builder(MessengerConfig::default()).send_only::<Jump>().build().unwrap();
    let from = messenger.add_peer(1200);
    let bytes = batch(&[(16, UPDATE, 0, &[])]);
    messenger.receive(from, Delivery::Reliable, &bytes, Duration::ZERO).unwrap();
    assert_eq!(messenger.faults().unknown_message, 1);
}

#[test]
fn a_full_queue_keeps_the_old_and_counts_the_new() {
    let config =
        MessengerConfig { receive_queue: 3, batch_messages: 3, ..MessengerConfig::default() };
    let mut side = Side::new(config);
    let from = side.messenger.add_peer(1200);
    let scores: Vec<_> = (0..10u8).map(|points| [points, 0]).collect();
    let messages: Vec<_> = scores.iter().map(|body| (SCORE, UPDATE, 0, &body[..])).collect();
    // Another stage has a queue of its own.
    let other = batch(&[(JUMP, 0, 0, &[])]);
    side.frame_with(from, &[(Delivery::Reliable, batch(&messages)), (Delivery::Reliable, other)]);
    assert_eq!(side.log.texts(), ["jump", "0", "1", "2"]);
    assert_eq!(side.messenger.faults().queue_full, 7);
}

#[test]
fn a_peer_that_floods_does_not_starve_the_others() {
    let config = MessengerConfig {
        receive_queue: 100,
        peer_messages: 20,
        batch_messages: 20,
        ..MessengerConfig::default()
    };
    let mut side = Side::new(config);
    let (flood, quiet) = (side.messenger.add_peer(1200), side.messenger.add_peer(1200));
    let many = batch(&vec![(JUMP, UPDATE, 0, &[][..]); 200]);
    for _ in 0..10 {
        side.messenger.receive(flood, Delivery::Reliable, &many, Duration::ZERO).unwrap();
    }
    let one = batch(&[(SCORE, UPDATE, 0, &[7, 0])]);
    side.messenger.receive(quiet, Delivery::Reliable, &one, Duration::ZERO).unwrap();
    side.run_all();
    assert_eq!(side.log.0.len(), 21);
    assert_eq!(side.log.0[20], (quiet, "7".into()));
    assert_eq!(side.messenger.faults().peer_limit, 2000 - 20);

    // Bytes are limited as well: waiting batches are memory.
    let config = MessengerConfig { max_fragmented: 5000, ..MessengerConfig::default() };
    let mut side = Side::new(config);
    let flood = side.messenger.add_peer(1200);
    let large = batch(&[(0, UPDATE, 0, &[0; 200][..]); 5]);
    let taken = (0..100)
        .filter(|_| {
            side.messenger.receive(flood, Delivery::Reliable, &large, Duration::ZERO).is_ok()
        })
        .count();
    assert_eq!(taken, 10_000 / large.len());
    // The frame ends, and there is room again.
    side.run_all();
    side.end_frame();
    side.messenger.receive(flood, Delivery::Reliable, &large, Duration::ZERO).unwrap();
}

#[test]
fn a_message_waits_for_its_stage_over_the_end_of_a_frame() {
    let (mut side, from) = side();
    side.messenger.begin_frame(Duration::ZERO);
    side.messenger.run_stage(Stage::Update, &mut side.log);
    let early = batch(&[(SCORE, 0, 0, &[5, 0])]);
    side.messenger.receive(from, Delivery::Reliable, &early, Duration::ZERO).unwrap();
    side.messenger.run_stage(Stage::PostLateUpdate, &mut side.log);
    side.end_frame();
    assert_eq!(side.log.texts(), [""; 0]);
    // Its batch was kept, and its buffer is not reused.
    let other = batch(&[(SCORE, 6, 0, &[6, 0])]);
    side.frame_with(from, &[(Delivery::Reliable, other)]);
    assert_eq!(side.log.texts(), ["5", "6"]);
}

#[test]
fn removing_a_peer_drops_its_messages() {
    let (mut side, from) = side();
    let bytes = batch(&[(SCORE, UPDATE, 0, &[7, 0])]);
    side.messenger.receive(from, Delivery::Reliable, &bytes, Duration::ZERO).unwrap();
    side.messenger.remove_peer(from);
    let refused = side.messenger.receive(from, Delivery::Reliable, &bytes, Duration::ZERO);
    assert_eq!(refused.unwrap_err().fault, MessageError::UnknownPeer);
    // A new peer gets its place, and none of its messages.
    let next = side.messenger.add_peer(1200);
    side.messenger.receive(next, Delivery::Reliable, &bytes, Duration::ZERO).unwrap();
    side.run_all();
    side.end_frame();
    assert_eq!(side.log.0, [(next, "7".to_string())]);
    assert_eq!(side.messenger.peer_stats(next).unwrap().received.messages, 1);
}

/// Hooks that record their calls, and veto some.
#[derive(Clone, Default)]
struct Watch {
    seen: Arc<Mutex<Vec<String>>>,
    veto: Arc<Mutex<&'static str>>,
}

impl Watch {
    fn note(&self, hook: &'static str, event: &MessageEvent) -> bool {
        let MessageEvent { peer, message, size, .. } = event;
        self.seen.lock().unwrap().push(format!("{hook} {message} {peer} {size:?}"));
        *self.veto.lock().unwrap() != hook
    }
}

impl Hooks for Watch {
    fn before_send(&mut self, event: &MessageEvent) -> bool {
        self.note("before_send", event)
    }
    fn after_send(&mut self, event: &MessageEvent) {
        self.note("after_send", event);
    }
    fn before_receive(&mut self, event: &MessageEvent) -> bool {
        self.note("before_receive", event)
    }
    fn after_receive(&mut self, event: &MessageEvent) {
        self.note("after_receive", event);
    }
    fn before_handle(&mut self, event: &MessageEvent) -> bool {
        self.note("before_handle", event)
    }
    fn after_handle(&mut self, event: &MessageEvent) {
        self.note("after_handle", event);
    }
    fn refused(
        &mut self,
        refused: &RefusedMessageError,
        explain: &dyn Fn() -> Option<ExplainedError>,
    ) {
        let field = explain().map_or_else(String::new, |explained| format!(" ({explained})"));
        self.seen.lock().unwrap().push(format!("{refused}{field}"));
    }
    fn handler_failed(&mut self, event: &MessageEvent, error: &str) {
        self.seen.lock().unwrap().push(format!("{} failed: {error}", event.message));
    }
}

#[test]
fn hooks_see_everything_in_order() {
    let watch = Watch::default();
    let mut messenger = builder(MessengerConfig::default()).hooks(watch.clone()).build().unwrap();
    let (peer, mut log) = (messenger.add_peer(1200), Log::default());
    messenger.send(peer, &Score { points: 7 }, Delivery::Reliable).unwrap();
    let bytes = batch(&[(SCORE, UPDATE, 0, &[7, 0]), (SCORE, UPDATE, 0, &[0xe7, 3])]);
    messenger.receive(peer, Delivery::Reliable, &bytes, Duration::ZERO).unwrap();
    messenger.run_stage(Stage::Update, &mut log);
    messenger.send_local(&mut log, &Jump, Delivery::Reliable).unwrap();
    let expected = [
        "before_send Score peer 0 None",
        "after_send Score peer 0 Some(2)",
        "before_receive Score peer 0 Some(2)",
        "after_receive Score peer 0 Some(2)",
        "before_receive Score peer 0 Some(2)",
        "after_receive Score peer 0 Some(2)",
        "before_handle Score peer 0 Some(2)",
        "after_handle Score peer 0 Some(2)",
        "before_handle Score peer 0 Some(2)",
        "peer 0: Score: the handler failed",
        "Score failed: nobody has so many points",
        "after_handle Score peer 0 Some(2)",
        "before_send Jump this side None",
        "before_handle Jump this side None",
        "after_handle Jump this side None",
        "after_send Jump this side None",
    ];
    assert_eq!(*watch.seen.lock().unwrap(), expected);
}

#[test]
fn a_hook_can_stop_a_message_anywhere() {
    for hook in ["before_send", "before_receive", "before_handle"] {
        let watch = Watch::default();
        *watch.veto.lock().unwrap() = hook;
        let mut messenger =
            builder(MessengerConfig::default()).hooks(watch.clone()).build().unwrap();
        let (peer, mut log) = (messenger.add_peer(1200), Log::default());
        let sent = messenger.send(peer, &Jump, Delivery::Reliable);
        assert_eq!(sent.is_err(), hook == "before_send");
        let bytes = batch(&[(JUMP, UPDATE, 0, &[])]);
        messenger.receive(peer, Delivery::Reliable, &bytes, Duration::ZERO).unwrap();
        messenger.run_stage(Stage::Update, &mut log);
        assert_eq!(log.0.len(), usize::from(hook == "before_send"));
        assert_eq!(messenger.faults().vetoed, u64::from(hook != "before_send"));
    }
}

#[test]
fn a_hook_can_have_the_field_explained() {
    for (packing, body, sentence) in [
        (
            Packing::Bits,
            &[0xff, 3][..],
            "peer 0: Score: refused at bit 0: the value is not in its declared range (Score.points \
             at bit 0: 1023 is not in 0..=1000)",
        ),
        (
            Packing::Bytes,
            &[0xff, 0xff][..],
            "peer 0: Score: refused at bit 0: the value is not in its declared range (Score.points \
             at bit 0: 65535 is not in 0..=1000)",
        ),
    ] {
        let watch = Watch::default();
        let config = MessengerConfig { packing, ..MessengerConfig::default() };
        let mut messenger = builder(config).hooks(watch.clone()).build().unwrap();
        let (peer, mut log) = (messenger.add_peer(1200), Log::default());
        let bytes = batch(&[(SCORE, UPDATE, 0, body)]);
        messenger.receive(peer, Delivery::Reliable, &bytes, Duration::ZERO).unwrap();
        messenger.run_stage(Stage::Update, &mut log);
        assert!(watch.seen.lock().unwrap().iter().any(|seen| seen == sentence), "{:?}", watch.seen);
    }
}

#[test]
fn traffic_is_counted_by_type_and_by_peer() {
    let (mut a, from) = side();
    let (mut b, to) = side();
    for points in 0..10 {
        a.messenger.send(to, &Score { points }, Delivery::Reliable).unwrap();
    }
    a.chat(to, "hello", Delivery::Reliable);
    let sent = a.end_frame();
    b.frame_with(from, &batches_to(to, &sent));
    let (out, into) = (a.messenger.peer_stats(to).unwrap(), b.messenger.peer_stats(from).unwrap());
    assert_eq!(out.sent, into.received);
    assert_eq!((out.sent.messages, out.sent.bytes), (11, 10 * 7 + 5 + 6));
    assert_eq!((out.batches_sent, into.batches_received), (1, 1));
    assert_eq!(a.messenger.message_stats::<Score>().unwrap().sent.bytes, 70);
    assert_eq!(b.messenger.message_stats::<Chat>().unwrap().received.bytes, 11);
    assert_eq!(b.messenger.message_stats::<Chat>().unwrap().handled, 1);
}

#[derive(Wire, Message, Default)]
struct Nobody;

#[test]
fn a_type_that_is_not_registered_has_no_statistics() {
    assert_eq!(side().0.messenger.message_stats::<Nobody>(), None);
    let refused = ReadError { kind: ErrorKind::UnexpectedEnd, bit: 3 };
    let peer = PeerId::LOCAL;
    let refused = RefusedMessageError {
        peer,
        message: Some("Chat"),
        fault: MessageError::Malformed(refused),
    };
    let sentence = "this side: Chat: refused at bit 3: the packet ends before this value does";
    assert_eq!(refused.to_string(), sentence);
}
