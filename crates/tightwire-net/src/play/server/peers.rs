//! Players that come and go, and the frames that they send.

use std::net::SocketAddr;

use tightwire_snapshot::{Ack, Row};

use super::Server;
use super::player::{Player, new_ring};
use super::world::ServerWorld;
use crate::message::{Delivery, Message, PeerId, SendError};
use crate::play::asset::{AssetChunk, AssetOffer};
use crate::play::control::Ownership;
use crate::play::input::InputStats;
use crate::play::resume::{Arrival, Departure, ResumeTicket};
use crate::play::rewind::RewindStats;
use crate::play::{AssetProgress, PlayerInput};
use crate::reason::{Reason, TokenError};
use crate::session::{INPUT_FRAME, SessionEvent};
use crate::transport::Transport;

/// An event of a [`Server`].
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum ServerEvent {
    /// A player has joined.
    Joined {
        /// The player.
        peer: PeerId,
        /// Number of the client in its token.
        client: u64,
        /// User data of the token.
        user_data: Vec<u8>,
        /// Address of the client; `None` if the transport has no addresses.
        address: Option<SocketAddr>,
    },
    /// A player has lost its connection, and may resume. Its objects stay.
    Lost {
        /// The player.
        peer: PeerId,
        /// Reason of the loss.
        reason: Reason,
    },
    /// A player has connected again.
    Resumed {
        /// The player.
        peer: PeerId,
    },
    /// A player has left for good. Its objects lose their owner with the next
    /// [`send`](Server::send).
    Left {
        /// The player.
        peer: PeerId,
        /// Reason of the end.
        reason: Reason,
    },
    /// An offer of an [`Asset`](crate::play::Asset) has ended.
    Asset {
        /// The player.
        peer: PeerId,
        /// The asset.
        progress: AssetProgress,
        /// The player has all of it; otherwise it declined.
        is_complete: bool,
    },
    /// A connection was refused.
    Refused {
        /// Address of the client; `None` if the transport has no addresses.
        address: Option<SocketAddr>,
        /// Reason of the refusal.
        reason: Reason,
    },
}

/// Counts of a player.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct PeerPlayStats {
    /// Inputs of this connection: in time, late, missing, dropped.
    pub inputs: InputStats,
    /// Views of lag compensation, and those that were clamped.
    pub views: RewindStats,
    /// Snapshots that were sent and are neither acked nor known to be lost.
    pub in_flight: u32,
    /// Snapshots that were sent.
    pub snapshots: u64,
    /// Bytes of these snapshots.
    pub snapshot_bytes: u64,
    /// Snapshots that had no room for every dirty object.
    pub snapshots_incomplete: u64,
}

/// Largest number of refusals that wait to be polled.
const MAX_REFUSALS: usize = 1024;

impl<I: PlayerInput, T: Transport> Server<I, T> {
    /// Returns the counts of a player; `None` if there is no such player.
    #[must_use]
    pub fn stats(&self, peer: PeerId) -> Option<PeerPlayStats> {
        let player = self.world.players.get(&peer)?;
        let in_flight =
            player.receiver.and_then(|receiver| self.world.sender.in_flight(receiver)).unwrap_or(0);
        Some(PeerPlayStats {
            inputs: player.ring.stats(),
            views: player.rewind.stats(),
            in_flight,
            snapshots: player.snapshots.sent,
            snapshot_bytes: player.snapshots.bytes,
            snapshots_incomplete: player.snapshots.incomplete,
        })
    }

    /// Iterates over the players, in the order in which they joined.
    pub fn peers(&self) -> impl Iterator<Item = PeerId> {
        self.world.players.keys().copied()
    }

