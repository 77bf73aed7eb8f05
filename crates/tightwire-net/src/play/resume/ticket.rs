//! Resume tickets, and their form as a token.

use tightwire_core::Wire;

use crate::message::Message;
use crate::session::SessionConfig;
use crate::token::{MintError, TokenKey};

/// The message with which a server gives a player its ticket. It is sent reliably whenever the
/// player connects, and replaces the ticket before.
#[derive(Wire, Message, Clone, PartialEq, Eq, Default)]
#[message(name = "tightwire.ResumeTicket")]
pub(crate) struct ResumeTicket {
    secret: [u8; SECRET],
}

/// SHA-256 of a ticket: the server keeps no ticket, so a copy of its memory resumes nobody.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct TicketHash([u8; 32]);

/// Source of tickets. One key gives the same tickets in the same order, as a replay needs.
pub(super) struct TicketSource {
    key: ring::hmac::Key,
    /// Number of tickets so far.
    count: u64,
}

impl ResumeTicket {
    /// Returns the ticket in a token of a hello; `None` if the token is another one.
    pub(super) fn from_token(token: &[u8]) -> Option<Self> {
        let secret = token.strip_prefix(PREFIX)?.try_into().ok()?;
        Some(Self { secret })
    }

    /// Returns the token with which a client resumes.
    pub(crate) fn to_token(&self) -> Vec<u8> {
        [PREFIX, &self.secret].concat()
    }

    pub(super) fn hash(&self) -> TicketHash {
        let digest = ring::digest::digest(&ring::digest::SHA256, &self.secret);
        let mut hash = [0; 32];
        hash.copy_from_slice(digest.as_ref());
        TicketHash(hash)
    }
}

impl TicketSource {
    pub(super) fn new(key: &[u8; 32]) -> Self {
        Self { key: ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key), count: 0 }
    }

    /// Returns a ticket that nobody without the key can guess.
    pub(super) fn next(&mut self) -> ResumeTicket {
        self.count = self.count.wrapping_add(1);
        let tag = ring::hmac::sign(&self.key, &self.count.to_le_bytes());
        let mut secret = [0; SECRET];
        secret.copy_from_slice(tag.as_ref());
        ResumeTicket { secret }
    }
}

/// Returns the key of the tickets of one run of a server, derived from the server's own key, or
/// from a random key. The seed of the session would not be secret: recordings contain it, and games
/// draw random numbers from it.
pub(crate) fn ticket_key(
    key: Option<&TokenKey>,
    session: &SessionConfig,
) -> Result<[u8; 32], MintError> {
    // A server that restarts with its key numbers its players from 1 again. The start time makes
    // its tickets differ from those of the previous run, which other players have.
    let start = session.unix_start.as_nanos().to_le_bytes();
    let purpose = [DOMAIN, &start, &session.seed.to_le_bytes()].concat();
    match key {
        Some(key) => Ok(key.derive(&purpose)),
        None => Ok(TokenKey::generate()?.derive(&purpose)),
    }
}

// A log must not have a ticket that still works.
impl core::fmt::Debug for ResumeTicket {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("ResumeTicket(secret)")
    }
}

/// First bytes of a token that is a ticket. A connect token begins with a random nonce of 24 bytes,
/// and is longer.
const PREFIX: &[u8] = b"tightwire resume";

/// Purpose from which the key of tickets is derived, so that it differs from a key that seals
/// connect tokens.
const DOMAIN: &[u8] = b"tightwire resume ticket 1";

/// Bytes of a ticket's secret.
const SECRET: usize = 32;
