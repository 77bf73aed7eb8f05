//! Predicted spawns.

use std::time::Duration;

use tightwire::Wire;
use tightwire::play::{
    ClientConfig, ClientEvent, Game, Input, ObjectConfig, Scene, ServerConfig, ServerEvent,
};
use tightwire::session::OpenToAnyone;
use tightwire::transport::InProcess;

use crate::game::{Bullet, Drive, Play, link};

#[derive(Wire, Default, Clone)]
struct Gun;

/// An object that clients do not predict.
#[derive(Wire, Default, Clone)]
struct Smoke;

#[derive(Wire, Default, Clone)]
struct Shell {
    #[wire(range = 0..=120)]
    age: u8,
}

#[derive(Wire, Default, Clone)]
struct Trigger {
    fire: bool,
}

impl Input for Trigger {}

fn guns() -> Game<Trigger> {
    let smoke = ObjectConfig { predict: false, ..ObjectConfig::default() };
    let game = Game::new("guns", "1.0").object::<Gun>().object_with::<Smoke>(smoke);
    game.object::<Shell>().input::<Trigger>()
}

/// Smoke first: both sides count it.
fn fire(scene: &mut Scene<'_, Trigger>) {
    scene.for_each::<Gun>(|scene, id, _| {
        if scene.input(id).is_some_and(|trigger| trigger.fire) {
            let _ = scene.spawn(id, &Smoke);
            let _ = scene.spawn(id, &Shell::default());
        }
    });
    scene.for_each::<Shell>(|scene, id, shell| {
        shell.age += 1;
        if shell.age == 100 {
            scene.remove(id);
        }
    });
}

#[test]
fn a_spawn_after_one_that_is_not_predicted_is_matched() {
    let (here, there) = InProcess::pair();
    let mut server = guns().serve(ServerConfig::default(), OpenToAnyone::default(), there).unwrap();
    let mut client = guns().connect(ClientConfig::default(), &[], here).unwrap();
    let mut matched = 0;
    for frame in 1..400u32 {
        let now = Duration::from_millis(8) * frame;
        server.receive(now);
        while let Some(event) = server.poll_event() {
            if let ServerEvent::Joined { peer, .. } = event {
                let mut world = server.world();
                let gun = world.spawn(&Gun).unwrap();
                world.set_owner(gun, Some(peer));
            }
        }
        while server.begin_tick(now).is_some() {
            fire(&mut server.scene());
        }
        server.send(now);
        client.receive(now);
        while let Some(event) = client.poll_event() {
            matched += u32::from(matches!(event, ClientEvent::Matched { .. }));
        }
        client.input(&Trigger { fire: frame % 100 < 3 });
        while let Some(mut scene) = client.next_step() {
            fire(&mut scene);
        }
        client.send(now);
    }
    let stats = client.stats().prediction;
    assert!(matched >= 3, "{matched} {stats:?}");
    assert_eq!(stats.spawns_unmatched, 0, "{stats:?}");
}

#[test]
fn a_spawn_whose_confirmation_was_lost_does_not_vanish() {
    for (round_trip, loss) in [(100, 0.0), (100, 0.1), (200, 0.1)] {
        let mut play = Play::new(link(round_trip, 5, loss), 1);
        play.run(5000, |_| {});
        play.clients[0].events.clear();
        let (mut most, mut shells, mut before) = (0, 0, Vec::new());
        play.clients[0].drive = Drive { fire: true, ..Drive::default() };
        play.run(60_000, |play| {
            let world = play.clients[0].client.world();
            // One is fired each half second, and flies for a second. The server's that is not known
            // to be the own one yet is shown beside it for a moment.
            let own = world.iter::<Bullet>().filter(|(id, _)| world.is_mine(*id));
            let bullets: Vec<_> = own.map(|(_, bullet)| bullet.age).collect();
            most = most.max(bullets.len());
            shells += usize::from(bullets.len() < before.len());
            before = bullets;
        });
        let stats = play.clients[0].client.stats().prediction;
        let matched = |event: &&ClientEvent| matches!(event, ClientEvent::Matched { .. });
        let matched = play.clients[0].events.iter().filter(matched).count();
        println!(
            "{round_trip} ms, loss {loss}: {matched} matched, {} taken back, at most {most} shown",
            stats.spawns_unmatched
        );
        assert!(matched >= 115, "{matched}");
        // Those whose input did not arrive in time were never fired.
        let peer = play.peer_of(0);
        let inputs = play.server.stats(peer).unwrap().inputs;
        let unused = inputs.repeated + inputs.neutral;
        assert!(stats.spawns_unmatched <= unused.min(2), "{stats:?} {inputs:?}");
        assert!(shells <= 125, "{shells}");
    }
}
