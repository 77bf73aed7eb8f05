//! Playback of a world that comes over a bad network.

use std::time::Duration;

use tightwire::link::{Link, LinkConfig};
use tightwire::snapshot::{ChangeKind, Leaving, Playback, PlaybackConfig};
use tightwire::{Wire, decode, encode, snapshot};

use crate::common::seed::seed;

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Ball {
    #[wire(spatial, min = -50.0, max = 50.0, resolution = 0.001)]
    position: [f32; 2],
    #[wire(derivative_of = position, min = -50.0, max = 50.0, resolution = 0.005)]
    velocity: [f32; 2],
    #[wire(wraps, min = 0.0, max = 360.0, resolution = 0.1)]
    heading: f32,
    #[wire(range = 0..=1000)]
    bounces: u16,
}

/// Returns the ball at a time in seconds: it moves in a circle, which no straight line does.
fn ball(seconds: f64) -> Ball {
    let (sin, cos) = (seconds * 2.0).sin_cos();
    Ball {
        position: [10.0 * cos as f32, 10.0 * sin as f32],
        velocity: [-20.0 * sin as f32, 20.0 * cos as f32],
        heading: (seconds.to_degrees() * 2.0).rem_euclid(360.0) as f32,
        bounces: (seconds * 3.0) as u16,
    }
}

struct Shown {
    /// Largest distance between the shown position and the true one at that time.
    error: f64,
    /// Number of frames of the screen without a later snapshot to interpolate to.
    starved: usize,
    frames: usize,
    delay: Duration,
}

/// Plays twenty seconds over a network, in frames of a screen with 144 Hz.
fn play(network: LinkConfig) -> Shown {
    let protocol =
        snapshot::Protocol::builder(snapshot::Config::default()).class::<Ball>().build().unwrap();
    let (mut sender, mut receiver) =
        (snapshot::Sender::new(&protocol), snapshot::Receiver::new(&protocol));
    let client = sender.add_receiver(Leaving::Despawn);
    let mut playback = Playback::new(&protocol, PlaybackConfig::default());
    let (mut down, mut up) = (Link::new(network, seed(1)), Link::new(network, seed(2)));
    let mut shown = Shown { error: 0.0, starved: 0, frames: 0, delay: Duration::ZERO };
    let (mut tick, mut last) = (0, 0.0);
    for frame in 0..144 * 20u32 {
        let now = Duration::from_secs(1) / 144 * frame;
        while now >= Duration::from_secs(1) / 60 * (tick + 1) {
            tick += 1;
            while let Some(ack) = up.poll_datagram(now) {
                sender.handle_ack(client, decode(ack).unwrap());
            }
            sender.begin_tick(tick);
            sender.set(7, &ball(f64::from(tick) / 60.0)).unwrap();
            down.handle_datagram(now, sender.snapshot(client, 1000).unwrap());
        }
        while let Some(packet) = down.poll_datagram(now) {
            if receiver.handle_snapshot(packet).is_ok() {
                playback.handle_snapshot(now, &receiver);
                let mut buffer = [0; 8];
                up.handle_datagram(now, encode(&receiver.ack().unwrap(), &mut buffer).unwrap());
            }
        }
        playback.advance(now);
        let Some(time) = playback.time().filter(|_| frame > 144 * 5) else { continue };
        assert!(time >= last, "time goes back from {last} to {time}");
        last = time;
        shown.frames += 1;
        let newest = receiver.newest().unwrap().tick;
        if time > f64::from(newest) {
            shown.starved += 1;
            continue;
        }
        let (here, there) = (playback.get::<Ball>(7).unwrap(), ball(time / 60.0));
        let distance =
            (0..2).map(|axis| f64::from(here.position[axis] - there.position[axis]).abs());
        shown.error = shown.error.max(distance.fold(0.0, f64::max));
        let turn = (f64::from(here.heading - there.heading) + 180.0).rem_euclid(360.0) - 180.0;
        assert!(turn.abs() < 0.5, "{turn} degrees off at {time}");
        assert!(there.bounces - here.bounces <= 1, "{there:?} {here:?}");
    }
    shown.delay = playback.delay();
    shown
}

fn network(jitter: u64, loss: f64) -> LinkConfig {
    let latency = Duration::from_millis(60);
    LinkConfig { latency, jitter: Duration::from_millis(jitter), loss, ..LinkConfig::default() }
}

#[test]
fn a_ball_is_shown_where_it_was() {
    // A step of its position is 1 mm, and a curve through two snapshots is not exactly a circle.
    let shown = play(network(0, 0.0));
    assert!(shown.error < 0.002, "{} m off", shown.error);
    assert_eq!(shown.starved, 0);
    assert!(shown.delay < Duration::from_millis(50), "{:?}", shown.delay);
}

#[test]
fn a_bad_network_delays_the_world_but_keeps_it_correct() {
    let shown = play(network(80, 0.1));
    assert!(shown.error < 0.01, "{} m off", shown.error);
    assert!(shown.starved * 100 < shown.frames, "{} of {}", shown.starved, shown.frames);
    let expected = Duration::from_millis(80)..Duration::from_millis(200);
    assert!(expected.contains(&shown.delay), "{:?}", shown.delay);
}

