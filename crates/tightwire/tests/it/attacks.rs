//! Attacks and misuse that packets, messages and links must withstand.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use tightwire::bytes::Packing;
use tightwire::link::{Link, LinkConfig};
use tightwire::message::{Messenger, MessengerConfig, RegistryError, Route, SendError};
use tightwire::packet::{Keys, Protection, Protocol};
use tightwire::{Context, Delivery, Message, Stage, Wire, at};

#[derive(Wire, Message, Default, Clone)]
struct Jump;

#[derive(Wire, Message, Default, Clone)]
struct Note {
    #[wire(range = 0..=9)]
    value: u8,
}

#[derive(Wire, Message, Default, Clone)]
struct Level {
    #[wire(max_len = 1_000_000)]
    data: Vec<u8>,
}

#[derive(Wire, Message, Default, Clone)]
struct Chunk {
    #[wire(max_len = 1_048_560)]
    data: Vec<u8>,
}

#[derive(Wire, Message, Default, Clone)]
struct Endless {
    #[wire(max_len = 0xffff_ffff)]
    data: Vec<u8>,
}

fn messenger(config: MessengerConfig) -> Messenger<Vec<&'static str>> {
    Messenger::builder(config)
        .handle(|_: &Jump, context: &mut Context<'_, Vec<&'static str>>| context.state.push("jump"))
        .handle(|_: &Note, context: &mut Context<'_, Vec<&'static str>>| context.state.push("note"))
        .handle(|_: &Level, context: &mut Context<'_, Vec<&'static str>>| {
            context.state.push("level");
        })
        .build()
        .unwrap()
}

/// Returns a batch with a `Jump`, whose number is 16.
fn jump_at(stage: Stage) -> [u8; 7] {
    [5, 0, 16, stage as u8, 0, 0, 0]
}

#[test]
fn a_reconnecting_peer_does_not_fill_a_queue_for_the_others() {
    let mut m = messenger(MessengerConfig::default());
    let honest = m.add_peer(1200);
    // One socket, which reconnects again and again within a frame.
    for _ in 0..8 {
        let hostile = m.add_peer(1200);
        for _ in 0..512 {
            m.receive(hostile, Delivery::Reliable, &jump_at(Stage::Update), Duration::ZERO)
                .unwrap();
        }
        m.remove_peer(hostile);
    }
    m.receive(honest, Delivery::Reliable, &jump_at(Stage::Update), Duration::ZERO).unwrap();
    assert_eq!(m.faults().queue_full, 0, "the honest peer's message was discarded");
}

#[test]
fn removing_a_peer_frees_its_batches() {
    let mut m = messenger(MessengerConfig::default());
    let mut state = Vec::new();
    let delivery = Delivery::ReliableOrderedFragmented;
    // A message of type Level with the largest body that a batch carries: kept, not read.
    let body = (1usize << 20) - 11;
    let mut batch = ((body + 7) as u32).to_le_bytes().to_vec();
    batch.extend([17, Stage::Initialization as u8]);
    batch.extend((body as u32).to_le_bytes());
    batch.push(0);
    batch.resize(1 << 20, 0);
    let grown = most_memory(|| {
        for _ in 0..50 {
            // A server that runs one stage, and does not configure that.
            let hostile = m.add_peer(1200);
            while m.receive(hostile, delivery, &batch, Duration::ZERO).is_ok() {}
            m.run_stage(Stage::Update, &mut state);
            m.end_frame(|_, _, _| Ok(()));
            m.remove_peer(hostile);
        }
    });
    assert!(grown <= 20 << 20, "{} MiB are kept for peers that are gone", grown >> 20);
}

#[test]
fn stages_that_are_not_run_are_refused() {
    let config = MessengerConfig { stages: &[Stage::Update], ..MessengerConfig::default() };
    let mut m = messenger(config);
    let peer = m.add_peer(1200);
    for stage in Stage::ALL {
        m.receive(peer, Delivery::Reliable, &jump_at(stage), Duration::ZERO).unwrap();
    }
    assert_eq!(m.faults().unknown_stage, 6);
    let early = Route::from(Delivery::Reliable).at(Stage::Initialization);
    let refused = m.send_local(&mut Vec::new(), &Jump, early).unwrap_err();
    let expected = SendError::UnknownStage { message: "Jump", stage: Stage::Initialization };
    assert_eq!(refused, expected);
    let mut state = Vec::new();
    m.run_stage(Stage::Update, &mut state);
    assert_eq!(m.message_stats::<Jump>().unwrap().handled, 1);
}

