//! Players that connect again: resume tickets, duplicate logins, and the times of attempts.
//!
//! A server gives each player a ticket when it connects. The client shows the ticket in place of a
//! connect token, which works once, and goes on as the same player. All of it is a function of its
//! arguments, so that a recording replays.

mod backoff;
mod gate;
mod logins;
mod ticket;

pub(crate) use backoff::Backoff;
pub(crate) use gate::ResumeGate;
pub use logins::DuplicateLogin;
pub(crate) use logins::{Arrival, Departure, LoginConfig, Logins, can_resume};
pub(crate) use ticket::{ResumeTicket, ticket_key};

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
