//! A session without its transport.
//!
//! An event of the transport borrows the transport. Therefore the hub handles an event without it,
//! and returns the step to take. The same split makes a session a function of the events of its
//! transport, which a replay plays back.

use core::time::Duration;

use crate::message::{Delivery, InternalBatch, Messenger, PeerId, frame_in};

use super::control::ControlMessage;
use super::description::{Description, UNKNOWN};
use super::events::Events;
use super::frames::{Frames, INPUT_FRAME, SNAPSHOT_FRAME};
use super::links::{LinkState, Links, Open, SessionConnection};
use super::role::Role;
use super::{SessionConfig, SessionEvent};
use crate::reason::Reason;
use crate::transport::{Connection, Event};

/// The state of a session, except for the transport.
pub(super) struct Hub<C> {
    pub(super) config: SessionConfig,
    pub(super) messenger: Messenger<C>,
    pub(super) description: Description,
    pub(super) protocol: u64,
    pub(super) links: Links,
    /// New peers whose limits are not yet set.
    pub(super) opened: Vec<PeerId>,
    pub(super) events: Events,
    /// Received frames; `None` if this session has none, and a peer that sends one is closed.
    pub(super) frames: Option<Frames>,
    /// A client that has left does not connect any more; one that has ended has pushed its event.
    pub(super) has_left: bool,
    pub(super) has_ended: bool,
    pub(super) now: Duration,
    /// The batch that [`TransportStep::Send`] sends.
    pub(super) out: Vec<u8>,
}

/// The action on the transport that follows from an event.
pub(super) enum TransportStep {
    Nothing,
    /// Send the batch in `out`.
    Send(Connection),
    /// The other side is authenticated: welcome it, and send the batch in `out`.
    Welcome(Connection),
    /// There is no room for more messages of a peer.
    Pause(Connection),
    /// Close the connection: the first reason is for the other side, the second for this side.
    Close(Connection, Reason, Reason),
}

impl TransportStep {
    /// Closes the connection, with the same reason for both sides.
    pub(super) fn close(connection: Connection, reason: Reason) -> Self {
        Self::Close(connection, reason.clone(), reason)
    }

    pub(super) fn violation(connection: Connection, text: &str) -> Self {
        Self::close(connection, Reason::violation(text))
    }

    /// Closes a connection whose peer sent a control message that does not fit the state.
    pub(super) fn unexpected(
        connection: Connection,
        message: &ControlMessage,
        state: &LinkState,
    ) -> Self {
        let text =
            format!("unexpected control message {} in state {}", message.name(), state.name());
        Self::violation(connection, &text)
    }
}

