//! Ticks, and reports about time to the game.

use core::fmt;

/// Number of a tick of the server's simulation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Tick(pub u32);

impl fmt::Display for Tick {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// A client's clocks. All times are in ticks of the server's simulation, with a fraction.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
#[non_exhaustive]
pub struct TimeReport {
    /// Estimated tick of the server now. Its error is at most half of the path's asymmetry and of
    /// both sides' poll intervals; inputs do not depend on it. 0 before the first snapshot.
    pub server_tick: f64,
    /// Tick of the input clock now. 0 before the first snapshot.
    pub input_tick: f64,
    /// Tick that playback shows; `None` before the first snapshot.
    pub shown: Option<f64>,
    /// Margin in the newest report of the server: how many ticks before its use the latest input
    /// arrived. Negative if it was late. From -7.875 to 7.875.
    pub margin: f64,
    /// Lead of the input clock over the server: `input_tick - server_tick`.
    pub lead: f64,
    /// Speed of the input clock compared with the local clock: 1 unless it is corrected.
    pub speed: f64,
    /// Jitter of inputs: delay of the slow ones after the fastest, in ticks.
    pub jitter: f64,
    /// The input clock follows the server's measurements; before, it follows the round-trip time.
    pub is_settled: bool,
}

/// A jump of the input clock: the game's ticks have a gap, or wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeJump {
    /// Ticks that were skipped, and have no input; or, negative, ticks for which the clock waits. A
    /// tick never comes twice. Saturates.
    pub ticks: i32,
    /// Cause of the jump.
    pub cause: TimeJumpCause,
}

/// Cause of a [`TimeJump`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum TimeJumpCause {
    /// This program did not run, or too slowly: more ticks were due than a frame may have.
    Stalled,
    /// No snapshot arrived for so long that prediction had to wait.
    Outage,
    /// Inputs arrived too late for a correction by speed.
    Late,
    /// Inputs arrived too early for a correction by speed.
    Early,
    /// One of the clocks stopped, the server paused, or the path to it changed.
    Discontinuity,
}

impl fmt::Display for TimeJumpCause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Stalled => "this program did not run, or too slowly",
            Self::Outage => "no snapshots arrived for a while",
            Self::Late => "inputs arrived far too late",
            Self::Early => "inputs arrived far too early",
            Self::Discontinuity => {
                "a clock stopped, the server paused, or the network path changed"
            }
        })
    }
}
