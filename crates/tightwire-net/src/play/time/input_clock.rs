//! The input clock of a client: runs ahead of the server, so that inputs arrive in time.

use core::ops::Range;
use core::time::Duration;

use super::config::Tuning;
use super::measurements::Measurements;
use super::{InputReport, TimeConfig, TimeJump, TimeJumpCause, TimeReport};

/// Decides which ticks are due on a client, and follows the server's reports by small changes of
/// speed.
///
/// In each frame, first [`handle_snapshot`](Self::handle_snapshot) for what arrived, then
/// [`advance`](Self::advance), then [`handle_send`](Self::handle_send) when inputs were sent.
#[derive(Debug)]
pub(crate) struct InputClock {
    tuning: Tuning,
    max_ticks_per_frame: u32,
    max_predicted: u32,
    /// Local time of the last `advance`, in ticks.
    local: f64,
    /// Tick of the input clock minus local time.
    phase: f64,
    /// Time of the clock at the last `advance`: it stands still while the clock waits.
    reached: f64,
    speed: f64,
    /// Next tick that becomes due; `None` before the first snapshot.
    next: Option<u32>,
    /// First tick whose reports count: earlier ones are from before a discontinuity.
    first_measured: u32,
    ticks: Box<[InputTick; TICK_RECORDS]>,
    /// Ticks before this one were sent.
    unsent: u32,
    newest_snapshot: Option<u32>,
    /// A snapshot arrived since the last `advance`.
    is_fresh: bool,
    /// Newest input that arrived at the server.
    acked: Option<u32>,
    /// Newest margin that was reported, in steps.
    margin: i8,
    measurements: Measurements,
    state: ClockState,
    jump: Option<TimeJump>,
}

/// Conditions that last for more than one frame.
#[derive(Clone, Copy, Default, Debug)]
struct ClockState {
    /// The error was too large and is being corrected.
    is_correcting: bool,
    /// The error has not been small since the start or the last discontinuity.
    is_settling: bool,
    /// Inputs arrive late.
    is_starving: bool,
    /// The program paused: no tick is due until a snapshot arrives that was not queued meanwhile.
    is_paused: bool,
    /// Ticks wait for a newer snapshot.
    is_limited: bool,
}

/// A tick that was due.
#[derive(Clone, Copy, Default, Debug)]
struct InputTick {
    tick: u32,
    /// Phase of the clock when the tick was due.
    phase: f64,
    /// The same with the time at which the input was sent; `None` if it was not.
    sent: Option<f64>,
}

impl InputClock {
    /// Creates a clock that waits for the first snapshot.
    pub(crate) fn new(
        tick_rate: u32,
        config: &TimeConfig,
        max_ticks_per_frame: u32,
        max_predicted: u32,
    ) -> Self {
        Self {
            tuning: Tuning::new(tick_rate, config),
            max_ticks_per_frame: max_ticks_per_frame.max(1),
            max_predicted: max_predicted.max(1),
            local: 0.0,
            phase: 0.0,
            reached: 0.0,
            speed: 1.0,
            next: None,
            first_measured: 0,
            ticks: Box::new([InputTick::default(); TICK_RECORDS]),
            unsent: 0,
            newest_snapshot: None,
            is_fresh: false,
            acked: None,
            margin: 0,
            measurements: Measurements::new(),
            state: ClockState::default(),
            jump: None,
        }
    }

    /// Starts again as if nothing had arrived, for a new connection. Ticks that were due before may
    /// come again.
    pub(crate) fn reset(&mut self) {
        (self.next, self.newest_snapshot, self.acked) = (None, None, None);
        (self.is_fresh, self.margin) = (false, 0);
        (self.speed, self.reached) = (1.0, 0.0);
        (self.state, self.jump) = (ClockState::default(), None);
        self.ticks.fill(InputTick::default());
        self.measurements.restart();
    }

