//! A client and a server on a virtual clock, with a bad path between them.

use core::time::Duration;
use std::collections::VecDeque;

use super::super::header::PlayHeader;
use super::{InputClock, MarginMeter, TickSchedule, TimeConfig, TimeJump};

pub(super) const RATE: f64 = 60.0;

/// One direction of the path. As with `tightwire::link`, jitter is added to the latency and does not
/// reorder.
#[derive(Clone, Copy, Default)]
pub(super) struct SimPath {
    pub(super) latency: f64,
    pub(super) jitter: f64,
    pub(super) loss: f64,
}

impl SimPath {
    /// Returns a path of this latency in milliseconds.
    pub(super) fn of(latency: f64) -> Self {
        Self { latency: latency / 1e3, ..Self::default() }
    }

    pub(super) fn with(self, jitter: f64, loss: f64) -> Self {
        Self { jitter: jitter / 1e3, loss, ..self }
    }
}

struct SimLink<T> {
    path: SimPath,
    /// Arrival, delay, and content.
    flights: VecDeque<(f64, f64, T)>,
}

impl<T> SimLink<T> {
    fn send(&mut self, now: f64, random: &mut Random, content: T) {
        let (lost, jitter) = (random.unit(), random.unit());
        if lost >= self.path.loss {
            let arrival = now + self.path.latency + self.path.jitter * jitter;
            let arrival = arrival.max(self.flights.back().map_or(0.0, |flight| flight.0));
            self.flights.push_back((arrival, arrival - now, content));
        }
    }

    /// Takes the contents that have arrived: at most the oldest [`SOCKET_QUEUE`], as after a pause
    /// the rest was dropped.
    fn receive(&mut self, now: f64) -> Vec<(f64, T)> {
        let count = self.flights.partition_point(|flight| flight.0 <= now);
        self.flights.drain(..count).take(SOCKET_QUEUE).map(|(_, delay, it)| (delay, it)).collect()
    }
}

/// Packets that a system keeps for a process that does not run.
const SOCKET_QUEUE: usize = 256;

pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Clock of one side: seconds of it, and the pauses of its process.
pub(super) struct Side {
    /// Speed of the clock.
    pub(super) speed: f64,
    pub(super) poll: f64,
    next_poll: f64,
    /// Local time at a real time.
    base: (f64, f64),
}

impl Side {
    fn new(offset: f64, first_poll: f64) -> Self {
        Self { speed: 1.0, poll: 0.001, next_poll: first_poll, base: (0.0, offset) }
    }

    fn now(&self, real: f64) -> Duration {
        Duration::from_secs_f64(self.base.1 + (real - self.base.0) * self.speed)
    }

    /// Stops the process from `real` on, and with `stops_clock` its clock, too.
    pub(super) fn suspend(&mut self, real: f64, seconds: f64, stops_clock: bool) {
        self.next_poll = real + seconds;
        if stops_clock {
            self.base = (real + seconds, self.now(real).as_secs_f64());
        }
    }
}

/// Inputs of a packet: newest tick and count.
type InputPacket = (u32, u32);
type SimSnapshot = (u32, [u8; 2]);

pub(super) struct Simulation {
    pub(super) real: f64,
    random: Random,
    up: SimLink<InputPacket>,
    down: SimLink<SimSnapshot>,
    pub(super) client: Side,
    pub(super) server: Side,
    pub(super) clock: InputClock,
    schedule: TickSchedule,
    meter: MarginMeter,
    /// Inputs that arrived, by tick.
    arrived: Vec<bool>,
    /// Newest acked input, and first input since the last skip.
    acked: u32,
    first_of_run: u32,
    round_trip: Option<[f64; 2]>,
    pub(super) counts: Counts,
}

/// Counters since they were last taken.
#[derive(Clone, Default, Debug)]
pub(super) struct Counts {
    pub(super) ticks: u32,
    pub(super) missing: u32,
    /// Real time of the last tick without its input.
    pub(super) last_missing: f64,
    /// Smallest margin of an input that arrived, in ticks.
    pub(super) smallest_margin: Option<f64>,
    pub(super) jumps: Vec<TimeJump>,
    /// Sum of leads and their extremes, in ticks, at each poll of the client.
    lead_sum: f64,
    polls: u32,
    pub(super) lead: [f64; 2],
    /// Extremes of the speed.
    pub(super) speed: [f64; 2],
    /// Largest error of the estimated server tick, in milliseconds.
    pub(super) server_tick_error: f64,
    pub(super) most_ticks: u32,
    pub(super) first_snapshot: Option<f64>,
}

impl Counts {
    pub(super) fn mean_lead(&self) -> f64 {
        self.lead_sum / f64::from(self.polls.max(1))
    }

    /// Returns the jump, of which there must be one.
    pub(super) fn only_jump(&self) -> TimeJump {
        assert_eq!(self.jumps.len(), 1, "{:?}", self.jumps);
        self.jumps[0]
    }

    pub(super) fn missing_percent(&self) -> f64 {
        f64::from(self.missing) / f64::from(self.ticks.max(1)) * 100.0
    }
}

impl Simulation {
    pub(super) fn new(up: SimPath, down: SimPath, seed: u64) -> Self {
        Self {
            real: 0.0,
            random: Random(seed),
            up: SimLink { path: up, flights: VecDeque::new() },
            down: SimLink { path: down, flights: VecDeque::new() },
            client: Side::new(17.3, 0.5),
            server: Side::new(1000.0, 0.000_37),
            clock: InputClock::new(RATE as u32, &TimeConfig::default(), 8, 32),
            schedule: TickSchedule::new(RATE as u32, 5, 0),
            meter: MarginMeter::default(),
            arrived: Vec::new(),
            acked: 0,
            first_of_run: 0,
            round_trip: None,
            counts: Counts::default(),
        }
    }

