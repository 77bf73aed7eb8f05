//! Pairs of ends, and networks between them.

#[macro_use]
#[allow(dead_code, reason = "not every test needs all")]
pub(crate) mod networks;

use std::time::Duration;

use tightwire_transport::conformance::{Clock, Pair};
use tightwire_transport::{Connection, Event, InProcess, InProcessConfig, Transport};

/// Two ends for the suite.
pub(crate) fn pair(config: InProcessConfig, seed: u64) -> Pair<InProcess, InProcess> {
    let (client, server) = InProcess::pair(config, seed);
    Pair { client, server, clock: Clock::jumping() }
}

/// Two ends that have connected, and the number that both have for it.
#[allow(dead_code, reason = "not every test needs it")]
pub(crate) fn ready_pair(config: InProcessConfig, seed: u64) -> (InProcess, InProcess, Connection) {
    let (mut client, mut server) = InProcess::pair(config, seed);
    let mut last = None;
    for end in [&mut client, &mut server] {
        end.handle_input(Duration::ZERO);
        let Some(Event::Connected { connection, .. }) = end.poll_event() else { panic!() };
        assert_eq!(end.poll_event(), None);
        last = Some(connection);
    }
    (client, server, last.unwrap())
}
