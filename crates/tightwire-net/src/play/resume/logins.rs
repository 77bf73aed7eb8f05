//! The players of a server, across their connections.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::ticket::{ResumeTicket, TicketHash, TicketSource};
use crate::message::PeerId;
use crate::reason::{Reason, TokenError};
use crate::session::Admitted;

/// Action of a server when a client connects that is connected already: one with the same number in
/// its connect token. Clients with the number 0 are distinct.
///
/// ```
/// use tightwire::play::DuplicateLogin;
///
/// assert_eq!(DuplicateLogin::default(), DuplicateLogin::Replace);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum DuplicateLogin {
    /// Closes the old connection with [`Reason::Replaced`], and the player goes on over the new one:
    /// the old connection is usually dead.
    #[default]
    Replace,
    /// Refuses the new connection with [`TokenError::AlreadyConnected`]. A client that shows its
    /// resume ticket is the same client, and goes on.
    Refuse,
}

/// Settings of [`Logins`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoginConfig {
    /// Time for which a lost player can resume.
    pub(crate) window: Duration,
    /// Largest number of lost players that wait; the one lost first makes room.
    pub(crate) max_lost: usize,
    pub(crate) duplicates: DuplicateLogin,
    /// Key of the tickets, which must be random and secret.
    pub(crate) key: [u8; 32],
}

/// Players by client number, connected or lost. Clones are the same logins: a
/// [`ResumeGate`](super::ResumeGate) has one, and the server another.
///
/// A player's id is the peer of its first connection, which no other peer ever gets.
#[derive(Clone)]
pub(crate) struct Logins {
    table: Arc<Mutex<Table>>,
}

/// Result of a client's connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    /// A new player, whose id is the peer's.
    Joined {
        /// `None` for a client without a number, which cannot resume.
        ticket: Option<ResumeTicket>,
    },
    /// A player goes on.
    Resumed {
        player: PeerId,
        /// Old connection to be closed with [`Reason::Replaced`]; `None` if it was lost before.
        replaced: Option<PeerId>,
        ticket: ResumeTicket,
    },
    /// A duplicate, to be closed with [`TokenError::AlreadyConnected`].
    Refused,
}

/// Result of the end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Departure {
    /// The player can resume for a while.
    Lost(PeerId),
    /// The player is gone for good.
    Left(PeerId),
    /// The connection was a replaced or refused one: no player has left.
    Nobody,
}

struct Table {
    config: LoginConfig,
    source: TicketSource,
    logins: BTreeMap<u64, Login>,
    /// Client numbers by ticket, and by connection.
    tickets: BTreeMap<TicketHash, u64>,
    peers: BTreeMap<PeerId, u64>,
    /// End of the window and client number of each lost login.
    lost: BTreeSet<(Duration, u64)>,
}

/// A player.
struct Login {
    player: PeerId,
    state: LoginState,
    ticket: TicketHash,
    /// A client has shown the ticket and is not connected yet.
    is_resuming: bool,
    user_data: Vec<u8>,
}

enum LoginState {
    Connected(PeerId),
    /// End of the window.
    Lost(Duration),
}

impl Logins {
    pub(crate) fn new(config: LoginConfig) -> Self {
        let table = Table {
            source: TicketSource::new(&config.key),
            config,
            logins: BTreeMap::new(),
            tickets: BTreeMap::new(),
            peers: BTreeMap::new(),
            lost: BTreeSet::new(),
        };
        Self { table: Arc::new(Mutex::new(table)) }
    }

    /// Handles a client that is connected now: see
    /// [`SessionEvent::Connected`](crate::session::SessionEvent::Connected).
    pub(crate) fn handle_connected(&self, peer: PeerId, client: u64, user_data: &[u8]) -> Arrival {
        self.lock().connected(peer, client, user_data)
    }

    /// Handles the end of a connection.
    pub(crate) fn handle_disconnected(
        &self,
        peer: PeerId,
        reason: &Reason,
        now: Duration,
    ) -> Departure {
        self.lock().disconnected(peer, reason, now)
    }

    /// Returns the next lost player whose window is over at `now`, or who had to make room.
    pub(crate) fn poll_left(&self, now: Duration) -> Option<PeerId> {
        self.lock().poll_left(now)
    }

    /// Forgets a player that must not resume, for example a lost player that was kicked.
    pub(crate) fn forget(&self, player: PeerId) {
        self.lock().forget_player(player);
    }

    /// Returns the end of the window of the player that was lost first; `None` if none is lost.
    pub(crate) fn next_time(&self) -> Option<Duration> {
        self.lock().lost.first().map(|(end, _)| *end)
    }

