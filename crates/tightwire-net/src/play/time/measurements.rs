//! Measurements of the path by an input clock, and the target that follows from them.
//!
//! A phase is a tick of the server minus the local clock, in ticks. The phase of the input clock must
//! be the largest phase at which inputs arrive, plus a guard.

use super::InputReport;
use super::config::Tuning;
use super::window::SampleWindow;

/// Measurements since the start, or the last discontinuity.
#[derive(Debug)]
pub(super) struct Measurements {
    uplink: SampleWindow<UplinkSample>,
    downlink: SampleWindow<DownlinkSample>,
    /// Median age of the last snapshots; `None` while there are too few of them.
    median_age: Option<f64>,
    /// Consecutive snapshots whose age is far from the median.
    outliers: u32,
    /// Smoothed round-trip time with the allowance for its variation, in ticks.
    round_trip: f64,
    /// The server measured too few inputs since the start.
    is_starting: bool,
    /// Phase that the input clock should have.
    pub(super) target: f64,
    /// Estimated phase of the server's time.
    pub(super) server_phase: f64,
    pub(super) jitter: f64,
}

/// Delay from the input clock to the server.
#[derive(Clone, Copy, Default, Debug)]
struct UplinkSample {
    /// Local time of the report.
    at: f64,
    /// Server time of the arrival minus the local time at which the input's tick was due: uplink
    /// delay, poll intervals, and difference of the clocks. Independent of later steering, so that
    /// the control loop has no dead time.
    delay: f64,
    /// The same from the time of sending.
    from_send: f64,
    /// Whether the reported margin was at its bound: `delay` is then an upper bound.
    is_upper_bound: bool,
}

/// Delay from the server to this client.
#[derive(Clone, Copy, Default, Debug)]
struct DownlinkSample {
    /// Local time of the arrival.
    at: f64,
    /// Local time of the arrival minus the snapshot's tick.
    age: f64,
}

impl Measurements {
    pub(super) fn new() -> Self {
        Self {
            uplink: SampleWindow::new(CAPACITY),
            downlink: SampleWindow::new(CAPACITY),
            median_age: None,
            outliers: 0,
            round_trip: 0.0,
            is_starting: true,
            target: 0.0,
            server_phase: 0.0,
            jitter: 0.0,
        }
    }

    /// Sets the round-trip time, in ticks: its smoothed value and its variation.
    pub(super) fn set_round_trip(&mut self, smoothed: f64, variation: f64) {
        self.round_trip = (smoothed + 4.0 * variation).min(MAX_ROUND_TRIP);
    }

    /// Forgets every measurement: they are of another time.
    pub(super) fn restart(&mut self) {
        self.downlink.clear();
        (self.median_age, self.outliers) = (None, 0);
        self.restart_uplink();
    }

    /// Forgets the measurements of the server: the round-trip time decides until there are new ones.
    pub(super) fn restart_uplink(&mut self) {
        self.uplink.clear();
        self.is_starting = true;
    }

    pub(super) fn is_starting(&self) -> bool {
        self.is_starting
    }

    /// Returns whether the age of a snapshot is so far from the median that the path or a clock
    /// must have changed.
    pub(super) fn is_outlier(&self, age: f64, tuning: &Tuning) -> bool {
        self.median_age.is_some_and(|median| (age - median).abs() > tuning.jump_ahead)
    }

    /// Handles the newest snapshot of a frame. Returns `true` if time is discontinuous: the
    /// measurements were forgotten then.
    pub(super) fn handle_age(&mut self, at: f64, age: f64, tuning: &Tuning) -> bool {
        let is_outlier = self.is_outlier(age, tuning);
        if is_outlier {
            self.outliers += 1;
            if self.outliers < MAX_OUTLIERS {
                return false;
            }
            self.restart();
        }
        self.outliers = 0;
        self.downlink.push(DownlinkSample { at, age });
        let mut ages = [0.0; MEDIAN_OF];
        let mut count = 0;
        for (place, sample) in ages.iter_mut().zip(self.downlink.newest_first()) {
            *place = sample.age;
            count += 1;
        }
        if let Some(ages) = ages.get_mut(..count).filter(|_| count >= MIN_MEDIAN) {
            let (_, median, _) = ages.select_nth_unstable_by(count / 2, f64::total_cmp);
            self.median_age = Some(*median);
        }
        is_outlier
    }