    /// Sets the round-trip time of the connection: its smoothed value and its variation.
    pub(crate) fn set_round_trip(&mut self, smoothed: Duration, variation: Duration) {
        let [smoothed, variation] = [smoothed, variation].map(|time| self.tuning.local(time));
        self.measurements.set_round_trip(smoothed, variation);
    }

    /// Handles a snapshot of `tick` that arrived, with the server's report.
    pub(crate) fn handle_snapshot(
        &mut self,
        now: Duration,
        tick: u32,
        report: Option<InputReport>,
    ) {
        if self.newest_snapshot.is_some_and(|newest| tick <= newest) {
            return;
        }
        self.newest_snapshot = Some(tick);
        self.is_fresh = true;
        let local = self.tuning.local(now).max(self.local);
        if let Some(report) = report {
            // While time seems discontinuous, a report is of ticks before or after that.
            if !self.measurements.is_outlier(local - f64::from(tick), &self.tuning) {
                self.handle_report(local, tick, report);
            }
        } else if self.acked.take().is_some() {
            // Inputs arrived once, and then none for 64 ticks: the delays before are of no use, as
            // the path may have become slower by more than reports can tell.
            self.measurements.restart_uplink();
        }
    }

    fn handle_report(&mut self, local: f64, tick: u32, report: InputReport) {
        let Some(newest) = tick.checked_add_signed(report.ahead.into()) else { return };
        if self.next.is_none_or(|next| newest >= next) {
            return; // Only a hostile server acks what was not made.
        }
        self.state.is_starving = report.is_late();
        let is_new = self.acked.is_none_or(|acked| newest > acked);
        self.acked = self.acked.max(Some(newest));
        // Without an input that arrived this is no measurement: an outage is not a latency.
        let Some(margin) = report.margin else { return };
        self.margin = margin;
        if !is_new {
            return;
        }
        let InputTick { tick, phase, sent } = self.ticks[newest as usize % TICK_RECORDS];
        if tick == newest && newest >= self.first_measured {
            let phases = [phase, sent.unwrap_or(phase)];
            self.measurements.handle_margin(local, phases, report.ahead, margin);
        }
    }

    /// Advances to `now`. Returns the ticks that are due, for each of which an input is made: they
    /// follow those before, unless a [`TimeJump`] skipped some.
    pub(crate) fn advance(&mut self, now: Duration) -> Range<u32> {
        let due = self.advance_ticks(now);
        self.reached = self.time(now).unwrap_or_default();
        due
    }

    fn advance_ticks(&mut self, now: Duration) -> Range<u32> {
        let local = self.tuning.local(now).max(self.local);
        let elapsed = local - self.local;
        self.local = local;
        let is_fresh = core::mem::take(&mut self.is_fresh);
        let Some(snapshot) = self.newest_snapshot else { return 0..0 };
        let age = local - f64::from(snapshot);
        let Some(next) = self.next else { return self.start(age) };

        // After a pause of the program, the system hands over what it queued: neither is the newest
        // of these snapshots new, nor is its age the path's. The next one decides.
        let is_pause = elapsed > self.tuning.jump_ahead;
        let was_paused = self.state.is_paused;
        self.state.is_paused = (is_pause && !was_paused) || (was_paused && !is_fresh);
        if self.state.is_paused {
            return next..next;
        }
        let mut cause = was_paused.then_some(TimeJumpCause::Stalled);
        if is_fresh {
            if !is_pause && self.measurements.handle_age(local, age, &self.tuning) {
                self.first_measured = next;
                self.state = ClockState { is_settling: true, ..ClockState::default() };
                cause = Some(TimeJumpCause::Discontinuity);
            }
            self.measurements.update(local, &self.tuning);
        }
        cause = self.steer(elapsed, cause, next);
        self.take_due(snapshot, next, cause)
    }

