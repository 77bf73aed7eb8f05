//! What only a server does, and what only a client does, until messages go both ways.
//!
//! A server sends a client nothing before the client knows that it is welcome, and takes any message of
//! the application for that knowledge: no delivery waits for another, so either could overtake the
//! welcome. Each side of a mismatch computes its own explanation, since "here" is another place for
//! each.

use core::time::Duration;

use super::description::{Description, UNKNOWN};
use super::hub::{Hub, Step};
use super::links::State;
use super::said::{FORMAT, Hello, MAX_DESCRIPTION, NotUnderstood, Said, Welcome};
use super::{Admit, SessionEvent};
use crate::reason::Reason;
use crate::transport::Connection;

/// A side of a session.
pub(super) trait Role {
    const IS_SERVER: bool;

    /// There is a connection.
    fn connected<C: 'static>(&mut self, hub: &mut Hub<C>, connection: Connection) -> Step;

    /// The other side said something that belongs to the beginning.
    fn said<C: 'static>(&mut self, hub: &mut Hub<C>, from: Connection, said: Said) -> Step;

    /// The other side said something that nobody understands.
    fn not_understood(&self, from: Connection, error: NotUnderstood) -> Step {
        match error {
            NotUnderstood::Format(there) => {
                let of = |here, there| format!("session format: {here} here, {there} there");
                let told = Reason::mismatch(&of(there, FORMAT));
                Step::Close(from, told, Reason::mismatch(&of(FORMAT, there)))
            }
            NotUnderstood::Malformed => {
                Step::violation(from, "an internal message that nobody understands")
            }
        }
    }
}

/// Lets clients in, or not.
pub(super) struct ServerRole {
    gate: Box<dyn Admit>,
    /// What was explained last, as many have it in common.
    explained: Option<Explained>,
    /// How many explanations there were in the second that began at this time.
    explanations: (Duration, u32),
}

/// A difference to other sides, as they see it and as this side does.
struct Explained {
    there: Description,
    told: Reason,
    shown: Reason,
}

/// Wants to be let in.
pub(super) struct ClientRole {
    pub(super) token: Vec<u8>,
}

impl Role for ServerRole {
    const IS_SERVER: bool = true;

    fn connected<C: 'static>(&mut self, hub: &mut Hub<C>, connection: Connection) -> Step {
        // Those who have not said hello take memory too. A newcomer may be a player, and who has said
        // nothing for longest is the least likely to be one.
        let most = hub.config.max_clients.saturating_mul(2).saturating_add(STRANGERS);
        if hub.links.len() <= most {
            return Step::Nothing;
        }
        let last = hub.links.oldest_stranger(connection).unwrap_or(connection);
        Step::close(last, Reason::Busy)
    }

    fn said<C: 'static>(&mut self, hub: &mut Hub<C>, from: Connection, said: Said) -> Step {
        let Some(link) = hub.links.get_mut(from) else { return Step::Nothing };
        match (&mut link.state, said) {
            (State::New, Said::Hello(hello)) => self.hello(hub, from, &hello),
            (State::Welcomed(_), Said::Ready) => {
                hub.open(from, true);
                Step::Nothing
            }
            (State::Open(open), Said::Ready) if !open.is_ready => {
                open.is_ready = true;
                Step::Nothing
            }
            (State::Different(_), Said::Described(there)) => {
                let (told, shown) = self.explain(&hub.description, *there, hub.now);
                Step::Close(from, told, shown)
            }
            _ => Step::violation(from, "an internal message that was not its turn"),
        }
    }
}

impl ServerRole {
    pub(super) fn new(gate: Box<dyn Admit>) -> Self {
        Self { gate, explained: None, explanations: (Duration::ZERO, 0) }
    }

