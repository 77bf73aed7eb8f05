//! The connections of a session, with the state of their handshakes.

use core::fmt;
use core::time::Duration;
use std::collections::btree_map::Values;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use crate::message::{Delivery, PeerId};

use super::Admitted;
use super::frames::FrameQuota;
use crate::reason::Reason;
use crate::transport::Connection;

/// A connection.
#[derive(Debug)]
pub(super) struct SessionConnection {
    pub(super) address: Option<SocketAddr>,
    /// Time at which the handshake got to its present state.
    pub(super) since: Duration,
    pub(super) state: LinkState,
}

/// State of a connection.
#[derive(Debug)]
pub(super) enum LinkState {
    /// Waits for the client's hello, or for the server's answer to it.
    Connecting,
    /// The server has sent its welcome, which the client may not have got.
    Welcomed(Admitted),
    /// The protocol ids differ, and the sides exchange their descriptions; the mismatch, once this
    /// side knows it.
    Mismatched(Option<Reason>),
    /// Messages flow both ways.
    Open(Open),
    /// The connection has ended, for this reason; received messages still have to be handled.
    Disconnected(PeerId, Reason),
}

impl LinkState {
    /// Name of the state in the reason of a disconnect.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Connecting => "Connecting",
            Self::Welcomed(_) => "Welcomed",
            Self::Mismatched(_) => "Mismatched",
            Self::Open(_) => "Connected",
            Self::Disconnected(..) => "Disconnected",
        }
    }
}

/// A connection over which messages flow.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) peer: PeerId,
    /// Whether the client has sent `Ready`. Other messages can overtake it.
    pub(super) is_ready: bool,
    /// Progress of the backlog while it is too large; `None` while the peer keeps up.
    slow: Option<Stall>,
    /// Reliable batches that the transport had no room for. While there are some, the peer is
    /// blocked, so they are at most those of a frame.
    waiting: VecDeque<(Delivery, Vec<u8>)>,
    /// Batches of the fragmented delivery that the transport had no room for. They delay no other
    /// batches.
    waiting_fragmented: VecDeque<(Delivery, Vec<u8>)>,
    /// Whether unreliable batches are being dropped, and the number that was dropped.
    pub(super) is_dropping: bool,
    pub(super) dropped: u64,
    pub(super) frames: FrameQuota,
    /// Whether this side has requested the remote schema.
    pub(super) has_requested_schema: bool,
    /// The other side has requested the schema of this one, and the time of the last answer.
    pub(super) is_schema_requested: bool,
    pub(super) schema_sent_at: Option<Duration>,
}

/// A peer that does not keep up.
#[derive(Clone, Copy, Debug)]
struct Stall {
    /// Smallest backlog since then, in bytes.
    min_backlog: usize,
    /// Time of the smallest backlog.
    since: Duration,
}

/// All connections. Ordered by number, so that a replay does the same.
#[derive(Debug, Default)]
pub(super) struct Links {
    links: BTreeMap<Connection, SessionConnection>,
    peers: BTreeMap<PeerId, Connection>,
}

impl Open {
    fn new(peer: PeerId, is_ready: bool) -> Self {
        Self {
            peer,
            is_ready,
            slow: None,
            waiting: VecDeque::new(),
            waiting_fragmented: VecDeque::new(),
            is_dropping: false,
            dropped: 0,
            frames: FrameQuota::default(),
            has_requested_schema: false,
            is_schema_requested: false,
            schema_sent_at: None,
        }
    }

    /// Returns the waiting batches that those of a delivery follow.
    fn queue(&self, delivery: Delivery) -> &VecDeque<(Delivery, Vec<u8>)> {
        if delivery.fragments() { &self.waiting_fragmented } else { &self.waiting }
    }

    /// Whether a batch of this delivery has to wait behind queued ones.
    pub(super) fn is_waiting(&self, delivery: Delivery) -> bool {
        delivery.is_reliable() && !self.queue(delivery).is_empty()
    }

    /// Whether any batches wait.
    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty() || !self.waiting_fragmented.is_empty()
    }

    /// Keeps a batch that the transport has no room for.
    pub(super) fn wait(&mut self, delivery: Delivery, batch: Vec<u8>) {
        let fragments = delivery.fragments();
        let queue = if fragments { &mut self.waiting_fragmented } else { &mut self.waiting };
        queue.push_back((delivery, batch));
    }

    /// Sends the waiting batches of both kinds in their order, until `send` refuses one.
    pub(super) fn send_waiting<E>(
        &mut self,
        mut send: impl FnMut(Delivery, &[u8]) -> Result<(), E>,
    ) -> [Result<(), E>; 2] {
        [&mut self.waiting, &mut self.waiting_fragmented].map(|queue| {
            while let Some((delivery, batch)) = queue.front() {
                send(*delivery, batch)?;
                queue.pop_front();
            }
            Ok(())
        })
    }

    /// Returns the bytes of waiting reliable batches.
    pub(super) fn waiting_bytes(&self) -> usize {
        let all = self.waiting.iter().chain(&self.waiting_fragmented);
        all.map(|(_, batch)| batch.len()).sum()
    }

    /// Records a backlog that is too large; returns for how long it has not become smaller.
    pub(super) fn stalled_for(&mut self, backlog: usize, now: Duration) -> Duration {
        let slow = self.slow.get_or_insert(Stall { min_backlog: backlog, since: now });
        if backlog < slow.min_backlog {
            *slow = Stall { min_backlog: backlog, since: now };
        }
        now.saturating_sub(slow.since)
    }

    /// Records that the peer keeps up.
    pub(super) fn clear_stall(&mut self) {
        self.slow = None;
    }
}

