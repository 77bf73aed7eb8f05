//! The gate of a server whose players can resume.

use core::time::Duration;

use super::logins::Logins;
use super::ticket::ResumeTicket;
use crate::reason::TokenError;
use crate::session::{Admit, Admitted};

/// A gate that takes a resume ticket in place of a token, and asks the game's own gate about all
/// other tokens.
pub(crate) struct ResumeGate<G> {
    gate: G,
    logins: Logins,
}

impl<G: Admit> ResumeGate<G> {
    /// Puts tickets of these logins in front of the game's gate.
    pub(crate) fn new(gate: G, logins: Logins) -> Self {
        Self { gate, logins }
    }
}

impl<G: Admit> Admit for ResumeGate<G> {
    fn check(&mut self, token: &[u8], unix_now: Duration) -> Result<Admitted, TokenError> {
        if let Some(ticket) = ResumeTicket::from_token(token) {
            return self.logins.check_ticket(&ticket);
        }
        let admitted = self.gate.check(token, unix_now)?;
        self.logins.check_duplicate(admitted.client)?;
        Ok(admitted)
    }

    fn redeem(&mut self, token: &[u8], unix_now: Duration) -> Result<(), TokenError> {
        match ResumeTicket::from_token(token) {
            Some(ticket) => self.logins.redeem_ticket(&ticket),
            None => self.gate.redeem(token, unix_now),
        }
    }
}