impl<C: 'static> Hub<C> {
    pub(super) fn handle<R: Role>(&mut self, role: &mut R, event: Event<'_>) -> TransportStep {
        match event {
            // The connection was being established when this client left.
            Event::Connected { connection, .. } if self.has_left => {
                TransportStep::close(connection, Reason::Left)
            }
            Event::Connected { connection, address } => {
                self.links.add(connection, address, self.now);
                role.connected(self, connection)
            }
            Event::Batch { from, delivery, batch } => self.batch(role, from, delivery, batch),
            Event::Disconnected { connection, reason } => {
                self.disconnected(connection, reason, R::IS_SERVER);
                TransportStep::Nothing
            }
            Event::Refused { address, reason } => {
                self.events.push(SessionEvent::Refused { address, reason });
                TransportStep::Nothing
            }
        }
    }

    fn batch<R: Role>(
        &mut self,
        role: &mut R,
        from: Connection,
        delivery: Delivery,
        batch: &[u8],
    ) -> TransportStep {
        let is_internal = delivery == InternalBatch::DELIVERY;
        if let Some((number, body)) = InternalBatch::read(batch).filter(|_| is_internal) {
            // Ignoring an unrequested answer costs nothing; reading it costs much.
            if ControlMessage::is_schema_reply(number) && !self.links.waits_for_schema(from) {
                return TransportStep::Nothing;
            }
            return match ControlMessage::read(number, body) {
                Ok(message) => self.handle_control(role, from, message),
                Err(error) => role.refuse_control(from, error),
            };
        }
        let Some(link) = self.links.get_mut(from) else { return TransportStep::Nothing };
        if let LinkState::Welcomed(_) = link.state {
            // The client has got its welcome, or it would have sent nothing: this message has
            // overtaken `Ready`.
            self.open(from, false);
        }
        let Some(SessionConnection { state: LinkState::Open(open), .. }) = self.links.get_mut(from)
        else {
            return TransportStep::violation(from, "message before Welcome");
        };
        let peer = open.peer;
        if let Some((number @ (SNAPSHOT_FRAME | INPUT_FRAME), body)) = frame_in(batch, delivery) {
            let expected = if R::IS_SERVER { INPUT_FRAME } else { SNAPSHOT_FRAME };
            let Some(frames) = self.frames.as_mut().filter(|_| number == expected) else {
                return TransportStep::violation(from, &format!("unexpected frame {number}"));
            };
            frames.push(peer, number, body, &mut open.frames);
            return TransportStep::Nothing;
        }
        // A refusal is counted by the messenger.
        let _ = self.messenger.receive(peer, delivery, batch, self.now);
        if self.messenger.can_receive(peer) {
            TransportStep::Nothing
        } else {
            TransportStep::Pause(from)
        }
    }

    /// Handles the control messages that both roles accept at any time; passes the others to the
    /// role.
    fn handle_control<R: Role>(
        &mut self,
        role: &mut R,
        from: Connection,
        message: ControlMessage,
    ) -> TransportStep {
        let Some(link) = self.links.get_mut(from) else { return TransportStep::Nothing };
        match (&mut link.state, message) {
            (LinkState::Open(open), ControlMessage::SchemaRequest) => {
                open.is_schema_requested = true;
            }
            (LinkState::Open(open), ControlMessage::SchemaReply(description)) => {
                open.has_requested_schema = false;
                let identity = Box::new(description.into_identity());
                self.events.push(SessionEvent::Schema { peer: open.peer, identity });
            }
            (LinkState::Disconnected(..), _) => {}
            (_, message) => return role.handle_control(self, from, message),
        }
        TransportStep::Nothing
    }

    /// Writes a control message, to be sent.
    pub(super) fn send_control(
        &mut self,
        to: Connection,
        mut message: ControlMessage,
    ) -> TransportStep {
        message.write(&mut self.out);
        TransportStep::Send(to)
    }

    /// Makes a connection a peer.
    pub(super) fn open(&mut self, connection: Connection, is_ready: bool) -> Option<PeerId> {
        let link = self.links.get_mut(connection)?;
        // The peer's own sending has another limit, which its transport enforces. The limits of
        // this side are set at the end of `receive`.
        let peer = self.messenger.add_peer(MAX_DATAGRAM);
        let (client, user_data) = match core::mem::replace(&mut link.state, LinkState::Connecting) {
            LinkState::Welcomed(admitted) => (admitted.client, admitted.user_data),
            _ => (0, Vec::new()),
        };
        let address = link.address;
        self.links.open(connection, peer, is_ready);
        self.opened.push(peer);
        self.events.push(SessionEvent::Connected { peer, client, user_data, address });
        Some(peer)
    }

    /// Handles the end of a connection by the other side or the network.
    fn disconnected(&mut self, connection: Connection, reason: Reason, is_server: bool) {
        let Some(link) = self.links.get_mut(connection) else {
            // A client that never connected, unless it has left itself.
            if !is_server && !self.has_left {
                self.has_ended = true;
                self.events.push(SessionEvent::Disconnected { peer: None, reason });
            }
            return;
        };
        match &mut link.state {
            LinkState::Open(open) => link.state = LinkState::Disconnected(open.peer, reason),
            LinkState::Mismatched(Some(reason)) => {
                let reason = reason.clone();
                self.end(connection, reason, is_server);
            }
            LinkState::Mismatched(None) => {
                self.end(connection, Reason::mismatch(UNKNOWN), is_server);
            }
            // Unauthenticated connections that end cause no event.
            _ if is_server => drop(self.links.remove(connection)),
            _ => self.end(connection, reason, is_server),
        }
    }

    /// Handles the end of a connection by this side.
    pub(super) fn end(&mut self, connection: Connection, reason: Reason, is_server: bool) {
        let Some(link) = self.links.remove(connection) else { return };
        let address = link.address;
        self.has_ended = true;
        self.events.push(match link.state {
            LinkState::Open(Open { peer, .. }) | LinkState::Disconnected(peer, _) => {
                self.messenger.remove_peer(peer);
                SessionEvent::Disconnected { peer: Some(peer), reason }
            }
            _ if is_server => SessionEvent::Refused { address, reason },
            _ => SessionEvent::Disconnected { peer: None, reason },
        });
    }

    /// Makes this client leave: it does not connect any more.
    pub(super) fn leave(&mut self) {
        self.has_left = true;
        if !core::mem::replace(&mut self.has_ended, true) {
            let reason = Reason::Left;
            self.events.push(SessionEvent::Disconnected { peer: None, reason });
        }
    }

    /// Removes the disconnected peers, whose last messages were handled.
    pub(super) fn remove_disconnected(&mut self) {
        let gone = |(connection, link): (Connection, &SessionConnection)| match &link.state {
            LinkState::Disconnected(_, reason) => Some((connection, reason.clone())),
            _ => None,
        };
        loop {
            let next = self.links.iter().find_map(gone);
            let Some((connection, reason)) = next else { break };
            self.end(connection, reason, true);
        }
    }
}

/// Largest batch that does not fragment, in bytes: the limit of its size field.
pub(super) const MAX_DATAGRAM: usize = 2 + u16::MAX as usize;
