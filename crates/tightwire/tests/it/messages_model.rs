//! Any sequence of operations has the same effect on two messengers as on a model of a few lists.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::Index;
use tightwire::bytes::Packing;
use tightwire::message::{DisconnectedError, Messenger, MessengerConfig, Route, SendError};
use tightwire::{Context, Delivery, Message, PeerId, Stage, Wire};

use crate::common::volume::volume;

/// A message with padding of any length, identified by its number.
#[derive(Wire, Message, Default, Clone)]
struct Note {
    number: u32,
    #[wire(max_len = 3000)]
    padding: Vec<u8>,
}

/// A message of one size, identified by its number.
#[derive(Wire, Message, Default, Clone)]
struct Mark {
    number: u32,
}

/// Handled messages: sender, route and number.
type HandledMessages = Vec<(PeerId, Route, u32)>;

const LOCAL_QUEUE: usize = 6;
const SEND_QUEUE: usize = 4;

fn messenger(config: MessengerConfig) -> Messenger<HandledMessages> {
    fn see(context: &mut Context<'_, HandledMessages>, number: u32) {
        let seen = (context.sender(), context.route(), number);
        context.state.push(seen);
    }
    Messenger::builder(config)
        .handle(|note: &Note, context: &mut Context<'_, HandledMessages>| {
            assert!(note.padding.iter().all(|byte| *byte == note.number as u8));
            see(context, note.number);
        })
        .handle(|mark: &Mark, context: &mut Context<'_, HandledMessages>| see(context, mark.number))
        .build()
        .unwrap()
}

#[derive(Clone, Debug)]
enum Step {
    AddPeer { mtu: usize },
    RemovePeer(Index),
    Send { to: Index, route: Route, padding: Option<usize> },
    SendTo { to: Vec<Index>, is_also_local: bool, route: Route, padding: Option<usize> },
    Broadcast { except: Option<Index>, route: Route, padding: Option<usize> },
    SendLocal { route: Route, padding: Option<usize> },
    RunStage(Stage),
    EndFrame { lost: Option<(Index, usize)> },
}

fn step() -> impl Strategy<Value = Step> {
    let route = || {
        let delivery = prop::sample::select(vec![
            Delivery::Unreliable,
            Delivery::UnreliableSequenced,
            Delivery::Reliable,
            Delivery::ReliableOrdered,
            Delivery::ReliableOrderedFragmented,
            Delivery::ReliableOrderedFragmented,
        ]);
        (delivery, 0..4u8, prop::sample::select(Stage::ALL.to_vec())).prop_map(
            |(delivery, channel, stage)| Route::from(delivery).on_channel(channel).at(stage),
        )
    };
    let padding =
        || prop::option::of(prop_oneof![4 => 0..40usize, 2 => 0..400usize, 1 => 0..3000usize]);
    let who = any::<Index>;
    prop_oneof![
        1 => (12..1500usize).prop_map(|mtu| Step::AddPeer { mtu }),
        1 => who().prop_map(Step::RemovePeer),
        8 => (who(), route(), padding())
            .prop_map(|(to, route, padding)| Step::Send { to, route, padding }),
        3 => (prop::collection::vec(who(), 0..4), any::<bool>(), route(), padding()).prop_map(
            |(to, is_also_local, route, padding)| Step::SendTo { to, is_also_local, route, padding }
        ),
        3 => (prop::option::of(who()), route(), padding())
            .prop_map(|(except, route, padding)| Step::Broadcast { except, route, padding }),
        3 => (route(), padding()).prop_map(|(route, padding)| Step::SendLocal { route, padding }),
        3 => prop::sample::select(Stage::ALL.to_vec()).prop_map(Step::RunStage),
        3 => prop::option::of((who(), 0..3usize)).prop_map(|lost| Step::EndFrame { lost }),
    ]
}

/// A peer: its id on the other side, and the messages that should be in flight to it.
struct Link {
    mtu: usize,
    there: PeerId,
    sent: Vec<(Route, u32)>,
    counted: u64,
}

/// Two sides and their expected results.
struct Office {
    near: Messenger<HandledMessages>,
    near_received: HandledMessages,
    far: Messenger<HandledMessages>,
    far_received: HandledMessages,
    links: BTreeMap<PeerId, Link>,
    local: [VecDeque<(Route, u32)>; 7],
    stage: Option<Stage>,
    expected_here: HandledMessages,
    number: u32,
}

impl Office {
    fn new(packing: Packing) -> Self {
        let limits = MessengerConfig {
            packing,
            channels: 3,
            max_fragmented: 2500,
            ..MessengerConfig::default()
        };
        let near = MessengerConfig {
            receive_queue: LOCAL_QUEUE,
            batch_messages: LOCAL_QUEUE,
            send_queue: SEND_QUEUE,
            ..limits
        };
        // Without a transport nothing holds batches back: the far side has room for all of a frame.
        let far = MessengerConfig { max_fragmented: SEND_QUEUE * limits.max_fragmented, ..limits };
        Self {
            near: messenger(near),
            near_received: HandledMessages::new(),
            far: messenger(far),
            far_received: HandledMessages::new(),
            links: BTreeMap::new(),
            local: Default::default(),
            stage: None,
            expected_here: HandledMessages::new(),
            number: 0,
        }
    }