    pub(super) fn handle_session_events(&mut self) {
        while let Some(event) = self.session.poll_event() {
            match event {
                SessionEvent::Connected { peer, client, user_data, address } => {
                    self.handle_connected(peer, client, user_data, address);
                }
                SessionEvent::Disconnected { peer: Some(connection), reason } => {
                    self.handle_disconnected(connection, reason);
                }
                // Unauthenticated connections must not fill the memory of a game that does not poll.
                SessionEvent::Refused { address, reason } if self.refusals < MAX_REFUSALS => {
                    self.refusals += 1;
                    self.events.push_back(ServerEvent::Refused { address, reason });
                }
                _ => {}
            }
        }
        while let Some(peer) = self.logins.poll_left(self.now) {
            self.handle_left(peer, Reason::TimedOut);
        }
    }

    fn handle_connected(
        &mut self,
        connection: PeerId,
        client: u64,
        user_data: Vec<u8>,
        address: Option<SocketAddr>,
    ) {
        let (ticket, event) = match self.logins.handle_connected(connection, client, &user_data) {
            Arrival::Joined { ticket } => {
                let next = self.world.tick.saturating_add(1);
                let player = Player::new(&self.config, &self.input, self.tick_rate, next);
                self.world.players.insert(connection, player);
                self.attach(connection, connection);
                let peer = connection;
                (ticket, ServerEvent::Joined { peer, client, user_data, address })
            }
            Arrival::Resumed { player: peer, replaced, ticket } => {
                if let Some(replaced) = replaced {
                    self.session.close(replaced, &Reason::Replaced);
                    self.detach(peer);
                }
                self.attach(peer, connection);
                (Some(ticket), ServerEvent::Resumed { peer })
            }
            Arrival::Refused => {
                let reason = Reason::Token(TokenError::AlreadyConnected);
                self.session.close(connection, &reason);
                return;
            }
        };
        if let Some(ticket) = ticket.filter(|_| !self.config.resume_window.is_zero()) {
            // A client without a ticket cannot resume, and plays on.
            let _ = self.session.send(connection, &ticket, Delivery::ReliableOrdered);
        }
        self.events.push_back(event);
    }

    /// Gives a player a connection, with an empty view and no inputs.
    fn attach(&mut self, peer: PeerId, connection: PeerId) {
        let next = self.world.tick.saturating_add(1);
        let ring = new_ring(&self.config, &self.input.layout, self.tick_rate, next);
        let receiver = self.world.sender.add_receiver(self.config.leaving);
        let Some(player) = self.world.players.get_mut(&peer) else { return };
        player.connect(connection, receiver, ring);
        self.world.sender.set_level(receiver, player.level);
        self.world.restore(peer);
    }

    fn detach(&mut self, peer: PeerId) {
        let Some(player) = self.world.players.get_mut(&peer) else { return };
        player.connection = None;
        // A view holds history, and the next connection gets a new one.
        if let Some(receiver) = player.receiver.take() {
            self.world.sender.remove_receiver(receiver);
        }
    }

    fn handle_disconnected(&mut self, connection: PeerId, reason: Reason) {
        match self.logins.handle_disconnected(connection, &reason, self.now) {
            Departure::Lost(peer) => {
                self.detach(peer);
                self.events.push_back(ServerEvent::Lost { peer, reason });
            }
            Departure::Left(peer) => {
                self.detach(peer);
                self.handle_left(peer, reason);
            }
            Departure::Nobody => {}
        }
    }

    pub(super) fn handle_left(&mut self, peer: PeerId, reason: Reason) {
        self.events.push_back(ServerEvent::Left { peer, reason });
        self.departed.push(peer);
    }

    /// Forgets the players that have left. Until then the game can ask which objects they had.
    pub(super) fn forget_departed(&mut self) {
        while let Some(peer) = self.departed.pop() {
            self.world.clear_owned(peer);
            self.world.players.remove(&peer);
        }
    }

