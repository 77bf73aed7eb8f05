//! The congestion window.
//!
//! The controllers of `quinn` fill queues (Cubic, NewReno) or draw random numbers (BBR). This one
//! is a window that follows averages of round-trip times; `tests/it/quic_latency.rs` shows the
//! state age that results.

use core::any::Any;
use core::time::Duration;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory};

/// Makes the [`Window`] of a connection.
#[derive(Debug)]
pub(super) struct WindowFactory {
    pub(super) state: WindowState,
}

/// State that a connection shares with its window.
#[derive(Clone, Debug, Default)]
pub(super) struct WindowState(Arc<WindowSignals>);

#[derive(Debug, Default)]
struct WindowSignals {
    /// Number of acks.
    acks: AtomicU64,
    /// Whether a packet may be sent although the window is full, to probe when nothing is acked.
    is_unlimited: AtomicBool,
    /// Jitter of the round-trip time, in nanoseconds.
    jitter: AtomicU64,
}

impl WindowState {
    pub(super) fn acks(&self) -> u64 {
        self.0.acks.load(Ordering::Relaxed)
    }

    /// Returns the jitter: the smoothed deviation of round-trip times from their average.
    pub(super) fn jitter(&self) -> Duration {
        Duration::from_nanos(self.0.jitter.load(Ordering::Relaxed))
    }

    pub(super) fn set_unlimited(&self, is_unlimited: bool) {
        self.0.is_unlimited.store(is_unlimited, Ordering::Relaxed);
    }

    fn bytes(&self) -> u64 {
        if self.0.is_unlimited.load(Ordering::Relaxed) { UNLIMITED } else { 0 }
    }

    fn count_ack(&self) {
        self.0.acks.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds a deviation from the average to the jitter.
    fn add_deviation(&self, deviation: Duration) {
        let jitter = (self.jitter() * 15 + deviation) / 16;
        self.0.jitter.store(jitter.as_nanos() as u64, Ordering::Relaxed);
    }
}

/// The congestion window, in bytes: grows while round-trip times stay short, and shrinks while they
/// are long, since then packets wait in a queue.
///
/// State that waits in a queue is outdated, so the window keeps queues short. It compares averages
/// over a round trip: single round-trip times vary with jitter, which is no queue. A lost packet
/// alone says nothing about queues on a wireless link: the window shrinks only when a good part is
/// lost. It uses no random numbers, so that a simulated run can be repeated.
#[derive(Clone, Debug)]
struct Window {
    bytes: u64,
    state: WindowState,
    mtu: u64,
    /// The window doubles each round trip, until packets wait in a queue.
    is_starting: bool,
    /// Shortest average round-trip times of this period and of the one before.
    shortest: [Duration; 2],
    period_start: Instant,
    round: Round,
    /// Deviation of the round-trip time of the last acked packet from the average; `None` after it
    /// was counted.
    newest: Option<Duration>,
}

/// Measurements of about one round trip, or more if little is sent.
#[derive(Clone, Debug)]
struct Round {
    start: Instant,
    round_trips: Duration,
    /// Sum of deviations from the smoothed round-trip time.
    deviations: Duration,
    samples: u32,
    acknowledged: u64,
    lost: u64,
    /// The window was full: more would have been sent.
    is_limited: bool,
}

impl Window {
    fn new(now: Instant, mtu: u16, state: WindowState) -> Self {
        Self {
            bytes: START,
            state,
            mtu: mtu.into(),
            is_starting: true,
            shortest: [Duration::MAX; 2],
            period_start: now,
            round: Round::new(now),
            newest: None,
        }
    }

    /// Grows or shrinks the window, once per round trip.
    fn end_round(&mut self, now: Instant) {
        let round = core::mem::replace(&mut self.round, Round::new(now));
        let average = round.round_trips / round.samples.max(1);
        let jitter = round.deviations / round.samples.max(1) * 2;
        let [this, before] = &mut self.shortest;
        if now - self.period_start > PERIOD {
            self.period_start = now;
            *before = core::mem::replace(this, average);
        }
        *this = (*this).min(average);
        let shortest = (*this).min(*before);
        let longest = shortest + (shortest / 4).max(MAX_WAIT).max(jitter);
        // An overflowing queue loses many packets; a bad radio loses some.
        let is_overflowing = round.lost > (round.acknowledged + round.lost) / 3;
        // A sender below its window does not fill the queue.
        if (average > longest && round.is_limited) || is_overflowing {
            self.is_starting = false;
            let share = longest.as_secs_f64() / average.as_secs_f64();
            let to = (self.bytes as f64 * share.clamp(0.5, 0.9)) as u64;
            self.bytes = to.max(FLOOR_PACKETS * self.mtu);
        } else if round.is_limited {
            let more = if self.is_starting { round.acknowledged } else { 2 * self.mtu };
            self.bytes = (self.bytes + more).min(CEILING);
        }
    }
}

impl Round {
    fn new(start: Instant) -> Self {
        Self {
            start,
            round_trips: Duration::ZERO,
            deviations: Duration::ZERO,
            samples: 0,
            acknowledged: 0,
            lost: 0,
            is_limited: false,
        }
    }
}

impl Controller for Window {
    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.state.count_ack();
        let round_trip = now.saturating_duration_since(sent);
        let deviation = round_trip.abs_diff(rtt.get());
        self.newest = Some(deviation);
        self.round.round_trips += round_trip;
        self.round.deviations += deviation;
        self.round.samples += 1;
        self.round.acknowledged += bytes;
        self.round.is_limited |= !app_limited;
        if now - self.round.start > rtt.get() && self.round.samples >= SAMPLES {
            self.end_round(now);
        }
    }

    fn on_end_acks(&mut self, _: Instant, _: u64, _: bool, _: Option<u64>) {
        // The packets before it have waited for the ack.
        if let Some(deviation) = self.newest.take() {
            self.state.add_deviation(deviation);
        }
    }

    fn on_congestion_event(&mut self, _: Instant, _: Instant, persistent: bool, lost: u64) {
        self.round.lost += lost;
        if persistent {
            self.is_starting = false;
            self.bytes = FLOOR_PACKETS * self.mtu;
        }
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.mtu = mtu.into();
    }

    fn window(&self) -> u64 {
        self.bytes + self.state.bytes()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        START
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl ControllerFactory for WindowFactory {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        Box::new(Window::new(now, mtu, self.state.clone()))
    }
}

/// Initial window, in bytes: a few frames of state.
const START: u64 = 32 << 10;
/// Window without a limit, in bytes: so large that quinn does not pace packets either.
const UNLIMITED: u64 = 1 << 40;
/// Smallest window, in packets: enough for a few frames per round trip, also where round trips are
/// long.
const FLOOR_PACKETS: u64 = 6;
const CEILING: u64 = 4 << 20;
/// Smallest number of samples: an average of fewer is more jitter than queue.
const SAMPLES: u32 = 8;
/// Longest time that packets may wait in queues.
const MAX_WAIT: Duration = Duration::from_millis(20);
/// Time after which a route may have become a longer one.
const PERIOD: Duration = Duration::from_secs(60);
