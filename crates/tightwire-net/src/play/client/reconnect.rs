//! Reconnection after a lost connection.

use core::time::Duration;

use super::{Client, ClientEvent};
use crate::play::PlayerInput;
use crate::play::resume::{Backoff, ResumeTicket, can_resume};
use crate::reason::Reason;
use crate::transport::Transport;

/// State of the reconnection.
#[derive(Debug, Default)]
pub(super) struct Reconnect {
    /// Ticket of the last connection, which is used once.
    ticket: Option<ResumeTicket>,
    backoff: Backoff,
    has_left: bool,
}

impl Reconnect {
    pub(super) fn set_ticket(&mut self, ticket: ResumeTicket) {
        self.ticket = Some(ticket);
    }

    /// Returns whether the connection resumes an earlier one.
    pub(super) fn handle_connected(&mut self) -> bool {
        let is_resumed = self.backoff.failures() > 0;
        self.backoff.handle_success();
        self.ticket = None;
        is_resumed
    }

    /// Plans the next attempt, and returns the time until then; `None` if there is none.
    pub(super) fn handle_lost(&mut self, reason: &Reason, now: Duration) -> Option<Duration> {
        if self.has_left || self.ticket.is_none() || !can_resume(reason) {
            return None;
        }
        self.backoff.handle_failure(now);
        self.backoff.next_time().map(|next| next.saturating_sub(now))
    }

    pub(super) fn give_up(&mut self) {
        self.has_left = true;
        self.backoff.handle_success();
    }
}

impl<I: PlayerInput, T: Transport> Client<I, T> {
    /// Connects again if it is time to.
    pub(super) fn try_reconnect(&mut self) {
        if !self.reconnect.backoff.poll_attempt(self.now) {
            return;
        }
        let Some(ticket) = &self.reconnect.ticket else { return };
        if let Err(error) = self.session.reconnect(&ticket.to_token(), self.now) {
            let reason = Reason::failed(&error.to_string());
            self.events.push_back(ClientEvent::Disconnected { reason });
        }
    }
}