    pub(super) fn check_ticket(&self, ticket: &ResumeTicket) -> Result<Admitted, TokenError> {
        let mut table = self.lock();
        let (client, login) = table.with_ticket(ticket).ok_or(TokenError::Expired)?;
        Ok(Admitted { client, user_data: login.user_data.clone() })
    }

    /// A ticket is used up once its client is connected and has the next one. Until then it works
    /// again, since the first connection may be lost before the client hears of its welcome.
    pub(super) fn redeem_ticket(&self, ticket: &ResumeTicket) -> Result<(), TokenError> {
        let mut table = self.lock();
        let (_, login) = table.with_ticket(ticket).ok_or(TokenError::Expired)?;
        login.is_resuming = true;
        Ok(())
    }

    pub(super) fn check_duplicate(&self, client: u64) -> Result<(), TokenError> {
        let table = self.lock();
        let is_connected = table
            .logins
            .get(&client)
            .is_some_and(|login| matches!(login.state, LoginState::Connected(_)));
        let is_refused = table.config.duplicates == DuplicateLogin::Refuse && is_connected;
        if is_refused { Err(TokenError::AlreadyConnected) } else { Ok(()) }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn with_ticket(&mut self, ticket: &ResumeTicket) -> Option<(u64, &mut Login)> {
        let client = *self.tickets.get(&ticket.hash())?;
        Some((client, self.logins.get_mut(&client)?))
    }

    fn connected(&mut self, peer: PeerId, client: u64, user_data: &[u8]) -> Arrival {
        if client == 0 {
            self.peers.insert(peer, client);
            return Arrival::Joined { ticket: None };
        }
        let ticket = self.source.next();
        let hash = ticket.hash();
        let state = LoginState::Connected(peer);
        let Some(login) = self.logins.get_mut(&client) else {
            let user_data = user_data.to_vec();
            let login = Login { player: peer, state, ticket: hash, is_resuming: false, user_data };
            self.logins.insert(client, login);
            self.tickets.insert(hash, client);
            self.peers.insert(peer, client);
            return Arrival::Joined { ticket: Some(ticket) };
        };
        // The gate refuses most duplicates; this one said hello while the first one did.
        let is_refused = self.config.duplicates == DuplicateLogin::Refuse && !login.is_resuming;
        if is_refused && matches!(login.state, LoginState::Connected(_)) {
            return Arrival::Refused;
        }
        self.tickets.remove(&core::mem::replace(&mut login.ticket, hash));
        self.tickets.insert(hash, client);
        login.is_resuming = false;
        login.user_data.clear();
        login.user_data.extend_from_slice(user_data);
        let replaced = match core::mem::replace(&mut login.state, state) {
            LoginState::Connected(old) => {
                self.peers.remove(&old);
                Some(old)
            }
            LoginState::Lost(end) => {
                self.lost.remove(&(end, client));
                None
            }
        };
        self.peers.insert(peer, client);
        Arrival::Resumed { player: login.player, replaced, ticket }
    }

    fn disconnected(&mut self, peer: PeerId, reason: &Reason, now: Duration) -> Departure {
        let Some(client) = self.peers.remove(&peer) else { return Departure::Nobody };
        // A client without a number.
        let Some(login) = self.logins.get_mut(&client) else { return Departure::Left(peer) };
        let player = login.player;
        if !can_resume(reason) || self.config.max_lost == 0 {
            self.forget(client);
            return Departure::Left(player);
        }
        let end = now.saturating_add(self.config.window);
        login.state = LoginState::Lost(end);
        self.lost.insert((end, client));
        Departure::Lost(player)
    }

    fn poll_left(&mut self, now: Duration) -> Option<PeerId> {
        let &(end, client) = self.lost.first()?;
        if end > now && self.lost.len() <= self.config.max_lost {
            return None;
        }
        self.lost.pop_first();
        self.forget(client)
    }

    fn forget_player(&mut self, player: PeerId) {
        let found = self.logins.iter().find(|(_, login)| login.player == player);
        let Some((&client, login)) = found else { return };
        match login.state {
            LoginState::Connected(peer) => drop(self.peers.remove(&peer)),
            LoginState::Lost(end) => drop(self.lost.remove(&(end, client))),
        }
        self.forget(client);
    }

    fn forget(&mut self, client: u64) -> Option<PeerId> {
        let login = self.logins.remove(&client)?;
        self.tickets.remove(&login.ticket);
        Some(login.player)
    }
}

/// Whether a player whose connection ended for this reason may resume: the network failed, and
/// neither side closed the connection.
pub(crate) fn can_resume(reason: &Reason) -> bool {
    matches!(
        reason,
        Reason::TimedOut | Reason::TooSlow | Reason::Forgotten | Reason::Failed(_) | Reason::Busy
    )
}