#[test]
fn objects_come_and_go_at_their_time() {
    let protocol =
        snapshot::Protocol::builder(snapshot::Config::default()).class::<Ball>().build().unwrap();
    let (mut sender, mut receiver) =
        (snapshot::Sender::new(&protocol), snapshot::Receiver::new(&protocol));
    let client = sender.add_receiver(Leaving::Despawn);
    let mut playback = Playback::new(&protocol, PlaybackConfig::default());
    let mut seen = Vec::new();
    for tick in 1..=60u32 {
        let now = Duration::from_secs(1) / 60 * tick;
        sender.begin_tick(tick);
        sender.set(1, &Ball::default()).unwrap();
        match tick {
            20..40 => sender.set(2, &ball(f64::from(tick))).unwrap(),
            _ => sender.remove(2).unwrap(),
        }
        receiver.handle_snapshot(sender.snapshot(client, 1000).unwrap()).unwrap();
        sender.handle_ack(client, receiver.ack().unwrap());
        playback.handle_snapshot(now, &receiver);
        playback.advance(now);
        let is_there = playback.get::<Ball>(2).is_some();
        if tick > 5 {
            assert_eq!(playback.objects().count(), 1 + usize::from(is_there));
        }
        if is_there {
            seen.push(playback.time().unwrap());
        }
    }
    assert!(
        (20.0..21.0).contains(&seen[0]) && (38.9..40.0).contains(seen.last().unwrap()),
        "{seen:?}"
    );
}

#[derive(Wire, Default, Clone, PartialEq, Debug)]
struct Door {
    open: bool,
}

#[test]
fn objects_are_read_through_a_shared_reference_and_changes_say_their_class() {
    let protocol = snapshot::Protocol::builder(snapshot::Config::default())
        .class::<Ball>()
        .class::<Door>()
        .build()
        .unwrap();
    let (mut sender, mut receiver) =
        (snapshot::Sender::new(&protocol), snapshot::Receiver::new(&protocol));
    let client = sender.add_receiver(Leaving::Despawn);
    let mut playback = Playback::new(&protocol, PlaybackConfig::default());
    let mut seen = Vec::new();
    for tick in 1..=3 {
        sender.begin_tick(tick);
        for id in [3, 5u32] {
            sender.set(id, &Ball { bounces: tick as u16, ..ball(0.0) }).unwrap();
        }
        match tick {
            3 => sender.remove(4).unwrap(),
            _ => sender.set(4, &Door { open: tick == 2 }).unwrap(),
        }
        receiver.handle_snapshot(sender.snapshot(client, 1000).unwrap()).unwrap();
        sender.handle_ack(client, receiver.ack().unwrap());
        let doors = protocol.class_index::<Door>();
        let of_doors = receiver.changes().iter().filter(|change| Some(change.class) == doors);
        seen.extend(of_doors.map(|change| (change.id.0, change.kind)));
        let now = Duration::from_secs(1) / 60 * tick;
        playback.handle_snapshot(now, &receiver);
        playback.advance(now);
        if tick == 2 {
            let open: Vec<_> =
                receiver.iter::<Door>().map(|(id, door)| (id.0, door.open)).collect();
            assert_eq!(open, [(4, true)]);
        }
    }
    let (spawned, changed, gone) =
        (ChangeKind::Spawned, ChangeKind::Changed, ChangeKind::Despawned);
    assert_eq!(seen, [(4, spawned), (4, changed), (4, gone)]);
    let ids: Vec<_> = receiver.iter::<Ball>().map(|(id, ball)| (id.0, ball.bounces)).collect();
    assert_eq!((ids, receiver.iter::<Door>().count()), (vec![(3, 3), (5, 3)], 0));

    (4..60).for_each(|tick| playback.advance(Duration::from_secs(1) / 60 * tick));
    let mut balls = 0;
    for (id, _) in playback.objects() {
        balls += usize::from(playback.get::<Ball>(id).is_some());
    }
    assert_eq!((balls, playback.iter::<Ball>().count()), (2, 2));
}

#[test]
fn a_largest_delay_below_the_least_fixes_the_delay() {
    let protocol =
        snapshot::Protocol::builder(snapshot::Config::default()).class::<Ball>().build().unwrap();
    let delay = |min, max| {
        let [min_delay, max_delay] = [min, max].map(Duration::from_millis);
        let mut sender = snapshot::Sender::new(&protocol);
        let client = sender.add_receiver(Leaving::Despawn);
        let mut receiver = snapshot::Receiver::new(&protocol);
        let mut playback = Playback::new(&protocol, PlaybackConfig { min_delay, max_delay });
        for tick in 1..=60 {
            sender.begin_tick(tick);
            sender.set(1, &ball(f64::from(tick) / 60.0)).unwrap();
            receiver.handle_snapshot(sender.snapshot(client, 1000).unwrap()).unwrap();
            // Jitter, for which a playback that may would wait.
            let now = Duration::from_millis(u64::from(tick * 17 + tick % 3 * 40));
            playback.handle_snapshot(now, &receiver);
            playback.advance(now);
        }
        playback.delay()
    };
    assert_eq!(delay(60, 50), delay(60, 60));
    assert!(delay(60, 500) > delay(60, 50));
}