#[test]
fn a_handler_that_panicked_is_there_for_the_next_message() {
    let mut first = true;
    let mut m = Messenger::builder(MessengerConfig::default())
        .handle(move |_: &Jump, context: &mut Context<'_, u32>| {
            assert!(!std::mem::take(&mut first), "a bug in the game");
            *context.state += 1;
        })
        .build()
        .unwrap();
    let peer = m.add_peer(1200);
    let mut handled = 0;
    m.receive(peer, Delivery::Reliable, &jump_at(Stage::Update), Duration::ZERO).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| m.run_stage(Stage::Update, &mut handled))).is_err());
    for _ in 0..10 {
        m.receive(peer, Delivery::Reliable, &jump_at(Stage::Update), Duration::ZERO).unwrap();
        m.run_stage(Stage::Update, &mut handled);
        m.end_frame(|_, _, _| Ok(()));
    }
    // The message whose handler panicked counts as refused.
    assert_eq!((handled, m.faults().total()), (10, 1));
}

#[test]
fn no_batch_is_longer_than_the_mtu() {
    for mtu in 0..7 {
        let mut m = messenger(MessengerConfig::default());
        let peer = m.add_peer(mtu);
        let sent = m.send(peer, &Jump, Delivery::Reliable);
        m.end_frame(|_, _, batch| {
            assert!(batch.len() <= mtu, "{} bytes for an mtu of {mtu}: {sent:?}", batch.len());
            Ok(())
        });
    }
}

#[test]
fn no_fragmented_batch_is_longer_than_the_limit() {
    let mut m = messenger(MessengerConfig { max_fragmented: 0, ..MessengerConfig::default() });
    let peer = m.add_peer(1200);
    let _ = m.send(peer, &Jump, Delivery::ReliableOrderedFragmented);
    m.end_frame(|_, _, batch| panic!("{} bytes, where there can be none", batch.len()));
}

#[test]
fn limits_without_a_limit_do_not_panic() {
    let config = MessengerConfig { send_queue: usize::MAX, ..MessengerConfig::default() };
    let sent = catch_unwind(AssertUnwindSafe(|| messenger(config).add_peer(1200)));
    assert!(sent.is_ok(), "send_queue: add_peer panics");
}

#[test]
fn a_receive_queue_without_a_limit_does_not_panic() {
    let config = MessengerConfig { receive_queue: usize::MAX, ..MessengerConfig::default() };
    let built = catch_unwind(|| Messenger::<()>::builder(config).build().map(drop));
    assert!(built.is_ok(), "receive_queue: build panics");
}

#[test]
fn a_broadcast_that_is_too_large_says_so() {
    let mut m = messenger(MessengerConfig::default());
    m.add_peer(1200);
    let level = Level { data: vec![1; 100_000] };
    let sent = m.broadcast(None, &level, Delivery::Reliable);
    let error = match sent {
        Err(error) => error,
        Ok(sent) => sent.first_error.unwrap(),
    };
    assert!(matches!(error, SendError::TooLarge { .. }), "{error}");
}

#[test]
fn a_send_that_fails_leaves_the_batches_as_they_were() {
    let batches = |fail: bool| {
        let mut m = messenger(MessengerConfig { send_queue: 2, ..MessengerConfig::default() });
        let peer = m.add_peer(1200);
        m.send(peer, &Jump, Delivery::Reliable).unwrap();
        if fail {
            m.send(peer, &Note { value: 77 }, Delivery::Unreliable).unwrap_err();
        }
        m.send(peer, &Jump, Delivery::Reliable).unwrap();
        let last = m.send(peer, &Jump, Delivery::Unreliable);
        let mut sent = Vec::new();
        m.end_frame(|_, delivery, batch| {
            sent.push((delivery, batch.to_vec()));
            Ok(())
        });
        (last, sent)
    };
    assert_eq!(batches(true), batches(false));
}

#[test]
fn a_smaller_mtu_to_a_peer_is_no_limit_on_what_it_sends() {
    let (mut a, mut b) =
        (messenger(MessengerConfig::default()), messenger(MessengerConfig::default()));
    let (to, from) = (a.add_peer(1200), b.add_peer(1200));
    b.set_mtu(from, 500); // The path to the peer is narrow; the peer does not know.
    for _ in 0..200 {
        a.send(to, &Jump, Delivery::Reliable).unwrap();
    }
    a.end_frame(|_, delivery, batch| {
        assert_eq!(b.receive(from, delivery, batch, Duration::ZERO), Ok(()));
        Ok(())
    });
}

