//! Suspended programs, stopped clocks and outages, on a virtual clock.

use super::TimeJumpCause::{Discontinuity, Early, Outage, Stalled};
use super::simulation::{Counts, SimPath, Simulation};

/// One side's process does not run for so many seconds.
struct Suspension {
    seconds: f64,
    of_client: bool,
    stops_clock: bool,
}

impl Suspension {
    /// Runs, and returns what happened until the clock had to be in step, and in 20 s after that.
    fn run(&self, in_step_after: f64) -> [Counts; 2] {
        let mut simulation = Simulation::symmetric(100.0, 0.0, 0.0, 1);
        let before = simulation.run(20.0).mean_lead();
        let real = simulation.real;
        let side = if self.of_client { &mut simulation.client } else { &mut simulation.server };
        side.suspend(real, self.seconds, self.stops_clock);
        let during = simulation.run(self.seconds);
        assert!(during.jumps.is_empty());
        // The first snapshot after a pause of the server takes half a round trip.
        let after = simulation.run(in_step_after + if self.of_client { 0.0 } else { 0.05 });
        let later = simulation.run(20.0);
        println!(
            "{} s, of the client {}, stops the clock {}: {:?}, {} missing, lead from {:.2} to {:.2}",
            self.seconds,
            self.of_client,
            self.stops_clock,
            after.jumps,
            after.missing,
            later.lead[0],
            later.lead[1],
        );
        assert_eq!((later.missing, later.jumps.len()), (0, 0));
        assert!(later.lead.iter().all(|lead| (lead - before).abs() < 0.5), "{:?}", later.lead);
        [after, later]
    }
}

#[test]
fn a_suspended_client_whose_clock_runs_jumps_once_and_is_in_step_in_half_a_second() {
    for seconds in [1.0, 10.0, 60.0] {
        let [after, _] = Suspension { seconds, of_client: true, stops_clock: false }.run(0.5);
        let jump = after.only_jump();
        assert_eq!(jump.cause, Stalled);
        assert!((f64::from(jump.ticks) - seconds * 60.0).abs() <= 2.0);
    }
}

#[test]
fn a_suspended_client_whose_clock_stops_jumps_once_and_is_in_step_in_less_than_a_second() {
    for seconds in [1.0, 10.0, 60.0] {
        let [after, _] = Suspension { seconds, of_client: true, stops_clock: true }.run(0.8);
        let jump = after.only_jump();
        assert_eq!(jump.cause, Discontinuity);
        assert!((f64::from(jump.ticks) - seconds * 60.0).abs() <= 2.0);
    }
}

#[test]
fn a_suspended_server_makes_the_client_wait_once() {
    for stops_clock in [false, true] {
        for seconds in [1.0, 10.0, 60.0] {
            let [after, _] = Suspension { seconds, of_client: false, stops_clock }.run(1.0);
            let jump = after.only_jump();
            assert_eq!(jump.cause, Discontinuity);
            // The client went on until it was as far ahead as it may be.
            assert!((-32..-16).contains(&jump.ticks));
            assert_eq!(after.missing, 0);
        }
    }
}

/// Simulates an outage of a path with jitter and loss. Returns the counts until 0.2 s after its
/// end, and those of the next 10 s.
fn outage(seconds: f64, of_uplink: bool, of_downlink: bool) -> [Counts; 2] {
    let path = SimPath::of(50.0).with(15.0, 0.03);
    let lost = path.with(15.0, 1.0);
    let mut simulation = Simulation::new(path, path, 1);
    let before = simulation.run(20.0).mean_lead();
    let [up, down] = [of_uplink, of_downlink].map(|fails| if fails { lost } else { path });
    simulation.set_paths(up, down);
    simulation.run(seconds);
    simulation.set_paths(path, path);
    let after = simulation.run(0.2);
    let later = simulation.run(10.0);
    println!(
        "{seconds} s {of_uplink} {of_downlink}: {:?}, {} and {} missing, lead {before:.2}, {:.2}",
        after.jumps,
        after.missing,
        later.missing,
        later.mean_lead(),
    );
    assert!(later.jumps.is_empty() && later.missing <= 3);
    assert!((later.mean_lead() - before).abs() < 1.0);
    [after, later]
}

#[test]
fn an_outage_is_not_taken_for_latency() {
    for seconds in [0.1, 0.3, 1.0, 3.0, 10.0] {
        let [after, _] = outage(seconds, true, false);
        assert!(after.jumps.is_empty());
    }
    for seconds in [0.1, 0.3] {
        assert!(outage(seconds, false, true)[0].jumps.is_empty());
        assert!(outage(seconds, true, true)[0].jumps.is_empty());
    }
}

#[test]
fn after_a_long_outage_of_snapshots_the_clock_is_where_it_would_be() {
    for seconds in [1.0, 3.0, 10.0] {
        for of_uplink in [false, true] {
            let [after, _] = outage(seconds, of_uplink, true);
            let jump = after.only_jump();
            assert_eq!(jump.cause, Outage);
            // It went on for 32 ticks after the last snapshot, of which the round trip is 6.
            assert!((f64::from(jump.ticks) - (seconds * 60.0 - 23.0)).abs() < 4.0);
        }
    }
}

#[test]
fn a_round_trip_beyond_prediction_is_left_again() {
    let mut simulation = Simulation::symmetric(20.0, 0.0, 0.0, 1);
    simulation.run(20.0);
    // 610 ms are 37 ticks, and 32 can be predicted.
    simulation.set_paths(SimPath::of(600.0), SimPath::of(10.0));
    let counts = simulation.run(20.0);
    assert!(counts.jumps.len() == 1 && counts.missing > 1000);
    simulation.set_paths(SimPath::of(10.0), SimPath::of(10.0));
    let counts = simulation.run(20.0);
    assert!(counts.jumps.len() == 1 && counts.jumps[0].cause == Early, "{:?}", counts.jumps);
    let counts = simulation.run(20.0);
    assert_eq!((counts.missing, counts.jumps.len()), (0, 0));
    assert!((1.0..1.5).contains(&counts.mean_lead()), "{}", counts.mean_lead());
}