    fn peer(&self, index: Index) -> Option<PeerId> {
        let peers: Vec<_> = self.links.keys().copied().collect();
        (!peers.is_empty()).then(|| *index.get(&peers))
    }

    /// Sends a message with this padding by `send`, and without padding as the other type.
    fn with_message<R>(
        &mut self,
        padding: Option<usize>,
        send: impl FnOnce(&mut Messenger<HandledMessages>, &mut HandledMessages, AnyMessage<'_>) -> R,
    ) -> (u32, R) {
        self.number += 1;
        let number = self.number;
        let mut note = Note { number, padding: vec![number as u8; padding.unwrap_or(0)] };
        let mut mark = Mark { number };
        let message = match padding {
            Some(_) => AnyMessage::Note(&mut note),
            None => AnyMessage::Mark(&mut mark),
        };
        (number, send(&mut self.near, &mut self.near_received, message))
    }

    fn is_known(route: Route) -> bool {
        route.channel < 3
    }

    /// Records the expected place of a message to this side.
    fn goes_here(&mut self, route: Route, number: u32) -> bool {
        if self.stage == Some(route.stage) {
            self.expected_here.push((PeerId::LOCAL, route, number));
            return true;
        }
        self.waits_here(route, number)
    }

    /// Records a message in the queue of its stage; returns whether there is room.
    fn waits_here(&mut self, route: Route, number: u32) -> bool {
        let queue = &mut self.local[route.stage as usize];
        let has_room = queue.len() < LOCAL_QUEUE;
        if has_room {
            queue.push_back((route, number));
        }
        has_room
    }

    fn goes_there(&mut self, peer: PeerId, route: Route, number: u32) {
        let link = self.links.get_mut(&peer).unwrap();
        link.sent.push((route, number));
        link.counted += 1;
    }

    /// Checks that a refusal has a reason.
    fn check_error(&self, error: SendError, route: Route, padding: Option<usize>) {
        let bytes = padding.map_or(4, |padding| 6 + padding);
        match error {
            SendError::UnknownChannel { .. } => assert!(!Self::is_known(route)),
            SendError::TooLarge { size, limit, .. } => assert!(size > limit && size <= bytes + 2),
            SendError::QueueFull(peer) => assert!(
                peer == PeerId::LOCAL
                    || self.links[&peer].sent.len() >= SEND_QUEUE && Self::is_known(route)
            ),
            other => panic!("{other}"),
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::AddPeer { mtu } => {
                let (here, there) = (self.near.add_peer(mtu), self.far.add_peer(mtu));
                let link = Link { mtu, there, sent: Vec::new(), counted: 0 };
                assert!(self.links.insert(here, link).is_none(), "an id was given twice");
            }
            Step::RemovePeer(index) => {
                let Some(peer) = self.peer(index) else { return };
                self.near.remove_peer(peer);
                let link = self.links.remove(&peer).unwrap();
                self.far.remove_peer(link.there);
                let refused = self.near.send(peer, &Mark::default(), Route::default());
                assert_eq!(refused, Err(SendError::UnknownPeer(peer)));
            }
            Step::Send { to, route, padding } => {
                let Some(peer) = self.peer(to) else { return };
                let (number, sent) =
                    self.with_message(padding, |near, _seen, message| match message {
                        AnyMessage::Note(note) => near.send(peer, note, route),
                        AnyMessage::Mark(mark) => near.send(peer, mark, route),
                    });
                match sent {
                    Ok(()) => self.goes_there(peer, route, number),
                    Err(error) => self.check_error(error, route, padding),
                }
            }
            Step::SendTo { to, is_also_local, route, padding } => {
                let peers: Vec<_> = to.into_iter().filter_map(|to| self.peer(to)).collect();
                let local = is_also_local.then_some(PeerId::LOCAL);
                self.send_many(peers, local, None, route, padding);
            }
            Step::Broadcast { except, route, padding } => {
                let except = except.and_then(|except| self.peer(except));
                let peers =
                    self.links.keys().copied().filter(|peer| Some(*peer) != except).collect();
                self.send_many(peers, None, Some(except), route, padding);
            }
            Step::SendLocal { route, padding } => {
                let (number, sent) =
                    self.with_message(padding, |near, seen, message| match message {
                        AnyMessage::Note(note) => near.send_local(seen, note, route),
                        AnyMessage::Mark(mark) => near.send_local(seen, mark, route),
                    });
                // A message that waits here is no larger than its delivery carries.
                let is_too_large = matches!(sent, Err(SendError::TooLarge { .. }));
                if Self::is_known(route) && !is_too_large {
                    let expected = self.goes_here(route, number);
                    assert_eq!(sent.is_ok(), expected, "{sent:?}");
                }
                if let Err(error) = sent {
                    self.check_error(error, route, padding);
                }
            }
            Step::RunStage(stage) => {
                self.stage = Some(stage);
                self.near.run_stage(stage, &mut self.near_received);
                for (route, number) in self.local[stage as usize].drain(..) {
                    self.expected_here.push((PeerId::LOCAL, route, number));
                }
            }
            Step::EndFrame { lost } => self.end_frame(lost),
        }
        assert_eq!(self.near_received, self.expected_here);
    }

    /// Sends to these peers, or to all but one.
    fn send_many(
        &mut self,
        peers: Vec<PeerId>,
        local: Option<PeerId>,
        except: Option<Option<PeerId>>,
        route: Route,
        padding: Option<usize>,
    ) {
        let before: Vec<_> =
            peers.iter().map(|peer| self.near.peer_stats(*peer).unwrap()).collect();
        let to = peers.iter().copied().chain(local);
        let (number, sent) =
            self.with_message(padding, |near, _seen, message| match (message, except) {
                (AnyMessage::Note(note), None) => near.send_to(to, note, route),
                (AnyMessage::Mark(mark), None) => near.send_to(to, mark, route),
                (AnyMessage::Note(note), Some(except)) => near.broadcast(except, note, route),
                (AnyMessage::Mark(mark), Some(except)) => near.broadcast(except, mark, route),
            });
        let sent = match sent {
            Ok(sent) => sent,
            Err(error) => return self.check_error(error, route, padding),
        };
        assert_eq!(sent.sent + sent.refused, peers.len() + usize::from(local.is_some()));
        let mut count = 0;
        // A peer that is named twice gets the message twice.
        let mut got: BTreeMap<PeerId, u64> = BTreeMap::new();
        for (peer, before) in peers.iter().zip(before) {
            let now = self.near.peer_stats(*peer).unwrap().sent.messages;
            got.insert(*peer, now - before.sent.messages);
        }
        for (peer, times) in got {
            assert!(times <= peers.iter().filter(|other| **other == peer).count() as u64);
            (0..times).for_each(|_| self.goes_there(peer, route, number));
            count += times as usize;
        }
        count += usize::from(local.is_some() && self.waits_here(route, number));
        assert_eq!(sent.sent, count);
        if let Some(error) = sent.first_error {
            self.check_error(error, route, padding);
        }
    }

    fn end_frame(&mut self, lost: Option<(Index, usize)>) {
        let lost = lost.and_then(|(index, after)| Some((self.peer(index)?, after)));
        let Self { near, far, far_received, links, .. } = self;
        let mut given: BTreeMap<PeerId, usize> = BTreeMap::new();
        let received: BTreeMap<_, _> = links
            .iter()
            .map(|(peer, link)| (*peer, far.peer_stats(link.there).unwrap().received.messages))
            .collect();
        near.end_frame(|peer, delivery, batch| {
            let count = given.entry(peer).or_default();
            if lost == Some((peer, *count)) {
                return Err(DisconnectedError);
            }
            *count += 1;
            let link = &links[&peer];
            assert!(*count <= SEND_QUEUE && (delivery.fragments() || batch.len() <= link.mtu));
            far.receive(link.there, delivery, batch, Duration::ZERO).unwrap();
            Ok(())
        });
        Stage::ALL.into_iter().for_each(|stage| far.run_stage(stage, far_received));
        far.end_frame(|_, _, _| panic!("the other side says nothing"));
        for (peer, link) in links {
            let there = far.peer_stats(link.there).unwrap();
            let here = near.peer_stats(*peer).unwrap();
            assert_eq!(
                (here.sent.messages, here.batches_sent),
                (link.counted, there.batches_received)
            );
            let arrived = (there.received.messages - received[peer]) as usize;
            // Losses are at the end, and only where the transport reported them.
            if lost.is_none_or(|(lost, _)| lost != *peer) {
                assert_eq!(arrived, link.sent.len());
            }
            let mut expected = link.sent[..arrived].to_vec();
            expected.sort_by_key(|(route, _)| route.stage);
            let from_there = far_received.iter().filter(|(from, ..)| *from == link.there);
            let seen: Vec<_> = from_there.map(|(_, route, number)| (*route, *number)).collect();
            assert_eq!(seen, expected);
            link.sent.clear();
        }
        far_received.clear();
        assert_eq!(far.faults().total(), 0);
        self.stage = None;
    }
}

enum AnyMessage<'a> {
    Note(&'a mut Note),
    Mark(&'a mut Mark),
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(volume(200, 5000)))]

    #[test]
    fn any_operations_lose_nothing_double_nothing_and_keep_the_order(
        is_bits in any::<bool>(),
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let mut office = Office::new(if is_bits { Packing::Bits } else { Packing::Bytes });
        (0..3).for_each(|_| office.step(Step::AddPeer { mtu: 600 }));
        steps.into_iter().for_each(|step| office.step(step));
        office.step(Step::EndFrame { lost: None });
        let faults = office.near.faults();
        prop_assert_eq!(faults.total(), 0);
    }
}