#[test]
fn the_same_type_twice_is_not_two_types_of_one_name() {
    let built = Messenger::<()>::builder(MessengerConfig::default())
        .send_only::<Jump>()
        .handle(|_: &Jump, _: &mut Context<'_, ()>| ())
        .build();
    let error: RegistryError = built.err().unwrap();
    assert!(!error.to_string().contains("two messages"), "{error}");
}

#[test]
fn a_batch_of_one_byte_is_described_as_it_is() {
    let mut m = messenger(MessengerConfig::default());
    let peer = m.add_peer(1200);
    let refused = m.receive(peer, Delivery::Reliable, &[7], Duration::ZERO).unwrap_err();
    assert_ne!(refused.to_string(), "peer 0: the batch declares 0 bytes, but has 0");
}

#[test]
fn a_header_beyond_its_batch_names_the_message() {
    let mut m = messenger(MessengerConfig::default());
    let peer = m.add_peer(1200);
    let refused = m.receive(peer, Delivery::Reliable, &[5, 0, 16, 4, 9, 0, 0], Duration::ZERO);
    assert_eq!(refused.unwrap_err().message, Some("Jump"));
}

#[test]
fn the_memory_of_a_peers_waiting_messages_is_bounded() {
    // The documented limit: twice `peer_bytes`, or 2048 bytes for each waiting message.
    let mut m = messenger(MessengerConfig::default());
    let peer = m.add_peer(1200);
    let mut state = Vec::new();
    // No frame ends: a side that only listens, or several ticks in a frame.
    let grown = most_memory(|| {
        for _ in 0..300_000 {
            m.receive(peer, Delivery::Reliable, &jump_at(Stage::Update), Duration::ZERO).unwrap();
            m.run_stage(Stage::Update, &mut state);
            state.clear();
        }
    });
    assert!(grown <= 1 << 20, "{} MiB for 2 MiB of batches, with nothing waiting", grown >> 20);
}

/// Returns the peak memory of this thread during `run`.
fn most_memory(run: impl FnOnce()) -> u64 {
    allocation_counter::measure(run).bytes_max
}

#[test]
fn messages_of_this_side_that_are_small_take_little_memory() {
    let mut m = Messenger::builder(MessengerConfig::default())
        .handle(|_: &Chunk, _: &mut Context<'_, ()>| ())
        .build()
        .unwrap();
    let later = Route::from(Delivery::Reliable).at(Stage::PostLateUpdate);
    let grown = most_memory(|| {
        for _ in 0..500 {
            m.send_local(&mut (), &Chunk { data: vec![1; 10] }, later).unwrap();
        }
    });
    assert!(grown <= 16 << 20, "{} MiB for 500 messages of 13 bytes", grown >> 20);
}

#[test]
fn a_link_of_endless_latency_does_not_panic() {
    let config = LinkConfig { latency: Duration::MAX, ..LinkConfig::default() };
    let sent = catch_unwind(|| {
        Link::new(config, 1).handle_datagram(Duration::from_secs(1), b"hello");
    });
    assert!(sent.is_ok());
}

#[test]
fn a_sealed_packet_that_is_too_long_is_not_blamed_on_the_buffer() {
    #[derive(Wire, Default)]
    struct Big {
        #[wire(max_len = 1_000_000)]
        data: Vec<u8>,
    }
    let big = Big { data: vec![1; 70_000] };
    let mut buffer = vec![0; 2_000_000];
    let crc =
        Protocol::<Big>::new("a", "1", Protection::Crc32).write(&big, &mut buffer).map(<[u8]>::len);
    assert!(crc.is_ok());
    let mut sealed =
        Protocol::<Big>::new("a", "1", Protection::Sealed(Keys::client([1; 32], [2; 32])));
    let error = sealed.write(&big, &mut buffer).unwrap_err().to_string();
    assert!(!error.contains("give it a larger one"), "a buffer of 2000000 bytes: {error}");
}

/// Half of the objects and more, in whole bytes: an index of 2 bytes each, where a bit was
/// declared.
struct Chosen(tightwire::stream::Selection);
impl Wire for Chosen {
    const MAX_BITS: u64 = 2 + 1000;
    fn serialize<S: tightwire::Stream>(
        mut this: tightwire::Target<'_, S::Access, Self>,
        stream: &mut S,
    ) -> Result<(), S::Error> {
        stream.selection(at!(this.0), tightwire::stream::SubsetCoding::Best)
    }
}

#[test]
fn a_sealed_selection_fits_in_whole_bytes() {
    let keys = Keys::client([1; 32], [2; 32]);
    let sealed =
        Protocol::<Chosen>::new("a", "1", Protection::Sealed(keys)).with_packing(Packing::Bytes);
    let mut plain =
        Protocol::<Chosen>::new("a", "1", Protection::Crc32).with_packing(Packing::Bytes);
    let mut sealed = sealed;
    let mut buffer = vec![0; 10_000];
    let mut chosen = Chosen(tightwire::stream::Selection::new(1000));
    (0..900).for_each(|index| assert!(chosen.0.insert(index)));
    assert!(plain.write(&chosen, &mut buffer).is_ok());
    assert_eq!(
        sealed.write(&chosen, &mut buffer).map(<[u8]>::len).map_err(|e| e.to_string()),
        Ok(1 + 2 + 1800 + 16)
    );
}

#[test]
fn a_hook_that_panicked_leaves_the_peer_its_allowance() {
    struct Once(bool);
    impl tightwire::message::Hooks for Once {
        fn after_receive(&mut self, _: &tightwire::message::MessageEvent) {
            assert!(!std::mem::take(&mut self.0), "a bug in a log");
        }
    }
    let mut m = Messenger::builder(MessengerConfig::default())
        .handle(|_: &Jump, context: &mut Context<'_, u32>| *context.state += 1)
        .hooks(Once(true))
        .build()
        .unwrap();
    let peer = m.add_peer(1200);
    let batch = jump_at(Stage::Update);
    let now = Duration::ZERO;
    assert!(
        catch_unwind(AssertUnwindSafe(|| m.receive(peer, Delivery::Reliable, &batch, now)))
            .is_err()
    );
    let mut jumps = 0;
    let run = catch_unwind(AssertUnwindSafe(|| m.run_stage(Stage::Update, &mut jumps)));
    assert!(run.is_ok(), "attempt to subtract with overflow");
}

#[test]
fn a_broadcast_takes_no_more_memory_than_its_peers_can_get() {
    let mut m = Messenger::<()>::builder(MessengerConfig::default())
        .send_only::<Endless>()
        .build()
        .unwrap();
    m.add_peer(1200);
    let message = Endless { data: vec![1; 10] };
    let grown = most_memory(|| {
        let delivery = Delivery::ReliableOrderedFragmented;
        m.broadcast(None, &message, delivery).unwrap();
    });
    assert!(grown <= 16 << 20, "{} MiB for a message of 14 bytes", grown >> 20);
}

#[test]
fn the_largest_batch_can_be_received() {
    // A limit was raised on both sides, as its documentation asks.
    let config = MessengerConfig { max_fragmented: 4 << 20, ..MessengerConfig::default() };
    let (mut a, mut b) = (messenger(config), messenger(config));
    let (to, from) = (a.add_peer(1200), b.add_peer(1200));
    let delivery = Delivery::ReliableOrderedFragmented;
    for _ in 0..3 {
        a.send(to, &Level { data: vec![1; 900_000] }, delivery).unwrap();
    }
    // Not refused as `MessageError::PeerLimit`, since no message waits.
    a.end_frame(|_, delivery, batch| {
        assert_eq!(b.receive(from, delivery, batch, Duration::ZERO), Ok(()));
        Ok(())
    });
}

#[test]
fn a_sealed_write_that_failed_leaves_no_other_packet_to_record() {
    let keys = Keys::client([1; 32], [2; 32]);
    let mut client = Protocol::<[u8; 4]>::new("a", "1", Protection::Sealed(keys));
    let mut buffer = [0; 64];
    let sent = client.write(&[1, 2, 3, 4], &mut buffer).unwrap().to_vec();
    client.write(&[9, 9, 9, 9], &mut buffer[..19]).unwrap_err();
    assert!(
        [&[1u8, 2, 3, 4][..], &[]].contains(&client.unsealed(&sent)),
        "{:?}",
        client.unsealed(&sent)
    );
}
