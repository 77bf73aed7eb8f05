//! A session without its transport.
//!
//! An event is handled without the transport, and returns the step to be taken: an event borrows the
//! transport. The same split makes a session a function of what its transport reports, which is what a
//! replay plays.

use core::time::Duration;

use crate::message::{Delivery, InternalBatch, Messenger, PeerId};

use super::description::{Description, UNKNOWN};
use super::events::Events;
use super::links::{Link, Links, Open, State};
use super::role::Role;
use super::said::Said;
use super::{SessionConfig, SessionEvent};
use crate::reason::Reason;
use crate::transport::{Connection, Event};

/// Everything but the transport.
pub(super) struct Hub<C> {
    pub(super) config: SessionConfig,
    pub(super) messenger: Messenger<C>,
    pub(super) description: Description,
    pub(super) protocol: u64,
    pub(super) links: Links,
    /// Those who became peers, and of whose paths nothing is known yet.
    pub(super) opened: Vec<PeerId>,
    pub(super) events: Events,
    /// A client that has left does not connect any more, and one that has ended was told so.
    pub(super) has_left: bool,
    pub(super) has_ended: bool,
    pub(super) now: Duration,
    /// What [`Step::Send`] sends.
    pub(super) out: Vec<u8>,
}

/// What follows from an event, for the transport.
pub(super) enum Step {
    Nothing,
    /// Send the batch of this side.
    Send(Connection),
    /// The other side is known: send the batch of this side.
    Welcome(Connection),
    /// There is no room for more of a peer.
    Pause(Connection),
    /// It ends: the other side is told the one reason, this side the other.
    Close(Connection, Reason, Reason),
}

impl Step {
    /// It ends, for a reason that is the same for both.
    pub(super) fn close(connection: Connection, reason: Reason) -> Self {
        Self::Close(connection, reason.clone(), reason)
    }

    pub(super) fn violation(connection: Connection, text: &str) -> Self {
        Self::close(connection, Reason::violation(text))
    }
}

