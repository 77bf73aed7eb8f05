//! Time of the play layer: the server's schedule of ticks, and the client's input clock, which runs
//! ahead of it.
//!
//! The server measures how early inputs arrive and reports the smallest margin with each snapshot;
//! the client steers its clock by these reports. The round-trip time is used at the start only: half
//! of it is wrong on asymmetric paths, and it does not know of loss.
//!
//! * [`TickSchedule`]: begins the server's ticks at fixed times.
//! * [`MarginMeter`]: per peer, the margins of its inputs, as an [`InputReport`] for each snapshot.
//! * [`InputClock`]: on the client, the ticks that are due, and the estimate of the server's tick.
//!
//! The clocks depend only on `now` and on received packets, and do not allocate after construction.

mod config;
mod input_clock;
mod margin;
mod measurements;
mod report;
mod schedule;
mod window;

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod jump_tests;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

pub use config::TimeConfig;
pub(crate) use input_clock::InputClock;
pub(crate) use margin::{InputReport, MarginMeter};
pub use report::{Tick, TimeJump, TimeJumpCause, TimeReport};
pub(crate) use schedule::{ServerTime, TickSchedule};
