//! The handshake of each role, server and client.
//!
//! A server sends nothing to a client before the client knows that it is welcome, and takes any
//! message of the application as a sign of that: no delivery waits for another, so either could
//! overtake the welcome. Each side of a mismatch computes its own explanation, since "here" is
//! another place for each.

use core::time::Duration;

use super::control::{ControlError, ControlMessage, FORMAT, Hello, MAX_DESCRIPTION, Welcome};
use super::description::{Description, UNKNOWN};
use super::hub::{Hub, TransportStep};
use super::links::LinkState;
use super::{Admit, SessionEvent};
use crate::reason::Reason;
use crate::transport::Connection;

/// A side of a session.
pub(super) trait Role {
    const IS_SERVER: bool;

    /// Handles a new connection.
    fn connected<C: 'static>(&mut self, hub: &mut Hub<C>, connection: Connection) -> TransportStep;

    /// Handles a control message of the handshake.
    fn handle_control<C: 'static>(
        &mut self,
        hub: &mut Hub<C>,
        from: Connection,
        message: ControlMessage,
    ) -> TransportStep;

    /// Handles a malformed control message.
    fn refuse_control(&self, from: Connection, error: ControlError) -> TransportStep {
        match error {
            ControlError::Format(there) => {
                let of = |here, there| format!("session format: {here} here, {there} there");
                let remote_reason = Reason::mismatch(&of(there, FORMAT));
                TransportStep::Close(from, remote_reason, Reason::mismatch(&of(FORMAT, there)))
            }
            ControlError::Malformed => TransportStep::violation(from, "malformed control message"),
        }
    }
}

/// The server's side of the handshake: admits clients, or refuses them.
pub(super) struct ServerRole {
    gate: Box<dyn Admit>,
    /// The last explanation, since many clients have the same mismatch.
    explained: Option<MismatchReasons>,
    /// Start of the current second, and the number of explanations in it.
    explanations: (Duration, u32),
}

/// A mismatch with another side, from the view of that side and of this one.
struct MismatchReasons {
    there: Description,
    remote_reason: Reason,
    local_reason: Reason,
}

/// The client's side of the handshake.
pub(super) struct ClientRole {
    pub(super) token: Vec<u8>,
}

impl Role for ServerRole {
    const IS_SERVER: bool = true;

    fn connected<C: 'static>(&mut self, hub: &mut Hub<C>, connection: Connection) -> TransportStep {
        // Connections without a hello take memory too. A new connection may be a player, and the
        // connection that has been silent for longest is the least likely to be one.
        let max_links =
            hub.config.max_clients.saturating_mul(2).saturating_add(MIN_UNAUTHENTICATED);
        if hub.links.len() <= max_links {
            return TransportStep::Nothing;
        }
        let last = hub.links.oldest_unauthenticated(connection).unwrap_or(connection);
        TransportStep::close(last, Reason::Busy)
    }

    fn handle_control<C: 'static>(
        &mut self,
        hub: &mut Hub<C>,
        from: Connection,
        message: ControlMessage,
    ) -> TransportStep {
        let Some(link) = hub.links.get_mut(from) else { return TransportStep::Nothing };
        match (&mut link.state, message) {
            (LinkState::Connecting, ControlMessage::Hello(hello)) => self.hello(hub, from, &hello),
            (LinkState::Welcomed(_), ControlMessage::Ready) => {
                hub.open(from, true);
                TransportStep::Nothing
            }
            (LinkState::Open(open), ControlMessage::Ready) if !open.is_ready => {
                open.is_ready = true;
                TransportStep::Nothing
            }
            (LinkState::Mismatched(_), ControlMessage::ClientDescription(there)) => {
                let (remote_reason, local_reason) = self.explain(&hub.description, *there, hub.now);
                TransportStep::Close(from, remote_reason, local_reason)
            }
            (state, message) => TransportStep::unexpected(from, &message, state),
        }
    }
}

impl ServerRole {
    pub(super) fn new(gate: Box<dyn Admit>) -> Self {
        Self { gate, explained: None, explanations: (Duration::ZERO, 0) }
    }