impl<C: 'static> Hub<C> {
    pub(super) fn handle<R: Role>(&mut self, role: &mut R, event: Event<'_>) -> Step {
        match event {
            // It was on its way when this client left.
            Event::Connected { connection, .. } if self.has_left => {
                Step::close(connection, Reason::Left)
            }
            Event::Connected { connection, address } => {
                self.links.add(connection, address, self.now);
                role.connected(self, connection)
            }
            Event::Batch { from, delivery, batch } => self.batch(role, from, delivery, batch),
            Event::Disconnected { connection, reason } => {
                self.disconnected(connection, reason, R::IS_SERVER);
                Step::Nothing
            }
            Event::Refused { address, reason } => {
                self.events.push(SessionEvent::Refused { address, reason });
                Step::Nothing
            }
        }
    }

    fn batch<R: Role>(
        &mut self,
        role: &mut R,
        from: Connection,
        delivery: Delivery,
        batch: &[u8],
    ) -> Step {
        let is_internal = delivery == InternalBatch::DELIVERY;
        if let Some((number, body)) = InternalBatch::read(batch).filter(|_| is_internal) {
            // It costs nothing to ignore what nobody waits for, and much to read it.
            if Said::is_answer(number) && !self.links.waits_for_answer(from) {
                return Step::Nothing;
            }
            return match Said::read(number, body) {
                Ok(said) => self.said(role, from, said),
                Err(error) => role.not_understood(from, error),
            };
        }
        let Some(link) = self.links.get_mut(from) else { return Step::Nothing };
        if let State::Welcomed(_) = link.state {
            // The client knows that it has a place, or it would have sent nothing: this has overtaken
            // the message that says so.
            self.open(from, false);
        }
        let Some(Link { state: State::Open(open), .. }) = self.links.get_mut(from) else {
            return Step::violation(from, "a message before the welcome");
        };
        let peer = open.peer;
        // What is refused is counted.
        let _ = self.messenger.receive(peer, delivery, batch, self.now);
        if self.messenger.can_receive(peer) { Step::Nothing } else { Step::Pause(from) }
    }

    /// What any session says at any time; the rest is for the role.
    fn said<R: Role>(&mut self, role: &mut R, from: Connection, said: Said) -> Step {
        let Some(link) = self.links.get_mut(from) else { return Step::Nothing };
        match (&mut link.state, said) {
            (State::Open(open), Said::Ask) => open.is_asked = true,
            (State::Open(open), Said::Answer(description)) => {
                open.has_asked = false;
                let identity = Box::new(description.into_identity());
                self.events.push(SessionEvent::Schema { peer: open.peer, identity });
            }
            (State::Gone(..), _) => {}
            (_, said) => return role.said(self, from, said),
        }
        Step::Nothing
    }

    /// Writes an internal message, to be sent.
    pub(super) fn say(&mut self, to: Connection, mut said: Said) -> Step {
        said.write(&mut self.out);
        Step::Send(to)
    }

    /// Makes a connection a peer.
    pub(super) fn open(&mut self, connection: Connection, is_ready: bool) -> Option<PeerId> {
        let link = self.links.get_mut(connection)?;
        // What a peer sends has a limit of its own, which its transport keeps. How much this side can
        // send is known at the end of `receive`.
        let peer = self.messenger.add_peer(MAX_DATAGRAM);
        let (client, user_data) = match core::mem::replace(&mut link.state, State::New) {
            State::Welcomed(admitted) => (admitted.client, admitted.user_data),
            _ => (0, Vec::new()),
        };
        let address = link.address;
        self.links.open(connection, peer, is_ready);
        self.opened.push(peer);
        self.events.push(SessionEvent::Connected { peer, client, user_data, address });
        Some(peer)
    }

    /// The other side or the network ended a connection.
    fn disconnected(&mut self, connection: Connection, reason: Reason, is_server: bool) {
        let Some(link) = self.links.get_mut(connection) else {
            // A client that never connected, unless it knows that it has left.
            if !is_server && !self.has_left {
                self.has_ended = true;
                self.events.push(SessionEvent::Disconnected { peer: None, reason });
            }
            return;
        };
        match &mut link.state {
            State::Open(open) => link.state = State::Gone(open.peer, reason),
            State::Different(Some(reason)) => {
                let reason = reason.clone();
                self.end(connection, reason, is_server);
            }
            State::Different(None) => self.end(connection, Reason::mismatch(UNKNOWN), is_server),
            // Nobody is told of strangers who leave.
            _ if is_server => drop(self.links.remove(connection)),
            _ => self.end(connection, reason, is_server),
        }
    }

    /// This side ended a connection.
    pub(super) fn end(&mut self, connection: Connection, reason: Reason, is_server: bool) {
        let Some(link) = self.links.remove(connection) else { return };
        let address = link.address;
        self.has_ended = true;
        self.events.push(match link.state {
            State::Open(Open { peer, .. }) | State::Gone(peer, _) => {
                self.messenger.remove_peer(peer);
                SessionEvent::Disconnected { peer: Some(peer), reason }
            }
            _ if is_server => SessionEvent::Refused { address, reason },
            _ => SessionEvent::Disconnected { peer: None, reason },
        });
    }

    /// This client does not want to connect any more.
    pub(super) fn leave(&mut self) {
        self.has_left = true;
        if !core::mem::replace(&mut self.has_ended, true) {
            let reason = Reason::Left;
            self.events.push(SessionEvent::Disconnected { peer: None, reason });
        }
    }

    /// Removes the peers whose last words were handled.
    pub(super) fn forget_the_gone(&mut self) {
        let gone = |(connection, link): (Connection, &Link)| match &link.state {
            State::Gone(_, reason) => Some((connection, reason.clone())),
            _ => None,
        };
        loop {
            let next = self.links.iter().find_map(gone);
            let Some((connection, reason)) = next else { break };
            self.end(connection, reason, true);
        }
    }
}

/// The largest batch that does not fragment, of which the size can be said.
pub(super) const MAX_DATAGRAM: usize = 2 + u16::MAX as usize;