    /// Takes note that the inputs of all ticks that were due are sent.
    pub(crate) fn handle_send(&mut self, now: Duration) {
        let Some(next) = self.next else { return };
        let local = self.tuning.local(now).max(self.local);
        for tick in self.unsent.max(next.saturating_sub(TICK_RECORDS as u32))..next {
            let entry = &mut self.ticks[tick as usize % TICK_RECORDS];
            if entry.tick == tick {
                entry.sent = Some(f64::from(tick) - local);
            }
        }
        self.unsent = next;
    }

    /// Returns a jump of time, once.
    pub(crate) fn poll_jump(&mut self) -> Option<TimeJump> {
        self.jump.take()
    }

    /// Returns the tick that was due last; `None` before the first snapshot.
    pub(crate) fn newest_tick(&self) -> Option<u32> {
        self.next?.checked_sub(1)
    }

    /// Returns the time of the input clock, in ticks: from the tick that was due last to the next.
    /// Never goes back from one `advance` to the next. `None` before the first snapshot.
    pub(crate) fn time(&self, now: Duration) -> Option<f64> {
        let next = f64::from(self.next?);
        let local = self.tuning.local(now).max(self.local);
        Some((local + self.phase).clamp(next - 1.0, next).max(self.reached))
    }

    /// Returns the state of time; `shown` is left to the caller, who knows the playback.
    pub(crate) fn report(&self, now: Duration) -> TimeReport {
        let speed = self.speed;
        let Some(input_tick) = self.time(now) else {
            return TimeReport { speed, ..TimeReport::default() };
        };
        let local = self.tuning.local(now).max(self.local);
        let server_tick = (local + self.measurements.server_phase).max(0.0);
        TimeReport {
            server_tick,
            input_tick,
            shown: None,
            margin: f64::from(self.margin) / InputReport::STEPS,
            lead: input_tick - server_tick,
            speed,
            jitter: self.measurements.jitter,
            is_settled: !self.measurements.is_starting() && !self.state.is_settling,
        }
    }

    /// Begins with the first snapshot: one tick is due.
    fn start(&mut self, age: f64) -> Range<u32> {
        self.measurements.handle_age(self.local, age, &self.tuning);
        self.measurements.update(self.local, &self.tuning);
        self.phase = self.measurements.target;
        self.state = ClockState { is_settling: true, ..ClockState::default() };
        let snapshot = self.newest_snapshot.unwrap_or_default();
        let limit = snapshot.saturating_add(self.max_predicted);
        let first = to_tick(self.local + self.phase).min(limit);
        (self.next, self.first_measured, self.unsent) = (Some(first), first, first);
        self.take_due(snapshot, first, None)
    }

    /// Moves the phase towards its target. Returns the cause of a jump, if there is one.
    fn steer(
        &mut self,
        elapsed: f64,
        cause: Option<TimeJumpCause>,
        next: u32,
    ) -> Option<TimeJumpCause> {
        let error = self.measurements.target - self.phase;
        let is_far = error > self.tuning.jump_ahead || error < -self.tuning.jump_back;
        if is_far || cause == Some(TimeJumpCause::Discontinuity) {
            let by_error = if error > 0.0 { TimeJumpCause::Late } else { TimeJumpCause::Early };
            let cause = cause.unwrap_or(by_error);
            self.phase = self.measurements.target;
            self.speed = 1.0;
            self.state.is_correcting = false;
            // The clock never goes back: it waits until it is where it was.
            let ticks = i64::from(to_tick(self.local + self.phase)) + 1 - i64::from(next);
            if ticks < 0 {
                self.raise(ticks, cause);
            }
            return Some(cause);
        }
        let threshold = match self.state.is_correcting {
            true => STOP_ERROR,
            false if error > 0.0 => LATE_ERROR,
            false => EARLY_ERROR,
        };
        self.state.is_correcting = error.abs() > threshold;
        let is_starting = self.measurements.is_starting();
        self.state.is_settling &= self.state.is_correcting || is_starting;
        let change = if self.state.is_correcting { self.change_of_speed(error) } else { 0.0 };
        // Never beyond the target, however long the frame was.
        self.phase += (change * elapsed).clamp(-error.abs(), error.abs());
        self.speed = 1.0 + change;
        cause
    }

