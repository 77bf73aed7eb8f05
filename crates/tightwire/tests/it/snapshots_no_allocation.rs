//! After warm-up, replication of a world does not allocate, whatever moves, spawns and despawns.

use std::time::Duration;

use allocation_counter::measure;
use tightwire::snapshot::{Leaving, Level, ObjectView, Playback, PlaybackConfig, ReceiverId};
use tightwire::snapshot::{RelevancyConfig, RoomId, Scope, TeamId};
use tightwire::{Wire, snapshot};

use crate::common::figures::say;
use crate::common::rng::Rng;
use crate::common::volume::volume;

#[derive(Wire, Default, Clone)]
struct Body {
    #[wire(spatial, min = -100.0, max = 100.0, resolution = 0.01)]
    position: [f32; 3],
    #[wire(derivative_of = position, min = -50.0, max = 50.0, resolution = 0.05)]
    velocity: [f32; 3],
    #[wire(smallest_three = 9)]
    rotation: [f32; 4],
    #[wire(range = 0..=100)]
    health: u8,
    name: Option<u16>,
}

/// A sender and four receivers: one traces, to one only a part is relevant, and one has a small
/// budget.
struct World {
    sender: snapshot::Sender,
    receivers: Vec<(ReceiverId, snapshot::Receiver, Playback, usize)>,
    bodies: Vec<Body>,
    rng: Rng,
    trace: snapshot::Trace,
    packets: u64,
}

impl World {
    fn new(level: Level) -> Self {
        let config = snapshot::Config { level, max_objects: 1000, ..snapshot::Config::default() };
        let protocol = snapshot::Protocol::builder(config).class::<Body>().build().unwrap();
        let mut sender = snapshot::Sender::new(&protocol);
        let receivers = [1200, 1200, 1200, 200].map(|budget| {
            let id = sender.add_receiver(Leaving::Despawn);
            let playback = Playback::new(&protocol, PlaybackConfig::default());
            let playback = if budget == 200 { playback.with_changes() } else { playback };
            (id, snapshot::Receiver::new(&protocol), playback, budget)
        });
        let body = Body { rotation: [0.0, 0.0, 0.0, 1.0], ..Body::default() };
        let (bodies, rng) = (vec![body; 300], Rng::new(1));
        let trace = snapshot::Trace::new();
        Self { sender, receivers: receivers.into(), bodies, rng, trace, packets: 0 }
    }

    /// Runs a tick in which everything changes, or random objects; and in which acks may arrive.
    fn tick(&mut self, tick: u32, everything: bool, acknowledged: bool) {
        let Self { sender, receivers, bodies, rng, trace, packets } = self;
        sender.begin_tick(tick);
        for (id, body) in (0..).zip(bodies.iter_mut()) {
            if everything || rng.below(20) == 0 {
                body.velocity = [1.0, rng.below(10) as f32, 0.0];
                body.position[0] = rng.below(100) as f32;
                body.rotation[rng.below(4)] = 0.5;
                body.name = (rng.below(9) == 0).then_some(7);
            }
            let is_there = everything || !(tick / 7 + id).is_multiple_of(11);
            if is_there { sender.set(id, body).unwrap() } else { sender.remove(id).unwrap() }
        }
        let now = Duration::from_secs(1) / 60 * tick;
        for (place, (id, receiver, playback, budget)) in receivers.iter_mut().enumerate() {
            let near = |object: ObjectView<'_>| {
                let [x, ..] = object.get::<Body>()?.position;
                (object.id.0 % 50 != tick / 40 % 50).then_some(x as u32 % 9)
            };
            let packet = match place {
                2 => sender.snapshot_with(*id, *budget, near),
                _ => sender.snapshot(*id, *budget),
            };
            let packet = packet.unwrap();
            if !everything && rng.below(10) == 0 {
                continue;
            }
            if place == 1 {
                receiver.handle_snapshot_traced(packet, trace).unwrap();
                let bits: f64 = trace.spans().map(|span| span.bits).sum();
                assert_eq!(bits.round(), 8.0 * packet.len() as f64);
            } else {
                receiver.handle_snapshot(packet).unwrap();
            }
            playback.handle_snapshot(now, receiver);
            playback.advance(now);
            let mut body = Body::default();
            receiver.read(7, &mut body).unwrap();
            playback.read(7, &mut body).unwrap();
            if acknowledged && (everything || rng.below(10) != 0) {
                sender.handle_ack(*id, receiver.ack().unwrap());
            }
            *packets += 1;
        }
    }
}