    /// Explains the mismatch with the other side, from the view of that side and of this one. A
    /// hostile client can make it slow, and its token is not used up: therefore the number of
    /// explanations is limited.
    fn explain(
        &mut self,
        here: &Description,
        there: Description,
        now: Duration,
    ) -> (Reason, Reason) {
        if self.explained.as_ref().is_none_or(|explained| explained.there != there) {
            let (since, count) = &mut self.explanations;
            if now.saturating_sub(*since) >= Duration::from_secs(1) {
                (*since, *count) = (now, 0);
            }
            if *count == MAX_EXPLANATIONS {
                return (Reason::mismatch(UNKNOWN), Reason::mismatch(UNKNOWN));
            }
            *count += 1;
            let remote_reason = Reason::mismatch(&there.mismatch(here));
            let local_reason = Reason::mismatch(&here.mismatch(&there));
            self.explained = Some(MismatchReasons { there, remote_reason, local_reason });
        }
        let explained = self.explained.as_ref();
        explained
            .map(|MismatchReasons { remote_reason, local_reason, .. }| {
                (remote_reason.clone(), local_reason.clone())
            })
            .unwrap_or_default()
    }

    fn hello<C: 'static>(
        &mut self,
        hub: &mut Hub<C>,
        from: Connection,
        hello: &Hello,
    ) -> TransportStep {
        let unix_now = hub.config.unix_start.saturating_add(hub.now);
        // The token is checked first, so that unauthenticated peers learn neither about the game
        // nor whether there is room.
        let admitted = match self.gate.check(&hello.token, unix_now) {
            Ok(admitted) => admitted,
            Err(fault) => return TransportStep::close(from, Reason::Token(fault)),
        };
        if hello.protocol != hub.protocol {
            return mismatched(hub, from);
        }
        let is_client =
            |state: &LinkState| matches!(state, LinkState::Open(_) | LinkState::Welcomed(_));
        let clients = hub.links.iter().filter(|(_, link)| is_client(&link.state)).count();
        if clients >= hub.config.max_clients {
            return TransportStep::close(from, Reason::Full);
        }
        if let Err(fault) = self.gate.redeem(&hello.token, unix_now) {
            return TransportStep::close(from, Reason::Token(fault));
        }
        let client = admitted.client;
        let now = hub.now;
        if let Some(link) = hub.links.get_mut(from) {
            link.state = LinkState::Welcomed(admitted);
            link.since = now;
        }
        hub.send_control(from, ControlMessage::Welcome(Welcome { client }));
        TransportStep::Welcome(from)
    }
}

/// Sends the description of this server to a client, and waits for that of the client.
fn mismatched<C: 'static>(hub: &mut Hub<C>, from: Connection) -> TransportStep {
    let step = hub
        .send_control(from, ControlMessage::ServerDescription(Box::new(hub.description.clone())));
    if hub.out.is_empty() || hub.out.len() > MAX_DESCRIPTION {
        return TransportStep::close(from, Reason::mismatch(UNKNOWN));
    }
    let now = hub.now;
    if let Some(link) = hub.links.get_mut(from) {
        link.state = LinkState::Mismatched(None);
        link.since = now;
    }
    step
}

impl Role for ClientRole {
    const IS_SERVER: bool = false;

    fn connected<C: 'static>(&mut self, hub: &mut Hub<C>, connection: Connection) -> TransportStep {
        let (format, protocol, token) = (FORMAT, hub.protocol, self.token.clone());
        hub.send_control(connection, ControlMessage::Hello(Hello { format, protocol, token }))
    }

    fn handle_control<C: 'static>(
        &mut self,
        hub: &mut Hub<C>,
        from: Connection,
        message: ControlMessage,
    ) -> TransportStep {
        let Some(link) = hub.links.get_mut(from) else { return TransportStep::Nothing };
        match (&mut link.state, message) {
            (LinkState::Connecting, ControlMessage::Welcome(welcome)) => {
                hub.open(from, true);
                if let Some(SessionEvent::Connected { client, .. }) = hub.events.last_mut() {
                    *client = welcome.client;
                }
                hub.send_control(from, ControlMessage::Ready)
            }
            (state @ LinkState::Connecting, ControlMessage::ServerDescription(there)) => {
                let reason = Reason::mismatch(&hub.description.mismatch(&there));
                *state = LinkState::Mismatched(Some(reason));
                let step = hub.send_control(
                    from,
                    ControlMessage::ClientDescription(Box::new(hub.description.clone())),
                );
                // The server waits, and then reports that the mismatch is unknown.
                if hub.out.is_empty() || hub.out.len() > MAX_DESCRIPTION {
                    TransportStep::Nothing
                } else {
                    step
                }
            }
            (state, message) => TransportStep::unexpected(from, &message, state),
        }
    }
}

/// Number of connections without a hello, besides as many as there can be clients.
const MIN_UNAUTHENTICATED: usize = 64;

/// Number of mismatches that are explained per second, not counting those of the same side as
/// before.
const MAX_EXPLANATIONS: u32 = 2;
