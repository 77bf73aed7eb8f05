//! The connections of a session, and how far each has come.

use core::fmt;
use core::time::Duration;
use std::collections::btree_map::Values;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use crate::message::{Delivery, PeerId};

use super::Admitted;
use crate::reason::Reason;
use crate::transport::Connection;

/// One connection.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) address: Option<SocketAddr>,
    /// When it came so far.
    pub(super) since: Duration,
    pub(super) state: State,
}

/// How far a connection has come.
#[derive(Debug)]
pub(super) enum State {
    /// The client has to say hello, or the server to answer it.
    New,
    /// The client has a place at this server, and may not know it.
    Welcomed(Admitted),
    /// The sides tell each other what they speak, since it is not the same; why, as far as this side
    /// knows.
    Different(Option<Reason>),
    /// Messages go both ways.
    Open(Open),
    /// It has ended, for this reason; what came before has to be handled yet.
    Gone(PeerId, Reason),
}

/// A connection over which messages go.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) peer: PeerId,
    /// Whether the client has said that it knows. Other messages can overtake that.
    pub(super) is_ready: bool,
    /// Since when too much is on its way to the peer, and nothing of it arrives.
    slow: Option<Slow>,
    /// Reliable batches that the transport had no room for. While there are some, nothing can be sent to
    /// the peer: so they are at most those of a frame.
    pub(super) waiting: VecDeque<(Delivery, Vec<u8>)>,
    /// Whether unreliable batches are dropped now, and how many were.
    pub(super) is_dropping: bool,
    pub(super) dropped: u64,
    /// Whether this side wants to know what the other's messages look like.
    pub(super) has_asked: bool,
    /// Whether the other side does, and when it was told last.
    pub(super) is_asked: bool,
    pub(super) answered: Option<Duration>,
}

/// A peer that does not keep up.
#[derive(Clone, Copy, Debug)]
struct Slow {
    /// The bytes that were on their way when they were fewest.
    least: usize,
    /// When that was.
    since: Duration,
}

/// All of them. In an order of their own, so that a replay does the same.
#[derive(Debug, Default)]
pub(super) struct Links {
    links: BTreeMap<Connection, Link>,
    peers: BTreeMap<PeerId, Connection>,
}

impl Open {
    fn new(peer: PeerId, is_ready: bool) -> Self {
        Self {
            peer,
            is_ready,
            slow: None,
            waiting: VecDeque::new(),
            is_dropping: false,
            dropped: 0,
            has_asked: false,
            is_asked: false,
            answered: None,
        }
    }

    /// The bytes of reliable batches that wait for room.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.waiting.iter().map(|(_, batch)| batch.len()).sum()
    }

    /// Notes that so much is on its way to the peer, which is too much; how long nothing of it arrives.
    pub(super) fn slow_for(&mut self, backlog: usize, now: Duration) -> Duration {
        let slow = self.slow.get_or_insert(Slow { least: backlog, since: now });
        if backlog < slow.least {
            *slow = Slow { least: backlog, since: now };
        }
        now.saturating_sub(slow.since)
    }

    /// Notes that the peer keeps up.
    pub(super) fn keeps_up(&mut self) {
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
        self.links.insert(connection, Link { address, since: now, state: State::New });
    }

    pub(super) fn get_mut(&mut self, connection: Connection) -> Option<&mut Link> {
        self.links.get_mut(&connection)
    }

    /// Whether an answer of a connection is to be read: not one that nobody has asked for.
    pub(super) fn waits_for_answer(&self, connection: Connection) -> bool {
        match self.links.get(&connection).map(|link| &link.state) {
            Some(State::Open(open)) => open.has_asked,
            Some(State::Gone(..)) | None => false,
            // It is not its turn.
            Some(_) => true,
        }
    }

    /// The one of those who have not said hello who had the most time for it, besides `newcomer`.
    pub(super) fn oldest_stranger(&self, newcomer: Connection) -> Option<Connection> {
        let is_stranger = |link: &Link| matches!(link.state, State::New);
        let others = self.iter().filter(|(connection, _)| *connection != newcomer);
        let strangers = others.filter(|(_, link)| is_stranger(link));
        strangers.min_by_key(|(_, link)| link.since).map(|(connection, _)| connection)
    }

    /// Messages go over a connection from now on.
    pub(super) fn open(&mut self, connection: Connection, peer: PeerId, is_ready: bool) {
        if let Some(link) = self.links.get_mut(&connection) {
            link.state = State::Open(Open::new(peer, is_ready));
            self.peers.insert(peer, connection);
        }
    }

    pub(super) fn remove(&mut self, connection: Connection) -> Option<Link> {
        let link = self.links.remove(&connection)?;
        if let State::Open(Open { peer, .. }) | State::Gone(peer, _) = &link.state {
            self.peers.remove(peer);
        }
        Some(link)
    }

    pub(super) fn connection(&self, peer: PeerId) -> Option<Connection> {
        self.peers.get(&peer).copied()
    }

    /// The connection of a peer that has not gone.
    pub(super) fn peer_mut(&mut self, peer: PeerId) -> Option<(Connection, &mut Open)> {
        let connection = self.connection(peer)?;
        Some((connection, self.opened_mut(connection)?))
    }

    /// What goes over a connection, if messages do.
    pub(super) fn opened_mut(&mut self, connection: Connection) -> Option<&mut Open> {
        match &mut self.links.get_mut(&connection)?.state {
            State::Open(open) => Some(open),
            _ => None,
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Connection, &Link)> {
        self.links.iter().map(|(connection, link)| (*connection, link))
    }

    pub(super) fn open_mut(&mut self) -> impl Iterator<Item = (Connection, &mut Open)> {
        self.links.iter_mut().filter_map(|(connection, link)| match &mut link.state {
            State::Open(open) => Some((*connection, open)),
            _ => None,
        })
    }

    /// The peers to which can be sent.
    pub(super) fn peers(&self) -> SessionPeers<'_> {
        SessionPeers { links: self.links.values() }
    }
}

/// The peers of a session, in the order in which they connected.
// A type of its own: one that is not named could have a destructor, so that
// `if let Some(peer) = server.peers().next() { server.send(…) }` would not compile.
#[derive(Clone)]
pub struct SessionPeers<'s> {
    links: Values<'s, Connection, Link>,
}

impl Iterator for SessionPeers<'_> {
    type Item = PeerId;

    fn next(&mut self) -> Option<PeerId> {
        self.links.find_map(|link| match &link.state {
            State::Open(open) => Some(open.peer),
            _ => None,
        })
    }
}

impl fmt::Debug for SessionPeers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}
