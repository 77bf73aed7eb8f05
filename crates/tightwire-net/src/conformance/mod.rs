//! The suite that every [`Transport`] has to pass.
//!
//! Whoever writes a transport gives [`run`] a way to make two ends that are connected or connect, and
//! gets a [`Report`], or the promise that was [`ConformanceError`]. The checks:
//!
//! * `connect`: each end connects once. Every check begins with it.
//! * `traffic`: all deliveries at once, in both directions, from the smallest batch to the largest: reliable ones
//!   come once, the ordered ones in their order, none changed, and no late one of
//!   [`UnreliableSequenced`](Delivery::UnreliableSequenced). Over a perfect network, the unreliable
//!   ones come too.
//! * `refusals`: what is too large, or for nobody, is refused.
//! * `largest`: a batch of exactly [`max_fragmented`](crate::transport::Path::max_fragmented) arrives.
//! * `full`: if one end polls nothing, the other is told [`Full`](crate::transport::NotSentError::Full) after a time; later
//!   everything comes that was accepted.
//! * `flood`: if it polls nothing, few of the unreliable ones are kept for it, as far as that can be seen:
//!   by how many come later.
//! * `pause`: a [pause](Transport::pause) holds reliable batches back, and loses none.
//! * `pause of the reliable`: it does not hold back the others.
//! * `close`: the [reason](Transport::close) of an end arrives once, behind what arrived before; the end that
//!   closed hears nothing.
//!
//! That a lost batch of [`Delivery::Reliable`] holds up no other cannot be seen from outside for sure:
//! over a network that loses, [`Figures::overtaken`] should not be 0.
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
mod ledger;
mod limits;
mod report;
mod stand;
mod traffic;
mod unreliable;

use core::fmt;
use core::time::Duration;

#[cfg(doc)]
use crate::message::Delivery;

pub use broken::{ConformanceError, Fault};
pub use clock::Clock;
pub use report::{Figures, Report};

use crate::transport::Transport;
use broken::Seen;
use stand::Stand;

/// Two ends that are connected, or will be, and their time.
#[derive(Debug)]
pub struct Pair<A, B> {
    /// The end that connects. It knows whom.
    pub client: A,
    /// The end that is connected to.
    pub server: B,
    /// The time for both.
    pub clock: Clock,
}

/// What [`run`] does, and what it expects of the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// How many batches of each delivery are sent in each direction.
    pub batches: u32,
    /// How many of each delivery are sent at once.
    pub burst: u32,
    /// How long it is until the next are.
    pub frame: Duration,
    /// Whether the network loses nothing at that rate. Then the unreliable batches have to come, too.
    pub is_perfect: bool,
    /// How long nothing has to happen until the suite gives up.
    pub patience: Duration,
    /// The most bytes that may be accepted for an end that takes nothing.
    pub most_waiting: usize,
    /// The most bytes of each unreliable delivery that may be kept for an end that polls nothing.
    pub most_unreliable: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            batches: 100_000,
            burst: 32,
            frame: Duration::from_millis(4),
            is_perfect: true,
            patience: Duration::from_secs(30),
            most_waiting: 64 << 20,
            most_unreliable: 6 << 20,
        }
    }
}

/// One of the two ends of a [`Pair`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The one that connects.
    Client,
    /// The one that is connected to.
    Server,
}

impl End {
    const BOTH: [Self; 2] = [Self::Client, Self::Server];

    /// The other one.
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

/// Judges a transport. Each check begins with a new pair.
///
/// # Errors
///
/// [`ConformanceError`] says which promise was not kept, the first one that was seen.
pub fn run<A: Transport, B: Transport>(
    mut make_pair: impl FnMut() -> Pair<A, B>,
    options: &Options,
) -> Result<Report, ConformanceError> {
    let mut report = Report::default();
    let mut judge = |name, check: Check<A, B>, end| {
        let connected = Stand::connect(make_pair(), options);
        let mut stand = connected.map_err(|seen| seen.by("connect"))?;
        check(&mut stand, end, &mut report).map_err(|seen| seen.by(name))?;
        report.time += stand.now();
        report.frames += stand.frames();
        report.digest = batch::mix(report.digest ^ stand.digest());
        Ok(())
    };
    // Both ends are looked at at once.
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

/// A check, and the end that does what is looked at.
type Check<A, B> = fn(&mut Stand<A, B>, End, &mut Report) -> Result<(), Seen>;
