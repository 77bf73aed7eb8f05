//! Helpers of the tests: pairs of ends, and networks between them.

pub(crate) mod arena;
pub(crate) mod game;
#[path = "../../../tightwire/tests/common/mutate.rs"]
pub(crate) mod mutate;
pub(crate) mod net;
#[macro_use]
pub(crate) mod networks;
#[path = "../../../tightwire/tests/common/replay.rs"]
pub(crate) mod replay;
#[path = "../../../tightwire/tests/common/rng.rs"]
pub(crate) mod rng;
#[path = "../../../tightwire/tests/common/seed.rs"]
pub(crate) mod seed;
#[path = "../../../tightwire/tests/common/volume.rs"]
pub(crate) mod volume;

use std::time::Duration;

use tightwire::transport::conformance::{Clock, Pair};
use tightwire::transport::{Connection, Event, InProcess, InProcessConfig, Transport};

// The fuzz target needs all of it.
pub(crate) use crate::checks::quic::raw;

/// Two ends for the suite.
pub(crate) fn pair(config: InProcessConfig, seed: u64) -> Pair<InProcess, InProcess> {
    let (client, server) = InProcess::pair(config, seed::seed(seed));
    Pair { client, server, clock: Clock::jumping() }
}

/// Two ends that have connected, and the number that both have for it.
pub(crate) fn ready_pair(config: InProcessConfig, seed: u64) -> (InProcess, InProcess, Connection) {
    let (mut client, mut server) = InProcess::pair(config, seed::seed(seed));
    let mut last = None;
    for end in [&mut client, &mut server] {
        end.handle_input(Duration::ZERO);
        let Some(Event::Connected { connection, .. }) = end.poll_event() else { panic!() };
        assert_eq!(end.poll_event(), None);
        last = Some(connection);
    }
    (client, server, last.unwrap())
}