    /// Handles the inputs and acks of players.
    pub(super) fn handle_frames(&mut self) {
        let time = self.schedule.time(self.now);
        let mut hostile = Vec::new();
        let Self { session, world, input, .. } = self;
        while let Some((connection, number, body)) = session.poll_frame() {
            let Some(peer) = world.player_of(connection) else { continue };
            let ServerWorld { sender, players, .. } = &mut *world;
            let Some(player) = players.get_mut(&peer) else { continue };
            if number != INPUT_FRAME {
                hostile.push((connection, "a snapshot from a client".to_string()));
                continue;
            }
            let accepts = |cells: &[u32]| input.protocol.accepts(Row { class: 0, cells });
            let frame = match player.ring.receive::<Ack>(body, accepts) {
                Ok(Some(frame)) => frame,
                Ok(None) => continue,
                Err(error) => {
                    hostile.push((connection, error.to_string()));
                    continue;
                }
            };
            if let (Some(time), Some(newest)) = (time, frame.newest)
                && let Some(first) = frame.arrivals.clone().next()
            {
                let count = newest.wrapping_sub(first).saturating_add(1);
                player.margin.handle_inputs(time, newest, count);
            }
            let (Some((ack, delay)), Some(receiver)) = (frame.view, player.receiver) else {
                continue;
            };
            sender.handle_ack(receiver, ack);
            if let (Some(acked), Some(newest)) = (sender.acked_tick(receiver), frame.newest) {
                for tick in frame.arrivals {
                    player.rewind.handle_view(tick, newest, acked, delay);
                }
            }
        }
        for (connection, text) in hostile {
            self.close_hostile(connection, &text);
        }
    }

    /// Closes the connections of clients that sent messages which only a server sends.
    pub(super) fn refuse_server_messages(&mut self) {
        self.refuse::<Ownership>();
        self.refuse::<ResumeTicket>();
        self.refuse::<AssetOffer>();
        self.refuse::<AssetChunk>();
    }

    fn refuse<M: Message>(&mut self) {
        while let Some(received) = self.session.drain::<M>().next() {
            let text = format!("unexpected message \"{}\" from a client", M::NAME);
            self.close_hostile(received.sender, &text);
        }
    }

    fn close_hostile(&mut self, connection: PeerId, text: &str) {
        // A connection counts once, whatever it sent before it was closed.
        self.violations += u64::from(self.world.player_of(connection).is_some());
        self.session.close(connection, &Reason::violation(text));
        self.handle_session_events();
    }

    /// Sends changes of ownership.
    pub(super) fn send_control(&mut self) {
        let mut outbox = core::mem::take(&mut self.world.outbox);
        send_in_order(&mut outbox, |peer, ownership| {
            let player = self.world.players.get(&peer);
            let Some(connection) = player.and_then(|player| player.connection) else {
                return true;
            };
            let sent = self.session.send(connection, ownership, Delivery::ReliableOrdered);
            !matches!(sent, Err(SendError::Blocked(_) | SendError::QueueFull(_)))
        });
        self.world.outbox = outbox;
    }
}

/// Hands messages to `send`, which returns whether it took one. Those of a peer that did not take
/// one stay, in the same order: a later one must not overtake it.
fn send_in_order<P: Copy + PartialEq, M>(
    outbox: &mut Vec<(P, M)>,
    mut send: impl FnMut(P, &M) -> bool,
) {
    // Allocates only while a peer is behind.
    let mut blocked = Vec::new();
    outbox.retain(|(peer, message)| {
        let stays = blocked.contains(peer) || !send(*peer, message);
        if stays && !blocked.contains(peer) {
            blocked.push(*peer);
        }
        stays
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_message_overtakes_an_earlier_one_of_the_same_peer() {
        let mut outbox = vec![('a', 1), ('b', 1), ('a', 2), ('c', 1), ('b', 2), ('a', 3)];
        let mut sent = Vec::new();
        // Two peers take nothing at first, and then everything.
        send_in_order(&mut outbox, |peer, number| {
            let is_taken = peer == 'c' || *number > 1;
            sent.extend(is_taken.then_some((peer, *number)));
            is_taken
        });
        assert_eq!(sent, [('c', 1)]);
        assert_eq!(outbox, [('a', 1), ('b', 1), ('a', 2), ('b', 2), ('a', 3)]);
    }
}
