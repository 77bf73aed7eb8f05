//! Reception: snapshots, ownership and messages of the server.

use core::time::Duration;

use tightwire_core::schema::ObjectId;
use tightwire_snapshot::{ChangeKind, Playback, Receiver, Row, RowBuffer};

use super::world::ClientWorld;
use super::{Client, ClientEvent};
use crate::message::{Bound, Message, ReceivedMessage};
use crate::play::PlayerInput;
use crate::play::control::Ownership;
use crate::play::header::PlayHeader;
use crate::play::predict::{Authoritative, ReceivedObjects, RowAge};
use crate::play::resume::ResumeTicket;
use crate::session::{SNAPSHOT_FRAME, SessionEvent};
use crate::transport::Transport;

/// The newest snapshot of a call of `receive`.
#[derive(Clone, Copy)]
struct Arrived {
    tick: u32,
    is_complete: bool,
    header: PlayHeader,
}

impl<I: PlayerInput, T: Transport> Client<I, T> {
    /// Receives everything up to `now`: snapshots, messages, and the end of the connection. Then
    /// the ticks up to `now` are due.
    pub fn receive(&mut self, now: Duration) {
        let elapsed = now.saturating_sub(self.now);
        self.now = now;
        self.session.receive(now, &mut ());
        self.handle_session_events();
        self.try_reconnect();
        self.handle_ownership();
        self.handle_assets();
        if let Some(arrived) = self.handle_snapshots(now) {
            self.handle_newest(now, arrived);
        }
        let due = self.clock.advance(now);
        if self.due.end == due.start {
            // Ticks of an earlier call that were not stepped are still due.
            self.due.end = due.end;
        } else {
            while self.stamp_next().is_some() {}
            self.due = due;
        }
        while let Some(jump) = self.clock.poll_jump() {
            self.events.push_back(ClientEvent::TimeJump(jump));
        }
        let newest = self.clock.newest_tick().map_or(0.0, f64::from);
        let time = self.clock.time(now).unwrap_or(newest);
        self.world.fraction = (time - newest).clamp(0.0, 1.0);
        self.world.playback.advance(now);
        self.world.record_changes();
        for change in self.world.playback.shown_changes() {
            let id = change.id;
            match change.kind {
                ChangeKind::Spawned => self.events.push_back(ClientEvent::Spawned { id }),
                ChangeKind::Despawned => self.events.push_back(ClientEvent::Despawned { id }),
                _ => {}
            }
        }
        self.world.prediction.advance(elapsed);
        self.world.refresh_shown();
    }

    /// Hands all snapshots that arrived to the receiver, and returns the newest.
    fn handle_snapshots(&mut self, now: Duration) -> Option<Arrived> {
        let Self { session, world, stats, sent, .. } = self;
        let mut newest: Option<Arrived> = None;
        world.arrived.clear();
        while let Some((_, number, body)) = session.poll_frame() {
            let Some((header, packet)) =
                PlayHeader::read(body).ok().filter(|_| number == SNAPSHOT_FRAME)
            else {
                stats.snapshots_refused += 1;
                continue;
            };
            // Never of another sender: a server has one for its life, a view for each connection, and
            // `start_over` gives each connection its own receiver, before frames of it are read.
            let Ok(received) = world.receiver.handle_snapshot(packet) else {
                stats.snapshots_refused += 1;
                continue;
            };
            stats.snapshots += 1;
            stats.snapshot_bytes += packet.len() as u64;
            sent.snapshots += 1;
            world.playback.handle_snapshot(now, &world.receiver);
            let changed = world.receiver.changes().iter().map(|change| change.id);
            world.arrived.extend(changed.filter(|id| world.prediction.is_member(*id)));
            let (tick, is_complete) = (received.tick, received.is_complete);
            if newest.is_none_or(|newest| tick > newest.tick) {
                newest = Some(Arrived { tick, is_complete, header });
            }
        }
        newest
    }

    /// Follows the newest snapshot: the clock, the inputs that the server has, and the prediction.
    fn handle_newest(&mut self, now: Duration, arrived: Arrived) {
        let Arrived { tick, is_complete, header } = arrived;
        if let Some(path) = self.session.server().and_then(|server| self.session.path(server)) {
            self.clock.set_round_trip(path.round_trip, path.jitter);
            // QUIC's probe timeout: the round trip, four times its variation, and the longest
            // delay of an ack.
            let probe = path.round_trip + 4 * path.jitter + MAX_ACK_DELAY;
            let ticks = probe.as_secs_f64().min(1.0) * f64::from(self.tick_rate);
            self.world.prediction.set_retransmission(ticks.ceil() as u32);
        }
        self.clock.handle_snapshot(now, tick, header.input);
        if let Some(report) = header.input
            && let Some(newest) = tick.checked_add_signed(report.ahead.into())
        {
            self.log.handle_ack(newest);
        }
        self.world.follow_touched(now, self.config.predict.touch);
        let world = &mut self.world;
        let is_exact = header.owned_exact || is_complete;
        let ClientWorld { receiver, playback, predicted_classes, prediction, fraction, .. } = world;
        let (owned, arrived) = (&world.owned, &world.arrived);
        let is_owned_exact = header.owned_exact;
        let objects = Objects {
            receiver,
            playback,
            predicted_classes,
            owned,
            arrived,
            is_owned_exact,
            is_complete,
        };
        prediction.reconcile(&Authoritative { tick, is_exact, objects: &objects }, *fraction);
    }

