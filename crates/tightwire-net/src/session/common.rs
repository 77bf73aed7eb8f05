//! The common part of a server and a client.

use core::time::Duration;

use crate::message::{
    Delivery, DisconnectedError, InternalBatch, Messenger, PeerId, Stage, put_frame,
};

use super::control::{ControlMessage, MAX_DESCRIPTION};
use super::description::{Description, UNKNOWN, protocol_id};
use super::events::Events;
use super::frames::Frames;
use super::hub::{Hub, MAX_DATAGRAM, TransportStep};
use super::links::{LinkState, Links, Open};
use super::role::Role;
use super::{PeerReport, SessionConfig, SessionError};
use crate::reason::Reason;
use crate::transport::{Connection, Event, NotSentError, Path, Transport};

/// A session over a transport: the server's or the client's.
pub(super) struct Session<C, T, R> {
    pub(super) transport: T,
    pub(super) hub: Hub<C>,
    pub(super) role: R,
    /// Connections that have failed, with the reasons.
    failed: Vec<(Connection, Reason)>,
}

impl<C: 'static, T: Transport, R: Role> Session<C, T, R> {
    pub(super) fn new(
        mut transport: T,
        config: SessionConfig,
        messenger: Messenger<C>,
        role: R,
    ) -> Result<Self, SessionError> {
        config.check(&transport.limits(), R::IS_SERVER).map_err(SessionError::Limit)?;
        if messenger.messages().next().is_none() {
            return Err(SessionError::NoMessages);
        }
        let description = Description::new(&config, &messenger)?;
        let protocol = protocol_id(&description, &messenger);
        let hub = Hub {
            config,
            messenger,
            description,
            protocol,
            links: Links::default(),
            opened: Vec::new(),
            events: Events::default(),
            frames: None,
            has_left: false,
            has_ended: false,
            now: Duration::ZERO,
            out: Vec::new(),
        };
        if R::IS_SERVER {
            transport.hold_unauthenticated();
        }
        Ok(Self { transport, hub, role, failed: Vec::new() })
    }

    pub(super) fn receive(&mut self, now: Duration) {
        self.hub.now = now;
        self.hub.messenger.begin_frame(now);
        self.transport.handle_input(now);
        let has_polled_frames = self.hub.frames.as_mut().is_none_or(Frames::begin);
        for (connection, open) in self.hub.links.open_mut() {
            if has_polled_frames {
                open.frames.restart();
            }
            if !self.hub.messenger.can_receive(open.peer) {
                self.transport.pause(connection);
            }
        }
        while let Some(event) = self.transport.poll_event() {
            let connected = match event {
                Event::Connected { connection, .. } => Some(connection),
                _ => None,
            };
            let step = self.hub.handle(&mut self.role, event);
            self.apply(step);
            if let Some(connection) = connected {
                self.check_path(connection);
            }
        }
        self.set_limits_of_new_peers();
    }

    pub(super) fn run_stages(&mut self, state: &mut C) {
        for stage in self.hub.config.messenger.stages {
            self.hub.messenger.run_stage(*stage, state);
        }
    }

    pub(super) fn run_stage(&mut self, stage: Stage, state: &mut C) {
        self.hub.messenger.run_stage(stage, state);
    }

    pub(super) fn transmit(&mut self, now: Duration) {
        self.hub.now = now;
        while let Some((peer, text)) = self.hub.messenger.poll_kick() {
            self.close(peer, &Reason::kicked(&text));
        }
        self.close_timed_out_handshakes();
        self.send_waiting();
        self.update_paths();
        self.send_schemas();
        let Self { transport, hub, failed, .. } = self;
        let Hub { messenger, links, .. } = hub;
        messenger.end_frame(|peer, delivery, batch| {
            let (connection, open) = links.peer_mut(peer).ok_or(DisconnectedError)?;
            if open.is_dropping && !delivery.is_reliable() {
                open.dropped += 1;
                return Ok(());
            }
            if open.is_waiting(delivery) {
                open.wait(delivery, batch.into());
                return Ok(());
            }
            let Err(error) = transport.send(connection, delivery, batch) else { return Ok(()) };
            match error {
                // The transport has an event for it.
                NotSentError::NotConnected(_) => return Err(DisconnectedError),
                _ if !delivery.is_reliable() => {
                    open.dropped += 1;
                    return Ok(());
                }
                // A peer that missed a reliable message would have another state from then on: the
                // batch waits.
                NotSentError::Full { .. } => {
                    open.wait(delivery, batch.into());
                    return Ok(());
                }
                NotSentError::TooLarge { .. } => {
                    failed.push((connection, Reason::failed(&error.to_string())));
                }
            }
            Err(DisconnectedError)
        });
        for (_, open) in links.open_mut() {
            block(messenger, open);
        }
        self.close_failed();
        self.hub.remove_disconnected();
        self.transport.handle_output(now);
    }

    pub(super) fn apply(&mut self, step: TransportStep) {
        match step {
            TransportStep::Nothing => {}
            TransportStep::Pause(connection) => self.transport.pause(connection),
            TransportStep::Send(connection) => self.send_internal(connection),
            TransportStep::Welcome(connection) => {
                self.transport.welcome(connection);
                self.send_internal(connection);
            }
            TransportStep::Close(connection, remote_reason, local_reason) => {
                self.transport.close(connection, &remote_reason);
                self.hub.end(connection, local_reason, R::IS_SERVER);
            }
        }
    }

    /// Sends the control message in `hub.out`. If the transport is full, or other batches wait, it
    /// waits too; during the handshake, a full transport closes the connection.
    fn send_internal(&mut self, connection: Connection) {
        let Self { transport, hub, .. } = self;
        let mut open = hub.links.opened_mut(connection);
        let is_waiting = |open: &&mut Open| open.is_waiting(InternalBatch::DELIVERY);
        if let Some(open) = open.as_deref_mut().filter(is_waiting) {
            open.wait(InternalBatch::DELIVERY, hub.out.clone());
            return;
        }
        let reason = match transport.send(connection, InternalBatch::DELIVERY, &hub.out) {
            Ok(()) | Err(NotSentError::NotConnected(_)) => return,
            Err(NotSentError::Full { .. }) => {
                if let Some(open) = open {
                    open.wait(InternalBatch::DELIVERY, hub.out.clone());
                    return;
                }
                Reason::TooSlow
            }
            Err(error) => Reason::failed(&error.to_string()),
        };
        self.apply(TransportStep::close(connection, reason));
    }

    /// Sends the waiting batches in their order, as far as the transport has room now.
    fn send_waiting(&mut self) {
        let Self { transport, hub, failed, .. } = self;
        for (connection, open) in hub.links.open_mut() {
            let sent =
                open.send_waiting(|delivery, batch| transport.send(connection, delivery, batch));
            let is_later = |error: &NotSentError| {
                matches!(error, NotSentError::Full { .. } | NotSentError::NotConnected(_))
            };
            let mut errors = sent.into_iter().filter_map(Result::err);
            if let Some(error) = errors.find(|error| !is_later(error)) {
                failed.push((connection, Reason::failed(&error.to_string())));
            }
        }
        self.close_failed();
    }

    fn close_failed(&mut self) {
        while let Some((connection, reason)) = self.failed.pop() {
            self.apply(TransportStep::close(connection, reason));
        }
    }

    /// Closes a connection whose transport carries less than both sides have agreed on: it would
    /// take large batches of an honest peer for violations.
    fn check_path(&mut self, connection: Connection) {
        let Some(path) = self.transport.path(connection) else { return };
        let (most, wanted) = (path.max_fragmented, self.hub.config.messenger.max_fragmented);
        if most < wanted {
            let wrong = format!(
                "max_fragmented: the transport carries {most} bytes, and messages may have {wanted}: \
                 configure the same"
            );
            log::error!("{connection}: {wrong}");
            self.apply(TransportStep::close(connection, Reason::failed(&wrong)));
        }
    }

    /// Closes the connection of a peer. Its received messages that were not handled are dropped.
    pub(super) fn close(&mut self, peer: PeerId, reason: &Reason) {
        if let Some((connection, _)) = self.hub.links.peer_mut(peer) {
            self.apply(TransportStep::close(connection, reason.clone()));
        }
    }

    /// Closes all connections.
    pub(super) fn close_all(&mut self, reason: &Reason) {
        let all: Vec<_> = self.hub.links.iter().map(|(connection, _)| connection).collect();
        for connection in all {
            self.apply(TransportStep::close(connection, reason.clone()));
        }
    }

    /// Sends a frame at once. `batch` has [`FRAME_PREFIX`](crate::message::FRAME_PREFIX) bytes in
    /// front of the body, which are filled here.
    pub(super) fn send_frame(
        &mut self,
        peer: PeerId,
        number: u8,
        batch: &mut [u8],
    ) -> Result<(), NotSentError> {
        let Some((connection, open)) = self.hub.links.peer_mut(peer) else {
            return Err(NotSentError::NotConnected(Connection(u64::MAX)));
        };
        let (size, limit) = (batch.len(), MAX_DATAGRAM);
        let sent = match put_frame(number, batch) {
            true => self.transport.send(connection, Delivery::Unreliable, batch),
            false => Err(NotSentError::TooLarge { size, limit }),
        };
        open.dropped += u64::from(sent.is_err());
        sent
    }

    /// Returns the state of a peer's connection; `None` if there is no such peer.
    pub(super) fn path(&self, peer: PeerId) -> Option<Path> {
        self.transport.path(self.hub.links.connection(peer)?)
    }

    /// Returns the number of frames of a peer that were dropped since it sent too many.
    pub(super) fn frames_dropped(&self, peer: PeerId) -> u64 {
        self.hub.links.peer(peer).map_or(0, |open| open.frames.dropped)
    }

    pub(super) fn request_schema(&mut self, peer: PeerId) {
        let Some((connection, open)) = self.hub.links.peer_mut(peer) else { return };
        if core::mem::replace(&mut open.has_requested_schema, true) {
            return;
        }
        let step = self.hub.send_control(connection, ControlMessage::SchemaRequest);
        self.apply(step);
    }

    pub(super) fn report(&self, peer: PeerId) -> Option<PeerReport> {
        let connection = self.hub.links.connection(peer)?;
        let mut open = self.hub.links.iter().filter(|(other, _)| *other == connection);
        let batches_dropped = match &open.next()?.1.state {
            LinkState::Open(open) => open.dropped,
            _ => 0,
        };
        Some(PeerReport {
            path: self.transport.path(connection).unwrap_or_default(),
            stats: self.hub.messenger.peer_stats(peer)?,
            messages: self.hub.messenger.peer_message_stats(peer).collect(),
            batches_dropped,
        })
    }

    /// Sets the limits of new peers. The others are updated once a frame: a path is a lot of
    /// numbers, and `receive` may be called each millisecond.
    fn set_limits_of_new_peers(&mut self) {
        let Hub { links, messenger, opened, .. } = &mut self.hub;
        for peer in opened.drain(..) {
            let path =
                links.connection(peer).and_then(|connection| self.transport.path(connection));
            if let Some(path) = path {
                set_limits(messenger, peer, &path);
            }
        }
    }

    /// Closes connections whose handshake has timed out.
    fn close_timed_out_handshakes(&mut self) {
        let Hub { links, now, config, .. } = &self.hub;
        for (connection, link) in links.iter() {
            let is_late = now.saturating_sub(link.since) >= config.hello_timeout;
            match &link.state {
                LinkState::Connecting | LinkState::Welcomed(_) if is_late => {
                    self.failed.push((connection, Reason::TimedOut));
                }
                LinkState::Mismatched(reason) if is_late => {
                    let reason = reason.clone().unwrap_or_else(|| Reason::mismatch(UNKNOWN));
                    self.failed.push((connection, reason));
                }
                _ => {}
            }
        }
        self.close_failed();
    }

    /// Updates the limits of all peers. Sends less to peers that do not keep up, and closes those
    /// that have not kept up for too long.
    fn update_paths(&mut self) {
        let Self { transport, hub, failed, .. } = self;
        let Hub { config, links, messenger, now, .. } = hub;
        for (connection, open) in links.open_mut() {
            let Some(path) = transport.path(connection) else { continue };
            set_limits(messenger, open.peer, &path);
            let is_slow = path.backlog > config.max_backlog;
            let backlog = path.backlog.saturating_add(open.waiting_bytes());
            if !is_slow && !open.has_waiting() {
                open.clear_stall();
            } else if open.stalled_for(backlog, *now) >= config.stall_timeout {
                failed.push((connection, Reason::TooSlow));
            }
            open.is_dropping = path.backlog > config.drop_unreliable_above();
            messenger.set_blocked(open.peer, is_slow);
            messenger.set_fragmented_blocked(open.peer, false);
            block(messenger, open);
        }
        self.close_failed();
    }

    /// Answers requests for the schema; not often, since the answer is long.
    fn send_schemas(&mut self) {
        let now = self.hub.now;
        let is_due = |open: &Open| {
            let is_early = |last| now.saturating_sub(last) < SCHEMA_INTERVAL;
            // Nor while batches wait: a peer that takes nothing could ask for more and more.
            open.is_schema_requested
                && !open.has_waiting()
                && !open.schema_sent_at.is_some_and(is_early)
        };
        loop {
            let next = self.hub.links.open_mut().find(|(_, open)| is_due(open));
            let Some((connection, open)) = next else { break };
            open.is_schema_requested = false;
            open.schema_sent_at = Some(now);
            let description = Box::new(self.hub.description.clone());
            let step = self.hub.send_control(connection, ControlMessage::SchemaReply(description));
            let path = self.transport.path(connection).unwrap_or_default();
            let size = self.hub.out.len();
            if size == 0 || size > MAX_DESCRIPTION.min(path.max_fragmented) {
                log::warn!("{connection} requested the schema, which is too long to send");
                continue;
            }
            self.apply(step);
        }
    }
}

/// Blocks a peer that has waiting batches; for the delivery that fragments alone, if only such batches
/// wait.
fn block<C: 'static>(messenger: &mut Messenger<C>, open: &Open) {
    if open.is_waiting(Delivery::Reliable) {
        messenger.set_blocked(open.peer, true);
    }
    if open.is_waiting(Delivery::ReliableOrderedFragmented) {
        messenger.set_fragmented_blocked(open.peer, true);
    }
}

/// Sets the largest batches to a peer.
fn set_limits<C: 'static>(messenger: &mut Messenger<C>, peer: PeerId, path: &Path) {
    messenger.set_mtu(peer, path.max_datagram.min(MAX_DATAGRAM));
    messenger.set_max_fragmented(peer, path.max_fragmented);
}

/// Interval of answers to one peer.
const SCHEMA_INTERVAL: Duration = Duration::from_secs(1);
