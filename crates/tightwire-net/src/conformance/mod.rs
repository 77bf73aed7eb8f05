//! The suite that every [`Transport`] has to pass.
//!
//! The author of a transport gives [`run`] a function that makes two ends, connected or connecting,
//! and gets a [`Report`], or the first broken promise as a [`ConformanceError`]. The checks:
//!
//! * `connect`: each end connects once. Every check begins with it.
//! * `traffic`: all deliveries at once, in both directions, from the smallest batch to the largest.
//!   Reliable batches arrive once, ordered ones in order, all of them unchanged, and no late one of
//!   [`UnreliableSequenced`](Delivery::UnreliableSequenced). Over a perfect network, unreliable
//!   batches arrive too.
//! * `refusals`: batches that are too large, or without a connection, are refused.
//! * `largest`: a batch of exactly [`max_fragmented`](crate::transport::Path::max_fragmented)
//!   arrives.
//! * `full`: if one end polls nothing, the other gets
//!   [`Full`](crate::transport::NotSentError::Full) after a time; every accepted batch arrives
//!   later.
//! * `flood`: if one end polls nothing, few unreliable batches are kept for it, judged by how many
//!   arrive later.
//! * `pause`: a [pause](Transport::pause) holds reliable batches back, and loses none.
//! * `pause of the reliable`: a pause does not hold back unreliable batches.
//! * `close`: the [reason](Transport::close) of an end arrives once, behind the batches that
//!   arrived before; the closing end gets no event.
//!
//! That a lost batch of [`Delivery::Reliable`] delays no other batch cannot be verified for certain
//! from outside: over a lossy network, [`DeliveryCounts::overtaken`] should not be 0.
//!
//! ```
//! use tightwire::transport::conformance::{self, Clock, Options, Pair};
//! use tightwire::transport::InProcess;
//!
//! let make_pair = || {
//!     let (client, server) = InProcess::pair();
//!     Pair { client, server, clock: Clock::jumping() }
//! };
//! let report = conformance::run(make_pair, &Options { batches: 500, ..Options::default() })?;
//! // Both directions.
//! assert_eq!(report.deliveries.map(|delivery| delivery.arrived), [1000; 5]);
//! # Ok::<(), conformance::ConformanceError>(())
//! ```

mod batch;
mod broken;
mod clock;
mod close;
mod harness;
mod ledger;
mod limits;
mod report;
mod traffic;
mod unreliable;

use core::fmt;
use core::time::Duration;

#[cfg(doc)]
use crate::message::Delivery;

pub use broken::{ConformanceError, Fault};
pub use clock::Clock;
pub use report::{DeliveryCounts, Report};

use crate::transport::Transport;
use broken::EndFault;
use harness::Harness;

/// Two ends that are connected, or connecting, with their clock.
#[derive(Debug)]
pub struct Pair<A, B> {
    /// The end that connects, and already knows its server.
    pub client: A,
    /// The end that is connected to.
    pub server: B,
    /// The clock of both ends.
    pub clock: Clock,
}

/// Amount of traffic of a [`run`], and properties of its network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Number of batches of each delivery in each direction.
    /// Default: 100,000.
    pub batches: u32,
    /// Number of batches of each delivery that are sent at once.
    /// Default: 32.
    pub burst: u32,
    /// Time between bursts.
    /// Default: 4 ms.
    pub frame: Duration,
    /// Whether the network loses no packets at that rate. Then unreliable batches must arrive, too.
    /// Default: true.
    pub is_perfect: bool,
    /// Time without progress after which the suite gives up.
    /// Default: 30 s.
    pub timeout: Duration,
    /// Maximum bytes that may be accepted for an end that takes none.
    /// Default: 67,108,864.
    pub max_backlog: usize,
    /// Maximum bytes of each unreliable delivery that may be kept for an end that polls nothing.
    /// Default: 6,291,456.
    pub max_unreliable: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            batches: 100_000,
            burst: 32,
            frame: Duration::from_millis(4),
            is_perfect: true,
            timeout: Duration::from_secs(30),
            max_backlog: 64 << 20,
            max_unreliable: 6 << 20,
        }
    }
}

/// One of the two ends of a [`Pair`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The end that connects.
    Client,
    /// The end that is connected to.
    Server,
}

impl End {
    const BOTH: [Self; 2] = [Self::Client, Self::Server];

    /// Returns the opposite end.
    const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Client => "client",
            Self::Server => "server",
        })
    }
}

/// Runs all checks on a transport. Each check begins with a new pair.
///
/// # Errors
///
/// [`ConformanceError`] with the first promise that was broken.
pub fn run<A: Transport, B: Transport>(
    mut make_pair: impl FnMut() -> Pair<A, B>,
    options: &Options,
) -> Result<Report, ConformanceError> {
    let mut report = Report::default();
    let mut judge = |name, check: Check<A, B>, end| {
        let connected = Harness::connect(make_pair(), options);
        let mut harness = connected.map_err(|seen| seen.by("connect"))?;
        check(&mut harness, end, &mut report).map_err(|seen| seen.by(name))?;
        report.time += harness.now();
        report.frames += harness.frames();
        report.digest = batch::mix(report.digest ^ harness.digest());
        Ok(())
    };
    // This check covers both ends at once.
    judge("traffic", traffic::check, End::Client)?;
    for end in End::BOTH {
        judge("refusals", limits::check_refusals, end)?;
        judge("largest", limits::check_largest, end)?;
        judge("full", limits::check_full, end)?;
        judge("flood", unreliable::check_flood, end)?;
        judge("pause", limits::check_pause, end)?;
        judge("pause of the reliable", unreliable::check_pause, end)?;
        judge("close", close::check, end)?;
    }
    Ok(report)
}

/// A check, run for the end that acts.
type Check<A, B> = fn(&mut Harness<A, B>, End, &mut Report) -> Result<(), EndFault>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_config_field_documents_its_default() {
        crate::limits::check_documented(include_str!("mod.rs"), &Options::default());
    }
}
