//! Lead, missing inputs and estimates on steady and on bad paths, on a virtual clock.

use super::simulation::{Counts, RATE, SimPath, Simulation};

/// Runs for 10 minutes after 10 seconds to settle.
fn ten_minutes(mut simulation: Simulation) -> Counts {
    simulation.run(10.0);
    simulation.run(600.0)
}

fn millis(ticks: f64) -> f64 {
    ticks / RATE * 1e3
}

/// Asserts that a measured figure is within `tolerance` of the expected one.
fn assert_near(name: &str, measured: f64, expected: f64, tolerance: f64) {
    println!("{name}: {measured:.3}, expected {expected} ± {tolerance}");
    assert!((measured - expected).abs() <= tolerance, "{name}: {measured}, not {expected}");
}

#[test]
fn on_a_steady_path_the_lead_is_half_the_round_trip_and_the_guard() {
    let counts = ten_minutes(Simulation::symmetric(100.0, 0.0, 0.0, 1));
    assert_near("lead in ticks", counts.mean_lead(), 3.5, 0.2);
    assert_eq!((counts.missing, counts.jumps.len()), (0, 0));
    assert_near("slowest", counts.speed[0], 1.0, 0.001);
    assert_near("fastest", counts.speed[1], 1.0, 0.001);
    assert_near("error of the server's tick in ms", counts.server_tick_error, 0.0, 1.0);
}

#[test]
fn a_client_that_polls_once_per_frame_has_a_longer_lead_and_misses_nothing() {
    let mut simulation = Simulation::symmetric(100.0, 0.0, 0.0, 1);
    simulation.client.poll = 1.0 / RATE;
    simulation.run(10.0);
    let counts = simulation.run(60.0);
    assert_near("lead in ticks", counts.mean_lead(), 4.0, 0.6);
    assert_eq!((counts.missing, counts.jumps.len()), (0, 0));
    assert_near("error of the server's tick in ms", counts.server_tick_error, 0.0, 9.0);
}

#[test]
fn on_loopback_no_input_is_late_from_the_first_on() {
    let mut simulation = Simulation::symmetric(0.2, 0.0, 0.0, 1);
    let counts = simulation.run(60.0);
    assert_eq!((counts.missing, counts.jumps.len()), (0, 0));
    assert_near("lead in ticks", counts.mean_lead(), 0.6, 0.2);
}

#[test]
fn the_lead_covers_jitter() {
    for (round_trip, lead) in [(50.0, 48.0), (100.0, 73.0), (250.0, 148.0)] {
        let counts = ten_minutes(Simulation::symmetric(round_trip, 15.0, 0.0, 2));
        assert_near("lead in ms", millis(counts.mean_lead()), lead, 8.0);
        assert_near("missing in %", counts.missing_percent(), 0.0, 0.02);
        assert!(counts.jumps.is_empty());
    }
}

#[test]
fn the_lead_covers_loss() {
    for (loss, lead, missing) in [(0.03, 90.0, 0.15), (0.1, 107.0, 0.3), (0.2, 123.0, 0.5)] {
        let counts = ten_minutes(Simulation::symmetric(100.0, 15.0, loss, 3));
        assert_near("lead in ms", millis(counts.mean_lead()), lead, 17.0);
        assert_near("missing in %", counts.missing_percent(), 0.0, missing);
        assert!(counts.jumps.is_empty());
    }
}

#[test]
fn a_higher_latency_is_absorbed_by_speed_alone() {
    let mut simulation = Simulation::symmetric(20.0, 0.0, 0.0, 4);
    simulation.run(20.0);
    simulation.set_paths(SimPath::of(150.0), SimPath::of(150.0));
    let counts = simulation.run(2.5);
    println!("missing: {}, until {:.2} s", counts.missing, counts.last_missing - 20.0);
    assert!(counts.missing <= 100 && counts.jumps.is_empty());
    assert_near("error in ticks after 2.5 s", simulation.error(), 0.0, 0.5);
    assert!(counts.speed[1] <= 1.125);
    let counts = simulation.run(20.0);
    assert_eq!((counts.missing, counts.jumps.len()), (0, 0));
    assert_near("lead in ticks", counts.mean_lead(), 9.5, 0.2);
}

#[test]
fn a_lower_latency_shortens_the_lead_slowly_and_misses_nothing() {
    let mut simulation = Simulation::symmetric(300.0, 0.0, 0.0, 5);
    simulation.run(20.0);
    simulation.set_paths(SimPath::of(10.0), SimPath::of(10.0));
    let counts = simulation.run(15.0);
    assert_eq!((counts.missing, counts.jumps.len()), (0, 0));
    assert!(counts.speed[0] >= 0.95);
    let counts = simulation.run(5.0);
    assert_near("lead in ticks after 15 s", counts.lead[1], 1.1, 0.25);
    assert_eq!((counts.missing, counts.jumps.len()), (0, 0));
}

#[test]
fn the_lead_depends_on_the_uplink_and_not_on_the_round_trip() {
    let mut simulation = Simulation::new(SimPath::of(10.0), SimPath::of(90.0), 6);
    simulation.run(10.0);
    let counts = simulation.run(60.0);
    assert_near("lead in ticks", counts.mean_lead(), 1.1, 0.2);
    assert_eq!((counts.missing, counts.jumps.len()), (0, 0));
    // The midpoint is wrong by half of the asymmetry, and nothing depends on it.
    assert_near("error of the server's tick in ms", counts.server_tick_error, 40.0, 1.5);
}

#[test]
fn drifting_clocks_keep_their_margin() {
    for drift in [500e-6, -500e-6] {
        let mut simulation = Simulation::symmetric(100.0, 0.0, 0.0, 7);
        simulation.client.speed += drift;
        simulation.run(10.0);
        let [mut least, mut most] = [f64::MAX, f64::MIN];
        for _ in 0..60 {
            let counts = simulation.run(10.0);
            assert_eq!((counts.missing, counts.jumps.len()), (0, 0));
            assert!(counts.server_tick_error < 3.5, "{}", counts.server_tick_error);
            let margin = counts.smallest_margin.unwrap_or(f64::NAN);
            (least, most) = (least.min(margin), most.max(margin));
        }
        println!("drift {drift}: smallest margins from {least:.3} to {most:.3}");
        assert!(least >= 0.3 && most <= 1.0);
    }
}

#[test]
fn slow_frames_miss_little_until_they_have_too_many_ticks() {
    for (frames, lead, missing) in [(144.0, 6.0, 0.2), (59.0, 7.0, 0.3), (30.0, 9.0, 0.5)] {
        let mut simulation = Simulation::symmetric(100.0, 15.0, 0.03, 8);
        simulation.client.poll = 1.0 / frames;
        simulation.run(10.0);
        let counts = simulation.run(120.0);
        println!("{frames}: {:.2}, {:.3}%", counts.mean_lead(), counts.missing_percent());
        assert!(counts.mean_lead() < lead && counts.missing_percent() <= missing);
        assert!(counts.jumps.is_empty());
    }
    let mut simulation = Simulation::symmetric(100.0, 15.0, 0.03, 8);
    simulation.client.poll = 0.2;
    let counts = simulation.run(10.0);
    assert_eq!(counts.most_ticks, 8);
    assert!(!counts.jumps.is_empty());
}