fn run(level: Level) {
    let mut world = World::new(level);
    let ticks = volume(200, 3000);
    // Until every buffer has had its largest size, and the largest number of packets was in flight.
    (1..600).for_each(|tick| world.tick(tick, tick % 100 < 80, !(310..400).contains(&tick)));
    (600..2400).for_each(|tick| world.tick(tick, false, true));
    let before = world.packets;
    let info = measure(|| (2400..2400 + ticks).for_each(|tick| world.tick(tick, false, true)));
    assert_eq!(info.count_total, 0, "{level:?}: {} bytes", info.bytes_total);
    let packets = world.packets - before;
    assert!(packets > u64::from(ticks) * 3, "{packets}");
    say(&format!("{level:?}: {packets} snapshots of 300 objects sent and shown, 0 allocations"));
}

#[test]
fn replicating_a_world_takes_no_memory() {
    run(Level::Packed);
    run(Level::Modeled);
}

/// A world with scopes: objects walk in and out of the sight of two receivers, which own some of
/// them, and change rooms and teams.
struct Scopes {
    sender: snapshot::Sender,
    receivers: Vec<(ReceiverId, snapshot::Receiver)>,
    bodies: Vec<Body>,
    rng: Rng,
}

impl Scopes {
    fn new(level: Level) -> Self {
        let config = snapshot::Config { level, max_objects: 1000, ..snapshot::Config::default() };
        let protocol = snapshot::Protocol::builder(config).class::<Body>().build().unwrap();
        let mut sender = snapshot::Sender::new(&protocol);
        sender.set_relevancy(RelevancyConfig { radius: 25.0, ..RelevancyConfig::default() });
        sender.set_class_scope(0, Scope::Near);
        sender.set_id_quarantine(20);
        let receivers = [(); 2]
            .map(|()| (sender.add_receiver(Leaving::Despawn), snapshot::Receiver::new(&protocol)));
        let body = Body { rotation: [0.0, 0.0, 0.0, 1.0], ..Body::default() };
        Self { sender, receivers: receivers.into(), bodies: vec![body; 300], rng: Rng::new(1) }
    }

    /// Runs a tick in which everything is near and changes, or random objects; and in which acks may arrive.
    fn tick(&mut self, tick: u32, everything: bool, acknowledged: bool) {
        let Self { sender, receivers, bodies, rng } = self;
        sender.begin_tick(tick);
        for (id, body) in (400..).zip(bodies.iter_mut()) {
            if everything || rng.below(3) == 0 {
                let size = if everything { 10 } else { 100 };
                body.position[rng.below(3)] = (rng.below(size) as f32) - size as f32 / 2.0;
                body.velocity = if everything { [rng.below(50) as f32; 3] } else { [0.0; 3] };
                sender.set(id, body).unwrap();
            }
        }
        let spawned = sender.spawn(&bodies[0]).unwrap();
        sender.set_scope(spawned, Scope::Room(RoomId(tick % 3)));
        if tick > 10 {
            let oldest = sender.objects_from(0.into()).next().unwrap().0;
            sender.remove(oldest).unwrap();
        }
        for (place, (id, receiver)) in (0..).zip(receivers.iter_mut()) {
            sender.set_owner(400 + tick % 5 + 10 * place, Some(*id));
            sender.set_weight(450 + tick % 50, 3);
            sender.set_rooms(*id, &[RoomId(tick % 2), RoomId(2)]);
            sender.set_team(*id, Some(TeamId(tick % 2)));
            if tick % 40 < 20 {
                sender.set_viewers(*id, &[[rng.below(50) as f32, 0.0, 0.0], [0.0; 3]]);
            } else {
                sender.set_viewers(*id, &[]);
            }
            let packet = sender.snapshot(*id, 1200).unwrap();
            if everything || rng.below(10) > 0 {
                receiver.handle_snapshot(packet).unwrap();
                if acknowledged {
                    sender.handle_ack(*id, receiver.ack().unwrap());
                }
            }
        }
    }
}

#[test]
fn relevancy_by_scopes_takes_no_memory() {
    // `Auto` takes the memory of a level at the first packet of that level, which may be any.
    run_scopes(Level::Packed);
    run_scopes(Level::Modeled);
}

fn run_scopes(level: Level) {
    let mut world = Scopes::new(level);
    // As in `run`.
    (1..600).for_each(|tick| world.tick(tick, tick % 100 < 80, !(310..400).contains(&tick)));
    (600..4000).for_each(|tick| world.tick(tick, false, true));
    let ticks = volume(200, 3000);
    let info = measure(|| (4000..4000 + ticks).for_each(|tick| world.tick(tick, false, true)));
    assert_eq!(info.count_total, 0, "{level:?}: {} bytes", info.bytes_total);
    let shown = world.receivers[0].1.objects().count();
    assert!((20..310).contains(&shown), "{shown}");
    say(&format!(
        "{level:?}: {ticks} ticks with scopes, rooms and owners, {shown} of 310 objects shown, 0 allocations"
    ));
}