impl Links {
    pub(super) fn len(&self) -> usize {
        self.links.len()
    }

    pub(super) fn add(
        &mut self,
        connection: Connection,
        address: Option<SocketAddr>,
        now: Duration,
    ) {
        self.links.insert(
            connection,
            SessionConnection { address, since: now, state: LinkState::Connecting },
        );
    }

    pub(super) fn get_mut(&mut self, connection: Connection) -> Option<&mut SessionConnection> {
        self.links.get_mut(&connection)
    }

    /// Whether an answer from a connection is to be read: only a requested one.
    pub(super) fn waits_for_schema(&self, connection: Connection) -> bool {
        match self.links.get(&connection).map(|link| &link.state) {
            Some(LinkState::Open(open)) => open.has_requested_schema,
            Some(LinkState::Disconnected(..)) | None => false,
            // An answer is not valid in this state: it is read, and closes the connection.
            Some(_) => true,
        }
    }

    /// Returns the oldest connection without a hello, other than `newest`.
    pub(super) fn oldest_unauthenticated(&self, newest: Connection) -> Option<Connection> {
        let is_unauthenticated =
            |link: &SessionConnection| matches!(link.state, LinkState::Connecting);
        let others = self.iter().filter(|(connection, _)| *connection != newest);
        let unauthenticated = others.filter(|(_, link)| is_unauthenticated(link));
        unauthenticated.min_by_key(|(_, link)| link.since).map(|(connection, _)| connection)
    }

    /// Opens a connection for messages.
    pub(super) fn open(&mut self, connection: Connection, peer: PeerId, is_ready: bool) {
        if let Some(link) = self.links.get_mut(&connection) {
            link.state = LinkState::Open(Open::new(peer, is_ready));
            self.peers.insert(peer, connection);
        }
    }

    pub(super) fn remove(&mut self, connection: Connection) -> Option<SessionConnection> {
        let link = self.links.remove(&connection)?;
        if let LinkState::Open(Open { peer, .. }) | LinkState::Disconnected(peer, _) = &link.state {
            self.peers.remove(peer);
        }
        Some(link)
    }

    pub(super) fn connection(&self, peer: PeerId) -> Option<Connection> {
        self.peers.get(&peer).copied()
    }

    /// Returns the connection of a peer that has not disconnected.
    pub(super) fn peer_mut(&mut self, peer: PeerId) -> Option<(Connection, &mut Open)> {
        let connection = self.connection(peer)?;
        Some((connection, self.opened_mut(connection)?))
    }

    /// Returns the open state of a peer that has not disconnected.
    pub(super) fn peer(&self, peer: PeerId) -> Option<&Open> {
        match &self.links.get(&self.connection(peer)?)?.state {
            LinkState::Open(open) => Some(open),
            _ => None,
        }
    }

    /// Returns the open state of a connection, if messages flow over it.
    pub(super) fn opened_mut(&mut self, connection: Connection) -> Option<&mut Open> {
        match &mut self.links.get_mut(&connection)?.state {
            LinkState::Open(open) => Some(open),
            _ => None,
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Connection, &SessionConnection)> {
        self.links.iter().map(|(connection, link)| (*connection, link))
    }

    pub(super) fn open_mut(&mut self) -> impl Iterator<Item = (Connection, &mut Open)> {
        self.links.iter_mut().filter_map(|(connection, link)| match &mut link.state {
            LinkState::Open(open) => Some((*connection, open)),
            _ => None,
        })
    }

    /// Iterates over the connected peers.
    pub(super) fn peers(&self) -> SessionPeers<'_> {
        SessionPeers { links: self.links.values() }
    }
}

/// Iterator over the peers of a session, in the order in which they connected.
// A named type, since an opaque one could have a destructor, so that
// `if let Some(peer) = server.peers().next() { server.send(…) }` would not compile.
#[derive(Clone)]
pub struct SessionPeers<'s> {
    links: Values<'s, Connection, SessionConnection>,
}

impl Iterator for SessionPeers<'_> {
    type Item = PeerId;

    fn next(&mut self) -> Option<PeerId> {
        self.links.find_map(|link| match &link.state {
            LinkState::Open(open) => Some(open.peer),
            _ => None,
        })
    }
}

impl fmt::Debug for SessionPeers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}
