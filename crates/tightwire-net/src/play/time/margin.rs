//! Margins of inputs: how early they arrive at the server.

use super::ServerTime;

/// Measures how early a peer's inputs arrive.
///
/// The margin of an input is its tick minus the server's time when it first arrived, in any packet:
/// an input that redundancy recovers after a loss counts with its real lateness, so that one number
/// covers both jitter and loss.
#[derive(Debug, Default)]
pub(crate) struct MarginMeter {
    /// Newest tick whose input arrived; `None` before the first.
    newest: Option<u32>,
    /// Inputs that arrived: bit `i` is that of tick `newest - i`.
    arrived: u64,
    /// Smallest margin since the last report, in steps; `None` if no input arrived.
    smallest: Option<i8>,
}

/// Report to a client about its inputs, with each snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InputReport {
    /// Tick of the newest input that arrived, minus the tick of the snapshot: -64..=63.
    pub(crate) ahead: i8,
    /// Smallest margin of inputs that arrived since the last report, in eighths of a tick, rounded
    /// down, so that the sign tells whether one was late. -63 and 63 stand for what is beyond. `None`
    /// if none arrived: that is not the same as a late one, as the client may have missed the reports
    /// before, and would take an outage for a delay of the path.
    pub(crate) margin: Option<i8>,
}

impl MarginMeter {
    /// Handles a packet with the inputs of `count` ticks up to `newest`, that the peer's input queue
    /// did not refuse.
    pub(crate) fn handle_inputs(&mut self, time: ServerTime, newest: u32, count: u32) {
        // Inputs so far ahead are refused; here, one would turn later ones into old ones.
        if count == 0 || newest.saturating_sub(time.tick) >= u64::BITS {
            return;
        }
        let before = self.newest.unwrap_or(newest);
        let shift = newest.saturating_sub(before);
        self.arrived = self.arrived.checked_shl(shift).unwrap_or(0);
        self.newest = Some(before.max(newest));
        // A packet that others overtook: its newest input is not the newest of all.
        let behind = before.saturating_sub(newest);
        let count = count.min(u64::BITS).min(newest.saturating_add(1));
        let inputs = (u64::MAX >> (u64::BITS - count)).checked_shl(behind).unwrap_or(0);
        let new = inputs & !self.arrived;
        self.arrived |= inputs;
        if new != 0 {
            // The oldest of the new ones has the smallest margin.
            let oldest = before.max(newest).saturating_sub(u64::BITS - 1 - new.leading_zeros());
            let margin = steps(oldest, time);
            self.smallest = Some(self.smallest.map_or(margin, |smallest| smallest.min(margin)));
        }
    }

    /// Returns the report for the snapshot of the current tick, and begins the next one. `None` if
    /// no input arrived that is of the last 64 ticks.
    pub(crate) fn report(&mut self, time: ServerTime) -> Option<InputReport> {
        let newest = self.newest?;
        let margin = self.smallest.take();
        let ahead = i64::from(newest) - i64::from(time.tick);
        let ahead = (ahead >= -64).then_some(ahead.min(63) as i8)?;
        Some(InputReport { ahead, margin })
    }
}

impl InputReport {
    /// Steps of the margin in a tick.
    pub(super) const STEPS: f64 = 8.0;

    /// Largest margin, and largest lateness, in steps.
    pub(super) const MAX_MARGIN: i8 = 63;

    /// Returns whether an input arrived late, or has not arrived for the tick of the snapshot.
    pub(super) fn is_late(self) -> bool {
        self.margin.map_or(self.ahead < 0, |margin| margin < 0)
    }
}

