//! Hostile servers: any tick, any report, at any time.

use core::time::Duration;

use super::super::header::PlayHeader;
use super::simulation::Random;
use super::{InputClock, TimeConfig};

const MAX_TICKS: u32 = 8;
const MAX_PREDICTED: u32 = 32;

/// A clock with the checks that hold after each call.
struct Checked {
    clock: InputClock,
    now: Duration,
    newest_snapshot: Option<u32>,
    newest: Option<u32>,
    /// Time of the clock in the frame before.
    time: Option<f64>,
}

impl Checked {
    fn new(config: &TimeConfig) -> Self {
        let clock = InputClock::new(60, config, MAX_TICKS, MAX_PREDICTED);
        Self { clock, now: Duration::ZERO, newest_snapshot: None, newest: None, time: None }
    }

    fn snapshot(&mut self, tick: u32, bits: u16) {
        let bytes = bits.to_le_bytes();
        let report = PlayHeader::read(&bytes).ok().and_then(|(header, _)| header.input);
        self.clock.handle_snapshot(self.now, tick, report);
        self.newest_snapshot = self.newest_snapshot.max(Some(tick));
    }

    /// Advances, and asserts every bound.
    fn advance(&mut self, time: Duration) {
        self.now = self.now.saturating_add(time);
        let mut skipped = 0;
        let due = self.clock.advance(self.now);
        if !due.is_empty() {
            assert!(due.len() as u32 <= MAX_TICKS);
            let newest_snapshot = self.newest_snapshot.unwrap_or_default();
            assert!(due.end - 1 <= newest_snapshot.saturating_add(MAX_PREDICTED));
            if let Some(newest) = self.newest {
                assert!(due.start > newest, "a tick came twice");
                skipped = due.start - newest - 1;
            }
            self.newest = Some(due.end - 1);
            self.clock.handle_send(self.now);
        }
        let jump = self.clock.poll_jump();
        let reported = jump.map_or(0, |jump| jump.ticks.max(0));
        assert_eq!(reported.unsigned_abs(), skipped.min(i32::MAX as u32));
        assert!(jump.is_none_or(|jump| jump.ticks != 0));
        let report = self.clock.report(self.now);
        let figures = [report.server_tick, report.lead, report.margin, report.jitter];
        assert!(figures.iter().all(|figure| figure.is_finite()), "{report:?}");
        assert!((0.75..=1.25).contains(&report.speed), "{report:?}");
        assert!((-8.0..8.0).contains(&report.margin), "{report:?}");
        let time = self.clock.time(self.now);
        assert!(time >= self.time, "time went back from {:?} to {time:?}", self.time);
        self.time = time;
        let newest = self.newest.map(f64::from);
        assert!(newest.is_none() || (newest..=newest.map(|tick| tick + 1.0)).contains(&time));
    }
}

#[test]
fn random_reports_leave_the_clock_within_its_bounds() {
    for seed in 0..20 {
        let mut random = Random(seed);
        let mut checked = Checked::new(&TimeConfig::default());
        for step in 0..20_000_u32 {
            if random.next().is_multiple_of(3) {
                checked.snapshot(100 + step / 4, random.next() as u16);
            }
            checked.advance(Duration::from_micros(random.next() % 8000));
        }
        // A server whose ticks are honest gets honest time, whatever it reports.
        let newest = checked.newest.unwrap_or_default();
        assert!((5_000..=5_100 + MAX_PREDICTED).contains(&newest), "{newest}");
    }
}

#[test]
fn ticks_that_jump_go_back_or_wrap_leave_the_clock_within_its_bounds() {
    for seed in 0..200 {
        let mut random = Random(seed ^ 0xabcd);
        let mut checked = Checked::new(&TimeConfig::default());
        let mut tick = if seed % 2 == 0 { 0 } else { u32::MAX - 500 };
        for _ in 0..2_000 {
            tick = match random.next() % 200 {
                0 => random.next() as u32,
                1 => tick.wrapping_add(random.next() as u32 % 1000),
                2 => tick.wrapping_sub(random.next() as u32 % 1000),
                3 => u32::MAX - random.next() as u32 % 40,
                _ => tick.wrapping_add(1),
            };
            for _ in 0..random.next() % 3 {
                checked.snapshot(tick, random.next() as u16);
            }
            let round_trip = Duration::from_millis(random.next() % (1 << (random.next() % 40)));
            checked
                .clock
                .set_round_trip(round_trip, Duration::MAX / (1 + random.next() as u32 / 2));
            let long = if random.next().is_multiple_of(100) { 100_000 } else { 20 };
            checked.advance(Duration::from_millis(random.next() % long));
        }
    }
}

#[test]
fn the_ends_of_numbers_are_no_panic() {
    for tick in [0, 1, u32::MAX - 33, u32::MAX - 1, u32::MAX] {
        for bits in [0, 1, 0x7fff, 0x8001, 0xffff, 0x4081] {
            let mut checked = Checked::new(&TimeConfig::default());
            checked.snapshot(tick, bits);
            checked.advance(Duration::ZERO);
            checked.snapshot(tick, bits);
            for time in [Duration::from_millis(17), Duration::from_secs(1 << 40), Duration::MAX] {
                checked.snapshot(tick.wrapping_add(1), bits);
                checked.advance(time);
                checked.advance(time);
            }
            checked.clock.reset();
            (checked.newest, checked.newest_snapshot, checked.time) = (None, None, None);
            checked.snapshot(7, bits);
            checked.advance(Duration::ZERO);
        }
    }
}

#[test]
fn a_config_of_nonsense_gives_finite_time() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 1e300] {
        for time in [Duration::ZERO, Duration::MAX] {
            let config = TimeConfig {
                window: time,
                guard: value,
                speed_up: value.min(0.25),
                starving: value.min(0.25),
                slow_down: value.min(0.125),
                jump_ahead: time,
                jump_back: time,
            };
            let mut checked = Checked::new(&config);
            for step in 0..1000_u32 {
                checked.snapshot(step / 4, 0x0501);
                checked.advance(Duration::from_millis(4));
            }
        }
    }
}

#[test]
fn frames_allocate_nothing() {
    let mut checked = Checked::new(&TimeConfig::default());
    let allocations = allocation_counter::measure(|| {
        for step in 0..5000_u32 {
            checked.snapshot(step / 4, (step as u16).wrapping_mul(257) | 1);
            checked.advance(Duration::from_millis(4));
        }
    });
    assert_eq!(allocations.count_total, 0);
}