    /// Handles a report of a `margin` in steps, and of a newest input that is so many ticks `ahead`
    /// of the snapshot. The phases are those of that input, when it was due and when it was sent.
    pub(super) fn handle_margin(&mut self, at: f64, phases: [f64; 2], ahead: i8, margin: i8) {
        let is_upper_bound = margin >= InputReport::MAX_MARGIN;
        let is_lower_bound = margin <= -InputReport::MAX_MARGIN;
        // Margins are rounded down: the middle of the step is the best guess.
        let margin = (f64::from(margin) + 0.5) / InputReport::STEPS;
        // A margin at its bound says little. The newest input, which arrived within the last tick,
        // gives a better estimate: a clock that is off by a second is right after one report,
        // instead of one report for every eight ticks.
        let margin = if is_upper_bound {
            margin.max(f64::from(ahead))
        } else if is_lower_bound {
            margin.min(f64::from(ahead) + 1.0)
        } else {
            margin
        };
        let [delay, from_send] = phases.map(|phase| phase - margin);
        self.uplink.push(UplinkSample { at, delay, from_send, is_upper_bound });
    }

    /// Computes the target and the estimates from the samples up to `local`.
    pub(super) fn update(&mut self, local: f64, tuning: &Tuning) {
        let since = local - tuning.window;
        let youngest = self.downlink.newest_first().take_while(|sample| sample.at >= since);
        let least_age = youngest.map(|sample| sample.age).reduce(f64::min);
        let Uplink { largest, second, count, least, least_from_send } = self.uplink(since);
        if self.is_starting {
            if let Some(age) = least_age {
                let by_round_trip = self.round_trip + START_GUARD - age;
                self.target = largest
                    .map_or(by_round_trip, |largest| by_round_trip.max(largest + tuning.guard));
                self.server_phase = self.round_trip / 2.0 - age;
            }
            self.is_starting = count < MIN_SAMPLES;
        }
        if self.is_starting {
            return;
        }
        // The largest delay is forgiven: a single hiccup does nothing, and a real change takes one
        // more snapshot. A rank instead of a multiple of the deviation, since losses make lumps. With
        // few samples left after an outage, the target before is worth more than they are.
        let delay = if count < MIN_SAMPLES { largest } else { second };
        if let Some(delay) = delay {
            let target = delay + tuning.guard;
            self.target = if count < MIN_SAMPLES { self.target.max(target) } else { target };
            self.jitter = delay - least;
        }
        if let (Some(age), Some(delay)) = (least_age, least_from_send) {
            // NTP's midpoint: wrong by half of the path's asymmetry.
            self.server_phase = (delay - age) / 2.0;
        }
    }

    /// Summarises the uplink's samples that are not older than `since`.
    fn uplink(&self, since: f64) -> Uplink {
        let samples = || self.uplink.newest_first().take_while(move |sample| sample.at >= since);
        // An upper bound is worth something only where nothing exact was measured; once something
        // was, keeping it would hold the clock back for as long as the window is.
        let has_exact = samples().filter(|sample| !sample.is_upper_bound).nth(1).is_some();
        let mut uplink = Uplink::default();
        for sample in samples().filter(|sample| !(has_exact && sample.is_upper_bound)) {
            let delay = sample.delay;
            if uplink.largest.is_none_or(|largest| delay > largest) {
                uplink.second = uplink.largest.replace(delay);
            } else if uplink.second.is_none_or(|second| delay > second) {
                uplink.second = Some(delay);
            }
            uplink.least = if uplink.count == 0 { delay } else { uplink.least.min(delay) };
            let least = uplink.least_from_send.unwrap_or(sample.from_send);
            uplink.least_from_send = Some(least.min(sample.from_send));
            uplink.count += 1;
        }
        uplink
    }
}

/// Summary of the uplink's samples.
#[derive(Default)]
struct Uplink {
    largest: Option<f64>,
    second: Option<f64>,
    count: usize,
    least: f64,
    least_from_send: Option<f64>,
}

/// Samples of each kind that are kept: 8 s at 60 snapshots per second.
const CAPACITY: usize = 512;

/// Reports of the server before they decide instead of the round-trip time.
const MIN_SAMPLES: usize = 16;

/// Snapshots whose median age is compared with, and the number before there is a median.
const MEDIAN_OF: usize = 64;
const MIN_MEDIAN: usize = 4;

/// Consecutive outliers that make a discontinuity.
const MAX_OUTLIERS: u32 = 3;

/// Lead beyond the round trip at the start, in ticks: with less than one, every input is late on
/// loopback.
const START_GUARD: f64 = 1.5;

/// Largest round-trip time that is believed, in ticks.
const MAX_ROUND_TRIP: f64 = 1024.0;