    /// Why the other side is refused, as it sees it and as this side does. It takes long for those who
    /// make it long, and their token is not used up: so it is not done often.
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
            if *count == EXPLANATIONS {
                return (Reason::mismatch(UNKNOWN), Reason::mismatch(UNKNOWN));
            }
            *count += 1;
            let told = Reason::mismatch(&there.mismatch(here));
            let shown = Reason::mismatch(&here.mismatch(&there));
            self.explained = Some(Explained { there, told, shown });
        }
        let explained = self.explained.as_ref();
        explained
            .map(|Explained { told, shown, .. }| (told.clone(), shown.clone()))
            .unwrap_or_default()
    }

    fn hello<C: 'static>(&mut self, hub: &mut Hub<C>, from: Connection, hello: &Hello) -> Step {
        let unix_now = hub.config.unix_start.saturating_add(hub.now);
        // The token first: strangers learn nothing about the game, and not whether there is room.
        let admitted = match self.gate.check(&hello.token, unix_now) {
            Ok(admitted) => admitted,
            Err(fault) => return Step::close(from, Reason::Token(fault)),
        };
        if hello.protocol != hub.protocol {
            return different(hub, from);
        }
        let is_client = |state: &State| matches!(state, State::Open(_) | State::Welcomed(_));
        let clients = hub.links.iter().filter(|(_, link)| is_client(&link.state)).count();
        if clients >= hub.config.max_clients {
            return Step::close(from, Reason::Full);
        }
        if let Err(fault) = self.gate.redeem(&hello.token, unix_now) {
            return Step::close(from, Reason::Token(fault));
        }
        let client = admitted.client;
        let now = hub.now;
        if let Some(link) = hub.links.get_mut(from) {
            link.state = State::Welcomed(admitted);
            link.since = now;
        }
        hub.say(from, Said::Welcome(Welcome { client }));
        Step::Welcome(from)
    }
}

/// Tells a client what this server speaks, and waits for what the client does.
fn different<C: 'static>(hub: &mut Hub<C>, from: Connection) -> Step {
    let step = hub.say(from, Said::Different(Box::new(hub.description.clone())));
    if hub.out.is_empty() || hub.out.len() > MAX_DESCRIPTION {
        return Step::close(from, Reason::mismatch(UNKNOWN));
    }
    let now = hub.now;
    if let Some(link) = hub.links.get_mut(from) {
        link.state = State::Different(None);
        link.since = now;
    }
    step
}

impl Role for ClientRole {
    const IS_SERVER: bool = false;

    fn connected<C: 'static>(&mut self, hub: &mut Hub<C>, connection: Connection) -> Step {
        let (format, protocol, token) = (FORMAT, hub.protocol, self.token.clone());
        hub.say(connection, Said::Hello(Hello { format, protocol, token }))
    }

    fn said<C: 'static>(&mut self, hub: &mut Hub<C>, from: Connection, said: Said) -> Step {
        let Some(link) = hub.links.get_mut(from) else { return Step::Nothing };
        match (&mut link.state, said) {
            (State::New, Said::Welcome(welcome)) => {
                hub.open(from, true);
                if let Some(SessionEvent::Connected { client, .. }) = hub.events.last_mut() {
                    *client = welcome.client;
                }
                hub.say(from, Said::Ready)
            }
            (state @ State::New, Said::Different(there)) => {
                let reason = Reason::mismatch(&hub.description.mismatch(&there));
                *state = State::Different(Some(reason));
                let step = hub.say(from, Said::Described(Box::new(hub.description.clone())));
                // The server waits, and then says that it does not know why.
                if hub.out.is_empty() || hub.out.len() > MAX_DESCRIPTION {
                    Step::Nothing
                } else {
                    step
                }
            }
            _ => Step::violation(from, "an internal message that was not its turn"),
        }
    }
}

/// How many may connect without a hello, besides as many as there can be clients.
const STRANGERS: usize = 64;

/// How many differences are explained in a second, not counting those of the same side as before.
const EXPLANATIONS: u32 = 2;