/// Returns the margin of an input that arrives at `time`, in steps. That of a tick that has begun is
/// negative, even if it has only just begun: its inputs are frozen.
fn steps(tick: u32, time: ServerTime) -> i8 {
    let ticks = f64::from(tick) - time.ticks();
    let most = f64::from(InputReport::MAX_MARGIN);
    let steps = (ticks * InputReport::STEPS).floor().clamp(-most, most) as i8;
    if tick <= time.tick { steps.min(-1) } else { steps }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ticks: f64) -> ServerTime {
        ServerTime { tick: ticks as u32, fraction: ticks.fract() }
    }

    fn report(ahead: i8, margin: i8) -> Option<InputReport> {
        Some(InputReport { ahead, margin: Some(margin) })
    }

    fn none_arrived(ahead: i8) -> Option<InputReport> {
        Some(InputReport { ahead, margin: None })
    }

    #[test]
    fn the_smallest_margin_since_the_last_report_counts() {
        let mut meter = MarginMeter::default();
        assert_eq!(meter.report(at(90.0)), None);
        meter.handle_inputs(at(100.5), 103, 1);
        meter.handle_inputs(at(101.25), 104, 2);
        assert_eq!(meter.report(at(102.0)), report(2, 20));
        meter.handle_inputs(at(102.25), 105, 3);
        assert_eq!(meter.report(at(103.0)), report(2, 22));
    }

    #[test]
    fn a_recovered_input_counts_with_its_lateness() {
        let mut meter = MarginMeter::default();
        meter.handle_inputs(at(100.0), 101, 1);
        assert_eq!(meter.report(at(100.0)), report(1, 8));
        // The packets of 102 and 103 were lost: 102 arrives after tick 102 began.
        meter.handle_inputs(at(102.5), 104, 4);
        assert_eq!(meter.report(at(103.0)), report(1, -4));
    }

    #[test]
    fn only_the_first_arrival_counts() {
        let mut meter = MarginMeter::default();
        meter.handle_inputs(at(100.0), 102, 3);
        meter.report(at(101.0));
        for _ in 0..3 {
            meter.handle_inputs(at(101.5), 102, 3);
        }
        assert_eq!(meter.report(at(102.0)), none_arrived(0));
        assert_eq!(meter.report(at(103.0)), none_arrived(-1));
        assert!(
            [0, -1].map(none_arrived).map(|report| report.is_some_and(InputReport::is_late))
                == [false, true]
        );
    }

    #[test]
    fn an_overtaken_packet_counts_only_its_new_inputs() {
        let mut meter = MarginMeter::default();
        meter.handle_inputs(at(100.0), 110, 1);
        meter.report(at(100.0));
        meter.handle_inputs(at(101.0), 107, 2);
        assert_eq!(meter.report(at(101.0)), report(9, 40));
        meter.handle_inputs(at(101.0), 110, 5);
        assert_eq!(meter.report(at(101.0)), report(9, 56));
        // Older than what is remembered.
        meter.handle_inputs(at(101.0), 20, 32);
        assert_eq!(meter.report(at(101.0)), none_arrived(9));
    }

    #[test]
    fn an_input_of_a_tick_that_just_began_is_late() {
        let mut meter = MarginMeter::default();
        meter.handle_inputs(ServerTime { tick: 100, fraction: 0.0 }, 100, 1);
        assert_eq!(meter.report(at(100.0)), report(0, -1));
        meter.handle_inputs(ServerTime { tick: 100, fraction: 1.0 }, 101, 1);
        assert_eq!(meter.report(at(100.0)), report(1, 0));
    }

    #[test]
    fn old_inputs_are_no_report() {
        let mut meter = MarginMeter::default();
        meter.handle_inputs(at(100.0), 100, 32);
        assert_eq!(meter.report(at(164.0)), report(-64, -63));
        assert_eq!(meter.report(at(165.0)), None);
    }

    #[test]
    fn extreme_ticks_and_counts_change_nothing_else() {
        let mut meter = MarginMeter::default();
        meter.handle_inputs(at(0.0), u32::MAX, u32::MAX);
        assert_eq!(meter.report(at(0.0)), None);
        meter.handle_inputs(at(0.0), 0, u32::MAX);
        meter.handle_inputs(at(0.0), 63, u32::MAX);
        assert_eq!(meter.report(at(0.0)), report(63, -1));
        let end = ServerTime { tick: u32::MAX, fraction: 1.0 };
        meter.handle_inputs(end, u32::MAX, u32::MAX);
        assert_eq!(meter.report(end), report(0, -63));
    }
}