    fn handle_ownership(&mut self) {
        let Self { session, world, events, .. } = self;
        for message in session.drain::<Ownership>() {
            let Ownership { id, is_owned, spawned } = message.message;
            world.set_owned(id, is_owned);
            world.update_member(id);
            let key = spawned.filter(|_| is_owned);
            let provisional =
                key.and_then(|key| world.prediction.handle_match(key.tick, key.ordinal, id));
            if let Some(provisional) = provisional {
                events.push_back(ClientEvent::Matched { provisional, id });
            }
            events.push_back(match is_owned {
                true => ClientEvent::Mine { id },
                false => ClientEvent::NotMine { id },
            });
        }
        for ticket in session.drain::<ResumeTicket>() {
            self.reconnect.set_ticket(ticket.message);
        }
    }

    fn handle_session_events(&mut self) {
        while let Some(event) = self.session.poll_event() {
            match event {
                SessionEvent::Connected { .. } => {
                    let is_resumed = self.reconnect.handle_connected();
                    self.start_over();
                    self.events.push_back(ClientEvent::Connected { is_resumed });
                }
                SessionEvent::Disconnected { reason, .. } => {
                    let after = match self.config.reconnect {
                        true => self.reconnect.handle_lost(&reason, self.now),
                        false => None,
                    };
                    self.events.push_back(match after {
                        Some(after) => ClientEvent::Reconnecting { after, reason },
                        None => ClientEvent::Disconnected { reason },
                    });
                }
                _ => {}
            }
        }
    }

    /// Starts over with a new connection, on which the server sends everything again.
    fn start_over(&mut self) {
        let world = &mut self.world;
        world.record_start_over();
        let shown = world.playback.objects_from(ObjectId(0));
        self.events.extend(shown.map(|(id, _)| ClientEvent::Despawned { id }));
        self.events.extend(world.owned.iter().map(|&id| ClientEvent::NotMine { id }));
        world.receiver = Receiver::new(&world.protocol);
        world.playback = Playback::new(&world.protocol, self.config.playback).with_changes();
        world.prediction.reset();
        world.owned.clear();
        world.others.clear();
        world.shown.clear();
        world.shown_before.clear();
        self.clock.reset();
        self.log.clear_all();
        self.due = 0..0;
        self.request = None;
        self.assets.handle_disconnected();
        self.sent = super::SendState::default();
    }

    /// Takes the next message of a type. A message that is bound to a tick or an object is there
    /// when that tick, or the object, is shown, or after
    /// [`bound_hold`](super::ClientConfig::bound_hold).
    pub fn poll_message<M: Message>(&mut self) -> Option<M> {
        Some(self.poll_received()?.message)
    }

    /// Takes the next message as [`poll_message`](Self::poll_message) does, with its route and time.
    pub fn poll_received<M: Message>(&mut self) -> Option<ReceivedMessage<M>> {
        let Self { session, world, config, .. } = self;
        let is_ready = |_, bound: Bound| is_shown(world, bound);
        session.drain::<M>().next_ready(config.bound_hold, is_ready)
    }
}

impl<I: PlayerInput, T: Transport> Client<I, T> {
    /// Passes the body of the next message with this [number](Self::number_of) to `read`; `None` if
    /// there are no more, or none whose tick or object is shown yet. The body is not checked: it may
    /// not be of the schema.
    pub fn poll_raw<R>(&mut self, number: u8, read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let Self { session, world, config, .. } = self;
        let is_ready = |_, bound: Bound| is_shown(world, bound);
        let mut messages = session.drain_raw(number);
        Some(read(messages.next_ready_ref(config.bound_hold, is_ready)?.message))
    }
}

/// Whether the tick or the object that a message is bound to is shown.
fn is_shown<I>(world: &ClientWorld<I>, bound: Bound) -> bool {
    match bound {
        Bound::Object(id) => world.is_shown(id),
        _ => world.playback.time().is_some_and(|time| {
            bound.tick_near(time as u32).is_some_and(|tick| f64::from(tick) <= time)
        }),
    }
}

/// Longest time that the server's QUIC waits before it acks, as RFC 9000 has it by default.
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);

/// The received objects whose classes are predicted.
struct Objects<'o> {
    receiver: &'o Receiver,
    playback: &'o Playback,
    predicted_classes: &'o [bool],
    owned: &'o [ObjectId],
    arrived: &'o [ObjectId],
    /// The owned objects are as they were at the tick of the snapshot; if it is complete, all are.
    is_owned_exact: bool,
    is_complete: bool,
}

impl ReceivedObjects for Objects<'_> {
    fn row(&self, id: ObjectId) -> Option<Row<'_>> {
        let row = self.receiver.row(id)?;
        (self.predicted_classes.get(usize::from(row.class)) == Some(&true)).then_some(row)
    }

    fn age(&self, id: ObjectId) -> RowAge {
        let is_owned = || self.owned.binary_search(&id).is_ok();
        match self.is_complete || self.is_owned_exact && is_owned() {
            true => RowAge::Exact,
            false if self.arrived.contains(&id) => RowAge::New,
            false => RowAge::Old,
        }
    }

    fn show(&self, id: ObjectId, shown: &mut RowBuffer) -> bool {
        self.playback.with_row(id, |row| shown.copy_from(row)).is_some()
    }
}