    /// Both directions alike, with half of the round trip each.
    pub(super) fn symmetric(round_trip: f64, jitter: f64, loss: f64, seed: u64) -> Self {
        let path = SimPath::of(round_trip / 2.0).with(jitter, loss);
        Self::new(path, path, seed)
    }

    pub(super) fn set_paths(&mut self, up: SimPath, down: SimPath) {
        (self.up.path, self.down.path) = (up, down);
    }

    pub(super) fn take_counts(&mut self) -> Counts {
        core::mem::take(&mut self.counts)
    }

    /// Runs for so many seconds, and returns what happened in them.
    pub(super) fn run(&mut self, seconds: f64) -> Counts {
        self.take_counts();
        self.run_until(self.real + seconds);
        self.take_counts()
    }

    fn run_until(&mut self, end: f64) {
        loop {
            let next = self.client.next_poll.min(self.server.next_poll);
            if next >= end {
                self.real = end;
                return;
            }
            self.real = next;
            if self.client.next_poll <= self.server.next_poll {
                self.client.next_poll += self.client.poll;
                self.poll_client();
            } else {
                self.server.next_poll += self.server.poll;
                self.poll_server();
            }
        }
    }

    fn poll_server(&mut self) {
        let now = self.server.now(self.real);
        for (_, (newest, count)) in self.up.receive(self.real) {
            let Some(time) = self.schedule.time(now) else { continue };
            if newest > time.tick + 32 {
                continue;
            }
            self.meter.handle_inputs(time, newest, count);
            self.arrived.resize(self.arrived.len().max(newest as usize + 1), false);
            for tick in newest + 1 - count..=newest {
                if !core::mem::replace(&mut self.arrived[tick as usize], true) {
                    let margin = f64::from(tick) - time.ticks();
                    let smallest = self.counts.smallest_margin.unwrap_or(margin);
                    self.counts.smallest_margin = Some(smallest.min(margin));
                }
            }
        }
        while let Some(tick) = self.schedule.begin_tick(now) {
            if self.acked > 0 {
                self.counts.ticks += 1;
                if !self.arrived.get(tick as usize).is_some_and(|arrived| *arrived) {
                    self.counts.missing += 1;
                    self.counts.last_missing = self.real;
                }
            }
            let Some(time) = self.schedule.time(now) else { continue };
            let header = PlayHeader { input: self.meter.report(time), owned_exact: false };
            let bytes = header.write();
            self.down.send(self.real, &mut self.random, (tick, bytes));
        }
    }

    fn poll_client(&mut self) {
        let now = self.client.now(self.real);
        for (delay, (tick, bytes)) in self.down.receive(self.real) {
            self.measure_round_trip(delay + self.up.path.latency);
            let report = PlayHeader::read(&bytes).ok().and_then(|(header, _)| header.input);
            self.counts.first_snapshot.get_or_insert(self.real);
            if let Some(report) = report {
                self.acked = self.acked.max(tick.saturating_add_signed(report.ahead.into()));
            }
            self.clock.handle_snapshot(now, tick, report);
        }
        let before = self.clock.newest_tick();
        let due = self.clock.advance(now);
        if !due.is_empty() {
            assert!(before.is_none_or(|before| due.start > before), "a tick came twice");
            if before.is_none_or(|before| due.start != before + 1) {
                self.first_of_run = due.start;
            }
            self.counts.most_ticks = self.counts.most_ticks.max(due.len() as u32);
            let newest = due.end - 1;
            let oldest = (self.acked + 1).max(self.first_of_run).max(newest.saturating_sub(31));
            if oldest <= newest {
                let packet = (newest, newest + 1 - oldest);
                self.up.send(self.real, &mut self.random, packet);
            }
            self.clock.handle_send(now);
        }
        self.counts.jumps.extend(self.clock.poll_jump());
        self.measure(now);
    }

    fn measure_round_trip(&mut self, sample: f64) {
        let [smoothed, variation] = self.round_trip.unwrap_or([sample, sample / 2.0]);
        let deviation = (sample - smoothed).abs();
        let variation = variation + (deviation - variation) / 4.0;
        let smoothed = smoothed + (sample - smoothed) / 8.0;
        self.round_trip = Some([smoothed, variation]);
        let [smoothed, variation] = [smoothed, variation].map(Duration::from_secs_f64);
        self.clock.set_round_trip(smoothed, variation);
    }

    /// Compares the client's clock and estimates with the server's time.
    fn measure(&mut self, now: Duration) {
        let Some(time) = self.schedule.time(self.server.now(self.real)) else { return };
        let (time, report) = (time.ticks(), self.clock.report(now));
        if report.input_tick == 0.0 {
            return;
        }
        let lead = report.input_tick - time;
        let counts = &mut self.counts;
        if counts.polls == 0 {
            (counts.lead, counts.speed) = ([lead; 2], [report.speed; 2]);
        }
        counts.lead = [counts.lead[0].min(lead), counts.lead[1].max(lead)];
        counts.speed = [counts.speed[0].min(report.speed), counts.speed[1].max(report.speed)];
        let error = (report.server_tick - time).abs() / RATE * 1e3;
        counts.server_tick_error = counts.server_tick_error.max(error);
        counts.lead_sum += lead;
        counts.polls += 1;
    }

    /// Ticks from the phase of the clock to its target.
    pub(super) fn error(&self) -> f64 {
        self.clock.error()
    }
}