    /// Returns by which share the clock runs faster. Late inputs hurt the whole game, early ones
    /// only make prediction longer: hence the clock is faster to catch up than to fall back.
    fn change_of_speed(&self, error: f64) -> f64 {
        let Tuning { speed_up, starving, slow_down, .. } = self.tuning;
        let is_starving = self.state.is_starving && error > 0.0;
        let [mut time, mut faster, mut slower] = [REACTION, speed_up, slow_down];
        if is_starving {
            (time, faster) = (STARVING_REACTION, starving.max(speed_up));
        }
        if error < -self.tuning.seconds(FAR_AHEAD) {
            slower *= 2.0;
        }
        if self.state.is_settling {
            // The start is a guess by the round-trip time, and nobody is used to its speed yet.
            (time, faster, slower) = (STARVING_REACTION, SETTLING, SETTLING);
        }
        (error / self.tuning.seconds(time)).clamp(-slower, faster)
    }

    /// Takes the ticks that are due, at most so many ahead of the `snapshot`.
    fn take_due(&mut self, snapshot: u32, next: u32, cause: Option<TimeJumpCause>) -> Range<u32> {
        let wanted = to_tick(self.local + self.phase);
        let last = wanted.min(snapshot.saturating_add(self.max_predicted)).min(u32::MAX - 1);
        // A paused server does not get a burst of inputs later. The phase goes on, so that the
        // clock is in step again when snapshots arrive.
        let was_limited = self.state.is_limited;
        self.state.is_limited = wanted > last;
        if last < next {
            return next..next;
        }
        let mut first = next;
        if last - next >= self.max_ticks_per_frame {
            // After a jump all but the newest would arrive late; in slow frames that many are useful.
            let is_jump = cause.is_some() || was_limited;
            first = if is_jump { last } else { last + 1 - self.max_ticks_per_frame };
            let by_limit = if was_limited { TimeJumpCause::Outage } else { TimeJumpCause::Stalled };
            self.raise(i64::from(first - next), cause.unwrap_or(by_limit));
        }
        // The time spent waiting for snapshots is no delay of the path: ticks that waited became
        // due only now, all at once.
        let has_waited = was_limited || self.state.is_limited;
        let phase = if has_waited { f64::from(first) - self.local } else { self.phase };
        for tick in first..=last {
            self.ticks[tick as usize % TICK_RECORDS] = InputTick { tick, phase, sent: None };
        }
        self.next = Some(last + 1);
        first..last + 1
    }

    fn raise(&mut self, ticks: i64, cause: TimeJumpCause) {
        // One that was not polled yet is added, so that none is lost.
        let before = self.jump.map_or(0, |jump| i64::from(jump.ticks));
        let ticks = (before + ticks).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
        self.jump = Some(TimeJump { ticks, cause });
    }
}

/// Returns the tick at a time; the conversion saturates.
fn to_tick(time: f64) -> u32 {
    time.floor() as u32
}

/// Ticks that are remembered, for the reports about them.
const TICK_RECORDS: usize = 512;

/// Errors in ticks at which a correction starts, of a clock that is late or early, and at which it
/// stops. The former is taken from the guard, so it is smaller.
const LATE_ERROR: f64 = 0.15;
const EARLY_ERROR: f64 = 0.25;
const STOP_ERROR: f64 = 0.05;

/// Time constants of corrections, in seconds.
const REACTION: f64 = 0.5;
const STARVING_REACTION: f64 = 0.15;

/// Largest change of speed while settling.
const SETTLING: f64 = 0.25;

/// Error in seconds above which the clock slows down twice as much.
const FAR_AHEAD: f64 = 0.1;

#[cfg(test)]
impl InputClock {
    /// Ticks from the phase to its target.
    pub(super) fn error(&self) -> f64 {
        self.measurements.target - self.phase
    }
}
