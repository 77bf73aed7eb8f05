//! A handler that panics affects only its own message.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use tightwire::message::{Hooks, MessageEvent, Messenger, MessengerConfig};
use tightwire::{Context, Delivery, Message, PeerId, Stage, Wire};

/// A message whose handler panics at 13.
#[derive(Wire, Message, Default)]
struct Number(u8);

/// A message whose handler sends that number to this side, to be handled at once.
#[derive(Wire, Message, Default)]
struct Relay(u8);

const NUMBER: u8 = 16;
const RELAY: u8 = 17;

fn messenger() -> Messenger<Vec<u8>> {
    Messenger::builder(MessengerConfig::default())
        .handle(|number: &Number, context: &mut Context<'_, Vec<u8>>| {
            assert_ne!(number.0, 13, "an unlucky number");
            context.state.push(number.0);
        })
        .handle(|relay: &Relay, context: &mut Context<'_, Vec<u8>>| {
            context.send(PeerId::LOCAL, &Number(relay.0), Delivery::Reliable)
        })
        .build()
        .unwrap()
}

/// Returns a batch with a message of this type for each number.
fn batch(message: u8, numbers: &[u8]) -> Vec<u8> {
    let body = numbers.iter().flat_map(|number| [message, 4, 1, 0, 0, *number]);
    let mut batch = (6 * numbers.len() as u16).to_le_bytes().to_vec();
    batch.extend(body);
    batch
}

fn runs(messenger: &mut Messenger<Vec<u8>>, state: &mut Vec<u8>) -> bool {
    catch_unwind(AssertUnwindSafe(|| messenger.run_stage(Stage::Update, state))).is_ok()
}

#[test]
fn the_type_is_handled_again_for_every_peer_and_nothing_is_held() {
    let (mut messenger, mut state) = (messenger(), Vec::new());
    let peers = [messenger.add_peer(1200), messenger.add_peer(1200)];
    let room = messenger.room(peers[0]);
    for (peer, numbers) in peers.into_iter().zip([[1, 13, 2, 13], [3, 4, 5, 6]]) {
        messenger.receive(peer, Delivery::Reliable, &batch(NUMBER, &numbers), NOW).unwrap();
    }
    let times = (0..10).take_while(|_| !runs(&mut messenger, &mut state)).count();
    assert_eq!((times, &state[..]), (2, &[1, 2, 3, 4, 5, 6][..]));
    for (peer, refused) in peers.into_iter().zip([2, 0]) {
        assert_eq!(messenger.peer_stats(peer).unwrap().refused, refused);
        assert_eq!(messenger.room(peer), room);
    }
    assert_eq!((messenger.faults().handler, messenger.faults().total()), (2, 2));

    // A batch whose handling panicked does not count as waiting: the limits are free again.
    for _ in 0..3000 {
        let longest = [[7; 179].as_slice(), &[13]].concat();
        messenger.receive(peers[0], Delivery::Reliable, &batch(NUMBER, &longest), NOW).unwrap();
        assert!(!runs(&mut messenger, &mut state));
    }
    assert!(messenger.can_receive(peers[0]));
    assert_eq!(messenger.faults().peer_limit, 0);
}

#[test]
fn a_panic_in_a_message_that_is_handled_at_once_gives_back_both_handlers() {
    let (mut messenger, mut state) = (messenger(), Vec::new());
    let peer = messenger.add_peer(1200);
    let numbers = [1, 13, 2];
    messenger.receive(peer, Delivery::Reliable, &batch(RELAY, &numbers), NOW).unwrap();
    assert!(!runs(&mut messenger, &mut state));
    assert!(runs(&mut messenger, &mut state));
    assert_eq!(state, [1, 2]);
    // One of the handlers called the other.
    assert_eq!(messenger.faults().handler, 2);
    messenger.send_local(&mut state, &Number(3), Delivery::Reliable).unwrap();
    assert_eq!(state, [1, 2, 3]);
}

#[test]
fn a_hook_that_panics_holds_no_batch() {
    struct Unlucky(u32);
    impl Hooks for Unlucky {
        fn before_handle(&mut self, _: &MessageEvent) -> bool {
            self.0 += 1;
            assert_ne!(self.0, 1, "the first message");
            true
        }
    }
    let mut messenger =
        Messenger::builder(MessengerConfig { max_fragmented: 10, ..Default::default() })
            .handle(|number: &Number, context: &mut Context<'_, Vec<u8>>| {
                context.state.push(number.0);
            })
            .hooks(Unlucky(0))
            .build()
            .unwrap();
    let (peer, mut state) = (messenger.add_peer(1200), Vec::new());
    messenger.receive(peer, Delivery::Reliable, &batch(NUMBER, &[1]), NOW).unwrap();
    assert!(!runs(&mut messenger, &mut state));
    // If the first one were still held, there would be no room.
    messenger.receive(peer, Delivery::Reliable, &batch(NUMBER, &[2, 3]), NOW).unwrap();
    assert!(runs(&mut messenger, &mut state));
    assert_eq!(state, [2, 3]);
}

const NOW: Duration = Duration::ZERO;
